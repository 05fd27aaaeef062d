//! Hiring and letting go: decides by [`domain::pool::scaling`] and carries it out.

use super::{
    LiveReviewer, PoolMessage, ReviewerPool, State,
    backoff::Post,
    one_shot_queue::OneShotsWaiting,
    release_claims,
    reviewer_actor::{ReviewerActor, ReviewerMessage},
    reviewers::{Leaving, Member},
    spawn::{self, Prepared},
};
use crate::{
    actor_stats::{ActorStats, Mailbox},
    error::BrokerError,
};
use domain::{
    pool::PoolEvent,
    pool::scaling::{self, Decision, DrainReason, Queue, Spawn, SpawnReason},
    time::Tick,
};
use ractor::{Actor, ActorRef};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use store::{StoreError, WaitingReview};
use tokio::time::Instant;

/// The least time between two looks at the queue, however much happens.
const PAUSE: Duration = Duration::from_millis(100);

/// The reviews of a project that wait.
struct WaitingIn {
    project: Option<String>,
    reviews: Vec<WaitingReview>,
    hold_until: Option<Tick>,
}

impl WaitingIn {
    fn queue(&self, state: &State) -> Queue {
        let agent = |member: &Member| member.leaving.is_none() && member.row.seat.is_none();
        let stays = |id: &String| state.members.get(id).is_some_and(agent);
        let panel = |review: &WaitingReview| review.seats + review.holders.iter().filter(|id| stays(id)).count() as u64;
        Queue {
            project: self.project.clone(),
            pending: self.reviews.iter().map(|review| review.seats).sum(),
            panel: self.reviews.iter().map(panel).max().unwrap_or_default(),
            hold_until: self.hold_until,
        }
    }
}

fn for_scaling(member: &Member, waiting: &[WaitingIn]) -> scaling::Member {
    let own = waiting.iter().find(|waiting| waiting.project == member.row.project);
    let spent = own.is_some_and(|own| own.reviews.iter().all(|review| review.holders.contains(&member.row.id)));
    member.for_scaling(spent)
}

impl ReviewerPool {
    /// Looks now, or as soon as the last look is long enough ago.
    pub(super) async fn look_soon(&self, myself: &ActorRef<PoolMessage>, state: &mut State) {
        match state.last_look.map(|last| last + PAUSE) {
            Some(due) if due > Instant::now() => self.look_at(myself, state, due),
            Some(_) | None => self.look(myself, state).await,
        }
    }

    /// Decides, and carries it out.
    pub(super) async fn look(&self, myself: &ActorRef<PoolMessage>, state: &mut State) {
        if !self.settings().enabled || !state.cleaned_up || state.stopping {
            return;
        }
        state.last_look = Some(Instant::now());
        let mut again = state.last_look.map(|now| now + self.settings().check_every);
        if self.end_the_drained(state).await {
            again = again.min(state.last_look.map(|now| now + PAUSE));
        }
        let (waiting, mut one_shots) = match self.waiting(state).await {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::error!(%error, "the pool cannot read the queue");
                Default::default()
            }
        };
        if let Some(tick) = one_shots.again {
            again = again.min(Some(self.context.clock.instant_of(tick)));
        }
        loop {
            let queues: Vec<_> = waiting.iter().map(|waiting| waiting.queue(state)).collect();
            let pool: Vec<_> = state.members.values().map(|member| for_scaling(member, &waiting)).collect();
            let limits = &self.settings().limits;
            let Decision { spawn, one_shots: room, drain, look_again } =
                scaling::decide(&queues, one_shots.seats.len(), &pool, state.last_spawn, limits, self.now());
            for scaling::Drain { id, why } in drain {
                self.drain(state, &id, why).await;
            }
            if let Some(tick) = look_again {
                again = again.min(Some(self.context.clock.instant_of(tick)));
            }
            let rest = one_shots.seats.split_off(room.min(one_shots.seats.len()));
            for free in std::mem::replace(&mut one_shots.seats, rest) {
                self.start_one_shot(myself, state, &free).await;
            }
            // How the last one fared decides whether there is a next.
            let Some(spawn) = spawn.filter(|_| state.unsettled.is_empty()) else { break };
            if let Err(why) = self.spawn(myself, state, &spawn).await {
                self.in_trouble(state, &Post::of_agents(spawn.project.as_ref()), why);
                break;
            }
        }
        if let Some(at) = again {
            self.look_at(myself, state, at);
        }
    }

    /// What waits in each project, as far as it matters and may be served: for agents, and for one-shot reviewers.
    async fn waiting(&self, state: &mut State) -> Result<(Vec<WaitingIn>, OneShotsWaiting), StoreError> {
        let limits = &self.settings().limits;
        let enough = u64::from(limits.ratio).saturating_mul(limits.max_size as u64).saturating_add(1);
        let projects = self.context.projects.names().into_iter().map(Some).chain([None]);
        let mut waiting = Vec::new();
        let one_shot = self.one_shot_personas();
        let mut one_shots = OneShotsWaiting::default();
        for project in projects {
            self.one_shots_waiting(state, project.as_ref(), &one_shot, &mut one_shots).await?;
            let reviews = self.context.reader.list_waiting_reviews(project.as_deref(), &one_shot, enough).await?;
            let post = Post::of_agents(project.as_ref());
            if reviews.is_empty() {
                state.troubles.can(&post);
            } else if !state.troubles.is_open(&post) {
                let hold_until = state.troubles.hold_until(&post);
                waiting.push(WaitingIn { project, reviews, hold_until });
            }
        }
        one_shots.seats.sort_unstable();
        Ok((waiting, one_shots))
    }

    /// Sets the alarm for the next look; an earlier one that is set stays.
    fn look_at(&self, myself: &ActorRef<PoolMessage>, state: &mut State, at: Instant) {
        let is_set = |(earlier, alarm): &(Instant, tokio::task::AbortHandle)| *earlier <= at && !alarm.is_finished();
        if state.alarm.as_ref().is_some_and(is_set) {
            return;
        }
        let mailbox = self.mailbox(myself);
        let alarm = tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            mailbox.send(PoolMessage::Look);
        });
        if let Some((_, before)) = state.alarm.replace((at, alarm.abort_handle())) {
            before.abort();
        }
    }

    pub(super) fn in_trouble(&self, state: &mut State, post: &Post, why: String) {
        if state.troubles.cannot(post, why.clone(), self.settings().check_every, self.now()) {
            tracing::error!(%why, project = post.project, persona = post.persona, "no reviewer can be started");
        }
    }

    async fn spawn(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        spawn: &Spawn,
    ) -> Result<LiveReviewer, String> {
        let taken: BTreeSet<_> = state.members.values().map(|member| member.row.name.as_str()).collect();
        let prepared = spawn::prepare(&self.context, self.settings(), spawn, &taken)?;
        let view = self.hire(myself, state, prepared).await?;
        state.last_spawn = Some(self.now());
        state.troubles.can(&Post::of_agents(spawn.project.as_ref()));
        Ok(view)
    }

    /// Starts what was prepared.
    pub(super) async fn hire(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        Prepared { start, credential }: Prepared,
    ) -> Result<LiveReviewer, String> {
        let stats = Arc::new(ActorStats::new());
        let (context, pool) = (Arc::clone(&self.context), self.mailbox(myself));
        let actor = ReviewerActor { context, pool, stats: Arc::clone(&stats) };
        let (row, usage) = (start.row.clone(), Arc::clone(&start.usage));
        let (actor, _) =
            Actor::spawn_linked(None, actor, start, myself.get_cell()).await.map_err(|error| error.to_string())?;
        let now = self.now();
        let member = Member {
            row,
            spawned: now,
            mailbox: Mailbox::new(actor, stats),
            credential,
            usage,
            folder: self.settings().folder.clone(),
            started: false,
            claims: HashMap::new(),
            handled: 0,
            has_claimed: false,
            idle_since: now,
            leaving: None,
        };
        let view = member.view(now);
        state.members.insert(member.row.id.clone(), member);
        Ok(view)
    }

    pub(super) async fn spawn_asked(
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
        if state.troubles.clear(project.as_ref()) {
            self.write(None, Some(PoolEvent::CrashLoopCleared { project: project.clone() }));
        }
        let spawn = Spawn { project, why: SpawnReason::Operator };
        let spawned = self.spawn(myself, state, &spawn).await;
        // The queue may want more of them now.
        self.look_soon(myself, state).await;
        spawned.map_err(|why| {
            self.in_trouble(state, &Post::of_agents(spawn.project.as_ref()), why.clone());
            BrokerError::PoolUnavailable { why }
        })
    }

    pub(super) async fn stop_asked(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        given: &str,
        at_once: bool,
    ) -> Result<LiveReviewer, BrokerError> {
        let named = |member: &&Member| member.row.is_called(given);
        let Some(id) = state.members.values().find(named).map(|member| member.row.id.clone()) else {
            let known = state.members.keys().cloned().collect();
            return Err(BrokerError::UnknownReviewer { given: domain::text::truncate(given, 80).to_owned(), known });
        };
        self.drain(state, &id, DrainReason::Operator).await;
        if at_once {
            self.stop(state, &id);
        }
        self.look_soon(myself, state).await;
        let now = self.now();
        let member = state.members.get(&id).map(|member| member.view(now));
        member.ok_or_else(|| BrokerError::UnknownReviewer { given: id, known: Vec::new() })
    }

    /// From now on it gets no new claim; once it holds none it is ended. What is kept for it is kept no longer.
    async fn drain(&self, state: &mut State, id: &str, why: DrainReason) {
        let Some(member) = state.members.get_mut(id) else { return };
        if member.leaving.is_none() {
            member.credential.drain();
            member.leaving = Some(Leaving::Draining(why));
            tracing::info!(reviewer.id = id, %why, "reviewer draining");
            self.write(None, Some(PoolEvent::ReviewerDraining { reviewer: id.into(), why }));
            let (context, id) = (Arc::clone(&self.context), id.to_owned());
            tokio::spawn(async move { release_claims::give_back_reservations(&context, &id).await });
        }
        self.end_the_drained(state).await;
    }

    /// Ends those that are to leave and hold nothing any more. The database is asked, because the log may be
    /// a moment behind. `true` if one is just claiming, so that nobody can say yet.
    async fn end_the_drained(&self, state: &mut State) -> bool {
        let draining = |member: &&Member| matches!(member.leaving, Some(Leaving::Draining(_)));
        let ids: Vec<_> = state.members.values().filter(draining).map(|member| member.row.id.clone()).collect();
        let mut unclear = false;
        for id in ids {
            if state.members.get(&id).is_some_and(|member| member.credential.is_claiming()) {
                unclear = true;
                continue;
            }
            match self.context.reader.list_claimed_by(&id).await {
                Ok(held) if held.is_empty() => self.stop(state, &id),
                Ok(_) => {}
                Err(error) => tracing::error!(reviewer.id = id, %error, "what a reviewer holds cannot be read"),
            }
        }
        unclear
    }

    pub(super) fn stop(&self, state: &mut State, id: &str) {
        let Some(member) = state.members.get_mut(id) else { return };
        let Some(Leaving::Draining(why)) = member.leaving else { return };
        member.leaving = Some(Leaving::Stopping(why));
        member.mailbox.send(ReviewerMessage::Stop { grace: self.settings().stop_grace });
    }
}
