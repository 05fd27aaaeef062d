//! The actor of the reviewer pool: starts reviewer processes when reviews wait for a reviewer, and stops them when no review
//! waits.
//!
//! [`domain::reviewer_pool::scaling`] decides how many reviewers run; this actor carries the decision out. It learns from the
//! event log what its reviewers do, so the actors of reviews need not know the pool. A shim is the process above a reviewer
//! that kills it when its lifeline, a pipe, closes.
//!
//! ```text
//! event log ──► ReviewerPool ── one child per reviewer ──► ReviewerActor ══ lifeline ══► shim ──► codex, claude, …
//! ```

mod assigned_seat;
mod control;
mod dedicated;
mod exited_reviewers;
mod idle_dedicated_reviewers;
mod one_shot;
mod prompt_quoting;
mod review_events;
mod review_for_prompt;
mod reviewer_actor;
mod reviewer_registry;
mod scaler;

mod spawn_health;
mod spawn_plan;

pub use control::PoolControl;
pub(crate) use control::PoolLimit;
pub use reviewer_registry::{LiveReviewer, PoolStatus};

use crate::{
    Shared,
    error::BrokerError,
    gateway::Reviews,
    mailbox::{ActorStats, Mailbox},
    reviewer_process::{
        ProcessSpec,
        confinement::{Confined, Confinement},
    },
    reviewer_workspaces,
    submission::Submissions,
};
use domain::{
    reviewer_pool::{PoolState, scaling},
    runtime::RuntimeSettings,
    time::Tick,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use reviewer_actor::{Exit, ReviewerMessage};
use reviewer_registry::{Phase, Reviewer};
use spawn_health::SpawnHealth;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use store::{EventRecord, Feed, LogFollower, PoolPause, ProcessIdentity, ReviewerRow, SeatRow};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::task::AbortOnDropHandle;

/// Log records per message.
const PAGE_SIZE: u32 = 500;

/// Settings of the pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// If false, no reviewer is started. The pool still cleans up after an earlier run.
    pub enabled: bool,
    pub runtime: RuntimeSettings,
    /// The prompt template of agents, already checked.
    pub prompt: String,
    /// The working folder of all reviewers; `None` gives each its own folder with copies of the project.
    pub workspace: Option<PathBuf>,
    pub limits: scaling::Limits,
    /// After this many failures in a row no more reviewers are started.
    pub max_failures: u32,
    /// How long the session of a dedicated reviewer is kept after its review has ended.
    pub keep_sessions: Duration,
    /// The longest time between two decisions about the number of reviewers.
    pub check_every: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub stop_grace: Duration,
    /// Holds the reviewers' logs.
    pub logs: PathBuf,
    /// Holds the folders that reviewers may use.
    pub work_dir: PathBuf,
    pub confinement: Confinement,
    /// Projects whose reviewers may change their copy, which is a repository of its own.
    pub writable_copies: BTreeSet<String>,
    /// Where reviewers reach the broker.
    pub mcp_url: String,
    /// The program that runs between broker and reviewer, see [`crate::reviewer_process::shim`].
    pub shim: PathBuf,
}

impl PoolSettings {
    pub(crate) fn has_writable_copy(&self, project: Option<&str>) -> bool {
        // pool.workspace is a folder of the user, and no copy.
        self.workspace.is_none() && project.is_some_and(|project| self.writable_copies.contains(project))
    }

    /// Puts the process of a reviewer into a sandbox, if that is configured. `Err` is a message for the operator.
    pub(crate) fn confine(
        &self,
        spec: ProcessSpec,
        runtime: &RuntimeSettings,
        reviewer: &ReviewerRow,
    ) -> Result<ProcessSpec, String> {
        // A client in WSL is a process of another system.
        let confinement = if runtime.wsl.is_some() { &Confinement::Off } else { &self.confinement };
        let own_env = |name: &str| std::env::var(name).ok();
        // A reviewer of one seat whose copy failed works in a folder in which the broker writes too.
        let own_folder = reviewer_workspaces::reviewer_folder(&self.work_dir, &reviewer.id);
        let is_copy = reviewer.seat.is_none() || spec.cwd != own_folder;
        let reviewer = Confined {
            id: &reviewer.id,
            runtime: runtime.runtime,
            work_dir: &self.work_dir,
            changes_copy: self.has_writable_copy(reviewer.project.as_deref()) && is_copy,
        };
        let confined = confinement.apply(spec, &reviewer, own_env);
        confined.map_err(|error| format!("pool.sandbox: {error}"))
    }
}

type Reply<T> = oneshot::Sender<Result<T, BrokerError>>;

/// Messages handled by the [`ReviewerPool`].
pub(crate) enum PoolMessage {
    /// The processes and claims of an earlier run are cleaned up; `reviewers` are its reviewers. `pause`: the pool is still
    /// paused.
    CleanedUp { reviewers: Vec<String>, pause: Option<PoolPause> },
    /// Time has passed: decide again how many reviewers are needed.
    Rescale,
    /// New records of the log. `applied` asks for the next page.
    LogRecords { records: Vec<EventRecord>, applied: oneshot::Sender<()> },
    /// The process of a reviewer runs and is recorded in the database.
    Started { id: String, process: ProcessIdentity },
    /// The process of a reviewer and everything it started has exited.
    Exited { id: String, exit: Exit },
    /// An operator asks for one more reviewer, bound to `persona` if one is named.
    Spawn { project: Option<String>, persona: Option<String>, by: Option<String>, reply: Reply<LiveReviewer> },
    /// An operator stops a reviewer; `at_once` does not let it finish its review.
    Stop { id: String, at_once: bool, by: Option<String>, reply: Reply<LiveReviewer> },
    /// An operator stops every live reviewer.
    StopAll { at_once: bool, by: Option<String>, reply: Reply<Vec<LiveReviewer>> },
    /// An operator pauses or resumes the pool, or changes its size.
    Control { change: PoolControl, by: Option<String>, reply: Reply<PoolStatus> },
    /// Asks for the state of the pool and its reviewers.
    Status { reply: Reply<PoolStatus> },
    /// The broker shuts down.
    Shutdown,
}

pub(crate) struct ReviewerPool {
    pub(crate) shared: Arc<Shared>,
    pub(crate) submissions: Arc<Submissions>,
    pub(crate) feed: Feed,
    pub(crate) stats: Arc<ActorStats>,
    /// How long to wait before the pool starts; not zero after failures of the pool.
    pub(crate) start_delay: Duration,
}

#[derive(Default)]
pub(crate) struct State {
    /// All reviewers whose exit is not recorded yet, by id.
    reviewers: BTreeMap<String, Reviewer>,
    /// The sequence number up to which the log has been read.
    read_to: u64,
    health: SpawnHealth,
    /// Seats that could not be claimed, and until when no reviewer is started for them.
    avoided_seats: BTreeMap<SeatRow, Tick>,
    /// Seats whose own reviewer waits until the pool has room for it.
    queued_seats: Vec<SeatRow>,
    last_spawn: Option<Tick>,
    /// An operator has paused the pool: it starts no reviewer.
    pause: Option<PoolPause>,
    /// Ids of reviewers that have exited. A call of theirs may still be in flight.
    gone: HashSet<String>,
    cleaned_up: bool,
    /// Messages that wait until the pool has cleaned up.
    deferred: Vec<PoolMessage>,
    stopping: bool,
    last_rescale: Option<Instant>,
    rescale_timer: Option<(Instant, AbortOnDropHandle<()>)>,
}

impl State {
    fn live(&self) -> impl Iterator<Item = &Reviewer> {
        self.reviewers.values().filter(|reviewer| reviewer.is_live())
    }

    fn live_mut(&mut self, id: &str) -> Option<&mut Reviewer> {
        self.reviewers.get_mut(id).filter(|reviewer| reviewer.is_live())
    }

    fn live_names(&self) -> BTreeSet<&str> {
        self.live().map(|reviewer| reviewer.row.name.as_str()).collect()
    }

    /// Reviewers that have exited and are not recorded as such yet.
    fn pending_exits(&self) -> impl Iterator<Item = &Reviewer> {
        self.reviewers.values().filter(|reviewer| !reviewer.is_live())
    }

    fn has_pending_exits(&self) -> bool {
        self.pending_exits().next().is_some()
    }
}

impl Actor for ReviewerPool {
    type Msg = PoolMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        // If an earlier pool failed, its reviewers ended with it.
        self.shared.credentials.revoke_reviewers();
        let (reviews, mailbox, feed) = (self.reviews().clone(), self.mailbox(&myself), self.feed.clone());
        let (enabled, start_delay) = (self.settings().enabled, self.start_delay);
        let read_to = *feed.committed.borrow();
        tokio::spawn(async move {
            let Shared { closing, reader, .. } = &*reviews.shared;
            let work = async {
                tokio::time::sleep(start_delay).await;
                let reviewers = exited_reviewers::clean_up(&reviews).await;
                let pause = control::find_pause(reader).await;
                mailbox.send(PoolMessage::CleanedUp { reviewers, pause });
                // Even if the pool is disabled now, a reservation may be made for a reviewer of an earlier run.
                if enabled || reader.has_reviewers().await.unwrap_or(true) {
                    follow_log(LogFollower::new(reader.clone(), &feed, read_to, PAGE_SIZE), &mailbox).await;
                }
            };
            if closing.run_until_cancelled(work).await.is_some() {
                closing.cancelled().await;
            }
            mailbox.send(PoolMessage::Shutdown);
        });
        Ok(State { read_to, ..State::default() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        self.stats.taken();
        Box::pin(self.handle_message(&myself, message, state)).await;
        Ok(())
    }

    /// A reviewer's exit is reported by its own task. The default implementation would stop the pool.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event {
            tracing::error!(%error, "the actor of a reviewer failed; its process ends with it");
        }
        Ok(())
    }
}

impl ReviewerPool {
    fn reviews(&self) -> &Reviews {
        &self.submissions.reviews
    }

    fn settings(&self) -> &PoolSettings {
        &self.shared.settings.pool
    }

    fn mailbox(&self, myself: &ActorRef<PoolMessage>) -> Mailbox<PoolMessage> {
        Mailbox::new(myself.clone(), Arc::clone(&self.stats))
    }

    fn now(&self) -> Tick {
        self.shared.clock.now().tick
    }

    async fn handle_message(&self, myself: &ActorRef<PoolMessage>, message: PoolMessage, state: &mut State) {
        match message {
            PoolMessage::CleanedUp { reviewers, pause } => {
                state.gone.extend(reviewers);
                state.pause = pause;
                state.cleaned_up = true;
                for message in state.deferred.drain(..) {
                    self.mailbox(myself).send(message);
                }
                self.rescale(myself, state).await;
            }
            PoolMessage::Rescale => self.rescale(myself, state).await,
            PoolMessage::LogRecords { records, applied } => {
                let may_rescale = self.apply_log(state, &records).await;
                state.read_to = records.last().map_or(state.read_to, |last| last.seq);
                let _ = applied.send(());
                if self.record_exits(myself, state).await || may_rescale {
                    self.rescale_soon(myself, state).await;
                }
            }
            PoolMessage::Started { id, process } => {
                if let Some(reviewer) = state.live_mut(&id) {
                    let why = reviewer.row.why;
                    tracing::info!(reviewer.id = id, pid = process.pid, %why, "reviewer started");
                    reviewer.row.process = process;
                    if matches!(reviewer.phase, Phase::Starting) {
                        reviewer.phase = Phase::Running;
                    }
                }
            }
            PoolMessage::Exited { id, exit } => {
                self.exited(state, &id, exit);
                if self.record_exits(myself, state).await {
                    self.rescale(myself, state).await;
                }
            }
            PoolMessage::Spawn { .. } | PoolMessage::Control { .. } if !state.cleaned_up && !state.stopping => {
                state.deferred.push(message)
            }
            PoolMessage::Spawn { project, persona, by, reply } => {
                let _ = reply.send(self.spawn_for_operator(myself, state, project, persona, by).await);
            }
            PoolMessage::StopAll { at_once, by, reply } => {
                let _ = reply.send(self.stop_all_for_operator(myself, state, at_once, by).await);
            }
            PoolMessage::Control { change, by, reply } => {
                let _ = reply.send(self.control(myself, state, change, by).await);
            }
            PoolMessage::Stop { id, at_once, by, reply } => {
                let _ = reply.send(self.stop_for_operator(myself, state, &id, at_once, by).await);
            }
            PoolMessage::Status { reply } => {
                let _ = reply.send(Ok(self.status(state)));
            }
            PoolMessage::Shutdown => {
                state.stopping = true;
                for reviewer in state.live() {
                    reviewer.mailbox.send(ReviewerMessage::Kill);
                }
                if state.live().next().is_none() {
                    myself.stop(None);
                }
            }
        }
    }

    /// From memory alone, so that the answer does not wait for the database.
    fn status(&self, state: &State) -> PoolStatus {
        let now = self.now();
        let failure = state.health.state(now);
        let (pool_state, message) = match &state.pause {
            _ if !self.settings().enabled => {
                (PoolState::Disabled, Some("set pool.enabled = true to start reviewers on demand".to_owned()))
            }
            _ if !state.cleaned_up => (PoolState::Starting, None),
            Some(pause) => (PoolState::Paused, Some(control::describe_pause(pause, failure.map(|(_, why)| why)))),
            None => match failure {
                Some((failing, message)) => (failing, Some(message)),
                None => (PoolState::Ready, None),
            },
        };
        PoolStatus {
            state: pool_state,
            message,
            runtime: self.settings().runtime.runtime,
            max_size: self.max_size(),
            configured_max_size: self.settings().limits.max_size,
            pause: state.pause.clone(),
            live: state.reviewers.values().map(|reviewer| reviewer.status(now)).collect(),
            queued_seats: state.queued_seats.clone(),
            last_words: state.health.last_words.clone(),
        }
    }
}

/// Sends the log to the pool page by page. The next page is read after the pool has applied the last one, so that a busy
/// log cannot fill its mailbox.
async fn follow_log(mut log: LogFollower, pool: &Mailbox<PoolMessage>) {
    while let Some(records) = log.next_page().await {
        let (applied, done) = oneshot::channel();
        if !pool.send(PoolMessage::LogRecords { records, applied }) || done.await.is_err() {
            return;
        }
    }
}
