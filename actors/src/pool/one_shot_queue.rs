//! The seats that wait for one-shot reviewers.

use super::{
    PoolMessage, ReviewerPool, State,
    backoff::SpawnTarget,
    reviewer_actor::ReviewerMessage,
    reviewers::{Phase, Reviewer},
    spawn::SpawnPlan,
};
use domain::{ids::ReviewId, persona::Mode, pool::scaling::DrainReason, time::Tick};
use ractor::ActorRef;
use store::{FreeSeat, StoreError};

#[derive(Default)]
pub(crate) struct OneShotQueue {
    /// Seats that a reviewer may be started for now, in the order of the queue.
    pub(crate) seats: Vec<FreeSeat>,
    /// When seats whose reviewers have just failed may be served again.
    pub(crate) retry_at: Option<Tick>,
}

impl ReviewerPool {
    /// The personas whose seats are served by one-shot reviewers, not by agents.
    pub(crate) fn one_shot_personas(&self) -> Vec<&str> {
        let personas = self.context.settings.personas.values();
        personas.filter(|persona| persona.mode == Mode::OneShot).map(|persona| persona.name.as_str()).collect()
    }

    /// Adds the seats of a project to the queue.
    pub(crate) async fn read_one_shot_seats(
        &self,
        state: &mut State,
        project: Option<&String>,
        personas: &[&str],
        queue: &mut OneShotQueue,
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
        let limit = self.settings().limits.max_size + state.live().count();
        let seats = self.context.reader.list_one_shot_seats(project.map(String::as_str), &allowed, limit).await?;
        state.avoided_seats.retain(|_, until| *until > now);
        let is_served = |free: &FreeSeat| state.live().any(|reviewer| reviewer.row.seat.as_ref() == Some(&free.seat));
        let is_avoided = |free: &FreeSeat| state.avoided_seats.contains_key(&free.seat);
        queue.seats.extend(seats.into_iter().filter(|free| !is_served(free) && !is_avoided(free)));
        Ok(())
    }

    pub(crate) async fn spawn_one_shot(&self, myself: &ActorRef<PoolMessage>, state: &mut State, free: &FreeSeat) {
        let Some(persona) = self.context.settings.personas.get(&free.seat.persona) else { return };
        let target = SpawnTarget { project: free.project.clone(), persona: Some(persona.name.clone()) };
        let spawned = match SpawnPlan::one_shot(&self.context, persona, free, &state.live_names()) {
            Ok(plan) => self.spawn(myself, state, plan).await,
            Err(why) => Err(why),
        };
        match spawned {
            Ok(_) => state.health.clear_failure(&target),
            Err(why) => self.record_spawn_failure(state, &target, why),
        }
    }

    /// Stops a one-shot reviewer that has lost its seat and has nothing left to do. Agents go on with the next review.
    pub(crate) fn stop_one_shot(&self, reviewer: &mut Reviewer, review: ReviewId, why: DrainReason) {
        if reviewer.row.seat.is_none() || reviewer.claims.contains_key(&review) {
            return;
        }
        match reviewer.phase {
            Phase::Starting | Phase::Running | Phase::Draining => {
                reviewer.phase = Phase::Stopping;
                reviewer.stop_reason = Some(why);
                reviewer.mailbox.send(ReviewerMessage::Stop { grace: self.settings().stop_grace });
            }
            Phase::Stopping => {}
            // It lost the seat before it exited, so its exit is judged as if it had been stopped.
            Phase::Exited(_) => {
                reviewer.stop_reason.get_or_insert(why);
            }
        }
    }
}
