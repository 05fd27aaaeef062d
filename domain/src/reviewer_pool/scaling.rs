//! Decides how many reviewer processes run: takes the queue and the state of the pool, returns which reviewers to start
//! and to stop. Pure, so equal arguments give equal decisions.

use crate::time::Tick;
use std::{cmp::Reverse, time::Duration};

/// The largest size that a pool may have.
pub const MAX_POOL_SIZE: usize = 10;

/// The settings a decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Waiting seats per reviewer above which another reviewer is started.
    pub ratio: u32,
    /// The largest number of live processes, including those that are stopping.
    pub max_size: usize,
    /// The shortest time between two starts. It does not apply to a project that has no reviewer.
    pub cooldown: Duration,
    /// A reviewer that was idle this long is stopped.
    pub idle_after: Duration,
    /// A reviewer of this age is stopped: agents get worse as their context fills.
    pub ttl: Duration,
}

/// The work waiting in one project. Each reviewer works for one project, and an agent that is bound to a persona only for
/// the seats of that persona.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// `None` stands for the reviews without a project.
    pub project: Option<String>,
    /// The persona of the seats, if they are for agents that are bound to it.
    pub persona: Option<String>,
    /// Waiting seats; a review may have several.
    pub pending: u64,
    /// The least number of reviewers these reviews need, because a reviewer takes only one seat of a review.
    pub panel: u64,
    /// No reviewer is started for it before this tick, because its reviewers have just failed.
    pub hold_until: Option<Tick>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle {
        since: Tick,
    },
    Busy,
    /// Draining or stopping: it takes no new work and still counts as a live process.
    Leaving,
    /// Serves one seat, which the broker claims for it, and exits by itself.
    Assigned,
}

/// One live reviewer process, as far as scaling is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    pub project: Option<String>,
    /// The persona that it is bound to.
    pub persona: Option<String>,
    pub spawned: Tick,
    pub activity: Activity,
    /// It already has a seat in every review that waits in its project, so it can take none of them.
    pub spent: bool,
}

crate::string_enum! {
    /// Why a reviewer is stopped.
    DrainReason {
        Idle = "idle",
        Ttl = "ttl",
        /// The pool is full, and reviews wait that only another reviewer can take.
        MakeRoom = "make_room",
        /// It no longer holds the seat it was started for.
        NotNeeded = "not_needed",
        Operator = "operator",
    }
}

crate::string_enum! {
    /// Why a reviewer was started.
    SpawnReason {
        ColdStart = "cold_start",
        Backlog = "backlog",
        Operator = "operator",
        /// For one seat that the broker claims for it.
        OneShot = "one_shot",
        /// For a turn of a dedicated reviewer.
        Dedicated = "dedicated",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    pub project: Option<String>,
    /// The persona that the agent is to be bound to.
    pub persona: Option<String>,
    pub why: SpawnReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    pub id: String,
    pub why: DrainReason,
}

/// What to do now. At most one agent is started per decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub spawn: Option<Spawn>,
    /// How many of the waiting seats to start a reviewer for.
    pub assigned: usize,
    pub drain: Vec<Drain>,
    /// When to decide again if no event comes before.
    pub next_check: Option<Tick>,
}

/// Decides whom to start and whom to stop. `queues` may omit projects without work; `seats` is the number of seats that
/// wait for a reviewer of their own.
///
/// A project without a reviewer comes first, then reviewers of one seat, which are sure to exit, then reviewers that only
/// shorten a queue.
pub fn decide(
    queues: &[Queue],
    seats: usize,
    pool: &[Member],
    last_spawn: Option<Tick>,
    limits: &Limits,
    now: Tick,
) -> Decision {
    let mut decision = decide_agents(queues, pool, last_spawn, limits, now);
    let cold = decision.spawn.as_ref().is_some_and(|spawn| spawn.why == SpawnReason::ColdStart);
    let room = limits.max_size.saturating_sub(pool.len());
    decision.assigned = seats.min(room.saturating_sub(cold.into()));
    if !cold && decision.assigned == room {
        decision.spawn = None;
    }
    let unserved = seats > 0 && room == 0 && pool.iter().all(|member| member.activity != Activity::Assigned);
    if unserved && decision.drain.is_empty() && !any_leaves(pool) {
        decision.drain.extend(make_room(queues, &pool.iter().collect::<Vec<_>>()));
    }
    decision
}

fn any_leaves(pool: &[Member]) -> bool {
    pool.iter().any(|member| member.activity == Activity::Leaving)
}

/// [`decide`] for agents, which claim reviews by themselves.
fn decide_agents(queues: &[Queue], pool: &[Member], last_spawn: Option<Tick>, limits: &Limits, now: Tick) -> Decision {
    let mut decision = Decision::default();
    for member in pool {
        match (retires_at(member, limits), member.activity) {
            (_, Activity::Leaving | Activity::Assigned) => {}
            (at, _) if at.0 <= now => decision.drain.push(Drain { id: member.id.clone(), why: at.1 }),
            ((at, _), _) => check_at(&mut decision, at),
        }
    }
    let stays = |member: &&Member| {
        !matches!(member.activity, Activity::Leaving | Activity::Assigned)
            && !decision.drain.iter().any(|drain| drain.id == member.id)
    };
    let staying: Vec<&Member> = pool.iter().filter(stays).collect();
    // Failures in one project do not delay another.
    let (held, open): (Vec<_>, Vec<_>) =
        queues.iter().filter(|queue| queue.pending > 0).partition(|queue| queue.hold_until.is_some_and(|at| at > now));
    for at in held.iter().filter_map(|queue| queue.hold_until) {
        check_at(&mut decision, at);
    }
    let Some((queue, why)) = neediest(&open, &staying, limits) else { return decision };
    if pool.len() >= limits.max_size {
        let unserved = why == SpawnReason::ColdStart || staying.iter().all(|member| !serves(member, queue));
        if unserved && decision.drain.is_empty() && !any_leaves(pool) {
            decision.drain.extend(make_room(queues, &staying));
        }
        return decision;
    }
    let rested = last_spawn.map(|last| last.plus(limits.cooldown)).filter(|_| why != SpawnReason::ColdStart);
    match rested.filter(|at| *at > now) {
        Some(at) => check_at(&mut decision, at),
        None => decision.spawn = Some(Spawn { project: queue.project.clone(), persona: queue.persona.clone(), why }),
    }
    decision
}

/// When and why a member is stopped if nothing happens before.
fn retires_at(member: &Member, limits: &Limits) -> (Tick, DrainReason) {
    let old = (member.spawned.plus(limits.ttl), DrainReason::Ttl);
    match member.activity {
        Activity::Idle { since } => old.min((since.plus(limits.idle_after), DrainReason::Idle)),
        Activity::Busy | Activity::Leaving | Activity::Assigned => old,
    }
}

/// The queue to start a reviewer for: first one without a reviewer, then the longest.
fn neediest<'a>(queues: &[&'a Queue], staying: &[&Member], limits: &Limits) -> Option<(&'a Queue, SpawnReason)> {
    let need = |queue: &&'a Queue| {
        let queue: &'a Queue = queue;
        let active = staying.iter().filter(|member| works_for(member, queue)).count() as u64;
        match (queue.pending, active) {
            (0, _) => None,
            (_, 0) => Some((queue, SpawnReason::ColdStart)),
            (pending, active) if pending > active.saturating_mul(limits.ratio.into()) || queue.panel > active => {
                Some((queue, SpawnReason::Backlog))
            }
            _ => None,
        }
    };
    queues.iter().filter_map(need).min_by_key(|(queue, why)| (*why, Reverse(queue.pending)))
}

fn works_for(member: &Member, queue: &Queue) -> bool {
    member.project == queue.project && member.persona == queue.persona
}

/// Whether the member can take a review of this queue.
fn serves(member: &Member, queue: &Queue) -> bool {
    works_for(member, queue) && queue.pending > 0 && !member.spent
}

/// Of the reviewers that can take none of the waiting reviews, the one that has been idle longest.
fn make_room(queues: &[Queue], staying: &[&Member]) -> Option<Drain> {
    let idle = staying.iter().filter_map(|member| match member.activity {
        Activity::Idle { since } if !queues.iter().any(|queue| serves(member, queue)) => Some((since, &member.id)),
        Activity::Idle { .. } | Activity::Busy | Activity::Leaving | Activity::Assigned => None,
    });
    idle.min().map(|(_, id)| Drain { id: id.clone(), why: DrainReason::MakeRoom })
}

fn check_at(decision: &mut Decision, at: Tick) {
    decision.next_check = Some(decision.next_check.map_or(at, |before| before.min(at)));
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
