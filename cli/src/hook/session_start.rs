//! The `SessionStart` hook: tells a new agent session whether the broker runs and which reviews are open.

use super::{
    Agent, HookRole, SessionStart,
    agent_hook_protocol::{HookInput, HookOutput},
    agent_stop::{has_unread_feedback, open_reviews, summary},
};
use crate::{
    client::discovery::{Starter, client, find},
    config_overrides::{ConfigArgs, ResolvedConfig},
    render::clipped,
};
use domain::{
    credential::Authority,
    review::Review,
    waiting_on::{Turn, waiting_on},
};
use git::UserRepo;

/// More reviews than this would fill the agent's context.
const MAX_REVIEWS: usize = 8;
const MAX_INTENT_COLUMNS: usize = 100;

pub(super) async fn session_context(args: &SessionStart) -> anyhow::Result<HookOutput> {
    let input = HookInput::from_stdin()?;
    let Ok(repo) = UserRepo::find(&input.dir()?).await else { return Ok(HookOutput::default()) };
    let mut lines = vec![broker_status(args, &repo).await];
    if args.role != HookRole::Proposer {
        lines.extend(for_reviewers(args, &repo).await);
    }
    if args.role == HookRole::Reviewer {
        return Ok(HookOutput::context(lines.join("\n")));
    }
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

/// What waits for a reviewer in this repository, and how to begin.
async fn for_reviewers(args: &SessionStart, repo: &UserRepo) -> Vec<String> {
    let everyone = Agent { proposer: None, ..args.agent.clone() };
    let is_own = |review: &Review| args.agent.proposer.as_ref().is_some_and(|name| review.is_proposed_by(name));
    let reviews = open_reviews(&everyone, repo).await.unwrap_or_default();
    let others = reviews.iter().map(|open| &open.review).filter(|review| !is_own(review));
    let waiting: Vec<_> = others.filter_map(reviewer_summary).collect();
    let mut lines = vec![match waiting.len() {
        0 => "You review here. No review waits for a reviewer now; list_reviews(status=\"pending\", wait=true) waits for one."
            .to_owned(),
        number => format!("You review here. Reviews that wait for a reviewer: {number}. Take one with claim_review."),
    }];
    lines.extend(waiting.into_iter().take(MAX_REVIEWS).map(|line| format!("- {line}")));
    lines
}

/// One line about what a review wants of a reviewer, if anything.
fn reviewer_summary(review: &Review) -> Option<String> {
    let what = |turn: &Turn| {
        let seat = turn.seat.as_deref().map(|seat| format!(", seat {seat}")).unwrap_or_default();
        let name = turn.name.as_deref().map(|name| format!(", for {name}")).unwrap_or_default();
        format!("{}{seat}{name}", turn.why.as_str().replace('_', " "))
    };
    let turns = waiting_on(review);
    let what: Vec<_> = turns.iter().filter(|turn| turn.who == Authority::Reviewer).map(what).collect();
    let intent = clipped(&review.round.intent, MAX_INTENT_COLUMNS);
    (!what.is_empty()).then(|| format!("{} ({intent}): {}", review.number, what.join("; ")))
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
