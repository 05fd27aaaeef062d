//! Reviewers on demand: processes that are started when reviews wait and ended when none do.
//!
//! How many there should be is decided by [`domain::pool::scaling`]; this actor carries it out, one decision at a
//! time. What reviewers do it learns from the log, like anybody else, so that a review knows nothing of pools.
//!
//! ```text
//! log ──► ReviewerPool ── one child per process ──► ReviewerActor ══ life line ══► shim ──► codex, claude, …
//! ```

mod backoff;
mod exits;
mod log_events;
mod log_follower;
mod one_shot;
mod one_shot_queue;
mod release_claims;
mod reviewer_actor;
mod reviewers;
mod runner;
mod scaler;
mod settings;
mod spawn;
mod status;

pub use settings::PoolSettings;
pub use status::{LiveReviewer, PoolState, PoolView};

use crate::{
    Context,
    actor_stats::{ActorStats, Mailbox},
    error::BrokerError,
    introspection::Node,
};
use backoff::Troubles;
use domain::time::Tick;
use exits::Unsettled;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use reviewer_actor::{Ended, ReviewerMessage};
use reviewers::Member;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};
use store::{EventRecord, Feed, ReviewerRow, SeatRow};
use tokio::{sync::oneshot, task::AbortHandle, time::Instant};

type Answer<T> = oneshot::Sender<Result<T, BrokerError>>;

/// What the [`ReviewerPool`] can be told.
pub(crate) enum PoolMessage {
    /// What an earlier run left behind is cleared away; these are the reviewers that did.
    CleanedUp {
        left: Vec<String>,
    },
    /// The queue may have changed, or time has passed.
    Look,
    /// What was committed since the last of these.
    News {
        news: Vec<EventRecord>,
        taken: oneshot::Sender<()>,
    },
    /// A reviewer's process runs, and the database knows it.
    Started {
        row: Box<ReviewerRow>,
    },
    /// A reviewer's process, and all it had started, is gone.
    Ended {
        id: String,
        ended: Ended,
    },
    /// An operator wants one more.
    Spawn {
        project: Option<String>,
        reply: Answer<LiveReviewer>,
    },
    /// An operator wants one less; `at_once` does not let it finish.
    Stop {
        id: String,
        at_once: bool,
        reply: Answer<LiveReviewer>,
    },
    Show {
        reply: Answer<PoolView>,
    },
    /// The broker ends.
    Shutdown,
}

pub(crate) struct ReviewerPool {
    pub(crate) context: Arc<Context>,
    pub(crate) feed: Feed,
    pub(crate) stats: Arc<ActorStats>,
    /// Before anything is done; more than none after failures.
    pub(crate) pause: Duration,
}

#[derive(Default)]
pub(crate) struct State {
    /// Live processes.
    members: BTreeMap<String, Member>,
    /// Processes that have ended, of which the log may still have something to tell.
    unsettled: Vec<Unsettled>,
    /// How far the log has been followed.
    followed: u64,
    troubles: Troubles,
    /// Seats that could just not be claimed, and until when nobody is started for them.
    avoided: BTreeMap<SeatRow, Tick>,
    last_spawn: Option<Tick>,
    /// Reviewers of this run that are gone; a call of theirs may still have been on its way.
    gone: HashSet<String>,
    cleaned_up: bool,
    /// Asked for while the pool was starting.
    early: Vec<PoolMessage>,
    stopping: bool,
    last_look: Option<Instant>,
    alarm: Option<(Instant, AbortHandle)>,
}

impl State {
    /// Those that live, and those whose end is not written down yet.
    fn shown(&self) -> impl Iterator<Item = &Member> {
        self.members.values().chain(self.unsettled.iter().map(|unsettled| &unsettled.member))
    }

    /// A reviewer that lives, or did until a moment ago.
    fn reviewer(&mut self, id: &str) -> Option<&mut Member> {
        let ended = self.unsettled.iter_mut().map(|unsettled| &mut unsettled.member);
        self.members.get_mut(id).or_else(|| ended.into_iter().find(|member| member.row.id == id))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some((_, alarm)) = self.alarm.take() {
            alarm.abort();
        }
    }
}

impl Actor for ReviewerPool {
    type Msg = PoolMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        // Of a pool that failed, whose reviewers ended with it.
        self.context.credentials.revoke_reviewers();
        let (context, mailbox, feed) = (Arc::clone(&self.context), self.mailbox(&myself), self.feed.clone());
        let (enabled, pause) = (self.settings().enabled, self.pause);
        let followed = *feed.committed.borrow();
        tokio::spawn(async move {
            let closing = context.closing.clone();
            let work = async {
                tokio::time::sleep(pause).await;
                let left = release_claims::clean_up(&context).await;
                mailbox.send(PoolMessage::CleanedUp { left });
                // Also without a pool of today, somebody may be asked back who was in an earlier one.
                if enabled || context.reader.has_reviewers().await.unwrap_or(true) {
                    log_follower::follow(&context, &mailbox, &feed, followed).await;
                }
            };
            if closing.run_until_cancelled(work).await.is_some() {
                closing.cancelled().await;
            }
            mailbox.send(PoolMessage::Shutdown);
        });
        let mut state = State::default();
        state.followed = followed;
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        self.stats.taken();
        Box::pin(self.take(&myself, message, state)).await;
        Ok(())
    }

    /// A reviewer's actor tells of its end itself; the default would end the pool with it.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(_, error) = event {
            tracing::error!(%error, "a reviewer's actor failed; its process ends with it");
        }
        Ok(())
    }
}

impl ReviewerPool {
    fn settings(&self) -> &PoolSettings {
        &self.context.settings.pool
    }

    fn mailbox(&self, myself: &ActorRef<PoolMessage>) -> Mailbox<PoolMessage> {
        Mailbox::new(myself.clone(), Arc::clone(&self.stats))
    }

    fn now(&self) -> Tick {
        self.context.clock.now().tick
    }

    async fn take(&self, myself: &ActorRef<PoolMessage>, message: PoolMessage, state: &mut State) {
        match message {
            PoolMessage::CleanedUp { left } => {
                state.gone.extend(left);
                state.cleaned_up = true;
                for asked in state.early.drain(..) {
                    self.mailbox(myself).send(asked);
                }
                self.look(myself, state).await;
            }
            PoolMessage::Look => self.look(myself, state).await,
            PoolMessage::News { news, taken } => {
                let matters = self.take_news(state, &news).await;
                state.followed = news.last().map_or(state.followed, |last| last.seq);
                let _ = taken.send(());
                if self.settle(myself, state).await || matters {
                    self.look_soon(myself, state).await;
                }
            }
            PoolMessage::Started { row } => {
                if let Some(member) = state.members.get_mut(&row.id) {
                    tracing::info!(reviewer.id = row.id, pid = row.process.pid, why = %row.why, "reviewer started");
                    member.row.process = row.process;
                    member.started = true;
                }
            }
            PoolMessage::Ended { id, ended } => {
                self.ended(state, &id, ended);
                if self.settle(myself, state).await {
                    self.look(myself, state).await;
                }
            }
            PoolMessage::Spawn { .. } if !state.cleaned_up && !state.stopping => state.early.push(message),
            PoolMessage::Spawn { project, reply } => {
                let _ = reply.send(self.spawn_asked(myself, state, project).await);
            }
            PoolMessage::Stop { id, at_once, reply } => {
                let _ = reply.send(self.stop_asked(myself, state, &id, at_once).await);
            }
            PoolMessage::Show { reply } => {
                let _ = reply.send(Ok(self.show(state)));
            }
            PoolMessage::Shutdown => {
                state.stopping = true;
                for member in state.members.values() {
                    member.mailbox.send(ReviewerMessage::Kill);
                }
                if state.members.is_empty() {
                    myself.stop(None);
                }
            }
        }
    }

    /// From memory alone: whoever asks waits for no database in here, and nobody waits behind it.
    fn show(&self, state: &State) -> PoolView {
        let now = self.now();
        let pool_state = match state.troubles.state(now) {
            _ if !self.settings().enabled => PoolState::Disabled,
            _ if !state.cleaned_up => PoolState::Starting,
            Some(trouble) => trouble,
            None => PoolState::Ready,
        };
        PoolView {
            state: pool_state,
            runtime: self.settings().runtime.runtime.as_str(),
            max_size: self.settings().limits.max_size,
            live: state.shown().map(|member| member.view(now)).collect(),
            last_words: state.troubles.last_words().to_vec(),
        }
    }
}

/// What the pool knows of itself and its reviewers, for its node in the actor tree.
pub(crate) fn draw(node: &mut Node, view: &PoolView) {
    node.state = format!("{}, {} of {} reviewers", view.state.as_str(), view.live.len(), view.max_size);
    node.last_error = view.state.words().filter(|_| view.state != PoolState::Disabled);
    node.children = view.live.iter().map(|reviewer| reviewer.node.clone()).collect();
}
