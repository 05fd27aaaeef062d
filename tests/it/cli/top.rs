//! `countersign top` on a real terminal.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal, proposal_with},
};
use serde_json::json;

#[tokio::test]
async fn a_user_watches_comments_approves_and_quits() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let more = json!({ "diff": diff });
    let review = id(&client.call("create_review", proposal_with("say it in German", more)).await);
    let mut screen = broker.command(&["top", "--as", "ada"]).on_terminal(110, 30);
    screen.shows("say it in German").await;
    screen.shows("[a reviewer]").await;

    let second = client.call("create_review", proposal("a second one")).await;
    screen.shows("a second one").await;
    screen.press("\r");
    screen.shows("Esc back").await;
    screen.press("\u{1b}");
    screen.shows("Enter open").await;
    client.call("cancel_review", serde_json::json!({ "review_id": second["review_id"], "reason": "no" })).await;

    screen.press("a");
    // The diff comes before the question.
    screen.shows("a approve  x request changes").await;
    screen.shows("+zwei").await;
    screen.press("a");
    screen.shows("Approve R-1? y/n").await;
    screen.press("y");
    screen.shows("approved R-1").await;
    let status = client.status(&review).await;
    assert_eq!((&status["status"], &status["verdict_by"]), (&"approved".into(), &"ada".into()));
    screen.press("q");
    assert_eq!(screen.finish().await, 0);
}

#[tokio::test]
async fn a_user_requests_changes_of_what_was_shown() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let review = id(&client.call("create_review", proposal_with("in German", json!({ "diff": diff }))).await);
    let mut screen = broker.command(&["top", "--as", "ada"]).on_terminal(110, 30);
    screen.shows("in German").await;
    screen.press("x");
    screen.shows("+zwei").await;
    // The proposer is faster.
    let revision = json!({ "review_id": review, "intent": "again", "diff": broker.repo().diff("drei") });
    client.call("create_review", revision).await;
    screen.press("x");
    screen.shows("request changes to R-1, because").await;
    screen.press("no\r");
    screen.shows("stale_content").await;
    assert_eq!(client.status(&review).await["status"], "pending");
    screen.press("x");
    screen.shows("+drei").await;
    screen.press("x");
    // The text was kept.
    screen.shows("because: no").await;
    screen.press("\r");
    screen.shows("requested changes to R-1").await;
    let status = client.status(&review).await;
    assert_eq!((&status["status"], &status["verdict_reason"]), (&json!("changes_requested"), &json!("no")));
    screen.press("q");
    assert_eq!(screen.finish().await, 0);
}

#[tokio::test]
async fn without_a_terminal_only_json_is_printed() {
    let broker = TestBroker::start().await;
    broker.client().submit("say it in German").await;
    let ended = broker.command(&["top"]).finish().await;
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("needs a terminal"), "{}", ended.err);
    let seen = broker.command(&["top", "--json"]).json().await;
    assert_eq!(seen["reviews"][0]["intent"], "say it in German");
    assert!(seen["actors"].as_array().unwrap().len() > 2, "{seen}");
}
