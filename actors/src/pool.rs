//! Reviewers on demand: processes that are started when reviews wait and ended when none do.
//!
//! How many there should be is decided by [`domain::scaling`]; this actor carries it out, one decision at a
//! time. What reviewers do it learns from the log, like anybody else, so that a review knows nothing of pools.
//!
//! ```text
//! log ──► ReviewerPool ── one child per process ──► ReviewerActor ══ life line ══► shim ──► codex, claude, …
//! ```

mod follow;
mod launch;
mod member;
mod news;
pub mod output;
pub mod process;
mod procfs;
pub mod prompt;
mod reclaim;
mod reviewer;
pub mod runtime;
mod settings;
pub mod shim;
pub mod sweep;
pub mod usage;
mod view;

pub use settings::PoolSettings;
pub use view::{LiveReviewer, PoolState, PoolView};

use crate::{
    Context,
    error::BrokerError,
    tree::Node,
    vitals::{Mailbox, Vitals},
};
use domain::{
    pool::PoolEvent,
    review::Reclaimed,
    scaling::{self, Breaker, Decision, DrainReason, History, Queue, Spawn, SpawnReason},
    time::Tick,
};
use launch::Prepared;
use member::{Leaving, Member};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use reviewer::{Ended, ReviewerActor, ReviewerMessage, note};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};
use store::{Feed, Logged, PoolChange, ReviewerEnd, ReviewerRow, Waiting};
use tokio::{sync::oneshot, task::AbortHandle};

/// Ended reviewers that are still shown.
const SHOWN_ENDED: u32 = 20;

type Answer<T> = oneshot::Sender<Result<T, BrokerError>>;

/// What the [`ReviewerPool`] can be told.
pub(crate) enum PoolMessage {
    /// What an earlier run left behind is cleared away.
    CleanedUp,
    /// The queue may have changed, or time has passed.
    Look,
    /// What was committed since the last of these.
    News {
        news: Vec<Logged>,
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
    pub(crate) vitals: Arc<Vitals>,
}

#[derive(Default)]
pub(crate) struct State {
    members: BTreeMap<String, Member>,
    breaker: Breaker,
    last_spawn: Option<Tick>,
    /// Why no reviewer can be started at all.
    trouble: Option<String>,
    /// What the last one that failed said.
    last_words: Vec<String>,
    /// Reviewers of this run that are gone; a call of theirs may still have been on its way.
    gone: HashSet<String>,
    cleaned_up: bool,
    stopping: bool,
    timer: Option<AbortHandle>,
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
    }
}

impl Actor for ReviewerPool {
    type Msg = PoolMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        let (context, mailbox, feed) = (Arc::clone(&self.context), self.mailbox(&myself), self.feed.clone());
        let follows = self.settings().enabled;
        tokio::spawn(async move {
            let seq = *feed.committed.borrow();
            if let Err(error) = reclaim::clean_up(&context).await {
                tracing::error!(%error, "what an earlier run's reviewers left behind cannot be cleared away");
            }
            mailbox.send(PoolMessage::CleanedUp);
            tokio::select! {
                () = context.closing.cancelled() => { mailbox.send(PoolMessage::Shutdown); }
                () = follow::follow(&context, &mailbox, &feed, seq), if follows => {}
            }
        });
        Ok(State::default())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        self.vitals.taken();
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
        Mailbox::new(myself.clone(), Arc::clone(&self.vitals))
    }

    fn now(&self) -> Tick {
        self.context.clock.now().tick
    }

    async fn take(&self, myself: &ActorRef<PoolMessage>, message: PoolMessage, state: &mut State) {
        match message {
            PoolMessage::CleanedUp => {
                state.cleaned_up = true;
                self.look(myself, state).await;
            }
            PoolMessage::Look => self.look(myself, state).await,
            PoolMessage::News { news, taken } => {
                self.take_news(state, &news).await;
                let _ = taken.send(());
                self.look(myself, state).await;
            }
            PoolMessage::Started { row } => {
                if let Some(member) = state.members.get_mut(&row.id) {
                    tracing::info!(reviewer.id = row.id, pid = row.process.pid, why = %row.why, "reviewer started");
                    member.row.process = row.process;
                    member.started = true;
                }
            }
            PoolMessage::Ended { id, ended } => {
                self.ended(myself, state, &id, ended).await;
                self.look(myself, state).await;
            }
            PoolMessage::Spawn { project, reply } => {
                let _ = reply.send(self.spawn_asked(myself, state, project).await);
            }
            PoolMessage::Stop { id, at_once, reply } => {
                let _ = reply.send(self.stop_asked(state, &id, at_once).await);
            }
            PoolMessage::Show { reply } => {
                let _ = reply.send(self.show(state).await);
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

    /// Decides, and carries it out.
    async fn look(&self, myself: &ActorRef<PoolMessage>, state: &mut State) {
        if !self.settings().enabled || !state.cleaned_up || state.stopping {
            return;
        }
        self.end_the_drained(state).await;
        let queues = match self.waiting().await {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::error!(%error, "the pool cannot read the queue");
                Vec::new()
            }
        };
        let queues: Vec<_> =
            queues.into_iter().map(|Waiting { project, pending }| Queue { project, pending }).collect();
        let pool: Vec<_> = state.members.values().map(Member::for_scaling).collect();
        let history = History { last_spawn: state.last_spawn, hold_until: state.breaker.hold_until() };
        let Decision { spawn, drain, look_again } =
            scaling::decide(&queues, &pool, history, &self.settings().limits, self.now());
        for scaling::Drain { id, why } in drain {
            self.drain(state, &id, why).await;
        }
        if let Some(spawn) = spawn.filter(|_| !state.breaker.is_open()) {
            match self.spawn(myself, state, &spawn).await {
                // One at a time: the next decision sees this one.
                Ok(_) => {
                    self.mailbox(myself).send(PoolMessage::Look);
                }
                Err(why) => self.in_trouble(state, why),
            }
        }
        self.look_at(myself, state, look_again);
    }

    /// What waits in projects that are registered; others cannot be reviewed here.
    async fn waiting(&self) -> Result<Vec<Waiting>, store::StoreError> {
        let mut waiting = self.context.reader.count_waiting().await?;
        let known = |project: Option<&str>| project.is_none() || self.context.projects.repository(project).is_ok();
        waiting.retain(|waiting| known(waiting.project.as_deref()));
        Ok(waiting)
    }

    /// Sets the alarm for the next look.
    fn look_at(&self, myself: &ActorRef<PoolMessage>, state: &mut State, tick: Option<Tick>) {
        let latest = tokio::time::Instant::now() + self.settings().check_every;
        let at = tick.map_or(latest, |tick| self.context.clock.instant_of(tick).min(latest));
        let mailbox = self.mailbox(myself);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            mailbox.send(PoolMessage::Look);
        });
        if let Some(before) = state.timer.replace(timer.abort_handle()) {
            before.abort();
        }
    }

    /// Says it once, however often it is found.
    fn in_trouble(&self, state: &mut State, why: String) {
        if state.trouble.as_ref() != Some(&why) {
            tracing::error!(%why, "no reviewer can be started");
            state.trouble = Some(why);
        }
    }

    async fn spawn(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        spawn: &Spawn,
    ) -> Result<LiveReviewer, String> {
        let taken: BTreeSet<_> = state.members.values().map(|member| member.row.name.as_str()).collect();
        launch::make(&self.settings().folder).map_err(|error| error.to_string())?;
        let Prepared { start, pass } = launch::prepare(&self.context, self.settings(), spawn, &taken)?;
        let vitals = Arc::new(Vitals::new());
        let (context, pool) = (Arc::clone(&self.context), self.mailbox(myself));
        let actor = ReviewerActor { context, pool, vitals: Arc::clone(&vitals) };
        let (row, usage, log) = (start.row.clone(), Arc::clone(&start.usage), start.log.clone());
        let (actor, _) =
            Actor::spawn_linked(None, actor, start, myself.get_cell()).await.map_err(|error| error.to_string())?;
        let now = self.now();
        let member = Member {
            row,
            spawned: now,
            mailbox: Mailbox::new(actor, vitals),
            pass,
            usage,
            log,
            started: false,
            claims: Default::default(),
            idle_since: now,
            leaving: None,
        };
        let view = member.view(now);
        state.members.insert(member.row.id.clone(), member);
        (state.last_spawn, state.trouble) = (Some(now), None);
        Ok(view)
    }

    async fn spawn_asked(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        project: Option<String>,
    ) -> Result<LiveReviewer, BrokerError> {
        let limits = &self.settings().limits;
        let now = self.now();
        match state.last_spawn.map(|last| last.plus(limits.cooldown)) {
            _ if !self.settings().enabled => return Err(BrokerError::PoolDisabled),
            _ if state.stopping => return Err(BrokerError::ShuttingDown),
            _ if state.members.len() >= limits.max_size => {
                return Err(BrokerError::PoolFull { max_size: limits.max_size });
            }
            Some(rested) if rested > now => {
                let ms = u64::try_from(rested.0 - now.0).unwrap_or_default();
                return Err(BrokerError::CoolingDown { ms });
            }
            _ => {}
        }
        if state.breaker.is_open() {
            self.write(None, Some(PoolEvent::CrashLoopCleared));
        }
        state.breaker.clear();
        let spawn = Spawn { project, why: SpawnReason::Operator };
        let spawned = self.spawn(myself, state, &spawn).await;
        spawned.map_err(|why| {
            self.in_trouble(state, why.clone());
            BrokerError::PoolUnavailable { why }
        })
    }

    async fn stop_asked(&self, state: &mut State, given: &str, at_once: bool) -> Result<LiveReviewer, BrokerError> {
        let named = |member: &&Member| member.row.id == given || member.row.name == given;
        let Some(id) = state.members.values().find(named).map(|member| member.row.id.clone()) else {
            let known = state.members.keys().cloned().collect();
            return Err(BrokerError::UnknownReviewer { given: given.chars().take(80).collect(), known });
        };
        self.drain(state, &id, DrainReason::Operator).await;
        if at_once {
            self.stop(state, &id);
        }
        let now = self.now();
        let member = state.members.get(&id).map(|member| member.view(now));
        member.ok_or_else(|| BrokerError::UnknownReviewer { given: id, known: Vec::new() })
    }

    /// From now on it gets no new claim; once it holds none it is ended.
    async fn drain(&self, state: &mut State, id: &str, why: DrainReason) {
        let Some(member) = state.members.get_mut(id) else { return };
        if member.leaving.is_none() {
            member.pass.drain();
            member.leaving = Some(Leaving::Draining(why));
            tracing::info!(reviewer.id = id, %why, "reviewer draining");
            self.write(None, Some(PoolEvent::ReviewerDraining { reviewer: id.into(), why }));
        }
        self.end_the_drained(state).await;
    }

    /// Ends those that are to leave and hold nothing any more. The database is asked, because the log may be
    /// a moment behind.
    async fn end_the_drained(&self, state: &mut State) {
        let draining = |member: &&Member| matches!(member.leaving, Some(Leaving::Draining(_)));
        let ids: Vec<_> = state.members.values().filter(draining).map(|member| member.row.id.clone()).collect();
        for id in ids {
            match self.context.reader.list_held_by(&id).await {
                Ok(held) if held.is_empty() => self.stop(state, &id),
                Ok(_) => {}
                Err(error) => tracing::error!(reviewer.id = id, %error, "what a reviewer holds cannot be read"),
            }
        }
    }

    fn stop(&self, state: &mut State, id: &str) {
        let Some(member) = state.members.get_mut(id) else { return };
        let Some(Leaving::Draining(why)) = member.leaving else { return };
        member.leaving = Some(Leaving::Stopping(why));
        member.mailbox.send(ReviewerMessage::Stop { grace: self.settings().stop_grace });
    }

    /// Notes the end, and gives back at once what the reviewer held.
    async fn ended(&self, myself: &ActorRef<PoolMessage>, state: &mut State, id: &str, ended: Ended) {
        self.context.passes.revoke(id);
        let Some(mut member) = state.members.remove(id) else { return };
        state.gone.insert(id.into());
        member.take_usage();
        let now = self.context.clock.now();
        let lasted = Duration::from_millis(u64::try_from(now.tick.0 - member.spawned.0).unwrap_or_default());
        let Ended { exit, cleanly, mut last_words } = ended;
        let said = member.usage.lock().unwrap_or_else(std::sync::PoisonError::into_inner).last_error.clone();
        last_words.extend(said);
        let asked = member.leaving.is_some() || state.stopping;
        let run = scaling::Ended { lasted, verdicts: member.row.work.completed(), cleanly, asked };
        let too_many = state.breaker.ended(&run, &self.settings().patience, now.tick);
        tracing::info!(reviewer.id = id, exit, verdicts = run.verdicts, "reviewer ended");
        if !asked && !cleanly {
            state.last_words.clone_from(&last_words);
        }
        let ran_ms = u64::try_from(lasted.as_millis()).ok();
        let event = PoolEvent::ReviewerTerminated { reviewer: id.into(), exit: exit.clone(), ran_ms };
        member.row.end = Some(ReviewerEnd { at: now.at, exit: exit.clone(), last_words: last_words.clone() });
        // One that never ran has no process to be remembered by.
        self.write(member.started.then(|| member.row.clone()), Some(event));
        if too_many {
            let failures = state.breaker.failures();
            tracing::error!(failures, last_words = last_words.join(" | "), "crash loop: no more reviewers are started");
            state.last_words.clone_from(&last_words);
            self.write(None, Some(PoolEvent::CrashLoop { failures, last_words }));
        }
        if state.stopping {
            if state.members.is_empty() {
                myself.stop(None);
            }
            return;
        }
        let why = match member.leaving {
            Some(Leaving::Draining(DrainReason::Operator) | Leaving::Stopping(DrainReason::Operator)) => {
                Reclaimed::ReviewerStopped
            }
            Some(_) | None => Reclaimed::ReviewerExited,
        };
        let (context, id) = (Arc::clone(&self.context), id.to_owned());
        tokio::spawn(async move { reclaim::give_back(&context, &id, why, &exit).await });
    }

    /// Writes a row or an event, in the order of the calls. Nobody waits for it: should it fail, the next start
    /// finds out by itself who is gone.
    fn write(&self, reviewer: Option<ReviewerRow>, event: Option<PoolEvent>) {
        let now = self.context.clock.now();
        let change = PoolChange { at: now.at, tick: now.tick, reviewer, event };
        let saved = note(&self.context, change);
        tokio::spawn(async move {
            if let Err(error) = saved.await {
                tracing::error!(%error, "what happened in the pool cannot be noted");
            }
        });
    }

    async fn show(&self, state: &State) -> Result<PoolView, BrokerError> {
        let unreadable = crate::prepare::unreadable;
        let now = self.now();
        let wait = |at: Tick| u64::try_from(at.0 - now.0).unwrap_or_default();
        let hold = state.breaker.hold_until().map(wait).filter(|ms| *ms > 0);
        let pool_state = match (&state.trouble, hold) {
            _ if !self.settings().enabled => PoolState::Disabled,
            _ if !state.cleaned_up => PoolState::Starting,
            _ if state.breaker.is_open() => PoolState::CrashLoop { failures: state.breaker.failures() },
            (Some(why), _) => PoolState::Unavailable { why: why.clone() },
            (None, Some(ms)) => PoolState::BackingOff { ms },
            (None, None) => PoolState::Ready,
        };
        Ok(PoolView {
            state: pool_state,
            runtime: self.settings().runtime.runtime.as_str(),
            max_size: self.settings().limits.max_size,
            waiting: self.context.reader.count_waiting().await.map_err(unreadable)?,
            live: state.members.values().map(|member| member.view(now)).collect(),
            ended: self.context.reader.list_ended_reviewers(SHOWN_ENDED).await.map_err(unreadable)?,
            last_words: state.last_words.clone(),
        })
    }
}

/// What the pool knows of itself and its reviewers, for its node in the actor tree.
pub(crate) fn draw(node: &mut Node, view: &PoolView) {
    node.state = format!("{}, {} of {} reviewers", view.state.as_str(), view.live.len(), view.max_size);
    node.last_error = view.state.words().filter(|_| view.state != PoolState::Disabled);
    node.children = view.live.iter().map(|reviewer| reviewer.node.clone()).collect();
}
