//! Pages of findings across reviews.

use super::{MAX_WALK, select};
use crate::{query_types::FindingFilter, sqlite::stats::tests::known_reviews};
use domain::ids::ReviewNumber;
use rusqlite::Connection;
use sqlx::Execute as _;
use std::path::Path;

/// Repeats the first finding until there are `findings` of them, all in its review.
fn stretch(path: &Path, findings: i64) {
    let connection = Connection::open(path).unwrap();
    let sql = "WITH RECURSIVE n (i) AS (SELECT (SELECT max(number) FROM findings) + 1
                                        UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO findings (number, review, verdict, body, updated_at_ms)
        SELECT i, f.review, f.verdict, json_set(f.body, '$.number', i), f.updated_at_ms FROM n, findings f
        WHERE f.number = 1";
    connection.execute(sql, [findings]).unwrap();
}

#[tokio::test]
async fn a_page_looks_at_a_bounded_number_of_findings_and_the_next_continues_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let fixture = known_reviews(&path).await;
    stretch(&path, 2 * MAX_WALK + 100);
    let read = async |filter: FindingFilter, limit| {
        let (mut cursor, mut sizes, mut numbers) = (None, Vec::new(), Vec::new());
        loop {
            let page = fixture.store.reader.list_findings(&filter, cursor, limit).await.unwrap();
            sizes.push(page.items.len());
            numbers.extend(page.items.iter().map(|found| found.finding.number.0));
            let Some(next) = page.next_cursor else { break };
            cursor = Some(next.parse().unwrap());
        }
        (sizes, numbers)
    };
    // Only the third finding belongs to the second review.
    let critical = FindingFilter { severities: vec![domain::finding::Severity::Critical], ..FindingFilter::default() };
    assert_eq!(read(critical, 5).await, (vec![0, 0, 1], vec![3]));
    let of_review = FindingFilter { review: Some(ReviewNumber(2)), ..FindingFilter::default() };
    assert_eq!(read(of_review, 5).await, (vec![1], vec![3]));
    let (_, all) = read(FindingFilter::default(), 5000).await;
    assert_eq!(all, (1..=2 * MAX_WALK + 100).rev().collect::<Vec<_>>());
    let beyond = fixture.store.reader.list_findings(&FindingFilter::default(), Some(i64::MAX), 1).await.unwrap();
    assert_eq!(beyond.items[0].finding.number.0, 2 * MAX_WALK + 100);
    fixture.end().await;
}

#[tokio::test]
async fn no_page_scans_the_findings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    known_reviews(&path).await.end().await;
    let connection = Connection::open(&path).unwrap();
    let all = FindingFilter::default;
    for filter in [
        all(),
        FindingFilter { statuses: vec![domain::finding::FindingStatus::Open], ..all() },
        FindingFilter { file: Some("x".into()), ..all() },
        FindingFilter { project: Some(Some("app".into())), ..all() },
        FindingFilter { review: Some(ReviewNumber(1)), ..all() },
    ] {
        let mut sql = select(&filter, (1, 9));
        sql.push(" ORDER BY f.number DESC LIMIT 2");
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.build().sql().as_str())).unwrap();
        let bound = rusqlite::params_from_iter(std::iter::repeat_n(1, statement.parameter_count()));
        let plan: Vec<String> = statement.query_map(bound, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let plan = plan.join("; ");
        assert!(plan.starts_with("SEARCH f USING"), "{filter:?}: {plan}");
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
    }
}
