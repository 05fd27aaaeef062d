//! `countersign wait`: it ends with a decision, and the exit code is the outcome.

use crate::support::{broker::TestBroker, terminal::on_a_branch};
use serde_json::{Value, json};

async fn proposed() -> TestBroker {
    let broker = on_a_branch().await;
    broker.types("ada", &["request"]).prints().await;
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
        broker.types("ada", &["request"]).prints().await;
        for step in steps {
            let line: Vec<_> = [&step[..1], &[&review], &step[1..]].concat();
            broker.types(if step[0] == "respond" { "bob" } else { "ada" }, &line).prints().await;
        }
        let ended = broker.types("ada", &["wait", &review, "--timeout", "1m", "--json"]).ends().await;
        assert_eq!(ended.code, code, "{steps:?}: {}", ended.err);
        assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["number"], review);
        assert_eq!(ended.err, "");
    }
}

#[tokio::test]
async fn wait_ends_only_with_a_decision() {
    let broker = proposed().await;
    let waiting = tokio::spawn(broker.types("ada", &["wait"]).ends());
    broker.until_waiting(1).await;
    broker.types("bob", &["claim", "1"]).prints().await;
    broker.types("bob", &["comment", "1", "-m", "hm"]).prints().await;
    broker.until_waiting(1).await;
    assert!(!waiting.is_finished());
    broker.types("bob", &["respond", "1", "--request-changes", "-m", "say why"]).prints().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 10);
    assert!(ended.out.contains("▲ changes requested") && ended.out.ends_with("bob says\n  say why\n"), "{}", ended.out);
}

#[tokio::test]
async fn wait_any_ends_with_any_change() {
    let broker = proposed().await;
    let waiting = tokio::spawn(broker.types("ada", &["wait", "--any", "--json"]).ends());
    broker.until_waiting(1).await;
    broker.types("bob", &["claim", "1"]).prints().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 13);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["status"], "claimed");
}

#[tokio::test]
async fn wait_ends_undecided_after_its_timeout() {
    let broker = proposed().await;
    let ended = broker.types("ada", &["wait", "1", "--timeout", "1s"]).ends().await;
    assert_eq!(ended.code, 13);
    assert!(ended.out.contains("○ pending") && ended.err.contains("not decided within the time"), "{ended:?}");
}

#[tokio::test]
async fn wait_survives_a_restart_of_the_broker() {
    let mut broker = proposed().await;
    let waiting = tokio::spawn(broker.types("ada", &["wait", "1"]).ends());
    broker.until_waiting(1).await;
    broker.kill().await;
    let broker = broker.restarted().await;
    broker.until_waiting(1).await;
    broker.types("bob", &["respond", "1", "--approve"]).prints().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[tokio::test]
async fn wait_does_not_miss_a_decision_during_an_outage() {
    let mut broker = proposed().await;
    let waiting = tokio::spawn(broker.types("ada", &["wait", "1"]).ends());
    broker.until_waiting(1).await;
    assert!(broker.terminate().await.success());
    let broker = broker.restarted().await;
    broker.types("bob", &["respond", "1", "--reject", "-m", "no"]).prints().await;
    assert_eq!(waiting.await.unwrap().code, 11);
}

#[tokio::test]
async fn a_request_can_wait_for_its_own_outcome() {
    let broker = on_a_branch().await;
    let waiting = tokio::spawn(broker.types("ada", &["request", "--wait", "1m"]).ends());
    broker.until_waiting(1).await;
    broker.types("bob", &["respond", "1", "--request-changes", "-m", "no"]).prints().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 10);
    assert!(ended.out.starts_with("R-1 submitted"), "{}", ended.out);
    let waiting = tokio::spawn(broker.types("ada", &["resubmit", "1", "--wait", "--json"]).ends());
    broker.until_waiting(1).await;
    broker.types("bob", &["respond", "1", "--approve"]).prints().await;
    let ended = waiting.await.unwrap();
    assert_eq!((ended.code, &serde_json::from_str::<Value>(&ended.out).unwrap()["status"]), (0, &json!("approved")));
}
