//! Measures the check of a diff: in this process, and with the git processes that it replaces.
//!
//! - submitted: the base is resolved, the diff is checked and its patch id computed
//! - claimed: HEAD is resolved, and the outcome of the submission is remembered
//! - create_review, claim_review: the calls of a client over HTTP and MCP, which also save something

use super::{Effort, load_generator::Connection, server_process::Server};
use domain::git_engine_mode::EngineMode;
use git::{GitSettings, Repository};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use testkit::Repo;

const FILES: usize = 800;
const LINES: usize = 100;
/// Files that one diff changes; it has about 5 KB.
const CHANGED: usize = 11;

pub(crate) async fn report(effort: Effort) {
    let repo = Repo::empty("sha1");
    for file in 0..FILES {
        let lines: String = (0..LINES).map(|line| format!("line {line} of file {file}\n")).collect();
        repo.write(&path(file), lines);
    }
    let base = repo.commit("first");
    repo.git(&["gc", "--quiet"]);
    let cases = if effort.many < 100_000 { 50 } else { 200 };
    let diffs: Vec<String> = (0..2 * cases).map(diff).collect();
    let bytes = diffs.iter().map(String::len).sum::<usize>() / diffs.len();
    println!("\na diff of {bytes} bytes on {FILES} files, mean ms of {cases}");
    for mode in [EngineMode::Git, EngineMode::Auto] {
        let settings = Arc::new(GitSettings { engine: mode, ..GitSettings::default() });
        let scratch = tempfile::tempdir().unwrap();
        let repository = Repository::open(&repo.path(), scratch.path(), false, settings).await.unwrap();
        let check = async |diff: &str| {
            let base = repository.resolve_base(None).await.unwrap();
            let (check, patch_id) = tokio::join!(repository.check(base.as_deref(), diff), repository.patch_id(diff));
            assert!(check.unwrap().applies() == Some(true) && patch_id.unwrap().is_some());
        };
        let began = Instant::now();
        check(&diffs[0]).await;
        let first = millis(began.elapsed());
        let mean = mean(&diffs[1..cases], check).await;
        let again = self::mean(&diffs[1..cases], async |diff| {
            assert_eq!(repository.check_head(Some(&base), diff).await.unwrap(), None);
            repository.check(Some(&base), diff).await.unwrap();
        });
        let again = again.await;
        let mode = mode.as_str();
        println!("  git.engine = {mode:<4}  submitted {mean:>7.2}   the first one {first:>7.2}   claimed {again:>7.2}");
    }
    for mode in [EngineMode::Git, EngineMode::Auto] {
        let settings = format!("[git]\nengine = \"{mode}\"\n");
        let server = Server::broker(&repo.path(), &settings).await;
        let mut connection = Connection::open(server.port).await;
        let (mut create, mut claim) = (Duration::ZERO, Duration::ZERO);
        for diff in &diffs[cases..] {
            let proposal = json!({ "intent": "x", "agent_type": "a", "agent_role": "b", "phase": "c", "diff": diff });
            let began = Instant::now();
            let review = connection.call("create_review", proposal).await;
            create += began.elapsed();
            let review = review.read();
            let began = Instant::now();
            connection.call("claim_review", json!({ "review_id": review["review_id"], "reviewer_id": "ada" })).await;
            claim += began.elapsed();
        }
        let each = |time: Duration| millis(time) / cases as f64;
        let (mode, create, claim) = (mode.as_str(), each(create), each(claim));
        println!("  git.engine = {mode:<4}  create_review {create:>7.2}   claim_review {claim:>7.2}");
        server.stop().await;
    }
}

fn path(file: usize) -> String {
    format!("src/part{}/module{}/file{file}.rs", file % 10, file % 40)
}

/// A diff that changes one line of several files.
fn diff(number: usize) -> String {
    let changed = (0..CHANGED).map(|n| (number * CHANGED + n * 97) % FILES);
    let hunk = |file: usize| {
        let (path, line) = (path(file), 10 + (number % 80));
        let context = |line: usize| format!(" line {line} of file {file}\n");
        let (before, after): (String, String) =
            ((line - 6..line).map(context).collect(), (line + 1..line + 7).map(context).collect());
        let (old, new) = (format!("-line {line} of file {file}\n"), format!("+changed {number} in file {file}\n"));
        let first = line - 5;
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{first},13 +{first},13 @@\n{before}{old}{new}{after}"
        )
    };
    let mut files: Vec<usize> = changed.collect();
    files.sort_unstable();
    files.dedup();
    files.into_iter().map(hunk).collect()
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
