//! Who owns what.
//!
//! ```text
//! Supervisor ── starts and restarts everything below, knows every live review
//! ├─ Gateway ── turns calls into messages, mints ids, hands changes to the store's one writer
//! ├─ ReviewerPool ── starts and ends reviewer processes as the queue asks for them
//! │  └─ ReviewerActor × n ── holds the life line of one process
//! └─ ReviewActor × n ── one per live review: decides, commits, then changes
//! ```
//!
//! A call goes Gateway → Supervisor → ReviewActor and carries its reply port along; a change goes
//! ReviewActor → Gateway → writer. Nobody in the first chain ever awaits anybody in it.
//!
//! Git and long-polls run in tasks of their own, outside of every mailbox.

mod actor_slot;
mod actor_stats;
mod broker;
mod clock;
pub mod credentials;
mod error;
mod gateway;
pub mod introspection;
mod lease_wakeups;
mod limits;
pub mod metrics;
mod number_allocator;
pub mod pool;
mod projects;
mod queue_cache;
pub mod requests;
mod review;
pub mod reviewer_process;
mod secret_scan;
mod submission;
mod supervisor;
mod workspace;

pub use broker::{Bases, Broker, Changes};
pub use clock::Clock;
pub use credentials::{Caller, Credentials, ReviewerCredential};
pub use error::BrokerError;
pub use limits::Limits;
pub use projects::{ProjectSource, Projects, ProjectsError};
pub use review::CommandOutcome;

use domain::{
    ids::ReviewId,
    review::{Command, Rules},
};
use gateway::{CommandPayload, GatewayMessage};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Everything a broker is told at its start, so that tests can shorten what is long.
#[derive(Debug, Clone)]
pub struct Settings {
    pub rules: Rules,
    pub max_rounds: u32,
    pub idle_after: Duration,
    pub max_live: usize,
    pub default_wait: Duration,
    pub max_wait: Duration,
    pub limits: Limits,
    /// Kinds of flags for which a diff is refused.
    pub refuse: Vec<domain::diff::FlagKind>,
    pub pool: pool::PoolSettings,
    pub personas: domain::persona::Personas,
    /// Who is to sign where the proposer names nobody.
    pub panel: domain::default_panel::DefaultPanel,
}

/// What every actor of one broker shares.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) settings: Arc<Settings>,
    pub(crate) clock: Clock,
    pub(crate) reader: store::Reader,
    pub(crate) projects: Projects,
    pub(crate) gateway: actor_slot::ActorSlot<gateway::GatewayMessage>,
    pub(crate) pool: actor_slot::ActorSlot<pool::PoolMessage>,
    pub(crate) sleepers: Arc<lease_wakeups::DeadlineWatermark>,
    pub(crate) credentials: Credentials,
    pub(crate) numbers: Arc<number_allocator::NumberAllocator>,
    pub(crate) metrics: metrics::Metrics,
    /// Fires when the broker begins to shut down.
    pub(crate) closing: CancellationToken,
}

/// What git is given at the end to answer those who wait for it; the doors wait somewhat longer.
const LAST_CALL: Duration = Duration::from_secs(5);

impl Context {
    /// Does the slow half of a call. At the end of the broker its caller gets an answer rather than a
    /// broken connection, also where git does not come to one.
    pub(crate) async fn until_shutdown<T>(
        &self,
        work: impl Future<Output = Result<T, BrokerError>>,
    ) -> Result<T, BrokerError> {
        let last_call = async {
            self.closing.cancelled().await;
            tokio::time::sleep(LAST_CALL).await;
        };
        tokio::select! {
            done = work => done,
            () = last_call => Err(BrokerError::ShuttingDown),
        }
    }

    /// Applies a command without a payload.
    pub(crate) async fn decide(&self, id: ReviewId, command: Command) -> Result<CommandOutcome, BrokerError> {
        self.apply(id, command, CommandPayload::default()).await
    }

    /// Sends a command to its review and waits for the outcome.
    pub(crate) async fn apply(
        &self,
        id: ReviewId,
        command: Command,
        payload: CommandPayload,
    ) -> Result<CommandOutcome, BrokerError> {
        let (reply, outcome) = oneshot::channel();
        self.gateway.send(GatewayMessage::Apply { id, command: Box::new(command), payload, reply });
        outcome.await.unwrap_or_else(|_| Err(self.dropped_reply()))
    }

    /// The reply channel closes without an answer only if the actor was restarted or the broker is shutting down.
    pub(crate) fn dropped_reply(&self) -> BrokerError {
        if self.closing.is_cancelled() { BrokerError::ShuttingDown } else { BrokerError::Restarted }
    }
}

/// A running broker and what it takes to end it.
pub struct Running {
    pub broker: Broker,
    supervisor: actor_stats::Mailbox<supervisor::SupervisorMessage>,
    supervisor_ended: tokio::task::JoinHandle<()>,
    reader: store::Reader,
    /// Keeps the writing thread until the readers have closed.
    writer: store::Writer,
    writer_thread: store::WriterThread,
    closing: CancellationToken,
}

/// Why a broker could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("the actor tree did not start: {0}")]
    Actors(#[from] ractor::SpawnErr),
}

/// Starts the tree on an open database. Nothing is read but what start-up needs, however much is
/// stored: a review's actor comes with the first touch.
pub async fn start(store: store::Store, projects: Projects, settings: Settings) -> Result<Running, StartError> {
    let store::Store { writer, thread, reader, feed } = store;
    let clock = Clock::start(&reader, &writer).await?;
    let numbers =
        number_allocator::NumberAllocator::after(reader.last_number().await?, reader.last_finding_number().await?);
    let closing = CancellationToken::new();
    let context = Context {
        settings: Arc::new(settings),
        clock,
        reader: reader.clone(),
        projects,
        gateway: actor_slot::ActorSlot::default(),
        pool: actor_slot::ActorSlot::default(),
        sleepers: Arc::default(),
        credentials: Credentials::default(),
        numbers: Arc::new(numbers),
        metrics: metrics::Metrics::default(),
        closing: closing.clone(),
    };
    context.credentials.reserve(reader.list_reviewer_ids().await?);
    let (supervisor, supervisor_ended) = supervisor::start(context.clone(), writer.clone(), feed.clone()).await?;
    tokio::spawn(lease_wakeups::watch(context.clone(), supervisor.clone()));
    let broker = Broker::new(context, supervisor.clone(), feed);
    Ok(Running { broker, supervisor, supervisor_ended, reader, writer, writer_thread: thread, closing })
}

impl Running {
    /// Answers every waiting call and takes no more; what was asked before is still done.
    pub fn begin_shutdown(&self) {
        self.closing.cancel();
    }

    /// Resolves if the tree or the writer dies by itself, which only a fault can cause.
    pub async fn failed(&mut self) {
        tokio::select! {
            _ = &mut self.supervisor_ended => {}
            () = self.broker.writer_ended() => {}
        }
    }

    /// Lets every actor finish what it holds, writes what waits, closes the database.
    pub async fn shutdown(self) {
        self.begin_shutdown();
        self.supervisor.send(supervisor::SupervisorMessage::Shutdown);
        let _ = self.supervisor_ended.await;
        drop(self.broker);
        // The last connection to close is the writer's, which then leaves one whole file behind.
        self.reader.close().await;
        drop(self.writer);
        self.writer_thread.ended().await;
    }
}
