//! One live reviewer, as the pool knows it.

use super::{backoff::Post, reviewer_actor::ReviewerMessage, status::LiveReviewer};
use crate::reviewer_process::usage::Usage;
use crate::{actor_stats::Mailbox, credentials::ReviewerCredential, introspection::Node, workspace};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::ReviewerState,
    pool::scaling::{self, Activity, DrainReason},
    time::Tick,
    verdict::Verdict,
};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use store::{ReviewerRow, ReviewerWork};

/// What the process has told of itself so far.
pub(crate) type SharedUsage = Arc<Mutex<Usage>>;

pub(super) struct Member {
    pub(super) row: ReviewerRow,
    pub(super) spawned: Tick,
    pub(super) mailbox: Mailbox<ReviewerMessage>,
    pub(super) credential: Arc<ReviewerCredential>,
    pub(super) usage: SharedUsage,
    /// The pool's, in which it has one of its own.
    pub(super) folder: PathBuf,
    /// The row is in the database and the process runs.
    pub(super) started: bool,
    pub(super) claims: HashMap<ReviewId, Held>,
    /// Reviews it has voted on, or found not to apply.
    pub(super) handled: u64,
    pub(super) has_claimed: bool,
    pub(super) idle_since: Tick,
    pub(super) leaving: Option<Leaving>,
}

pub(super) struct Held {
    pub(super) number: ReviewNumber,
    pub(super) generation: u32,
    pub(super) since: Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    Draining(DrainReason),
    /// SIGTERM is sent.
    Stopping(DrainReason),
}

impl Member {
    pub(super) fn activity(&self) -> Activity {
        match (&self.leaving, self.claims.is_empty()) {
            (Some(_), _) => Activity::Leaving,
            _ if self.row.seat.is_some() => Activity::OneShot,
            (None, true) => Activity::Idle { since: self.idle_since },
            (None, false) => Activity::Busy,
        }
    }

    /// `spent`: what waits in its project is not for it.
    pub(super) fn for_scaling(&self, spent: bool) -> scaling::Member {
        scaling::Member {
            id: self.row.id.clone(),
            project: self.row.project.clone(),
            spawned: self.spawned,
            activity: self.activity(),
            spent,
        }
    }

    /// Whether it runs for a seat of this persona in this project.
    pub(super) fn is_at(&self, post: &Post) -> bool {
        self.post() == *post
    }

    pub(super) fn post(&self) -> Post {
        Post { project: self.row.project.clone(), persona: self.row.seat.as_ref().map(|seat| seat.persona.clone()) }
    }

    pub(super) fn state(&self) -> ReviewerState {
        match (self.leaving, self.started, self.claims.is_empty()) {
            (Some(Leaving::Stopping(_)), _, _) => ReviewerState::Stopping,
            (Some(Leaving::Draining(_)), _, _) => ReviewerState::Draining,
            (None, false, _) => ReviewerState::Starting,
            (None, true, true) if self.row.seat.is_some() => ReviewerState::Starting,
            (None, true, true) => ReviewerState::Idle,
            (None, true, false) => ReviewerState::Busy,
        }
    }

    /// It no longer holds this one, and needs no copy of it.
    pub(super) fn lost(&mut self, review: ReviewId, now: Tick) {
        let Some(held) = self.claims.remove(&review) else { return };
        if self.claims.is_empty() {
            self.idle_since = now;
        }
        workspace::remove(workspace::of_claim(&self.folder, &self.row.id, held.number, held.generation));
    }

    pub(super) fn judged(&mut self, review: ReviewId, verdict: Verdict, now: Tick) {
        let count = match verdict {
            Verdict::Approved => &mut self.row.work.approvals,
            Verdict::Rejected => &mut self.row.work.rejections,
            Verdict::ChangesRequested => &mut self.row.work.changes_requested,
            Verdict::Comment => &mut self.row.work.comments,
        };
        // A change of mind is no second review.
        match (verdict.is_vote(), self.claims.get(&review)) {
            (true, None) => return,
            (true, Some(held)) => {
                self.row.work.reviewing_ms += u64::try_from(now.0 - held.since.0).unwrap_or_default();
                *count += 1;
                self.handled += 1;
                self.lost(review, now);
            }
            (false, _) => *count += 1,
        }
        self.take_usage();
    }

    /// Brings tokens and cost up to date with what the client has reported.
    pub(super) fn take_usage(&mut self) {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        if usage.input_tokens > 0 || usage.output_tokens > 0 {
            let ReviewerWork { input_tokens, output_tokens, .. } = &mut self.row.work;
            (*input_tokens, *output_tokens) = (Some(usage.input_tokens), Some(usage.output_tokens));
        }
        self.row.work.cost_usd = usage.cost_usd.or(self.row.work.cost_usd);
    }

    /// What its client last failed with, and has not got over.
    pub(super) fn last_error(&self) -> Option<String> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).last_error.clone()
    }

    pub(super) fn view(&self, now: Tick) -> LiveReviewer {
        let since = |tick: Tick| u64::try_from(now.0 - tick.0).unwrap_or_default();
        let mut reviews: Vec<_> = self.claims.values().map(|held| held.number).collect();
        reviews.sort_unstable();
        let state = self.state();
        let numbers: Vec<_> = reviews.iter().map(ToString::to_string).collect();
        let persona: Vec<_> = self.row.seat.iter().map(|seat| seat.persona.clone()).collect();
        let (stats, last_error) = (&self.mailbox.stats, self.last_error());
        let last_words = last_error.iter().cloned().collect();
        let node = Node {
            kind: "reviewer",
            id: self.row.id.clone(),
            state: [vec![state.to_string()], numbers, persona].concat().join(" "),
            mailbox: stats.mailbox(),
            handled: stats.handled(),
            restarts: 0,
            uptime_ms: since(self.spawned),
            last_error,
            children: Vec::new(),
        };
        let idle_ms = self.claims.is_empty().then(|| since(self.idle_since));
        LiveReviewer { row: self.row.clone(), state, age_ms: since(self.spawned), idle_ms, reviews, last_words, node }
    }
}
