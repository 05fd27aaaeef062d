//! The history: activity feed, audit log, timeline and statistics.

use crate::support::{
    broker::{TIMEOUT, TestBroker, countersign},
    client::{TestClient, id, proposal_with},
    reviews::{column, last_event, review_in, verdict, with},
    tokens::create_token,
};
use serde_json::{Value, json};
use std::{
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};
use testkit::Repo;

/// All pages of a tool's rows.
async fn all(client: &TestClient, tool: &str, arguments: Value) -> Vec<Value> {
    let list = if tool == "get_audit_log" { "events" } else { "entries" };
    let (mut arguments, mut rows) = (arguments, Vec::new());
    loop {
        let mut page = client.call(tool, arguments.clone()).await;
        rows.append(page[list].as_array_mut().unwrap());
        arguments["cursor"] = page["next_cursor"].take();
        if arguments["cursor"].is_null() {
            return rows;
        }
    }
}

fn seqs(rows: &[Value]) -> Vec<u64> {
    rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect()
}

/// Two rounds: claim, release, claim, messages, an issue, changes requested; revision, approval, close.
async fn full_life(client: &TestClient, more: Value) -> String {
    let review = id(&client.call("create_review", proposal_with("make it fast", more)).await);
    let by_id = |more: Value| with(json!({ "review_id": review }), more);
    client.claim(&review, "bob").await;
    client.call("release_claim", by_id(json!({ "reviewer_id": "bob", "reason": "not my field" }))).await;
    client.claim(&review, "ada").await;
    client.call("add_message", by_id(json!({ "sender_role": "reviewer", "body": "why?\u{202e}" }))).await;
    client.call("add_message", by_id(json!({ "sender_role": "proposer", "body": "because" }))).await;
    let metrics = json!({ "cost_usd": 0.25, "input_tokens": 100, "output_tokens": 10 });
    let found = json!({
        "issues": [{ "severity": "high", "title": "too slow" }], "suggestions": [{ "title": "a name" }],
        "summary": "in short", "metrics": metrics,
    });
    client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), found)).await;
    client.call("create_review", by_id(json!({ "intent": "make it really fast" }))).await;
    client.claim(&review, "ada").await;
    client.call("submit_verdict", with(verdict(&review, "ada", "approved"), json!({ "metrics": metrics }))).await;
    client.call("close_review", by_id(json!({ "closer_role": "proposer" }))).await;
    review
}

#[tokio::test]
async fn statistics_of_completed_reviews() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    full_life(&client, json!({ "category": "code_change" })).await;
    review_in(&client, "rejected").await;
    review_in(&client, "cancelled").await;
    review_in(&client, "pending").await;
    let stats = client.call("get_review_stats", json!({})).await;
    let reviews = &stats["reviews"];
    let status = json!({
        "pending": 1, "claimed": 0, "in_review": 0, "changes_requested": 0, "approved": 0, "rejected": 1,
        "cancelled": 1, "closed": 1,
    });
    assert_eq!((&reviews["total"], &reviews["by_status"]), (&json!(4), &status));
    assert_eq!((&reviews["by_category"]["code_change"], &reviews["by_category"]["none"]), (&json!(1), &json!(3)));
    assert_eq!(["approved", "rejected", "cancelled"].map(|key| reviews[key].clone()), [json!(1), json!(1), json!(1)]);
    assert_eq!((&reviews["approval_rate"], &reviews["first_round_rate"]), (&json!(0.333), &json!(0.0)));
    assert_eq!(reviews["rounds"], json!({ "mean": 1.25, "max": 2 }));
    let counts = ["time_to_first_claim", "time_to_verdict", "time_to_decision", "time_to_close"];
    assert_eq!(counts.map(|key| reviews[key]["count"].clone()), [json!(2), json!(2), json!(3), json!(1)]);
    let work = &stats["work"];
    assert_eq!(["reviews", "verdicts", "votes"].map(|key| work[key].clone()), [json!(2), json!(3), json!(3)]);
    let votes = ["approvals", "changes_requested", "rejections", "comments"].map(|key| work[key].clone());
    assert_eq!(votes, [json!(1), json!(1), json!(1), json!(0)]);
    let spent = ["cost_usd", "input_tokens", "output_tokens"].map(|key| work[key].clone());
    assert_eq!(spent, [json!(0.5), json!(200), json!(20)]);
    let issues = json!({
        "total": 1, "by_severity": { "high": 1 }, "by_status": { "fixed": 1 }, "fates": { "high": { "fixed": 1 } },
        "disputes": { "total": 0, "upheld": 0, "rejected": 0 }, "suggestions": 1,
    });
    assert_eq!(stats["issues"], issues);

    let grouped = async |by: &str| client.call("get_review_stats", json!({ "group_by": by })).await["groups"].take();
    let by_reviewer = grouped("reviewer").await;
    assert_eq!((column(&by_reviewer, "group"), &by_reviewer[0]["work"]), (vec![json!("ada")], work));
    assert_eq!(by_reviewer[0]["issues"], issues);
    assert_eq!(column(&grouped("persona").await, "group"), ["general"]);
    let by_category = grouped("category").await;
    assert_eq!(column(&by_category, "group"), ["none", "code_change"]);
    assert_eq!((&by_category[0]["reviews"]["total"], &by_category[1]["work"]["votes"]), (&json!(3), &json!(2)));
    let by_day = grouped("day").await;
    let total: u64 = by_day.as_array().unwrap().iter().map(|day| day["reviews"]["total"].as_u64().unwrap()).sum();
    assert_eq!(total, 4);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn automatic_rejections_are_counted_separately() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let broken = json!({ "diff": "--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n" });
    let review = id(&client.call("create_review", proposal_with("broken", broken)).await);
    let claim = client.call("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })).await;
    assert_eq!(claim["auto_rejected"], true);
    let stats = client.call("get_review_stats", json!({ "group_by": "reviewer" })).await;
    assert_eq!(
        (&stats["auto_rejections"], &stats["work"]["verdicts"], &stats["groups"]),
        (&json!(1), &json!(0), &Value::Null)
    );
    let printed = client.call("get_activity_feed", json!({ "limit": 1 })).await;
    assert_eq!(printed["entries"][0]["text"], "R-1 went back to its proposer: the diff does not apply");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_audit_log_has_actor_action_and_resulting_status() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = full_life(&client, json!({ "proposer_id": "eve" })).await;
    review_in(&client, "pending").await;
    let rows = all(&client, "get_audit_log", json!({ "review_id": "R-1", "order": "oldest" })).await;
    let story: Vec<_> =
        rows.iter().map(|row| (row["kind"].as_str().unwrap(), row["status"].as_str().unwrap())).collect();
    let expected = [
        ("proposed", "pending"),
        ("claimed", "claimed"),
        ("claim_ended", "pending"),
        ("claimed", "claimed"),
        ("message_added", "claimed"),
        ("message_added", "claimed"),
        ("verdict_given", "changes_requested"),
        ("revised", "pending"),
        ("claimed", "claimed"),
        ("verdict_given", "approved"),
        ("closed", "closed"),
    ];
    assert_eq!(story, expected);
    assert!(rows.iter().all(|row| row["review_id"] == *review && row["number"] == "R-1"));
    assert_eq!((&rows[0]["actor"], &rows[6]["actor"], &rows[7]["round"]), (&json!("eve"), &json!("ada"), &json!(2)));
    assert_eq!(rows[2]["detail"], "the claim of bob on R-1 ended: released (not my field)");
    let detail =
        "ada requested changes to R-1 as general, 2 findings; it is changes_requested (changes_requested, says ada)";
    assert_eq!(rows[6]["detail"], detail);
    assert_eq!(rows[4]["detail"], "ada wrote on R-1 as the reviewer, seat general (why?\\u{202e})");

    let newest = all(&client, "get_audit_log", json!({ "limit": 3 })).await;
    assert_eq!(seqs(&newest), (1..=12).rev().collect::<Vec<_>>());
    let found = async |filter: Value| seqs(&all(&client, "get_audit_log", with(filter, json!({ "limit": 2 }))).await);
    assert_eq!(found(json!({ "actor": "ada" })).await, [10, 9, 7, 5, 4]);
    assert_eq!(found(json!({ "kind": "claimed" })).await, [9, 4, 2]);
    assert_eq!(found(json!({ "kind": ["claimed", "closed"] })).await, [11, 9, 4, 2]);
    assert_eq!(found(json!({ "kind": ["crash_loop", "closed"] })).await, [11], "of the pool and of reviews");
    assert_eq!(found(json!({ "kind": "claimed", "actor": "bob", "review_id": review })).await, [2]);
    assert_eq!(found(json!({ "project": "project", "kind": "closed" })).await, [11]);
    assert_eq!(found(json!({ "kind": "crash_loop" })).await, [0_u64; 0]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn periods_can_be_times_dates_or_durations() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    full_life(&client, json!({})).await;
    let rows = all(&client, "get_audit_log", json!({ "order": "oldest" })).await;
    let count = async |filter: Value| all(&client, "get_audit_log", filter).await.len();
    assert_eq!(count(json!({ "since": "1h" })).await, rows.len());
    assert_eq!(count(json!({ "until": "1h" })).await, 0);
    assert_eq!(count(json!({ "since": "2999-01-01" })).await, 0);
    let turn = rows[7]["at"].as_str().unwrap();
    // As text `29.7Z` sorts after `29.704Z`.
    let moment = |at: &str| at.parse::<jiff::Timestamp>().unwrap();
    let is_after = |row: &&Value| moment(row["at"].as_str().unwrap()) >= moment(turn);
    let after: Vec<_> = rows.iter().filter(is_after).cloned().collect();
    assert_eq!(all(&client, "get_audit_log", json!({ "since": turn, "order": "oldest" })).await, after);
    assert_eq!(count(json!({ "until": turn })).await, rows.len() - after.len());
    let total = async |filter: Value| client.call("get_review_stats", filter).await["reviews"]["total"].clone();
    assert_eq!(total(json!({ "since": "1h" })).await, 1);
    assert_eq!(total(json!({ "until": "1h" })).await, 0);
    assert_eq!(total(json!({ "since": "2000-01-01T00:00:00Z", "until": "2999-01-01" })).await, 1);

    for tool in ["get_audit_log", "get_review_stats"] {
        for field in ["since", "until"] {
            let refused = client.refused("invalid_argument", tool, json!({ field: "last week" })).await;
            assert_eq!(refused["field"], field);
            assert!(refused["error"].as_str().unwrap().contains("7d"), "{refused}");
        }
        let refused = client.refused("invalid_argument", tool, json!({ "since": "1h", "until": "2h" })).await;
        assert_eq!(refused["field"], "until");
    }
    for (tool, cursor) in [("get_audit_log", "x"), ("get_activity_feed", "-1"), ("get_review_timeline", "1.5")] {
        let arguments = json!({ "review_id": "R-1", "cursor": cursor });
        let arguments = if tool == "get_activity_feed" { json!({ "cursor": cursor }) } else { arguments };
        client.refused("bad_cursor", tool, arguments).await;
    }
    client.refused("unknown_project", "get_review_stats", json!({ "project": "nowhere" })).await;
    client.refused("invalid_argument", "get_audit_log", json!({ "limit": 201 })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn pages_have_no_gaps_or_duplicates_during_writes() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for _ in 0..5 {
        full_life(&client, json!({})).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (client, stop) = (client.clone(), Arc::clone(&stop));
        async move {
            while !stop.load(SeqCst) {
                full_life(&client, json!({})).await;
            }
        }
    });
    let before = last_event(&client).await;
    let newest = seqs(&all(&client, "get_audit_log", json!({ "limit": 3 })).await);
    assert!(newest[0] >= before && newest.last() == Some(&1));
    assert!(newest.windows(2).all(|pair| pair[0] == pair[1] + 1), "{newest:?}");
    let activity = seqs(&all(&client, "get_activity_feed", json!({ "limit": 4 })).await);
    assert!(activity.windows(2).all(|pair| pair[0] == pair[1] + 1), "{activity:?}");
    // The log keeps growing, so it is read up to its end at the start.
    let (mut cursor, mut oldest) = (None::<Value>, Vec::new());
    while oldest.last().is_none_or(|seq| *seq < before) {
        let mut page = client.call("get_audit_log", json!({ "order": "oldest", "limit": 7, "cursor": cursor })).await;
        oldest.extend(seqs(page["events"].as_array().unwrap()));
        cursor = Some(page["next_cursor"].take());
    }
    assert!(oldest.iter().zip(1..).all(|(seq, expected)| *seq == expected), "{oldest:?}");
    stop.store(true, SeqCst);
    writing.await.unwrap();
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_activity_feed_has_the_filters_of_the_audit_log() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = full_life(&client, json!({ "proposer_id": "eve" })).await;
    let found =
        async |filter: Value| seqs(&all(&client, "get_activity_feed", with(filter, json!({ "limit": 2 }))).await);
    assert_eq!(found(json!({ "actor": "ada" })).await, [10, 9, 7, 5, 4]);
    assert_eq!(found(json!({ "kind": ["claimed", "closed"], "review_id": review })).await, [11, 9, 4, 2]);
    assert_eq!(found(json!({ "since": "1h", "kind": ["closed"] })).await, [11]);
    assert_eq!(found(json!({ "until": "1h" })).await, [0_u64; 0]);
    client.refused("unknown_review", "get_activity_feed", json!({ "review_id": "R-9" })).await;
    client.refused("invalid_argument", "get_activity_feed", json!({ "since": "soon" })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_event_has_all_its_data() {
    let web = Repo::new();
    let broker = TestBroker::with_settings(&format!("[projects.web]\npath = {:?}\n", web.path())).await;
    let client = broker.client();
    full_life(&client, json!({ "project": "web" })).await;
    full_life(&client, json!({})).await;
    let rest = broker.rest();
    let verdict = rest.get("/api/v1/audit/10").await.is(200);
    assert_eq!(
        (&verdict["seq"], &verdict["kind"], &verdict["number"]),
        (&json!(10), &json!("verdict_given"), &json!("R-1"))
    );
    assert_eq!((&verdict["data"]["verdict"], &verdict["data"]["persona"]), (&json!("approved"), &json!("general")));
    rest.get("/api/v1/audit/23").await.refused(404, "unknown_event");
    rest.get("/api/v1/audit/last").await.refused(400, "invalid_params");
    let secret = create_token(broker.home(), "operator", "boss", &["--project", "web"]).await;
    let bound = broker.rest().with_token(&secret);
    bound.get("/api/v1/audit/10").await.is(200);
    bound.get("/api/v1/audit/12").await.refused(404, "unknown_event");
    let printed = String::from_utf8(run(&broker, &["audit", "--event", "10"]).await.stdout).unwrap();
    assert!(printed.contains("verdict_given") && printed.contains("verdict: approved"), "{printed}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_audit_log_is_written_into_a_file_line_by_line() {
    let web = Repo::new();
    let broker = TestBroker::with_settings(&format!("[projects.web]\npath = {:?}\n", web.path())).await;
    let client = broker.client();
    full_life(&client, json!({ "project": "web" })).await;
    full_life(&client, json!({})).await;
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let rest = broker.rest();
    let file = rest.get("/api/v1/audit/export").await;
    assert_eq!(file.status, 200);
    assert_eq!(lines(&file.text), all(&client, "get_audit_log", json!({})).await);
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"audit.jsonl\""));
    let some = rest.get("/api/v1/audit/export?kind=claimed&kind=closed&order=oldest&review_id=R-1").await;
    assert_eq!(seqs(&lines(&some.text)), [2, 4, 9, 11]);
    assert_eq!(rest.get("/api/v1/audit/export?kind=crash_loop").await.text, "");
    rest.get("/api/v1/audit/export?since=soon").await.refused(422, "invalid_argument");
    rest.get("/api/v1/audit/export?limit=3").await.refused(400, "invalid_params");
    let secret = create_token(broker.home(), "operator", "boss", &["--project", "web"]).await;
    let bound = broker.rest().with_token(&secret).get("/api/v1/audit/export").await;
    assert_eq!(seqs(&lines(&bound.text)), (1..=11).rev().collect::<Vec<_>>());
    let printed = run(&broker, &["audit", "--jsonl", "--oldest", "--kind", "claimed,closed"]).await;
    assert_eq!(seqs(&lines(&String::from_utf8(printed.stdout).unwrap())), [2, 4, 9, 11, 13, 15, 20, 22]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn statistics_by_day_are_in_short_and_name_personas_on_request() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    full_life(&client, json!({})).await;
    review_in(&client, "rejected").await;
    let rest = broker.rest();
    let daily = rest.get("/api/v1/stats/days?since=24h").await.is(200);
    let [day] = daily["days"].as_array().unwrap().as_slice() else { panic!("one day: {daily}") };
    assert_eq!((&day["reviews"], &day["approved"], &day["rejected"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!((&day["issues_by_fate"], &day["cost_usd"]), (&json!({ "fixed": 1 }), &json!(0.5)));
    assert_eq!((&day["time_to_decision"]["count"], day.get("personas")), (&json!(2), None));
    let personas = rest.get("/api/v1/stats/days?personas=true").await.is(200);
    assert_eq!((&personas["personas"], &personas["days"][0]["personas"][0]["votes"]), (&json!(["general"]), &json!(3)));
    rest.get("/api/v1/stats/days?since=soon").await.refused(422, "invalid_argument");
    let by_day_and_persona = client.call("get_review_stats", json!({ "group_by": "day_persona" })).await;
    assert_eq!(by_day_and_persona["groups"][0]["persona"], "general");
    let printed = String::from_utf8(run(&broker, &["stats", "--daily", "--by", "persona"]).await.stdout).unwrap();
    assert!(printed.contains("TO DECISION") && printed.contains("PERSONA"), "{printed}");
    let refused = run(&broker, &["stats", "--daily", "--by", "reviewer"]).await;
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && error.contains("--by persona"), "{error}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_activity_feed_has_one_line_per_event() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    full_life(&client, json!({ "proposer_id": "eve" })).await;
    let hidden = format!("two\nlines \u{1b}[31m {}", "x".repeat(900));
    client.call("create_review", proposal_with(&hidden, json!({}))).await;
    let rows = all(&client, "get_activity_feed", json!({})).await;
    let texts: Vec<_> = rows.iter().rev().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts[..3],
        ["eve proposed R-1", "bob claimed R-1 as general", "the claim of bob on R-1 ended: released"]
    );
    assert_eq!(texts[6], "ada requested changes to R-1 as general, 2 findings; it is changes_requested");
    assert_eq!(texts[10], "eve closed R-1");
    assert_eq!((&rows[7]["preview"], &rows[7]["kind"]), (&json!("why?\\u{202e}"), &json!("message_added")));
    assert_eq!(rows[11]["preview"], "make it fast");
    assert_eq!(rows[11]["intent"], "make it really fast", "the review's, as it is now");
    let preview = rows[0]["preview"].as_str().unwrap();
    assert!(preview.starts_with("two\\nlines \\u{1b}[31m xx") && preview.chars().count() == 201, "{preview}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_timeline_groups_events_by_round() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = full_life(&client, json!({})).await;
    let printed = client.call("get_review_timeline", json!({ "review_id": "R-1" })).await;
    assert_eq!(
        (&printed["review_id"], &printed["status"], &printed["current_round"]),
        (&json!(review), &json!("closed"), &json!(2))
    );
    assert_eq!(
        (column(&printed["rounds"], "round"), &printed["next_cursor"]),
        (vec![json!(1), json!(2)], &Value::Null)
    );
    let (first, second) = (&printed["rounds"][0]["events"], &printed["rounds"][1]["events"]);
    let kinds = ["proposed", "claimed", "claim_ended", "claimed", "message_added", "message_added", "verdict_given"];
    assert_eq!(column(first, "kind"), kinds);
    assert_eq!(column(second, "kind"), ["revised", "claimed", "verdict_given", "closed"]);
    assert_eq!((&first[0]["intent"], &second[0]["intent"]), (&json!("make it fast"), &json!("make it really fast")));
    assert_eq!((&first[2]["ended"], &first[2]["reason"]), (&json!("released"), &json!("not my field")));
    assert_eq!((&first[4]["body"], &first[5]["sender_role"]), (&json!("why?\u{202e}"), &json!("proposer")));
    let sent_back = &first[6];
    assert_eq!((&sent_back["verdict"], &sent_back["summary"]), (&json!("changes_requested"), &json!("in short")));
    assert_eq!(
        (&sent_back["metrics"]["cost_usd"], &sent_back["reason"]),
        (&json!(0.25), &json!("changes_requested, says ada"))
    );
    let raised = json!([
        { "issue_id": "I-1", "severity": "high", "title": "too slow" },
        { "issue_id": "I-2", "severity": "low", "title": "a name", "is_suggestion": true },
    ]);
    assert_eq!(sent_back["raised"], raised);
    assert_eq!(second[2]["settled"][0], json!({ "issue_id": "I-1", "status": "fixed" }));
    // Each duration starts at the event before; a claim is held from its start.
    let ms = |events: &Value, n: usize| events[n]["after_ms"].as_u64().unwrap();
    assert_eq!(first[6]["held_ms"].as_u64().unwrap(), ms(first, 4) + ms(first, 5) + ms(first, 6));
    let steps = first.as_array().unwrap().iter().chain(second.as_array().unwrap());
    let sum: u64 = steps.filter_map(|step| step["after_ms"].as_u64()).sum();
    assert_eq!(printed["took_ms"], sum);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_timeline_has_counter_patches_and_notes_on_issues() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = json!({ "diff": broker.repo().diff("zwei") });
    let review = id(&client.call("create_review", proposal_with("patched", diff)).await);
    client.claim(&review, "ada").await;
    let offer =
        json!({ "counter_patch": broker.repo().diff("dos"), "issues": [{ "severity": "low", "title": "a nit" }] });
    client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), offer)).await;
    let says =
        json!({ "review_id": review, "issue_id": "I-1", "status": "wont_fix", "note": "as is", "role": "proposer" });
    client.call("update_issue", says).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    client.call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    let printed = client.call("get_review_timeline", json!({ "review_id": review })).await;
    let events = &printed["rounds"][0]["events"];
    assert_eq!((&events[2]["counter_patch"], &events[4]["counter_patch"]), (&json!("offered"), &json!("accepted")));
    assert_eq!(
        (&events[3]["settled"], &events[3]["note"]),
        (&json!([{ "issue_id": "I-1", "said": "wont_fix" }]), &json!("as is"))
    );
    assert_eq!((&events[5]["kind"], &events[5]["reason"]), (&json!("cancelled"), &json!("enough")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_long_timeline_is_paginated() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = review_in(&client, "claimed").await;
    for n in 0..30 {
        let role = if n % 2 == 0 { "reviewer" } else { "proposer" };
        let body = format!("{n} {}", "long ".repeat(1_000));
        client.call("add_message", json!({ "review_id": review, "sender_role": role, "body": body })).await;
    }
    let (mut versions, mut pages, mut cursor) = (Vec::new(), 0, Value::Null);
    loop {
        let mut page = client.call("get_review_timeline", json!({ "review_id": review, "cursor": cursor })).await;
        assert!(page.to_string().chars().count() < 31_000);
        for event in page["rounds"][0]["events"].as_array().unwrap() {
            versions.push(event["version"].as_u64().unwrap());
            assert!(event["body"].as_str().is_none_or(|body| body.contains("[2000 of 50")), "{event}");
        }
        pages += 1;
        cursor = page["next_cursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(versions, (1..=32).collect::<Vec<_>>());
    assert!(pages > 1);
    let whole = run(&broker, &["timeline", "R-1", "--json"]).await;
    let whole: Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert_eq!(
        (whole["rounds"].as_array().unwrap().len(), column(&whole["rounds"][0]["events"], "version").len()),
        (1, 32)
    );
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_for_one_project_sees_only_its_history() {
    let web = Repo::new();
    let broker = TestBroker::with_settings(&format!("[projects.web]\npath = {:?}\n", web.path())).await;
    let client = broker.client();
    let inside = full_life(&client, json!({ "project": "web" })).await;
    let outside = full_life(&client, json!({})).await;
    let secret = create_token(broker.home(), "operator", "boss", &["--project", "web"]).await;
    let bound = client.clone().with_token(&secret);
    for tool in ["get_audit_log", "get_activity_feed"] {
        let rows = all(&bound, tool, json!({ "limit": 4 })).await;
        assert_eq!(seqs(&rows), (1..=11).rev().collect::<Vec<_>>(), "{tool}");
        assert!(rows.iter().all(|row| row["review_id"] == *inside), "{tool}");
        assert_eq!(all(&client, tool, json!({})).await.len(), 22);
        bound.refused("wrong_project", tool, json!({ "project": "project" })).await;
        assert_eq!(all(&bound, tool, json!({ "project": "web" })).await.len(), 11);
    }
    assert_eq!(bound.call("get_review_stats", json!({})).await["reviews"]["total"], 1);
    assert_eq!(client.call("get_review_stats", json!({})).await["reviews"]["total"], 2);
    bound.refused("wrong_project", "get_review_stats", json!({ "project": "project" })).await;
    bound.refused("wrong_project", "get_audit_log", json!({ "review_id": outside })).await;
    bound.refused("wrong_project", "get_review_timeline", json!({ "review_id": outside })).await;
    bound.call("get_review_timeline", json!({ "review_id": inside })).await;
    // An agent can read the timeline of a review that it may see, but not the log.
    let ada = client.clone().with_token(&create_token(broker.home(), "reviewer", "ada", &["--project", "web"]).await);
    ada.call("get_review_timeline", json!({ "review_id": inside })).await;
    ada.refused("wrong_project", "get_review_timeline", json!({ "review_id": outside })).await;
    for tool in ["get_audit_log", "get_activity_feed", "get_review_stats"] {
        ada.refused("wrong_role", tool, json!({})).await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_counts_by_its_outcome_and_not_by_its_last_vote() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let policy = json!({ "rule": "min_approvals", "min_approvals": 1 });
    let more = json!({ "personas": ["general", "security"], "policy": policy });
    let review = id(&client.call("create_review", proposal_with("two look at it", more)).await);
    for (by, persona) in [("ada", "general"), ("bob", "security")] {
        client.call("claim_review", json!({ "review_id": review, "reviewer_id": by, "persona": persona })).await;
    }
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let other = json!({ "review_id": review, "reviewer_id": "bob", "verdict": "changes_requested", "reason": "hm" });
    assert_eq!(client.call("submit_verdict", other).await["status"], "approved");
    let counted = async || {
        let reviews = client.call("get_review_stats", json!({})).await["reviews"].take();
        (reviews["approved"].clone(), reviews["rejected"].clone())
    };
    assert_eq!(counted().await, (json!(1), json!(0)));
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    assert_eq!(counted().await, (json!(1), json!(0)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn statistics_with_many_groups_are_truncated() {
    let broker = TestBroker::with_settings("[limits]\npage_chars = 5000\n").await;
    let client = broker.client();
    for number in 0..30 {
        let review = client.submit("one of many").await;
        let by = format!("a-reviewer-with-a-rather-long-name-{number}");
        client.claim(&review, &by).await;
        client.call("submit_verdict", verdict(&review, &by, "approved")).await;
    }
    let printed = client.call("get_review_stats", json!({ "group_by": "reviewer" })).await;
    let (groups, more) = (printed["groups"].as_array().unwrap().len(), printed["more_groups"].as_u64().unwrap());
    assert!(printed.to_string().chars().count() <= 5000 && groups > 1, "{printed}");
    assert_eq!(groups as u64 + more, 30);
    broker.stop_and_check().await;
}

/// A command of the local user.
async fn run(broker: &TestBroker, arguments: &[&str]) -> Output {
    let mut command = countersign(broker.home());
    command.args(arguments).arg("--data-dir").arg(broker.data_dir());
    tokio::time::timeout(TIMEOUT, command.output()).await.expect("it ends by itself").unwrap()
}

#[tokio::test]
async fn the_history_commands_print_text() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    full_life(&client, json!({ "proposer_id": "eve" })).await;
    review_in(&client, "pending").await;
    let said = async |arguments: &[&str]| {
        let output = run(&broker, arguments).await;
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let stats = said(&["stats", "--by", "reviewer", "--since", "1h"]).await;
    for part in ["2 reviews from ", "closed 1, pending 1", "100 % approved", "first claim", "work by reviewer", "ada"] {
        assert!(stats.contains(part), "{part} in {stats}");
    }
    let audit = said(&["audit", "--review", "R-1", "--oldest", "-n", "4"]).await;
    assert_eq!(audit.lines().count(), 6, "{audit}");
    assert!(
        audit.contains("eve proposed R-1 (make it fast)") && audit.contains("there are more: --cursor 4"),
        "{audit}"
    );
    let rest = said(&["audit", "--review", "R-1", "--oldest", "--cursor", "4", "--json"]).await;
    let rest: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(seqs(rest["events"].as_array().unwrap()), (5..=11).collect::<Vec<_>>());
    let printed = said(&["timeline", "R-1"]).await;
    assert!(printed.contains("round 2") && printed.contains("ada verdict_given approved [general] after"), "{printed}");
    assert!(printed.contains("body: why?\\u{202e}") && !printed.contains('\u{202e}'), "{printed}");
    let json: Value = serde_json::from_str(&said(&["stats", "--json"]).await).unwrap();
    assert_eq!(json["reviews"]["total"], 2);

    for (arguments, code, words) in [
        (&["timeline", "R-99"][..], 1, "no review \"R-99\""),
        (&["audit", "--kind", "merged"], 2, "allowed: proposed"),
        (&["stats", "--since", "soon"], 1, "is not a time"),
    ] {
        let output = run(&broker, arguments).await;
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && error.contains(words), "{arguments:?}: {error}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    for command in [&["stats"][..], &["audit"], &["timeline", "R-1"]] {
        let output = countersign(elsewhere.path()).args(command).args(["--data-dir", "data"]).output().await.unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(5) && error.contains("no broker serves"), "{error}");
    }
    broker.stop_and_check().await;
}
