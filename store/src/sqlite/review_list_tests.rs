//! Pages of reviews: that each of them walks along an index.

use super::{Spellings, select_page};
use crate::{
    query_types::{ReviewFilter, ReviewSearch},
    sqlite::stats::tests::known_reviews,
};
use domain::{
    finding::{Finding, Severity},
    ids::ReviewNumber,
    review::{Category, Status},
    verdict::Verdict,
};
use rusqlite::Connection;
use sqlx::Execute as _;
use std::sync::Arc;

/// How SQLite executes a query, without what the subqueries of its conditions do.
pub(in crate::sqlite) fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let bound = rusqlite::params_from_iter(std::iter::repeat_n(1, statement.parameter_count()));
    let rows = statement.query_map(bound, |row| Ok((row.get::<_, i64>(1)?, row.get::<_, String>(3)?))).unwrap();
    let rows = rows.map(Result::unwrap).filter(|(parent, _)| *parent == 0);
    rows.map(|(_, step)| step).filter(|step| !step.contains("SUBQUERY")).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn a_page_walks_along_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    known_reviews(&path).await.end().await;
    let connection = Connection::open(&path).unwrap();
    let all = ReviewFilter::default;
    let name = || Some("ada".to_owned());
    let search = || Some(ReviewSearch::new("Cache"));
    for (filter, expected) in [
        (ReviewFilter { proposer: name(), ..all() }, "SEARCH r USING INDEX reviews_by_proposer"),
        (
            ReviewFilter { proposer: name(), project: name(), persona: name(), ..all() },
            "SEARCH r USING INDEX reviews_by_proposer",
        ),
        (
            ReviewFilter { status: Some(Status::Closed), proposer: name(), ..all() },
            "SEARCH r USING INDEX reviews_by_proposer",
        ),
        (
            ReviewFilter { status: Some(Status::Approved), proposer: name(), search: search(), ..all() },
            "SEARCH r USING INDEX reviews_by_status",
        ),
        (ReviewFilter { persona: name(), ..all() }, "SEARCH p USING COVERING INDEX seats_by_persona"),
        (
            ReviewFilter { persona: name(), category: Some(Category::Handoff), ..all() },
            "SEARCH p USING COVERING INDEX seats_by_persona",
        ),
        (ReviewFilter { branch: name(), ..all() }, "SEARCH t USING COVERING INDEX review_search_by_branch"),
        (
            ReviewFilter { status: Some(Status::Cancelled), branch: name(), ..all() },
            "SEARCH t USING COVERING INDEX review_search_by_branch",
        ),
        (
            ReviewFilter { status: Some(Status::Cancelled), turn_of: name(), newest_first: true, ..all() },
            "SEARCH r USING INDEX reviews_by_proposer",
        ),
        // A search reads the texts, which are few bytes each, and the reviews that match.
        (ReviewFilter { search: search(), ..all() }, "SCAN t"),
        (ReviewFilter { search: search(), proposer: name(), ..all() }, "SCAN t"),
    ] {
        for cursor in [None, Some("n9")] {
            let sql =
                select_page(&filter, &Spellings::default(), cursor, 50).unwrap().build().sql().as_str().to_owned();
            let plan = plan(&connection, &sql);
            let is_search_with_cursor = expected == "SCAN t" && cursor.is_some();
            let expected = if is_search_with_cursor { "SEARCH t USING INTEGER PRIMARY KEY" } else { expected };
            assert!(plan.starts_with(expected), "{filter:?}: {plan}");
            assert!(!plan.contains("SCAN r") && !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
        }
    }
}

#[tokio::test]
async fn a_search_finds_part_of_an_intent_and_the_number() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let found = async |given: &str| {
        let filter = ReviewFilter { search: Some(ReviewSearch::new(given)), ..ReviewFilter::default() };
        let (page, _) = fixture.store.reader.list_reviews(&[filter], None, 50).await.unwrap();
        page.items.iter().map(|review| review.number.0).collect::<Vec<_>>()
    };
    assert_eq!(found("BETTER").await, [1], "the intent of the latest round");
    assert_eq!(found("change 2").await, [2]);
    assert_eq!(found(" r-3 ").await, [3]);
    // "change 3" contains it as well.
    assert_eq!(found("3").await, [3]);
    assert_eq!(found("%").await, [0_i64; 0], "no wildcards");
    fixture.end().await;
}

#[tokio::test]
async fn details_count_the_open_issues_of_each_review() {
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let six = fixture.propose(6, None, 90_000).await;
    let six = fixture.claim(&six, "ada", 90_001).await;
    let severities = [Severity::High, Severity::Low, Severity::Low];
    let six = fixture.vote(&six, "ada", Verdict::ChangesRequested, &severities, 90_002).await;
    let numbers: Vec<_> = (1..=6).map(ReviewNumber).collect();
    let details = fixture.store.reader.list_details(&numbers).await.unwrap();
    assert_eq!(details.len(), 6);
    for number in &numbers {
        let id = fixture.store.reader.find_id_by_number(*number).await.unwrap().unwrap();
        let review = fixture.store.reader.find_review(id).await.unwrap().unwrap();
        for severity in Severity::ALL {
            let of_severity = |finding: &&Arc<Finding>| finding.is_open_issue() && finding.found.severity == *severity;
            let expected = review.findings.iter().filter(of_severity).count() as u64;
            let counted = details[number].open_issues.iter().find(|(counted, _)| counted == severity);
            assert_eq!(counted.map_or(0, |(_, count)| *count), expected, "{number}, {severity}");
        }
    }
    assert_eq!(details[&six.number].open_issues.len(), 2);
    assert_eq!(details[&six.number].file_count, 0);
    fixture.end().await;
}
