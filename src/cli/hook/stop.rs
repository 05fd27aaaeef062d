//! When an agent stops: has a reviewer said something that nobody has answered?
//!
//! It is blocked once. Never twice for the same feedback, never again in a turn that a block has already prolonged, and
//! never where we could not remember that we did.

use super::{
    Agent,
    protocol::{HookInput, answer, in_time, is_reviewer},
    seen_feedback::SeenFeedback,
};
use crate::{
    broker::DATABASE,
    cli::{Failure, gate::settings, place::Place, render::clipped},
};
use domain::{review::Status, time::Timestamp};
use git::UserRepo;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::read_only::{OpenReview, ReadOnlyStore};

/// ActionKind is older is not this session's.
const RECENT: Duration = Duration::from_secs(7 * 24 * 3600);
const TEXT_CHARS: usize = 300;

pub(super) async fn run(args: Agent) -> Result<(), Failure> {
    answer(if is_reviewer() { Ok(None) } else { in_time(decide(&args)).await });
    Ok(())
}

async fn decide(args: &Agent) -> anyhow::Result<Option<Value>> {
    let input = HookInput::read()?;
    let Ok(repo) = UserRepo::find(&input.dir()?).await else { return Ok(None) };
    let mut told = SeenFeedback::of(&repo, &input.session_id).await?;
    if input.stop_hook_active && !told.is_empty() {
        return Ok(None);
    }
    let waiting = open_reviews(args, &repo).await?.into_iter().filter(is_unread);
    let new: Vec<_> = waiting.filter(|review| !told.has(&review.number.to_string(), review.feedback_version)).collect();
    if new.is_empty() {
        return Ok(None);
    }
    told.remember(new.iter().map(|review| (review.number.to_string(), review.feedback_version)))?;
    let lines: Vec<_> = new.iter().map(|review| format!("- {}", words(review))).collect();
    let reason = format!(
        "Countersign: before you stop, a reviewer has said something that nobody has answered.\n{}\nAnswer it, or say \
         why you leave it; you will not be told again.",
        lines.join("\n")
    );
    Ok(Some(json!({ "decision": "block", "reason": reason })))
}

/// Reviews of this repository that are not over, the newest first.
pub(super) async fn open_reviews(args: &Agent, repo: &UserRepo) -> anyhow::Result<Vec<OpenReview>> {
    let place = Place { repo: Some(repo.root().to_owned()), ..args.place.clone() };
    let database = settings(&place)?.server.data_dir.join(DATABASE);
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(RECENT);
    let since = Timestamp(i64::try_from(since.as_millis())?);
    let mut here = Vec::new();
    for review in ReadOnlyStore::open(&database).await?.list_open_reviews(since).await? {
        let mine = args.proposer.as_ref().is_none_or(|name| *name == review.proposer);
        if mine && is_of(&review, repo).await? {
            here.push(review);
        }
    }
    Ok(here)
}

/// By its base where it has one, else by the project's usual name.
async fn is_of(review: &OpenReview, repo: &UserRepo) -> anyhow::Result<bool> {
    match &review.base {
        Some(base) => Ok(repo.has_commit(base).await?),
        None => Ok(review.project.as_deref() == repo.root().file_name().and_then(|name| name.to_str())),
    }
}

pub(super) fn is_unread(review: &OpenReview) -> bool {
    match review.status {
        Status::ChangesRequested | Status::Rejected => true,
        Status::Pending | Status::Claimed | Status::InReview | Status::Approved => {
            review.has_open_message || review.has_open_patch
        }
        Status::Cancelled | Status::Closed => false,
    }
}

/// The review, what was said, and what to do about it.
pub(super) fn words(review: &OpenReview) -> String {
    let OpenReview { number, status, intent, reason, has_open_message, has_open_patch, .. } = review;
    let reason = reason.as_deref().map(|reason| format!(": {}", clipped(reason, TEXT_CHARS))).unwrap_or_default();
    let (said, next) = match (status, has_open_patch, has_open_message) {
        (_, true, _) => (
            "a counter-patch is offered".to_owned(),
            format!("read it (get_proposal), then accept_counter_patch or reject_counter_patch; or revise {number}"),
        ),
        (Status::ChangesRequested, ..) => (
            format!("changes are requested{reason}"),
            format!("`countersign show {number}`, then `countersign resubmit {number}`, or answer the reviewer"),
        ),
        (Status::Rejected, ..) => (
            format!("it is rejected{reason}"),
            format!("do not commit it; if it is committed, `countersign revert {number}`; then close it"),
        ),
        (_, _, true) => {
            ("a reviewer has written".to_owned(), format!("`countersign show {number}`, then answer with add_message"))
        }
        (Status::Approved, ..) => {
            ("it is approved".to_owned(), format!("commit exactly that, then `countersign close {number}`"))
        }
        (Status::Pending | Status::Claimed | Status::InReview, ..) => {
            (format!("it is {status}"), format!("`countersign wait {number}`"))
        }
        (Status::Cancelled | Status::Closed, ..) => (format!("it is {status}"), "nothing".to_owned()),
    };
    format!("{number} ({}): {said}. Next: {next}.", clipped(intent, 100))
}
