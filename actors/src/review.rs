//! The actor of one review: decides commands, commits the result, then replaces its state.
//!
//! Its state is always one that the database has. Readers and waiting calls see it through a watch channel, so they do
//! not go through the mailbox.

mod git_checks;

use crate::{
    Shared,
    error::BrokerError,
    gateway::{CommandPayload, ReplySender},
    mailbox::{ActorStats, Mailbox},
    submission::Submissions,
    supervisor::SupervisorMessage,
};
use domain::{
    ids::ReviewId,
    review::{CheckNeeded, Command, Refusal, Reply, Review, Transition, check_needed, transition},
    time::Tick,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};
use store::Change;
use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

/// Messages handled by a [`ReviewActor`].
pub(crate) enum ReviewMessage {
    /// Applies a command. The reply is sent after the result is durable.
    Apply { command: Box<Command>, payload: CommandPayload, reply: ReplySender },
    /// Git has finished its work for a command, which is complete now.
    Checked { command: Box<Command>, payload: CommandPayload, outcome: Result<(), BrokerError>, reply: ReplySender },
    /// A lease or reservation may have ended. Also sent to wake the actor up.
    Expire,
    /// The actor stops. The supervisor no longer routes messages to it.
    Rest,
}

impl ReviewMessage {
    /// Whether a caller sent it, so that it counts against `limits.calls_per_review`.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Apply { .. })
    }

    /// Answers the caller, if there is one, with an error.
    pub(crate) fn refuse(self, error: BrokerError) {
        match self {
            Self::Apply { reply, .. } | Self::Checked { reply, .. } => {
                let _ = reply.send(Err(error));
            }
            Self::Expire | Self::Rest => {}
        }
    }
}

/// A review after a command.
#[derive(Debug, Clone)]
pub struct CommandOutcome {
    pub review: Arc<Review>,
    /// `false` if the command repeated an earlier one.
    pub changed: bool,
    pub reply: Reply,
}

/// What a review's actor shows to readers.
#[derive(Debug, Clone)]
pub(crate) enum Snapshot {
    /// The actor is reading the review from the database.
    Loading,
    Missing,
    Unreadable(Arc<str>),
    Ready(Arc<Review>),
}

pub(crate) type SnapshotSender = Arc<watch::Sender<Snapshot>>;

/// The actor of one review. Everything that changes is in [`State`].
pub(crate) struct ReviewActor {
    pub(crate) id: ReviewId,
    /// The review is not in the database yet, so there is nothing to read.
    pub(crate) fresh: bool,
    /// The least time before a timer fires; longer after failures.
    pub(crate) restart_delay: Duration,
    pub(crate) shared: Arc<Shared>,
    pub(crate) submissions: Arc<Submissions>,
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
    pub(crate) snapshot: SnapshotSender,
    pub(crate) stats: Arc<ActorStats>,
}

#[derive(Default)]
pub(crate) struct State {
    review: Option<Arc<Review>>,
    /// Set if the snapshot could not be read. Every message is then refused.
    unreadable: Option<Arc<str>>,
    /// The reviewer whose claim waits for git, and the task that runs git.
    claiming: Option<(String, AbortHandle)>,
    timer: Option<(Tick, AbortHandle)>,
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some((_, timer)) = self.timer.take() {
            timer.abort();
        }
    }
}

impl Actor for ReviewActor {
    type Msg = ReviewMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        Ok(State::default())
    }

    /// Reads the snapshot. Not in `pre_start`, which the supervisor waits for.
    async fn post_start(&self, myself: ActorRef<Self::Msg>, state: &mut State) -> Result<(), ActorProcessingErr> {
        if self.fresh {
            self.snapshot.send_replace(Snapshot::Missing);
            return Ok(());
        }
        match self.shared.reader.find_review(self.id).await {
            Ok(Some(review)) => {
                state.review = Some(Arc::new(review));
                self.publish(&myself, state);
            }
            Ok(None) => {
                self.snapshot.send_replace(Snapshot::Missing);
            }
            Err(error) => {
                tracing::error!(review.id = %self.id, %error, "cannot read the review");
                let why: Arc<str> = error.to_string().into();
                self.snapshot.send_replace(Snapshot::Unreadable(Arc::clone(&why)));
                state.unreadable = Some(why);
            }
        }
        Ok(())
    }

    /// Boxed: ractor keeps room for this future in every actor, several times over, even while it is idle.
    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: ReviewMessage,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        Box::pin(self.act(myself, message, state)).await
    }
}

impl ReviewActor {
    async fn act(
        &self,
        myself: ActorRef<ReviewMessage>,
        message: ReviewMessage,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let _working = self.stats.work();
        self.stats.taken();
        if let Some(why) = state.unreadable.clone() {
            message.refuse(BrokerError::Unreadable { why: why.to_string() });
            return Err(why.to_string().into());
        }
        match message {
            ReviewMessage::Apply { command, payload, reply } => {
                self.apply(&myself, state, command, payload, reply).await
            }
            ReviewMessage::Checked { command, payload, outcome, reply } => {
                if matches!(*command, Command::Claim(_)) {
                    state.claiming = None;
                }
                match outcome {
                    // The caller is gone. Its claim would only block the seat.
                    Ok(()) if reply.is_closed() => Ok(()),
                    Ok(()) => self.decide(&myself, state, *command, payload, reply).await,
                    Err(error) => {
                        let _ = reply.send(Err(error));
                        Ok(())
                    }
                }
            }
            ReviewMessage::Expire => self.expire(&myself, state).await,
            ReviewMessage::Rest => {
                myself.stop(None);
                Ok(())
            }
        }
    }

    fn mailbox(&self, myself: &ActorRef<ReviewMessage>) -> Mailbox<ReviewMessage> {
        Mailbox::new(myself.clone(), Arc::clone(&self.stats))
    }

    /// Decides the command at once, or after git has done what it needs.
    async fn apply(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        command: Box<Command>,
        payload: CommandPayload,
        reply: ReplySender,
    ) -> Result<(), ActorProcessingErr> {
        let needed = match &state.review {
            None if matches!(*command, Command::Propose(_)) => Ok(None),
            None => {
                self.supervisor.send(SupervisorMessage::Idle { id: self.id, actor: myself.get_id() });
                Err(BrokerError::UnknownReview { given: self.id.to_string() })
            }
            Some(review) => self.check_needed(state, review, &command, &payload),
        };
        match (needed, state.review.clone()) {
            (Err(error), _) => {
                let _ = reply.send(Err(error));
                Ok(())
            }
            (Ok(Some(needed)), Some(review)) => {
                let claimant = if let Command::Claim(claim) = &*command { Some(claim.by.clone()) } else { None };
                let submissions = Arc::clone(&self.submissions);
                let (supervisor, working) = (self.supervisor.clone(), self.stats.work());
                let checking = async move {
                    git_checks::run(submissions, review, needed, command, payload, reply, supervisor).await;
                    drop(working);
                };
                let task = tokio::spawn(checking).abort_handle();
                if let Some(by) = claimant {
                    state.claiming = Some((by, task));
                }
                Ok(())
            }
            (Ok(_), _) => self.decide(myself, state, *command, payload, reply).await,
        }
    }

    fn check_needed(
        &self,
        state: &State,
        review: &Review,
        command: &Command,
        payload: &CommandPayload,
    ) -> Result<Option<CheckNeeded>, BrokerError> {
        if let (Command::Claim(_), Some((by, task))) = (command, &state.claiming)
            && !task.is_finished()
        {
            return Err(Refusal::BeingClaimed { number: review.number, by: by.clone() }.into());
        }
        check_version(review, payload)?;
        Ok(check_needed(review, command, self.shared.clock.now())?)
    }

    async fn decide(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        command: Command,
        payload: CommandPayload,
        reply: ReplySender,
    ) -> Result<(), ActorProcessingErr> {
        match self.transition(state.review.as_deref(), command, &payload) {
            Err(error) => {
                let _ = reply.send(Err(error));
                Ok(())
            }
            Ok(done) => self.commit(myself, state, done, payload, reply).await,
        }
    }

    fn transition(
        &self,
        review: Option<&Review>,
        command: Command,
        payload: &CommandPayload,
    ) -> Result<Transition, BrokerError> {
        if let Some(review) = review {
            check_version(review, payload)?;
        }
        let is_unnamed = command.is_unnamed_reviewer();
        let field = if matches!(command, Command::AddMessage(_)) { "caller_id" } else { "reviewer_id" };
        let done = transition(review, command, self.shared.clock.now(), &self.shared.settings.rules)?;
        // A call without a name acts for the reviewer that holds the seat. For a reviewer of the pool only its own
        // credential may do so, and that carries a name.
        let holder = review.filter(|_| is_unnamed).and_then(|review| done.reply.seat(review)?.claim.as_ref());
        match holder {
            Some(claim) if self.shared.credentials.is_reserved(&claim.by) => {
                Err(BrokerError::OfThePool { field, name: claim.by.clone() })
            }
            Some(_) | None => Ok(done),
        }
    }

    async fn expire(&self, myself: &ActorRef<ReviewMessage>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let Some(review) = &state.review else { return Ok(()) };
        match self.transition(Some(review), Command::Expire, &CommandPayload::default()) {
            Ok(done) if !done.events.is_empty() => {
                tracing::info!(review.id = %self.id, review.number = %review.number, "lease or reservation expired");
                let (ignored, _) = oneshot::channel();
                self.commit(myself, state, done, CommandPayload::default(), ignored).await
            }
            _ => {
                self.set_timer(myself, state);
                Ok(())
            }
        }
    }

    /// Makes a transition durable, then replaces the state. After a failed write the actor no longer knows what the
    /// database holds: it reports the error and stops, and the supervisor starts another one from the snapshot.
    async fn commit(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        done: Transition,
        payload: CommandPayload,
        reply: ReplySender,
    ) -> Result<(), ActorProcessingErr> {
        let changed = !done.events.is_empty();
        let review = Arc::new(done.next);
        if changed {
            let tick = self.shared.clock.now().tick;
            let change = Change::new(Arc::clone(&review), done.events, tick)?
                .with_content(payload.content.clone())
                .with_patch(payload.patch);
            if let Err(error) = self.submissions.reviews.commit(change).await {
                self.stats.failed(&error.to_string());
                let _ = reply.send(Err(BrokerError::NotSaved { why: error.to_string() }));
                return Err(format!("not saved: {error}").into());
            }
            if let Some(content) = &payload.content {
                self.shared.reader.cache_content(&review.round.content_hash, content);
            }
            state.review = Some(Arc::clone(&review));
            self.publish(myself, state);
        }
        let _ = reply.send(Ok(CommandOutcome { review, changed, reply: done.reply }));
        Ok(())
    }

    /// Shows the new state to readers and sets the timer for its next deadline.
    fn publish(&self, myself: &ActorRef<ReviewMessage>, state: &mut State) {
        let Some(review) = state.review.clone() else { return };
        let is_final = review.is_final();
        self.snapshot.send_replace(Snapshot::Ready(review));
        self.set_timer(myself, state);
        if is_final {
            self.supervisor.send(SupervisorMessage::Idle { id: self.id, actor: myself.get_id() });
        }
    }

    fn set_timer(&self, myself: &ActorRef<ReviewMessage>, state: &mut State) {
        let deadline = state.review.as_ref().and_then(|review| review.next_deadline());
        if state.timer.as_ref().is_some_and(|(tick, timer)| Some(*tick) == deadline && !timer.is_finished()) {
            return;
        }
        if let Some((_, timer)) = state.timer.take() {
            timer.abort();
        }
        let Some(tick) = deadline else { return };
        let (mailbox, at) = (self.mailbox(myself), self.shared.clock.instant_of(tick));
        let at = at.max(tokio::time::Instant::now() + self.restart_delay);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            mailbox.send(ReviewMessage::Expire);
        });
        state.timer = Some((tick, timer.abort_handle()));
    }
}

/// Compares with the state that the command is decided on, also after git has worked.
fn check_version(review: &Review, payload: &CommandPayload) -> Result<(), BrokerError> {
    match payload.expected_version {
        Some(given) if given != review.version => {
            Err(BrokerError::VersionMismatch { number: review.number, given, current: review.version })
        }
        Some(_) | None => Ok(()),
    }
}
