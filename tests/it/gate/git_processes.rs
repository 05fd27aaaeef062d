//! How many git processes a command starts. Each takes longer than the rest of the command.

use crate::support::{
    approvals::{approve_staged, stage, vote},
    broker::TestBroker,
    counting_git::CountingGit,
};

/// Runs a command and checks how many processes it starts.
async fn assert_processes(broker: &TestBroker, counting: &CountingGit, line: &[&str], stdin: &str, expected: usize) {
    counting.take();
    counting.count(broker.command(line).stdin(stdin)).stdout().await;
    let started = counting.take();
    assert_eq!(started.len(), expected, "{line:?} starts\n{}", started.join("\n"));
}

#[tokio::test]
async fn the_gate_starts_git_only_for_the_index() {
    let (broker, counting) = (TestBroker::start().await, CountingGit::new());
    let first = broker.repo().git(&["rev-parse", "HEAD"]);
    for word in ["zwei", "drei"] {
        stage(&broker, word);
        approve_staged(&broker, &[]).await;
        assert_processes(&broker, &counting, &["gate", "--staged"], "", 1).await;
        assert_processes(&broker, &counting, &["hook", "pre-commit"], "", 1).await;
        broker.repo().git(&["commit", "--quiet", "--message", word]);
        assert_processes(&broker, &counting, &["gate", "--commit", "HEAD"], "", 0).await;
    }
    assert_processes(&broker, &counting, &["gate", "--range", &format!("{first}..main")], "", 0).await;
    let last = broker.repo().git(&["rev-parse", "HEAD"]);
    let lines = format!("refs/heads/main {last} refs/heads/main {first}\n");
    assert_processes(&broker, &counting, &["hook", "pre-push", "origin", "../nowhere"], &lines, 0).await;
}

#[tokio::test]
async fn a_request_starts_a_git_process_for_each_thing_that_only_git_knows() {
    let counting = CountingGit::new();
    let broker = TestBroker::with_settings(&counting.setting()).await;
    broker.repo().git(&["switch", "--quiet", "--create", "work"]);
    for word in ["zwei", "drei"] {
        stage(&broker, word);
        broker.repo().git(&["commit", "--quiet", "--message", word]);
    }
    // The command: where the working tree and its branch are, the base, the messages, and what is not committed. The
    // broker: the diff.
    assert_processes(&broker, &counting, &["request", "--as", "eve"], "", 5).await;
    vote(&broker, "R-1", "approved").await;
    assert_processes(&broker, &counting, &["gate", "--range", "main..work"], "", 0).await;
}
