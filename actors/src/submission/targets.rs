//! Submissions that name a branch, commit or range. The broker takes the diff once and keeps it like any other.

use super::{PreparedDraft, Texts, check_failed};
use crate::{
    Context,
    error::BrokerError,
    limits::Text,
    requests::{DraftRequest, TargetRequest},
};
use domain::review::{Draft, Review, ReviewTarget, Round, TargetKind};
use git::{GitError, Repository, ResolvedTarget};

impl Context {
    /// Resolves the target to commits and takes the diff between them.
    pub(super) async fn diff_target(
        &self,
        repository: &Repository,
        texts: Texts,
        target: &TargetRequest,
        skip: bool,
    ) -> Result<PreparedDraft, BrokerError> {
        let resolved = repository.resolve_target(target.kind, &target.name, target.base.as_deref()).await;
        let ResolvedTarget { base, head, diff, commits, commits_total } =
            resolved.map_err(|error| resolve_error(target, error))?;
        if diff.is_empty() {
            let from = base.as_deref().unwrap_or("the empty tree");
            let why = format!("it changes nothing: {head} has the same files as {from}");
            return Err(BrokerError::BadTarget { field: target.field(), given: target.name.clone(), why });
        }
        let subjects = commits.iter().map(|commit| Text::unlimited("target", Some(&commit.subject)));
        let texts_of_target: Vec<_> = subjects.chain([Text::unlimited("target", Some(&diff))]).collect();
        self.refuse_secrets(&texts_of_target).await?;
        let target = ReviewTarget {
            kind: target.kind,
            name: target.name.clone(),
            base_name: target.base.clone(),
            base: base.clone(),
            head,
            commits,
            commits_total,
        };
        let prepared = self.check_diff(repository, texts, diff, base, skip).await?;
        Ok(PreparedDraft { draft: Draft { target: Some(Box::new(target)), ..prepared.draft }, ..prepared })
    }
}

/// The branch that a revision continues if it names neither target nor diff nor base. A commit or a range does not
/// move, so it is not taken again.
pub(super) fn followed_branch(review: &Review, request: &DraftRequest) -> Option<TargetRequest> {
    let target = review.round.target.as_ref()?;
    let left_out = request.diff.is_none() && request.base.is_none();
    (left_out && target.kind == TargetKind::Branch).then(|| TargetRequest {
        kind: target.kind,
        name: target.name.clone(),
        base: target.base_name.clone(),
    })
}

/// Whether the round was submitted for a target of this name.
pub(super) fn names_target(round: &Round, asked: &TargetRequest) -> bool {
    let target = round.target.as_ref();
    target.is_some_and(|target| target.requested() == (asked.kind, &asked.name, asked.base.as_deref()))
}

fn resolve_error(target: &TargetRequest, error: GitError) -> BrokerError {
    match error {
        GitError::BadTarget { target: given, why } => BrokerError::BadTarget { field: target.field(), given, why },
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
