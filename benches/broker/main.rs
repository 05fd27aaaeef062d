//! Benchmarks of the broker: every figure is printed beside a baseline that is measured in the same run, and its aim.
//!
//! `cargo xtask bench --help` lists the sections and options.
//!
//! Server and load share the machine, so calls per second depend on the machine. CPU time per call, ratios and counts of
//! instructions are more stable.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed benchmark panics")]
#![allow(clippy::print_stdout, reason = "the report goes to stdout")]

mod database_size;
mod diff_check;
mod external_broker;
mod history_queries;
mod instruction_counts;
mod large_diff;
mod load_generator;
mod memory_per_review;
mod noop_mcp_server;
mod report;
mod review_lifecycle;
mod sample_repository;
mod server_process;
mod store_and_disk_alone;
#[path = "../../tests/it/support/database.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod stored;
mod subscribers;
mod waiters;
mod workload;

use report::Report;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// The allocator of the broker, so that the ceiling is comparable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
cargo xtask bench [SECTION …] [OPTIONS]

Measures a release build of the broker. Each figure stands beside its baseline from the same run, and its aim.

  floor         the disk and the store alone
  life          complete reviews, without a diff against a no-op tool, and with a diff against without
  check         the check of a diff against the git processes that it replaces
  wake          a verdict wakes waiting calls
  large         a diff of 10 MiB beside other callers
  events        500 subscribers of live events
  memory        memory at the start and with many open reviews
  scale         lists and status with few and with many stored reviews
  history       log, timeline and statistics with few and with many stored reviews
  instructions  counts the instructions of a call with valgrind, against benches/instructions.json, and of calls with
                  a diff against those without (not part of a run without a section)

  --compare FILE   only measure complete reviews, with this build against another program file of the broker
  --quick          measure little: for trying things out
  --json FILE      write all figures as JSON
  --record         add the ratios to benches/history.jsonl
  --new-baseline   with instructions: write benches/instructions.json
  --check          exit with 1 if an aim is missed";

const SECTIONS: [&str; 10] =
    ["floor", "life", "check", "wake", "large", "events", "memory", "scale", "history", "instructions"];

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// For each figure and round.
    pub(crate) time: Duration,
    /// What is compared takes turns this often.
    pub(crate) rounds: usize,
    pub(crate) live_reviews: usize,
    pub(crate) few: usize,
    pub(crate) many: usize,
    /// Diffs that are checked by the broker, and by git.
    pub(crate) checks: usize,
    pub(crate) checks_by_git: usize,
    /// Repetitions are divided by this.
    pub(crate) fewer: usize,
}

const FULL: Effort = Effort {
    time: Duration::from_secs(2),
    rounds: 5,
    live_reviews: 10_000,
    few: 1_000,
    many: 100_000,
    checks: 200,
    checks_by_git: 60,
    fewer: 1,
};
const QUICK: Effort = Effort {
    time: Duration::from_millis(500),
    rounds: 3,
    live_reviews: 2_000,
    few: 1_000,
    many: 20_000,
    checks: 60,
    checks_by_git: 15,
    fewer: 4,
};

/// What the caller asks for.
#[derive(Default)]
struct Options {
    sections: Vec<String>,
    is_quick: bool,
    is_recorded: bool,
    is_checked: bool,
    is_new_baseline: bool,
    json: Option<PathBuf>,
    compare: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let result = match words.first().map(String::as_str) {
        Some(noop_mcp_server::FLAG) => {
            runtime.block_on(noop_mcp_server::serve(words.get(1).is_some_and(|word| word == "rmcp")));
            Ok(true)
        }
        Some("load") => runtime.block_on(external_broker::run(&words[1..])).map(|()| true),
        Some("--help" | "-h") => {
            println!("{HELP}");
            Ok(true)
        }
        _ => parse(&words).and_then(|options| runtime.block_on(run(&options))),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.is_quick = true,
            "--record" => options.is_recorded = true,
            "--check" => options.is_checked = true,
            "--new-baseline" => options.is_new_baseline = true,
            "--json" => options.json = Some(words.next().ok_or("--json needs a file")?.into()),
            "--compare" => options.compare = Some(words.next().ok_or("--compare needs a file")?.into()),
            section if SECTIONS.contains(&section) => options.sections.push(section.to_owned()),
            unknown => return Err(format!("unknown section or option {unknown:?}; --help lists them")),
        }
    }
    Ok(options)
}

/// Whether the exit code is that of success.
async fn run(options: &Options) -> Result<bool, String> {
    let effort = if options.is_quick { QUICK } else { FULL };
    let wanted = |name: &str| match options.sections.as_slice() {
        [] if options.compare.is_some() => false,
        [] => name != "instructions",
        named => named.iter().any(|section| section == name),
    };
    let mut all = Report::new(options.is_quick);
    let report = &mut all;
    if let Some(other) = &options.compare {
        review_lifecycle::compare(report, effort, other).await;
    }
    for section in SECTIONS.into_iter().filter(|section| wanted(section)) {
        match section {
            "floor" => store_and_disk_alone::report(report, effort).await,
            "life" => review_lifecycle::report(report, effort).await,
            "check" => diff_check::report(report, effort).await,
            "wake" => waiters::report(report, effort).await,
            "large" => large_diff::report(report, effort).await,
            "events" => subscribers::report(report, effort).await,
            "memory" => memory_per_review::report(report, effort).await,
            "scale" => database_size::report(report, effort).await,
            "history" => history_queries::report(report, effort).await,
            _ => instruction_counts::report(report, &committed("instructions.json"), options.is_new_baseline).await?,
        }
    }
    all.summary();
    if let Some(path) = &options.json {
        all.write_json(path);
    }
    if options.is_recorded {
        all.record(&committed("history.jsonl"));
    }
    Ok(!options.is_checked || all.is_all_reached())
}

/// A committed file of the benchmarks.
fn committed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(name)
}
