//! Turns calls into messages, mints ids and numbers, and hands changes to the store's one writer.
//!
//! The gateway never awaits another actor: a review awaits the gateway's commit, so waiting for a
//! review here would deadlock both. It forwards the caller's reply port instead.

use crate::{
    actor_stats::{ActorStats, Mailbox},
    error::BrokerError,
    review::{CommandOutcome, ReviewMessage},
    supervisor::SupervisorMessage,
};
use domain::{
    content::Content,
    ids::{ReviewId, ReviewNumber},
    review::{Command, Proposal},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};
use store::{Change, CommitReply, PoolChange, StoreError, WebhookChange, Writer};
use tokio::sync::oneshot;
use uuid::Uuid;

/// What the [`Gateway`] can be told.
pub(crate) enum GatewayMessage {
    /// Make a new review of this, or find the one its key made before. Id and number are filled in
    /// here.
    Propose { proposal: Box<Proposal>, content: Arc<Content>, reply: Reply },
    /// Have the review's actor decide this; the reply comes after the result is durable.
    Apply { id: ReviewId, command: Box<Command>, attached: CommandPayload, reply: Reply },
    /// Write this; `done` hears once it is durable.
    Commit { change: Box<Change>, done: CommitReply },
    /// The same for a step of the pool.
    Record { change: Box<PoolChange>, done: oneshot::Sender<Result<(), StoreError>> },
    /// The same for a step of a webhook; the answer is how many rows it touched.
    Note { change: Box<WebhookChange>, done: oneshot::Sender<Result<u64, StoreError>> },
}

/// What goes with a command but is not for the rules to see.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandPayload {
    /// The version that the caller takes the review to have. Another one is refused by the review's actor, which
    /// alone can tell without a gap before the decision.
    pub(crate) expected: Option<u64>,
    pub(crate) content: Option<Arc<Content>>,
    pub(crate) patch: Option<Arc<str>>,
}

/// Where the answer goes. A plain channel, because work that nobody awaits any more is to end.
pub(crate) type Reply = oneshot::Sender<Result<CommandOutcome, BrokerError>>;

pub(crate) struct Gateway {
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
    pub(crate) writer: Writer,
    pub(crate) stats: Arc<ActorStats>,
    /// Shared with the gateway that may follow this one.
    pub(crate) minted: Arc<NumberAllocator>,
}

/// The numbers that were given out last. One that came to nothing is not given again.
pub(crate) struct NumberAllocator {
    reviews: AtomicI64,
    findings: AtomicI64,
}

impl NumberAllocator {
    pub(crate) fn after(ReviewNumber(review): ReviewNumber, finding: i64) -> Self {
        Self { reviews: AtomicI64::new(review), findings: AtomicI64::new(finding) }
    }

    fn review(&self) -> ReviewNumber {
        ReviewNumber(self.reviews.fetch_add(1, Relaxed) + 1)
    }

    /// The first of so many.
    fn findings(&self, count: usize) -> i64 {
        self.findings.fetch_add(count as i64, Relaxed) + 1
    }
}

impl Actor for Gateway {
    type Msg = GatewayMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        message: Self::Msg,
        (): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        self.stats.taken();
        match message {
            GatewayMessage::Propose { mut proposal, content, reply } => {
                let fresh = proposal.request_key.is_none();
                proposal.id = mint_id(&proposal);
                proposal.number = self.minted.review();
                let id = proposal.id;
                self.deliver(id, fresh, ReviewMessage::Propose { proposal, content, reply });
            }
            GatewayMessage::Apply { id, mut command, attached, reply } => {
                if let Command::GiveVerdict(verdict) = &mut *command
                    && !verdict.findings.list.is_empty()
                {
                    verdict.findings.first = self.minted.findings(verdict.findings.list.len());
                }
                self.deliver(id, false, ReviewMessage::Apply { command, attached, reply });
            }
            GatewayMessage::Commit { change, done } => self.writer.commit(*change, done),
            GatewayMessage::Record { change, done } => self.writer.commit_pool_change(change, done),
            GatewayMessage::Note { change, done } => self.writer.commit_webhook_change(change, done),
        }
        Ok(())
    }
}

impl Gateway {
    fn deliver(&self, id: ReviewId, fresh: bool, message: ReviewMessage) {
        self.supervisor.send(SupervisorMessage::Deliver { id, fresh, message: Box::new(message) });
    }
}

/// A proposal with a key gets the id that key always gives, so a repeat meets the actor of the first
/// and no table of keys is needed.
fn mint_id(proposal: &Proposal) -> ReviewId {
    match &proposal.request_key {
        None => ReviewId(Uuid::new_v4()),
        Some(key) => id_for_key(proposal.proposer.project.as_deref(), key),
    }
}

/// The id of the review that this key makes, or has made, in a project.
pub(crate) fn id_for_key(project: Option<&str>, key: &str) -> ReviewId {
    const KEYS: Uuid = Uuid::from_u128(0x5e0f_91b3_7f6e_4c58_9a1d_3c92_60c1_77aa);
    let project = project.unwrap_or_default();
    ReviewId(Uuid::new_v5(&KEYS, format!("{project}\0{key}").as_bytes()))
}
