//! The gateway: routes commands to the supervisor and hands changes to the store's writer.
//!
//! The gateway never awaits another actor. A review awaits the gateway's commit, so waiting for a review here would
//! deadlock both. It forwards the caller's reply channel instead.

use crate::{
    actor_stats::{ActorStats, Mailbox},
    error::BrokerError,
    review::{CommandOutcome, ReviewMessage},
    supervisor::SupervisorMessage,
};
use domain::{content::Content, ids::ReviewId, review::Command};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;
use store::{Change, CommitReply, PoolChange, StoreError, WebhookChange, Writer};
use tokio::sync::oneshot;

/// Messages handled by the [`Gateway`].
pub(crate) enum GatewayMessage {
    /// Applies a command to a review. The reply is sent after the result is durable.
    Apply { id: ReviewId, command: Box<Command>, payload: CommandPayload, reply: ReplySender },
    /// Writes a change of a review; `done` is notified after COMMIT.
    Commit { change: Box<Change>, done: CommitReply },
    /// Writes a change of the pool.
    Record { change: Box<PoolChange>, done: oneshot::Sender<Result<(), StoreError>> },
    /// Writes a change of a webhook. The answer is the number of rows that changed.
    Note { change: Box<WebhookChange>, done: oneshot::Sender<Result<u64, StoreError>> },
}

/// Data that travels with a command and that the rules do not look at.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandPayload {
    /// The version that the caller expects the review to have. The review's actor refuses another one, because only it
    /// can compare and decide in one step.
    pub(crate) expected_version: Option<u64>,
    pub(crate) content: Option<Arc<Content>>,
    pub(crate) patch: Option<Arc<str>>,
}

/// Where the outcome of a command goes. A plain channel, because it shows when the caller has gone away.
pub(crate) type ReplySender = oneshot::Sender<Result<CommandOutcome, BrokerError>>;

pub(crate) struct Gateway {
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
    pub(crate) writer: Writer,
    pub(crate) stats: Arc<ActorStats>,
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
            GatewayMessage::Apply { id, command, payload, reply } => {
                // Without a request key the id is new, so there is no snapshot to load.
                let fresh = matches!(&*command, Command::Propose(new) if new.draft.request_key.is_none());
                let message = Box::new(ReviewMessage::Apply { command, payload, reply });
                self.supervisor.send(SupervisorMessage::Deliver { id, fresh, message });
            }
            GatewayMessage::Commit { change, done } => self.writer.commit(*change, done),
            GatewayMessage::Record { change, done } => self.writer.commit_pool_change(change, done),
            GatewayMessage::Note { change, done } => self.writer.commit_webhook_change(change, done),
        }
        Ok(())
    }
}
