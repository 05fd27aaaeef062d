//! Finds the recent commits of HEAD in which the change of a review landed.

use std::collections::{BTreeSet, HashSet};

use domain::review::ReviewTarget;
use git::UserRepo;
use store::read_only_database::SubmittedRound;

use crate::receipt::list_with_receipt;
use crate::{Candidate, Gate, GateError, Trailer, list_receipts};

/// How far back commits are considered.
pub(crate) const MAX_COMMITS: usize = 300;

/// The recent commits of HEAD.
pub struct RecentHistory {
    /// Newest first.
    commits: Vec<Candidate>,
    reverted: HashSet<String>,
}

fn limit() -> String {
    format!("--max-count={MAX_COMMITS}")
}

impl RecentHistory {
    pub async fn load(repo: &UserRepo) -> Result<Self, GateError> {
        const REVERTS: &str = "This reverts commit ";
        let mut commits = Candidate::list(repo, &[&limit(), "HEAD"]).await?;
        commits.reverse();
        let grep = format!("--grep=^{REVERTS}");
        let messages = repo.git(["rev-list", "--no-commit-header", "--format=%B", &limit(), &grep, "HEAD"]).await?;
        let reverted = messages.lines().filter_map(|line| line.strip_prefix(REVERTS));
        let id = |rest: &str| rest.chars().take_while(char::is_ascii_hexdigit).collect();
        Ok(Self { commits, reverted: reverted.map(id).collect() })
    }

    /// Finds the commits of each submitted round: by the commits that were submitted, otherwise by receipt, otherwise by
    /// content. Reverted commits are left out.
    pub async fn find_landed(&self, gate: &mut Gate, rounds: &[SubmittedRound]) -> Result<Vec<String>, GateError> {
        let mut landed = Vec::new();
        for round in rounds {
            let mut ids = match &round.target {
                Some(target) => self.find_by_target(&gate.repo, target).await?,
                None => Vec::new(),
            };
            if ids.is_empty() {
                ids = self.find_by_receipt(&gate.repo, &round.content_hash).await?;
            }
            if let (true, Some(diff)) = (ids.is_empty(), &round.diff) {
                ids.extend(self.find_by_content(gate, diff).await?);
            }
            landed.extend(ids);
        }
        Ok(landed)
    }

    fn not_reverted(&self) -> impl Iterator<Item = (&Candidate, &String)> {
        let commits = self.commits.iter().filter_map(|commit| Some((commit, commit.commit.as_ref()?)));
        commits.filter(|(_, id)| !self.reverted.contains(*id))
    }

    async fn find_by_target(&self, repo: &UserRepo, target: &ReviewTarget) -> Result<Vec<String>, GateError> {
        if !repo.has_commit(&target.head).await? {
            return Ok(Vec::new());
        }
        let limit = limit();
        let mut range = vec![limit.as_str(), &target.head];
        let not_base = target.base.as_ref().map(|base| format!("^{base}"));
        range.extend(not_base.as_deref());
        let submitted = Candidate::list(repo, &range).await?;
        let submitted: HashSet<_> = submitted.into_iter().filter_map(|commit| commit.commit).collect();
        Ok(self.not_reverted().filter(|(_, id)| submitted.contains(*id)).map(|(_, id)| id.clone()).collect())
    }

    async fn find_by_receipt(&self, repo: &UserRepo, content_hash: &str) -> Result<Vec<String>, GateError> {
        let mut with_receipt: BTreeSet<String> = list_with_receipt(repo).await?.into_iter().collect();
        with_receipt.extend(Trailer::list_commits(repo, &limit()).await?);
        let mut found = Vec::new();
        for (_, id) in self.not_reverted().filter(|(_, id)| with_receipt.contains(*id)) {
            let receipts = list_receipts(repo, id).await?.into_iter().flatten();
            let mut hashes = receipts.map(|receipt| receipt.statement.predicate.review.content_hash.0);
            let trailers = Trailer::list(repo, id).await?;
            if hashes.any(|hash| hash == content_hash)
                || trailers.iter().any(|trailer| trailer.content_hash == content_hash)
            {
                found.push(id.clone());
            }
        }
        Ok(found)
    }

    async fn find_by_content(&self, gate: &mut Gate, diff: &str) -> Result<Option<String>, GateError> {
        for (commit, id) in self.not_reverted().filter(|(commit, _)| commit.parents.len() < 2) {
            if gate.produces(diff, commit).await? {
                return Ok(Some(id.clone()));
            }
        }
        Ok(None)
    }

    /// Those of `ids` that are newer than the oldest of `landed`.
    pub fn newer_than(&self, landed: &[String], ids: Vec<String>) -> Vec<String> {
        let position = |id: &String| self.commits.iter().position(|commit| commit.commit.as_ref() == Some(id));
        let Some(oldest) = landed.iter().filter_map(position).max() else { return Vec::new() };
        ids.into_iter().filter(|id| position(id).is_some_and(|position| position < oldest)).collect()
    }

    /// The commits with these ids, newest first.
    pub fn select(&self, ids: &[String]) -> Result<Vec<Candidate>, GateError> {
        let known: HashSet<_> = self.commits.iter().filter_map(|commit| commit.commit.as_ref()).collect();
        if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
            return Err(GateError::NotRecent(unknown.clone()));
        }
        if let Some(reverted) = ids.iter().find(|id| self.reverted.contains(*id)) {
            return Err(GateError::AlreadyReverted(reverted.clone()));
        }
        let is_selected = |commit: &&Candidate| commit.commit.as_ref().is_some_and(|id| ids.contains(id));
        Ok(self.commits.iter().filter(is_selected).cloned().collect())
    }
}
