//! Processes of one reviewer, each from its shim to its end: an agent has one, a one-shot reviewer may need a second.

use super::{
    PoolMessage,
    reviewer_actor::{Ended, ReviewerMessage},
    reviewers::SharedUsage,
};
use crate::reviewer_process::orphans::sweep;
use crate::reviewer_process::output::{Log, Output};
use crate::reviewer_process::{Exit, Plan, Process, ProcessIdentity};
use crate::{Context, actor_stats::Mailbox, gateway::GatewayMessage};
use domain::pool::PoolEvent;
use std::{path::PathBuf, sync::Arc, time::Duration};
use store::{PoolChange, ProcessRow, ReviewerRow};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};

/// What a shim is given to take its plan.
const BEGIN: Duration = Duration::from_secs(5);

/// Where a reviewer's processes are started from.
pub(super) struct Runner {
    pub(super) context: Arc<Context>,
    pub(super) pool: Mailbox<PoolMessage>,
    /// Its `process` is the last that was started.
    pub(super) row: ReviewerRow,
    pub(super) shim: PathBuf,
    pub(super) log: PathBuf,
    pub(super) usage: SharedUsage,
    pub(super) orders: mpsc::UnboundedReceiver<ReviewerMessage>,
}

/// Why something was not allowed to come to its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutShort {
    TimedOut,
    /// It is no longer needed, or an operator says so.
    Stopped,
    /// The broker ends, or the pool has.
    Killed,
}

/// How a process ended.
pub(super) struct Run {
    pub(super) exit: Exit,
    pub(super) last_words: Vec<String>,
    pub(super) cut_short: Option<CutShort>,
}

impl Runner {
    /// Starts a shim and writes it down: nothing runs that the next broker would not know of. What it is to run, it
    /// is told by [`Self::run`].
    pub(super) async fn ready(&mut self, event: PoolEvent) -> Result<Process, Ended> {
        let process =
            Process::start(&self.shim).map_err(|error| Ended::failed(format!("could not be started: {error}")))?;
        let ProcessIdentity { pid, start_time, boot_id } = process.identity().clone();
        self.row.process = ProcessRow { pid, started: start_time, boot_id };
        let now = self.context.clock.now();
        let reviewer = Some(self.row.clone());
        let change = PoolChange { at: now.at, tick: now.tick, reviewer, event: Some(event) };
        if let Err(error) = note(&self.context, change).await {
            end(process).await;
            return Err(Ended::failed(format!("could not be started, since it could not be noted: {error}")));
        }
        self.context.metrics.spawns.inc();
        self.pool.send(PoolMessage::Started { row: Box::new(self.row.clone()) });
        Ok(process)
    }

    /// Has the process carry out the plan, and follows it to its end, which is that of all it has started. At `limit`
    /// it is asked to end, with this grace.
    pub(super) async fn run(
        &mut self,
        mut process: Process,
        plan: &Plan,
        log: Log,
        heard: impl FnMut(Option<&str>) + Send + 'static,
        limit: Option<(Instant, Duration)>,
    ) -> Run {
        let identity = process.identity().clone();
        let output = process.take_output().map(|(stdout, stderr)| Output::drain(stdout, stderr, log, heard));
        let begun = match timeout(BEGIN, process.begin(plan)).await {
            Ok(begun) => begun.map_err(|error| error.to_string()),
            Err(_) => Err("its shim does not listen".to_owned()),
        };
        if begun.is_err() {
            process.kill();
        }
        let (exit, cut_short) = self.follow(&mut process, limit).await;
        if let Exit::Lost(_) = exit {
            sweep(vec![(self.row.id.clone(), identity)]).await;
        }
        let mut last_words = match output {
            Some(output) => output.finish().await,
            None => Vec::new(),
        };
        if let Err(error) = begun {
            last_words.push(format!("could not be told what to do: {error}"));
        }
        Run { exit, last_words, cut_short }
    }

    /// Waits for the end and carries out orders.
    async fn follow(&mut self, process: &mut Process, limit: Option<(Instant, Duration)>) -> (Exit, Option<CutShort>) {
        let mut cut_short = None;
        let mut limit = limit;
        loop {
            let at = limit.map_or_else(Instant::now, |(at, _)| at);
            tokio::select! {
                exit = process.ended() => return (exit, cut_short),
                order = self.orders.recv() => match order {
                    Some(ReviewerMessage::Stop { grace }) => {
                        cut_short = Some(CutShort::Stopped);
                        process.stop(grace).await;
                    }
                    Some(ReviewerMessage::Kill) => {
                        cut_short = Some(CutShort::Killed);
                        process.kill();
                    }
                    // Without anybody to give orders there is nobody to work for.
                    None => {
                        process.kill();
                        return (process.ended().await, Some(CutShort::Killed));
                    }
                },
                () = sleep_until(at), if limit.is_some() => {
                    cut_short = cut_short.or(Some(CutShort::TimedOut));
                    if let Some((_, grace)) = limit.take() {
                        process.stop(grace).await;
                    }
                }
            }
        }
    }

    /// Does this, unless the reviewer is told to end first.
    pub(super) async fn unless_told<T>(&mut self, work: impl Future<Output = T>) -> Result<T, CutShort> {
        tokio::select! {
            done = work => Ok(done),
            order = self.orders.recv() => Err(match order {
                Some(ReviewerMessage::Stop { .. }) => CutShort::Stopped,
                Some(ReviewerMessage::Kill) | None => CutShort::Killed,
            }),
        }
    }
}

/// Ends a shim that has nothing to run.
pub(super) async fn end(mut process: Process) {
    process.kill();
    process.ended().await;
}

/// Makes a step of the pool durable. It is on its way when this returns, so that the order of the calls is
/// that of the log; the future tells whether it got there.
pub(super) fn note(
    context: &Context,
    change: PoolChange,
) -> impl Future<Output = Result<(), store::StoreError>> + use<> {
    let (done, saved) = oneshot::channel();
    context.gateway.send(GatewayMessage::Record { change: Box::new(change), done });
    async { saved.await.unwrap_or(Err(store::StoreError::Stopped)) }
}
