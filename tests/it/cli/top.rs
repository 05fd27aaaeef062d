//! `countersign top` on a real terminal.

use crate::support::{broker::TestBroker, client::proposal};

#[tokio::test]
async fn a_user_watches_comments_approves_and_quits() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("say it in German").await;
    let mut screen = broker.command(&["top", "--as", "ada"]).on_terminal(110, 30);
    screen.shows("say it in German").await;
    screen.shows("[a reviewer]").await;

    let second = client.call("create_review", proposal("a second one")).await;
    screen.shows("a second one").await;
    screen.press("\r");
    screen.shows("j/k, Space move").await;
    screen.press("q");
    client.call("cancel_review", serde_json::json!({ "review_id": second["review_id"], "reason": "no" })).await;

    screen.press("ay");
    screen.shows("approved R-1").await;
    let status = client.status(&review).await;
    assert_eq!((&status["status"], &status["verdict_by"]), (&"approved".into(), &"ada".into()));
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
