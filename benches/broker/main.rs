//! Benchmarks of the broker, compared with a ceiling and a floor that are measured in the same run.
//!
//! `cargo xtask bench [life] [memory] [scale] [history] [check] [--quick]`; without a name it runs all of them.
//!
//! - ceiling: a tool that does nothing, behind the same HTTP server, request guard and rmcp
//! - floor: the store alone, and the disk alone
//! - check: the check of a diff by the broker and by the git processes that it replaces
//! - life: create, claim, get_proposal, verdict, close; every response after COMMIT
//!
//! Server and load share the machine, so calls per second depend on the machine. CPU time per call and the share of the
//! ceiling are more stable.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed benchmark panics")]
#![allow(clippy::print_stdout, reason = "the report goes to stdout")]

mod database_size;
mod diff_check;
mod history_queries;
mod load_generator;
mod memory_per_review;
mod noop_mcp_server;
mod review_lifecycle;
mod server_process;
mod store_and_disk_floor;
#[path = "../../tests/it/support/database.rs"]
mod stored;

use std::time::Duration;

/// The allocator of the broker, so that the ceiling is comparable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// For each figure.
    pub(crate) time: Duration,
    pub(crate) live_reviews: usize,
    pub(crate) few: usize,
    pub(crate) many: usize,
}

const FULL: Effort = Effort { time: Duration::from_secs(5), live_reviews: 10_000, few: 1_000, many: 100_000 };
const QUICK: Effort = Effort { time: Duration::from_millis(800), live_reviews: 2_000, few: 1_000, many: 20_000 };

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if words.first().is_some_and(|word| word == noop_mcp_server::FLAG) {
        return runtime.block_on(noop_mcp_server::serve());
    }
    let effort = if words.iter().any(|word| word == "--quick") { QUICK } else { FULL };
    let named: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|word| !["life", "memory", "scale", "history", "check"].contains(word)) {
        eprintln!("no benchmark {unknown:?}; there are life, memory, scale, history and check");
        std::process::exit(2);
    }
    let wanted = |name| named.is_empty() || named.contains(&name);
    runtime.block_on(async {
        if wanted("life") {
            store_and_disk_floor::report(effort).await;
            review_lifecycle::report(effort).await;
        }
        if wanted("memory") {
            memory_per_review::report(effort).await;
        }
        if wanted("scale") {
            database_size::report(effort).await;
        }
        if wanted("history") {
            history_queries::report(effort).await;
        }
        if wanted("check") {
            diff_check::report(effort).await;
        }
    });
}
