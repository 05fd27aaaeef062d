//! The operator's calls: the pool of reviewers.

use super::{Call, Done, non_empty};
use crate::mcp::{
    args::{KillReviewer, ListReviewers, SpawnReviewer},
    present::{Answer, Pool, Reviewer},
};
use actors::BrokerError;

pub(super) async fn list(_: ListReviewers, call: &Call<'_>) -> Done {
    let (mut pool, mut pending, mut ended) = call.server.broker.pool().await?;
    // Whoever is bound to a project sees that one alone.
    let allows = |project: &Option<String>| call.who.allows(project.as_deref());
    pool.live.retain(|reviewer| allows(&reviewer.row.project));
    pending.retain(|pending| allows(&pending.project));
    ended.retain(|row| allows(&row.project));
    let mut shown = Pool::of(&pool, &pending, &ended);
    if call.who.own_project().is_some() {
        // They may be of another project; of its own reviewers it sees the words in their rows.
        (shown.message, shown.last_words) = (None, &[]);
    }
    Ok(Answer::of(&shown)?)
}

pub(super) async fn spawn(args: SpawnReviewer, call: &Call<'_>) -> Done {
    let broker = &call.server.broker;
    let project = broker.project_for(args.project.as_deref())?;
    call.who.may_touch_project(project.as_deref())?;
    let reviewer = broker.spawn_reviewer(project).await?;
    Ok(Answer::of(&Reviewer::live(&reviewer))?)
}

pub(super) async fn kill(args: KillReviewer, call: &Call<'_>) -> Done {
    non_empty("reviewer_id", &args.reviewer_id)?;
    let at_once = args.force.unwrap_or(false);
    let broker = &call.server.broker;
    let given = args.reviewer_id.trim();
    let live = broker.live_reviewers().await?.live;
    match live.iter().find(|live| live.row.is_called(given)) {
        Some(live) => call.who.may_touch_project(live.row.project.as_deref())?,
        None => {
            let own = live.into_iter().filter(|live| call.who.allows(live.row.project.as_deref()));
            let known = own.map(|live| live.row.id).collect();
            return Err(BrokerError::UnknownReviewer { given: given.into(), known }.into());
        }
    }
    let reviewer = broker.stop_reviewer(given.to_owned(), at_once).await?;
    Ok(Answer::of(&Reviewer::live(&reviewer))?)
}
