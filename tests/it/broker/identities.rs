//! Names that differ only in case, width or invisible characters are one identity.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    reviews::verdict,
};
use serde_json::json;

/// Spellings of `Ada`.
const SPELLINGS: [&str; 3] = ["ADA", "ada", "Ａｄａ"];
/// Names that are refused: they look like `Ada` and are not.
const REFUSED: [&str; 4] = ["A\u{200b}da", "Ada\u{fe0f}", "Ad\u{430}", "A\u{ad}da"];

#[tokio::test]
async fn a_proposer_cannot_review_its_own_change_under_another_spelling() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mine = proposal_with("mine", json!({ "proposer_id": "Ada", "diff": broker.repo().diff("zwei") }));
    let review = id(&client.call("create_review", mine).await);
    let claim = |name: &str| json!({ "review_id": review, "reviewer_id": name });
    for name in SPELLINGS {
        client.refused("own_proposal", "claim_review", claim(name)).await;
    }
    // The names of seats are ASCII.
    for name in &SPELLINGS[..2] {
        let seat = json!({ "review_id": review, "caller_id": "Ada", "reviewer": format!("@{name}") });
        client.refused("own_proposal", "add_seat", seat).await;
        let own = proposal_with("mine", json!({ "proposer_id": "Ada", "reviewers": [format!("@{name}")] }));
        client.refused("invalid_argument", "create_review", own).await;
    }
    for name in REFUSED {
        let refused = client.refused("invalid_argument", "claim_review", claim(name)).await;
        assert_eq!(refused["field"], "reviewer_id", "{name:?}");
        let theirs = proposal_with("theirs", json!({ "proposer_id": name }));
        client.refused("invalid_argument", "create_review", theirs).await;
    }
    // Another person has another name. One script is fine, whichever it is.
    client.claim(&review, "Ада").await;
    client.refused("own_proposal", "submit_verdict", verdict(&review, "ADA", "approved")).await;
    client.call("submit_verdict", verdict(&review, "Ада", "approved")).await;
    assert_eq!(client.status(&review).await["status"], "approved");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_has_one_seat_and_acts_under_every_spelling() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let panel = proposal_with("a panel", json!({ "personas": ["general", "security"], "proposer_id": "bob" }));
    let review = id(&client.call("create_review", panel).await);
    let claim = |name: &str, persona: &str| json!({ "review_id": review, "reviewer_id": name, "persona": persona });
    client.call("claim_review", claim("Ada", "general")).await;
    for name in SPELLINGS {
        client.refused("holds_another_seat", "claim_review", claim(name, "security")).await;
        let again = client.call("claim_review", claim(name, "general")).await;
        assert_eq!(again["claimed_by"], "Ada", "{name} holds this seat already");
    }
    for name in &SPELLINGS[..2] {
        let own = json!({ "review_id": review, "caller_id": "BOB", "reviewer": format!("@{name}") });
        client.refused("holds_another_seat", "add_seat", own).await;
    }
    client.call("submit_verdict", verdict(&review, "ADA", "approved")).await;
    assert_ne!(client.status(&review).await["status"], "approved", "it is one vote");
    let said = json!({ "review_id": review, "sender_role": "reviewer", "caller_id": "ada", "body": "one more thing" });
    client.call("add_message", said).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_seat_for_a_reviewer_is_free_for_every_spelling_of_its_name() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let asked = proposal_with("for ada", json!({ "reviewers": ["@Ada", "@ADA"], "proposer_id": "Bob" }));
    let review = id(&client.call("create_review", asked).await);
    assert_eq!(client.status(&review).await["seats"].as_array().unwrap().len(), 1, "they ask for one reviewer");
    let listed = async |more| {
        let list = client.call("list_reviews", more).await;
        list["reviews"].as_array().unwrap().len()
    };
    for (name, mine) in [("ada", 1), ("Ａda", 1), ("eve", 0), ("bob", 0)] {
        let queue = listed(json!({ "status": "pending", "caller_id": name })).await;
        assert_eq!(queue, mine, "the queue of {name}");
    }
    let claim = json!({ "review_id": review, "reviewer_id": "ＡＤＡ" });
    client.call("claim_review", claim).await;
    for (name, found) in [("ada", 1), ("Ada", 1), ("bOB", 1), ("eve", 0)] {
        assert_eq!(listed(json!({ "participant": name })).await, found, "reviews of {name}");
    }
    assert_eq!(listed(json!({ "proposer": "BOB" })).await, 1);
    for (name, turns) in [("aDa", 1), ("bob", 0)] {
        assert_eq!(listed(json!({ "my_turn": true, "caller_id": name })).await, turns, "turns of {name}");
    }
    let next = json!({ "review_id": review, "intent": "again", "proposer_id": "BOB" });
    client.call("create_review", next).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_is_for_an_identity() {
    let broker = TestBroker::start().await;
    let made = broker.command(&["token", "create", "--role", "reviewer", "--name", "Ada"]).stdout().await;
    let token = made.split_whitespace().find(|word| word.starts_with("cs_")).unwrap().to_owned();
    let review = broker.client().submit("for a token").await;
    let ada = broker.client().with_token(&token);
    let claim = |name: &str| json!({ "review_id": review, "reviewer_id": name });
    ada.refused("wrong_identity", "claim_review", claim("eve")).await;
    ada.call("claim_review", claim("ADA")).await;
    assert_eq!(broker.client().status(&review).await["claimed_by"], "Ada", "the name of the token");
    let deceptive = broker.command(&["token", "create", "--role", "reviewer", "--name", "Ad\u{430}"]).finish().await;
    assert!(deceptive.code == 2 && deceptive.err.contains("letters of one script"), "{}", deceptive.err);
    let revoked = broker.command(&["token", "revoke", "ADA"]).finish().await;
    assert!(revoked.code == 0 && revoked.err.contains("revoked 1 token"), "{}", revoked.err);
}
