use crate::{query_types::ReviewMatch, sqlite::stats::tests::known_reviews};
use domain::ids::ReviewId;

#[tokio::test]
async fn a_prefix_finds_only_reviews_of_the_given_project() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let find =
        async |project: Option<Option<&str>>| fixture.store.reader.find_id_by_prefix("0000", project).await.unwrap();
    let id = |number| ReviewId(uuid::Uuid::from_u128(number));
    assert_eq!(find(None).await, ReviewMatch::Several((1..=5).map(id).collect()));
    assert_eq!(find(Some(Some("app"))).await, ReviewMatch::Several((1..=4).map(id).collect()));
    assert_eq!(find(Some(Some("web"))).await, ReviewMatch::One(id(5)));
    assert_eq!((find(Some(Some("other"))).await, find(Some(None)).await), (ReviewMatch::None, ReviewMatch::None));
    fixture.end().await;
}
