//! Gives back what reviewers held that will not come back.

use super::runner::note;
use crate::reviewer_process::ProcessIdentity;
use crate::reviewer_process::orphans::sweep;
use crate::{Context, error::BrokerError, workspace};
use domain::{
    ids::ReviewId,
    pool::PoolEvent,
    review::{ClaimEndReason, Command},
};
use std::time::Duration;
use store::{PoolChange, ProcessRow, StoreError};

/// How often, and after which pauses, a review is told again that could not be told.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// All that `reviewer` holds, and what is kept for it.
pub(super) async fn give_back(context: &Context, reviewer: &str, why: ClaimEndReason, detail: &str) {
    give_back_all(context, reviewer, context.reader.list_claimed_by(reviewer).await, why, detail).await;
    give_back_all(context, reviewer, context.reader.list_reserved_for(reviewer).await, why, detail).await;
}

/// What is kept for a reviewer that takes nothing new any more.
pub(super) async fn give_back_reservations(context: &Context, reviewer: &str) {
    let kept = context.reader.list_reserved_for(reviewer).await;
    give_back_all(context, reviewer, kept, ClaimEndReason::ReviewerStopped, "it takes nothing new").await;
}

async fn give_back_all(
    context: &Context,
    reviewer: &str,
    reviews: Result<Vec<ReviewId>, StoreError>,
    why: ClaimEndReason,
    detail: &str,
) {
    match reviews {
        Ok(reviews) => {
            for review in reviews {
                tell(context, review, reviewer, why, Some(detail)).await;
            }
        }
        Err(error) => tracing::error!(reviewer.id = reviewer, %error, "what a reviewer held cannot be read"),
    }
}

pub(super) async fn tell(
    context: &Context,
    review: ReviewId,
    reviewer: &str,
    why: ClaimEndReason,
    detail: Option<&str>,
) {
    for attempt in 0..TRIES {
        let gone = Command::ReviewerGone { reviewer: reviewer.into(), why, detail: detail.map(Into::into) };
        match context.decide(review, gone).await {
            Ok(_) | Err(BrokerError::ShuttingDown) => return,
            Err(error) if attempt + 1 == TRIES => {
                // Its lease ends the claim all the same, only later.
                tracing::error!(review.id = %review, reviewer.id = reviewer, %error, "claim not given back");
            }
            Err(_) => tokio::time::sleep(PAUSE * 2_u32.pow(attempt)).await,
        }
    }
}

/// At the start of a pool no reviewer of it lives: what one has left behind is ended and given back. Says who
/// they were. A step that fails is logged, and the next is done all the same.
pub(super) async fn clean_up(context: &Context) -> Vec<String> {
    let running = context.reader.list_running_reviewers().await.unwrap_or_else(|error| {
        tracing::error!(%error, "which reviewers an earlier run left behind cannot be read");
        Vec::new()
    });
    let identity = |process: &ProcessRow| ProcessIdentity {
        pid: process.pid,
        start_time: process.started,
        boot_id: process.boot_id.clone(),
    };
    let killed = sweep(running.iter().map(|(id, process)| (id.clone(), identity(process))).collect()).await;
    if !running.is_empty() {
        tracing::warn!(reviewers = running.len(), killed, "reviewers of an earlier run are cleared away");
    }
    // Before anybody new moves in.
    let _ = workspace::remove(workspace::all(&context.settings.pool.folder)).await;
    let mut left = Vec::new();
    for (reviewer, _) in running {
        let now = context.clock.now();
        let (id, exit) = (reviewer.clone(), "its broker ended".to_owned());
        let event = PoolEvent::ReviewerTerminated { reviewer: id, exit, ran_ms: None };
        let noted = note(context, PoolChange { at: now.at, tick: now.tick, reviewer: None, event: Some(event) });
        if let Err(error) = noted.await {
            tracing::error!(reviewer.id = reviewer, %error, "the end of a reviewer cannot be noted");
        }
        left.push(reviewer);
    }
    match context.reader.list_claims_of_ended_reviewers().await {
        Ok(held) => {
            for (reviewer, review) in held {
                tell(context, review, &reviewer, ClaimEndReason::BrokerRestarted, None).await;
            }
        }
        Err(error) => tracing::error!(%error, "what an earlier run's reviewers held cannot be read"),
    }
    left
}
