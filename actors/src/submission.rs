//! The slow half of a submission: parses diffs and runs git. It runs in the caller's task or one of its own, so it holds
//! no mailbox and no transaction.

mod findings;
pub(crate) mod front_matter;
pub(crate) mod panel;
mod targets;
mod verdicts;

use crate::{
    Context,
    error::BrokerError,
    requests::{DraftRequest, RequestKey},
};
use domain::{
    content::{Content, ContentHash},
    diff::{self, DiffSummary},
    ids::ReviewId,
    review::{DiffCheck, DiffFacts, Draft, Event, PatchedContent, Review, ReviewTarget, Round},
};
use git::{GitError, Repository};
use std::{sync::Arc, time::Instant};
use uuid::Uuid;

/// Longer diffs are parsed on a blocking thread.
const INLINE_PARSE_BYTES: usize = 64 * 1024;

/// A content that is ready to be submitted.
pub(crate) struct PreparedDraft {
    pub(crate) content: Arc<Content>,
    pub(crate) draft: Draft,
    /// See [`domain::review::Proposal::first_content`].
    pub(crate) first_content: Option<ContentHash>,
}

impl PreparedDraft {
    fn new(content: Content, diff: Option<DiffFacts>, target: Option<Box<ReviewTarget>>) -> Self {
        let (intent, content_hash) = (content.intent.clone(), content.hash());
        let draft = Draft { intent, content_hash, diff, target, request_key: None };
        Self { content: Arc::new(content), draft, first_content: None }
    }
}

/// The texts of a submission beside its diff.
struct Texts {
    intent: String,
    description: Option<String>,
}

impl Context {
    /// Prepares the first content of a review. A diff that does not apply is accepted: the base may move before a
    /// reviewer claims it. A repeat of an earlier call gets the content of that call, even if HEAD or a branch has moved
    /// since.
    pub(crate) async fn prepare_proposal(
        &self,
        project: Option<&str>,
        mut request: DraftRequest,
    ) -> Result<PreparedDraft, BrokerError> {
        let request_key = request.key.take().map(RequestKey::into_text);
        let first = self.find_first_round(project, request_key.as_deref()).await?;
        let first_content = first.as_ref().map(|round| round.content_hash.clone());
        let prepared = match first {
            Some(round) => self.repeat_round(&round, &request).await?,
            None => None,
        };
        let mut prepared = match prepared {
            Some(prepared) => prepared,
            None => self.prepare_first(project, request).await?,
        };
        prepared.draft.request_key = request_key;
        Ok(PreparedDraft { first_content, ..prepared })
    }

    async fn prepare_first(&self, project: Option<&str>, request: DraftRequest) -> Result<PreparedDraft, BrokerError> {
        let DraftRequest { intent, description, diff, base, target, skip_diff_validation, key: _ } = request;
        let (texts, skip) = (Texts { intent, description }, skip_diff_validation.unwrap_or(false));
        match (target, diff) {
            (Some(target), _) => self.diff_target(self.projects.repository(project)?, texts, &target, skip).await,
            (None, Some(diff)) => {
                let repository = self.projects.repository(project)?;
                let base = resolve(repository, base.as_deref()).await?;
                self.check_diff(repository, texts, diff, base, skip).await
            }
            (None, None) => Ok(PreparedDraft::new(without_diff(texts), None, None)),
        }
    }

    /// Prepares a further content. What the request leaves out is taken from the active content. If it repeats the call
    /// that submitted the active content, a base that the caller did not name stays as it was.
    pub(crate) async fn prepare_revision(
        &self,
        review: &Review,
        mut request: DraftRequest,
    ) -> Result<PreparedDraft, BrokerError> {
        let request_key = request.key.take().map(RequestKey::into_text);
        let repeats = request_key.is_some() && request_key == review.round.request_key;
        let mut prepared = self.prepare_next(review, request, repeats).await?;
        prepared.draft.request_key = request_key;
        Ok(prepared)
    }

    async fn prepare_next(
        &self,
        review: &Review,
        request: DraftRequest,
        repeats: bool,
    ) -> Result<PreparedDraft, BrokerError> {
        let active = self.find_content(&review.round.content_hash).await?;
        let followed = targets::followed_branch(review, &request);
        let DraftRequest { intent, description, diff, base, target, skip_diff_validation, key: _ } = request;
        let texts = Texts { intent, description: description.or_else(|| active.description.clone()) };
        let skipped = !review.checks_diffs();
        let skip = skip_diff_validation.unwrap_or(skipped);
        if let Some(target) = target.or(followed) {
            if repeats && targets::names_target(&review.round, &target) {
                return Ok(keep_diff(&active, &review.round, texts));
            }
            let repository = self.projects.repository(review.proposer.project.as_deref())?;
            return self.diff_target(repository, texts, &target, skip).await;
        }
        // A commit or range stays the target unless the caller replaces its diff or base.
        let target = review.round.target.clone().filter(|_| diff.is_none() && base.is_none());
        let keeps_base = base.is_none() && (diff.is_none() || (repeats && active.diff.is_some()));
        let Some(diff) = diff.or_else(|| active.diff.clone()) else {
            return Ok(PreparedDraft::new(without_diff(texts), None, None));
        };
        if keeps_base && skip == skipped && active.diff.as_deref() == Some(&diff) {
            let kept = keep_diff(&active, &review.round, texts);
            return Ok(PreparedDraft { draft: Draft { target, ..kept.draft }, ..kept });
        }
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = if keeps_base { active.base_commit.clone() } else { resolve(repository, base.as_deref()).await? };
        let prepared = self.check_diff(repository, texts, diff, base, skip).await?;
        Ok(PreparedDraft { draft: Draft { target, ..prepared.draft }, ..prepared })
    }

    /// The first round of the review that this request key has created.
    async fn find_first_round(&self, project: Option<&str>, key: Option<&str>) -> Result<Option<Round>, BrokerError> {
        let Some(key) = key else { return Ok(None) };
        let id = review_id(project, Some(key));
        let Some(review) = self.reader.find_review(id).await.map_err(unreadable)? else { return Ok(None) };
        let first = self.reader.find_first_event(review.number).await.map_err(unreadable)?;
        let Some(Event::Proposed(first)) = first else { return Ok(None) };
        Ok(Some(first.round))
    }

    /// The content of the first round, if `request` asks for it again.
    async fn repeat_round(&self, round: &Round, request: &DraftRequest) -> Result<Option<PreparedDraft>, BrokerError> {
        let stored = self.find_content(&round.content_hash).await?;
        let same_texts = (&stored.intent, &stored.description) == (&request.intent, &request.description);
        let same_diff = match &request.target {
            Some(target) => targets::names_target(round, target),
            None => stored.diff == request.diff,
        };
        let texts = Texts { intent: stored.intent.clone(), description: stored.description.clone() };
        Ok((same_texts && same_diff).then(|| keep_diff(&stored, round, texts)))
    }

    /// Runs git's check and records how long it took.
    async fn check(&self, repository: &Repository, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        let started = Instant::now();
        let outcome = repository.check(base, diff).await;
        self.metrics.git_check_seconds.observe(started.elapsed().as_secs_f64());
        outcome
    }

    /// Checks the active diff. `None` if the review has no diff.
    pub(crate) async fn check_active_diff(&self, review: &Review) -> Result<Option<DiffCheck>, BrokerError> {
        let content = self.find_content(&review.round.content_hash).await?;
        let Some(diff) = &content.diff else { return Ok(None) };
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        self.check(repository, content.base_commit.as_deref(), diff).await.map(Some).map_err(check_failed)
    }

    /// Checks a counter-patch against the base of the active diff.
    pub(crate) async fn check_offered_patch(&self, review: &Review, patch: &str) -> Result<DiffCheck, BrokerError> {
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = self.base_of(review, repository).await?;
        self.check(repository, base.as_deref(), patch).await.map_err(check_failed)
    }

    /// Builds the content that becomes active if the counter-patch is accepted.
    pub(crate) async fn apply_counter_patch(
        &self,
        review: &Review,
        patch: u64,
    ) -> Result<(Arc<Content>, PatchedContent), BrokerError> {
        let active = self.find_content(&review.round.content_hash).await?;
        let text = self.reader.find_counter_patch_diff(review.number, patch).await.map_err(unreadable)?;
        let Some(text) = text else {
            return Err(BrokerError::Unreadable { why: format!("counter-patch {patch} has no text") });
        };
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = self.base_of(review, repository).await?;
        let texts = Texts { intent: active.intent.clone(), description: active.description.clone() };
        let prepared = self.check_diff(repository, texts, text, base, !review.checks_diffs()).await?;
        let Draft { content_hash, diff: Some(diff), .. } = prepared.draft else {
            return Err(BrokerError::CheckFailed { why: "the counter-patch has no diff".into() });
        };
        if let DiffCheck::Unknown { why } = diff.check {
            return Err(BrokerError::CheckFailed { why });
        }
        let anchors = self.reanchor_findings(review, &prepared.content).await?;
        let replaces = review.round.content_hash.clone();
        Ok((prepared.content, PatchedContent { patch, replaces, content_hash, diff, anchors }))
    }

    pub(crate) async fn find_content(&self, hash: &ContentHash) -> Result<Arc<Content>, BrokerError> {
        let found = self.reader.find_content(hash).await.map_err(unreadable)?;
        found.ok_or_else(|| BrokerError::Unreadable { why: format!("content {hash} is missing") })
    }

    async fn base_of(&self, review: &Review, repository: &Repository) -> Result<Option<String>, BrokerError> {
        match &review.round.diff {
            Some(facts) => Ok(facts.base_commit.clone()),
            None => resolve(repository, None).await,
        }
    }

    async fn check_diff(
        &self,
        repository: &Repository,
        texts: Texts,
        diff: String,
        base: Option<String>,
        skip: bool,
    ) -> Result<PreparedDraft, BrokerError> {
        let (summary, diff) = parse_diff(diff).await?;
        self.refuse_flags(&summary)?;
        let (check, patch_id) = if skip {
            (DiffCheck::Skipped, repository.patch_id(&diff).await)
        } else {
            let (outcome, patch_id) =
                tokio::join!(self.check(repository, base.as_deref(), &diff), repository.patch_id(&diff));
            (outcome.unwrap_or_else(|error| DiffCheck::Unknown { why: error.to_string() }), patch_id)
        };
        // Git computes no patch id for a diff that it cannot parse; the check says why.
        let facts = DiffFacts { base_commit: base.clone(), patch_id: patch_id.unwrap_or_default(), check };
        let content = Content {
            diff: Some(diff),
            base_commit: base,
            files: summary.files,
            flags: summary.flags,
            diff_note: summary.note,
            ..without_diff(texts)
        };
        Ok(PreparedDraft::new(content, Some(facts), None))
    }

    /// Applies `git.refuse` to a counter-patch when it is offered, not only when it is accepted.
    pub(crate) async fn refuse_flagged_patch(&self, patch: &str) -> Result<(), BrokerError> {
        if self.settings.refuse.is_empty() {
            return Ok(());
        }
        let (summary, _) = parse_diff(patch.to_owned()).await?;
        self.refuse_flags(&summary)
    }

    fn refuse_flags(&self, summary: &DiffSummary) -> Result<(), BrokerError> {
        let refused = summary.flags.iter().filter(|flag| self.settings.refuse.contains(&flag.kind));
        let flags: Vec<String> = refused
            .take(10)
            .map(|flag| {
                let path = flag.path.as_deref().unwrap_or("the diff");
                format!("{} in {path}: {}", flag.kind.as_str(), flag.detail)
            })
            .collect();
        if flags.is_empty() { Ok(()) } else { Err(BrokerError::FlaggedDiff { flags }) }
    }
}

/// The id of a new review. With a request key it is derived from the key, so that a repeat reaches the review of the
/// first call without a table of keys.
pub(crate) fn review_id(project: Option<&str>, request_key: Option<&str>) -> ReviewId {
    const NAMESPACE: Uuid = Uuid::from_u128(0x5e0f_91b3_7f6e_4c58_9a1d_3c92_60c1_77aa);
    let Some(key) = request_key else { return ReviewId(Uuid::new_v4()) };
    let project = project.unwrap_or_default();
    ReviewId(Uuid::new_v5(&NAMESPACE, format!("{project}\0{key}").as_bytes()))
}

fn without_diff(Texts { intent, description }: Texts) -> Content {
    Content {
        intent,
        description,
        diff: None,
        base_commit: None,
        files: Vec::new(),
        flags: Vec::new(),
        diff_note: None,
    }
}

/// The diff and target of an earlier round with other texts.
fn keep_diff(content: &Content, round: &Round, Texts { intent, description }: Texts) -> PreparedDraft {
    let content = Content { intent, description, ..content.clone() };
    PreparedDraft::new(content, round.diff.clone(), round.target.clone())
}

pub(crate) async fn parse_diff(text: String) -> Result<(DiffSummary, String), BrokerError> {
    if text.len() < INLINE_PARSE_BYTES {
        return Ok((diff::summarize(&text), text));
    }
    let parsed = tokio::task::spawn_blocking(move || (diff::summarize(&text), text)).await;
    parsed.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })
}

async fn resolve(repository: &Repository, base: Option<&str>) -> Result<Option<String>, BrokerError> {
    repository.resolve_base(base).await.map_err(|error| match error {
        GitError::UnknownBase { base, message } => BrokerError::BadBase { base, message },
        GitError::BadBase { base, why } => BrokerError::BadBase { base, message: why.into() },
        error @ (GitError::NotARepository { .. }
        | GitError::BadTarget { .. }
        | GitError::DoesNotApply { .. }
        | GitError::TooLarge { .. }
        | GitError::TimedOut { .. }
        | GitError::Missing { .. }
        | GitError::Failed { .. }) => check_failed(error),
    })
}

pub(crate) fn check_failed(error: GitError) -> BrokerError {
    BrokerError::CheckFailed { why: error.to_string() }
}

pub(crate) fn unreadable(error: store::StoreError) -> BrokerError {
    if matches!(error, store::StoreError::BadCursor(_)) {
        return BrokerError::BadCursor;
    }
    BrokerError::Unreadable { why: error.to_string() }
}
