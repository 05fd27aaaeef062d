//! The `SessionStart` hook: tells a new agent session whether the broker runs and which reviews are open.

use super::{
    SessionStart,
    agent_hook_protocol::{HookInput, HookOutput},
    agent_stop::{has_unread_feedback, open_reviews, summary},
};
use crate::{
    client::discovery::{Starter, client, find},
    config_overrides::{ConfigArgs, ResolvedConfig},
};
use git::UserRepo;

/// More reviews than this would fill the agent's context.
const MAX_REVIEWS: usize = 8;

pub(super) async fn session_context(args: &SessionStart) -> anyhow::Result<HookOutput> {
    let input = HookInput::from_stdin()?;
    let Ok(repo) = UserRepo::find(&input.dir()?).await else { return Ok(HookOutput::default()) };
    let mut lines = vec![broker_status(args, &repo).await];
    // Without a database there are no reviews.
    let reviews = open_reviews(&args.agent, &repo).await.unwrap_or_default();
    let (unread, others): (Vec<_>, Vec<_>) = reviews.into_iter().partition(has_unread_feedback);
    lines.push(match (unread.len(), others.len()) {
        (0, 0) => "No review of this repository is open.".to_owned(),
        (waiting, open) => format!("Reviews that wait for your answer: {waiting}. Other open reviews: {open}."),
    });
    lines.extend(unread.iter().chain(&others).take(MAX_REVIEWS).map(|review| format!("- {}", summary(review))));
    Ok(HookOutput::context(lines.join("\n")))
}

async fn broker_status(args: &SessionStart, repo: &UserRepo) -> String {
    const RULE: &str = "Changes here are reviewed before they land: submit what you have staged with `countersign request \
                        --staged` or the tool create_review, and wait for the verdict.";
    match find_or_start_broker(args, repo).await {
        Ok(Some(url)) => format!("The Countersign review broker runs at {url}. {RULE}"),
        Ok(None) => format!("The Countersign review broker is not running; `countersign serve` starts it. {RULE}"),
        Err(error) => format!("The Countersign review broker is not running and could not be started: {error:#}"),
    }
}

/// The URL of the running broker. With `--start`, a broker is started if none runs.
async fn find_or_start_broker(args: &SessionStart, repo: &UserRepo) -> anyhow::Result<Option<String>> {
    let root = repo.root().to_owned();
    let config_overrides = ConfigArgs { repo: Some(root.clone()), ..args.agent.config.clone() };
    let ResolvedConfig { config, repo } = config_overrides.resolve(None).map_err(|failure| failure.error)?;
    let (client, data_dir) = (client()?, config.server.data_dir);
    if let Some(note) = find(&client, &data_dir).await {
        return Ok(Some(note.url));
    }
    if !args.start {
        return Ok(None);
    }
    let starter = Starter { config: config_overrides, data_dir, repo };
    Ok(Some(starter.find_or_start(&client).await?.note.url))
}
