//! Replay: with `at`, the broker answers as it did after that event. Reviews with a random history are recorded answer by
//! answer, and read again at every event. `COUNTERSIGN_TEST_SEED` repeats a run.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    random::Random,
    rest_client::{RestClient, encoded},
    reviews::with,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Settings that let a history be long and never end a claim.
const SETTINGS: &str = "[claims]\nlease = \"1h\"\n[reviews]\nmax_rounds = 1000\nmax_exchanges = 1000";

/// What only the present has: the head of the branch and the ends of leases.
fn without_present(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("branch_head");
    }
    for seat in answer["seats"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        seat.remove("lease_ends_at");
    }
    answer
}

/// All that the page reads of a review, with `at` or as it is. Texts and refusals count as well.
async fn everything(rest: &RestClient, review: &str, rounds: &[u64], at: Option<u64>) -> Vec<(String, Value)> {
    let mut paths = vec![
        format!("/reviews/{review}/status?caller_id=ada"),
        format!("/reviews/{review}/status?caller_id=pat"),
        format!("/reviews/{review}/messages"),
        format!("/reviews/{review}/issues?include_suggestions=true"),
        format!("/reviews/{review}/issues?status=open&limit=2"),
        format!("/reviews/{review}/timeline"),
        format!("/reviews/{review}/files?path=greeting.txt&side=new"),
    ];
    for round in rounds {
        paths.push(format!("/reviews/{review}?round={round}"));
        paths.push(format!("/reviews/{review}?round={round}&content=submitted"));
        paths.push(format!("/reviews/{review}?since_round=1&round={round}"));
        paths.push(format!("/reviews/{review}/counter-patch?round={round}"));
        paths.push(format!("/reviews/{review}/rounds/{round}/diff"));
    }
    let mut answers = Vec::new();
    for path in paths {
        let separator = if path.contains('?') { '&' } else { '?' };
        let asked = at.map_or(path.clone(), |at| format!("{path}{separator}at={at}"));
        let answer = rest.get(&asked).await;
        let said = match answer.kind() {
            "application/json" => without_present(answer.json()),
            "application/problem+json" => answer.json()["code"].clone(),
            _ => Value::from(answer.text.as_str()),
        };
        answers.push((path, json!({ "status": answer.status, "said": said, "etag": answer.header("etag") })));
    }
    answers
}

/// What has to happen in a recorded review, because it changes rows in place or frees seats.
const KINDS: [&str; 7] = [
    "revised",
    "verdict_given",
    "counter_patch_accepted",
    "counter_patch_rejected",
    "finding_updated",
    "message_added",
    "claim_ended",
];

/// One random call about the review. Many are refused.
async fn step(client: &TestClient, broker: &TestBroker, status: &Value, random: &mut Random, n: u64) {
    let review = status["review_id"].as_str().unwrap();
    let offered = status["seats"].as_array().unwrap().iter().find(|seat| seat["has_counter_patch"] == true);
    let reviewer = *random.pick(&["ada", "bob", "cat"]);
    let persona = *random.pick(&["security", "tests"]);
    let about = |more: Value| with(json!({ "review_id": review }), more);
    let raised = client.call("list_issues", about(json!({}))).await;
    let raised: Vec<_> = raised["issues"].as_array().unwrap().iter().map(|issue| issue["issue_id"].clone()).collect();
    let issue = if raised.is_empty() { json!("I-1") } else { random.pick(&raised).clone() };
    let answer = offered.filter(|_| random.below(4) == 0).map(|seat| {
        let tool = *random.pick(&["accept_counter_patch", "reject_counter_patch"]);
        (tool, about(json!({ "persona": seat["persona"] })))
    });
    let (tool, arguments) = match random.below(22) {
        _ if answer.is_some() => answer.unwrap(),
        0..5 => ("claim_review", about(json!({ "reviewer_id": reviewer, "persona": persona }))),
        5..11 => {
            let verdict = *random.pick(&["approved", "changes_requested", "changes_requested", "comment"]);
            let issues: Vec<_> = (0..random.below(3))
                .map(|i| {
                    let severity = *random.pick(&["critical", "high", "low"]);
                    json!({ "severity": severity, "title": format!("problem {n} {i}"), "file": "greeting.txt",
                            "line_start": 2 })
                })
                .collect();
            let patch =
                (verdict != "approved" && random.below(2) == 0).then(|| broker.repo().diff(&format!("patch{}", n % 5)));
            let more = json!({ "reviewer_id": reviewer, "verdict": verdict, "reason": format!("reason {n}"),
                               "issues": issues, "suggestions": [{ "title": format!("idea {n}") }],
                               "metrics": { "cost_usd": 0.01 } });
            let more = patch.map_or(more.clone(), |patch| with(more, json!({ "counter_patch": patch })));
            ("submit_verdict", about(more))
        }
        11..14 => {
            let (role, by) = *random.pick(&[("proposer", "pat"), ("reviewer", reviewer), ("operator", "olga")]);
            let to = (role != "operator").then_some(persona);
            let more = json!({ "sender_role": role, "caller_id": by, "body": format!("message {n}"), "persona": to });
            ("add_message", about(more))
        }
        14..17 => {
            let (role, by) = *random.pick(&[("proposer", "pat"), ("operator", "olga")]);
            let status = *random.pick(&["fixed", "wont_fix", "open"]);
            let more = json!({ "issue_id": issue, "status": status, "role": role, "caller_id": by, "note": "so" });
            ("update_issue", about(more))
        }
        17 => ("release_claim", about(json!({ "reviewer_id": reviewer, "reason": "not my field" }))),
        18 => ("take_over", about(json!({ "reviewer_id": reviewer, "persona": persona }))),
        19 => ("add_seat", about(json!({ "reviewer": "@dan", "role": "operator", "caller_id": "olga" }))),
        _ => {
            let diff = broker.repo().diff(&format!("word{}", n % 7));
            let more = json!({ "intent": format!("change {n}"), "diff": diff, "change_note": "again",
                               "description": format!("description {}", n % 3) });
            ("create_review", about(more))
        }
    };
    // What the rules refuse changes nothing.
    let _ = client.try_call(tool, arguments).await;
}

/// A recorded review: its id, and all answers by the version in which they were given.
struct Recorded {
    review: String,
    answers: Vec<AnswersAt>,
}

/// The version of the review, the rounds that were read, and all answers.
type AnswersAt = (u64, Vec<u64>, Vec<(String, Value)>);

async fn record(broker: &TestBroker, random: &mut Random, events: u64) -> Recorded {
    let (client, rest) = (broker.client().at("/mcp"), broker.rest());
    let more = json!({ "proposer_id": "pat", "personas": ["security", "tests"], "diff": broker.repo().diff("zwei"),
                       "description": "to German" });
    let review = id(&client.call("create_review", proposal_with("translate", more)).await);
    let mut recorded = Recorded { review, answers: Vec::new() };
    for n in 0..events * 10 {
        let status = client.status(&recorded.review).await;
        let (version, last) = (status["version"].as_u64().unwrap(), status["current_round"].as_u64().unwrap());
        if recorded.answers.last().is_none_or(|(before, ..)| *before < version) {
            let rounds: Vec<_> = BTreeSet::from([1, last.saturating_sub(1).max(1), last]).into_iter().collect();
            let answers = everything(&rest, &recorded.review, &rounds, None).await;
            recorded.answers.push((version, rounds, answers));
        }
        if version >= events && has_all_kinds(&rest, &recorded.review).await {
            break;
        }
        step(&client, broker, &status, random, n).await;
    }
    assert!(has_all_kinds(&rest, &recorded.review).await, "the history has too few kinds of events");
    let cancel = json!({ "review_id": recorded.review, "reason": "enough", "caller_id": "pat" });
    client.call("cancel_review", cancel).await;
    recorded
}

/// Whether all of [`KINDS`] have happened.
async fn has_all_kinds(rest: &RestClient, review: &str) -> bool {
    let mut missing = BTreeSet::from(KINDS);
    let mut cursor = String::new();
    loop {
        let page = rest.get(&format!("/reviews/{review}/timeline{cursor}")).await.is(200);
        for round in page["rounds"].as_array().unwrap() {
            for event in round["events"].as_array().unwrap() {
                missing.remove(event["kind"].as_str().unwrap());
            }
        }
        match page["next_cursor"].as_str() {
            Some(next) if !missing.is_empty() => cursor = format!("?cursor={next}"),
            _ => return missing.is_empty(),
        }
    }
}

async fn compare(rest: &RestClient, recorded: &Recorded, random: &mut Random) {
    let mut order: Vec<_> = recorded.answers.iter().collect();
    // In any order, so that the states that the broker keeps are hit from both sides.
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    for (version, rounds, before) in order {
        let now = everything(rest, &recorded.review, rounds, Some(*version)).await;
        for ((path, then), (_, now)) in before.iter().zip(&now) {
            assert_eq!(now, then, "{path} at event {version}");
        }
    }
}

async fn run(reviews: usize, events: u64) {
    let mut random = Random::new();
    let mut broker = TestBroker::with_settings(SETTINGS).await;
    let mut recorded = Vec::new();
    for _ in 0..reviews {
        recorded.push(record(&broker, &mut random, events).await);
    }
    // Before a restart and after it.
    for (n, review) in recorded.iter().enumerate() {
        if n == recorded.len() / 2 {
            broker = broker.kill_and_restart().await;
        }
        compare(&broker.rest(), review, &mut random).await;
        let versions: Vec<_> = review.answers.iter().map(|(version, ..)| *version).collect();
        println!("{} answers up to event {:?}", versions.len(), versions.last());
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn at_every_event_the_broker_answers_as_it_did_then() {
    run(2, 40).await;
}

#[tokio::test]
#[ignore = "long"]
async fn at_every_event_of_many_long_reviews_the_broker_answers_as_it_did_then() {
    run(10, 600).await;
}

#[tokio::test]
async fn an_event_that_the_review_does_not_have_is_refused() {
    let broker = TestBroker::start().await;
    let (client, rest) = (broker.client(), broker.rest());
    let review = client.submit("one").await;
    client.claim(&review, "ada").await;
    for at in ["0", "3", "18446744073709551615"] {
        for path in ["status", "messages", "issues", "timeline"] {
            let refused = rest.get(&format!("/reviews/{review}/{path}?at={at}")).await.refused(422, "invalid_argument");
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("R-1 has the events 1 to 2") && detail.contains("get_review_timeline"), "{detail}");
            assert_eq!(refused["field"], "at");
        }
    }
    for other in ["wait=true", "since=1", "timeout_seconds=5"] {
        let refused = rest.get(&format!("/reviews/{review}/status?at=1&{other}")).await;
        assert!(refused.refused(422, "invalid_argument")["detail"].as_str().unwrap().contains("at"), "{refused:?}");
    }
    let refused = rest.get("/issues?at=1").await.refused(400, "invalid_params");
    assert_eq!(refused["field"], "review_id");
    let refused = rest.get(&format!("/reviews/{review}/status?at={}", encoded("yesterday"))).await;
    refused.refused(400, "invalid_params");
}

#[tokio::test]
async fn reading_the_past_renews_no_claim() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"2s\"").await;
    let (client, rest) = (broker.client(), broker.rest());
    let review = client.submit("one").await;
    client.claim(&review, "ada").await;
    // Each of these calls would renew the claim if it was about the present.
    let claimed_at = Instant::now();
    loop {
        for path in ["status", "messages", "issues", "timeline"] {
            rest.get(&format!("/reviews/{review}/{path}?at=2&caller_id=ada")).await.is(200);
        }
        rest.get(&format!("/reviews/{review}?at=2&caller_id=ada")).await.is(200);
        let status = client.status(&review).await;
        if status["status"] == "pending" {
            break;
        }
        assert!(claimed_at.elapsed() < Duration::from_secs(60), "{status}");
    }
}

#[tokio::test]
async fn no_list_of_tools_shows_the_argument_and_every_tool_takes_it() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let lists_at = async |path: &str| {
        let tools = client.at(path).request("tools/list", json!({})).await.unwrap();
        let status = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "get_review_status");
        status.unwrap()["inputSchema"]["properties"].get("at").is_some()
    };
    for path in ["/mcp", "/mcp/proposer", "/mcp/reviewer", "/mcp/operator"] {
        assert!(!lists_at(path).await, "{path}");
    }
    let review = client.submit("one").await;
    let past = client.call("get_review_status", json!({ "review_id": review, "at": 1 })).await;
    assert_eq!(past["version"], 1);
}

/// The time that a step of the page takes in a review with 10,000 events. Prints it.
#[tokio::test]
#[ignore = "measures"]
async fn a_step_in_a_review_with_ten_thousand_events() {
    let broker = TestBroker::with_settings(SETTINGS).await;
    let (client, rest) = (broker.client(), broker.rest());
    let review = client.submit("one").await;
    for n in 0..10_000 {
        let message = json!({ "review_id": review, "sender_role": "operator", "caller_id": "olga",
                              "body": format!("message {n}: {}", "words ".repeat(30)) });
        client.call("add_message", message).await;
    }
    for at in [10_000, 9_999, 5_000, 1, 10_001] {
        let started = Instant::now();
        rest.get(&format!("/reviews/{review}/status?at={at}")).await.is(200);
        println!("status at {at}: {:?}", started.elapsed());
    }
    let started = Instant::now();
    rest.get(&format!("/reviews/{review}/timeline")).await.is(200);
    println!("a page of the timeline: {:?}", started.elapsed());
}
