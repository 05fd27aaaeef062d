//! The actors of the broker, and [`Broker`], the interface to them.
//!
//! ```text
//! Supervisor ── starts and restarts the others, routes messages to live reviews
//! ├─ Gateway ── turns calls into messages, hands changes to the store's one writer
//! ├─ ReviewerPool ── starts and stops reviewer processes as the queue demands
//! │  └─ ReviewerActor × n ── owns the pipe of one process; closing it kills the process
//! └─ ReviewActor × n ── one per live review: decides, commits, then replaces its state
//! ```
//!
//! A call goes Gateway → Supervisor → ReviewActor and carries its reply channel along; a change goes ReviewActor →
//! Gateway → writer. The actors that pass a call along never wait for each other.
//!
//! Git and long-polls run in tasks of their own, outside of every mailbox.

pub mod actor_tree_report;
mod broker_handle;
mod clock;
pub mod credentials;
mod error;
mod gateway;
mod input_validation;
mod lease_wakeups;
mod log_indexer;
mod mailbox;
pub mod metrics;
mod past_reviews;
mod registered_projects;
mod review;
pub mod reviewer_pool;
pub mod reviewer_process;
mod reviewer_workspaces;
mod revocations;
mod submission;
mod supervisor;

pub use broker_handle::{Broker, ListQuery, Listing, Wait, WaitResult};
pub use clock::Clock;
pub use credentials::{Caller, Credentials, ReviewerCredential};
pub use error::BrokerError;
pub use registered_projects::Projects;
pub use review::CommandOutcome;
pub use revocations::Revocations;
pub use submission::{Bases, Changes};

use domain::{
    content::{Content, ContentHash},
    ids::{ReviewId, ReviewNumber},
    review::{Review, Rules},
};
use gateway::Reviews;
use lease_wakeups::DeadlineWatermark;
use mailbox::{ActorSlot, Mailbox};
use reviewer_pool::PoolLimit;
use revocations::RevocationFeed;
use std::{sync::Arc, time::Duration};
use submission::Submissions;
use supervisor::{LiveSnapshots, SupervisorMessage};
use tokio_util::sync::CancellationToken;

/// The settings of a broker. Tests shorten the durations.
#[derive(Debug, Clone)]
pub struct Settings {
    pub rules: Rules,
    pub max_rounds: u32,
    /// Whether a proposal may choose its priority.
    pub choose_priority: bool,
    pub idle_after: Duration,
    pub max_live: usize,
    pub default_wait: Duration,
    pub max_wait: Duration,
    pub limits: domain::size_limits::Limits,
    /// Diffs with these kinds of flags are refused.
    pub refuse: Vec<domain::diff::FlagKind>,
    pub pool: reviewer_pool::PoolSettings,
    pub personas: domain::persona::Personas,
    /// The personas of a proposal that names none.
    pub panel: domain::default_panel::DefaultPanel,
}

/// What every actor and task of one broker uses. None of it can change a review.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) reader: store::Reader,
    pub(crate) credentials: Credentials,
    pub(crate) revocations: RevocationFeed,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) live_snapshots: LiveSnapshots,
    /// The limit of the pool that an operator has set for this run. It survives a restart of the pool's actor.
    pub(crate) pool_limit: PoolLimit,
    /// Cancelled when the broker begins to shut down.
    pub(crate) closing: CancellationToken,
}

/// How long git may continue after shutdown begins. The HTTP server waits longer.
const LAST_CALL: Duration = Duration::from_secs(5);

impl Shared {
    /// Does the slow half of a call. If the broker shuts down meanwhile, the caller gets an error instead of a broken
    /// connection.
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

    /// The reply channel closes without an answer only if the actor was restarted or the broker is shutting down.
    pub(crate) fn dropped_reply(&self) -> BrokerError {
        if self.closing.is_cancelled() { BrokerError::ShuttingDown } else { BrokerError::Restarted }
    }

    /// The review as stored.
    pub(crate) async fn find_review(&self, id: ReviewId) -> Result<Arc<Review>, BrokerError> {
        let stored = self.reader.find_review(id).await?;
        stored.map(Arc::new).ok_or_else(|| BrokerError::UnknownReview { given: id.to_string() })
    }

    pub(crate) async fn find_content(&self, hash: &ContentHash) -> Result<Arc<Content>, BrokerError> {
        let missing = || BrokerError::Unreadable { why: format!("content {hash} is missing") };
        self.reader.find_content(hash).await?.ok_or_else(missing)
    }
}

/// A running broker, and what is needed to stop it.
pub struct Running {
    pub broker: Broker,
    supervisor: Mailbox<SupervisorMessage>,
    supervisor_ended: tokio::task::JoinHandle<()>,
    /// Keeps the writer thread alive until the readers are closed.
    writer: store::Writer,
    writer_thread: store::WriterThread,
}

/// Why a broker could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("the actor tree did not start: {0}")]
    Actors(#[from] ractor::SpawnErr),
}

/// Starts the actors on an open database. Start-up does not read the reviews: a review's actor starts with its first
/// message.
pub async fn start(store: store::Store, projects: Projects, settings: Settings) -> Result<Running, StartError> {
    let store::Store { writer, thread, reader, feed } = store;
    let clock = Clock::start(&reader, &writer).await?;
    let credentials = Credentials::default();
    credentials.reserve(reader.list_reviewer_ids().await?);
    let ReviewNumber(last_review) = reader.last_number().await?;
    let last_finding = reader.last_finding_number().await?;
    let (metrics, closing) = (metrics::Metrics::default(), CancellationToken::new());
    let shared = Arc::new(Shared {
        settings,
        clock,
        reader,
        credentials,
        revocations: RevocationFeed::default(),
        metrics,
        live_snapshots: LiveSnapshots::default(),
        pool_limit: PoolLimit::default(),
        closing,
    });
    let reviews = Reviews { shared: Arc::clone(&shared), gateway: Arc::default() };
    let submissions = Arc::new(Submissions {
        shared: Arc::clone(&shared),
        projects,
        reviews,
        last_review: last_review.into(),
        last_finding: last_finding.into(),
        conventions: submission::ConventionsCache::default(),
    });
    let (pool, deadlines) = (Arc::<ActorSlot<_>>::default(), Arc::<DeadlineWatermark>::default());
    let (supervisor, supervisor_ended) = supervisor::start(
        Arc::clone(&submissions),
        Arc::clone(&pool),
        Arc::clone(&deadlines),
        writer.clone(),
        feed.clone(),
    )
    .await?;
    tokio::spawn(revocations::watch(Arc::clone(&shared)));
    tokio::spawn(lease_wakeups::watch(shared, deadlines, supervisor.clone()));
    let indexer = Arc::new(log_indexer::LogIndexer::new(submissions.reviews.clone(), feed.committed.clone()));
    tokio::spawn(Arc::clone(&indexer).follow());
    let broker = Broker::new(submissions, supervisor.clone(), pool, feed, indexer);
    Ok(Running { broker, supervisor, supervisor_ended, writer, writer_thread: thread })
}

impl Running {
    /// Answers every waiting call and accepts no more. Commands that were accepted are still done.
    pub fn begin_shutdown(&self) {
        self.broker.closing().cancel();
    }

    /// Resolves if the supervisor or the writer stops because of a fault.
    pub async fn failed(&mut self) {
        tokio::select! {
            _ = &mut self.supervisor_ended => {}
            () = self.broker.feed().ended() => {}
        }
    }

    /// Lets every actor finish, writes what is queued and closes the database.
    pub async fn shutdown(self) {
        self.begin_shutdown();
        self.supervisor.send(SupervisorMessage::Shutdown);
        let _ = self.supervisor_ended.await;
        let reader = self.broker.reader().clone();
        drop(self.broker);
        // The writer closes last, so that SQLite removes the WAL file.
        reader.close().await;
        drop(self.writer);
        self.writer_thread.ended().await;
    }
}
