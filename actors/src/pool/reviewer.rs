//! One reviewer process: an actor that holds its life line. The work with pipes and signals is done by a task
//! beside the mailbox; when either ends, so does the process with all it has started.

use super::{
    PoolMessage,
    output::{Caps, Log, Output},
    process::{Exit, Plan, Process, ProcessIdentity},
    sweep::sweep,
};
use crate::{Context, gateway::GatewayMessage, vitals::Mailbox, vitals::Vitals};
use domain::pool::PoolEvent;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError},
    time::Duration,
};
use store::{PoolChange, ProcessRow, ReviewerRow};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// What a shim is given to take its plan.
const BEGIN: Duration = Duration::from_secs(5);

/// What a [`ReviewerActor`] can be told.
pub(crate) enum ReviewerMessage {
    /// SIGTERM to the process and all it has started, SIGKILL after the grace.
    Stop { grace: Duration },
    /// SIGKILL at once.
    Kill,
}

/// How a process came to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `exit code 1`, `killed by SIGKILL`
    pub(crate) exit: String,
    pub(crate) cleanly: bool,
    pub(crate) last_words: Vec<String>,
}

impl Ended {
    fn failed(words: String) -> Self {
        Self { exit: words.clone(), cleanly: false, last_words: vec![words] }
    }
}

/// Everything a process needs to be started.
pub(crate) struct Start {
    /// Its `process` is filled in here.
    pub(super) row: ReviewerRow,
    pub(super) plan: Plan,
    pub(super) secret: String,
    pub(super) shim: PathBuf,
    pub(super) log: PathBuf,
    pub(super) usage: super::member::SharedUsage,
}

pub(crate) struct ReviewerActor {
    pub(super) context: Arc<Context>,
    pub(super) pool: Mailbox<PoolMessage>,
    pub(super) vitals: Arc<Vitals>,
}

impl Actor for ReviewerActor {
    type Msg = ReviewerMessage;
    /// The task ends the process when this is dropped.
    type State = mpsc::UnboundedSender<ReviewerMessage>;
    type Arguments = Start;

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, start: Start) -> Result<Self::State, ActorProcessingErr> {
        let (control, orders) = mpsc::unbounded_channel();
        let (context, pool, id) = (Arc::clone(&self.context), self.pool.clone(), start.row.id.clone());
        let work = tokio::spawn(run(context, pool.clone(), start, orders));
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
        self.vitals.taken();
        // Gone already: its end is on its way.
        let _ = control.send(message);
        Ok(())
    }
}

async fn run(
    context: Arc<Context>,
    pool: Mailbox<PoolMessage>,
    start: Start,
    mut orders: mpsc::UnboundedReceiver<ReviewerMessage>,
) -> Ended {
    let Start { mut row, plan, secret, shim, log, usage } = start;
    let mut process = match Process::start(&shim) {
        Ok(process) => process,
        Err(error) => return Ended::failed(format!("could not be started: {error}")),
    };
    let identity = process.identity().clone();
    let ProcessIdentity { pid, start_time, boot_id } = identity.clone();
    row.process = ProcessRow { pid, started: start_time, boot_id };
    // Nothing runs that the next broker would not know of.
    if let Err(error) = note_start(&context, &row).await {
        process.kill();
        process.ended().await;
        return Ended::failed(format!("could not be started, since it could not be noted: {error}"));
    }
    let id = row.id.clone();
    pool.send(PoolMessage::Started { row: Box::new(row) });
    let log = Log { path: log, secret: Some(secret), caps: Caps::default() };
    let heard = move |line: &str| usage.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
    let output = process.take_output().map(|(stdout, stderr)| Output::drain(stdout, stderr, log, heard));
    let begun = match timeout(BEGIN, process.begin(&plan)).await {
        Ok(begun) => begun.map_err(|error| error.to_string()),
        Err(_) => Err("its shim does not listen".to_owned()),
    };
    if begun.is_err() {
        process.kill();
    }
    let exit = follow(&mut process, &mut orders).await;
    if let Exit::Lost(_) = exit {
        sweep(vec![(id, identity)]).await;
    }
    let mut last_words = match output {
        Some(output) => output.finish().await,
        None => Vec::new(),
    };
    if let Err(error) = begun {
        last_words.push(format!("could not be told what to do: {error}"));
    }
    Ended { cleanly: exit == Exit::Code(0), exit: exit.to_string(), last_words }
}

/// Waits for the end and carries out orders. Without anybody to give orders there is nobody to work for.
async fn follow(process: &mut Process, orders: &mut mpsc::UnboundedReceiver<ReviewerMessage>) -> Exit {
    loop {
        tokio::select! {
            exit = process.ended() => return exit,
            order = orders.recv() => match order {
                Some(ReviewerMessage::Stop { grace }) => process.stop(grace).await,
                Some(ReviewerMessage::Kill) => process.kill(),
                None => {
                    process.kill();
                    return process.ended().await;
                }
            },
        }
    }
}

async fn note_start(context: &Context, row: &ReviewerRow) -> Result<(), store::StoreError> {
    let now = context.clock.now();
    let event = PoolEvent::ReviewerSpawned {
        reviewer: row.id.clone(),
        runtime: row.runtime.clone(),
        project: row.project.clone(),
        why: row.why,
    };
    let change = PoolChange { at: now.at, tick: now.tick, reviewer: Some(row.clone()), event: Some(event) };
    note(context, change).await
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
