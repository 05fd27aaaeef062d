//! Commands without a running broker.

use crate::support::{broker::TestBroker, command::command_in};

#[tokio::test]
async fn a_command_without_a_broker_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    for command in ["actors", "stats", "audit", "events"] {
        let ended = command_in(home.path(), home.path(), &[command]).finish().await;
        assert_eq!(ended.code, 5, "{command}: {}", ended.err);
        assert!(ended.err.contains("no broker serves") && ended.err.contains("countersign serve"), "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

#[tokio::test]
async fn a_command_finds_the_broker_of_its_data_dir() {
    let broker = TestBroker::start().await;
    let stats = broker.command(&["stats", "--json"]).json().await;
    assert_eq!(stats["reviews"]["total"], 0);
}
