//! Which commits a review became.

use crate::cli::{
    gate::{Judge, Landing},
    receipt::Receipt,
};
use anyhow::anyhow;
use domain::ids::ReviewNumber;
use git::UserRepo;
use std::collections::{BTreeSet, HashSet};
use store::read_only::SubmittedRound;

/// What is to be taken back is not old.
const RECENT: &str = "--max-count=300";

/// The recent commits of HEAD.
pub(super) struct History {
    /// The newest first.
    commits: Vec<Landing>,
    /// Taken back already.
    reverted: HashSet<String>,
}

impl History {
    pub(super) async fn read(judge: &Judge) -> anyhow::Result<Self> {
        let mut commits = Landing::list(&judge.repo, &[RECENT, "HEAD"]).await?;
        commits.reverse();
        let format = "--format=%B";
        let grep = "--grep=^This reverts commit ";
        let messages = judge.repo.git(["rev-list", "--no-commit-header", format, RECENT, grep, "HEAD"]).await?;
        let reverted = messages.lines().filter_map(|line| line.strip_prefix("This reverts commit "));
        let id = |rest: &str| rest.chars().take_while(char::is_ascii_hexdigit).collect();
        Ok(Self { commits, reverted: reverted.map(id).collect() })
    }

    /// By what the review was submitted as: a commit or several; else by receipt; else by content.
    pub(super) async fn landed(&mut self, judge: &mut Judge, number: ReviewNumber) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for submitted in judge.ledger.list_submitted_rounds(number).await? {
            let mut ids = self.by_target(&judge.repo, &submitted).await?;
            if ids.is_empty() {
                ids = self.by_receipt(&judge.repo, &submitted).await?;
            }
            if ids.is_empty() {
                ids = self.by_content(judge, &submitted).await?;
            }
            found.extend(ids);
        }
        Ok(found)
    }

    fn open(&self) -> impl Iterator<Item = (&Landing, &String)> {
        let ids = self.commits.iter().filter_map(|commit| Some((commit, commit.commit.as_ref()?)));
        ids.filter(|(_, id)| !self.reverted.contains(*id))
    }

    async fn by_target(&self, repo: &UserRepo, submitted: &SubmittedRound) -> anyhow::Result<Vec<String>> {
        let Some(target) = &submitted.target else { return Ok(Vec::new()) };
        let mut range = vec![RECENT, &target.head];
        let not = target.base.as_ref().map(|base| format!("^{base}"));
        range.extend(not.as_deref());
        if !repo.has_commit(&target.head).await? {
            return Ok(Vec::new());
        }
        let theirs: HashSet<_> = Landing::list(repo, &range).await?.into_iter().filter_map(|one| one.commit).collect();
        Ok(self.open().filter(|(_, id)| theirs.contains(*id)).map(|(_, id)| id.clone()).collect())
    }

    async fn by_receipt(&self, repo: &UserRepo, submitted: &SubmittedRound) -> anyhow::Result<Vec<String>> {
        let marked: BTreeSet<String> = self.marked(repo).await?;
        let mut found = Vec::new();
        for (_, id) in self.open().filter(|(_, id)| marked.contains(*id)) {
            let receipts = Receipt::list(repo, id).await?;
            if receipts.iter().any(|receipt| receipt.content_hash == submitted.content_hash) {
                found.push(id.clone());
            }
        }
        Ok(found)
    }

    /// Commits that may carry a receipt.
    async fn marked(&self, repo: &UserRepo) -> anyhow::Result<BTreeSet<String>> {
        let notes = repo.try_git(["notes", "--ref=refs/notes/countersign", "list"]).await?;
        let noted = notes.text();
        let noted = noted.lines().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned);
        let trailers = repo.git(["rev-list", RECENT, "--grep=^Countersigned: ", "HEAD"]).await?;
        Ok(noted.chain(trailers.lines().map(str::to_owned)).collect())
    }

    async fn by_content(&self, judge: &Judge, submitted: &SubmittedRound) -> anyhow::Result<Vec<String>> {
        let Some(diff) = &submitted.diff else { return Ok(Vec::new()) };
        for (commit, id) in self.open().filter(|(commit, _)| commit.parents.len() < 2) {
            if judge.makes(diff, commit).await? {
                return Ok(vec![id.clone()]);
            }
        }
        Ok(Vec::new())
    }

    /// Those of `ids` that were made after the first of `of`.
    pub(super) fn on_top_of(&self, of: &[String], ids: Vec<String>) -> Vec<String> {
        let place = |id: &String| self.commits.iter().position(|commit| commit.commit.as_ref() == Some(id));
        let Some(first) = of.iter().filter_map(place).max() else { return Vec::new() };
        ids.into_iter().filter(|id| place(id).is_some_and(|place| place < first)).collect()
    }

    pub(super) fn newest_first(&self, ids: &[String]) -> anyhow::Result<Vec<Landing>> {
        let known: HashSet<_> = self.commits.iter().filter_map(|commit| commit.commit.as_ref()).collect();
        if let Some(strange) = ids.iter().find(|id| !known.contains(id)) {
            return Err(anyhow!("{strange} is not among the last commits of HEAD"));
        }
        if let Some(done) = ids.iter().find(|id| self.reverted.contains(*id)) {
            return Err(anyhow!("{done} has been reverted already"));
        }
        let ours = |commit: &&Landing| commit.commit.as_ref().is_some_and(|id| ids.contains(id));
        Ok(self.commits.iter().filter(ours).cloned().collect())
    }
}
