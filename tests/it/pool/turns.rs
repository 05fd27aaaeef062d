//! Turns in a conversation with reviewers of the pool.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    one_shot::{APPROVED, OneShots, Scripted},
    reviews::{verdict, with},
    scripted_reviewer::{ReviewerScript, pool},
    wait_until::wait_until,
};
use serde_json::{Value, json};

async fn status_becomes(broker: &TestBroker, review: &str, wanted: &str) -> Value {
    let client = broker.client();
    wait_until(wanted, async || Some(client.status(review).await).filter(|status| status["status"] == wanted)).await
}

#[tokio::test]
async fn the_pool_leaves_a_seat_for_one_reviewer_alone() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Approves, "")).await;
    let client = broker.client();
    let ask = |intent: &str, reviewers: Value| {
        client.call("create_review", proposal_with(intent, json!({ "reviewers": reviewers })))
    };
    let for_ada = id(&ask("for ada alone", json!(["@ada"])).await);
    let for_two = id(&ask("for ada and the pool", json!(["@ada", "security"])).await);
    let for_any = id(&ask("for the pool", json!(["general"])).await);
    status_becomes(&broker, &for_any, "approved").await;
    let voted = async || {
        let status = client.status(&for_two).await;
        (status["seats"][1]["verdict"] == "approved").then_some(status)
    };
    let two = wait_until("the vote of the pool", voted).await;
    assert_eq!((&two["status"], &two["seats"][0]["reserved_for"]), (&json!("in_review"), &json!("ada")));
    assert_eq!(client.status(&for_ada).await["status"], "pending");
    for review in [&for_ada, &for_two] {
        client.call("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })).await;
        client.call("submit_verdict", verdict(review, "ada", "approved")).await;
        status_becomes(&broker, review, "approved").await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_dispute_reaches_a_new_one_shot_in_the_same_round() {
    let script = format!(
        r#"if [ -e "$HOME/first" ]; then cat >"$HOME/second"; echo '{APPROVED}'; else cat >"$HOME/first"
        echo '{{"verdict":"changes_requested","reason":"no","issues":[{{"severity":"high","title":"say drei"}}]}}'; fi"#
    );
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "changes_requested").await;
    scene.nothing_is_left().await;
    let client = scene.client();
    let dispute = json!({ "review_id": review, "issue_id": "I-1", "status": "disputed", "note": "two are enough here",
                          "role": "proposer" });
    let answered = client.call("update_issue", dispute).await;
    assert_eq!((&answered["waiting_on"][0]["why"], &answered["current_round"]), (&json!("issue_answered"), &json!(1)));
    scene.status_becomes(&review, "approved").await;
    let second = scene.read("second");
    for part in ["You have judged round 1", "say drei", "two are enough here"] {
        assert!(second.contains(part), "no {part} in {second}");
    }
    scene.records().await;
}

#[tokio::test]
async fn a_one_shot_that_gives_up_escalates() {
    let scene = OneShots::start(&[Scripted::new("security", "cat >/dev/null; echo nonsense")], "").await;
    let review = scene.propose(&["security"]).await;
    let client = scene.client();
    let wait = json!({ "my_turn": true, "wait": true, "caller_id": "olga", "role": "operator" });
    let escalated = async || {
        let listed = client.call("list_reviews", wait.clone()).await;
        listed["reviews"][0]["waiting_on"].as_array().filter(|turns| turns[0]["who"] == "operator").cloned()
    };
    let turns = wait_until("an escalation", escalated).await;
    assert_eq!((&turns[0]["why"], &turns[0]["tool"]), (&json!("escalated"), &json!("add_message")));
    let status = client.status(&review).await;
    assert_eq!((&status["escalate"], &status["escalate_why"]), (&json!(true), &json!("could_not_review")));
    // A person goes on in its place.
    let taken = client.call("take_over", json!({ "review_id": review, "reviewer_id": "olga" })).await;
    assert_eq!(taken["waiting_on"][0]["name"], "olga");
    let vote = with(verdict(&review, "olga", "approved"), json!({ "claim_generation": taken["claim_generation"] }));
    assert_eq!(client.call("submit_verdict", vote).await["status"], "approved");
    scene.nothing_is_left().await;
}
