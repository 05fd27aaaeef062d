//! Findings: raised with a verdict, checked against the files, re-anchored in each round, and resolved.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{column, verdict, with},
    tokens,
};
use serde_json::{Value, json};
use testkit::Repo;

const CODE: &str = "fn main() {\n    let input = read();\n    let parsed = parse(&input);\n    run(parsed);\n}\n";
const CHANGED: &str = "fn main() {\n    let input = read();\n    let parsed = parse(&input).unwrap();\n    \
                       let limit = parsed.len() - 1;\n    run(parsed, limit);\n}\n";

/// The diff that turns the committed `main.rs` into `text`.
fn diff_to(repo: &Repo, text: &str) -> String {
    repo.write("main.rs", text);
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    diff
}

async fn begin() -> (TestBroker, TestClient) {
    let broker = TestBroker::start().await;
    broker.repo().write("main.rs", CODE);
    broker.repo().commit("code");
    let client = broker.client();
    (broker, client)
}

/// A proposal of `CHANGED` for these personas, whose seats `ada`, `bob` and `cyd` take in their order.
async fn panel(broker: &TestBroker, client: &TestClient, personas: &[&str], policy: Value) -> String {
    let more = json!({ "diff": diff_to(broker.repo(), CHANGED), "personas": personas, "policy": policy });
    let review = id(&client.call("create_review", proposal_with("limits", more)).await);
    claim_all(client, &review, personas).await;
    review
}

async fn claim_all(client: &TestClient, review: &str, personas: &[&str]) {
    for (reviewer, persona) in ["ada", "bob", "cyd"].iter().zip(personas) {
        let claim = json!({ "review_id": review, "reviewer_id": reviewer, "persona": persona });
        client.call("claim_review", claim).await;
    }
}

async fn revise(client: &TestClient, review: &str, diff: &str) -> Value {
    client.call("create_review", json!({ "review_id": review, "intent": "as you said", "diff": diff })).await
}

fn issue(severity: &str, line: u32, title: &str, more: Value) -> Value {
    with(json!({ "type": "bug", "severity": severity, "file": "main.rs", "line_start": line, "title": title }), more)
}

async fn raise(client: &TestClient, review: &str, by: &str, word: &str, issues: Value) -> Value {
    client.call("submit_verdict", with(verdict(review, by, word), json!({ "issues": issues }))).await
}

async fn issues(client: &TestClient, review: &str) -> Vec<Value> {
    let list = client.call("list_issues", json!({ "review_id": review })).await;
    let mut issues = list["issues"].as_array().unwrap().clone();
    issues.reverse();
    issues
}

fn update(review: &str, issue: &Value, role: &str, by: &str, status: &str) -> Value {
    json!({ "review_id": review, "issue_id": issue["issue_id"], "role": role, "caller_id": by, "status": status })
}

#[tokio::test]
async fn a_finding_on_missing_code_is_marked_as_ungrounded() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({})).await;
    let found = json!([
        issue("high", 4, "underflows on nothing", json!({ "code_snippet": "let limit = parsed.len() - 1;" })),
        issue("high", 1, "quote elsewhere", json!({ "code_snippet": "run(parsed, limit);" })),
        issue("high", 3, "invented quote", json!({ "code_snippet": "launch_missiles(now);" })),
        issue("high", 400, "invented lines", json!({})),
        with(issue("high", 1, "invented file", json!({})), json!({ "file": "nowhere.rs" })),
        json!({ "severity": "low", "title": "speaks of nothing in particular" }),
    ]);
    let answer = raise(&client, &review, "ada", "changes_requested", found).await;
    assert_eq!(answer["status"], "changes_requested");
    let rows = issues(&client, &review).await;
    assert_eq!(
        column(&json!(rows), "grounding"),
        ["grounded", "grounded", "ungrounded", "ungrounded", "ungrounded", "unchecked"]
    );
    assert_eq!((&rows[1]["line_start"], &rows[1]["grounding_note"].is_string()), (&json!(5), &true));
    for (row, word) in [(2, "launch_missiles"), (3, "400"), (4, "nowhere.rs")] {
        let note = rows[row]["grounding_note"].as_str().unwrap();
        assert!(note.contains(word) || row == 3, "{note}");
    }
    assert_eq!(rows[0]["anchor"], "exact");
    let shown = client.call("get_proposal", json!({ "review_id": review })).await;
    assert_eq!(shown["open_issues"].as_array().unwrap().len(), 6);
    assert_eq!(shown["issues"]["open"], json!({ "critical": 0, "high": 5, "medium": 0, "low": 1 }));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_critical_finding_blocks_until_the_second_round_settles_it() {
    let (mut broker, client) = begin().await;
    let personas = ["general", "security", "tests"];
    let review = panel(&broker, &client, &personas, json!({ "rule": "majority" })).await;
    let critical = issue(
        "critical",
        4,
        "underflows on nothing",
        json!({
            "code_snippet": "let limit = parsed.len() - 1;", "suggestion": "let limit = parsed.len().saturating_sub(1);",
        }),
    );
    let nit = issue("low", 3, "panics without a message", json!({}));
    raise(&client, &review, "bob", "changes_requested", json!([critical, nit])).await;
    // Killed between the votes: nothing of it is lost.
    broker = broker.kill_and_restart().await;
    let client = broker.client();
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let blocked = client.call("submit_verdict", verdict(&review, "cyd", "approved")).await;
    assert_eq!((&blocked["status"], &blocked["consensus"]["approvals"]), (&json!("changes_requested"), &json!(2)));
    let why = blocked["consensus"]["why"].as_str().unwrap();
    assert!(why.contains("blocks until it is resolved"), "{why}");

    // A line above moves both, the critical one is fixed as it suggests.
    let mended = CHANGED.replace("fn main() {\n", "fn main() {\n    setup();\n");
    let mended = mended.replace("parsed.len() - 1", "parsed.len().saturating_sub(1)");
    revise(&client, &review, &diff_to(broker.repo(), &mended)).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "anchor"), ["modified", "moved"]);
    assert_eq!((&rows[0]["likely_fixed"], &rows[1]["line_start"]), (&json!(true), &json!(4)));
    assert_eq!(rows[1]["raised_at"], "main.rs:3");
    assert_eq!(column(&json!(rows), "status"), ["open", "open"], "only ever a question");

    let claim = json!({ "review_id": review, "reviewer_id": "bob", "persona": "security" });
    let claimed = client.call("claim_review", claim).await;
    assert_eq!(claimed["re_review"]["since_round"], 1);
    assert_eq!(claimed["re_review"]["issues"].as_array().unwrap().len(), 2);
    broker = broker.kill_and_restart().await;
    let client = broker.client();
    client.call("submit_verdict", verdict(&review, "bob", "approved")).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "status"), ["fixed", "wont_fix"]);
    assert_eq!((&rows[0]["resolution"]["by"], &rows[0]["resolution"]["round"]), (&json!("bob"), &json!(2)));
    client.claim(&review, "ada").await;
    let done = client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    assert_eq!(done["status"], "approved");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_approval_resolves_a_critical_finding_of_its_persona_on_unchanged_lines() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general", "security"], json!({})).await;
    let critical = json!([issue("critical", 4, "underflows on nothing", json!({}))]);
    raise(&client, &review, "bob", "changes_requested", critical).await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    revise(&client, &review, &diff_to(broker.repo(), &format!("{CHANGED}// the end\n"))).await;
    claim_all(&client, &review, &["general", "security"]).await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let answer = client.call("submit_verdict", verdict(&review, "bob", "approved")).await;
    assert_eq!((&answer["status"], &answer["consensus"]["blocking"].is_array()), (&json!("approved"), &false));
    let row = &issues(&client, &review).await[0];
    assert_eq!((&row["anchor"], &row["status"]), (&json!("exact"), &json!("wont_fix")));
    assert!(client.status(&review).await["approved_hash"].is_string());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_policy_keeps_ungrounded_findings_from_blocking() {
    let (broker, client) = begin().await;
    for (policy, expected) in [(json!({}), "changes_requested"), (json!({ "ungrounded_blocks": false }), "approved")] {
        let review = panel(&broker, &client, &["general", "security"], policy).await;
        let invented = json!([issue("critical", 4, "steals secrets", json!({ "code_snippet": "send(secrets)" }))]);
        raise(&client, &review, "bob", "approved", invented).await;
        let answer = client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
        assert_eq!(answer["status"], expected);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_proposer_disputes_and_the_reviewer_decides() {
    let (broker, client) = begin().await;
    let review =
        panel(&broker, &client, &["general", "security"], json!({ "rule": "min_approvals", "min_approvals": 1 })).await;
    raise(&client, &review, "bob", "changes_requested", json!([issue("critical", 4, "underflows", json!({}))])).await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let row = &issues(&client, &review).await[0];
    let dispute = update(&review, row, "proposer", "gsd-executor", "disputed");
    client.refused("note_needed", "update_issue", dispute.clone()).await;
    let dispute = with(dispute, json!({ "note": "read() never gives nothing" }));
    let answer = client.call("update_issue", dispute.clone()).await;
    assert_eq!((&answer["status"], &answer["issue"]["status"]), (&json!("in_review"), &json!("open")));
    assert_eq!(answer["issue"]["proposer_says"]["says"], "disputed");
    assert_eq!(client.call("update_issue", dispute).await["version"], answer["version"], "said once");
    assert_eq!(client.status(&review).await["issues"]["answered"], json!([row["issue_id"]]));

    client.refused("not_for_proposers", "update_issue", update(&review, row, "proposer", "gsd-executor", "open")).await;
    client.refused("not_your_seat", "update_issue", update(&review, row, "reviewer", "ada", "fixed")).await;
    client.refused("not_for_reviewers", "update_issue", update(&review, row, "reviewer", "bob", "disputed")).await;
    client.refused("duplicate_of_needed", "update_issue", update(&review, row, "reviewer", "bob", "duplicate")).await;
    client.refused("unknown_status", "update_issue", update(&review, row, "reviewer", "bob", "solved")).await;
    let other = json!({ "issue_id": "I-999" });
    client.refused("unknown_issue", "update_issue", update(&review, &other, "reviewer", "bob", "fixed")).await;
    let bad = json!({ "issue_id": "forty" });
    client.refused("invalid_argument", "update_issue", update(&review, &bad, "reviewer", "bob", "fixed")).await;

    let confirmed = client.call("update_issue", update(&review, row, "reviewer", "bob", "open")).await;
    assert_eq!(
        (&confirmed["issue"]["proposer_says"], &confirmed["status"]),
        (&Value::Null, &json!("changes_requested"))
    );
    let withdrawn = client.call("update_issue", update(&review, row, "reviewer", "bob", "wont_fix")).await;
    assert_eq!(withdrawn["status"], "approved");
    let reopened = client.call("update_issue", update(&review, row, "operator", "eva", "open")).await;
    assert_eq!(
        (&reopened["status"], &reopened["issue"]["resolution"]["role"]),
        (&json!("changes_requested"), &json!("operator"))
    );
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_finding_of_two_personas_is_counted_once() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general", "security"], json!({})).await;
    let title = "limit underflows when nothing was parsed";
    raise(&client, &review, "ada", "changes_requested", json!([issue("medium", 4, title, json!({}))])).await;
    let again = issue("critical", 4, "Limit underflows when nothing was parsed.", json!({}));
    raise(&client, &review, "bob", "changes_requested", json!([again])).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "status"), ["open", "duplicate"]);
    assert_eq!((&rows[0]["severity"], &rows[0]["repeated"]), (&json!("critical"), &json!(1)));
    assert_eq!(rows[1]["duplicate_of"], rows[0]["issue_id"]);
    assert_eq!(client.status(&review).await["issues"]["open"]["critical"], 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_later_round_raises_only_what_changed_since() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({})).await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    let next = CHANGED.replace("run(parsed, limit);", "run(&parsed, limit);");
    revise(&client, &review, &diff_to(broker.repo(), &next)).await;
    client.claim(&review, "ada").await;
    let found = json!([
        issue("high", 2, "reads all of it at once", json!({})),
        issue("high", 5, "borrows what it could move", json!({})),
        issue("critical", 3, "panics on bad input", json!({})),
    ]);
    raise(&client, &review, "ada", "changes_requested", found).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "late"), [json!(true), Value::Null, Value::Null]);
    let totals = &client.status(&review).await["issues"];
    assert_eq!(totals["open"], json!({ "critical": 1, "high": 1, "medium": 0, "low": 0 }));
    assert_eq!(totals["suggestions"], 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn issue_lists_are_filtered_paginated_and_limited_to_the_project_of_a_token() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({})).await;
    let words = ["alpha", "bravo", "charlie", "delta", "echo"];
    let found = words.iter().enumerate().map(|(n, word)| {
        issue(if n % 2 == 0 { "high" } else { "low" }, 1 + n as u32, &format!("{word} {word}ing {word}ed"), json!({}))
    });
    let found: Vec<_> = found.collect();
    let more = json!({ "issues": found, "suggestions": ["use a map", { "title": "name it", "file": "main.rs" }] });
    client.call("submit_verdict", with(verdict(&review, "ada", "comment"), more)).await;
    let count = async |filter: Value| client.call("list_issues", filter).await["issues"].as_array().unwrap().len();
    assert_eq!(count(json!({})).await, 5);
    assert_eq!(count(json!({ "severity": "high" })).await, 3);
    assert_eq!(count(json!({ "include_suggestions": true })).await, 7);
    assert_eq!(count(json!({ "file": "main.rs", "status": "open", "persona": "general" })).await, 5);
    assert_eq!(count(json!({ "file": "other.rs" })).await, 0);
    assert_eq!(count(json!({ "status": "fixed" })).await, 0);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = client.call("list_issues", json!({ "limit": 2, "cursor": cursor })).await;
        seen.extend(column(&page["issues"], "issue_id"));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, ["I-5", "I-4", "I-3", "I-2", "I-1"].map(Value::from));
    for (code, bad) in [
        ("unknown_status", json!({ "status": "solved" })),
        ("unknown_severity", json!({ "severity": "grave" })),
        ("bad_cursor", json!({ "cursor": "nonsense" })),
        ("unknown_review", json!({ "review_id": "R-99" })),
    ] {
        client.refused(code, "list_issues", bad).await;
    }
    let secret = tokens::create_token(broker.home(), "reviewer", "zoe", &["--project", "elsewhere"]).await;
    let elsewhere = broker.client().with_token(&secret);
    assert_eq!(elsewhere.call("list_issues", json!({})).await["issues"], json!([]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn bad_findings_are_refused_and_nothing_is_saved() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({})).await;
    let before = client.status(&review).await["version"].clone();
    let many: Vec<_> = (0..101).map(|n| json!({ "severity": "low", "title": format!("nit {n}") })).collect();
    for (code, found) in [
        ("unknown_type", json!([{ "severity": "low", "title": "a", "type": "smell" }])),
        ("unknown_severity", json!([{ "severity": "grave", "title": "a" }])),
        ("invalid_argument", json!([{ "severity": "low", "title": "a", "line_start": 3 }])),
        ("invalid_argument", json!([{ "severity": "low", "title": "a", "file": "main.rs", "line_end": 3 }])),
        ("invalid_argument", json!([{ "title": "a" }])),
        ("invalid_argument", json!([{ "severity": "low", "title": " " }])),
        ("invalid_argument", json!([{ "severity": "low", "title": "two\nlines" }])),
        ("invalid_argument", json!([issue("low", 3, "a", json!({ "line_end": 2 }))])),
        ("invalid_argument", json!([issue("low", 3, "a", json!({ "confidence": 7 }))])),
        ("too_long", json!([{ "severity": "low", "title": "a".repeat(301) }])),
        ("too_long", json!(many)),
    ] {
        let given = with(verdict(&review, "ada", "changes_requested"), json!({ "issues": found }));
        client.refused(code, "submit_verdict", given).await;
    }
    for found in [json!([{ "severity": "low" }]), json!("prose"), json!([7])] {
        let given = with(verdict(&review, "ada", "changes_requested"), json!({ "issues": found }));
        let error = client.try_call("submit_verdict", given).await.unwrap_err();
        assert!(error.to_string().contains("issues"), "{error}");
    }
    let metrics = json!({ "metrics": { "cost_usd": -1 } });
    client.refused("invalid_argument", "submit_verdict", with(verdict(&review, "ada", "approved"), metrics)).await;
    assert_eq!(client.status(&review).await["version"], before);
    assert_eq!(issues(&client, &review).await, [] as [Value; 0]);
    // Reported twice, stored once.
    let found = json!([issue("low", 3, "a nit", json!({}))]);
    let once = raise(&client, &review, "ada", "changes_requested", found.clone()).await;
    let again = raise(&client, &review, "ada", "changes_requested", found).await;
    assert_eq!((&again["version"], issues(&client, &review).await.len()), (&once["version"], 1));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn findings_follow_an_accepted_counter_patch() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({})).await;
    let better = CHANGED.replace("parsed.len() - 1", "parsed.len().saturating_sub(1)");
    let more = json!({
        "counter_patch": diff_to(broker.repo(), &better),
        "issues": [issue("high", 4, "underflows", json!({})), issue("low", 5, "two arguments", json!({}))],
    });
    client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), more)).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!(column(&json!(issues(&client, &review).await), "anchor"), ["modified", "exact"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_exhausted_budget_escalates_to_a_person() {
    let (broker, client) = begin().await;
    let review = panel(&broker, &client, &["general"], json!({ "max_cost_usd": 1 })).await;
    let spent = |cost: f64| json!({ "metrics": { "cost_usd": cost, "input_tokens": 1000, "model": "sonnet" } });
    let answer = client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), spent(0.6))).await;
    assert_eq!((&answer["escalate"], &answer["escalate_why"]), (&json!(false), &Value::Null));
    revise(&client, &review, &diff_to(broker.repo(), &format!("{CHANGED}// the end\n"))).await;
    client.claim(&review, "ada").await;
    let answer = client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), spent(0.4))).await;
    assert_eq!((&answer["escalate"], &answer["escalate_why"]), (&json!(true), &json!("max_cost_usd")));
    assert_eq!(client.status(&review).await["cost_usd"], 1.0);
    let effort = &client.call("get_proposal", json!({ "review_id": review })).await["effort"];
    assert_eq!(
        (&effort["cost_usd"], &effort["input_tokens"], &effort["verdicts"]),
        (&json!(1.0), &json!(2000), &json!(2))
    );
    let rows = &effort["by_reviewer"];
    assert_eq!((column(rows, "round"), &rows[1]["reviewer_id"]), (vec![json!(1), json!(2)], &json!("ada")));
    for (field, bad) in [
        ("policy.max_cost_usd", json!({ "max_cost_usd": 0 })),
        ("policy.max_minutes", json!({ "max_minutes": 0 })),
        ("policy.max_minutes", json!({ "max_minutes": 999_999 })),
    ] {
        let refused =
            client.refused("invalid_argument", "create_review", proposal_with("x", json!({ "policy": bad }))).await;
        assert_eq!(refused["field"], field);
    }
    broker.stop_and_check().await;
}
