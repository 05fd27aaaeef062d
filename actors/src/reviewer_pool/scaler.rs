//! Part of the pool's actor that starts and stops reviewers, as [`domain::reviewer_pool::scaling`] decides or as an
//! operator asks.

use super::{
    LiveReviewer, PoolMessage, ReviewerPool, State, exited_reviewers,
    reviewer_actor::{ReviewerActor, ReviewerMessage},
    reviewer_registry::{Phase, Reviewer},
    spawn_health::SpawnTarget,
    spawn_plan::SpawnPlan,
};
use crate::{
    error::BrokerError,
    mailbox::{ActorStats, Mailbox},
};
use domain::{
    ids::ReviewId,
    persona::Mode,
    reviewer_pool::{
        PoolEvent, dedicated_name,
        scaling::{self, Decision, DrainReason, Queue, Spawn, SpawnReason},
    },
    text::truncate,
    time::Tick,
};
use ractor::{Actor, ActorRef};
use std::{collections::HashMap, sync::Arc, time::Duration};
use store::{FreeSeat, StoreError, WaitingReview};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// The shortest time between two decisions that events in the log cause.
const RESCALE_DELAY: Duration = Duration::from_millis(100);

/// The reviews of a project that wait for agents.
struct AgentQueue {
    project: Option<String>,
    /// The persona whose seats wait for agents that are bound to it. `None`: the seats for all other agents.
    persona: Option<String>,
    reviews: Vec<WaitingReview>,
    hold_until: Option<Tick>,
}

/// The seats that wait for a reviewer of their own: one-shot or dedicated.
#[derive(Default)]
struct SeatQueue {
    /// Seats that a reviewer may be started for now, in the order of the queue.
    seats: Vec<FreeSeat>,
    /// When seats whose reviewers have just failed may be served again.
    retry_at: Option<Tick>,
}

impl AgentQueue {
    fn summarize(&self, state: &State) -> Queue {
        let is_agent = |reviewer: &Reviewer| {
            !reviewer.is_leaving() && reviewer.row.seat.is_none() && reviewer.row.bound_to == self.persona
        };
        let stays = |id: &String| state.reviewers.get(id).is_some_and(is_agent);
        let panel = |review: &WaitingReview| review.seats + review.holders.iter().filter(|id| stays(id)).count() as u64;
        Queue {
            project: self.project.clone(),
            persona: self.persona.clone(),
            pending: self.reviews.iter().map(|review| review.seats).sum(),
            panel: self.reviews.iter().map(panel).max().unwrap_or_default(),
            hold_until: self.hold_until,
        }
    }
}

fn as_member(reviewer: &Reviewer, queues: &[AgentQueue]) -> scaling::Member {
    let row = &reviewer.row;
    let own = queues.iter().find(|queue| queue.project == row.project && queue.persona == row.bound_to);
    scaling::Member {
        id: reviewer.row.id.clone(),
        project: row.project.clone(),
        persona: row.bound_to.clone(),
        spawned: reviewer.spawned_at,
        activity: reviewer.activity(),
        spent: own.is_some_and(|own| own.reviews.iter().all(|review| review.holders.contains(&reviewer.row.id))),
    }
}

fn spawn_target(spawn: &Spawn) -> SpawnTarget {
    SpawnTarget::agents(spawn.project.as_ref(), spawn.persona.as_ref())
}

impl ReviewerPool {
    /// Decides now, or as soon as [`RESCALE_DELAY`] has passed since the last decision.
    pub(crate) async fn rescale_soon(&self, myself: &ActorRef<PoolMessage>, state: &mut State) {
        match state.last_rescale.map(|last| last + RESCALE_DELAY) {
            Some(due) if due > Instant::now() => self.rescale_at(myself, state, due),
            Some(_) | None => self.rescale(myself, state).await,
        }
    }

    /// Decides how many reviewers are needed, starts and stops them, and schedules the next decision.
    pub(crate) async fn rescale(&self, myself: &ActorRef<PoolMessage>, state: &mut State) {
        if !state.cleaned_up || state.stopping {
            return;
        }
        let now = Instant::now();
        state.last_rescale = Some(now);
        let mut next = now + self.settings().check_every;
        self.delete_old_sessions(state).await;
        if !self.settings().enabled {
            let dedicated = self.shared.reader.list_dedicated_reviewers().await;
            if dedicated.is_ok_and(|dedicated| !dedicated.is_empty()) {
                self.rescale_at(myself, state, next);
            }
            return;
        }
        if self.stop_drained(state).await {
            next = next.min(now + RESCALE_DELAY);
        }
        let (project_queues, mut own_seats) = match self.read_queues(state).await {
            Ok(queues) => queues,
            Err(error) => {
                tracing::error!(%error, "the pool cannot read the queue");
                Default::default()
            }
        };
        if let Some(tick) = own_seats.retry_at {
            next = next.min(self.shared.clock.instant_of(tick));
        }
        loop {
            let queues: Vec<_> = project_queues.iter().map(|queue| queue.summarize(state)).collect();
            let members: Vec<_> = state.live().map(|reviewer| as_member(reviewer, &project_queues)).collect();
            // A paused pool only stops reviewers that are idle or old.
            let (queues, seats) = match state.pause {
                Some(_) => (Vec::new(), 0),
                None => (queues, own_seats.seats.len()),
            };
            let Decision { spawn, assigned: count, drain, next_check } =
                scaling::decide(&queues, seats, &members, state.last_spawn, &self.limits(), self.now());
            for scaling::Drain { id, why } in drain {
                self.drain(state, &id, why, None).await;
            }
            if let Some(tick) = next_check {
                next = next.min(self.shared.clock.instant_of(tick));
            }
            let rest = own_seats.seats.split_off(count.min(own_seats.seats.len()));
            for seat in std::mem::replace(&mut own_seats.seats, rest) {
                self.spawn_for_seat(myself, state, &seat).await;
            }
            // A pending exit may turn out to be a failure, which delays the next start.
            let Some(spawn) = spawn.filter(|_| !state.has_pending_exits()) else { break };
            if let Err(why) = self.spawn_agent(myself, state, &spawn, None).await {
                self.record_spawn_failure(state, &spawn_target(&spawn), why);
                break;
            }
        }
        state.queued_seats = own_seats.seats.into_iter().map(|free| free.seat).collect();
        self.rescale_at(myself, state, next);
    }

    /// The waiting work of each project that reviewers may be started for: for agents and for reviewers of one seat.
    /// Reads no more reviews than can make a difference.
    async fn read_queues(&self, state: &mut State) -> Result<(Vec<AgentQueue>, SeatQueue), StoreError> {
        let limits = self.limits();
        let max_reviews = u64::from(limits.ratio).saturating_mul(limits.max_size as u64).saturating_add(1);
        let (personas, bound) = (self.personas_with_reviewers(), self.personas_with_agents());
        let not_for_all: Vec<_> = personas.iter().chain(&bound).copied().collect();
        let (mut queues, mut own_seats) = (Vec::new(), SeatQueue::default());
        for project in self.submissions.projects.names().into_iter().map(Some).chain([None]) {
            self.read_seats(state, project.as_ref(), &personas, &mut own_seats).await?;
            for persona in bound.iter().copied().map(Some).chain([None]) {
                let reader = &self.shared.reader;
                let reviews = match &persona {
                    Some(own) => reader.list_waiting_reviews(project.as_deref(), &[own], true, max_reviews).await?,
                    None => reader.list_waiting_reviews(project.as_deref(), &not_for_all, false, max_reviews).await?,
                };
                let persona = persona.map(str::to_owned);
                let target = SpawnTarget::agents(project.as_ref(), persona.as_ref());
                if reviews.is_empty() {
                    state.health.clear_failure(&target);
                } else if !state.health.is_open(&target) {
                    let hold_until = state.health.hold_until(&target);
                    queues.push(AgentQueue { project: project.clone(), persona, reviews, hold_until });
                }
            }
        }
        own_seats.seats.sort_unstable();
        // The queue is read in several queries, so a review that changes its status in between may be in two.
        own_seats.seats.dedup();
        Ok((queues, own_seats))
    }

    /// Schedules the next decision, unless an earlier one is already scheduled.
    fn rescale_at(&self, myself: &ActorRef<PoolMessage>, state: &mut State, at: Instant) {
        let is_set = |(earlier, timer): &(Instant, AbortOnDropHandle<()>)| *earlier <= at && !timer.is_finished();
        if state.rescale_timer.as_ref().is_some_and(is_set) {
            return;
        }
        let mailbox = self.mailbox(myself);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(at).await;
            mailbox.send(PoolMessage::Rescale);
        });
        state.rescale_timer = Some((at, AbortOnDropHandle::new(timer)));
    }

    fn record_spawn_failure(&self, state: &mut State, target: &SpawnTarget, why: String) {
        if state.health.record_failure(target, why.clone(), self.settings().check_every, self.now()) {
            tracing::error!(%why, project = target.project, persona = target.persona, "cannot start a reviewer");
        }
    }

    async fn spawn_agent(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        spawn: &Spawn,
        by: Option<String>,
    ) -> Result<LiveReviewer, String> {
        let mut plan = SpawnPlan::agent(&self.shared, spawn, &state.live_names())?;
        plan.row.spawned_by = by;
        let status = self.spawn(myself, state, plan).await?;
        state.last_spawn = Some(self.now());
        state.health.clear_failure(&spawn_target(spawn));
        Ok(status)
    }

    /// Starts the reviewer's actor, which starts its process.
    async fn spawn(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        plan: SpawnPlan,
    ) -> Result<LiveReviewer, String> {
        let stats = Arc::new(ActorStats::new());
        let (shared, submissions) = (Arc::clone(&self.shared), Arc::clone(&self.submissions));
        let actor = ReviewerActor { shared, submissions, pool: self.mailbox(myself), stats: Arc::clone(&stats) };
        let (row, progress, credential) = (plan.row.clone(), plan.progress.clone(), Arc::clone(&plan.credential));
        let (actor, _) = Actor::spawn_linked(None, actor, plan, myself.get_cell()).await.map_err(|error| {
            exited_reviewers::discard(&self.shared, &row.id);
            error.to_string()
        })?;
        let now = self.now();
        let reviewer = Reviewer {
            row,
            spawned_at: now,
            mailbox: Mailbox::new(actor, stats),
            credential,
            progress,
            folder: self.settings().work_dir.clone(),
            phase: Phase::Starting,
            stop_reason: None,
            stopped_by: None,
            claims: HashMap::new(),
            handled: 0,
            has_claimed: false,
            idle_since: now,
        };
        let status = reviewer.status(now);
        // A dedicated reviewer has the same id in every turn.
        state.gone.remove(&reviewer.row.id);
        state.reviewers.insert(reviewer.row.id.clone(), reviewer);
        Ok(status)
    }

    pub(crate) async fn spawn_for_operator(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        project: Option<String>,
        persona: Option<String>,
        by: Option<String>,
    ) -> Result<LiveReviewer, BrokerError> {
        let (limits, now) = (self.limits(), self.now());
        if let Some(persona) = &persona {
            self.check_spawnable(persona)?;
        }
        match state.last_spawn.map(|last| last.plus(limits.cooldown)) {
            _ if !self.settings().enabled => return Err(BrokerError::PoolDisabled),
            _ if state.stopping => return Err(BrokerError::ShuttingDown),
            _ if state.pause.is_some() => return Err(BrokerError::PoolPaused),
            _ if state.live().count() >= limits.max_size => {
                return Err(BrokerError::PoolFull { max_size: limits.max_size });
            }
            Some(cooldown_end) if cooldown_end > now => {
                let ms = u64::try_from(cooldown_end.0 - now.0).unwrap_or_default();
                return Err(BrokerError::CoolingDown { ms });
            }
            _ => {}
        }
        if state.health.reset(project.as_ref()) {
            let _ =
                self.write(None, Some(PoolEvent::CrashLoopCleared { project: project.clone(), by: by.clone() })).await;
        }
        let spawn = Spawn { project, persona, why: SpawnReason::Operator };
        let spawned = self.spawn_agent(myself, state, &spawn, by).await;
        // The queue may need more reviewers, which a crash loop had prevented.
        self.rescale_soon(myself, state).await;
        spawned.map_err(|why| {
            self.record_spawn_failure(state, &spawn_target(&spawn), why.clone());
            BrokerError::PoolUnavailable { why }
        })
    }

    pub(crate) async fn stop_for_operator(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        given: &str,
        at_once: bool,
        by: Option<String>,
    ) -> Result<LiveReviewer, BrokerError> {
        let is_dedicated = |reviewer: &&mut Reviewer| reviewer.row.session.is_some() && reviewer.row.is_called(given);
        if let Some(reviewer) = state.reviewers.values_mut().find(is_dedicated) {
            reviewer.stop_session();
            let row = reviewer.row.clone();
            // Committed before the reply: it does not come back, even if the broker is killed while it finishes its turn.
            let saved = self.reviews().record(self.shared.clock.now(), Some(row), None).await;
            saved.map_err(|error| BrokerError::NotSaved { why: error.to_string() })?;
        }
        let found = state.live().find(|reviewer| reviewer.row.is_called(given)).map(|reviewer| reviewer.row.id.clone());
        let Some(id) = found else {
            if let Some(stopped) = self.stop_waiting_dedicated(state, given, by).await? {
                return Ok(stopped);
            }
            let known = state.live().map(|reviewer| reviewer.row.id.clone()).collect();
            return Err(BrokerError::UnknownReviewer { given: truncate(given, 80).to_owned(), known });
        };
        self.drain(state, &id, DrainReason::Operator, by).await;
        if at_once {
            self.stop(state, &id);
        }
        self.rescale_soon(myself, state).await;
        let now = self.now();
        let status = state.live_mut(&id).map(|reviewer| reviewer.status(now));
        status.ok_or_else(|| BrokerError::UnknownReviewer { given: id, known: Vec::new() })
    }

    /// From now on the reviewer gets no new claim. It loses its reservations, and is stopped once it holds no claim.
    async fn drain(&self, state: &mut State, id: &str, why: DrainReason, by: Option<String>) {
        let Some(reviewer) = state.live_mut(id) else { return };
        if !reviewer.is_leaving() {
            reviewer.credential.drain();
            reviewer.phase = Phase::Draining;
            reviewer.stop_reason = Some(why);
            reviewer.stopped_by.clone_from(&by);
            tracing::info!(reviewer.id = id, %why, "reviewer draining");
            self.write(None, Some(PoolEvent::ReviewerDraining { reviewer: id.into(), why, by }));
            let (reviews, id) = (self.reviews().clone(), id.to_owned());
            tokio::spawn(async move { exited_reviewers::release_reservations(&reviews, &id).await });
        }
        self.stop_drained(state).await;
    }

    /// Stops draining reviewers that hold no claim. Reads the claims from the database, because the pool may not have
    /// read the end of the log yet. Returns `true` if a reviewer is claiming at this moment and has to be checked again.
    async fn stop_drained(&self, state: &mut State) -> bool {
        let draining = state.reviewers.values().filter(|reviewer| matches!(reviewer.phase, Phase::Draining));
        let draining: Vec<_> =
            draining.map(|reviewer| (reviewer.row.id.clone(), reviewer.credential.is_claiming())).collect();
        let mut is_claiming = false;
        for (id, claiming) in draining {
            if claiming {
                is_claiming = true;
                continue;
            }
            match self.shared.reader.list_claimed_by(&id).await {
                Ok(claimed) if claimed.is_empty() => self.stop(state, &id),
                Ok(_) => {}
                Err(error) => tracing::error!(reviewer.id = id, %error, "cannot read a reviewer's claims"),
            }
        }
        is_claiming
    }

    fn stop(&self, state: &mut State, id: &str) {
        let Some(reviewer) = state.reviewers.get_mut(id) else { return };
        if matches!(reviewer.phase, Phase::Draining) {
            reviewer.phase = Phase::Stopping;
            reviewer.mailbox.send(ReviewerMessage::Stop);
        }
    }

    /// The personas whose seats are served by reviewers of their own, not by agents.
    pub(crate) fn personas_with_reviewers(&self) -> Vec<&str> {
        let personas = self.shared.settings.personas.values();
        personas.filter(|persona| persona.mode != Mode::Agent).map(|persona| persona.name.as_str()).collect()
    }

    /// The personas whose seats are served by agents that are bound to them.
    pub(crate) fn personas_with_agents(&self) -> Vec<&str> {
        let personas = self.shared.settings.personas.values();
        personas.filter(|persona| persona.has_own_agents()).map(|persona| persona.name.as_str()).collect()
    }

    fn has_mode(&self, persona: &str, mode: Mode) -> bool {
        self.shared.settings.personas.get(persona).is_some_and(|persona| persona.mode == mode)
    }

    pub(crate) fn has_dedicated_personas(&self) -> bool {
        self.shared.settings.personas.values().any(|persona| persona.mode == Mode::Dedicated)
    }

    /// Adds the seats of a project to the queue.
    async fn read_seats(
        &self,
        state: &mut State,
        project: Option<&String>,
        personas: &[&str],
        queue: &mut SeatQueue,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let mut allowed = Vec::new();
        for persona in personas {
            let target = SpawnTarget { project: project.cloned(), persona: Some((*persona).to_owned()) };
            let hold_until = state.health.hold_until(&target).filter(|at| *at > now);
            if let Some(at) = hold_until {
                queue.retry_at = Some(queue.retry_at.map_or(at, |before| before.min(at)));
            }
            // A pending exit may turn out to be a failure, which delays the next start.
            let is_pending = state.pending_exits().any(|reviewer| reviewer.target() == target);
            if hold_until.is_none() && !is_pending && !state.health.is_open(&target) {
                allowed.push(*persona);
            }
        }
        if allowed.is_empty() {
            return Ok(());
        }
        let (reader, project) = (&self.shared.reader, project.map(String::as_str));
        let limit = self.max_size() + state.live().count();
        let (dedicated, one_shot): (Vec<_>, Vec<_>) =
            allowed.into_iter().partition(|persona| self.has_mode(persona, Mode::Dedicated));
        let mut seats = Vec::new();
        if !one_shot.is_empty() {
            seats.extend(reader.list_one_shot_seats(project, &one_shot, limit).await?);
        }
        if !dedicated.is_empty() {
            seats.extend(reader.list_dedicated_seats(project, &dedicated, limit).await?);
        }
        state.avoided_seats.retain(|_, until| *until > now);
        // Also until its exit is recorded: a dedicated reviewer has one process at a time.
        let is_served =
            |free: &FreeSeat| state.reviewers.values().any(|reviewer| reviewer.row.seat.as_ref() == Some(&free.seat));
        let is_avoided = |free: &FreeSeat| state.avoided_seats.contains_key(&free.seat);
        queue.seats.extend(seats.into_iter().filter(|free| !is_served(free) && !is_avoided(free)));
        Ok(())
    }

    /// Starts a one-shot reviewer, or the next turn of a dedicated one.
    async fn spawn_for_seat(&self, myself: &ActorRef<PoolMessage>, state: &mut State, free: &FreeSeat) {
        let Some(persona) = self.shared.settings.personas.get(&free.seat.persona) else { return };
        let target = SpawnTarget { project: free.project.clone(), persona: Some(persona.name.clone()) };
        let plan = match persona.mode {
            Mode::Dedicated => {
                let id = dedicated_name(&persona.name, free.seat.review);
                match self.shared.reader.find_reviewer(&id).await {
                    Ok(earlier) => SpawnPlan::dedicated(&self.shared, persona, free, earlier),
                    Err(error) => Err(error.to_string()),
                }
            }
            Mode::OneShot | Mode::Agent => SpawnPlan::one_shot(&self.shared, persona, free, &state.live_names()),
        };
        let spawned = match plan {
            Ok(plan) => self.spawn(myself, state, plan).await,
            Err(why) => Err(why),
        };
        match spawned {
            Ok(_) => state.health.clear_failure(&target),
            Err(why) => self.record_spawn_failure(state, &target, why),
        }
    }

    /// Stops a reviewer of one seat that has lost it and has nothing left to do. Agents go on with the next review.
    pub(crate) fn stop_without_seat(&self, reviewer: &mut Reviewer, review: ReviewId, why: DrainReason) {
        if reviewer.row.seat.is_none() || reviewer.claims.contains_key(&review) {
            return;
        }
        match reviewer.phase {
            Phase::Starting | Phase::Running | Phase::Draining => {
                reviewer.phase = Phase::Stopping;
                reviewer.stop_reason = Some(why);
                reviewer.mailbox.send(ReviewerMessage::Stop);
            }
            Phase::Stopping => {}
            // It lost the seat before it exited, so its exit is judged as if it had been stopped.
            Phase::Exited(_) => {
                reviewer.stop_reason.get_or_insert(why);
            }
        }
    }
}
