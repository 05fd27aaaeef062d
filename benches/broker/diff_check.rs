//! Measures the check of a diff: in this process, and with the git processes that it replaces.
//!
//! - submitted: the base is resolved, the diff is checked and its patch id computed
//! - claimed: HEAD is resolved, and the outcome of the submission is remembered
//! - create_review, claim_review: the calls of a client over HTTP and MCP, which also save something

use super::{
    Effort,
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    sample_repository::SampleRepository,
    server_process::Server,
    workload::proposal,
};
use domain::git_engine_mode::EngineMode;
use git::{GitSettings, Repository};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const SECTION: &str = "check";
const NAMES: [&str; 5] =
    ["check of a diff, submitted", "the first check", "check of a diff, claimed", "create_review", "claim_review"];

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    for files in [800, 7_000] {
        let sample = SampleRepository::new(files);
        let bytes = sample.diff(0).len();
        report.heading(&format!(
            "a diff of {bytes} bytes on {files} files: the broker against the git processes it replaces, means"
        ));
        let git = measure(&sample, EngineMode::Git, effort.checks_by_git).await;
        let own = measure(&sample, EngineMode::Auto, effort.checks).await;
        for (name, (own, git)) in NAMES.into_iter().zip(own.into_iter().zip(git)) {
            // Written as how many times faster, so the figure is the time of git.
            let figure = Figure::new(SECTION, format!("{name}, {files} files"), own, "ms");
            let figure = figure.with_ratio("git", git, git / own, Form::Times);
            report.add(if name == NAMES[0] { figure.aim(Aim::AtLeast(20.0)) } else { figure });
        }
    }
}

/// The mean milliseconds in the order of `NAMES`.
async fn measure(sample: &SampleRepository, mode: EngineMode, cases: usize) -> [f64; 5] {
    let diffs: Vec<String> = (0..=2 * cases).map(|number| sample.diff(number)).collect();
    let settings = Arc::new(GitSettings { engine: mode, ..GitSettings::default() });
    let scratch = tempfile::tempdir().unwrap();
    let repository = Repository::open(&sample.repo.path(), scratch.path(), false, settings).await.unwrap();
    let check = async |diff: &str| {
        let base = repository.resolve_base(None).await.unwrap();
        let (check, patch_id) = tokio::join!(repository.check(base.as_deref(), diff), repository.patch_id(diff));
        assert!(check.unwrap().applies() == Some(true) && patch_id.unwrap().is_some());
    };
    let began = Instant::now();
    check(&diffs[0]).await;
    let first = millis(began.elapsed());
    let submitted = mean(&diffs[1..=cases], check).await;
    let claimed = mean(&diffs[1..=cases], async |diff| {
        assert_eq!(repository.check_head(Some(&sample.base), diff).await.unwrap(), None);
        repository.check(Some(&sample.base), diff).await.unwrap();
    });
    let claimed = claimed.await;

    let (home, settings) = (tempfile::tempdir().unwrap(), format!("[git]\nengine = \"{mode}\"\n"));
    let server = Server::broker_in(&sample.repo.path(), home.path(), &settings).await;
    let mut connection = Connection::open(server.port).await;
    let (mut create, mut claim) = (Duration::ZERO, Duration::ZERO);
    for diff in &diffs[cases + 1..] {
        let proposal = proposal(Some(diff.clone()));
        let began = Instant::now();
        let review = connection.call("create_review", proposal).await;
        create += began.elapsed();
        let review: Value = review.read();
        let began = Instant::now();
        connection.call("claim_review", json!({ "review_id": review["review_id"], "reviewer_id": "ada" })).await;
        claim += began.elapsed();
    }
    server.stop().await;
    [submitted, first, claimed, millis(create) / cases as f64, millis(claim) / cases as f64]
}

async fn mean(diffs: &[String], call: impl AsyncFn(&str)) -> f64 {
    let began = Instant::now();
    for diff in diffs {
        call(diff).await;
    }
    millis(began.elapsed()) / diffs.len() as f64
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
