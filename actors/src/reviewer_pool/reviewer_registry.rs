//! The pool's list of its reviewers, each from the start of its process until its exit is recorded, and the status
//! report about them for operators.

use super::{
    reviewer_actor::{Exit, ReviewerMessage},
    spawn_health::SpawnTarget,
};
use crate::{
    actor_tree_report::Node, credentials::ReviewerCredential, mailbox::Mailbox, reviewer_process::token_usage::Usage,
    reviewer_workspaces,
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    reviewer_pool::{
        PoolState, ReviewerState, SessionState,
        scaling::{Activity, DrainReason},
    },
    runtime::Runtime,
    time::{Now, Tick},
    verdict::Verdict,
};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{PoolPause, ProcessIdentity, ReviewerRow, ReviewerSession, SeatRow};

/// What the client has reported so far. The actor of the reviewer writes it, and the pool copies it into the row.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) usage: Usage,
    /// Set for dedicated reviewers.
    pub(crate) session: Option<ReviewerSession>,
}

impl Progress {
    /// Copies tokens, cost and session into the row, as far as there are any.
    pub(crate) fn write_to(&self, row: &mut ReviewerRow) {
        self.usage.add_to(&mut row.work);
        if let Some(session) = &self.session {
            let reported = self.usage.session.unwrap_or_default();
            row.session = Some(ReviewerSession { reported, ..session.clone() });
        }
    }
}

/// Shared by the pool and the actor of the reviewer.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedProgress(Arc<Mutex<Progress>>);

impl SharedProgress {
    pub(crate) fn new(progress: Progress) -> Self {
        Self(Arc::new(Mutex::new(progress)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reviewer, with the actor that runs its process.
pub(crate) struct Reviewer {
    pub(crate) row: ReviewerRow,
    pub(crate) spawned_at: Tick,
    pub(crate) mailbox: Mailbox<ReviewerMessage>,
    pub(crate) credential: Arc<ReviewerCredential>,
    pub(crate) progress: SharedProgress,
    /// The folder of the pool; the reviewer has its own folder in it.
    pub(crate) folder: PathBuf,
    pub(crate) phase: Phase,
    /// Why the pool stops it, if it does.
    pub(crate) stop_reason: Option<DrainReason>,
    /// The operator who stops it, if one does.
    pub(crate) stopped_by: Option<String>,
    pub(crate) claims: HashMap<ReviewId, HeldClaim>,
    /// Reviews it has voted on, plus reviews whose diff it found not to apply.
    pub(crate) handled: u64,
    pub(crate) has_claimed: bool,
    pub(crate) idle_since: Tick,
}

pub(crate) enum Phase {
    /// Its process does not run yet, or is not yet in the database.
    Starting,
    Running,
    /// It gets no new claim and is stopped once it holds none.
    Draining,
    /// SIGTERM was sent.
    Stopping,
    /// Its process and everything below it is gone. Events of it may still be unread in the log.
    Exited(PendingExit),
}

/// An exit that is recorded once the log has been read up to `log_seq`.
pub(crate) struct PendingExit {
    pub(crate) exit: Exit,
    pub(crate) at: Now,
    /// The end of the log when the process exited. Everything the reviewer did is at or before this.
    pub(crate) log_seq: u64,
}

pub(crate) struct HeldClaim {
    pub(crate) number: ReviewNumber,
    pub(crate) generation: u32,
    pub(crate) since: Tick,
}

impl Reviewer {
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Exited(_))
    }

    /// Whether it gets no new claims.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Draining | Phase::Stopping | Phase::Exited(_))
    }

    /// Whether its row is in the database.
    pub(crate) fn is_recorded(&self) -> bool {
        self.row.process != ProcessIdentity::default()
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.claims.is_empty() {
            _ if self.is_leaving() => Activity::Leaving,
            _ if self.row.seat.is_some() => Activity::Assigned,
            true => Activity::Idle { since: self.idle_since },
            false => Activity::Busy,
        }
    }

    pub(crate) fn target(&self) -> SpawnTarget {
        let seat = self.row.seat.as_ref().map(|seat| seat.persona.clone());
        let persona = seat.or_else(|| self.row.bound_to.clone());
        SpawnTarget { project: self.row.project.clone(), persona }
    }

    fn state(&self) -> ReviewerState {
        match (&self.phase, self.claims.is_empty()) {
            (Phase::Stopping | Phase::Exited(_), _) => ReviewerState::Stopping,
            (Phase::Draining, _) => ReviewerState::Draining,
            (Phase::Starting, _) => ReviewerState::Starting,
            // A dedicated reviewer that has voted holds no claim.
            (Phase::Running, true) if self.row.session.is_some() => ReviewerState::Busy,
            (Phase::Running, true) if self.row.seat.is_some() => ReviewerState::Starting,
            (Phase::Running, true) => ReviewerState::Idle,
            (Phase::Running, false) => ReviewerState::Busy,
        }
    }

    /// It no longer holds a claim on `review`: removes the claim and its copy of the project.
    pub(crate) fn claim_ended(&mut self, review: ReviewId, now: Tick) {
        let Some(claim) = self.claims.remove(&review) else { return };
        if self.claims.is_empty() {
            self.idle_since = now;
        }
        reviewer_workspaces::remove(&reviewer_workspaces::claim_folder(
            &self.folder,
            &self.row.id,
            claim.number,
            claim.generation,
        ));
    }

    /// Counts a verdict. A vote ends the claim; a vote without a claim is a changed vote and is not counted again.
    pub(crate) fn verdict_given(&mut self, review: ReviewId, verdict: Verdict, now: Tick) {
        let count = match verdict {
            Verdict::Approved => &mut self.row.work.approvals,
            Verdict::Rejected => &mut self.row.work.rejections,
            Verdict::ChangesRequested => &mut self.row.work.changes_requested,
            Verdict::Comment => &mut self.row.work.comments,
        };
        match (verdict.is_vote(), self.claims.get(&review)) {
            (true, None) => return,
            (true, Some(claim)) => {
                self.row.work.reviewing_ms += u64::try_from(now.0 - claim.since.0).unwrap_or_default();
                *count += 1;
                self.handled += 1;
                self.claim_ended(review, now);
            }
            (false, _) => *count += 1,
        }
        self.update_row();
    }

    /// An operator stopped a dedicated reviewer for good. Every later write of its row says so.
    pub(crate) fn stop_session(&mut self) {
        if let Some(session) = &mut self.progress.lock().session {
            session.state = SessionState::Stopped;
        }
        self.update_row();
    }

    /// Copies into the row what the client has reported.
    pub(crate) fn update_row(&mut self) {
        self.progress.lock().write_to(&mut self.row);
    }

    /// The client's last error, unless it has succeeded since.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.progress.lock().usage.last_error.clone()
    }

    pub(crate) fn status(&self, now: Tick) -> LiveReviewer {
        let since = |tick: Tick| u64::try_from(now.0 - tick.0).unwrap_or_default();
        let mut reviews: Vec<_> = self.claims.values().map(|claim| claim.number).collect();
        reviews.sort_unstable();
        let state = self.state();
        let numbers: Vec<_> = reviews.iter().map(ToString::to_string).collect();
        let persona: Vec<_> = self.row.seat.iter().map(|seat| seat.persona.clone()).collect();
        let (id, last_error) = (self.row.id.clone(), self.last_error());
        let last_words = last_error.iter().cloned().collect();
        let node_state = [vec![state.to_string()], numbers, persona].concat().join(" ");
        let node = Node { last_error, ..self.mailbox.stats.node("reviewer", id, node_state, 0) };
        let (age_ms, idle_ms) = (since(self.spawned_at), self.claims.is_empty().then(|| since(self.idle_since)));
        LiveReviewer { row: self.row.clone(), state, age_ms, idle_ms, reviews, last_words, node }
    }
}

#[derive(Debug, Clone)]
pub struct PoolStatus {
    pub state: PoolState,
    /// What the state means and what to do about it.
    pub message: Option<String>,
    pub runtime: Runtime,
    /// The most live processes.
    pub max_size: usize,
    /// What the settings say about it.
    pub configured_max_size: usize,
    /// An operator has paused it.
    pub pause: Option<PoolPause>,
    pub live: Vec<LiveReviewer>,
    /// Seats whose own reviewer waits until the pool has room for it.
    pub queued_seats: Vec<SeatRow>,
    /// The last output of the last reviewer that failed.
    pub last_words: Vec<String>,
}

impl PoolStatus {
    /// Fills in the pool's node of the actor tree.
    pub(crate) fn describe(&self, node: &mut Node) {
        node.state = format!("{}, {} of {} reviewers", self.state, self.live.len(), self.max_size);
        if !self.queued_seats.is_empty() {
            node.state += &format!(", {} queued", self.queued_seats.len());
        }
        node.last_error =
            self.message.clone().filter(|_| !matches!(self.state, PoolState::Disabled | PoolState::Paused));
        node.children = self.live.iter().map(|reviewer| reviewer.node.clone()).collect();
    }
}

#[derive(Debug, Clone)]
pub struct LiveReviewer {
    pub row: ReviewerRow,
    pub state: ReviewerState,
    pub age_ms: u64,
    /// Since its last review, or since its start. `None` while it holds a claim.
    pub idle_ms: Option<u64>,
    pub reviews: Vec<ReviewNumber>,
    /// The client's last error, unless it has succeeded since.
    pub last_words: Vec<String>,
    pub(crate) node: Node,
}
