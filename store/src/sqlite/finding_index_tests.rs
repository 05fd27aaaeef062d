//! Lists and counts from the index equal what the findings say.

use super::MAX_WALK;
use crate::{
    query_types::{FindingFilter, FindingOrder},
    sqlite::{log_indexes::tests::catch_up, stats::tests::known_reviews},
};
use domain::{
    finding::{FindingStatus, Severity},
    query_types::FindingGroupBy,
};
use rusqlite::Connection;

#[tokio::test]
async fn open_findings_of_open_reviews_come_first_and_pages_together_are_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut fixture = known_reviews(&path).await;
    let six = fixture.propose(6, Some("web"), 90_000).await;
    let six = fixture.claim(&six, "cleo", 90_001).await;
    let severities = [Severity::Low, Severity::Critical, Severity::Medium];
    fixture.vote(&six, "cleo", domain::verdict::Verdict::ChangesRequested, &severities, 90_002).await;
    let blocks =
        "UPDATE reviews SET body = json_set(body, '$.policy.block_on_critical', json('true')) WHERE number = 6";
    Connection::open(&path).unwrap().execute(blocks, []).unwrap();
    catch_up(&fixture.store).await;
    let reader = fixture.store.reader.clone();
    let all = || FindingFilter { order: FindingOrder::Blocking, ..FindingFilter::default() };
    let read = async |filter: FindingFilter, limit| {
        let (mut cursor, mut numbers) = (None::<String>, Vec::new());
        loop {
            let page = reader.list_indexed_findings(&filter, cursor.as_deref(), limit).await.unwrap().unwrap();
            numbers.extend(page.items.iter().map(|listed| listed.finding.number.0));
            let Some(next) = page.next_cursor else { return numbers };
            cursor = Some(next);
        }
    };
    // 4, 5 and 6 are open in an open review, and 5 is critical, so it blocks. The others are settled.
    assert_eq!(read(all(), 50).await, [5, 6, 4, 3, 1, 2]);
    assert_eq!(read(all(), 1).await, [5, 6, 4, 3, 1, 2]);
    let newest = FindingFilter { open_reviews: true, ..FindingFilter::default() };
    assert_eq!(read(newest, 2).await, [6, 5, 4]);
    let two = FindingFilter { severities: vec![Severity::Critical, Severity::High], ..all() };
    assert_eq!(read(two, 1).await, [5, 3, 1]);
    assert_eq!(read(FindingFilter { blocks: Some(true), ..all() }, 5).await, [5]);
    assert_eq!(read(FindingFilter { reviewer: Some("ada".into()), ..all() }, 5).await, [3, 1, 2]);
    assert_eq!(read(FindingFilter { project: Some(Some("web".into())), ..all() }, 5).await, [5, 6, 4]);
    assert_eq!(read(FindingFilter { among: Some(vec![2, 6, 99]), ..all() }, 5).await, [6, 2]);
    assert!(reader.list_indexed_findings(&all(), Some("x-1"), 5).await.unwrap().is_none(), "not a cursor");

    let counted = async |filter: FindingFilter, by| {
        let counted = reader.count_findings(&filter, by).await.unwrap();
        assert!(!counted.is_partial && counted.left_out == 0);
        let row = |group: &crate::FindingGroup| (group.name.clone(), group.issues, group.open, group.blocking);
        counted.groups.iter().map(row).collect::<Vec<_>>()
    };
    let row = |name: &str, issues, open, blocking| (name.to_owned(), issues, open, blocking);
    assert_eq!(counted(all(), FindingGroupBy::Review).await, [row("6", 3, 3, 1), row("1", 2, 0, 0), row("2", 1, 0, 0)]);
    assert_eq!(counted(all(), FindingGroupBy::Reviewer).await, [row("cleo", 3, 3, 1), row("ada", 3, 0, 0)]);
    let open = FindingFilter { statuses: vec![FindingStatus::Open], open_reviews: true, ..all() };
    assert_eq!(
        counted(open, FindingGroupBy::Severity).await,
        [row("critical", 1, 1, 1), row("medium", 1, 1, 0), row("low", 1, 1, 0)]
    );
    assert_eq!(counted(all(), FindingGroupBy::File).await, [row("", 6, 3, 1)]);
    fixture.end().await;
}

#[tokio::test]
async fn a_page_and_counts_look_at_a_bounded_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let fixture = known_reviews(&path).await;
    catch_up(&fixture.store).await;
    let connection = Connection::open(&path).unwrap();
    let sql = "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100 + ?1)
        INSERT INTO findings (number, review, verdict, body, updated_at_ms)
        SELECT i, f.review, f.verdict, json_set(f.body, '$.number', i), 1 FROM n, findings f WHERE f.number = 3";
    connection.execute(sql, [MAX_WALK]).unwrap();
    let sql =
        "INSERT INTO finding_index SELECT f.number, i.review, i.project, i.rank, i.is_issue, i.status, i.severity,
        i.blocks, i.review_open, i.kind, i.persona, i.reviewer, 'a.rs' FROM findings f, finding_index i
        WHERE i.number = 3 AND f.number >= 100";
    connection.execute(sql, []).unwrap();
    let reader = &fixture.store.reader;
    let low =
        FindingFilter { severities: vec![Severity::Low], order: FindingOrder::Blocking, ..FindingFilter::default() };
    let first = reader.list_indexed_findings(&low, None, 5).await.unwrap().unwrap();
    assert_eq!(first.items.len(), 0);
    let second = reader.list_indexed_findings(&low, first.next_cursor.as_deref(), 5).await.unwrap().unwrap();
    assert_eq!((second.items.len(), second.next_cursor), (1, None));
    let by_file = reader.count_findings(&FindingFilter::default(), FindingGroupBy::File).await.unwrap();
    assert!(by_file.is_partial, "{by_file:?}");
    // Other counts are kept, so they are exact.
    let by_severity = reader.count_findings(&FindingFilter::default(), FindingGroupBy::Severity).await.unwrap();
    assert_eq!(by_severity.groups.iter().map(|group| group.issues).sum::<u64>(), 3 + MAX_WALK as u64 + 1);
    fixture.end().await;
}
