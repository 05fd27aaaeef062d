//! Releases claims and reservations of reviewers that have exited, and cleans up after an earlier run.

use super::runner::record;
use crate::{Context, error::BrokerError, reviewer_process::orphans::sweep, workspace};
use domain::{
    ids::ReviewId,
    pool::PoolEvent,
    review::{ClaimEndReason, Command},
};
use std::time::Duration;
use store::{PoolChange, StoreError};

const MAX_ATTEMPTS: u32 = 8;
/// Before the second attempt; doubled after each.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Releases all claims and reservations of `reviewer`.
pub(crate) async fn release_all(context: &Context, reviewer: &str, why: ClaimEndReason, detail: &str) {
    release_each(context, reviewer, context.reader.list_claimed_by(reviewer).await, why, detail).await;
    release_each(context, reviewer, context.reader.list_reserved_for(reviewer).await, why, detail).await;
}

/// Releases the reservations of a reviewer that gets no new work.
pub(crate) async fn release_reservations(context: &Context, reviewer: &str) {
    let reserved = context.reader.list_reserved_for(reviewer).await;
    let why = ClaimEndReason::ReviewerStopped;
    release_each(context, reviewer, reserved, why, "it gets no new reviews").await;
}

async fn release_each(
    context: &Context,
    reviewer: &str,
    reviews: Result<Vec<ReviewId>, StoreError>,
    why: ClaimEndReason,
    detail: &str,
) {
    match reviews {
        Ok(reviews) => {
            for review in reviews {
                release(context, review, reviewer, why, Some(detail)).await;
            }
        }
        Err(error) => tracing::error!(reviewer.id = reviewer, %error, "cannot read the claims of a reviewer"),
    }
}

/// Releases what `reviewer` holds in one review, with retries.
pub(crate) async fn release(
    context: &Context,
    review: ReviewId,
    reviewer: &str,
    why: ClaimEndReason,
    detail: Option<&str>,
) {
    for attempt in 1..=MAX_ATTEMPTS {
        let command = Command::ReviewerGone { reviewer: reviewer.into(), why, detail: detail.map(Into::into) };
        match context.decide(review, command).await {
            Ok(_) | Err(BrokerError::ShuttingDown) => return,
            Err(error) if attempt == MAX_ATTEMPTS => {
                // The claim still ends when its lease expires.
                tracing::error!(review.id = %review, reviewer.id = reviewer, %error, "cannot release a claim");
            }
            Err(_) => tokio::time::sleep(RETRY_DELAY * 2_u32.pow(attempt - 1)).await,
        }
    }
}

/// Kills the processes that reviewers of an earlier run left behind, and releases their claims. Called at the start of
/// a pool, when none of its reviewers live. Returns the ids of these reviewers. A step that fails is logged and does not
/// prevent the next.
pub(crate) async fn clean_up(context: &Context) -> Vec<String> {
    let reviewers = context.reader.list_running_reviewers().await.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot read the reviewers of an earlier run");
        Vec::new()
    });
    let reviewers: Vec<_> = reviewers.into_iter().map(|row| (row.id, row.process)).collect();
    let killed = sweep(reviewers.clone()).await;
    if !reviewers.is_empty() {
        tracing::warn!(reviewers = reviewers.len(), killed, "cleaned up reviewers of an earlier run");
    }
    // Awaited, so that it does not remove the folder of a new reviewer.
    let _ = workspace::remove(workspace::root(&context.settings.pool.folder)).await;
    let mut ids = Vec::new();
    for (id, _) in reviewers {
        let now = context.clock.now();
        let exit = "its broker ended".to_owned();
        let event = PoolEvent::ReviewerTerminated { reviewer: id.clone(), exit, ran_ms: None };
        let change = PoolChange { at: now.at, tick: now.tick, reviewer: None, event: Some(event) };
        if let Err(error) = record(context, change).await {
            tracing::error!(reviewer.id = id, %error, "cannot record the exit of a reviewer");
        }
        ids.push(id);
    }
    match context.reader.list_claims_of_ended_reviewers().await {
        Ok(claims) => {
            for (reviewer, review) in claims {
                release(context, review, &reviewer, ClaimEndReason::BrokerRestarted, None).await;
            }
        }
        Err(error) => tracing::error!(%error, "cannot read the claims of reviewers of an earlier run"),
    }
    ids
}
