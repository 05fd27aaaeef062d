//! The `Stop` hook: keeps an agent from ending its turn while a reviewer's feedback is unanswered.
//!
//! It blocks once for each piece of feedback and at most once per turn. It does not block if it could not record that
//! it blocked.

use super::{
    Agent,
    agent_hook_protocol::{HookInput, HookOutput},
};
use crate::{
    gate_settings::{Caller, GateSettings},
    render::clipped,
};
use anyhow::Context as _;
use domain::{
    content::digest,
    credential::Authority,
    review::{Review, Status},
    time::Timestamp,
    waiting_on::{Turn, TurnReason, TurnTool, waiting_on},
};
use git::UserRepo;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use store::read_only_database::{OpenReview, ReadOnlyStore};

/// Reviews without activity for longer do not concern this session.
const MAX_REVIEW_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Files of sessions that were idle for longer are deleted.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);
const MAX_REASON_COLUMNS: usize = 300;
const MAX_INTENT_COLUMNS: usize = 100;

pub(super) async fn decide(args: &Agent) -> anyhow::Result<HookOutput> {
    let input = HookInput::from_stdin()?;
    let Ok(repo) = UserRepo::find(&input.dir()?).await else { return Ok(HookOutput::default()) };
    let mut seen = SeenFeedback::load(&repo, &input.session_id).await?;
    if input.stop_hook_active && !seen.reviews.is_empty() {
        return Ok(HookOutput::default());
    }
    let unread = open_reviews(args, &repo).await?.into_iter().filter(has_unread_feedback);
    let new: Vec<_> =
        unread.filter(|review| !seen.contains(&review.review.number.to_string(), review.feedback_version)).collect();
    if new.is_empty() {
        return Ok(HookOutput::default());
    }
    seen.save(new.iter().map(|review| (review.review.number.to_string(), review.feedback_version)))?;
    let lines: Vec<_> = new.iter().map(|review| format!("- {}", summary(review))).collect();
    Ok(HookOutput::block(format!(
        "Countersign: a reviewer's feedback is unanswered.\n{}\nAnswer it before you stop, or say why you leave it \
         unanswered. This reminder is not repeated.",
        lines.join("\n")
    )))
}

/// Open reviews of this repository, the newest first.
pub(super) async fn open_reviews(args: &Agent, repo: &UserRepo) -> anyhow::Result<Vec<OpenReview>> {
    let database = GateSettings::load(&args.config, None, Caller::AgentHook)?.config.server.data_dir.database();
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(MAX_REVIEW_AGE);
    let since = Timestamp(i64::try_from(since.as_millis())?);
    let mut here = Vec::new();
    for review in ReadOnlyStore::open(&database).await?.list_open_reviews(since).await? {
        let mine = args.proposer.as_ref().is_none_or(|name| review.review.is_proposed_by(name));
        if mine && belongs_to(&review.review, repo).await? {
            here.push(review);
        }
    }
    Ok(here)
}

/// Whether the repository holds the base commit of the review. A review without a base is matched by project name.
async fn belongs_to(review: &Review, repo: &UserRepo) -> anyhow::Result<bool> {
    match review.base_commit() {
        Some(base) => Ok(repo.has_commit(base).await?),
        None => Ok(review.proposer.project.as_deref() == repo.root().file_name().and_then(|name| name.to_str())),
    }
}

/// Whether the review waits for its proposer, other than to land and close what was approved.
pub(super) fn has_unread_feedback(review: &OpenReview) -> bool {
    proposer_turn(review).is_some_and(|turn| is_feedback(&turn))
}

fn is_feedback(turn: &Turn) -> bool {
    !matches!(turn.why, TurnReason::Approved | TurnReason::Cancelled)
}

/// What the proposer must do, feedback first.
fn proposer_turn(review: &OpenReview) -> Option<Turn> {
    let turns = waiting_on(&review.review).into_iter().filter(|turn| turn.who == Authority::Proposer);
    turns.max_by_key(is_feedback)
}

/// One line about a review: its state, the feedback and the next step.
pub(super) fn summary(open: &OpenReview) -> String {
    let review = &open.review;
    let (number, status, intent) = (review.number, review.status, &review.round.intent);
    let reason = review.reason().map(|reason| format!(": {}", clipped(reason, MAX_REASON_COLUMNS))).unwrap_or_default();
    let (state, next) = match proposer_turn(open).map(|turn| turn.tool) {
        Some(TurnTool::AcceptCounterPatch) => (
            "a reviewer offers a counter-patch".to_owned(),
            format!("read it (get_proposal), then accept_counter_patch or reject_counter_patch; or revise {number}"),
        ),
        Some(TurnTool::CreateReview) => (
            format!("changes requested{reason}"),
            format!("`countersign show {number}`, then `countersign resubmit {number}`, or answer the reviewer"),
        ),
        Some(TurnTool::AddMessage) => {
            ("an unanswered message".to_owned(), format!("`countersign show {number}`, then answer with add_message"))
        }
        Some(TurnTool::CloseReview) if status == Status::Rejected => (
            format!("rejected{reason}"),
            format!("do not commit it; if it is committed, `countersign revert {number}`; then close it"),
        ),
        Some(TurnTool::CloseReview) if status == Status::Approved => {
            ("approved".to_owned(), format!("commit exactly the approved change, then `countersign close {number}`"))
        }
        Some(TurnTool::CloseReview) => (status.to_string(), format!("`countersign close {number}`")),
        Some(TurnTool::ClaimReview | TurnTool::SubmitVerdict | TurnTool::UpdateIssue) | None => {
            let state = if review.escalation().is_some() { "waits for an operator".into() } else { status.to_string() };
            (state, format!("`countersign wait {number}`"))
        }
    };
    format!("{number} ({}): {state}. Next: {next}.", clipped(intent, MAX_INTENT_COLUMNS))
}

/// The sequence number of the latest feedback that a session was blocked for, per review. Stored in a file per session
/// inside `.git`.
struct SeenFeedback {
    file: PathBuf,
    reviews: BTreeMap<String, u64>,
}

impl SeenFeedback {
    async fn load(repo: &UserRepo, session: &str) -> anyhow::Result<Self> {
        let folder = repo.root().join(repo.git(["rev-parse", "--git-path", "countersign/seen-feedback"]).await?);
        let file = folder.join(format!("{}.json", digest(&[session])));
        let reviews = fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
        Ok(Self { file, reviews: reviews.unwrap_or_default() })
    }

    fn contains(&self, review: &str, feedback: u64) -> bool {
        self.reviews.get(review).is_some_and(|seen| *seen >= feedback)
    }

    /// Saves to disk. Call it before the agent is blocked: feedback that is not saved would block again and again.
    fn save(&mut self, feedback: impl IntoIterator<Item = (String, u64)>) -> anyhow::Result<()> {
        self.reviews.extend(feedback);
        let folder = self.file.parent().context("the file for seen feedback has no folder")?;
        fs::create_dir_all(folder)?;
        remove_expired(folder);
        let draft = self.file.with_extension(format!("{}", std::process::id()));
        fs::write(&draft, serde_json::to_vec(&self.reviews)?)?;
        fs::rename(&draft, &self.file).context("cannot save which feedback was seen")
    }
}

fn remove_expired(folder: &Path) {
    let is_expired = |file: &fs::DirEntry| {
        let changed = file.metadata().and_then(|meta| meta.modified()).ok();
        changed.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > RETENTION)
    };
    for file in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_expired) {
        let _ = fs::remove_file(file.path());
    }
}
