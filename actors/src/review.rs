//! One review: decide, commit, then change.
//!
//! The actor's state is always one the database has. It shows that state to readers and waiting
//! calls through a watch channel, so reading never goes through the mailbox.

mod git_checks;

use crate::{
    Context,
    actor_stats::{ActorStats, Mailbox},
    error::BrokerError,
    gateway::{CommandPayload, GatewayMessage, Reply},
    submission::unreadable,
    supervisor::SupervisorMessage,
};
use domain::{
    content::Content,
    ids::ReviewId,
    review::{Command, Event, Proposal, Refusal, Review, ReviewTarget, Transition, propose, spoken_for, transition},
    time::Tick,
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::{sync::Arc, time::Duration};
use store::Change;
use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

/// What a [`ReviewActor`] can be told.
pub(crate) enum ReviewMessage {
    /// Become the review of this proposal, or, being it already, say so.
    Propose { proposal: Box<Proposal>, content: Arc<Content>, reply: Reply },
    /// Apply a command; the reply comes after the result is durable.
    Apply { command: Box<Command>, attached: CommandPayload, reply: Reply },
    /// Git has answered for a command that waited for it.
    Checked { command: Box<Command>, attached: CommandPayload, outcome: Result<(), BrokerError>, reply: Reply },
    /// A lease or reservation may have run out; also just a reason to be awake.
    Expire,
    /// Nobody needs this actor; the supervisor has already forgotten it.
    Rest,
}

impl ReviewMessage {
    /// Asked for from outside, and so counted against the review's share.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self, Self::Propose { .. } | Self::Apply { .. })
    }

    /// Tells the caller, if there is one, that nothing was done.
    pub(crate) fn refuse(self, error: BrokerError) {
        match self {
            Self::Propose { reply, .. } | Self::Apply { reply, .. } | Self::Checked { reply, .. } => {
                let _ = reply.send(Err(error));
            }
            Self::Expire | Self::Rest => {}
        }
    }
}

/// A review after a command.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutcome {
    pub(crate) review: Arc<Review>,
    /// `false`: it had been done before.
    pub(crate) changed: bool,
}

/// What the outside may see of a review's actor.
#[derive(Debug, Clone)]
pub(crate) enum Snapshot {
    /// Still reading its snapshot.
    Loading,
    Missing,
    Unreadable(Arc<str>),
    Known(Arc<Review>),
}

pub(crate) type SnapshotSender = Arc<watch::Sender<Snapshot>>;

/// One review's actor. Everything that changes is in [`State`].
pub(crate) struct ReviewActor {
    pub(crate) id: ReviewId,
    /// Known not to be in the database, so there is nothing to read.
    pub(crate) fresh: bool,
    /// The least time before a timer fires; more than none after failures.
    pub(crate) pause: Duration,
    pub(crate) context: Arc<Context>,
    pub(crate) supervisor: Mailbox<SupervisorMessage>,
    pub(crate) head: SnapshotSender,
    pub(crate) stats: Arc<ActorStats>,
}

#[derive(Default)]
pub(crate) struct State {
    review: Option<Arc<Review>>,
    /// Set while the snapshot could not be read: nothing is decided without one.
    unreadable: Option<Arc<str>>,
    /// Who waits for git to check the diff before the claim can be given, and the task that asks.
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

    /// Reads the snapshot. Here and not in `pre_start`, which the supervisor waits for.
    async fn post_start(&self, myself: ActorRef<Self::Msg>, state: &mut State) -> Result<(), ActorProcessingErr> {
        if self.fresh {
            self.head.send_replace(Snapshot::Missing);
            return Ok(());
        }
        match self.context.reader.find_review(self.id).await {
            Ok(Some(review)) => {
                state.review = Some(Arc::new(review));
                self.show(&myself, state);
            }
            Ok(None) => {
                self.head.send_replace(Snapshot::Missing);
            }
            Err(error) => {
                tracing::error!(review.id = %self.id, %error, "snapshot cannot be read");
                let why: Arc<str> = error.to_string().into();
                self.head.send_replace(Snapshot::Unreadable(Arc::clone(&why)));
                state.unreadable = Some(why);
            }
        }
        Ok(())
    }

    /// Boxed: ractor keeps room for this future in every actor, several times over, also while it is idle.
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
            ReviewMessage::Propose { proposal, content, reply } => {
                self.propose(&myself, state, *proposal, content, reply).await
            }
            ReviewMessage::Apply { command, attached, reply } => {
                self.apply(&myself, state, command, attached, reply).await
            }
            ReviewMessage::Checked { command, attached, outcome, reply } => {
                if matches!(*command, Command::Claim(_)) {
                    state.claiming = None;
                }
                match outcome {
                    // A claim nobody waits for any more would keep a seat from those who do.
                    Ok(()) if reply.is_closed() => Ok(()),
                    Ok(()) => self.decide(&myself, state, *command, attached, reply).await,
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

    async fn propose(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        proposal: Proposal,
        content: Arc<Content>,
        reply: Reply,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(review) = &state.review {
            let same = self.is_repeat(review, &proposal, &content).await;
            let _ = reply.send(same.and_then(|same| match same {
                true => Ok(CommandOutcome { review: Arc::clone(review), changed: false }),
                false => Err(Refusal::KeyReused { number: review.number }.into()),
            }));
            return Ok(());
        }
        let done = propose(proposal, self.context.clock.now());
        self.commit(myself, state, done, CommandPayload { content: Some(content), ..CommandPayload::default() }, reply)
            .await
    }

    /// Whether `proposal` is the one that made `review`, sent again. The review may have gone on since,
    /// so its beginning is asked. HEAD may have moved, too, so a base that nobody named does not count.
    async fn is_repeat(&self, review: &Review, proposal: &Proposal, content: &Content) -> Result<bool, BrokerError> {
        let same_panel = review.policy == proposal.policy
            && review.personas() == proposal.personas
            && review.priority == proposal.priority();
        let same_origin = review.proposer == proposal.proposer && review.category == proposal.category && same_panel;
        if !same_origin || review.round.content_hash == proposal.content_hash {
            return Ok(same_origin);
        }
        let first = self.context.reader.find_first_event(review.number).await.map_err(unreadable)?;
        let Some(Event::Proposed(first)) = first else { return Ok(false) };
        let stored = self.context.find_content(&first.round.content_hash).await?;
        let (then, now) = (first.round.target.as_deref(), proposal.target.as_deref());
        // A branch may have moved as well.
        let same_target = then.is_some() && then.map(ReviewTarget::asked) == now.map(ReviewTarget::asked);
        let same_texts = (&stored.intent, &stored.description) == (&content.intent, &content.description);
        Ok(same_texts && (same_target || stored.diff == content.diff))
    }

    /// Decides at once, or sends the command round by git first.
    async fn apply(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        command: Box<Command>,
        attached: CommandPayload,
        reply: Reply,
    ) -> Result<(), ActorProcessingErr> {
        let Some(review) = state.review.clone() else {
            let _ = reply.send(Err(BrokerError::UnknownReview { given: self.id.to_string() }));
            self.supervisor.send(SupervisorMessage::Idle { id: self.id, actor: myself.get_id() });
            return Ok(());
        };
        if let (Command::Claim(_), Some((by, task))) = (&*command, &state.claiming)
            && !task.is_finished()
        {
            let refusal = Refusal::BeingClaimed { number: review.number, by: by.clone() };
            let _ = reply.send(Err(refusal.into()));
            return Ok(());
        }
        let needed = as_expected(&review, &attached)
            .and_then(|()| self.may_speak(&review, &command))
            .and_then(|()| Ok(git_checks::needed(&review, &command, self.context.clock.now())?));
        match needed {
            Err(error) => {
                let _ = reply.send(Err(error));
                Ok(())
            }
            Ok(None) => self.decide(myself, state, *command, attached, reply).await,
            Ok(Some(wanted)) => {
                let claimant = if let Command::Claim(claim) = &*command { Some(claim.by.clone()) } else { None };
                let context = Arc::clone(&self.context);
                let (supervisor, working) = (self.supervisor.clone(), self.stats.work());
                let asking = async move {
                    git_checks::run(context, review, wanted, command, attached, reply, supervisor).await;
                    drop(working);
                };
                let task = tokio::spawn(asking).abort_handle();
                if let Some(by) = claimant {
                    state.claiming = Some((by, task));
                }
                Ok(())
            }
        }
    }

    async fn decide(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        command: Command,
        attached: CommandPayload,
        reply: Reply,
    ) -> Result<(), ActorProcessingErr> {
        let Some(review) = &state.review else { return Ok(()) };
        let decided = as_expected(review, &attached)
            .and_then(|()| self.may_speak(review, &command))
            .and_then(|()| Ok(transition(review, command, self.context.clock.now(), &self.context.settings.rules)?));
        match decided {
            Err(error) => {
                let _ = reply.send(Err(error));
                Ok(())
            }
            Ok(done) => self.commit(myself, state, done, attached, reply).await,
        }
    }

    /// What comes without a name is taken for the holder's, which of a reviewer of the pool only its pass may
    /// say, and that has a name. Asked with the state that is decided on: a moment before, another may have
    /// held the seat.
    fn may_speak(&self, review: &Review, command: &Command) -> Result<(), BrokerError> {
        match spoken_for(review, command) {
            Some(holder) if self.context.credentials.is_reserved(holder) => {
                let field = if matches!(command, Command::AddMessage(_)) { "caller_id" } else { "reviewer_id" };
                Err(BrokerError::OfThePool { field, name: holder.into() })
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn expire(&self, myself: &ActorRef<ReviewMessage>, state: &mut State) -> Result<(), ActorProcessingErr> {
        let Some(review) = &state.review else { return Ok(()) };
        let expired = transition(review, Command::Expire, self.context.clock.now(), &self.context.settings.rules);
        match expired {
            Ok(done) if !done.events.is_empty() => {
                tracing::info!(review.id = %self.id, review.number = %review.number, "claim or reservation ran out");
                let (ignored, _) = oneshot::channel();
                self.commit(myself, state, done, CommandPayload::default(), ignored).await
            }
            _ => {
                self.set_timer(myself, state);
                Ok(())
            }
        }
    }

    /// Makes a transition durable, then true. If it cannot be saved this actor no longer knows what
    /// the database holds: the caller is told, and the supervisor starts another from the snapshot.
    async fn commit(
        &self,
        myself: &ActorRef<ReviewMessage>,
        state: &mut State,
        done: Transition,
        attached: CommandPayload,
        reply: Reply,
    ) -> Result<(), ActorProcessingErr> {
        let changed = !done.events.is_empty();
        let review = Arc::new(done.next);
        if changed {
            let tick = self.context.clock.now().tick;
            let change = Change::new(Arc::clone(&review), done.events, tick)?
                .with_content(attached.content.clone())
                .with_patch(attached.patch);
            let (sender, saved) = oneshot::channel();
            self.context.gateway.send(GatewayMessage::Commit { change: Box::new(change), done: sender });
            if let Err(error) = saved.await.unwrap_or(Err(store::StoreError::Stopped)) {
                self.stats.failed(&error.to_string());
                let _ = reply.send(Err(BrokerError::NotSaved { why: error.to_string() }));
                return Err(format!("not saved: {error}").into());
            }
            if let Some(content) = &attached.content {
                self.context.reader.cache_content(&review.round.content_hash, content);
            }
            state.review = Some(Arc::clone(&review));
            self.show(myself, state);
        }
        let _ = reply.send(Ok(CommandOutcome { review, changed }));
        Ok(())
    }

    /// Lets everyone see the new state, and sees to its deadline.
    fn show(&self, myself: &ActorRef<ReviewMessage>, state: &mut State) {
        let Some(review) = state.review.clone() else { return };
        let is_final = review.is_final();
        self.head.send_replace(Snapshot::Known(review));
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
        let (mailbox, at) = (self.mailbox(myself), self.context.clock.instant_of(tick));
        let at = at.max(tokio::time::Instant::now() + self.pause);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            mailbox.send(ReviewMessage::Expire);
        });
        state.timer = Some((tick, timer.abort_handle()));
    }
}

/// Asked with the state that is decided on, also once more after git has answered.
fn as_expected(review: &Review, attached: &CommandPayload) -> Result<(), BrokerError> {
    match attached.expected {
        Some(given) if given != review.version => {
            Err(BrokerError::VersionMismatch { number: review.number, given, current: review.version })
        }
        Some(_) | None => Ok(()),
    }
}
