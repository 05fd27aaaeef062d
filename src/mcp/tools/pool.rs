//! The operator's calls: the pool of reviewers.

use super::{Call, Done, non_empty};
use crate::mcp::{
    args::{KillReviewer, ListReviewers, SpawnReviewer},
    present::{Answer, Pool, Reviewer},
};

pub(super) async fn list(_: ListReviewers, call: &Call<'_>) -> Done {
    let (pool, pending, ended) = call.server.broker.pool().await?;
    Ok(Answer::of(&Pool::of(&pool, &pending, &ended))?)
}

pub(super) async fn spawn(args: SpawnReviewer, call: &Call<'_>) -> Done {
    let reviewer = call.server.broker.spawn_reviewer(args.project.as_deref()).await?;
    Ok(Answer::of(&Reviewer::live(&reviewer))?)
}

pub(super) async fn kill(args: KillReviewer, call: &Call<'_>) -> Done {
    non_empty("reviewer_id", &args.reviewer_id)?;
    let at_once = args.force.unwrap_or(false);
    let reviewer = call.server.broker.stop_reviewer(args.reviewer_id.trim().to_owned(), at_once).await?;
    Ok(Answer::of(&Reviewer::live(&reviewer))?)
}
