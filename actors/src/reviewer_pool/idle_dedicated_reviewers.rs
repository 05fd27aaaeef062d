//! Manages dedicated reviewers between two turns, while no process of theirs runs: deletes the stored sessions of ended
//! reviews, and lets an operator stop such a reviewer so that it gets no further turn.

use super::{LiveReviewer, ReviewerPool, State, exited_reviewers};
use crate::{error::BrokerError, mailbox::ActorStats, reviewer_process::session_home, reviewer_workspaces};
use domain::{
    review::ClaimEndReason,
    reviewer_pool::{PoolEvent, ReviewerState, SessionState, scaling::DrainReason},
    time::Timestamp,
};
use store::ReviewerRow;

impl ReviewerPool {
    /// Deletes the sessions of reviews that ended longer ago than `pool.keep_sessions`.
    pub(crate) async fn delete_old_sessions(&self, state: &State) {
        let now = self.shared.clock.now().at;
        let kept_ms = i64::try_from(self.settings().keep_sessions.as_millis()).unwrap_or(i64::MAX);
        let ended = match self.shared.reader.list_sessions_of_ended_reviews(Timestamp(now.0 - kept_ms)).await {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "cannot read the sessions of ended reviews");
                return;
            }
        };
        for row in ended.into_iter().filter(|row| !state.reviewers.contains_key(&row.id)) {
            let home = session_home::path(&self.settings().work_dir, &row.id);
            // If the broker is killed between the two, the next one removes the folder.
            let _ = self.write(Some(with_state(row, SessionState::Finished)), None).await;
            reviewer_workspaces::remove(&home);
        }
    }

    /// Stops a dedicated reviewer whose process does not run: it does not come back, and its seat is free. `None` if
    /// no reviewer has this name.
    pub(crate) async fn stop_waiting_dedicated(
        &self,
        state: &mut State,
        id: &str,
        by: Option<String>,
    ) -> Result<Option<LiveReviewer>, BrokerError> {
        let row = self.shared.reader.find_reviewer(id).await?;
        // Its process may just have exited; then its row says already that it was stopped.
        let is_exiting = state.reviewers.contains_key(id);
        let Some(row) = row.filter(|row| row.is_coming_back() || (is_exiting && row.session.is_some())) else {
            return Ok(None);
        };
        let row = with_state(row, SessionState::Stopped);
        let id = row.id.clone();
        let event = PoolEvent::ReviewerTerminated {
            reviewer: id.clone(),
            exit: format!("stopped: {}", DrainReason::Operator),
            ran_ms: None,
            why: Some(DrainReason::Operator),
            by,
            pid: None,
            verdicts: Some(row.work.verdicts()),
        };
        let saved = self.reviews().record(self.shared.clock.now(), Some(row.clone()), Some(event)).await;
        saved.map_err(|error| BrokerError::NotSaved { why: error.to_string() })?;
        state.gone.insert(id.clone());
        reviewer_workspaces::remove(&session_home::path(&self.settings().work_dir, &id));
        let why = ClaimEndReason::ReviewerStopped;
        exited_reviewers::release_all(self.reviews(), &id, why, "an operator stopped it").await;
        let node = ActorStats::new().node("reviewer", id, SessionState::Stopped.to_string(), 0);
        let (age_ms, idle_ms, state) = (0, None, ReviewerState::Stopping);
        Ok(Some(LiveReviewer { row, state, age_ms, idle_ms, reviews: Vec::new(), last_words: Vec::new(), node }))
    }
}

fn with_state(mut row: ReviewerRow, state: SessionState) -> ReviewerRow {
    if let Some(session) = &mut row.session {
        (session.state, session.resumable) = (state, false);
    }
    row
}
