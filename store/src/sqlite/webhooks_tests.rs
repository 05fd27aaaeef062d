use crate::{DeliverySelector, PoolChange, Settings, Store, WebhookChange, WebhookStep, open, query_types::WebhookRow};
use domain::{
    reviewer_pool::PoolEvent,
    time::{Tick, Timestamp},
};
use tokio::sync::oneshot;

async fn write(store: &Store, step: WebhookStep) -> u64 {
    let (reply, written) = oneshot::channel();
    store.writer.commit_webhook_change(Box::new(WebhookChange { webhook: "ci".into(), step }), reply);
    written.await.unwrap().unwrap()
}

/// A store with `events` events of the pool.
async fn with_events(path: &std::path::Path, events: i64) -> Store {
    let store = open(path, Settings::default()).await.unwrap();
    for at in 0..events {
        let (done, recorded) = oneshot::channel();
        let event = Some(PoolEvent::CrashLoopCleared { project: None, by: None });
        store.writer.commit_pool_change(
            Box::new(PoolChange { at: Timestamp(at), tick: Tick(at), reviewer: None, event }),
            done,
        );
        recorded.await.unwrap().unwrap();
    }
    store
}

fn add_dead(seq: u64) -> WebhookStep {
    WebhookStep::AddDead { seq, attempts: 3, error: "503".into(), at: Timestamp(7) }
}

#[tokio::test]
async fn a_webhook_is_registered_once_and_its_cursor_never_moves_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_events(&folder.path().join("db"), 9).await;
    assert_eq!(write(&store, WebhookStep::Register { source: "a".into(), cursor: 5 }).await, 1);
    assert_eq!(write(&store, WebhookStep::Register { source: "b".into(), cursor: 8 }).await, 0);
    write(&store, WebhookStep::Advance { cursor: 7 }).await;
    write(&store, WebhookStep::Advance { cursor: 6 }).await;
    write(&store, add_dead(9)).await;
    let row = WebhookRow { name: "ci".into(), source: "a".into(), cursor: 9, dead: 1 };
    assert_eq!(store.reader.list_webhooks().await.unwrap(), [row]);
}

#[tokio::test]
async fn dead_deliveries_are_listed_retried_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_events(&folder.path().join("db"), 9).await;
    write(&store, WebhookStep::Register { source: "a".into(), cursor: 0 }).await;
    for seq in [2, 3, 5] {
        write(&store, add_dead(seq)).await;
    }
    let first = store.reader.list_dead_deliveries("ci", 0, 2).await.unwrap();
    assert_eq!(first.iter().map(|dead| dead.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(first[0].kind, "crash_loop_cleared");
    assert_eq!(store.reader.find_delivery_to_retry("ci").await.unwrap(), None);
    assert_eq!(write(&store, WebhookStep::RetryDead(DeliverySelector::Seqs(vec![3, 4, 5]))).await, 2);
    assert_eq!(store.reader.find_delivery_to_retry("ci").await.unwrap(), Some(3));
    assert_eq!(write(&store, add_dead(3)).await, 1);
    assert_eq!(write(&store, WebhookStep::RemoveDead(DeliverySelector::Seqs(vec![5]))).await, 1);
    assert_eq!(store.reader.find_delivery_to_retry("ci").await.unwrap(), None);
    let left = store.reader.list_dead_deliveries("ci", 2, 9).await.unwrap();
    assert_eq!(left.iter().map(|dead| (dead.seq, dead.attempts, dead.waiting)).collect::<Vec<_>>(), [(3, 6, false)]);
    assert_eq!(write(&store, WebhookStep::RemoveDead(DeliverySelector::All)).await, 2);
}
