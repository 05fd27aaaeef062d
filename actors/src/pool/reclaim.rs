//! Gives back what reviewers held that will not come back.

use super::{process::ProcessIdentity, reviewer::note, sweep::sweep};
use crate::{Context, error::BrokerError};
use domain::{
    ids::ReviewId,
    pool::PoolEvent,
    review::{Command, Reclaimed},
};
use std::time::Duration;
use store::{PoolChange, StoreError};

/// How often, and after which pauses, a review is told again that could not be told.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// All that `reviewer` holds, and what is kept for it.
pub(super) async fn give_back(context: &Context, reviewer: &str, why: Reclaimed, detail: &str) {
    match context.reader.list_held_by(reviewer).await {
        Ok(reviews) => {
            for review in reviews {
                tell(context, review, reviewer, why, Some(detail)).await;
            }
        }
        Err(error) => tracing::error!(reviewer.id = reviewer, %error, "what a reviewer held cannot be read"),
    }
}

pub(super) async fn tell(context: &Context, review: ReviewId, reviewer: &str, why: Reclaimed, detail: Option<&str>) {
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

/// At the start of a pool no reviewer of it lives: what one has left behind is ended and given back.
pub(super) async fn clean_up(context: &Context) -> Result<(), StoreError> {
    let running = context.reader.list_running_reviewers().await?;
    let identity = |process: &store::ProcessRow| ProcessIdentity {
        pid: process.pid,
        start_time: process.started,
        boot_id: process.boot_id.clone(),
    };
    let killed = sweep(running.iter().map(|(id, process)| (id.clone(), identity(process))).collect()).await;
    if !running.is_empty() {
        tracing::warn!(reviewers = running.len(), killed, "reviewers of an earlier run are cleared away");
    }
    for (reviewer, _) in running {
        let now = context.clock.now();
        let event = PoolEvent::ReviewerTerminated { reviewer, exit: "its broker ended".into(), ran_ms: None };
        note(context, PoolChange { at: now.at, tick: now.tick, reviewer: None, event: Some(event) }).await?;
    }
    for (reviewer, review) in context.reader.list_held_by_pool().await? {
        tell(context, review, &reviewer, Reclaimed::BrokerRestarted, None).await;
    }
    Ok(())
}
