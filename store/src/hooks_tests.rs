use crate::{HookChange, HookRow, HookStep, PoolChange, Settings, Store, Which, open};
use domain::{
    pool::PoolEvent,
    time::{Tick, Timestamp},
};
use tokio::sync::oneshot;

async fn note(store: &Store, step: HookStep) -> u64 {
    let (done, noted) = oneshot::channel();
    store.writer.note(Box::new(HookChange { hook: "ci".into(), step }), done);
    noted.await.unwrap().unwrap()
}

/// A store with so many events, which are not those of a review.
async fn with_events(path: &std::path::Path, events: i64) -> Store {
    let store = open(path, Settings::default()).await.unwrap();
    for at in 0..events {
        let (done, recorded) = oneshot::channel();
        let event = Some(PoolEvent::CrashLoopCleared { project: None });
        store.writer.record(Box::new(PoolChange { at: Timestamp(at), tick: Tick(at), reviewer: None, event }), done);
        recorded.await.unwrap().unwrap();
    }
    store
}

fn bury(seq: u64) -> HookStep {
    HookStep::Bury { seq, attempts: 3, error: "503".into(), at: Timestamp(7) }
}

#[tokio::test]
async fn a_hook_begins_once_and_never_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_events(&folder.path().join("db"), 9).await;
    assert_eq!(note(&store, HookStep::Begin { source: "a".into(), cursor: 5 }).await, 1);
    assert_eq!(note(&store, HookStep::Begin { source: "b".into(), cursor: 8 }).await, 0);
    note(&store, HookStep::Advance { cursor: 7 }).await;
    note(&store, HookStep::Advance { cursor: 6 }).await;
    note(&store, bury(9)).await;
    let row = HookRow { name: "ci".into(), source: "a".into(), cursor: 9, dead: 1 };
    assert_eq!(store.reader.list_hooks().await.unwrap(), [row]);
}

#[tokio::test]
async fn the_dead_are_listed_tried_again_and_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_events(&folder.path().join("db"), 9).await;
    note(&store, HookStep::Begin { source: "a".into(), cursor: 0 }).await;
    for seq in [2, 3, 5] {
        note(&store, bury(seq)).await;
    }
    let first = store.reader.list_dead("ci", 0, 2).await.unwrap();
    assert_eq!(first.iter().map(|dead| dead.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(first[0].kind, "crash_loop_cleared");
    assert_eq!(store.reader.find_dead_to_try("ci").await.unwrap(), None);
    assert_eq!(note(&store, HookStep::Retry(Which::These(vec![3, 4, 5]))).await, 2);
    assert_eq!(store.reader.find_dead_to_try("ci").await.unwrap(), Some(3));
    assert_eq!(note(&store, bury(3)).await, 1);
    assert_eq!(note(&store, HookStep::Forget(Which::These(vec![5]))).await, 1);
    assert_eq!(store.reader.find_dead_to_try("ci").await.unwrap(), None);
    let left = store.reader.list_dead("ci", 2, 9).await.unwrap();
    assert_eq!(left.iter().map(|dead| (dead.seq, dead.attempts, dead.again)).collect::<Vec<_>>(), [(3, 6, false)]);
    assert_eq!(note(&store, HookStep::Forget(Which::All)).await, 2);
}
