//! What a caller's word for a review means.

use super::Named;
use crate::stats::tests::lived;
use domain::ids::ReviewId;

#[tokio::test]
async fn a_prefix_leads_only_to_what_is_within_reach() {
    let folder = tempfile::tempdir().unwrap();
    let lives = lived(&folder.path().join("countersign.db")).await;
    let find = async |of: Option<Option<&str>>| lives.store.reader.find_id_by_prefix("0000", of).await.unwrap();
    let id = |number| ReviewId(uuid::Uuid::from_u128(number));
    assert_eq!(find(None).await, Named::Several((1..=5).map(id).collect()));
    assert_eq!(find(Some(Some("app"))).await, Named::Several((1..=4).map(id).collect()));
    assert_eq!(find(Some(Some("web"))).await, Named::One(id(5)));
    assert_eq!((find(Some(Some("other"))).await, find(Some(None)).await), (Named::Nothing, Named::Nothing));
    lives.end().await;
}
