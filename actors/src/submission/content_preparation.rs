//! Prepares the content of a proposal or revision: gets the diff from the request or from a branch or commit, parses
//! it, and lets git check that it applies.

use super::Submissions;
use crate::{
    error::BrokerError,
    input_validation::{Text, TextKind::Unlimited, invalid, target_field},
};
use domain::{
    content::{Content, ContentHash, CreateReviewRequest, RemovablePart, TargetRequest},
    diff::{self, AffectedFile, DiffSummary},
    ids::ReviewId,
    review::{
        AppliesTo, CheckedDiff, DiffCheck, DiffFacts, Event, HeadCheck, PatchedContent, RebasedContent, Review,
        ReviewTarget, Round, TargetKind, TargetName,
    },
    text::{count, short_commit},
};
use git::{GitError, Repository, SubmittedDiff};
use std::{sync::Arc, time::Instant};

/// Longer diffs are parsed on a blocking thread.
const INLINE_PARSE_BYTES: usize = 64 * 1024;

/// A content that is ready to be submitted, and its round.
pub(super) struct Draft {
    pub(super) content: Arc<Content>,
    pub(super) round: Round,
}

impl Draft {
    fn new(content: Content, diff: Option<DiffFacts>, target: Option<Box<ReviewTarget>>) -> Self {
        let (intent, content_hash) = (content.intent.clone(), content.hash());
        let round = Round {
            number: 1,
            content_hash,
            intent,
            diff,
            change_note: None,
            request_key: None,
            target,
            required: Box::default(),
        };
        Self { content: Arc::new(content), round }
    }

    fn with_target(self, target: Option<Box<ReviewTarget>>) -> Self {
        Self { round: Round { target, ..self.round }, ..self }
    }
}

/// The commit that a diff is checked against.
struct Base {
    /// `None`: the empty tree.
    commit: Option<String>,
    /// As in [`DiffFacts::base_named`].
    is_named: bool,
}

/// The base of a submitted diff.
enum GivenBase<'a> {
    Known(Base),
    /// A name that is resolved now; without one, HEAD.
    Name(Option<&'a str>),
}

impl Submissions {
    /// Prepares the first content of a review. A diff that does not apply is accepted: the base may move before a
    /// reviewer claims it. A repeat of an earlier call gets the content of that call, even if HEAD or a branch has moved
    /// since. Also returns the first content of the review, if it exists already, see
    /// [`domain::review::Propose::first_content`].
    pub(super) async fn prepare_first(
        &self,
        project: Option<&str>,
        id: ReviewId,
        request: &CreateReviewRequest,
    ) -> Result<(Draft, Option<ContentHash>), BrokerError> {
        let target = named_target(request)?;
        let first = if request.idempotency_key.is_some() { self.find_first_round(id).await? } else { None };
        if let Some(round) = &first
            && let Some(repeated) = self.repeat_round(round, request, target.as_ref()).await?
        {
            return Ok((repeated, first.map(|round| round.content_hash)));
        }
        let texts = text_only(request.intent.as_deref().unwrap_or_default(), request.description.as_ref());
        let skip = request.skip_diff_validation.unwrap_or(false);
        let prepared = match (target, &request.diff) {
            (Some(target), _) => self.diff_target(&self.projects.repository(project)?, texts, &target, skip).await?,
            (None, Some(diff)) => {
                let repository = self.projects.repository(project)?;
                let base = GivenBase::Name(request.base.as_deref());
                self.check_diff(&repository, texts, diff.clone(), base, skip).await?
            }
            (None, None) => Draft::new(texts, None, None),
        };
        Ok((prepared, first.map(|round| round.content_hash)))
    }

    /// Prepares a further content. What the request leaves out is taken from the active content. If it repeats the call
    /// that submitted the active content, a base that the caller did not name stays as it was.
    pub(super) async fn prepare_next(
        &self,
        review: &Review,
        request: &CreateReviewRequest,
        repeats: bool,
    ) -> Result<Draft, BrokerError> {
        let target = named_target(request)?;
        let active = self.shared.find_content(&review.round.content_hash).await?;
        let followed = followed_branch(review, request);
        let (diff, base) = (request.diff.clone(), request.base.as_deref());
        let removes = |part| request.remove.as_ref().is_some_and(|parts| parts.contains(&part));
        let description = active.description.as_ref().filter(|_| !removes(RemovablePart::Description));
        let intent = request.intent.as_ref().unwrap_or(&active.intent);
        let texts = text_only(intent, request.description.as_ref().or(description));
        if removes(RemovablePart::Diff) {
            return Ok(Draft::new(texts, None, None));
        }
        let skipped = !review.checks_diffs();
        let skip = request.skip_diff_validation.unwrap_or(skipped);
        if let Some(target) = target.or(followed) {
            if repeats && names_target(&review.round, &target) {
                return Ok(keep_diff(&active, &review.round, texts));
            }
            return self.diff_target(&self.repository(review)?, texts, &target, skip).await;
        }
        // A commit or range stays the target unless the caller replaces its diff or base.
        let target = review.round.target.clone().filter(|_| diff.is_none() && base.is_none());
        let keeps_base = base.is_none() && (diff.is_none() || (repeats && active.diff.is_some()));
        let Some(diff) = diff.or_else(|| active.diff.clone()) else {
            return Ok(Draft::new(texts, None, None));
        };
        if keeps_base && skip == skipped && active.diff.as_deref() == Some(&diff) {
            return Ok(keep_diff(&active, &review.round, texts).with_target(target));
        }
        let repository = self.repository(review)?;
        let base = if keeps_base { GivenBase::Known(kept_base(review, &active)) } else { GivenBase::Name(base) };
        Ok(self.check_diff(&repository, texts, diff, base, skip).await?.with_target(target))
    }

    /// The first round of a review, if the review exists.
    async fn find_first_round(&self, id: ReviewId) -> Result<Option<Round>, BrokerError> {
        let reader = &self.shared.reader;
        let Some(review) = reader.find_review(id).await? else { return Ok(None) };
        let Some(Event::Proposed(first)) = reader.find_first_event(review.number).await? else { return Ok(None) };
        Ok(Some(first.round))
    }

    /// The content of the first round, if `request` asks for it again.
    async fn repeat_round(
        &self,
        round: &Round,
        request: &CreateReviewRequest,
        target: Option<&TargetName>,
    ) -> Result<Option<Draft>, BrokerError> {
        let stored = self.shared.find_content(&round.content_hash).await?;
        let same_texts = Some(&stored.intent) == request.intent.as_ref() && stored.description == request.description;
        let same_diff = match target {
            Some(target) => names_target(round, target),
            None => stored.diff == request.diff,
        };
        Ok((same_texts && same_diff)
            .then(|| Draft::new(Content::clone(&stored), round.diff.clone(), round.target.clone())))
    }

    /// Resolves the target to commits and takes the diff between them once, like a diff that the caller sends.
    async fn diff_target(
        &self,
        repository: &Repository,
        texts: Content,
        target: &TargetName,
        skip: bool,
    ) -> Result<Draft, BrokerError> {
        let bad_target = |field, given: &str, why| BrokerError::BadTarget { field, given: given.to_owned(), why };
        let field = target_field(target.kind);
        let (target, diff) = match repository.resolve_target(target).await {
            Err(GitError::BadTarget { target: given, why }) => return Err(bad_target(field, &given, why)),
            Err(GitError::UnknownBase { base, message }) => return Err(bad_target("target.base", &base, message)),
            Err(GitError::BadBase { base, why }) => return Err(bad_target("target.base", &base, why.into())),
            resolved => resolved.map_err(too_large)?,
        };
        if diff.is_empty() {
            let from = target.base.as_deref().unwrap_or("the empty tree");
            let why = format!("it changes nothing: {} has the same files as {from}", target.head);
            return Err(bad_target(field, &target.requested.name, why));
        }
        let subjects = target.commits.iter().map(|commit| &commit.subject);
        let texts_of_target: Vec<_> =
            subjects.chain([&diff]).map(|text| Text::new("target", Unlimited, Some(text))).collect();
        self.shared.refuse_secrets(&texts_of_target).await?;
        let base = Base { commit: target.base.clone(), is_named: true };
        let prepared = self.check_diff(repository, texts, diff, GivenBase::Known(base), skip).await?;
        Ok(prepared.with_target(Some(Box::new(target))))
    }

    /// Runs git's check and records how long it took. A failure names the commit that git tried.
    async fn check(&self, repository: &Repository, base: Option<&str>, diff: &str) -> Result<DiffCheck, GitError> {
        let started = Instant::now();
        let outcome = repository.check(base, diff).await;
        self.shared.metrics.git_check_seconds.observe(started.elapsed().as_secs_f64());
        name_commit(repository, base, outcome).await
    }

    /// Checks a submitted diff against its base, and resolves the base if it is not known yet.
    async fn check_submitted(
        &self,
        repository: &Repository,
        base: GivenBase<'_>,
        diff: &str,
    ) -> Result<(Base, SubmittedDiff), BrokerError> {
        let started = Instant::now();
        let (submitted, is_named) = match base {
            GivenBase::Known(Base { commit, is_named }) => {
                let (check, patch_id) = repository.check_with_patch_id(commit.as_deref(), diff).await;
                (SubmittedDiff { base: commit, check, patch_id }, is_named)
            }
            GivenBase::Name(name) => (repository.check_on(name, diff).await.map_err(bad_base)?, name.is_some()),
        };
        self.shared.metrics.git_check_seconds.observe(started.elapsed().as_secs_f64());
        let check = name_commit(repository, submitted.base.as_deref(), submitted.check).await;
        Ok((Base { commit: submitted.base.clone(), is_named }, SubmittedDiff { check, ..submitted }))
    }

    /// Checks a diff against HEAD, unless HEAD is its base. A failure names the commit that git tried.
    async fn check_head(
        &self,
        repository: &Repository,
        base: Option<&str>,
        diff: &str,
    ) -> Result<Option<HeadCheck>, GitError> {
        let Some(head) = repository.check_head(base, diff).await? else { return Ok(None) };
        let DiffCheck::Fails { message } = &head.check else { return Ok(Some(head)) };
        let (tried, base) = (short_commit(&head.commit), base.map_or("the empty tree", short_commit));
        let behind = match head.behind {
            0 => String::new(),
            some => format!(", {} behind", count(some, "commit")),
        };
        let message = format!("checked against {tried} (HEAD; the diff was made for {base}{behind}): {message}");
        Ok(Some(HeadCheck { check: DiffCheck::Fails { message }, ..head }))
    }

    /// Checks the active diff against its base and against HEAD. Also returns the content with HEAD as its base, if the
    /// diff applies only there and the proposer did not name the base. `None` if the review has no diff.
    pub(crate) async fn check_active_diff(
        &self,
        review: &Review,
    ) -> Result<Option<(CheckedDiff, Option<Arc<Content>>)>, BrokerError> {
        let content_hash = review.round.content_hash.clone();
        let content = self.shared.find_content(&content_hash).await?;
        let (Some(diff), Some(facts)) = (&content.diff, &review.round.diff) else { return Ok(None) };
        let (repository, base) = (self.repository(review)?, content.base_commit.as_deref());
        let check = self.check(&repository, base, diff).await?;
        let head = self.check_head(&repository, base, diff).await?;
        let is_on_base = matches!(check, DiffCheck::Applies { to: AppliesTo::Base, .. });
        let new_base = match &head {
            Some(HeadCheck { commit, check: DiffCheck::Applies { .. }, .. }) if !facts.base_named && !is_on_base => {
                commit
            }
            Some(_) | None => return Ok(Some((CheckedDiff { content_hash, check, head, rebased: None }, None))),
        };
        let rebased = Arc::new(Content { base_commit: Some(new_base.clone()), ..Content::clone(&content) });
        let anchors = self.reanchor_findings(review, &rebased).await?;
        let answer = RebasedContent { content_hash: rebased.hash(), anchors };
        Ok(Some((CheckedDiff { content_hash, check, head, rebased: Some(answer) }, Some(rebased))))
    }

    /// Checks a counter-patch against the base of the active diff. If the proposer skipped the check of its diff, git
    /// need not be able to check the counter-patch either.
    pub(crate) async fn check_offered_patch(&self, review: &Review, patch: &str) -> Result<DiffCheck, BrokerError> {
        let checked = self.check_patch(review, patch).await;
        if review.checks_diffs() { checked } else { Ok(checked.unwrap_or(DiffCheck::Skipped)) }
    }

    async fn check_patch(&self, review: &Review, patch: &str) -> Result<DiffCheck, BrokerError> {
        let repository = self.repository(review)?;
        let base = active_base(review, &repository).await?;
        Ok(self.check(&repository, base.commit.as_deref(), patch).await?)
    }

    /// Builds the content that becomes active if the counter-patch is accepted.
    pub(crate) async fn apply_counter_patch(
        &self,
        review: &Review,
        patch: u64,
    ) -> Result<(Arc<Content>, PatchedContent), BrokerError> {
        let active = self.shared.find_content(&review.round.content_hash).await?;
        let Some(text) = self.shared.reader.find_counter_patch_diff(review.number, patch).await? else {
            return Err(BrokerError::Unreadable { why: format!("counter-patch {patch} has no text") });
        };
        let repository = self.repository(review)?;
        let base = active_base(review, &repository).await?;
        let texts = text_only(&active.intent, active.description.as_ref());
        let skips = !review.checks_diffs();
        let offered = if skips { self.check_offered_patch(review, &text).await? } else { DiffCheck::Skipped };
        let prepared = self.check_diff(&repository, texts, text, GivenBase::Known(base), skips).await?;
        let (Round { content_hash, diff: Some(mut diff), .. }, Some(text)) = (prepared.round, &prepared.content.diff)
        else {
            return Err(BrokerError::CheckFailed { why: "the counter-patch has no diff".into() });
        };
        match (&diff.check, offered) {
            (DiffCheck::Unknown { why }, _) => return Err(BrokerError::CheckFailed { why: why.clone() }),
            // The proposer's choice stays: only a counter-patch that does not apply is refused.
            (DiffCheck::Skipped, fails @ DiffCheck::Fails { .. }) => diff.check = fails,
            (DiffCheck::Applies { .. }, _) => {
                diff.head = self.check_head(&repository, diff.base_commit.as_deref(), text).await?;
            }
            (DiffCheck::Skipped | DiffCheck::Fails { .. }, _) => {}
        }
        let anchors = self.reanchor_findings(review, &prepared.content).await?;
        let replaces = review.round.content_hash.clone();
        let required = self.shared.settings.panel.required(review.category, &prepared.content.files);
        Ok((prepared.content, PatchedContent { patch, replaces, content_hash, diff, anchors, required }))
    }

    /// Adds a diff to `texts`, a content without one.
    async fn check_diff(
        &self,
        repository: &Repository,
        texts: Content,
        diff: String,
        base: GivenBase<'_>,
        skip: bool,
    ) -> Result<Draft, BrokerError> {
        let (summary, diff) = parse_diff(diff).await?;
        self.refuse_flags(&summary)?;
        let (base, SubmittedDiff { check, patch_id, .. }) = if skip {
            let base = match base {
                GivenBase::Known(base) => base,
                GivenBase::Name(name) => resolve_base(repository, name).await?,
            };
            let patch_id = repository.patch_id(&diff).await;
            (base, SubmittedDiff { base: None, check: Ok(DiffCheck::Skipped), patch_id })
        } else {
            self.check_submitted(repository, base, &diff).await?
        };
        let Base { commit: base, is_named: base_named } = base;
        let check = check.unwrap_or_else(|error| DiffCheck::Unknown { why: error.to_string() });
        // Git computes no patch id for a diff that it cannot parse; the check says why.
        let patch_id = patch_id.unwrap_or_default();
        let facts = DiffFacts { base_commit: base.clone(), base_named, patch_id, check, head: None };
        let DiffSummary { files, flags, note: diff_note, .. } = summary;
        let content = Content { diff: Some(diff), base_commit: base, files, flags, diff_note, ..texts };
        Ok(Draft::new(content, Some(facts), None))
    }

    /// Applies `git.refuse` to a counter-patch when it is offered, not only when it is accepted.
    pub(super) async fn patch_files(&self, patch: &str) -> Result<Vec<AffectedFile>, BrokerError> {
        let (summary, _) = parse_diff(patch.to_owned()).await?;
        self.refuse_flags(&summary)?;
        Ok(summary.files)
    }

    fn refuse_flags(&self, summary: &DiffSummary) -> Result<(), BrokerError> {
        let refused = summary.flags.iter().filter(|flag| self.shared.settings.refuse.contains(&flag.kind));
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

/// Names the commit that a diff was tried on, if it does not apply.
async fn name_commit(
    repository: &Repository,
    base: Option<&str>,
    outcome: Result<DiffCheck, GitError>,
) -> Result<DiffCheck, GitError> {
    let Ok(DiffCheck::Fails { message }) = outcome else { return outcome };
    let tried = match base {
        None => "the empty tree".to_owned(),
        Some(base) => {
            let head = repository.resolve_base(None).await.ok().flatten();
            let is_head = if head.as_deref() == Some(base) { " (HEAD)" } else { "" };
            format!("{}{is_head}", short_commit(base))
        }
    };
    Ok(DiffCheck::Fails { message: format!("checked against {tried}: {message}") })
}

fn text_only(intent: &str, description: Option<&String>) -> Content {
    Content { intent: intent.to_owned(), description: description.cloned(), ..Content::default() }
}

/// The target of a request. It must be the only source of a diff.
fn named_target(request: &CreateReviewRequest) -> Result<Option<TargetName>, BrokerError> {
    let Some(target) = request.target.clone() else { return Ok(None) };
    let others = [("diff", &request.diff), ("base", &request.base)];
    if let Some((field, _)) = others.into_iter().find(|(_, given)| given.is_some()) {
        let problem = "not allowed with target, which has its own diff; target.base names the commit to compare with";
        return Err(invalid(field, problem.into()));
    }
    let TargetRequest { branch, commit, range, base: base_name } = target;
    let named = [(TargetKind::Branch, branch), (TargetKind::Commit, commit), (TargetKind::Range, range)];
    let mut named = named.into_iter().filter_map(|(kind, name)| Some((kind, name?)));
    let (Some((kind, name)), None) = (named.next(), named.next()) else {
        return Err(invalid("target", "give exactly one of branch, commit and range".into()));
    };
    if kind == TargetKind::Range && base_name.is_some() {
        return Err(invalid("target.base", "not allowed with range, which names both ends".into()));
    }
    Ok(Some(TargetName { kind, name, base_name }))
}

/// The diff and target of an earlier round with the texts of another content.
fn keep_diff(earlier: &Content, round: &Round, texts: Content) -> Draft {
    let content = Content { intent: texts.intent, description: texts.description, ..earlier.clone() };
    Draft::new(content, round.diff.clone(), round.target.clone())
}

/// The branch that a revision continues if it names neither target nor diff nor base. A commit or a range does not
/// move, so it is not taken again.
fn followed_branch(review: &Review, request: &CreateReviewRequest) -> Option<TargetName> {
    let target = &review.round.target.as_ref()?.requested;
    let left_out = request.diff.is_none() && request.base.is_none();
    (left_out && target.kind == TargetKind::Branch).then(|| target.clone())
}

fn names_target(round: &Round, target: &TargetName) -> bool {
    round.target.as_ref().is_some_and(|earlier| earlier.requested == *target)
}

pub(super) async fn parse_diff(text: String) -> Result<(DiffSummary, String), BrokerError> {
    if text.len() < INLINE_PARSE_BYTES {
        return Ok((diff::summarize(&text), text));
    }
    let parsed = tokio::task::spawn_blocking(move || (diff::summarize(&text), text)).await;
    parsed.map_err(|error| BrokerError::CheckFailed { why: error.to_string() })
}

/// The base of the active diff, or of a diff that is added to a review without one.
async fn active_base(review: &Review, repository: &Repository) -> Result<Base, BrokerError> {
    match &review.round.diff {
        Some(facts) => Ok(Base { commit: facts.base_commit.clone(), is_named: facts.base_named }),
        None => resolve_base(repository, None).await,
    }
}

/// The base of the active content, for a revision that does not name another one.
fn kept_base(review: &Review, active: &Content) -> Base {
    let is_named = review.round.diff.as_ref().is_some_and(|facts| facts.base_named);
    Base { commit: active.base_commit.clone(), is_named }
}

/// The commit of a base that the caller names, or else HEAD.
async fn resolve_base(repository: &Repository, base: Option<&str>) -> Result<Base, BrokerError> {
    let commit = repository.resolve_base(base).await.map_err(bad_base)?;
    Ok(Base { commit, is_named: base.is_some() })
}

fn bad_base(error: GitError) -> BrokerError {
    let (base, message) = match error {
        GitError::UnknownBase { base, message } => (base, message),
        GitError::BadBase { base, why } => (base, why.to_owned()),
        GitError::NotARepository { .. }
        | GitError::BadTarget { .. }
        | GitError::DoesNotApply { .. }
        | GitError::TooLarge { .. }
        | GitError::TimedOut { .. }
        | GitError::Missing { .. }
        | GitError::Failed { .. } => return error.into(),
    };
    BrokerError::BadBase { base, message }
}

/// The error of an operation whose result is a diff.
pub(super) fn too_large(error: GitError) -> BrokerError {
    if let GitError::TooLarge { bytes, limit } = error {
        return BrokerError::TooLong { field: "diff", actual: bytes, limit, unit: "bytes" };
    }
    error.into()
}
