//! `countersign wait`: it ends with a decision, and the exit code is the outcome.

use crate::support::{broker::TestBroker, terminal::on_a_branch};
use serde_json::{Value, json};

async fn proposed() -> TestBroker {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    broker
}

#[tokio::test]
async fn each_outcome_has_its_exit_code() {
    let broker = on_a_branch().await;
    let cases: [(&[&[&str]], i32); 5] = [
        (&[&["respond", "--approve"]], 0),
        (&[&["respond", "--request-changes", "-m", "no"]], 10),
        (&[&["respond", "--reject", "-m", "no"]], 11),
        (&[&["cancel", "-m", "no"]], 12),
        (&[&["respond", "--approve"], &["close"]], 0),
    ];
    for (n, (steps, code)) in cases.into_iter().enumerate() {
        let review = format!("R-{}", n + 1);
        broker.command_as("ada", &["request", "--new"]).stdout().await;
        for step in steps {
            let line: Vec<_> = [&step[..1], &[&review], &step[1..]].concat();
            broker.command_as(if step[0] == "respond" { "bob" } else { "ada" }, &line).stdout().await;
        }
        let ended = broker.command_as("ada", &["wait", &review, "--timeout", "1m", "--json"]).finish().await;
        assert_eq!(ended.code, code, "{steps:?}: {}", ended.err);
        assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["number"], review);
        assert_eq!(ended.err, "");
    }
}

#[tokio::test]
async fn wait_ends_with_a_question_or_a_decision() {
    let broker = proposed().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    broker.until_waiting(1).await;
    assert!(!waiting.is_finished());
    broker.command_as("bob", &["comment", "1", "-m", "on purpose?"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 14);
    assert!(
        ended.out.contains("waits for ada (general)") && ended.out.contains("countersign comment R-1 "),
        "{}",
        ended.out
    );
    let asked = broker.command_as("ada", &["wait"]).finish().await;
    assert_eq!(asked.code, 14, "it is still ada's turn");
    broker.command_as("ada", &["comment", "1", "-m", "yes"]).stdout().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "say why"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 10);
    assert!(ended.out.contains("▲ changes requested") && ended.out.ends_with("bob says\n  say why\n"), "{}", ended.out);
}

#[tokio::test]
async fn wait_any_ends_with_any_change() {
    let broker = proposed().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait", "--any", "--json"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 13);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["status"], "claimed");
}

#[tokio::test]
async fn wait_ends_undecided_after_its_timeout() {
    let broker = proposed().await;
    let ended = broker.command_as("ada", &["wait", "1", "--timeout", "1s"]).finish().await;
    assert_eq!(ended.code, 13);
    assert!(ended.out.contains("○ pending") && ended.err.contains("not decided within the time"), "{ended:?}");
}

#[tokio::test]
async fn wait_survives_a_restart_of_the_broker() {
    let mut broker = proposed().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait", "1"]).finish());
    broker.until_waiting(1).await;
    broker.kill().await;
    let broker = broker.restarted().await;
    broker.until_waiting(1).await;
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[tokio::test]
async fn wait_does_not_miss_a_decision_during_an_outage() {
    let mut broker = proposed().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait", "1"]).finish());
    broker.until_waiting(1).await;
    assert!(broker.terminate().await.success());
    let broker = broker.restarted().await;
    broker.command_as("bob", &["respond", "1", "--reject", "-m", "no"]).stdout().await;
    assert_eq!(waiting.await.unwrap().code, 11);
}

#[tokio::test]
async fn a_request_can_wait_for_its_own_outcome() {
    let broker = on_a_branch().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["request", "--wait", "1m"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "no"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 10);
    assert!(ended.out.starts_with("R-1 submitted"), "{}", ended.out);
    let waiting = tokio::spawn(broker.command_as("ada", &["resubmit", "1", "--wait", "--json"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!((ended.code, &serde_json::from_str::<Value>(&ended.out).unwrap()["status"]), (0, &json!("approved")));
}
