//! The slow half of a call: reading diffs and asking git. Runs in the caller's task or one of its
//! own, so it holds no mailbox and no transaction.

mod findings;
pub(crate) mod front_matter;
pub(crate) mod panel;
mod targets;
mod verdicts;

use crate::{
    Context,
    error::BrokerError,
    requests::{NewProposal, Revision},
};
use domain::{
    content::{Content, ContentHash},
    diff::{self, DiffSummary},
    review::{AcceptCounterPatch, Check, DiffCheck, DiffFacts, Review, ReviewTarget},
};
use git::{GitError, Repository};
use std::{sync::Arc, time::Instant};

/// Above this, reading a diff would keep other calls off the thread for too long.
const READ_ELSEWHERE_BYTES: usize = 64 * 1024;

/// A content ready to be submitted.
pub(crate) struct Prepared {
    pub(crate) content: Arc<Content>,
    pub(crate) hash: ContentHash,
    pub(crate) diff: Option<DiffFacts>,
    pub(crate) target: Option<Box<ReviewTarget>>,
}

impl Context {
    /// A first submission's content. A diff that does not apply is no error here: it may queue
    /// before it applies.
    pub(crate) async fn prepare_proposal(
        &self,
        project: Option<&str>,
        proposal: &mut NewProposal,
    ) -> Result<Prepared, BrokerError> {
        if let Some(asked) = proposal.target.take() {
            return self.propose_target(project, proposal, &asked).await;
        }
        let intent = std::mem::take(&mut proposal.intent);
        let description = proposal.description.take();
        match proposal.diff.take() {
            None => Ok(seal(without_diff(intent, description), None)),
            Some(text) => {
                let repository = self.projects.repository(project)?;
                let base = resolve(repository, proposal.base.as_deref()).await?;
                self.with_diff(repository, intent, description, text, base, proposal.skip_diff_validation).await
            }
        }
    }

    /// A revision's content, completed from the active one. Where it `repeats` the call that made the
    /// active one, HEAD may have moved in between, so a base that nobody named stays.
    pub(crate) async fn prepare_revision(
        &self,
        review: &Review,
        revision: &mut Revision,
        repeats: bool,
    ) -> Result<Prepared, BrokerError> {
        let skipped = matches!(review.round.diff, Some(DiffFacts { check: DiffCheck::Skipped, .. }));
        let skip = revision.skip_diff_validation.unwrap_or(skipped);
        if let Some(asked) = revision.target.take().or_else(|| targets::followed(review, revision)) {
            return self.revise_target(review, revision, &asked, repeats, skip).await;
        }
        let active = self.find_content(&review.round.content_hash).await?;
        let intent = std::mem::take(&mut revision.intent);
        let description = revision.description.take().or_else(|| active.description.clone());
        // A commit or a range stays what it is; another diff or base has nothing to do with it.
        let target = review.round.target.clone().filter(|_| revision.diff.is_none() && revision.base.is_none());
        let (text, base) = match (revision.diff.take(), revision.base.as_deref()) {
            (Some(text), None) if repeats && active.diff.is_some() => (Some(text), Base::Kept),
            (Some(text), base) => (Some(text), Base::Named(base)),
            (None, Some(base)) => (active.diff.clone(), Base::Named(Some(base))),
            (None, None) => (active.diff.clone(), Base::Kept),
        };
        let Some(text) = text else { return Ok(seal(without_diff(intent, description), None)) };
        if matches!(base, Base::Kept) && skip == skipped && active.diff.as_deref() == Some(&text) {
            let content = Content { intent, description, ..Content::clone(&active) };
            return Ok(Prepared { target, ..seal(content, review.round.diff.clone()) });
        }
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = match base {
            Base::Kept => active.base_commit.clone(),
            Base::Named(base) => resolve(repository, base).await?,
        };
        let prepared = self.with_diff(repository, intent, description, text, base, skip).await?;
        Ok(Prepared { target, ..prepared })
    }

    /// Asks git, and notes how long that took.
    async fn check(&self, repository: &Repository, base: Option<&str>, diff: &str) -> Result<Check, GitError> {
        let begun = Instant::now();
        let outcome = repository.check(base, diff).await;
        self.metrics.git_check_seconds.observe(begun.elapsed().as_secs_f64());
        outcome
    }

    /// What git says of the active diff, now.
    pub(crate) async fn check_active_diff(&self, review: &Review) -> Result<Check, BrokerError> {
        let content = self.find_content(&review.round.content_hash).await?;
        let Some(diff) = &content.diff else { return Ok(Check::NotNeeded) };
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        self.check(repository, content.base_commit.as_deref(), diff).await.map_err(check_failed)
    }

    /// What git says of a counter-patch, on the base of what it would replace.
    pub(crate) async fn check_offered_patch(&self, review: &Review, patch: &str) -> Result<Check, BrokerError> {
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = self.base_of(review, repository).await?;
        self.check(repository, base.as_deref(), patch).await.map_err(check_failed)
    }

    /// The content that accepting a counter-patch would make active, with git's word on it.
    pub(crate) async fn prepare_acceptance(
        &self,
        review: &Review,
        patch: u64,
        checked: bool,
        accept: &mut AcceptCounterPatch,
    ) -> Result<Arc<Content>, BrokerError> {
        let active = self.find_content(&review.round.content_hash).await?;
        let text = self.reader.find_counter_patch_diff(review.number, patch).await.map_err(unreadable)?;
        let Some(text) = text else {
            return Err(BrokerError::Unreadable { why: format!("counter-patch {patch} has no text") });
        };
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        let base = self.base_of(review, repository).await?;
        let (intent, description) = (active.intent.clone(), active.description.clone());
        let prepared = self.with_diff(repository, intent, description, text, base, !checked).await?;
        accept.check = match prepared.diff.as_ref().map(|facts| &facts.check) {
            Some(DiffCheck::Applies { to, tree_id }) => Check::Applies { to: *to, tree_id: tree_id.clone() },
            Some(DiffCheck::Fails { words }) => Check::Fails { words: words.clone() },
            Some(DiffCheck::Unknown { why }) => return Err(BrokerError::CheckFailed { why: why.clone() }),
            Some(DiffCheck::Skipped) | None => Check::NotNeeded,
        };
        accept.checked = Some((patch, review.round.content_hash.clone()));
        accept.content_hash = Some(prepared.hash);
        accept.diff = prepared.diff;
        accept.anchors = self.follow(review, &prepared.content).await?;
        Ok(prepared.content)
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

    async fn with_diff(
        &self,
        repository: &Repository,
        intent: String,
        description: Option<String>,
        text: String,
        base: Option<String>,
        skip: bool,
    ) -> Result<Prepared, BrokerError> {
        let (reading, text) = read_diff(text).await?;
        self.refuse_flagged(&reading)?;
        let (check, patch_id) = if skip {
            (DiffCheck::Skipped, repository.patch_id(&text).await)
        } else {
            let (outcome, patch_id) =
                tokio::join!(self.check(repository, base.as_deref(), &text), repository.patch_id(&text));
            (to_diff_check(outcome), patch_id)
        };
        // A diff that git cannot even read has no patch-id; the check says why.
        let facts = DiffFacts { base_commit: base.clone(), patch_id: patch_id.unwrap_or_default(), check };
        let content = Content {
            intent,
            description,
            diff: Some(text),
            base_commit: base,
            files: reading.files,
            flags: reading.flags,
            diff_note: reading.note,
        };
        Ok(seal(content, Some(facts)))
    }

    /// Policy says no when a counter-patch is offered, not only once it is accepted.
    pub(crate) async fn refuse_flagged_patch(&self, patch: &str) -> Result<(), BrokerError> {
        if self.settings.refuse.is_empty() {
            return Ok(());
        }
        let (reading, _) = read_diff(patch.to_owned()).await?;
        self.refuse_flagged(&reading)
    }

    fn refuse_flagged(&self, reading: &DiffSummary) -> Result<(), BrokerError> {
        let refused = reading.flags.iter().filter(|flag| self.settings.refuse.contains(&flag.kind));
        let flags: Vec<String> = refused
            .take(10)
            .map(|flag| {
                let place = flag.path.as_deref().unwrap_or("the diff");
                format!("{} in {place}: {}", flag.kind.as_str(), flag.detail)
            })
            .collect();
        if flags.is_empty() { Ok(()) } else { Err(BrokerError::FlaggedDiff { flags }) }
    }
}

enum Base<'a> {
    Kept,
    Named(Option<&'a str>),
}

fn without_diff(intent: String, description: Option<String>) -> Content {
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

fn seal(content: Content, diff: Option<DiffFacts>) -> Prepared {
    let hash = content.hash();
    Prepared { content: Arc::new(content), hash, diff, target: None }
}

pub(crate) async fn read_diff(text: String) -> Result<(DiffSummary, String), BrokerError> {
    if text.len() < READ_ELSEWHERE_BYTES {
        return Ok((diff::summarize(&text), text));
    }
    let read = tokio::task::spawn_blocking(move || (diff::summarize(&text), text)).await;
    read.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })
}

async fn resolve(repository: &Repository, base: Option<&str>) -> Result<Option<String>, BrokerError> {
    repository.resolve_base(base).await.map_err(|error| match error {
        GitError::UnknownBase { base, message } => BrokerError::BadBase { base, words: message },
        GitError::BadBase { base, why } => BrokerError::BadBase { base, words: why.into() },
        error @ (GitError::NotARepository { .. }
        | GitError::BadTarget { .. }
        | GitError::DoesNotApply { .. }
        | GitError::TooLarge { .. }
        | GitError::TimedOut { .. }
        | GitError::Missing { .. }
        | GitError::Failed { .. }) => check_failed(error),
    })
}

fn to_diff_check(outcome: Result<Check, GitError>) -> DiffCheck {
    match outcome {
        Ok(Check::NotNeeded) => DiffCheck::Skipped,
        Ok(Check::Applies { to, tree_id }) => DiffCheck::Applies { to, tree_id },
        Ok(Check::Fails { words }) => DiffCheck::Fails { words },
        Err(error) => DiffCheck::Unknown { why: error.to_string() },
    }
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
