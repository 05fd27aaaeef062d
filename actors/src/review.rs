//! The actor of one review: decides its commands, commits the result, then updates its state.
//!
//! The state in memory is never ahead of the database. Readers and waiting calls see it through a watch channel, so
//! they do not use the mailbox.

use crate::{
    Shared,
    error::BrokerError,
    gateway::{CommandPayload, PendingCommand},
    mailbox::{ActorStats, Mailbox},
    submission::Submissions,
    supervisor::SupervisorMessage,
};
use domain::{
    ids::ReviewId,
    review::{CheckNeeded, Command, Reply, Review, Transition, check_needed, transition},
    time::Tick,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};
use store::Change;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Messages handled by a [`ReviewActor`].
pub(crate) enum ReviewMessage {
    /// Applies a command. The reply is sent after the result is durable.
    Apply(PendingCommand),
    /// The check that a command waited for has ended, and the command is complete now.
    Checked(PendingCommand, Result<(), BrokerError>),
    /// A lease or reservation may have ended. Also sent to wake the actor up.
    Expire,
    /// The actor stops. The supervisor no longer routes messages to it.
    Rest,
}

impl ReviewMessage {
    /// Whether a caller sent it, so that it counts against `limits.calls_per_review`.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Apply(_))
    }

    /// Answers the caller, if there is one, with an error.
    pub(crate) fn refuse(self, error: BrokerError) {
        match self {
            Self::Apply(pending) | Self::Checked(pending, ..) => pending.refuse(error),
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

pub(crate) struct State {
    mailbox: Mailbox<ReviewMessage>,
    review: Option<Arc<Review>>,
    timer: Option<(Tick, AbortOnDropHandle<()>)>,
}

/// An error means that the state can no longer be trusted, so the actor stops.
type Handled = Result<(), ActorProcessingErr>;

impl Actor for ReviewActor {
    type Msg = ReviewMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        let mailbox = Mailbox::new(myself, Arc::clone(&self.stats));
        Ok(State { mailbox, review: None, timer: None })
    }

    /// Reads the snapshot. Not in `pre_start`, which the supervisor waits for.
    async fn post_start(&self, _: ActorRef<Self::Msg>, state: &mut State) -> Handled {
        let found = if self.fresh { Ok(None) } else { self.shared.reader.find_review(self.id).await };
        match found {
            Ok(Some(review)) => {
                state.review = Some(Arc::new(review));
                self.publish(state);
            }
            Ok(None) => {
                self.snapshot.send_replace(Snapshot::Missing);
            }
            Err(error) => {
                tracing::error!(review.id = %self.id, %error, "cannot read the review");
                self.snapshot.send_replace(Snapshot::Unreadable(error.to_string().into()));
            }
        }
        Ok(())
    }

    /// Boxed: ractor keeps room for this future in every actor, several times over, even while it is idle.
    async fn handle(&self, _: ActorRef<Self::Msg>, message: ReviewMessage, state: &mut State) -> Handled {
        Box::pin(self.act(message, state)).await
    }
}

impl ReviewActor {
    async fn act(&self, message: ReviewMessage, state: &mut State) -> Handled {
        let _working = self.stats.work();
        self.stats.taken();
        let unreadable = match &*self.snapshot.borrow() {
            Snapshot::Unreadable(why) => Some(why.to_string()),
            Snapshot::Loading | Snapshot::Missing | Snapshot::Ready(_) => None,
        };
        if let Some(why) = unreadable {
            message.refuse(BrokerError::Unreadable { why: why.to_string() });
            return Err(why.to_string().into());
        }
        match message {
            ReviewMessage::Apply(pending) => return self.apply(state, pending).await,
            ReviewMessage::Checked(pending, outcome) => match outcome {
                // The caller is gone. Its claim would only block the seat.
                Ok(()) if pending.reply.is_closed() => {}
                Ok(()) => return self.decide(state, pending).await,
                Err(error) => pending.refuse(error),
            },
            ReviewMessage::Expire => return self.expire(state).await,
            ReviewMessage::Rest => state.mailbox.actor.stop(None),
        }
        Ok(())
    }

    /// Decides the command at once, or after the check that it needs. Commands that need the same check share it.
    async fn apply(&self, state: &mut State, pending: PendingCommand) -> Handled {
        let Some(review) = state.review.clone() else {
            if matches!(*pending.command, Command::Propose(_)) {
                return self.decide(state, pending).await;
            }
            self.supervisor.send(SupervisorMessage::Idle { id: self.id, actor: state.mailbox.id() });
            pending.refuse(BrokerError::UnknownReview { given: self.id.to_string() });
            return Ok(());
        };
        match self.check_needed(&review, &pending) {
            Err(error) => pending.refuse(error),
            Ok(None) => return self.decide(state, pending).await,
            Ok(Some(needed)) => {
                let (submissions, supervisor) = (Arc::clone(&self.submissions), self.supervisor.clone());
                let working = self.stats.work();
                tokio::spawn(async move {
                    check(&submissions, &review, &needed, pending, &supervisor).await;
                    drop(working);
                });
            }
        }
        Ok(())
    }

    fn check_needed(&self, review: &Review, pending: &PendingCommand) -> Result<Option<CheckNeeded>, BrokerError> {
        check_version(review, &pending.payload)?;
        Ok(check_needed(review, &pending.command, self.shared.clock.now())?)
    }

    async fn decide(&self, state: &mut State, pending: PendingCommand) -> Handled {
        let PendingCommand { command, payload, reply } = pending;
        let done = match self.transition(state.review.as_deref(), *command, &payload) {
            Ok(done) => done,
            Err(error) => {
                let _ = reply.send(Err(error));
                return Ok(());
            }
        };
        let outcome = self.commit(state, done, payload).await;
        let failure = outcome.as_ref().err().map(ToString::to_string);
        let _ = reply.send(outcome);
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(()),
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
                Err(BrokerError::WrongIdentity { field, name: claim.by.clone() })
            }
            Some(_) | None => Ok(done),
        }
    }

    async fn expire(&self, state: &mut State) -> Handled {
        let Some(review) = &state.review else { return Ok(()) };
        match self.transition(Some(review), Command::Expire, &CommandPayload::default()) {
            Ok(done) if !done.events.is_empty() => {
                tracing::info!(review.id = %self.id, review.number = %review.number, "lease or reservation expired");
                self.commit(state, done, CommandPayload::default()).await?;
            }
            _ => self.set_timer(state),
        }
        Ok(())
    }

    /// Makes a transition durable, then replaces the state. After a failed write the actor no longer knows what the
    /// database holds: the caller gets the error and the actor stops, and the supervisor starts another one from the
    /// snapshot.
    async fn commit(
        &self,
        state: &mut State,
        done: Transition,
        payload: CommandPayload,
    ) -> Result<CommandOutcome, BrokerError> {
        let changed = !done.events.is_empty();
        let review = Arc::new(done.next);
        if changed {
            let not_saved = |error: store::StoreError| {
                self.stats.failed(&error.to_string());
                BrokerError::NotSaved { why: error.to_string() }
            };
            // A claim brings a content that is dropped if another one became active while git worked.
            let is_active = done.events.iter().any(|logged| logged.event.replaces_content());
            let content = payload.content.filter(|_| is_active);
            let tick = self.shared.clock.now().tick;
            let mut change =
                Change::new(state.review.as_deref(), Arc::clone(&review), done.events, tick).map_err(not_saved)?;
            change.content.clone_from(&content);
            change.patch = payload.patch;
            self.submissions.reviews.commit(change).await.map_err(not_saved)?;
            if let Some(content) = &content {
                self.shared.reader.cache_content(&review.round.content_hash, content);
            }
            state.review = Some(Arc::clone(&review));
            self.publish(state);
        }
        Ok(CommandOutcome { review, changed, reply: done.reply })
    }

    /// Shows the new state to readers and sets the timer for its next deadline.
    fn publish(&self, state: &mut State) {
        let Some(review) = state.review.clone() else { return };
        let is_final = review.is_final();
        self.snapshot.send_replace(Snapshot::Ready(review));
        self.set_timer(state);
        if is_final {
            self.supervisor.send(SupervisorMessage::Idle { id: self.id, actor: state.mailbox.id() });
        }
    }

    fn set_timer(&self, state: &mut State) {
        let deadline = state.review.as_ref().and_then(|review| review.next_deadline());
        if state.timer.as_ref().is_some_and(|(tick, timer)| Some(*tick) == deadline && !timer.is_finished()) {
            return;
        }
        state.timer = deadline.map(|tick| {
            let (mailbox, at) = (state.mailbox.clone(), self.shared.clock.instant_of(tick));
            let at = at.max(tokio::time::Instant::now() + self.restart_delay);
            let timer = tokio::spawn(async move {
                tokio::time::sleep_until(at).await;
                mailbox.send(ReviewMessage::Expire);
            });
            (tick, AbortOnDropHandle::new(timer))
        });
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

/// Does the check that a command waits for, in a task of its own, and sends the completed command back: through the
/// supervisor, because the review may have another actor by then. Stops when the caller goes away.
async fn check(
    submissions: &Submissions,
    review: &Review,
    needed: &CheckNeeded,
    mut pending: PendingCommand,
    supervisor: &Mailbox<SupervisorMessage>,
) {
    let PendingCommand { command, payload, reply } = &mut pending;
    let outcome = tokio::select! {
        outcome = submissions.shared.until_shutdown(complete(submissions, review, needed, command, payload)) => outcome,
        () = reply.closed() => return,
    };
    let message = Box::new(ReviewMessage::Checked(pending, outcome));
    supervisor.send(SupervisorMessage::Deliver { id: review.id, fresh: false, message });
}

async fn complete(
    submissions: &Submissions,
    review: &Review,
    needed: &CheckNeeded,
    command: &mut Command,
    payload: &mut CommandPayload,
) -> Result<(), BrokerError> {
    match (needed, command) {
        (CheckNeeded::ActiveDiff, Command::Claim(claim)) => {
            let (checked, rebased) = submissions.check_active_diff(review).await?.unzip();
            payload.content = rebased.flatten();
            claim.check = checked;
        }
        (CheckNeeded::OfferedPatch, Command::GiveVerdict(verdict)) => {
            if let (Some(offered), Some(text)) = (&mut verdict.patch, &payload.patch) {
                offered.check = Some(submissions.check_offered_patch(review, text).await?);
            }
        }
        (CheckNeeded::PendingPatch { id }, Command::AcceptCounterPatch(accept)) => {
            let (content, patched) = submissions.apply_counter_patch(review, *id).await?;
            payload.content = Some(content);
            accept.patched = Some(patched);
        }
        // `check_needed` pairs each kind of work with one command.
        _ => {}
    }
    Ok(())
}
