//! How many reviewers there should be: queue and pool in, spawn or drain out. Time is a tick, so the same
//! moment always gives the same decision.

use crate::time::Tick;
use std::{cmp::Reverse, time::Duration};

/// The settings a decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Waiting seats that one reviewer is expected to work off.
    pub ratio: u32,
    /// Live processes at most, those that are ending included.
    pub max_size: usize,
    /// The least time between two spawns, unless a project has no reviewer at all.
    pub cooldown: Duration,
    /// A reviewer without work is let go after this.
    pub idle_after: Duration,
    /// A reviewer is let go at this age, whatever it does: agents get worse as their context fills.
    pub ttl: Duration,
}

/// What waits in one project. Reviewers work for one project each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// `None`: reviews that belong to no project.
    pub project: Option<String>,
    /// Seats that wait; a review may have several.
    pub pending: u64,
    /// How many reviewers its reviews need at least, because nobody takes two seats of one review.
    pub panel: u64,
    /// Nothing is spawned for it before this tick, because its reviewers have just failed.
    pub hold_until: Option<Tick>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle {
        since: Tick,
    },
    Busy,
    /// On its way out: takes nothing new, and still counts as a live process.
    Leaving,
    /// Runs once, for a seat that the broker has claimed for it, and ends by itself.
    OneShot,
}

/// One live reviewer process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    pub project: Option<String>,
    pub spawned: Tick,
    pub activity: Activity,
    /// It has a seat in every review that waits in its project, so none of these can be its next.
    pub spent: bool,
}

crate::string_enum! {
    /// Why a reviewer is let go.
    DrainReason {
        Idle = "idle",
        Ttl = "ttl",
        /// Reviews wait that only another reviewer can take, and the pool is full.
        MakeRoom = "make_room",
        /// The one seat it was started for is no longer its own.
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
        /// For one seat, which the broker claims for it.
        OneShot = "one_shot",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    pub project: Option<String>,
    pub why: SpawnReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drain {
    pub id: String,
    pub why: DrainReason,
}

/// What to do now. At most one is spawned at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub spawn: Option<Spawn>,
    /// How many one-shot reviewers there is room for, of those that wait.
    pub one_shots: usize,
    pub drain: Vec<Drain>,
    /// When time alone may change the decision; something may happen before.
    pub look_again: Option<Tick>,
}

/// Decides. Queues without work may be left out. `one_shots` is the number of seats that wait for a reviewer of their
/// own.
///
/// A project that nobody serves comes first, then one-shot reviewers, which are sure to end, then whoever would only
/// make things quicker.
pub fn decide(
    queues: &[Queue],
    one_shots: usize,
    pool: &[Member],
    last_spawn: Option<Tick>,
    limits: &Limits,
    now: Tick,
) -> Decision {
    let mut decision = decide_agents(queues, pool, last_spawn, limits, now);
    let cold = decision.spawn.as_ref().is_some_and(|spawn| spawn.why == SpawnReason::ColdStart);
    let room = limits.max_size.saturating_sub(pool.len());
    decision.one_shots = one_shots.min(room.saturating_sub(cold.into()));
    if !cold && decision.one_shots == room {
        decision.spawn = None;
    }
    let unserved = one_shots > 0 && room == 0 && pool.iter().all(|member| member.activity != Activity::OneShot);
    if unserved && decision.drain.is_empty() && !any_leaves(pool) {
        decision.drain.extend(room_maker(queues, &pool.iter().collect::<Vec<_>>()));
    }
    decision
}

fn any_leaves(pool: &[Member]) -> bool {
    pool.iter().any(|member| member.activity == Activity::Leaving)
}

/// The same for reviewers that look for work themselves.
fn decide_agents(queues: &[Queue], pool: &[Member], last_spawn: Option<Tick>, limits: &Limits, now: Tick) -> Decision {
    let mut decision = Decision::default();
    for member in pool {
        match (retires_at(member, limits), member.activity) {
            (_, Activity::Leaving | Activity::OneShot) => {}
            (at, _) if at.0 <= now => decision.drain.push(Drain { id: member.id.clone(), why: at.1 }),
            ((at, _), _) => look_again(&mut decision, at),
        }
    }
    let stays = |member: &&Member| {
        !matches!(member.activity, Activity::Leaving | Activity::OneShot)
            && !decision.drain.iter().any(|drain| drain.id == member.id)
    };
    let staying: Vec<&Member> = pool.iter().filter(stays).collect();
    // One project's trouble is not another's.
    let (held, open): (Vec<_>, Vec<_>) =
        queues.iter().filter(|queue| queue.pending > 0).partition(|queue| queue.hold_until.is_some_and(|at| at > now));
    for at in held.iter().filter_map(|queue| queue.hold_until) {
        look_again(&mut decision, at);
    }
    let Some((queue, why)) = neediest(&open, &staying, limits) else { return decision };
    if pool.len() >= limits.max_size {
        let unserved = why == SpawnReason::ColdStart || staying.iter().all(|member| !serves(member, queue));
        if unserved && decision.drain.is_empty() && !any_leaves(pool) {
            decision.drain.extend(room_maker(queues, &staying));
        }
        return decision;
    }
    let rested = last_spawn.map(|last| last.plus(limits.cooldown)).filter(|_| why != SpawnReason::ColdStart);
    match rested.filter(|at| *at > now) {
        Some(at) => look_again(&mut decision, at),
        None => decision.spawn = Some(Spawn { project: queue.project.clone(), why }),
    }
    decision
}

/// When, and why, a member is let go if nothing happens before.
fn retires_at(member: &Member, limits: &Limits) -> (Tick, DrainReason) {
    let old = (member.spawned.plus(limits.ttl), DrainReason::Ttl);
    match member.activity {
        Activity::Idle { since } => old.min((since.plus(limits.idle_after), DrainReason::Idle)),
        Activity::Busy | Activity::Leaving | Activity::OneShot => old,
    }
}

/// The queue to spawn for: one that nobody serves comes first, then the longest.
fn neediest<'a>(queues: &[&'a Queue], staying: &[&Member], limits: &Limits) -> Option<(&'a Queue, SpawnReason)> {
    let need = |queue: &&'a Queue| {
        let queue: &'a Queue = queue;
        let active = staying.iter().filter(|member| member.project == queue.project).count() as u64;
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

/// Whether something of this queue can be the member's next.
fn serves(member: &Member, queue: &Queue) -> bool {
    member.project == queue.project && queue.pending > 0 && !member.spent
}

/// The reviewer that has been idle longest and can take nothing that waits.
fn room_maker(queues: &[Queue], staying: &[&Member]) -> Option<Drain> {
    let idle = staying.iter().filter_map(|member| match member.activity {
        Activity::Idle { since } if !queues.iter().any(|queue| serves(member, queue)) => Some((since, &member.id)),
        Activity::Idle { .. } | Activity::Busy | Activity::Leaving | Activity::OneShot => None,
    });
    idle.min().map(|(_, id)| Drain { id: id.clone(), why: DrainReason::MakeRoom })
}

fn look_again(decision: &mut Decision, at: Tick) {
    decision.look_again = Some(decision.look_again.map_or(at, |before| before.min(at)));
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
