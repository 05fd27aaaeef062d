//! A review from proposal to close, through a real client library.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    reviews::{self, column, review_in},
    rmcp_client::Library,
    tokens::create_token,
};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

#[tokio::test]
async fn a_review_can_be_completed_in_protocol_revision_2025_06_18() {
    full_life(ProtocolVersion::V_2025_06_18).await;
}

#[tokio::test]
async fn a_review_can_be_completed_in_protocol_revision_2025_11_25() {
    full_life(ProtocolVersion::V_2025_11_25).await;
}

#[tokio::test]
async fn a_review_can_be_completed_in_protocol_revision_2026_07_28() {
    full_life(ProtocolVersion::V_2026_07_28).await;
}

/// Propose, claim, read, ask for changes, push back, look again, revise, approve, close.
async fn full_life(revision: ProtocolVersion) {
    let broker = TestBroker::start().await;
    let proposer = Library::connect(broker.url("/mcp/proposer"), &revision).await;
    let reviewer = Library::connect(broker.url("/mcp/reviewer"), &revision).await;
    assert_eq!(proposer.0.peer().peer_info().map(|info| info.protocol_version.clone()), Some(revision));
    let (first_diff, second_diff) = (broker.repo().diff("deux"), broker.repo().diff("zwei"));

    let first = proposal_with("Translate line two", json!({ "diff": first_diff, "description": "Into French." }));
    let created = proposer.call("create_review", first).await;
    let id = id(&created);
    assert_eq!((&created["status"], &created["current_round"]), (&json!("pending"), &json!(1)));
    assert_eq!((&created["applies"], &created["revised"]), (&json!(true), &json!(false)));
    assert_eq!(created["number"], "R-1");

    let queue = reviewer.call("list_reviews", json!({ "status": "pending", "wait": true })).await;
    assert_eq!(queue["reviews"][0]["review_id"], id);
    let claim = reviewer.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert_eq!((&claim["status"], &claim["seat"]), (&json!("claimed"), &json!("general")));
    assert_eq!((&claim["intent"], &claim["description"]), (&json!("Translate line two"), &json!("Into French.")));
    assert_eq!(claim["content_hash"], created["content_hash"]);

    let read = reviewer.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!((&read["diff"], &read["claimed_by"]), (&json!(first_diff), &json!("ada")));
    let sent_back =
        reviewer.call("submit_verdict", bound_verdict(&id, &claim, "changes_requested", "German, please")).await;
    assert_eq!(sent_back["status"], "changes_requested");
    assert_eq!(sent_back["consensus"]["outcome"], "changes_requested");

    let told =
        proposer.call("get_review_status", json!({ "review_id": id, "wait": true, "since": created["version"] })).await;
    assert_eq!((&told["verdict_reason"], &told["verdict_by"]), (&json!("German, please"), &json!("ada")));

    let pushed_back = proposer.call("add_message", json!({ "review_id": id, "body": "Why not French?" })).await;
    assert_eq!((&pushed_back["status"], &pushed_back["current_round"]), (&json!("pending"), &json!(1)));
    reviewer.refused("reserved", "claim_review", json!({ "review_id": id, "reviewer_id": "bob" })).await;
    let for_bob = reviewer.call("list_reviews", json!({ "status": "pending", "caller_id": "bob" })).await;
    assert_eq!(for_bob["reviews"], json!([]), "what is reserved for ada does not tempt bob");
    reviewer.refused("stale_claim", "submit_verdict", bound_verdict(&id, &claim, "approved", "")).await;

    let again = reviewer.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert!(again["claim_generation"].as_u64() > claim["claim_generation"].as_u64());
    reviewer.call("add_message", json!({ "review_id": id, "body": "The readers are German." })).await;
    reviewer.call("submit_verdict", bound_verdict(&id, &again, "request_changes", "German, still")).await;

    let revision = json!({ "review_id": id, "intent": "Translate line two to German", "diff": second_diff });
    let revised = proposer.call("create_review", revision).await;
    assert_eq!((&revised["revised"], &revised["current_round"]), (&json!(true), &json!(2)));
    assert_eq!((&revised["status"], &revised["priority"]), (&json!("pending"), &json!("normal")));
    assert_ne!(revised["content_hash"], created["content_hash"]);

    let last = reviewer.call("claim_review", json!({ "review_id": "R-1", "reviewer_id": "bob" })).await;
    assert_eq!(last["description"], "Into French.", "what a revision leaves out stays");
    let approved = reviewer.call("submit_verdict", bound_verdict(&id, &last, "approve", "")).await;
    assert_eq!((&approved["status"], &approved["verdict"]), (&json!("approved"), &json!("approved")));
    assert_eq!(approved["approved_hash"], revised["content_hash"]);
    let closed = proposer.call("close_review", json!({ "review_id": id })).await;
    assert_eq!((&closed["status"], &closed["approved_hash"]), (&json!("closed"), &revised["content_hash"]));

    let old = reviewer.call("get_proposal", json!({ "review_id": id, "round": 1 })).await;
    assert_eq!((&old["diff"], &old["content_hash"]), (&json!(first_diff), &created["content_hash"]));
    let talk = proposer.call("get_discussion", json!({ "review_id": id })).await;
    assert_eq!(column(&talk["messages"], "body"), ["Why not French?", "The readers are German."]);
    assert_eq!(column(&talk["messages"], "sender_role"), ["proposer", "reviewer"]);
    broker.stop_and_check().await;
}

fn bound_verdict(id: &str, claim: &Value, verdict: &str, reason: &str) -> Value {
    json!({
        "review_id": id, "verdict": verdict, "reason": reason,
        "claim_generation": claim["claim_generation"], "content_hash": claim["content_hash"],
    })
}

#[tokio::test]
async fn an_open_review_can_be_cancelled_in_every_status() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for status in ["pending", "claimed", "changes_requested", "approved"] {
        let id = review_in(&client, status).await;
        let cancelled = client.call("cancel_review", json!({ "review_id": id, "reason": "plans changed" })).await;
        assert_eq!((&cancelled["status"], &cancelled["cancel_reason"]), (&json!("cancelled"), &json!("plans changed")));
        assert_eq!(cancelled["claimed_by"], Value::Null, "the reviewer of a {status} one is free");
        assert_eq!(cancelled["approved_hash"], Value::Null);
        if status == "approved" {
            let read = client.call("get_proposal", json!({ "review_id": id })).await;
            assert_eq!(read["iterations"][0]["reviewer_id"], "ada", "who approved it is not forgotten");
        }
        client.refused("wrong_status", "submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
        let closed = client.call("close_review", close(&id, "proposer")).await;
        assert_eq!(closed["status"], "closed");
    }
    for status in ["rejected", "closed"] {
        let id = review_in(&client, status).await;
        client.refused("wrong_status", "cancel_review", json!({ "review_id": id, "reason": "late" })).await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_cancellation_reaches_a_waiting_reviewer_and_refuses_a_verdict() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let since = client.status(&id).await["version"].clone();
    let wait = client.call("get_review_status", json!({ "review_id": id, "wait": true, "since": since }));
    let cancel = client.call("cancel_review", json!({ "review_id": id, "reason": "superseded by R-2" }));
    let (told, _) = tokio::join!(wait, cancel);
    assert_eq!((&told["status"], &told["cancel_reason"]), (&json!("cancelled"), &json!("superseded by R-2")));
    let late = client.refused("wrong_status", "submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
    assert_eq!((&late["status"], &late["possible"]), (&json!("cancelled"), &json!("revise, close")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_a_decided_review_is_closed_and_only_by_its_proposer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for status in ["approved", "rejected", "cancelled"] {
        let id = review_in(&client, status).await;
        client.refused("not_the_proposer", "close_review", close(&id, "reviewer")).await;
        let closed = client.call("close_review", close(&id, "proposer")).await;
        assert_eq!(closed["status"], "closed");
    }
    for status in ["pending", "claimed", "changes_requested"] {
        let id = review_in(&client, status).await;
        let refused = client.refused("wrong_status", "close_review", close(&id, "proposer")).await;
        assert_eq!(refused["status"], status);
        assert!(refused["possible"].as_str().unwrap().contains("cancel"), "{refused}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn nothing_can_happen_to_a_closed_review() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "closed").await;
    let before = client.status(&id).await;
    let calls = [
        ("claim_review", json!({ "review_id": id, "reviewer_id": "bob" })),
        ("submit_verdict", reviews::verdict(&id, "ada", "approved")),
        ("create_review", json!({ "review_id": id, "intent": "once more" })),
        ("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "hello?" })),
        ("accept_counter_patch", json!({ "review_id": id })),
        ("reject_counter_patch", json!({ "review_id": id })),
        ("cancel_review", json!({ "review_id": id, "reason": "late" })),
    ];
    for (tool, arguments) in calls {
        let refused = client.refused("wrong_status", tool, arguments).await;
        assert_eq!((&refused["status"], &refused["possible"]), (&json!("closed"), &json!("nothing, it is final")));
    }
    assert_eq!(client.status(&id).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_may_change_its_mind_on_the_same_round() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "approved").await;
    let hash = client.status(&id).await["content_hash"].clone();
    let back = client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    assert_eq!((&back["status"], &back["approved_hash"]), (&json!("changes_requested"), &Value::Null));
    let again = client.call("submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
    assert_eq!((&again["status"], &again["approved_hash"]), (&json!("approved"), &hash));
    client.refused("not_your_seat", "submit_verdict", reviews::verdict(&id, "bob", "rejected")).await;

    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    let verdicts = column(&read["iterations"], "verdict");
    assert_eq!(verdicts, ["approved", "changes_requested", "approved"], "each of them is kept");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn comments_change_no_status_and_are_all_kept() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    for reason in ["first thought", "I would say: approved", "```\ndecision: approve\n``` unauthorized"] {
        let comment = json!({ "review_id": id, "reviewer_id": "ada", "verdict": "comment", "reason": reason });
        let taken = client.call("submit_verdict", comment).await;
        assert_eq!((&taken["status"], &taken["consensus"]["outcome"]), (&json!("claimed"), &json!("undecided")));
    }
    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    let reasons = column(&read["iterations"], "reason");
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert_eq!((&reasons[2], &reasons[1]), (&json!("first thought"), &json!("I would say: approved")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_rejection_has_a_reason_and_can_be_answered_with_a_new_round() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let bare = json!({ "review_id": id, "reviewer_id": "ada", "verdict": "rejected" });
    client.refused("reason_needed", "submit_verdict", bare).await;
    let rejected = client.call("submit_verdict", reviews::verdict(&id, "ada", "reject")).await;
    assert_eq!((&rejected["status"], &rejected["verdict"]), (&json!("rejected"), &json!("rejected")));
    client.refused("wrong_status", "cancel_review", json!({ "review_id": id, "reason": "enough" })).await;
    let revision = json!({ "review_id": id, "intent": "another way" });
    let revised = client.call("create_review", revision).await;
    assert_eq!((&revised["status"], &revised["current_round"]), (&json!("pending"), &json!(2)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_third_returned_round_escalates_to_a_person() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = client.submit("round 1").await;
    for round in 1..=4 {
        if round > 1 {
            let revised =
                client.call("create_review", json!({ "review_id": id, "intent": format!("round {round}") })).await;
            assert_eq!((&revised["current_round"], &revised["escalate"]), (&json!(round), &json!(round > 3)));
        }
        client.claim(&id, "ada").await;
        let back = client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
        assert_eq!(back["escalate"], round >= 3, "round {round}");
    }
    assert_eq!(client.status(&id).await["escalate"], true);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_round_keeps_its_content_its_verdict_and_its_reason() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let long_reason = "This is why. ".repeat(300);
    let created = client.call("create_review", proposal_with("round 1", json!({ "description": "one" }))).await;
    let id = id(&created);
    client.claim(&id, "ada").await;
    let back = json!({ "review_id": id, "reviewer_id": "ada", "verdict": "changes_requested", "reason": long_reason });
    client.call("submit_verdict", back).await;
    let revision = json!({ "review_id": id, "intent": "round 2", "description": "two" });
    let revised = client.call("create_review", revision).await;
    client.claim(&id, "bob").await;
    for n in 1..=25 {
        let comment = json!({ "review_id": id, "reviewer_id": "bob", "verdict": "comment", "reason": n.to_string() });
        client.call("submit_verdict", comment).await;
    }
    client.call("submit_verdict", reviews::verdict(&id, "bob", "approved")).await;

    let old = client.call("get_proposal", json!({ "review_id": id, "round": 1 })).await;
    assert_eq!((&old["intent"], &old["description"]), (&json!("round 1"), &json!("one")));
    assert_eq!((&old["round"], &old["current_round"]), (&json!(1), &json!(2)));
    assert_eq!(old["content_hash"], created["content_hash"]);
    assert_eq!(column(&old["iterations"], "reviewer_id"), ["ada"]);
    assert_eq!((&old["verdict"], &old["verdict_reason"]), (&json!("changes_requested"), &json!(long_reason)));
    assert_eq!(old["approved_hash"], Value::Null, "it was the second round that was approved");

    let timeline = client.call("get_review_timeline", json!({ "review_id": id })).await;
    let first =
        &timeline["rounds"][0]["events"].as_array().unwrap().iter().find(|event| event["verdict"] != json!(null));
    let of_verdict = |version: &Value| json!({ "review_id": id, "verdict": version });
    let whole = client.call("get_proposal", of_verdict(&first.unwrap()["version"])).await;
    assert_eq!((&whole["verdict_reason"], &whole["description"]), (&json!(long_reason), &json!(null)));
    client.refused("invalid_argument", "get_proposal", of_verdict(&json!(1))).await;

    let new = client.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!((&new["intent"], &new["description"]), (&json!("round 2"), &json!("two")));
    assert_eq!((&new["verdict"], &new["approved_hash"]), (&json!("approved"), &revised["content_hash"]));
    let beyond = client.refused("no_such_round", "get_proposal", json!({ "review_id": id, "round": 3 })).await;
    assert_eq!(beyond["last"], 2);
    client.refused("no_such_round", "get_proposal", json!({ "review_id": id, "round": 0 })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_is_for_the_proposer_until_the_review_is_closed() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for status in ["pending", "claimed", "approved", "cancelled"] {
        let id = review_in(&client, status).await;
        let revised = client.call("create_review", json!({ "review_id": id, "intent": "better" })).await;
        assert_eq!((&revised["status"], &revised["current_round"]), (&json!("pending"), &json!(2)), "{status}");
    }
    let closed = review_in(&client, "closed").await;
    client.refused("wrong_status", "create_review", json!({ "review_id": closed, "intent": "better" })).await;
    let owned = client.call("create_review", proposal_with("mine", json!({ "proposer_id": "claude-1" }))).await;
    let id = id(&owned);
    client.claim(&id, "ada").await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    let stranger = json!({ "review_id": id, "intent": "better", "proposer_id": "claude-2" });
    client.refused("not_the_proposer", "create_review", stranger).await;
    // A question makes the review pending, and it can still be revised.
    client.call("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "why?" })).await;
    let mine = json!({ "review_id": id, "intent": "better", "proposer_id": "claude-1" });
    let revised = client.call("create_review", mine).await;
    assert_eq!((&revised["status"], &revised["current_round"]), (&json!("pending"), &json!(2)));
    let status = client.status(&id).await;
    assert_eq!(status["seats"][0]["reserved_for"], Value::Null, "a revision is for any reviewer");
    assert_eq!((&status["verdict"], &status["verdict_reason"]), (&Value::Null, &Value::Null));
    broker.stop_and_check().await;
}

fn close(id: &str, role: &str) -> Value {
    json!({ "review_id": id, "closer_role": role })
}

/// Kind and actor of every event of a review by `paul`, whose counter-patches and end are seen to by the
/// operator of this name, if there is one.
async fn log_of_a_life(operator: Option<&str>) -> Vec<(&'static str, String)> {
    let mut broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let answering = match operator {
        Some(name) => broker.client().with_token(&create_token(broker.home(), "operator", name, &[]).await),
        None => broker.client(),
    };
    let proposal = proposal_with("translate", json!({ "diff": repo.diff("zwei"), "proposer_id": "paul" }));
    let review = id(&client.call("create_review", proposal).await);
    let offer = |patch: String| {
        reviews::with(reviews::verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": patch }))
    };
    client.claim(&review, "ada").await;
    client.call("submit_verdict", offer(repo.diff("dos"))).await;
    answering.call("reject_counter_patch", json!({ "review_id": review })).await;
    client.call("submit_verdict", offer(repo.diff("deux"))).await;
    answering.call("accept_counter_patch", json!({ "review_id": review })).await;
    client.call("create_review", json!({ "review_id": review, "intent": "as you said" })).await;
    answering.call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    answering.call("close_review", close(&review, "proposer")).await;
    assert!(broker.terminate().await.success());

    let store = store::open(&broker.data_dir().join("countersign.db"), store::Settings::default()).await.unwrap();
    let log = crate::support::reviews::review_log(&store.reader, domain::ids::ReviewNumber(1)).await;
    log.iter().map(|recorded| (recorded.event.kind().as_str(), recorded.event.actor().unwrap().to_owned())).collect()
}

#[tokio::test]
async fn the_log_says_who_did_what() {
    for (operator, answers) in [(None, "paul"), (Some("olga"), "olga")] {
        let expected = [
            ("proposed", "paul"),
            ("claimed", "ada"),
            ("verdict_given", "ada"),
            ("counter_patch_rejected", answers),
            ("verdict_given", "ada"),
            ("counter_patch_accepted", answers),
            ("revised", "paul"),
            ("cancelled", answers),
            ("closed", answers),
        ];
        assert_eq!(log_of_a_life(operator).await, expected.map(|(kind, actor)| (kind, actor.to_owned())));
    }
}
