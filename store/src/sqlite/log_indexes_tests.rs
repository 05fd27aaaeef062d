//! The indexes after a history equal those of a database that is indexed as a whole.

use crate::{Settings, Store, open, sqlite::stats::tests::ReviewFixture};
use domain::{
    credential::Authority,
    finding::{RequestedStatus, Severity},
    review::{Command, Review, UpdateFinding},
    verdict::Verdict,
};
use rusqlite::Connection;
use std::path::Path;
use tokio::sync::oneshot;

pub(crate) async fn catch_up(store: &Store) {
    let head = store.reader.last_seq().await.unwrap();
    let mut seq = store.reader.read_index_cursor().await.unwrap();
    while seq < head {
        let batch = store.reader.read_index_batch(seq, head).await.unwrap();
        assert!(batch.seq > seq, "no progress after {seq}");
        seq = batch.seq;
        let (done, written) = oneshot::channel();
        store.writer.write_index(Box::new(batch), done);
        written.await.unwrap().unwrap();
    }
}

/// Every row of the indexes except ids of texts.
fn rows(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT 'finding ' || concat_ws(' ', number, review, project, rank, is_issue, status, severity, blocks,
                      review_open, kind, persona, reviewer, file) FROM finding_index
        UNION ALL SELECT 'count ' || concat_ws(' ', is_issue, status, review_open, severity, blocks, project, kind, persona,
                      reviewer, findings) FROM finding_counts WHERE findings <> 0
        UNION ALL SELECT 'text ' || concat_ws(' ', kind, review, reference) FROM search_texts
        UNION ALL SELECT 'words ' || count(*) FROM search_words WHERE search_words MATCH 'change'
        ORDER BY 1";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

async fn settle(fixture: &ReviewFixture, review: &Review, finding: usize, when: i64) -> Review {
    let update = UpdateFinding {
        number: review.findings[finding].number,
        role: Authority::Operator,
        by: Some("ann".into()),
        requested: RequestedStatus::WontFix,
        duplicate_of: None,
        note: Some("on purpose".into()),
    };
    fixture.apply(review, Command::UpdateFinding(update), when).await
}

#[tokio::test]
async fn indexes_that_follow_the_log_equal_those_of_the_whole_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countersign.db");
    let mut fixture = ReviewFixture::on(&path).await;
    for number in 1..=40 {
        let project = (number % 3 == 0).then_some("app");
        let review = fixture.propose(number, project, number * 100).await;
        let review = fixture.claim(&review, "ada", number * 100 + 1).await;
        let severities = [Severity::Critical, Severity::Low];
        let review = fixture.vote(&review, "ada", Verdict::ChangesRequested, &severities, number * 100 + 2).await;
        if number % 4 == 0 {
            catch_up(&fixture.store).await;
        }
        let review = if number % 2 == 0 { settle(&fixture, &review, 0, number * 100 + 3).await } else { review };
        if number % 5 == 0 {
            fixture.apply(&review, Command::Cancel { by: None, reason: "no".into() }, number * 100 + 4).await;
        }
    }
    catch_up(&fixture.store).await;
    let followed = rows(&path);
    fixture.end().await;
    // A database from before has none of it.
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "DELETE FROM finding_index; DELETE FROM finding_counts; DELETE FROM search_texts;
             INSERT INTO search_words (search_words) VALUES ('delete-all'); UPDATE log_index_cursor SET seq = 0;",
        )
        .unwrap();
    drop(connection);
    let store = open(&path, Settings::default()).await.unwrap();
    catch_up(&store).await;
    assert_eq!(rows(&path), followed);
    assert_eq!(followed.iter().filter(|row| row.starts_with("finding")).count(), 80);
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}
