//! Handles reviewers whose process has exited, in this run or an earlier one.
//!
//! Claims are released at once. Whether the reviewer failed is decided only after the log has been read up to its exit,
//! because its last verdict may still be unread.

use super::{
    PoolMessage, ReviewerPool, State, dedicated,
    reviewer_actor::Exit,
    reviewer_registry::{PendingExit, Phase, Reviewer},
    spawn_health::SpawnTarget,
    spawn_plan,
};
use crate::{
    Shared,
    error::BrokerError,
    gateway::Reviews,
    reviewer_process::{orphans, session_home},
    reviewer_workspaces,
};
use domain::{
    ids::ReviewId,
    review::{ClaimEndReason, Command},
    reviewer_pool::{PoolEvent, SessionState, circuit_breaker::RunResult, scaling::DrainReason},
};
use ractor::ActorRef;
use std::{collections::HashSet, time::Duration};
use store::{ReviewerEnd, ReviewerRow, StoreError};
use tokio::task::JoinHandle;

/// How often the release of a claim is tried.
const MAX_ATTEMPTS: u32 = 8;
/// Before the second attempt; doubled after each.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long no reviewer is started for a seat that could not be claimed.
const UNCLAIMABLE_SEAT_DELAY: Duration = Duration::from_secs(60);

impl ReviewerPool {
    /// Revokes the reviewer's credential and releases its claims.
    pub(crate) fn exited(&self, state: &mut State, id: &str, mut exit: Exit) {
        self.shared.credentials.revoke(id);
        let Some(reviewer) = state.live_mut(id) else { return };
        if let Some(why) = reviewer.stop_reason {
            exit.summary = stopped_because(why, &exit.summary);
        }
        let why = match reviewer.stop_reason {
            Some(DrainReason::Operator) => ClaimEndReason::ReviewerStopped,
            Some(_) | None => ClaimEndReason::ReviewerExited,
        };
        // The turn of a dedicated reviewer ends its own claim, and the next turn may claim at any moment.
        let comes_back = reviewer.row.session.is_some() && why != ClaimEndReason::ReviewerStopped;
        let summary = exit.summary.clone();
        let (at, log_seq) = (self.shared.clock.now(), *self.feed.committed.borrow());
        reviewer.handled += u64::from(exit.handled);
        reviewer.phase = Phase::Exited(PendingExit { exit, at, log_seq });
        if comes_back {
            return;
        }
        state.gone.insert(id.into());
        if !state.stopping {
            let (reviews, id) = (self.reviews().clone(), id.to_owned());
            tokio::spawn(async move { release_all(&reviews, &id, why, &summary).await });
        }
    }

    /// Records the exits up to which the log has been read. Returns `true` if there were any and none is left.
    pub(crate) async fn record_exits(&self, myself: &ActorRef<PoolMessage>, state: &mut State) -> bool {
        // While the broker shuts down the log is not read any more, and no exit counts as a failure.
        let (read_to, stopping) = (state.read_to, state.stopping);
        let is_due = |reviewer: &Reviewer| match &reviewer.phase {
            Phase::Exited(pending) => pending.log_seq <= read_to || stopping,
            Phase::Starting | Phase::Running | Phase::Draining | Phase::Stopping => false,
        };
        let due: Vec<_> = state.reviewers.extract_if(.., |_, reviewer| is_due(reviewer)).collect();
        let any = !due.is_empty();
        for (_, reviewer) in due {
            self.record_exit(state, reviewer).await;
        }
        if state.stopping && state.live().next().is_none() {
            myself.stop(None);
        }
        any && !state.has_pending_exits()
    }

    async fn record_exit(&self, state: &mut State, mut reviewer: Reviewer) {
        reviewer.update_row();
        let (target, last_error) = (reviewer.target(), reviewer.last_error());
        let is_recorded = reviewer.is_recorded();
        let Phase::Exited(PendingExit { exit, at, .. }) = reviewer.phase else { return };
        let Exit { summary, clean, mut last_words, .. } = exit;
        let ran_ms = u64::try_from(at.tick.0 - reviewer.spawned_at.0).ok();
        if let Some(error) = last_error {
            // The error was read from JSON lines like these, and says more.
            last_words.retain(|line| !line.starts_with('{'));
            last_words.push(error);
        }
        // A reviewer that was stopped for being idle or too old, and has handled nothing, may still have failed.
        let timed_out = matches!(reviewer.stop_reason, Some(DrainReason::Idle | DrainReason::Ttl));
        let work_waiting = match reviewer.row.seat {
            // The seat of a reviewer that was too slow is the only work it leaves behind.
            Some(_) => timed_out,
            None => !reviewer.claims.is_empty() || self.has_waiting_work(&reviewer.row).await,
        };
        let run = RunResult {
            handled: reviewer.handled,
            clean: clean || timed_out,
            requested: state.stopping || (reviewer.stop_reason.is_some() && !timed_out),
            work_waiting,
        };
        if !run.clean && !run.requested {
            self.shared.metrics.crashes.inc();
        }
        tracing::info!(reviewer.id = reviewer.row.id, exit = summary, handled = run.handled, "reviewer exited");
        let max_failures = self.settings().max_failures;
        let crash_loop = match &reviewer.row.seat {
            // A seat that could not be claimed says nothing about the client, but an immediate retry would fail too.
            Some(seat)
                if !reviewer.has_claimed
                    && run.handled == 0
                    && reviewer.stop_reason != Some(DrainReason::NotNeeded) =>
            {
                state.avoided_seats.insert(seat.clone(), at.tick.plus(UNCLAIMABLE_SEAT_DELAY));
                None
            }
            Some(_) | None => state.health.record_exit(&target, &run, &last_words, max_failures, at.tick),
        };
        let id = reviewer.row.id.clone();
        let is_stopped = reviewer.row.session.as_ref().is_some_and(|session| session.state == SessionState::Stopped);
        if is_stopped {
            reviewer_workspaces::remove(&session_home::path(&self.settings().work_dir, &id));
        }
        let event = PoolEvent::ReviewerTerminated {
            reviewer: id.clone(),
            exit: summary.clone(),
            ran_ms,
            why: reviewer.stop_reason,
            by: reviewer.stopped_by,
            pid: reviewer.row.pid(),
            verdicts: Some(reviewer.row.work.verdicts()),
        };
        reviewer.row.end = Some(ReviewerEnd { at: at.at, exit: summary, last_words: last_words.clone() });
        // Awaited, so that a reviewer is always shown either as live or as ended. A reviewer whose process never ran
        // has no row to update, unless it was stopped.
        let row = (is_recorded || is_stopped).then_some(reviewer.row);
        if let Err(error) = self.reviews().record(at, row, Some(event)).await {
            tracing::error!(reviewer.id = id, %error, "cannot record the exit of a reviewer");
        }
        if let Some(failures) = crash_loop {
            let SpawnTarget { project, persona } = target;
            let output = last_words.join(" | ");
            tracing::error!(
                project,
                persona,
                failures,
                last_words = output,
                "crash loop: no more reviewers are started"
            );
            // Awaited, so that the state of the pool shows the crash loop only after its event is committed.
            let event = PoolEvent::CrashLoop { project, persona, failures, last_words };
            let _ = self.write(None, Some(event)).await;
        }
        spawn_plan::remove_old_logs(self.settings().logs.clone());
        remove_folders(&self.shared, &id);
    }

    /// Whether seats wait that the agent of this row could take.
    async fn has_waiting_work(&self, row: &ReviewerRow) -> bool {
        let (reader, project) = (&self.shared.reader, row.project.as_deref());
        let waiting = match &row.bound_to {
            Some(persona) => reader.list_waiting_reviews(project, &[persona], true, 1).await,
            None => {
                let others = [self.personas_with_reviewers(), self.personas_with_agents()].concat();
                reader.list_waiting_reviews(project, &others, false, 1).await
            }
        };
        waiting.is_ok_and(|waiting| !waiting.is_empty())
    }

    /// Writes a row or an event. It is queued when this returns, so the order of calls is the order in the log; await the
    /// result to wait for the commit. If it fails, the next start finds out which reviewers are gone.
    pub(crate) fn write(&self, reviewer: Option<ReviewerRow>, event: Option<PoolEvent>) -> JoinHandle<()> {
        let saved = self.reviews().record(self.shared.clock.now(), reviewer, event);
        tokio::spawn(async move {
            if let Err(error) = saved.await {
                tracing::error!(%error, "cannot record an event of the pool");
            }
        })
    }
}

/// How a reviewer ended that the pool has stopped: the reason, instead of the signal that it got for it.
fn stopped_because(why: DrainReason, exit: &str) -> String {
    match exit {
        "killed by SIGTERM" | "exit code 0" => format!("stopped: {why}"),
        other if other.starts_with("killed by ") || other.starts_with("exit code ") => {
            format!("stopped: {why} ({other})")
        }
        // It says more, such as why a one-shot reviewer gave no verdict.
        other => other.to_owned(),
    }
}

/// The end of a reviewer that this broker did not see.
pub(crate) fn ended_event(reviewer: &str, exit: String) -> PoolEvent {
    PoolEvent::ReviewerTerminated {
        reviewer: reviewer.to_owned(),
        exit,
        ran_ms: None,
        why: None,
        by: None,
        pid: None,
        verdicts: None,
    }
}

/// Takes back what a reviewer got that could not be started: its credential and its folders.
pub(crate) fn discard(shared: &Shared, id: &str) {
    shared.credentials.revoke(id);
    remove_folders(shared, id);
}

fn remove_folders(shared: &Shared, id: &str) {
    for folder in [reviewer_workspaces::reviewer_folder, reviewer_workspaces::private_folder] {
        reviewer_workspaces::remove(&folder(&shared.settings.pool.work_dir, id));
    }
}

/// Releases all claims and reservations of `reviewer`.
pub(crate) async fn release_all(reviews: &Reviews, reviewer: &str, why: ClaimEndReason, detail: &str) {
    let reader = &reviews.shared.reader;
    release_each(reviews, reviewer, reader.list_claimed_by(reviewer).await, why, detail).await;
    release_each(reviews, reviewer, reader.list_reserved_for(reviewer).await, why, detail).await;
}

/// Releases the reservations of a reviewer that gets no new work.
pub(crate) async fn release_reservations(reviews: &Reviews, reviewer: &str) {
    let reserved = reviews.shared.reader.list_reserved_for(reviewer).await;
    release_each(reviews, reviewer, reserved, ClaimEndReason::ReviewerStopped, "it gets no new reviews").await;
}

async fn release_each(
    reviews: &Reviews,
    reviewer: &str,
    held: Result<Vec<ReviewId>, StoreError>,
    why: ClaimEndReason,
    detail: &str,
) {
    match held {
        Ok(held) => {
            for review in held {
                release(reviews, review, reviewer, why, Some(detail)).await;
            }
        }
        Err(error) => tracing::error!(reviewer.id = reviewer, %error, "cannot read the claims of a reviewer"),
    }
}

/// Releases what `reviewer` holds in one review, with retries. The seat of a dedicated reviewer is kept for it, unless an
/// operator stopped it.
pub(crate) async fn release(
    reviews: &Reviews,
    review: ReviewId,
    reviewer: &str,
    why: ClaimEndReason,
    detail: Option<&str>,
) {
    let keep_seat = match why {
        ClaimEndReason::ReviewerStopped => None,
        ClaimEndReason::LeaseExpired
        | ClaimEndReason::Released
        | ClaimEndReason::ReviewerExited
        | ClaimEndReason::BrokerRestarted
        | ClaimEndReason::CouldNotReview
        | ClaimEndReason::TakenOver
        | ClaimEndReason::TurnEnded => dedicated::keep_seat(&reviews.shared, reviewer).await,
    };
    for attempt in 1..=MAX_ATTEMPTS {
        let (reviewer, detail) = (reviewer.to_owned(), detail.map(Into::into));
        let command = Command::ReviewerGone { reviewer, why, detail, keep_seat };
        match reviews.decide(review, command).await {
            Ok(_) | Err(BrokerError::ShuttingDown) => return,
            Err(error) if attempt == MAX_ATTEMPTS => {
                // The claim still ends when its lease expires.
                tracing::error!(review.id = %review, %error, "cannot release a claim");
            }
            Err(_) => tokio::time::sleep(RETRY_DELAY * 2_u32.pow(attempt - 1)).await,
        }
    }
}

/// Deletes session folders that no reviewer comes back to: a broker that is killed may leave some behind.
async fn remove_deserted_sessions(shared: &Shared) {
    match shared.reader.list_dedicated_reviewers().await {
        Ok(kept) => {
            let kept: HashSet<_> = kept.into_iter().map(|kept| kept.row.id).collect();
            let folder = shared.settings.pool.work_dir.clone();
            let _ = tokio::task::spawn_blocking(move || session_home::remove_others(&folder, &kept)).await;
        }
        Err(error) => tracing::error!(%error, "cannot read the dedicated reviewers of an earlier run"),
    }
}

/// Kills the processes that reviewers of an earlier run left behind, and releases their claims. Called at the start of
/// a pool, when none of its reviewers live. Returns the ids of those that do not come back. A step that fails is logged
/// and does not prevent the next.
pub(crate) async fn clean_up(reviews: &Reviews) -> Vec<String> {
    let shared = &reviews.shared;
    let reviewers = shared.reader.list_running_reviewers().await.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot read the reviewers of an earlier run");
        Vec::new()
    });
    let coming_back: HashSet<_> =
        reviewers.iter().filter(|row| row.is_coming_back()).map(|row| row.id.clone()).collect();
    let folder = &shared.settings.pool.work_dir;
    let processes = reviewers.iter().map(|row| (orphans::mark(row, folder), row.process.clone())).collect();
    let killed = orphans::sweep(processes).await;
    if !reviewers.is_empty() {
        tracing::warn!(reviewers = reviewers.len(), killed, "cleaned up reviewers of an earlier run");
    }
    // Awaited, so that it does not remove the folder of a new reviewer.
    let roots = [reviewer_workspaces::root, reviewer_workspaces::private_root, reviewer_workspaces::drafts];
    for root in roots.map(|root| root(folder)) {
        let _ = reviewer_workspaces::delete(root).await;
    }
    remove_deserted_sessions(shared).await;
    let mut ids = Vec::new();
    for ReviewerRow { id, .. } in reviewers {
        let exit = "its broker ended".to_owned();
        let event = ended_event(&id, exit);
        if let Err(error) = reviews.record(shared.clock.now(), None, Some(event)).await {
            tracing::error!(reviewer.id = id, %error, "cannot record the exit of a reviewer");
        }
        if !coming_back.contains(&id) {
            ids.push(id);
        }
    }
    match shared.reader.list_claims_of_ended_reviewers().await {
        Ok(claims) => {
            for (reviewer, review) in claims {
                release(reviews, review, &reviewer, ClaimEndReason::BrokerRestarted, None).await;
            }
        }
        Err(error) => tracing::error!(%error, "cannot read the claims of reviewers of an earlier run"),
    }
    ids
}
