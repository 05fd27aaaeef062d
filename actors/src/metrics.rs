//! Counters and histograms that the broker updates while it runs, for the `/metrics` page.

use prometheus_client::metrics::{
    counter::Counter,
    family::Family,
    histogram::{Histogram, exponential_buckets},
};
use std::time::Duration;

/// The outcome of a call, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    Ok,
    /// A rule refused it.
    Refused,
    /// Its arguments were malformed, or the operation does not exist.
    Malformed,
    /// The broker failed.
    Failed,
    /// The caller went away before the response.
    Left,
}

/// Operation and outcome. Only names of our own, because values of callers must not become labels.
pub type CallLabels = [(&'static str, &'static str); 2];

pub type OneLabel = [(&'static str, &'static str); 1];

/// Cheap to clone. All clones share their counters.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub calls: Family<CallLabels, Counter>,
    pub call_seconds: Family<OneLabel, Histogram>,
    /// How long calls wait for the check of a diff.
    pub git_check_seconds: Histogram,
    /// Reviewer processes that were started.
    pub spawns: Counter,
    /// Reviewer processes that crashed.
    pub crashes: Counter,
    /// Turns of dedicated reviewers, by session: new or resumed.
    pub turns: Family<OneLabel, Counter>,
    /// Actors that were restarted, by kind.
    pub restarts: Family<OneLabel, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(call_histogram),
            // 0.1 ms to 26 s
            git_check_seconds: Histogram::new(exponential_buckets(0.0001, 4.0, 10)),
            spawns: Counter::default(),
            crashes: Counter::default(),
            turns: Family::default(),
            restarts: none_restarted(),
        }
    }
}

impl Metrics {
    /// `tool` is the name of an operation or a route.
    pub fn call(&self, tool: &'static str, outcome: Outcome, took: Duration) {
        self.calls.get_or_create(&[("tool", tool), ("outcome", outcome.into())]).inc();
        self.call_seconds.get_or_create(&[("tool", tool)]).observe(took.as_secs_f64());
    }

    pub(crate) fn restarted(&self, kind: &'static str) {
        self.restarts.get_or_create(&[("kind", kind)]).inc();
    }
}

/// Created at the start with 0, so that the first restart shows as a change.
fn none_restarted() -> Family<OneLabel, Counter> {
    let restarts = Family::<OneLabel, Counter>::default();
    for kind in ["gateway", "pool", "review"] {
        drop(restarts.get_or_create(&[("kind", kind)]));
    }
    restarts
}

/// 0.5 ms to 50 s; calls that wait take longest.
fn call_histogram() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 25.0, 50.0])
}
