//! Benchmark of complete reviews with several numbers of concurrent clients: without a diff against a tool that does
//! nothing, and with a diff against without. All take turns, so that a change in the machine's load affects all of them.
//!
//! There are two no-op tools. One is served by rmcp alone, as every call was when the aim was set. The other is served as
//! the broker serves its tools now, which is faster.

use super::{
    Effort,
    load_generator::{Measured, Target},
    report::{Aim, Figure, Form, Report, median},
    sample_repository::SampleRepository,
    server_process::Server,
    workload::{self, MakeDiff, Work},
};
use std::{path::Path, sync::Arc, time::Duration};

/// Numbers of clients, and the share of the no-op tool's calls per second that a life without a diff should reach.
const CLIENTS: [(usize, f64); 4] = [(1, 0.35), (8, 0.45), (32, 0.50), (64, 0.50)];
const FILES: usize = 800;
const SECTION: &str = "life";

pub(crate) async fn report(report: &mut Report, effort: Effort) {
    let sample = Arc::new(SampleRepository::new(FILES));
    let bytes = sample.diff(0).len();
    report.heading(&format!(
        "a life: create, claim, read, verdict, close, over HTTP and MCP; the diff has {bytes} bytes in {FILES} files"
    ));
    let make = { Arc::clone(&sample) };
    let with_diff = Work::Life { diff: Some(Arc::new(move |number| make.diff(number))) };
    for (clients, share) in CLIENTS {
        let (rmcp_server, noop_server) = (Server::noop(true).await, Server::noop(false).await);
        let home = tempfile::tempdir().unwrap();
        let plain_server = Server::broker(home.path(), "").await;
        let diff_home = tempfile::tempdir().unwrap();
        let diff_server = Server::broker_in(&sample.repo.path(), diff_home.path(), "").await;
        let mut runs = [
            Run::new(&rmcp_server, Work::Nothing),
            Run::new(&noop_server, Work::Nothing),
            Run::new(&plain_server, Work::Life { diff: None }),
            Run::new(&diff_server, with_diff.clone()),
        ];
        let before = plain_server.commits().await;
        for _ in 0..effort.rounds {
            for run in &mut runs {
                run.measure(clients, effort.time).await;
            }
        }
        let after = plain_server.commits().await;
        let per_sync = (after.1 - before.1) as f64 / (after.0 - before.0) as f64;
        add(report, clients, share, per_sync, &runs.map(Run::finish));
        for server in [rmcp_server, noop_server, plain_server, diff_server] {
            server.stop().await;
        }
    }
}

fn add(report: &mut Report, clients: usize, share: f64, per_sync: f64, [rmcp, noop, plain, diff]: &[Done; 4]) {
    let name = |what: &str| format!("{what}, {clients} clients");
    let ratio = |run: &Done, base: &Done| median(run.rates.iter().zip(&base.rates).map(|(a, b)| a / b).collect());
    let plain_rate = plain.all.per_second();
    report.add(
        Figure::new(SECTION, name("life without a diff"), plain_rate, "calls/s")
            .with_ratio("no-op, rmcp", rmcp.all.per_second(), ratio(plain, rmcp), Form::Percent)
            .aim(Aim::AtLeast(share)),
    );
    report.add(Figure::new(SECTION, name("life without a diff, same stack"), plain_rate, "calls/s").with_ratio(
        "no-op, direct",
        noop.all.per_second(),
        ratio(plain, noop),
        Form::Percent,
    ));
    report.add(
        Figure::new(SECTION, name("life with a diff"), diff.all.per_second(), "calls/s")
            .with_ratio("without", plain_rate, ratio(diff, plain), Form::Percent)
            .aim(Aim::AtLeast(0.60)),
    );
    let cpu = Figure::new(SECTION, name("CPU per call, without a diff"), plain.all.cpu_micros(), "µs");
    report.add(cpu.against("no-op, direct", noop.all.cpu_micros(), Form::Times));
    let cpu = Figure::new(SECTION, name("CPU per call, no-op, direct"), noop.all.cpu_micros(), "µs");
    report.add(cpu.against("no-op, rmcp", rmcp.all.cpu_micros(), Form::Times));
    let cpu = Figure::new(SECTION, name("CPU per call, with a diff"), diff.all.cpu_micros(), "µs");
    report.add(if clients == 32 { cpu.aim(Aim::AtMost(400.0)) } else { cpu });
    for (what, done) in [("without a diff", plain), ("with a diff", diff)] {
        let p99 = Figure::new(SECTION, name(&format!("p99, {what}")), done.all.percentile(99), "ms");
        report.add(p99.against("p50", done.all.percentile(50), Form::Times));
    }
    let syncs = Figure::new(SECTION, name("changes per sync"), per_sync, "");
    report.add(if clients == 64 { syncs.aim(Aim::AtLeast(16.0)) } else { syncs });
}

/// This build of the broker against another one.
pub(crate) async fn compare(report: &mut Report, effort: Effort, other: &Path) {
    let sample = Arc::new(SampleRepository::new(FILES));
    report.heading(&format!("a life with this build against {}", other.display()));
    for (clients, _) in CLIENTS {
        for has_diff in [false, true] {
            let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let project = sample.repo.path();
            let new = Server::broker_in(&project, homes[0].path(), "").await;
            let old = Server::program_in(other, &project, homes[1].path(), "").await;
            let make = Arc::clone(&sample);
            let make: MakeDiff = Arc::new(move |number| make.diff(number));
            let work = Work::Life { diff: has_diff.then_some(make) };
            let mut runs = [Run::new(&new, work.clone()), Run::new(&old, work)];
            for _ in 0..effort.rounds {
                for run in &mut runs {
                    run.measure(clients, effort.time).await;
                }
            }
            let [this, that] = runs.map(Run::finish);
            let name = |what: &str| format!("{what}, {clients} clients{}", if has_diff { ", with a diff" } else { "" });
            let ratio = median(this.rates.iter().zip(&that.rates).map(|(a, b)| a / b).collect());
            report.add(Figure::new("compare", name("life"), this.all.per_second(), "calls/s").with_ratio(
                "other",
                that.all.per_second(),
                ratio,
                Form::Times,
            ));
            let cpu = Figure::new("compare", name("CPU per call"), this.all.cpu_micros(), "µs");
            report.add(cpu.against("other", that.all.cpu_micros(), Form::Times));
            for server in [new, old] {
                server.stop().await;
            }
        }
    }
}

/// One of the servers that take turns.
struct Run<'a> {
    server: &'a Server,
    work: Work,
    rates: Vec<f64>,
    all: Option<Measured>,
}

/// Calls per second of each round, and all rounds together.
struct Done {
    rates: Vec<f64>,
    all: Measured,
}

impl<'a> Run<'a> {
    fn new(server: &'a Server, work: Work) -> Self {
        Self { server, work, rates: Vec::new(), all: None }
    }

    async fn measure(&mut self, clients: usize, time: Duration) {
        let measured = measure(self.server, clients, time, &self.work).await;
        self.rates.push(measured.per_second());
        match &mut self.all {
            Some(all) => all.join(measured),
            None => self.all = Some(measured),
        }
    }

    fn finish(self) -> Done {
        Done { rates: self.rates, all: self.all.unwrap() }
    }
}

pub(crate) async fn measure(server: &Server, clients: usize, time: Duration, work: &Work) -> Measured {
    measure_paced(server, clients, time, work, Duration::ZERO).await
}

/// Each client pauses after each review.
pub(crate) async fn measure_paced(
    server: &Server,
    clients: usize,
    time: Duration,
    work: &Work,
    pause: Duration,
) -> Measured {
    let cpu_before = server.cpu();
    let (times, elapsed) = workload::work(&Target::local(server.port), clients, time, work, pause).await.unwrap();
    Measured::new(times, elapsed, server.cpu() - cpu_before)
}
