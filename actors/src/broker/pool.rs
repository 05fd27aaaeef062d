//! Operations on the reviewer pool.

use super::{Answer, Broker};
use crate::{
    error::BrokerError,
    limits::Text,
    pool::{LiveReviewer, PoolMessage, PoolStatus},
    requests::Release,
    submission::unreadable,
};
use domain::{
    ids::ReviewId,
    review::{Command, ReleaseSeat, Review},
};
use std::{path::PathBuf, sync::Arc};
use store::{ProjectQueue, ReviewerRow};
use tokio::sync::oneshot;

/// Ended reviewers that are still shown.
const SHOWN_ENDED: u32 = 20;

impl Broker {
    /// A reviewer returns its claim; the seat can be claimed by others at once.
    pub async fn release(&self, id: ReviewId, release: Release) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        let reviewer = Text::name("reviewer_id", release.reviewer_id.as_deref());
        let texts = [reviewer, Text::required_prose("reason", release.reason.as_deref())];
        self.0.context.check_texts(&texts).await?;
        let Release { reviewer_id: by, claim_generation: generation, reason } = release;
        self.decide(id, Command::Release(ReleaseSeat { by, generation, reason, gave_up: false })).await
    }

    /// Copies the project with the change into the folder of a pool reviewer; `None` if that fails.
    pub async fn check_out(&self, review: &Review, reviewer: &str) -> Option<PathBuf> {
        let copy = Box::pin(self.0.context.until_shutdown(self.0.context.check_out(review, reviewer))).await;
        copy.unwrap_or_else(|error| {
            tracing::warn!(review.id = %review.id, reviewer.id = reviewer, %error, "no copy for the reviewer");
            None
        })
    }

    /// The registered project of this name; default: the broker's own.
    pub fn project_for(&self, given: Option<&str>) -> Answer<Option<String>> {
        self.0.context.projects.name_for(given, None)
    }

    /// Starts a reviewer for a registered project, within the pool's limits.
    pub async fn spawn_reviewer(&self, project: Option<String>) -> Answer<LiveReviewer> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::Spawn { project, reply }).await
    }

    /// Stops a live reviewer, at once or after its current review.
    pub async fn stop_reviewer(&self, id: String, at_once: bool) -> Answer<LiveReviewer> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::Stop { id, at_once, reply }).await
    }

    /// The state of the pool, the queue of each project, and the last reviewers that ended.
    pub async fn pool(&self) -> Answer<(PoolStatus, Vec<ProjectQueue>, Vec<ReviewerRow>)> {
        let _call = self.admit()?;
        let reader = &self.0.context.reader;
        let view = self.show_pool().await?;
        let pending = reader.count_queue_by_project().await.map_err(unreadable)?;
        let ended = reader.list_ended_reviewers(SHOWN_ENDED).await.map_err(unreadable)?;
        Ok((view, pending, ended))
    }

    pub(super) async fn show_pool(&self) -> Answer<PoolStatus> {
        self.ask_pool(|reply| PoolMessage::Status { reply }).await
    }

    async fn ask_pool<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, BrokerError>>) -> PoolMessage,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        self.0.context.pool.send(message(reply));
        answer.await.unwrap_or_else(|_| Err(self.0.context.dropped_reply()))
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
