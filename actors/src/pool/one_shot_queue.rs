//! Seats that one-shot reviewers serve: which of them wait, and who is started for them.

use super::{
    PoolMessage, ReviewerPool, State,
    backoff::Post,
    reviewer_actor::ReviewerMessage,
    reviewers::{Leaving, Member},
    spawn,
};
use domain::persona::Mode;
use domain::{ids::ReviewId, pool::scaling::DrainReason, time::Tick};
use ractor::ActorRef;
use std::collections::BTreeSet;
use store::{FreeSeat, StoreError};

/// What waits for one-shot reviewers.
#[derive(Default)]
pub(super) struct OneShotsWaiting {
    /// In the order of the queue.
    pub(super) seats: Vec<FreeSeat>,
    /// When those may be served whose reviewers have just failed.
    pub(super) again: Option<Tick>,
}

impl ReviewerPool {
    /// The personas whose seats no agent is started for.
    pub(super) fn one_shot_personas(&self) -> Vec<&str> {
        let personas = self.context.settings.personas.values();
        personas.filter(|persona| persona.mode == Mode::OneShot).map(|persona| persona.name.as_str()).collect()
    }

    /// Adds the seats of a project that somebody could be started for now.
    pub(super) async fn one_shots_waiting(
        &self,
        state: &mut State,
        project: Option<&String>,
        personas: &[&str],
        waiting: &mut OneShotsWaiting,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let mut open = Vec::new();
        for persona in personas {
            let post = Post { project: project.cloned(), persona: Some((*persona).to_owned()) };
            let hold_until = state.troubles.hold_until(&post).filter(|at| *at > self.now());
            if hold_until.is_some() {
                waiting.again = waiting.again.map_or(hold_until, |before| hold_until.map(|at| at.min(before)));
            }
            // How the last one fared decides whether there is a next.
            let unclear = state.unsettled.iter().any(|unsettled| unsettled.member.is_at(&post));
            if hold_until.is_none() && !unclear && !state.troubles.is_open(&post) {
                open.push(*persona);
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        let enough = self.settings().limits.max_size + state.members.len();
        let seats = self.context.reader.list_one_shot_seats(project.map(String::as_str), &open, enough).await?;
        let served =
            |free: &FreeSeat| state.members.values().any(|member| member.row.seat.as_ref() == Some(&free.seat));
        state.avoided.retain(|_, until| *until > now);
        let avoided = |free: &FreeSeat| state.avoided.contains_key(&free.seat);
        waiting.seats.extend(seats.into_iter().filter(|free| !served(free) && !avoided(free)));
        Ok(())
    }

    pub(super) async fn start_one_shot(&self, myself: &ActorRef<PoolMessage>, state: &mut State, free: &FreeSeat) {
        let Some(persona) = self.context.settings.personas.get(&free.seat.persona) else { return };
        let post = Post { project: free.project.clone(), persona: Some(persona.name.clone()) };
        let taken: BTreeSet<_> = state.members.values().map(|member| member.row.name.as_str()).collect();
        let started = match spawn::prepare_one_shot(&self.context, self.settings(), persona, free, &taken) {
            Ok(prepared) => self.hire(myself, state, prepared).await,
            Err(why) => Err(why),
        };
        match started {
            Ok(_) => state.troubles.can(&post),
            Err(why) => self.in_trouble(state, &post, why),
        }
    }

    /// A one-shot reviewer that has lost its seat has nothing left to do. Agents go on to the next.
    pub(super) fn dismiss(&self, member: &mut Member, review: ReviewId, why: DrainReason) {
        let holds_none = !member.claims.contains_key(&review);
        if member.row.seat.is_some() && holds_none && !matches!(member.leaving, Some(Leaving::Stopping(_))) {
            member.leaving = Some(Leaving::Stopping(why));
            member.mailbox.send(ReviewerMessage::Stop { grace: self.settings().stop_grace });
        }
    }
}
