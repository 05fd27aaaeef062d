//! The actor of one reviewer process. It holds one end of a pipe, the lifeline. The shim, the process above the reviewer,
//! holds the other: when the actor ends, the pipe closes, and the shim kills the reviewer and everything it started.
//!
//! A separate task, [`Runner`], reads the output and sends signals, so that the actor can always answer. If the one prompt of
//! a one-shot reviewer brings no usable answer, the actor starts a second process.

use super::{
    PoolMessage,
    dedicated::{self, Dedicated},
    one_shot::{self, OneShot},
    reviewer_registry::SharedProgress,
    spawn_plan::SpawnPlan,
};
use crate::{
    Shared,
    mailbox::{ActorStats, Mailbox},
    reviewer_process::{
        Process, ProcessExit, ProcessSpec, orphans,
        output::{Caps, Log, Output},
    },
    submission::Submissions,
};
use domain::reviewer_pool::PoolEvent;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};
use store::ReviewerRow;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long a shim may take to read what it is to run.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Messages handled by a [`ReviewerActor`].
pub(crate) enum ReviewerMessage {
    /// Sends SIGTERM to the process and everything below it, SIGKILL after `pool.stop_grace`.
    Stop,
    /// Sends SIGKILL at once.
    Kill,
}

/// What a reviewer does.
pub(crate) enum Assignment {
    /// Claims reviews by itself; `secret` is the token in its environment.
    Agent { spec: Box<ProcessSpec>, secret: String },
    /// Reviews one seat, which the broker claims for it.
    OneShot(Box<OneShot>),
    /// Takes one turn in the review whose seat it has.
    Dedicated(Box<Dedicated>),
}

pub(crate) struct ReviewerActor {
    pub(crate) shared: Arc<Shared>,
    pub(crate) submissions: Arc<Submissions>,
    pub(crate) pool: Mailbox<PoolMessage>,
    pub(crate) stats: Arc<ActorStats>,
}

impl Actor for ReviewerActor {
    type Msg = ReviewerMessage;
    /// When this is dropped, the task kills the process.
    type State = mpsc::UnboundedSender<ReviewerMessage>;
    type Arguments = SpawnPlan;

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, plan: SpawnPlan) -> Result<Self::State, ActorProcessingErr> {
        let (control, orders) = mpsc::unbounded_channel();
        let (shared, submissions) = (Arc::clone(&self.shared), Arc::clone(&self.submissions));
        let (pool, id) = (self.pool.clone(), plan.row.id.clone());
        let runner = Runner { shared, submissions, pool: pool.clone(), row: plan.row, progress: plan.progress, orders };
        let work = match plan.assignment {
            Assignment::Agent { spec, secret } => tokio::spawn(run_agent(runner, *spec, secret)),
            Assignment::OneShot(one_shot) => tokio::spawn(one_shot::run(runner, *one_shot)),
            Assignment::Dedicated(dedicated) => tokio::spawn(dedicated::run(runner, *dedicated)),
        };
        tokio::spawn(async move {
            let exit = work.await.unwrap_or_else(|error| Exit::failed(format!("lost: {error}")));
            pool.send(PoolMessage::Exited { id, exit });
            myself.stop(None);
        });
        Ok(control)
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        control: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        self.stats.taken();
        // Fails if the task has already ended; it reports the exit itself.
        let _ = control.send(message);
        Ok(())
    }
}

async fn run_agent(mut runner: Runner, spec: ProcessSpec, secret: String) -> Exit {
    let process = match runner.start_shim(spawned_event(&runner.row)).await {
        Ok(process) => process,
        Err(exit) => return exit,
    };
    let ProcessOutcome { exit, last_words, .. } =
        runner.run(process, &spec, Some(secret), Caps::default(), |_| {}, None, &CancellationToken::new()).await;
    Exit { clean: exit == ProcessExit::Code(0), last_words, ..Exit::clean(exit.to_string()) }
}

pub(crate) fn spawned_event(row: &ReviewerRow) -> PoolEvent {
    PoolEvent::ReviewerSpawned {
        reviewer: row.id.clone(),
        runtime: row.runtime.clone(),
        project: row.project.clone(),
        why: row.why,
        persona: row.seat.as_ref().map(|seat| seat.persona.clone()).or_else(|| row.bound_to.clone()),
        turn: row.session.as_ref().map(|session| session.turns),
        session_id: row.session.as_ref().filter(|session| session.resumable).and_then(|session| session.id.clone()),
        by: row.spawned_by.clone(),
        pid: None,
    }
}

/// How a reviewer ended.
#[derive(Debug)]
pub(crate) struct Exit {
    /// `exit code 1`, `killed by SIGKILL`, or why it never ran.
    pub(crate) summary: String,
    pub(crate) clean: bool,
    /// A dedicated reviewer has done what its turn asked for.
    pub(crate) handled: bool,
    /// The last lines of its output, or the reason of a failure.
    pub(crate) last_words: Vec<String>,
}

impl Exit {
    pub(crate) fn clean(summary: String) -> Self {
        Self { summary, clean: true, handled: false, last_words: Vec::new() }
    }

    pub(crate) fn failed(message: String) -> Self {
        Self { summary: message.clone(), clean: false, handled: false, last_words: vec![message] }
    }
}

/// Starts and follows the processes of one reviewer.
pub(crate) struct Runner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) submissions: Arc<Submissions>,
    pub(crate) pool: Mailbox<PoolMessage>,
    /// `row.process` is the shim that was started last.
    pub(crate) row: ReviewerRow,
    pub(crate) progress: SharedProgress,
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
    /// Its output showed that it cannot succeed.
    Aborted,
}

/// How one process ended.
pub(crate) struct ProcessOutcome {
    pub(crate) exit: ProcessExit,
    pub(crate) last_words: Vec<String>,
    pub(crate) interruption: Option<Interruption>,
}

impl Runner {
    /// Starts a shim and records it in the database, so that the next broker knows every process that may run. The shim
    /// runs nothing until [`Self::run`].
    pub(crate) async fn start_shim(&mut self, event: PoolEvent) -> Result<Process, Exit> {
        let process = Process::start(&self.shared.settings.pool.shim)
            .map_err(|error| Exit::failed(format!("could not be started: {error}")))?;
        self.row.process = process.identity().clone();
        self.progress.lock().write_to(&mut self.row);
        let (now, row) = (self.shared.clock.now(), self.row.clone());
        let event = event.with_pid(row.pid());
        if let Err(error) = self.submissions.reviews.record(now, Some(row), Some(event)).await {
            kill_shim(process).await;
            return Err(Exit::failed(format!("not started, because it could not be recorded: {error}")));
        }
        self.shared.metrics.spawns.inc();
        self.pool.send(PoolMessage::Started { id: self.row.id.clone(), process: self.row.process.clone() });
        Ok(process)
    }

    /// Runs `spec` in the shim and waits until the process and everything it started has exited. At the deadline it is
    /// stopped, and killed if `abort` is cancelled. `secret` is removed from the log. `on_line` gets the lines of stdout,
    /// see [`Output::drain`].
    #[expect(clippy::too_many_arguments, reason = "three callers, which differ in each of them")]
    pub(crate) async fn run(
        &mut self,
        mut process: Process,
        spec: &ProcessSpec,
        secret: Option<String>,
        caps: Caps,
        mut on_line: impl FnMut(Option<&str>) + Send + 'static,
        deadline: Option<Instant>,
        abort: &CancellationToken,
    ) -> ProcessOutcome {
        let identity = process.identity().clone();
        let path = self.shared.settings.pool.logs.join(format!("{}.log", self.row.id));
        let progress = self.progress.clone();
        let on_line = move |line: Option<&str>| {
            if let Some(line) = line {
                progress.lock().usage.read_line(line);
            }
            on_line(line);
        };
        let heading = self.progress.lock().session.as_ref().map(|session| format!("turn {}", session.turns));
        let log = Log { path, heading, secret, caps };
        let drain = |(stdout, stderr)| Output::drain(stdout, stderr, log, on_line);
        let output = process.take_output().map(drain);
        let launched = match timeout(LAUNCH_TIMEOUT, process.launch(spec)).await {
            Ok(launched) => launched.map_err(|error| error.to_string()),
            Err(_) => Err("its shim does not respond".to_owned()),
        };
        if launched.is_err() {
            process.kill();
        }
        let (exit, interruption) = self.wait(&mut process, deadline, abort).await;
        if let ProcessExit::Lost(_) = exit {
            let mark = orphans::mark(&self.row, &self.shared.settings.pool.work_dir);
            orphans::sweep(vec![(mark, identity)]).await;
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
        mut deadline: Option<Instant>,
        abort: &CancellationToken,
    ) -> (ProcessExit, Option<Interruption>) {
        let grace = self.shared.settings.pool.stop_grace;
        let mut interruption = None;
        loop {
            tokio::select! {
                exit = process.wait() => return (exit, interruption),
                order = self.orders.recv() => match order {
                    Some(ReviewerMessage::Stop) => {
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
                () = abort.cancelled(), if interruption.is_none() => {
                    interruption = Some(Interruption::Aborted);
                    process.kill();
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    interruption = interruption.or(Some(Interruption::TimedOut));
                    deadline = None;
                    process.stop(grace).await;
                }
            }
        }
    }

    /// Does `work`, unless an order to stop comes first.
    pub(crate) async fn unless_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interruption> {
        tokio::select! {
            done = work => Ok(done),
            order = self.orders.recv() => Err(match order {
                Some(ReviewerMessage::Stop) => Interruption::Stopped,
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
