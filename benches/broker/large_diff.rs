//! Benchmark of a diff of 10 MiB that is created, claimed, read as a whole and reviewed: what other callers notice of it.

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    review_lifecycle::measure_paced,
    sample_repository::{SampleRepository, new_file_diff},
    server_process::Server,
    workload::{Work, create_and_claim, next_number, verdict},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

const BYTES: usize = 10 << 20;
/// The other callers, and how long each of them pauses between two reviews.
const OTHERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    report.heading(&format!("a diff of 10 MiB, again and again, beside {OTHERS} callers that are not at their limit"));
    let sample = SampleRepository::new(100);
    let home = tempfile::tempdir().unwrap();
    let server = Server::broker_in(&sample.repo.path(), home.path(), "").await;
    let others = || measure_paced(&server, OTHERS, effort.time * 2, &Work::Life { diff: None }, PAUSE);
    let quiet = others().await;
    let lives = Arc::new(AtomicUsize::new(0));
    let large = tokio::spawn(review_again_and_again(server.port, Arc::clone(&lives)));
    let beside = others().await;
    assert!(!large.is_finished(), "the large reviews failed");
    large.abort();
    let figure = |percent: usize| {
        Figure::new("large", format!("other callers beside a large diff, p{percent}"), beside.percentile(percent), "ms")
            .against("quiet", quiet.percentile(percent), Form::Times)
    };
    report.add(figure(50));
    report.add(figure(99).aim(Aim::AtMost(2.0)));
    report.add(Figure::new("large", "large reviews in that time", lives.load(Relaxed) as f64, ""));
    server.stop().await;
}

async fn review_again_and_again(port: u16, lives: Arc<AtomicUsize>) {
    loop {
        let mut connection = Connection::open(port).await;
        let diff = new_file_diff(next_number(), BYTES - 4096);
        let (id, generation) = create_and_claim(&mut connection, "bob", Some(diff)).await.unwrap();
        connection.call("submit_verdict", verdict(&id, "bob", generation)).await;
        assert!(connection.get(&format!("/api/v1/reviews/{id}/diff")).await > BYTES / 2);
        lives.fetch_add(1, Relaxed);
    }
}
