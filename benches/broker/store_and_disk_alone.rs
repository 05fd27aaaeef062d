//! Benchmark of the lower bound: measures commits of the store alone and syncs of the disk alone, without HTTP. No call
//! that saves something can be faster.

use super::{
    Effort,
    report::{Figure, Form, Report},
    stored::submission,
};
use std::{
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Instant,
};
use tokio::sync::oneshot;

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    let home = tempfile::tempdir().unwrap();
    report.heading("the floor, on the same disk: no call that saves something can be faster");
    let syncs = syncs(home.path(), effort);
    report.add(Figure::new("floor", "write 4 KiB and sync", syncs, "/s"));
    for writers in [1, 32, 64] {
        let (per_second, per_commit) = commits(home.path(), writers, effort).await;
        let changes = Figure::new("floor", format!("store alone, {writers} writers"), per_second, "changes/s");
        report.add(changes.against("syncs/s", syncs, Form::Times));
        report.add(Figure::new("floor", format!("changes per sync, store alone, {writers} writers"), per_commit, ""));
    }
}

fn syncs(dir: &Path, effort: Effort) -> f64 {
    let mut file = std::fs::File::create(dir.join("raw")).unwrap();
    let (page, began, mut done) = ([7_u8; 4096], Instant::now(), 0);
    while began.elapsed() < effort.time {
        file.write_all(&page).unwrap();
        file.sync_data().unwrap();
        done += 1;
    }
    f64::from(done) / began.elapsed().as_secs_f64()
}

async fn commits(dir: &Path, clients: usize, effort: Effort) -> (f64, f64) {
    let store = store::open(&dir.join(format!("{clients}.db")), store::Settings::default()).await.unwrap();
    let numbers = Arc::new(AtomicI64::new(0));
    let (began, until) = (Instant::now(), Instant::now() + effort.time);
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (writer, numbers) = (store.writer.clone(), Arc::clone(&numbers));
            tokio::spawn(async move {
                while Instant::now() < until {
                    let (done, saved) = oneshot::channel();
                    let number = numbers.fetch_add(1, Relaxed) + 1;
                    writer.commit(submission(number, number, "a change", &["general"]), done);
                    saved.await.unwrap().unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (commits, changes) = store.feed.totals();
    (changes as f64 / began.elapsed().as_secs_f64(), changes as f64 / commits as f64)
}
