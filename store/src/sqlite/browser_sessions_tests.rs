use super::MAX_SESSIONS;
use crate::{BrowserSessionChange, NewToken, Settings, Store, StoreError, TokenSelector, Tokens, open};
use domain::{
    credential::{Authority, SecretHash},
    time::Timestamp,
};
use tokio::sync::oneshot;

fn hash(text: &str) -> SecretHash {
    SecretHash::from_secret(text)
}

async fn write(store: &Store, change: BrowserSessionChange) -> Result<u64, StoreError> {
    let (reply, written) = oneshot::channel();
    store.writer.commit_session_change(Box::new(change), reply);
    written.await.unwrap()
}

fn session(name: &str, token: Option<&str>, at: i64) -> BrowserSessionChange {
    BrowserSessionChange::Create {
        hash: hash(name),
        token: token.map(hash),
        at: Timestamp(at),
        expires_at: Timestamp(at + 10),
    }
}

async fn is_live(store: &Store, name: &str, now: i64) -> bool {
    store.reader.find_live_session(&hash(name), Timestamp(now)).await.unwrap().is_some()
}

#[tokio::test]
async fn a_session_lives_until_it_expires_is_removed_or_its_token_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = open(&path, Settings::default()).await.unwrap();
    let mut tokens = Tokens::open(&path).await.unwrap().unwrap();
    let token = NewToken { hash: &hash("t"), authority: Authority::Reviewer, identity: "ada", project: Some("app") };
    tokens.create(token, Timestamp(1)).await.unwrap();

    assert_eq!(write(&store, session("of ada", Some("t"), 5)).await.unwrap(), 1);
    assert_eq!(write(&store, session("local", None, 5)).await.unwrap(), 1);
    assert!(write(&store, session("of no token", Some("x"), 5)).await.is_err());
    let found = store.reader.find_live_session(&hash("of ada"), Timestamp(6)).await.unwrap().unwrap();
    let (of_hash, of) = found.token.unwrap();
    assert_eq!(of_hash, hash("t"));
    assert_eq!((of.identity.as_str(), of.authority, of.project.as_deref()), ("ada", Authority::Reviewer, Some("app")));
    let local = store.reader.find_live_session(&hash("local"), Timestamp(14)).await.unwrap().unwrap();
    assert!(local.token.is_none());
    assert!(!is_live(&store, "local", 15).await, "expired");
    assert!(!is_live(&store, "unknown", 6).await);

    assert_eq!(tokens.revoke(&TokenSelector::Identity("ada".into()), Timestamp(7)).await.unwrap(), 1);
    assert!(!is_live(&store, "of ada", 8).await && is_live(&store, "local", 8).await);
    assert_eq!(write(&store, BrowserSessionChange::Remove { hash: hash("local") }).await.unwrap(), 1);
    assert_eq!(write(&store, BrowserSessionChange::Remove { hash: hash("local") }).await.unwrap(), 0);
    assert!(!is_live(&store, "local", 8).await);

    write(&store, session("again", None, 8)).await.unwrap();
    assert_eq!(tokens.end_local_sessions().await.unwrap(), 1);
    assert!(!is_live(&store, "again", 9).await);
}

#[tokio::test]
async fn the_oldest_sessions_of_a_token_end_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("db"), Settings::default()).await.unwrap();
    for number in 0..=MAX_SESSIONS {
        let change = BrowserSessionChange::Create {
            hash: hash(&number.to_string()),
            token: None,
            at: Timestamp(number),
            expires_at: Timestamp(1000),
        };
        write(&store, change).await.unwrap();
    }
    assert!(!is_live(&store, "0", 100).await);
    assert!(is_live(&store, "1", 100).await && is_live(&store, &MAX_SESSIONS.to_string(), 100).await);
}

#[tokio::test]
async fn a_database_keeps_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for name in ["a", "a", "b"] {
        let Store { reader, writer, thread, .. } = open(&folder.path().join(name), Settings::default()).await.unwrap();
        ids.push(reader.find_database_id().await.unwrap());
        reader.close().await;
        drop(writer);
        thread.ended().await;
    }
    assert!(ids[0] == ids[1] && ids[0] != ids[2] && ids[0].len() == 32, "{ids:?}");
}
