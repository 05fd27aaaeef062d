//! Counts of reviews: that they agree with the lists, and read no row that they do not count.

use super::{Spellings, select_by_status, select_escalated};
use crate::{
    query_types::{ReviewCounts, ReviewFilter, ReviewSearch},
    sqlite::{review_list::tests::plan, stats::tests::known_reviews},
};
use domain::{
    credential::Authority,
    review::{AddMessage, Category, Command, Status},
};
use rusqlite::Connection;
use sqlx::Execute as _;

#[tokio::test]
async fn counts_agree_with_the_lists() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let all = ReviewFilter::default;
    for filter in [
        all(),
        ReviewFilter { project: Some("app".into()), ..all() },
        ReviewFilter { without_project: true, ..all() },
        ReviewFilter { category: Some(Category::CodeChange), ..all() },
        ReviewFilter { proposer: Some("eve".into()), ..all() },
        ReviewFilter { proposer: Some("mallory".into()), ..all() },
        ReviewFilter { persona: Some("general".into()), project: Some("web".into()), ..all() },
        ReviewFilter { participant: Some("bob".into()), ..all() },
        ReviewFilter { branch: Some("topic".into()), ..all() },
        ReviewFilter { search: Some(ReviewSearch::new("better")), ..all() },
    ] {
        let counts = fixture.store.reader.count_reviews(std::slice::from_ref(&filter)).await.unwrap();
        let (page, _) = fixture.store.reader.list_reviews(std::slice::from_ref(&filter), None, 50).await.unwrap();
        let mut expected = ReviewCounts::default();
        for review in &page.items {
            *expected.by_status.entry(review.status).or_default() += 1;
        }
        assert_eq!(counts, expected, "{filter:?}");
    }
    let both = [Some("app".to_owned()), Some("web".to_owned())].map(|project| ReviewFilter { project, ..all() });
    let counts = fixture.store.reader.count_reviews(&both).await.unwrap();
    assert_eq!(counts.by_status[&Status::Closed], 2);
    assert_eq!(counts.by_status.values().sum::<u64>(), 5);
    fixture.end().await;
}

#[tokio::test]
async fn a_review_waits_for_an_operator_until_one_has_acted() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let counted = async || fixture.store.reader.count_reviews(&[ReviewFilter::default()]).await.unwrap().escalated;
    let message = |role: Authority, gives_up: bool| {
        let (by, body) = (Some("ada".into()), "I cannot judge this".into());
        Command::AddMessage(AddMessage {
            role,
            by,
            persona: None,
            to: None,
            body,
            anchor: None,
            metadata: None,
            gives_up,
        })
    };
    let review = fixture.propose(6, None, 90_000).await;
    let review = fixture.claim(&review, "ada", 90_001).await;
    assert_eq!(counted().await, 0);
    let review = fixture.apply(&review, message(Authority::Reviewer, true), 90_002).await;
    assert!(review.escalation().is_some());
    assert_eq!(counted().await, 1);
    let review = fixture.apply(&review, message(Authority::Operator, false), 90_003).await;
    assert!(review.escalation().is_none());
    assert_eq!(counted().await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn a_count_reads_only_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    known_reviews(&path).await.end().await;
    let connection = Connection::open(&path).unwrap();
    let all = ReviewFilter::default;
    let name = || Some("ada".to_owned());
    for (filter, expected) in [
        (all(), "SCAN r USING COVERING INDEX reviews_by_status"),
        (ReviewFilter { project: name(), ..all() }, "SCAN r USING COVERING INDEX reviews_by_status"),
        (ReviewFilter { proposer: name(), persona: name(), ..all() }, "SCAN r USING COVERING INDEX reviews_by_status"),
        (ReviewFilter { branch: name(), ..all() }, "SEARCH t USING COVERING INDEX review_search_by_branch"),
        (ReviewFilter { search: Some(ReviewSearch::new("cache")), ..all() }, "SCAN t"),
    ] {
        let plan_of = |mut sql: sqlx::QueryBuilder<sqlx::Sqlite>| plan(&connection, sql.build().sql().as_str());
        let by_status = plan_of(select_by_status(&filter, &Spellings::default()));
        assert!(by_status.starts_with(expected), "{filter:?}: {by_status}");
        let escalated = plan_of(select_escalated(&filter, &Spellings::default()));
        assert!(escalated.starts_with("SCAN r USING INDEX reviews_escalated"), "{filter:?}: {escalated}");
    }
}
