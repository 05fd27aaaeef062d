use super::{NewToken, TokenSelector, Tokens, new_secret};
use crate::{Settings, Store};
use domain::{
    credential::{Authority, Scope, SecretHash},
    time::Timestamp,
};

#[tokio::test]
async fn a_token_created_beside_an_open_store_is_found_until_it_is_revoked() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("countersign.db");
    assert!(Tokens::open(&path).await.expect("readable").is_none());
    let Store { reader, writer, thread, .. } = crate::open(&path, Settings::default()).await.expect("opened");
    let mut tokens = Tokens::open(&path).await.expect("opened").expect("up to date");

    let hash = SecretHash::from_secret("cs_secret");
    let token = NewToken { hash: &hash, authority: Authority::Reviewer, identity: "ada", project: Some("app") };
    let id = tokens.create(token, Timestamp(5)).await.expect("made");
    assert!(tokens.create(token, Timestamp(6)).await.is_err(), "a secret can be used once");
    let found = reader.find_live_token(&hash).await.expect("read").expect("there");
    assert_eq!((found.id, found.identity.as_str(), found.authority), (id, "ada", Authority::Reviewer));
    assert_eq!(found.scope(), Scope::Project(Some("app".into())));
    let other = SecretHash::from_secret("cs_other");
    assert_eq!(reader.find_live_token(&other).await.expect("read"), None);
    let among = [other, hash.clone()];
    assert!(reader.has_live_token(&among).await.expect("read"));
    assert!(!reader.has_live_token(&among[..1]).await.expect("read"));

    assert_eq!(tokens.revoke(&TokenSelector::Identity("bob".into()), Timestamp(7)).await.expect("done"), 0);
    assert_eq!(tokens.revoke(&TokenSelector::Id(id), Timestamp(8)).await.expect("done"), 1);
    assert_eq!(tokens.revoke(&TokenSelector::Identity("ada".into()), Timestamp(9)).await.expect("done"), 0);
    assert_eq!(reader.find_live_token(&hash).await.expect("read"), None);
    assert!(!reader.has_live_token(&among).await.expect("read"));
    let all = tokens.list().await.expect("read");
    assert_eq!((all.len(), all[0].revoked_at), (1, Some(Timestamp(8))));
    tokens.close().await.expect("closed");
    drop(writer);
    reader.close().await;
    thread.ended().await;
}

#[test]
fn secrets_are_recognisable_and_never_repeat() {
    let secret = new_secret();
    let digits = secret.strip_prefix("cs_").unwrap();
    assert!(digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_ne!(secret, new_secret());
}
