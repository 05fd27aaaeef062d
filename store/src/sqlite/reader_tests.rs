use crate::sqlite::stats::tests::known_reviews;
use domain::ids::ReviewId;

#[tokio::test]
async fn a_prefix_finds_only_reviews_of_the_given_project() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let find =
        async |project: Option<Option<&str>>| fixture.store.reader.list_ids_by_prefix("0000", project).await.unwrap();
    let id = |number| ReviewId(uuid::Uuid::from_u128(number));
    assert_eq!(find(None).await, (1..=5).map(id).collect::<Vec<_>>());
    assert_eq!(find(Some(Some("app"))).await, (1..=4).map(id).collect::<Vec<_>>());
    assert_eq!(find(Some(Some("web"))).await, [id(5)]);
    assert_eq!((find(Some(Some("other"))).await, find(Some(None)).await), (Vec::new(), Vec::new()));
    fixture.end().await;
}
