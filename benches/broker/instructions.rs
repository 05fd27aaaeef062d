//! Counts the instructions that the broker needs for a call, with callgrind. Unlike times, they hardly depend on what
//! else the machine does, so they are compared with a committed baseline.
//!
//! Callgrind counts a whole process. The broker therefore runs several times, each time with one more kind of call, and
//! the difference is what that call needs.

use super::{
    lives::{Ids, proposal, verdict},
    load_generator::Connection,
    report::{Aim, Figure, Form, Report},
    sample_repository::SampleRepository,
    server_process::Server,
};
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write as _, path::Path};
use tokio::process::Command;

/// Reviews of each run.
const REVIEWS: usize = 40;
/// Reviews before the count starts: they fill caches.
const WARM_UP: usize = 10;
/// How much more than in the baseline a call may need.
const TOLERANCE: f64 = 1.05;
const SECTION: &str = "instructions";
const STEPS: [&str; 4] = ["create_review", "claim_review", "get_review_status", "submit_verdict"];

/// The committed counts of thousands of instructions, by name.
type Baseline = BTreeMap<String, f64>;

pub(crate) async fn report(report: &mut Report, baseline: &Path, is_new_baseline: bool) -> Result<(), String> {
    let found = Command::new("valgrind").arg("--version").output().await;
    if !found.is_ok_and(|output| output.status.success()) {
        return Err(
            "valgrind is not installed; it counts the instructions. Install it (Debian: apt install valgrind)".into()
        );
    }
    let known: Baseline = match std::fs::read_to_string(baseline) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{}: {error}", baseline.display()))?,
        Err(_) => Baseline::new(),
    };
    report.heading(&format!("thousands of instructions per call, mean of {REVIEWS}, against {}", baseline.display()));
    let sample = SampleRepository::new(800);
    let mut counted = Baseline::new();
    for with_diff in [false, true] {
        let mut before = run(&sample, with_diff, 0).await?;
        for (step, name) in STEPS.into_iter().enumerate() {
            let total = run(&sample, with_diff, step + 1).await?;
            let thousands = (total - before) / REVIEWS as f64 / 1e3;
            before = total;
            let name = format!("{name}, {} a diff", if with_diff { "with" } else { "without" });
            let figure = Figure::new(SECTION, name.clone(), thousands, "k");
            report.add(match known.get(&name) {
                Some(known) => figure.against("baseline", *known, Form::Times).aim(Aim::AtMost(TOLERANCE)),
                None => figure,
            });
            counted.insert(name, thousands.round());
        }
    }
    if is_new_baseline {
        let mut text = serde_json::to_string_pretty(&counted).map_err(|error| error.to_string())?;
        let _ = writeln!(text);
        std::fs::write(baseline, text).map_err(|error| format!("{}: {error}", baseline.display()))?;
    }
    Ok(())
}

/// Runs a broker that is asked for the first `steps` calls of some reviews: the instructions of the whole process.
async fn run(sample: &SampleRepository, with_diff: bool, steps: usize) -> Result<f64, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let counts = home.path().join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", counts.display()));
    let server = Server::broker_under(valgrind, &sample.repo.path(), home.path()).await;
    let mut connection = Connection::open(server.port).await;
    for number in 0..WARM_UP {
        calls(&mut connection, with_diff.then(|| sample.diff(number)), STEPS.len()).await;
    }
    for number in WARM_UP..WARM_UP + REVIEWS {
        calls(&mut connection, with_diff.then(|| sample.diff(number)), steps).await;
    }
    drop(connection);
    server.interrupt().await;
    let text = std::fs::read_to_string(&counts).map_err(|error| format!("no counts from valgrind: {error}"))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    total.and_then(|total| total.trim().parse().ok()).ok_or_else(|| "no total in the counts of valgrind".into())
}

async fn calls(connection: &mut Connection, diff: Option<String>, steps: usize) {
    if steps == 0 {
        return;
    }
    let created: Ids = connection.call("create_review", proposal(diff)).await.read();
    let id = created.review_id.unwrap();
    let mut generation = None;
    for step in 1..steps {
        match step {
            1 => {
                let claim = json!({ "review_id": id, "reviewer_id": "ada" });
                let claimed: Ids = connection.call("claim_review", claim).await.read();
                generation = claimed.claim_generation;
            }
            2 => drop(connection.call("get_review_status", json!({ "review_id": id })).await),
            _ => drop(connection.call("submit_verdict", verdict(&id, "ada", generation)).await),
        }
    }
}
