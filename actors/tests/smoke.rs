#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
use countersign_actors::{request::*, *};
use domain::{review::*, verdict::Verdict};
use std::{path::Path, time::Duration};

fn settings(lease: Duration) -> Settings {
    Settings {
        rules: Rules { lease },
        max_rounds: 3,
        idle_after: Duration::from_millis(200),
        max_live: 100,
        default_wait: Duration::from_secs(2),
        max_wait: Duration::from_secs(50),
        limits: Limits {
            diff_bytes: 1 << 20,
            intent_chars: 2000,
            text_chars: 200_000,
            id_chars: 200,
            metadata_bytes: 65536,
            page_items: 50,
            max_page_items: 200,
            calls_in_flight: 1024,
            calls_per_review: 128,
            waiters: 4096,
        },
        refuse: vec![],
    }
}
async fn start(dir: &Path, lease: Duration) -> Running {
    let store = store::open(&dir.join("db"), store::Settings::default()).await.unwrap();
    countersign_actors::start(store, Projects::default(), settings(lease)).await.unwrap()
}
fn proposal(key: Option<&str>) -> NewProposal {
    NewProposal {
        proposer: Proposer {
            agent_type: "a".into(),
            agent_role: "b".into(),
            phase: "1".into(),
            plan: None,
            task: None,
            project: None,
            proposer_id: None,
        },
        category: None,
        intent: "x".into(),
        description: None,
        diff: None,
        base: None,
        skip_diff_validation: false,
        key: key.map(Into::into),
    }
}
#[tokio::test(flavor = "multi_thread")]
async fn life() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(dir.path(), Duration::from_millis(300)).await;
    let b = running.broker.clone();
    let s = b.create(proposal(Some("k"))).await.unwrap();
    let again = b.create(proposal(Some("k"))).await.unwrap();
    assert_eq!(s.review.id, again.review.id);
    let id = s.review.id;
    let w = {
        let b = b.clone();
        tokio::spawn(async move { b.wait_review(id, Wait { since: Some(1), timeout: None }).await })
    };
    let c = b.claim(id, "r".into(), None).await.unwrap();
    assert_eq!(c.status, Status::Claimed);
    assert!(!w.await.unwrap().unwrap().timed_out);
    let seen = b.wait_review(id, Wait { since: Some(c.version), timeout: None }).await.unwrap();
    assert_eq!(seen.review.status, Status::Pending);
    assert!(!seen.timed_out);
    let l = b.wait_list(ListQuery::default(), Wait { since: None, timeout: None }).await.unwrap();
    assert_eq!(l.page.items.len(), 1);
    let waiter = {
        let b = b.clone();
        let v = l.version;
        tokio::spawn(async move { b.wait_list(ListQuery::default(), Wait { since: Some(v), timeout: None }).await })
    };
    let s2 = b.create(proposal(None)).await.unwrap();
    let l2 = waiter.await.unwrap().unwrap();
    assert!(!l2.timed_out);
    assert_eq!(l2.page.items.len(), 2);
    b.claim(s2.review.id, "q".into(), None).await.unwrap();
    let v = b
        .give_verdict(
            s2.review.id,
            VerdictRequest {
                reviewer_id: Some("q".into()),
                claim_generation: None,
                content_hash: None,
                verdict: Verdict::Approved,
                reason: None,
                summary: None,
                metrics: None,
                counter_patch: None,
            },
        )
        .await
        .unwrap();
    assert_eq!(v.status, Status::Approved);
    b.close(s2.review.id, Role::Proposer).await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    println!("{:#?}", b.actors().await.unwrap());
    println!("{:?}", b.resolve("R-1").await);
    b.claim(id, "r".into(), None).await.unwrap();
    drop(b);
    tokio::time::timeout(Duration::from_secs(5), running.shutdown()).await.unwrap();
    let running = start(dir.path(), Duration::from_millis(300)).await;
    let b = running.broker.clone();
    let seen = b.wait_review(id, Wait { since: None, timeout: None }).await.unwrap();
    assert!(!seen.timed_out);
    assert_eq!(seen.review.status, Status::Pending);
    drop(b);
    tokio::time::timeout(Duration::from_secs(5), running.shutdown()).await.unwrap();
}
