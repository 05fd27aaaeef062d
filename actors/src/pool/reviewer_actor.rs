//! The actor of one reviewer. It holds the life line of the reviewer's process: a task beside the mailbox does the work
//! with pipes and signals, and when the actor or the task ends, the process and everything it started ends too.

use super::{
    PoolMessage,
    one_shot::{self, OneShot},
    runner::{Exit, ProcessOutcome, Runner},
    spawn::SpawnPlan,
};
use crate::{
    Context,
    actor_stats::{ActorStats, Mailbox},
    reviewer_process::{
        ProcessExit, ProcessSpec,
        output::{Caps, Log},
    },
};
use domain::pool::PoolEvent;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use store::ReviewerRow;
use tokio::sync::mpsc;

/// Messages handled by a [`ReviewerActor`].
pub(crate) enum ReviewerMessage {
    /// Sends SIGTERM to the process and everything below it, SIGKILL after the grace period.
    Stop { grace: Duration },
    /// Sends SIGKILL at once.
    Kill,
}

/// What a reviewer does.
pub(crate) enum Assignment {
    /// Claims reviews by itself; `secret` is the token in its environment.
    Agent {
        spec: ProcessSpec,
        secret: String,
    },
    OneShot(Box<OneShot>),
}

pub(crate) struct ReviewerActor {
    pub(crate) context: Arc<Context>,
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
        let (context, pool, id) = (Arc::clone(&self.context), self.pool.clone(), plan.row.id.clone());
        let runner = Runner { context, pool: pool.clone(), row: plan.row, usage: plan.usage, orders };
        let work = match plan.assignment {
            Assignment::Agent { spec, secret } => tokio::spawn(run_agent(runner, spec, secret)),
            Assignment::OneShot(one_shot) => tokio::spawn(one_shot::run(runner, *one_shot)),
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
    let log = Log { path: runner.log_file(), secret: Some(secret), caps: Caps::default() };
    let usage = Arc::clone(&runner.usage);
    let on_line = move |line: Option<&str>| {
        if let Some(line) = line {
            usage.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
        }
    };
    let ProcessOutcome { exit, last_words, .. } = runner.run(process, &spec, log, on_line, None).await;
    Exit { clean: exit == ProcessExit::Code(0), summary: exit.to_string(), last_words }
}

pub(crate) fn spawned_event(row: &ReviewerRow) -> PoolEvent {
    PoolEvent::ReviewerSpawned {
        reviewer: row.id.clone(),
        runtime: row.runtime.clone(),
        project: row.project.clone(),
        why: row.why,
        persona: row.seat.as_ref().map(|seat| seat.persona.clone()),
    }
}
