//! A reviewer's process has ended: what it held goes back at once, and what it did is added up once the log
//! has told all of it.

use super::{
    PoolMessage, ReviewerPool, State, backoff::Post, release_claims, reviewer_actor::Ended, reviewers::Leaving,
    reviewers::Member, spawn,
};
use crate::{pool::runner::note, workspace};
use domain::{pool::PoolEvent, pool::circuit_breaker, pool::scaling::DrainReason, review::ClaimEndReason, time::Now};
use ractor::ActorRef;
use std::{sync::Arc, time::Duration};
use store::{PoolChange, ReviewerEnd, ReviewerRow};

/// How long nobody is started for a seat that could not be claimed.
const AVOID: Duration = Duration::from_secs(60);

/// A reviewer whose last verdict may still be on its way through the log.
pub(super) struct Unsettled {
    pub(super) member: Member,
    ended: Ended,
    at: Now,
    /// Where the log stood when it ended: what it did stands before.
    seq: u64,
}

impl ReviewerPool {
    /// Ends the reviewer's rights and gives back what it held.
    pub(super) fn ended(&self, state: &mut State, id: &str, ended: Ended) {
        self.context.credentials.revoke(id);
        let Some(member) = state.members.remove(id) else { return };
        state.gone.insert(id.into());
        if !state.stopping {
            let why = match member.leaving {
                Some(Leaving::Draining(DrainReason::Operator) | Leaving::Stopping(DrainReason::Operator)) => {
                    ClaimEndReason::ReviewerStopped
                }
                Some(_) | None => ClaimEndReason::ReviewerExited,
            };
            let (context, id, exit) = (Arc::clone(&self.context), id.to_owned(), ended.exit.clone());
            tokio::spawn(async move { release_claims::give_back(&context, &id, why, &exit).await });
        }
        let (at, seq) = (self.context.clock.now(), *self.feed.committed.borrow());
        state.unsettled.push(Unsettled { member, ended, at, seq });
    }

    /// Adds up those of whom all is known. `true` if there were any and none is left.
    pub(super) async fn settle(&self, myself: &ActorRef<PoolMessage>, state: &mut State) -> bool {
        // At the end of the broker the log is no longer followed, and nobody is judged.
        let known = |unsettled: &mut Unsettled| unsettled.seq <= state.followed || state.stopping;
        let settled: Vec<_> = state.unsettled.extract_if(.., known).collect();
        let any = !settled.is_empty();
        for unsettled in settled {
            self.add_up(state, unsettled).await;
        }
        if state.stopping && state.members.is_empty() {
            myself.stop(None);
        }
        any && state.unsettled.is_empty()
    }

    async fn add_up(&self, state: &mut State, unsettled: Unsettled) {
        let Unsettled { mut member, ended: Ended { exit, cleanly, mut last_words }, at, .. } = unsettled;
        member.take_usage();
        let ran_ms = u64::try_from(at.tick.0 - member.spawned.0).ok();
        if let Some(said) = member.last_error() {
            // The report that this is from, and those before it, say no more.
            last_words.retain(|line| !line.starts_with('{'));
            last_words.push(said);
        }
        let why = member.leaving.map(|(Leaving::Draining(why) | Leaving::Stopping(why))| why);
        // Too long without work, or too old: neither excuses one that has done nothing.
        let by_itself = matches!(why, Some(DrainReason::Idle | DrainReason::Ttl));
        let work_waits = match member.row.seat {
            // A seat that it was too slow for is the only work it leaves behind.
            Some(_) => by_itself,
            None => !member.claims.is_empty() || self.any_waits(member.row.project.as_deref()).await,
        };
        let run = circuit_breaker::Ended {
            handled: member.handled,
            cleanly: cleanly || by_itself,
            asked: state.stopping || (why.is_some() && !by_itself),
            work_waits,
        };
        if !run.cleanly && !run.asked {
            self.context.metrics.crashes.inc();
        }
        tracing::info!(reviewer.id = member.row.id, exit, handled = run.handled, "reviewer ended");
        let (post, max_failures) = (member.post(), self.settings().max_failures);
        // Not to have got the seat says nothing of its client, but trying again at once would be no different.
        let too_many = match &member.row.seat {
            Some(seat) if !member.has_claimed && run.handled == 0 => {
                state.avoided.insert(seat.clone(), at.tick.plus(AVOID));
                None
            }
            Some(_) | None => state.troubles.ended(&post, &run, &last_words, max_failures, at.tick),
        };
        let id = member.row.id.clone();
        let event = PoolEvent::ReviewerTerminated { reviewer: id.clone(), exit: exit.clone(), ran_ms };
        member.row.end = Some(ReviewerEnd { at: at.at, exit, last_words: last_words.clone() });
        // One that never ran has no process to be remembered by. Waited for, so that a reviewer is always shown
        // either among the living or among those that have ended.
        let reviewer = member.started.then_some(member.row);
        let change = PoolChange { at: at.at, tick: at.tick, reviewer, event: Some(event) };
        if let Err(error) = note(&self.context, change).await {
            tracing::error!(%error, "the end of a reviewer cannot be noted");
        }
        if let Some(failures) = too_many {
            let (words, Post { project, persona }) = (last_words.join(" | "), post);
            tracing::error!(
                project,
                persona,
                failures,
                last_words = words,
                "crash loop: no more reviewers are started"
            );
            self.write(None, Some(PoolEvent::CrashLoop { project, persona, failures, last_words }));
        }
        spawn::prune(self.settings().folder.clone());
        workspace::remove(workspace::home(&self.settings().folder, &id));
    }

    async fn any_waits(&self, project: Option<&str>) -> bool {
        self.context
            .reader
            .list_waiting_reviews(project, &self.one_shot_personas(), 1)
            .await
            .is_ok_and(|waiting| !waiting.is_empty())
    }

    /// Writes a row or an event, in the order of the calls. Nobody waits for it: should it fail, the next start
    /// finds out by itself who is gone.
    pub(super) fn write(&self, reviewer: Option<ReviewerRow>, event: Option<PoolEvent>) {
        let now = self.context.clock.now();
        let saved = note(&self.context, PoolChange { at: now.at, tick: now.tick, reviewer, event });
        tokio::spawn(async move {
            if let Err(error) = saved.await {
                tracing::error!(%error, "what happened in the pool cannot be noted");
            }
        });
    }
}
