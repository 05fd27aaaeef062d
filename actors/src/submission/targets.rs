//! Proposals that name commits: their diff is taken by the broker, once, and then kept like any other.

use super::{Prepared, check_failed, seal, unreadable};
use crate::{
    Context,
    error::BrokerError,
    gateway::id_for_key,
    requests::{NewProposal, RequestKey, Revision, TargetRequest},
};
use domain::{
    content::Content,
    review::{Event, Review, ReviewTarget, Round, TargetKind},
};
use git::{GitError, Repository, ResolvedTarget};

impl Context {
    /// A first submission's content. A repeat of an earlier call has the content that call made, wherever the names
    /// lead by now, and also if they lead nowhere.
    pub(super) async fn propose_target(
        &self,
        project: Option<&str>,
        proposal: &mut NewProposal,
        asked: &TargetRequest,
    ) -> Result<Prepared, BrokerError> {
        let repository = self.projects.repository(project)?;
        let (intent, description) = (std::mem::take(&mut proposal.intent), proposal.description.take());
        if let Some(round) = self.first_round_of(project, proposal.key.as_ref()).await?
            && is_of(&round, asked)
        {
            return self.keep_target(&round, intent, description).await;
        }
        self.take_target(repository, intent, description, asked, proposal.skip_diff_validation).await
    }

    /// A revision's content: what the target is now or, in a repeat, what it was.
    pub(super) async fn revise_target(
        &self,
        review: &Review,
        revision: &mut Revision,
        asked: &TargetRequest,
        repeats: bool,
        skip: bool,
    ) -> Result<Prepared, BrokerError> {
        let active = self.find_content(&review.round.content_hash).await?;
        let intent = std::mem::take(&mut revision.intent);
        let description = revision.description.take().or_else(|| active.description.clone());
        if repeats && is_of(&review.round, asked) {
            return self.keep_target(&review.round, intent, description).await;
        }
        let repository = self.projects.repository(review.proposer.project.as_deref())?;
        self.take_target(repository, intent, description, asked, skip).await
    }

    async fn take_target(
        &self,
        repository: &Repository,
        intent: String,
        description: Option<String>,
        asked: &TargetRequest,
        skip: bool,
    ) -> Result<Prepared, BrokerError> {
        let resolved = repository.resolve_target(asked.kind, &asked.name, asked.base.as_deref()).await;
        let ResolvedTarget { base, head, diff, commits, commits_total } =
            resolved.map_err(|error| cannot_resolve(asked, error))?;
        if diff.is_empty() {
            let from = base.as_deref().unwrap_or("the empty tree");
            let why = format!("it changes nothing: {head} has the same files as {from}");
            return Err(BrokerError::BadTarget { field: asked.field(), given: asked.name.clone(), why });
        }
        let subjects = commits.iter().map(|commit| ("target", Some(commit.subject.as_str())));
        let texts: Vec<_> = subjects.chain([("target", Some(diff.as_str()))]).collect();
        self.refuse_secrets(&texts).await?;
        let target = ReviewTarget {
            kind: asked.kind,
            name: asked.name.clone(),
            base_name: asked.base.clone(),
            base: base.clone(),
            head,
            commits,
            commits_total,
        };
        let prepared = self.with_diff(repository, intent, description, diff, base, skip).await?;
        Ok(Prepared { target: Some(Box::new(target)), ..prepared })
    }

    async fn keep_target(
        &self,
        round: &Round,
        intent: String,
        description: Option<String>,
    ) -> Result<Prepared, BrokerError> {
        let kept = self.find_content(&round.content_hash).await?;
        let prepared = seal(Content { intent, description, ..Content::clone(&kept) }, round.diff.clone());
        Ok(Prepared { target: round.target.clone(), ..prepared })
    }

    /// The first round of the review that this key has made before.
    async fn first_round_of(
        &self,
        project: Option<&str>,
        key: Option<&RequestKey>,
    ) -> Result<Option<Round>, BrokerError> {
        let Some(key) = key else { return Ok(None) };
        let id = id_for_key(project, &key.clone().into_text());
        let Some(review) = self.reader.find_review(id).await.map_err(unreadable)? else { return Ok(None) };
        let first = self.reader.find_first_event(review.number).await.map_err(unreadable)?;
        let Some(Event::Proposed(first)) = first else { return Ok(None) };
        Ok(Some(first.round))
    }
}

/// The target that a revision is about where it names none: a branch goes on, a commit or a range stays what it is.
pub(super) fn followed(review: &Review, revision: &Revision) -> Option<TargetRequest> {
    let target = review.round.target.as_ref()?;
    let left_out = revision.diff.is_none() && revision.base.is_none();
    (left_out && target.kind == TargetKind::Branch).then(|| TargetRequest {
        kind: target.kind,
        name: target.name.clone(),
        base: target.base_name.clone(),
    })
}

fn is_of(round: &Round, asked: &TargetRequest) -> bool {
    round.target.as_ref().is_some_and(|target| target.asked() == (asked.kind, &asked.name, asked.base.as_deref()))
}

fn cannot_resolve(asked: &TargetRequest, error: GitError) -> BrokerError {
    match error {
        GitError::BadTarget { target, why } => BrokerError::BadTarget { field: asked.field(), given: target, why },
        GitError::UnknownBase { base, message } => {
            BrokerError::BadTarget { field: "target.base", given: base, why: message }
        }
        GitError::BadBase { base, why } => {
            BrokerError::BadTarget { field: "target.base", given: base, why: why.into() }
        }
        GitError::TooLarge { bytes, limit } => {
            BrokerError::TooLong { field: "diff", actual: bytes, limit, unit: "bytes" }
        }
        error @ (GitError::NotARepository { .. }
        | GitError::DoesNotApply { .. }
        | GitError::TimedOut { .. }
        | GitError::Missing { .. }
        | GitError::Failed { .. }) => check_failed(error),
    }
}
