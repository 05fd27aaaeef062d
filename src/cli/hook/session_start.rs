//! When an agent's session begins: what waits for it here.

use super::{
    SessionStart,
    protocol::{HookInput, answer, in_time, is_reviewer},
    stop::{is_unread, open_reviews, words},
};
use crate::cli::{
    Failure,
    locate::{Starter, client, find},
    place::{Place, Settled},
};
use git::UserRepo;
use serde_json::{Value, json};

/// An agent's context is not the place for a list.
const MAX_REVIEWS: usize = 8;

pub(super) async fn run(args: SessionStart) -> Result<(), Failure> {
    answer(if is_reviewer() { Ok(None) } else { in_time(decide(&args)).await });
    Ok(())
}

async fn decide(args: &SessionStart) -> anyhow::Result<Option<Value>> {
    let input = HookInput::read()?;
    let Ok(repo) = UserRepo::find(&input.dir()?).await else { return Ok(None) };
    let mut lines = vec![broker(args, &repo).await];
    // No database yet is nothing that waits.
    let reviews = open_reviews(&args.agent, &repo).await.unwrap_or_default();
    let (unread, others): (Vec<_>, Vec<_>) = reviews.into_iter().partition(is_unread);
    let (waiting, open) = (unread.len(), others.len());
    match (waiting, open) {
        (0, 0) => lines.push("No review of this repository is open.".to_owned()),
        _ => lines.push(format!("Waiting for your answer: {waiting}. Open besides: {open}.")),
    }
    lines.extend(unread.iter().chain(&others).take(MAX_REVIEWS).map(|review| format!("- {}", words(review))));
    Ok(Some(
        json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": lines.join("\n") } }),
    ))
}

/// Whether one runs; with `--start`, one is made to.
async fn broker(args: &SessionStart, repo: &UserRepo) -> String {
    const RULE: &str = "Changes here are reviewed before they land: submit what you have staged with `countersign request \
                        --staged` or the tool create_review, and wait for the verdict.";
    match running(args, repo).await {
        Ok(Some(url)) => format!("Countersign's review broker runs at {url}. {RULE}"),
        Ok(None) => format!("Countersign's review broker does not run; `countersign serve` starts it. {RULE}"),
        Err(error) => format!("Countersign's review broker does not run, and could not be started: {error:#}"),
    }
}

async fn running(args: &SessionStart, repo: &UserRepo) -> anyhow::Result<Option<String>> {
    let root = repo.root().to_owned();
    let place = Place { repo: Some(root.clone()), ..args.agent.place.clone() };
    let Settled { config, repo } = place.settle(None).map_err(|failure| failure.error)?;
    let (client, data_dir) = (client()?, config.server.data_dir);
    if let Some(note) = find(&client, &data_dir).await {
        return Ok(Some(note.url));
    }
    if !args.start {
        return Ok(None);
    }
    let starter = Starter { place, data_dir, repo };
    Ok(Some(starter.find_or_start(&client).await?.url))
}
