//! One reviewer: an actor that holds the life lines of its processes. The work with pipes and signals is done by a task
//! beside the mailbox; when either ends, so does the process with all it has started.

use super::{
    PoolMessage,
    one_shot::{self, OneShot},
    reviewers::SharedUsage,
    runner::{Run, Runner},
};
use crate::reviewer_process::output::{Caps, Log};
use crate::reviewer_process::{Exit, Plan};
use crate::{Context, actor_stats::ActorStats, actor_stats::Mailbox};
use domain::pool::PoolEvent;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
    time::Duration,
};
use store::ReviewerRow;
use tokio::sync::mpsc;

/// What a [`ReviewerActor`] can be told.
pub(crate) enum ReviewerMessage {
    /// SIGTERM to the process and all it has started, SIGKILL after the grace.
    Stop { grace: Duration },
    /// SIGKILL at once.
    Kill,
}

/// How a reviewer came to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `exit code 1`, `killed by SIGKILL`
    pub(crate) exit: String,
    pub(crate) cleanly: bool,
    pub(crate) last_words: Vec<String>,
}

impl Ended {
    pub(super) fn failed(words: String) -> Self {
        Self { exit: words.clone(), cleanly: false, last_words: vec![words] }
    }
}

/// Everything a reviewer needs to be started.
pub(crate) struct Start {
    /// Its `process` is filled in here.
    pub(super) row: ReviewerRow,
    pub(super) shim: PathBuf,
    pub(super) log: PathBuf,
    pub(super) usage: SharedUsage,
    pub(super) job: Job,
}

/// What it is started for.
pub(super) enum Job {
    /// To look for work itself, with this secret.
    Agent {
        plan: Plan,
        secret: String,
    },
    OneShot(Box<OneShot>),
}

pub(crate) struct ReviewerActor {
    pub(super) context: Arc<Context>,
    pub(super) pool: Mailbox<PoolMessage>,
    pub(super) stats: Arc<ActorStats>,
}

impl Actor for ReviewerActor {
    type Msg = ReviewerMessage;
    /// The task ends the process when this is dropped.
    type State = mpsc::UnboundedSender<ReviewerMessage>;
    type Arguments = Start;

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, start: Start) -> Result<Self::State, ActorProcessingErr> {
        let (control, orders) = mpsc::unbounded_channel();
        let (context, pool, id) = (Arc::clone(&self.context), self.pool.clone(), start.row.id.clone());
        let Start { row, shim, log, usage, job } = start;
        let runner = Runner { context, pool: pool.clone(), row, shim, log, usage, orders };
        let work = match job {
            Job::Agent { plan, secret } => tokio::spawn(run_agent(runner, plan, secret)),
            Job::OneShot(one_shot) => tokio::spawn(one_shot::run(runner, *one_shot)),
        };
        tokio::spawn(async move {
            let ended = work.await.unwrap_or_else(|error| Ended::failed(format!("lost: {error}")));
            pool.send(PoolMessage::Ended { id, ended });
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
        // Gone already: its end is on its way.
        let _ = control.send(message);
        Ok(())
    }
}

async fn run_agent(mut runner: Runner, plan: Plan, secret: String) -> Ended {
    let process = match runner.ready(spawned(&runner.row)).await {
        Ok(process) => process,
        Err(ended) => return ended,
    };
    let log = Log { path: runner.log.clone(), secret: Some(secret), caps: Caps::default() };
    let usage = Arc::clone(&runner.usage);
    let heard = move |line: Option<&str>| {
        if let Some(line) = line {
            usage.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
        }
    };
    let Run { exit, last_words, .. } = runner.run(process, &plan, log, heard, None).await;
    Ended { cleanly: exit == Exit::Code(0), exit: exit.to_string(), last_words }
}

pub(super) fn spawned(row: &ReviewerRow) -> PoolEvent {
    PoolEvent::ReviewerSpawned {
        reviewer: row.id.clone(),
        runtime: row.runtime.clone(),
        project: row.project.clone(),
        why: row.why,
        persona: row.seat.as_ref().map(|seat| seat.persona.clone()),
    }
}
