//! Pages of the log: their contents, and that none of them scans the whole log.

use super::{MAX_WALK, order_by, select};
use crate::{
    LogEntry, PoolChange, StoreError, TimelineRecord,
    query_types::{EventFilter, ProcessIdentity, ReviewerRow},
    sqlite::stats::tests::{ReviewFixture, known_reviews},
};
use domain::{
    event_kind::EventKind,
    ids::ReviewNumber,
    query_types::EventOrder,
    reviewer_pool::PoolEvent,
    reviewer_pool::scaling::SpawnReason,
    time::{Tick, Timestamp},
};
use rusqlite::Connection;
use sqlx::Execute as _;
use std::path::Path;
use tokio::sync::oneshot;

async fn page(fixture: &ReviewFixture, filter: &EventFilter, order: EventOrder, limit: u32) -> Vec<u64> {
    let (mut seqs, mut cursor) = (Vec::new(), None);
    loop {
        let page = fixture.store.reader.list_events_by(filter, order, cursor, limit).await.unwrap();
        seqs.extend(page.items.iter().map(|row| row.seq));
        match page.next_cursor {
            Some(next) => cursor = Some(next.parse().unwrap()),
            None => return seqs,
        }
    }
}

/// Stores a reviewer of a project, with an event about it.
async fn add_reviewer(fixture: &ReviewFixture, project: Option<&str>, event: impl Fn(String) -> PoolEvent) {
    let id = format!("codex-r1-{}", project.unwrap_or("none"));
    let process = ProcessIdentity { pid: 1, start_time: 1, boot_id: "b".into() };
    let reviewer = ReviewerRow {
        id: id.clone(),
        name: "codex-r1".into(),
        runtime: "codex".into(),
        project: project.map(Into::into),
        why: SpawnReason::Backlog,
        spawned_by: None,
        bound_to: None,
        seat: None,
        session: None,
        process,
        spawned_at: Timestamp(1),
        end: None,
        work: Default::default(),
    };
    let (done, saved) = oneshot::channel();
    let change = PoolChange { at: Timestamp(1), tick: Tick(1), reviewer: Some(reviewer), event: Some(event(id)) };
    fixture.store.writer.commit_pool_change(Box::new(change), done);
    saved.await.unwrap().unwrap();
}

#[tokio::test]
async fn pages_of_any_size_add_up_to_the_log_in_either_order() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let all: Vec<u64> = (1..=fixture.store.reader.last_seq().await.unwrap()).collect();
    let newest: Vec<u64> = all.iter().rev().copied().collect();
    for limit in [1, 2, 3, 7, 200] {
        assert_eq!(page(&fixture, &EventFilter::default(), EventOrder::Oldest, limit).await, all);
        assert_eq!(page(&fixture, &EventFilter::default(), EventOrder::Newest, limit).await, newest);
        let one = EventFilter { review: Some(ReviewNumber(2)), ..EventFilter::default() };
        assert_eq!(page(&fixture, &one, EventOrder::Oldest, limit).await, [9, 10, 11, 12]);
        assert_eq!(page(&fixture, &one, EventOrder::Newest, limit).await, [12, 11, 10, 9]);
    }
    fixture.end().await;
}

#[tokio::test]
async fn filters_can_be_combined() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let all = EventFilter::default;
    let project = |name: &str| Some(Some(name.to_owned()));
    let found = async |filter: EventFilter| page(&fixture, &filter, EventOrder::Oldest, 5).await;
    assert_eq!(found(EventFilter { project: project("web"), ..all() }).await, [16, 17, 18]);
    assert_eq!(found(EventFilter { project: Some(None), ..all() }).await, [0_u64; 0]);
    assert_eq!(found(EventFilter { kinds: vec![EventKind::Closed], ..all() }).await, [8, 12]);
    let ada = EventFilter { actor: Some("ada".into()), ..all() };
    assert_eq!(found(ada.clone()).await, [2, 3, 4, 10, 11, 17, 18]);
    assert_eq!(found(EventFilter { kinds: vec![EventKind::Claimed], ..ada.clone() }).await, [2, 10, 17]);
    assert_eq!(found(EventFilter { review: Some(ReviewNumber(2)), ..ada }).await, [10, 11]);
    let at = |seconds: i64| Some(Timestamp(1_700_006_400_000 + seconds * 1000));
    assert_eq!(found(EventFilter { since: at(86_400), ..all() }).await, [15, 16, 17, 18]);
    assert_eq!(found(EventFilter { since: at(86_401), until: at(86_403), ..all() }).await, [17]);
    assert_eq!(found(EventFilter { until: at(0), ..all() }).await, [0_u64; 0]);
    assert_eq!(found(EventFilter { since: at(50), until: at(100), ..all() }).await, [11, 14]);
    fixture.end().await;
}

#[tokio::test]
async fn a_pool_event_belongs_to_the_project_of_its_reviewer() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = ReviewFixture::on(&folder.path().join("countersign.db")).await;
    let ended = |reviewer| PoolEvent::ReviewerTerminated {
        reviewer,
        exit: "exit code 0".into(),
        ran_ms: None,
        why: None,
        by: None,
        pid: None,
        verdicts: None,
    };
    add_reviewer(&fixture, Some("web"), ended).await;
    add_reviewer(&fixture, None, ended).await;
    let looping =
        |_| PoolEvent::CrashLoop { project: Some("web".into()), persona: None, failures: 5, last_words: vec![] };
    add_reviewer(&fixture, Some("app"), looping).await;
    let kind = |kind| EventFilter { kinds: vec![kind], ..EventFilter::default() };
    let of =
        |filter: EventFilter, project: Option<&str>| EventFilter { project: Some(project.map(Into::into)), ..filter };
    for filter in [EventFilter::default(), kind(EventKind::ReviewerTerminated)] {
        let seqs = page(&fixture, &of(filter, None), EventOrder::Newest, 1).await;
        assert_eq!(seqs, [2]);
    }
    assert_eq!(page(&fixture, &of(kind(EventKind::CrashLoop), Some("web")), EventOrder::Newest, 1).await, [3]);
    assert_eq!(page(&fixture, &of(EventFilter::default(), Some("web")), EventOrder::Newest, 1).await, [3, 1]);
    let activity = EventFilter { activity: true, ..EventFilter::default() };
    assert_eq!(page(&fixture, &activity, EventOrder::Newest, 9).await, [3]);
    fixture.end().await;
}

#[tokio::test]
async fn a_timeline_says_how_long_claims_were_held() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let records = fixture.store.reader.list_timeline(ReviewNumber(1), 0, 100).await.unwrap();
    let held = |record: &TimelineRecord| record.claimed_at.map(|at| record.event.at.0 - at.0);
    assert_eq!(records.iter().filter_map(held).collect::<Vec<_>>(), [10_000, 30_000, 20_000]);
    let rounds: Vec<_> = records.iter().filter_map(|record| record.event.round).collect();
    assert_eq!(rounds, [1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!((records[0].previous_at, records[4].previous_at), (None, Some(records[3].event.at)));
    let rest = fixture.store.reader.list_timeline(ReviewNumber(1), 6, 1).await.unwrap();
    let versions: Vec<_> = rest.iter().filter_map(|record| record.event.review()).map(|review| review.2).collect();
    assert_eq!(versions, [7]);
    fixture.end().await;
}

/// Appends pool events until the log has `events` of them.
fn stretch(path: &Path, events: i64) {
    let mut connection = Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    let sql =
        "WITH RECURSIVE n (i) AS (SELECT (SELECT max(seq) FROM events) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO events SELECT i, NULL, NULL, 'reviewer_retried', NULL, NULL, NULL, NULL, i, i,
        '{\"kind\":\"reviewer_retried\",\"reviewer\":\"x\",\"why\":\"y\"}', NULL FROM n";
    transaction.execute(sql, [events]).unwrap();
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_page_looks_at_a_bounded_number_of_events_and_the_next_continues_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let fixture = known_reviews(&path).await;
    stretch(&path, 2 * MAX_WALK + 100);
    let web = EventFilter { project: Some(Some("web".into())), ..EventFilter::default() };
    let (mut cursor, mut sizes, mut seqs) = (None, Vec::new(), Vec::new());
    loop {
        let page = fixture.store.reader.list_events_by(&web, EventOrder::Newest, cursor, 2).await.unwrap();
        sizes.push(page.items.len());
        seqs.extend(page.items.iter().map(|row| row.seq));
        let Some(next) = page.next_cursor else { break };
        cursor = Some(next.parse().unwrap());
    }
    assert_eq!((sizes, seqs), (vec![0, 0, 2, 1], vec![18, 17, 16]));
    assert_eq!(page(&fixture, &web, EventOrder::Oldest, 2).await, [16, 17, 18]);
    fixture.end().await;
}

/// Appends four events of more than a mebibyte each.
fn add_long_events(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
        INSERT INTO events SELECT (SELECT max(seq) FROM events) + i, NULL, NULL, 'reviewer_retried', NULL, NULL, NULL,
        NULL, i, i, '{\"kind\":\"reviewer_retried\",\"reviewer\":\"x\",\"why\":\"' || printf('%.*c', 1100000, 'y') || '\"}',
        NULL FROM n";
    connection.execute(sql, []).unwrap();
}

#[tokio::test]
async fn a_page_of_long_events_ends_early_and_the_next_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let fixture = known_reviews(&path).await;
    let reader = &fixture.store.reader;
    let first = reader.last_seq().await.unwrap();
    add_long_events(&path);
    let (mut after, mut sizes) = (first, Vec::new());
    loop {
        let page = reader.list_events(after, None, 500).await.unwrap();
        sizes.push(page.len());
        let Some(last) = page.last() else { break };
        after = last.seq;
    }
    assert_eq!(sizes, [2, 2, 0]);
    let (mut cursor, mut seqs, mut pages) = (None, Vec::new(), 0);
    loop {
        let page = reader.list_events_by(&EventFilter::default(), EventOrder::Oldest, cursor, 500).await.unwrap();
        seqs.extend(page.items.iter().map(|row| row.seq));
        pages += 1;
        let Some(next) = page.next_cursor else { break };
        cursor = Some(next.parse().unwrap());
    }
    assert_eq!((seqs, pages), ((1..=first + 4).collect(), 3));
    fixture.end().await;
}

/// Every page is a search along a key: with `SCAN events` its time would grow with the log.
#[tokio::test]
async fn no_page_scans_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    known_reviews(&path).await.end().await;
    let all = EventFilter::default;
    let filters = [
        ("all", all()),
        ("activity", EventFilter { activity: true, ..all() }),
        ("actor", EventFilter { actor: Some("ada".into()), ..all() }),
        ("kind", EventFilter { kinds: vec![EventKind::Claimed], ..all() }),
        ("kind of the pool", EventFilter { kinds: vec![EventKind::CrashLoop], ..all() }),
        ("project", EventFilter { project: Some(Some("app".into())), ..all() }),
        ("review", EventFilter { review: Some(ReviewNumber(1)), ..all() }),
    ];
    let connection = Connection::open(&path).unwrap();
    for (name, filter) in filters {
        for order in [EventOrder::Newest, EventOrder::Oldest] {
            let mut sql = select("", &filter, (1, 9));
            sql.push(order_by(&filter, order));
            let sql = format!("EXPLAIN QUERY PLAN {}", sql.build().sql().as_str());
            let mut statement = connection.prepare(&sql).unwrap();
            let count = statement.parameter_count();
            let bound = rusqlite::params_from_iter(std::iter::repeat_n(1, count));
            let plan: Vec<String> = statement.query_map(bound, |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            let plan = plan.join("; ");
            assert!(plan.starts_with("SEARCH e USING"), "{name}: {plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{name}: {plan}");
        }
    }
}

#[tokio::test]
async fn the_log_can_only_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    known_reviews(&path).await.end().await;
    let connection = Connection::open(&path).unwrap();
    let rows = || {
        connection.query_row("SELECT count(*), total(length(payload)) FROM events", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?))
        })
    };
    let before = rows().unwrap();
    for sql in [
        "UPDATE events SET actor = 'mallory' WHERE seq = 3",
        "UPDATE events SET payload = '{}'",
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events",
    ] {
        let refused = connection.execute(sql, []).map_err(StoreError::from).unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{sql}: {refused}");
    }
    assert_eq!(rows().unwrap(), before);
}

#[tokio::test]
async fn a_record_has_the_columns_beside_the_event() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = known_reviews(&folder.path().join("countersign.db")).await;
    let page = fixture.store.reader.list_events_by(&EventFilter::default(), EventOrder::Oldest, None, 5).await.unwrap();
    let last = page.items.last().unwrap();
    let LogEntry::Review { number, recorded, .. } = &last.entry else { panic!("{last:?}") };
    assert_eq!((number.0, recorded.version, recorded.event.kind()), (1, 5, EventKind::Revised));
    assert_eq!((last.round, last.intent.as_deref()), (Some(2), Some("change 1, better")));
    fixture.end().await;
}
