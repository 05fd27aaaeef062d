//! The gateway: routes commands to the supervisor and hands changes to the store's writer. [`Reviews`] is its interface.
//!
//! The gateway never awaits another actor. A review awaits the gateway's commit, so waiting for a review here would
//! deadlock both. It forwards the caller's reply channel instead.

use crate::{
    Shared,
    error::BrokerError,
    mailbox::{ActorSlot, ActorStats, Mailbox},
    review::{CommandOutcome, ReviewMessage},
    supervisor::SupervisorMessage,
};
use domain::{content::Content, ids::ReviewId, review::Command, reviewer_pool::PoolEvent, time::Now};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;
use store::{
    BrowserSessionChange, Change, CommitReply, IndexBatch, PoolChange, ReviewerRow, StoreError, WebhookChange, Writer,
};
use tokio::sync::oneshot;

/// Messages handled by the [`Gateway`].
pub(crate) enum GatewayMessage {
    /// Applies a command to a review. The reply is sent after the result is durable.
    Apply { id: ReviewId, pending: PendingCommand },
    /// Writes a change of a review; `done` is notified after COMMIT.
    Commit { change: Box<Change>, done: CommitReply },
    /// Writes a change of the pool.
    CommitPool { change: Box<PoolChange>, done: oneshot::Sender<Result<(), StoreError>> },
    /// Writes a change of a webhook. The answer is the number of rows that changed.
    CommitWebhook { change: Box<WebhookChange>, done: oneshot::Sender<Result<u64, StoreError>> },
    /// Writes a change of a browser's session. The answer is the number of rows that changed.
    CommitBrowserSession { change: Box<BrowserSessionChange>, done: oneshot::Sender<Result<u64, StoreError>> },
    /// Writes the figures of all committed changes, so that statistics find them.
    WriteFigures { done: oneshot::Sender<Result<(), StoreError>> },
    /// Adds a batch to the indexes that follow the log. The answer is the number of rows that were written.
    WriteIndex { batch: Box<IndexBatch>, done: oneshot::Sender<Result<u64, StoreError>> },
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

/// A command on its way to its review.
pub(crate) struct PendingCommand {
    pub(crate) command: Box<Command>,
    pub(crate) payload: CommandPayload,
    /// A plain channel, because it shows when the caller has gone away.
    pub(crate) reply: oneshot::Sender<Result<CommandOutcome, BrokerError>>,
}

impl PendingCommand {
    pub(crate) fn refuse(self, error: BrokerError) {
        let _ = self.reply.send(Err(error));
    }
}

/// Sends commands to reviews and changes to the writer, and waits for the result.
#[derive(Clone)]
pub(crate) struct Reviews {
    pub(crate) shared: Arc<Shared>,
    pub(crate) gateway: Arc<ActorSlot<GatewayMessage>>,
}

impl Reviews {
    /// Applies a command without a payload.
    pub(crate) async fn decide(&self, id: ReviewId, command: Command) -> Result<CommandOutcome, BrokerError> {
        self.apply(id, command, CommandPayload::default()).await
    }

    pub(crate) async fn apply(
        &self,
        id: ReviewId,
        command: Command,
        payload: CommandPayload,
    ) -> Result<CommandOutcome, BrokerError> {
        let (reply, outcome) = oneshot::channel();
        let pending = PendingCommand { command: Box::new(command), payload, reply };
        self.gateway.send(GatewayMessage::Apply { id, pending });
        outcome.await.unwrap_or_else(|_| Err(self.shared.dropped_reply()))
    }

    pub(crate) async fn commit(&self, change: Change) -> Result<(), StoreError> {
        let (done, saved) = oneshot::channel();
        self.gateway.send(GatewayMessage::Commit { change: Box::new(change), done });
        saved.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Writes a row or an event of the pool. It is queued when this returns, so the order of calls is the order in the
    /// log; the future resolves once it is committed.
    pub(crate) fn record(
        &self,
        now: Now,
        reviewer: Option<ReviewerRow>,
        event: Option<PoolEvent>,
    ) -> impl Future<Output = Result<(), StoreError>> + use<> {
        let (done, saved) = oneshot::channel();
        let change = Box::new(PoolChange { at: now.at, tick: now.tick, reviewer, event });
        self.gateway.send(GatewayMessage::CommitPool { change, done });
        async { saved.await.unwrap_or(Err(StoreError::Stopped)) }
    }

    /// Writes a change of a webhook and returns the number of rows that changed.
    pub(crate) async fn update_webhook(&self, change: WebhookChange) -> Result<u64, BrokerError> {
        let (done, saved) = oneshot::channel();
        self.gateway.send(GatewayMessage::CommitWebhook { change: Box::new(change), done });
        self.changed_rows(saved).await
    }

    /// Writes a change of a browser's session and returns the number of rows that changed.
    pub(crate) async fn update_browser_session(&self, change: BrowserSessionChange) -> Result<u64, BrokerError> {
        let (done, saved) = oneshot::channel();
        self.gateway.send(GatewayMessage::CommitBrowserSession { change: Box::new(change), done });
        self.changed_rows(saved).await
    }

    pub(crate) async fn write_figures(&self) -> Result<(), StoreError> {
        let (done, written) = oneshot::channel();
        self.gateway.send(GatewayMessage::WriteFigures { done });
        written.await.map_err(|_| StoreError::Stopped)?
    }

    pub(crate) async fn write_index(&self, batch: IndexBatch) -> Result<u64, StoreError> {
        let (done, written) = oneshot::channel();
        self.gateway.send(GatewayMessage::WriteIndex { batch: Box::new(batch), done });
        written.await.map_err(|_| StoreError::Stopped)?
    }

    async fn changed_rows(&self, saved: oneshot::Receiver<Result<u64, StoreError>>) -> Result<u64, BrokerError> {
        let saved = saved.await.map_err(|_| self.shared.dropped_reply())?;
        saved.map_err(|error| BrokerError::NotSaved { why: error.to_string() })
    }
}

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
            GatewayMessage::Apply { id, pending } => {
                // Without a request key the id is new, so there is no snapshot to load.
                let fresh =
                    matches!(&*pending.command, Command::Propose(new) if new.proposed.round.request_key.is_none());
                let message = Box::new(ReviewMessage::Apply(pending));
                self.supervisor.send(SupervisorMessage::Deliver { id, fresh, message });
            }
            GatewayMessage::Commit { change, done } => self.writer.commit(*change, done),
            GatewayMessage::CommitPool { change, done } => self.writer.commit_pool_change(change, done),
            GatewayMessage::CommitWebhook { change, done } => self.writer.commit_webhook_change(change, done),
            GatewayMessage::CommitBrowserSession { change, done } => self.writer.commit_session_change(change, done),
            GatewayMessage::WriteFigures { done } => self.writer.write_figures(done),
            GatewayMessage::WriteIndex { batch, done } => self.writer.write_index(batch, done),
        }
        Ok(())
    }
}
