//! Few stored reviews against many: start-up, memory, and pages of the list.

use super::{Effort, floor::submission, load::Connection, server::Server};
use domain::{
    review::{Command, Rules, transition},
    time::{Now, Tick, Timestamp},
};
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};
use store::{Change, Writer};
use tokio::sync::oneshot;

const RULES: Rules = Rules { lease: Duration::from_secs(1200) };

pub(crate) async fn report(effort: Effort) {
    println!("\nstored reviews");
    println!(
        "{:<18}{:>10}{:>12}{:>12}{:>14}{:>14}{:>14}",
        "", "reviews", "start ms", "memory MB", "pending ms", "closed ms", "next page ms"
    );
    let mut rows = Vec::new();
    for (name, reviews, open) in [
        ("none", 0, false),
        ("few, open", effort.few, true),
        ("few, ended", effort.few, false),
        ("many, open", effort.many, true),
        ("many, ended", effort.many, false),
    ] {
        rows.push(row(name, reviews, open).await);
    }
    let ratio =
        |figure: fn(&Row) -> f64| figure(&rows[3]).max(figure(&rows[4])) / figure(&rows[1]).max(figure(&rows[2]));
    println!(
        "many against few: pending {:.1} x, closed {:.1} x, next page {:.1} x",
        ratio(|row| row.pending),
        ratio(|row| row.ended),
        ratio(|row| row.next)
    );
}

struct Row {
    pending: f64,
    ended: f64,
    next: f64,
}

async fn row(name: &str, reviews: usize, open: bool) -> Row {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), reviews, open).await;
    let server = Server::broker(home.path(), "").await;
    let mut connection = Connection::open(server.port).await;
    let mut page = async |arguments: serde_json::Value| {
        connection.times.clear();
        let mut answer = serde_json::Value::Null;
        for _ in 0..200 {
            answer = connection.call("list_reviews", arguments.clone()).await;
        }
        connection.times.sort_unstable();
        (connection.times[100].as_secs_f64() * 1e3, answer["next_cursor"].clone())
    };
    let (pending, _) = page(json!({ "status": "pending" })).await;
    let (ended, cursor) = page(json!({ "status": if open { "pending" } else { "cancelled" } })).await;
    let mut next_arguments = json!({ "status": if open { "pending" } else { "cancelled" } });
    if cursor.is_string() {
        next_arguments["cursor"] = cursor;
    }
    let (next, _) = page(next_arguments).await;
    println!(
        "{name:<18}{reviews:>10}{:>12.0}{:>12.1}{pending:>14.2}{ended:>14.2}{next:>14.2}",
        server.started_in.as_secs_f64() * 1e3,
        server.memory() as f64 / 1e6,
    );
    server.stop().await;
    Row { pending, ended, next }
}

/// Fills a data dir through the store's own writer.
async fn fill(home: &Path, reviews: usize, open: bool) {
    let data = home.join("data");
    std::fs::create_dir(&data).unwrap();
    let settings = store::Settings { max_queue: 300_000, ..store::Settings::default() };
    let store = store::open(&data.join("countersign.db"), settings).await.unwrap();
    let mut last = None;
    for number in 1..=i64::try_from(reviews).unwrap() {
        let first = submission(number, "a stored change");
        let (done, saved) = oneshot::channel();
        store.writer.commit(first.clone(), done);
        last = Some(if open { saved } else { cancel(&store.writer, &first, number) });
    }
    if let Some(last) = last {
        last.await.unwrap().unwrap();
    }
    drop(store.writer);
    store.thread.ended().await;
    store.reader.close().await;
}

fn cancel(
    writer: &Writer,
    first: &Change,
    number: i64,
) -> oneshot::Receiver<Result<store::Committed, store::StoreError>> {
    let now = Now { at: Timestamp(1_700_000_100_000 + number), tick: Tick(number) };
    let cancel = Command::Cancel { by: None, reason: "no longer needed".into() };
    let ended = transition(first.review(), cancel, now, &RULES).unwrap();
    let (done, saved) = oneshot::channel();
    writer.commit(Change::new(Arc::new(ended.next), ended.events, now.tick).unwrap(), done);
    saved
}
