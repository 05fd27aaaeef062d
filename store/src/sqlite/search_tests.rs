//! Searches find what was written, whatever is typed.

use crate::{
    Store,
    query_types::TextQuery,
    sqlite::{log_indexes::tests::catch_up, stats::tests::known_reviews},
};
use domain::{
    ids::ReviewNumber,
    search::{SearchKind, SearchWords},
};

fn query(text: &str) -> TextQuery {
    TextQuery { words: SearchWords::parse(text).unwrap(), kinds: Vec::new(), project: None, review: None }
}

async fn find(store: &Store, query: TextQuery, limit: u32) -> Vec<(SearchKind, i64)> {
    let (mut cursor, mut found) = (None::<String>, Vec::new());
    loop {
        let page = store.reader.search_texts(&query, cursor.as_deref(), limit).await.unwrap().unwrap();
        found.extend(page.items.iter().map(|text| (text.kind, text.number.0)));
        let Some(next) = page.next_cursor else { return found };
        cursor = Some(next);
    }
}

#[tokio::test]
async fn titles_come_first_then_the_newest_and_filters_are_a_part_of_the_query() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    catch_up(&fixture.store).await;
    let store = &fixture.store;
    // The first review was revised, so its text is the newest of its batch, or it stands where it was.
    let mut titles = find(store, query("chang"), 2).await;
    titles.sort_by_key(|(_, number)| *number);
    assert_eq!(titles, (1..=5).map(|number| (SearchKind::Review, number)).collect::<Vec<_>>());
    let of_app = TextQuery { project: Some(Some("app".into())), ..query("change") };
    assert_eq!(find(store, of_app, 50).await.len(), 4);
    let of_none = TextQuery { project: Some(None), ..query("change") };
    assert_eq!(find(store, of_none, 50).await, []);
    let of_review = TextQuery { review: Some(ReviewNumber(2)), ..query("change") };
    assert_eq!(find(store, of_review, 50).await, [(SearchKind::Review, 2)]);
    // The title of a finding before the reasons of verdicts.
    assert_eq!(find(store, query("critical one"), 50).await, [(SearchKind::Finding, 2)]);
    let findings = TextQuery { kinds: vec![SearchKind::Finding], ..query("one") };
    assert_eq!(find(store, findings, 1).await.len(), 3);
    let verdicts = find(store, query("so"), 3).await;
    assert!(verdicts.len() >= 5 && verdicts.iter().all(|(kind, _)| *kind == SearchKind::Verdict), "{verdicts:?}");
    assert_eq!(find(store, query("R-4"), 50).await, [(SearchKind::Review, 4)]);
    assert_eq!(store.reader.search_findings(&query("high")).await.unwrap(), [1]);
    fixture.end().await;
}

#[tokio::test]
async fn no_text_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    catch_up(&fixture.store).await;
    for text in [
        "\"",
        "change\"",
        "AND",
        "change AND",
        "NOT change",
        "NEAR(change, 2)",
        "title:change",
        "scope : kreview",
        "c*",
        "^change",
        "(change",
        "{title body} : x",
        "-change",
        "a + b",
        "\u{0}change",
        "ÄÖÜ ß",
        "変更",
        "👩‍💻 change",
        "kreview",
        "' OR 1=1 --",
        &"x ".repeat(400),
    ] {
        if let Some(words) = SearchWords::parse(text) {
            let query = TextQuery { words, ..query("x") };
            fixture
                .store
                .reader
                .search_texts(&query, None, 5)
                .await
                .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        }
    }
    assert_eq!(find(&fixture.store, query("kreview"), 5).await, [], "words of the scope are not texts");
    assert_eq!(find(&fixture.store, query("\"change\""), 9).await.len(), 5);
    fixture.end().await;
}
