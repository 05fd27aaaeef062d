//! Benchmark of complete reviews with several numbers of concurrent clients: without a diff against a tool that does
//! nothing on the same stack, and with a diff against without. The three take turns, so that a change in the machine's
//! load affects all of them.

use super::{
    Effort,
    lives::{self, Work},
    load_generator::{Measured, Target},
    report::{Aim, Figure, Form, Report, median},
    sample_repository::SampleRepository,
    server_process::Server,
};
use std::{sync::Arc, time::Duration};

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
        let (noop_server, home) = (Server::noop().await, tempfile::tempdir().unwrap());
        let plain_server = Server::broker(home.path(), "").await;
        let diff_home = tempfile::tempdir().unwrap();
        let diff_server = Server::broker_in(&sample.repo.path(), diff_home.path(), "").await;
        let mut runs = [
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
        let [noop, plain, diff] = runs.map(Run::finish);
        add(report, clients, share, per_sync, &noop, &plain, &diff);
        for server in [noop_server, plain_server, diff_server] {
            server.stop().await;
        }
    }
}

fn add(report: &mut Report, clients: usize, share: f64, per_sync: f64, noop: &Done, plain: &Done, diff: &Done) {
    let name = |what: &str| format!("{what}, {clients} clients");
    let ratio = |run: &Done, base: &Done| median(run.rates.iter().zip(&base.rates).map(|(a, b)| a / b).collect());
    let (noop_rate, plain_rate) = (noop.all.per_second(), plain.all.per_second());
    report.add(
        Figure::new(SECTION, name("life without a diff"), plain_rate, "calls/s")
            .with_ratio("no-op", noop_rate, ratio(plain, noop), Form::Percent)
            .aim(Aim::AtLeast(share)),
    );
    report.add(
        Figure::new(SECTION, name("life with a diff"), diff.all.per_second(), "calls/s")
            .with_ratio("without", plain_rate, ratio(diff, plain), Form::Percent)
            .aim(Aim::AtLeast(0.60)),
    );
    let cpu = Figure::new(SECTION, name("CPU per call, without a diff"), plain.all.cpu_micros(), "µs");
    report.add(cpu.against("no-op", noop.all.cpu_micros(), Form::Times));
    let cpu = Figure::new(SECTION, name("CPU per call, with a diff"), diff.all.cpu_micros(), "µs");
    report.add(if clients == 32 { cpu.aim(Aim::AtMost(400.0)) } else { cpu });
    for (what, done) in [("without a diff", plain), ("with a diff", diff)] {
        let p99 = Figure::new(SECTION, name(&format!("p99, {what}")), done.all.percentile(99), "ms");
        report.add(p99.against("p50", done.all.percentile(50), Form::Times));
    }
    let syncs = Figure::new(SECTION, name("changes per sync"), per_sync, "");
    report.add(if clients == 64 { syncs.aim(Aim::AtLeast(16.0)) } else { syncs });
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
    let (times, elapsed) = lives::work(&Target::local(server.port), clients, time, work, pause).await.unwrap();
    Measured::new(times, elapsed, server.cpu() - cpu_before)
}
