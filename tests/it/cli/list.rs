//! `countersign list` with filters.

use crate::support::{broker::TestBroker, client::proposal_with};
use serde_json::{Value, json};

#[tokio::test]
async fn a_list_is_narrowed_by_its_options() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let submit = |intent: &str, more: Value| client.call("create_review", proposal_with(intent, more));
    submit("Cache the index", json!({ "proposer_id": "ada", "personas": ["security"] })).await;
    submit("Drop the cache", json!({ "proposer_id": "bob" })).await;
    let listed = async |options: &[&str]| {
        let list = broker.command_as("eve", &[&["list"], options].concat()).stdout().await;
        ["R-1", "R-2"].map(|number| list.contains(number))
    };
    assert_eq!(listed(&["--proposer", "ada"]).await, [true, false]);
    assert_eq!(listed(&["--persona", "general"]).await, [false, true]);
    assert_eq!(listed(&["--search", "CACHE"]).await, [true, true]);
    assert_eq!(listed(&["--search", "r-2", "--all"]).await, [false, true]);
    assert_eq!(listed(&["--branch", "topic"]).await, [false, false]);
    assert_eq!(listed(&["--search", "cache", "--proposer", "bob", "--status", "pending"]).await, [false, true]);
    broker.stop_and_check().await;
}
