//! Counts the instructions that the broker needs for a call, with callgrind. Unlike times, they hardly depend on what
//! else the machine does, so they are compared with a committed baseline.
//!
//! One broker runs under callgrind and gets one kind of call after the other. After each kind, callgrind writes what it has
//! counted since the last time and starts again from zero, so neither the start of the process nor another kind of call is
//! in a figure.

use super::{
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    sample_repository::SampleRepository,
    server_process::Server,
    workload::{Ids, live, proposal, verdict},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};
use tokio::process::Command;

/// Reviews of each run, and so calls of each kind.
const REVIEWS: usize = 60;
/// Reviews before the count starts: they fill caches.
const WARM_UP: usize = 80;
/// How much more than in the baseline a call may need.
const TOLERANCE: f64 = 1.10;
/// How much more a call with a diff may need than the same call without, in the same run.
const WITH_DIFF: [f64; 4] = [12.0, 5.0, 2.5, 2.5];
const SECTION: &str = "instructions";
const STEPS: [&str; 4] = ["create_review", "claim_review", "get_review_status", "submit_verdict"];

/// The committed counts of thousands of instructions, by name.
type Baseline = BTreeMap<String, f64>;

pub(crate) async fn report(report: &mut Report, baseline: &Path, is_new_baseline: bool) -> Result<(), String> {
    let found = Command::new("valgrind").arg("--version").output().await;
    if !found.is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED: instructions are counted with valgrind, which is not installed (Debian: apt install valgrind)"
        );
        return Ok(());
    }
    let known: Baseline = match std::fs::read_to_string(baseline) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{}: {error}", baseline.display()))?,
        Err(_) => Baseline::new(),
    };
    report.heading(&format!("thousands of instructions per call, mean of {REVIEWS}, against {}", baseline.display()));
    let sample = SampleRepository::new(800);
    let (without, with) = (run(&sample, false).await?, run(&sample, true).await?);
    let mut counted = Baseline::new();
    for ((step, limit), (without, with)) in STEPS.into_iter().zip(WITH_DIFF).zip(without.into_iter().zip(with)) {
        for (name, thousands) in [(format!("{step}, without a diff"), without), (format!("{step}, with a diff"), with)]
        {
            let figure = Figure::new(SECTION, name.clone(), thousands, "k");
            report.add(match known.get(&name) {
                Some(known) => figure.against("baseline", *known, Form::Times).aim(Aim::AtMost(TOLERANCE)),
                None => figure,
            });
            counted.insert(name, thousands.round());
        }
        let figure = Figure::new(SECTION, format!("{step}, a diff against none"), with, "k");
        report.add(figure.against("without", without, Form::Times).aim(Aim::AtMost(limit)));
    }
    if is_new_baseline {
        let mut text = serde_json::to_string_pretty(&counted).map_err(|error| error.to_string())?;
        let _ = writeln!(text);
        std::fs::write(baseline, text).map_err(|error| format!("{}: {error}", baseline.display()))?;
    }
    Ok(())
}

/// The thousands of instructions of each kind of call.
async fn run(sample: &SampleRepository, with_diff: bool) -> Result<[f64; 4], String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut counter = Counter { file: home.path().join("callgrind.out"), dumps: 0 };
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", counter.file.display()));
    let server = Server::broker_under(valgrind, &sample.repo.path(), home.path()).await;
    let mut connection = Connection::open(server.port).await;
    let diff = |number| with_diff.then(|| sample.diff(number));
    for number in 0..WARM_UP {
        live(&mut connection, "ada", diff(number)).await?;
    }
    counter.take(&server).await?;
    let mut thousands = [0.0; 4];
    let mut reviews: Vec<(String, Option<u64>)> = Vec::new();
    for number in WARM_UP..WARM_UP + REVIEWS {
        let created: Ids = connection.call("create_review", proposal(diff(number))).await.read();
        reviews.push((created.review_id.ok_or("create_review: the answer has no review_id")?, None));
    }
    thousands[0] = counter.take(&server).await?;
    for (id, generation) in &mut reviews {
        let claim = json!({ "review_id": id, "reviewer_id": "ada" });
        let claimed: Ids = connection.call("claim_review", claim).await.read();
        *generation = claimed.claim_generation;
    }
    thousands[1] = counter.take(&server).await?;
    for (id, _) in &reviews {
        connection.call("get_review_status", json!({ "review_id": id })).await;
    }
    thousands[2] = counter.take(&server).await?;
    for (id, generation) in &reviews {
        connection.call("submit_verdict", verdict(id, "ada", *generation)).await;
    }
    thousands[3] = counter.take(&server).await?;
    drop(connection);
    server.stop().await;
    Ok(thousands.map(|all| all / REVIEWS as f64 / 1e3))
}

/// Reads what callgrind counts in a running broker.
struct Counter {
    file: PathBuf,
    dumps: usize,
}

impl Counter {
    /// The instructions since the last call.
    async fn take(&mut self, server: &Server) -> Result<f64, String> {
        let failed = |error: String| format!("valgrind does not write its counts: {error}");
        let mut command = Command::new("vgdb");
        command.arg(format!("--pid={}", server.id())).arg("dump").stdin(std::process::Stdio::null());
        let output = command.output().await.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        self.dumps += 1;
        let file = format!("{}.{}", self.file.display(), self.dumps);
        let text = std::fs::read_to_string(&file).map_err(|error| failed(format!("{file}: {error}")))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        total.and_then(|total| total.trim().parse().ok()).ok_or_else(|| failed(format!("{file} has no total")))
    }
}
