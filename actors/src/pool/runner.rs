//! Runs the processes of one reviewer, each from its shim to its exit. An agent has one process; a one-shot reviewer may
//! need a second.

use super::{PoolMessage, reviewer_actor::ReviewerMessage, reviewers::SharedUsage};
use crate::{
    Context,
    actor_stats::Mailbox,
    gateway::GatewayMessage,
    reviewer_process::{
        Process, ProcessExit, ProcessSpec,
        orphans::sweep,
        output::{Log, Output},
    },
};
use domain::pool::PoolEvent;
use std::{path::PathBuf, sync::Arc, time::Duration};
use store::{PoolChange, ReviewerRow};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};

/// How long a shim may take to read what it is to run.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(5);

/// How a reviewer ended.
#[derive(Debug)]
pub(crate) struct Exit {
    /// `exit code 1`, `killed by SIGKILL`, or why it never ran.
    pub(crate) summary: String,
    pub(crate) clean: bool,
    /// The last lines of its output, or the reason of a failure.
    pub(crate) last_words: Vec<String>,
}

impl Exit {
    pub(crate) fn clean(summary: String) -> Self {
        Self { summary, clean: true, last_words: Vec::new() }
    }

    pub(crate) fn failed(message: String) -> Self {
        Self { summary: message.clone(), clean: false, last_words: vec![message] }
    }
}

/// Starts and follows the processes of one reviewer.
pub(crate) struct Runner {
    pub(crate) context: Arc<Context>,
    pub(crate) pool: Mailbox<PoolMessage>,
    /// `row.process` is the shim that was started last.
    pub(crate) row: ReviewerRow,
    pub(crate) usage: SharedUsage,
    /// Messages from the reviewer's actor. It is closed when the actor stops.
    pub(crate) orders: mpsc::UnboundedReceiver<ReviewerMessage>,
}

/// Why a process or a step was ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    TimedOut,
    /// It is no longer needed, or an operator stopped it.
    Stopped,
    /// The broker or the pool shuts down.
    Killed,
}

/// How one process ended.
pub(crate) struct ProcessOutcome {
    pub(crate) exit: ProcessExit,
    pub(crate) last_words: Vec<String>,
    pub(crate) interruption: Option<Interruption>,
}

impl Runner {
    /// The file for the output of this reviewer.
    pub(crate) fn log_file(&self) -> PathBuf {
        self.context.settings.pool.folder.join(format!("{}.log", self.row.id))
    }

    /// Starts a shim and records it in the database, so that the next broker knows every process that may run. The shim
    /// runs nothing until [`Self::run`].
    pub(crate) async fn start_shim(&mut self, event: PoolEvent) -> Result<Process, Exit> {
        let process = Process::start(&self.context.settings.pool.shim)
            .map_err(|error| Exit::failed(format!("could not be started: {error}")))?;
        self.row.process = process.identity().clone();
        let now = self.context.clock.now();
        let reviewer = Some(self.row.clone());
        let change = PoolChange { at: now.at, tick: now.tick, reviewer, event: Some(event) };
        if let Err(error) = record(&self.context, change).await {
            kill_shim(process).await;
            return Err(Exit::failed(format!("not started, because it could not be recorded: {error}")));
        }
        self.context.metrics.spawns.inc();
        self.pool.send(PoolMessage::Started { id: self.row.id.clone(), process: self.row.process.clone() });
        Ok(process)
    }

    /// Runs `spec` in the shim and waits until the process and everything it started has exited. At the limit it is
    /// stopped with the given grace period. `on_line` gets the lines of stdout, see [`Output::drain`].
    pub(crate) async fn run(
        &mut self,
        mut process: Process,
        spec: &ProcessSpec,
        log: Log,
        on_line: impl FnMut(Option<&str>) + Send + 'static,
        limit: Option<(Instant, Duration)>,
    ) -> ProcessOutcome {
        let identity = process.identity().clone();
        let output = process.take_output().map(|(stdout, stderr)| Output::drain(stdout, stderr, log, on_line));
        let launched = match timeout(LAUNCH_TIMEOUT, process.launch(spec)).await {
            Ok(launched) => launched.map_err(|error| error.to_string()),
            Err(_) => Err("its shim does not respond".to_owned()),
        };
        if launched.is_err() {
            process.kill();
        }
        let (exit, interruption) = self.wait(&mut process, limit).await;
        if let ProcessExit::Lost(_) = exit {
            sweep(vec![(self.row.id.clone(), identity)]).await;
        }
        let mut last_words = match output {
            Some(output) => output.finish().await,
            None => Vec::new(),
        };
        if let Err(error) = launched {
            last_words.push(format!("could not be launched: {error}"));
        }
        ProcessOutcome { exit, last_words, interruption }
    }

    /// Waits for the exit and carries out orders.
    async fn wait(
        &mut self,
        process: &mut Process,
        mut limit: Option<(Instant, Duration)>,
    ) -> (ProcessExit, Option<Interruption>) {
        let mut interruption = None;
        loop {
            let limit_at = limit.map_or_else(Instant::now, |(at, _)| at);
            tokio::select! {
                exit = process.wait() => return (exit, interruption),
                order = self.orders.recv() => match order {
                    Some(ReviewerMessage::Stop { grace }) => {
                        interruption = Some(Interruption::Stopped);
                        process.stop(grace).await;
                    }
                    Some(ReviewerMessage::Kill) => {
                        interruption = Some(Interruption::Killed);
                        process.kill();
                    }
                    // The actor is gone.
                    None => {
                        process.kill();
                        return (process.wait().await, Some(Interruption::Killed));
                    }
                },
                () = sleep_until(limit_at), if limit.is_some() => {
                    interruption = interruption.or(Some(Interruption::TimedOut));
                    if let Some((_, grace)) = limit.take() {
                        process.stop(grace).await;
                    }
                }
            }
        }
    }

    /// Does `work`, unless an order to stop comes first.
    pub(crate) async fn unless_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        tokio::select! {
            done = work => Ok(done),
            order = self.orders.recv() => Err(match order {
                Some(ReviewerMessage::Stop { .. }) => Interruption::Stopped,
                Some(ReviewerMessage::Kill) | None => Interruption::Killed,
            }),
        }
    }
}

/// Ends a shim that runs nothing.
pub(crate) async fn kill_shim(mut process: Process) {
    process.kill();
    process.wait().await;
}

/// Writes a change of the pool to the database. It is queued when this returns, so the order of calls is the order in
/// the log; the future resolves once it is committed.
pub(crate) fn record(
    context: &Context,
    change: PoolChange,
) -> impl Future<Output = Result<(), store::StoreError>> + use<> {
    let (done, saved) = oneshot::channel();
    context.gateway.send(GatewayMessage::Record { change: Box::new(change), done });
    async { saved.await.unwrap_or(Err(store::StoreError::Stopped)) }
}
