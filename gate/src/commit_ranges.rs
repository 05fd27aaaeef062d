//! Decides whether a range of commits is approved. Each commit needs an approval of its own, or belongs to a series of
//! commits whose combined change was approved as one.

use std::collections::HashMap;

use git::Walk;

use crate::approval_search::Search;
use crate::{Approval, Candidate, Decision, Exemption, Gate, GateError, Outcome, SkipReason};

/// The most commits that are examined at once.
pub const MAX_COMMITS: usize = 1000;
/// The longest series that is tried. Every possible start and end is tried, and each attempt runs git several times.
pub(crate) const MAX_SERIES: usize = 16;
/// One more than are examined, to notice that there are more.
const AT_ONCE: Walk = Walk::Ancestors { max: MAX_COMMITS + 1 };
/// For how many unapproved commits of a range near misses are looked up.
const MAX_WITH_NEAR_MISSES: usize = 5;

pub(crate) fn is_zero_id(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

/// Commits that are checked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitRange {
    /// `A..B`, or a commit with all its ancestors.
    Reachable(String),
    One(String),
}

impl Gate {
    /// Decides whether all commits of the range `A..B` may land.
    pub async fn decide_range(&mut self, range: &str) -> Result<Vec<Decision>, GateError> {
        let revisions = self.git.resolve_revisions(range).await?;
        self.decide_commits(&revisions.tips, &revisions.excluded).await
    }

    /// Decides whether all commits may land. Stops at the first that may not, because the caller waits for the answer.
    pub(crate) async fn decide_commits(
        &mut self,
        tips: &[String],
        excluded: &[String],
    ) -> Result<Vec<Decision>, GateError> {
        let mut commits = self.list(tips, excluded, AT_ONCE).await?;
        if commits.len() > MAX_COMMITS {
            return Ok(commits.pop().map(|last| skip(last, SkipReason::TooManyCommits)).into_iter().collect());
        }
        let (whole, count) = (join(&commits), commits.len());
        // If one review approved the whole range, its commits need no search of their own.
        let of_tree = match whole.as_ref().filter(|_| count > 1) {
            Some(whole) => self.find_approval_of_tree(whole).await?,
            None => None,
        };
        let of_tree = of_tree.map(|approval| Outcome::Approved(Box::new(Approval { commits: count, ..approval })));
        // Looked up once, for the first commit that does not pass by itself.
        let mut whole_outcome = of_tree.clone().map(Some);
        let mut decisions: Vec<Decision> = Vec::new();
        while decisions.len() < count {
            let candidate = commits[decisions.len()].clone();
            let search = if of_tree.is_some() { Search::SameBaseAndTree } else { Search::All };
            let mut next = self.decide_by(candidate, search).await?;
            if !next.passes() && whole_outcome.is_none() {
                whole_outcome = match whole.as_ref().filter(|_| count > 1) {
                    Some(whole) => Some(self.decide_series(whole, count).await?),
                    None => Some(None),
                };
            }
            if let Some(Some(outcome)) = &whole_outcome {
                apply_series_outcome(outcome, std::slice::from_mut(&mut next));
            }
            if next.passes() {
                decisions.push(next);
                continue;
            }
            let series = self.decide_series_from(next, &commits[decisions.len() + 1..]).await?;
            let passes = series.iter().all(Decision::passes);
            decisions.extend(series);
            if !passes {
                let rest = commits.drain(decisions.len()..);
                decisions.extend(rest.map(|commit| skip(commit, SkipReason::EarlierUnapproved)));
            }
        }
        Ok(decisions)
    }

    /// Decides about every commit of the range, no matter how many are not approved.
    pub async fn decide_each(&mut self, range: &CommitRange) -> Result<Vec<Decision>, GateError> {
        let commits = match range {
            CommitRange::One(name) => {
                let commit = self.commit(name).await?;
                return Ok(vec![self.decide(commit).await?]);
            }
            CommitRange::Reachable(range) => {
                let revisions = self.git.resolve_revisions(range).await?;
                self.list(&revisions.tips, &revisions.excluded, AT_ONCE).await?
            }
        };
        if commits.len() > MAX_COMMITS {
            return Err(GateError::TooManyCommits);
        }
        let whole = join(&commits);
        let mut decisions = Vec::new();
        for commit in commits {
            decisions.push(self.decide_without_near_misses(commit).await?);
        }
        if decisions.iter().all(Decision::passes) {
            return Ok(decisions);
        }
        if let Some(whole) = whole.filter(|_| decisions.len() > 1)
            && let Some(outcome) = self.decide_series(&whole, decisions.len()).await?
        {
            apply_series_outcome(&outcome, &mut decisions);
            return Ok(decisions);
        }
        let mut start = 0;
        while start < decisions.len() {
            let length = series_length(&decisions[start..]).min(MAX_SERIES);
            start += self.decide_longest_series(&mut decisions[start..start + length]).await?;
        }
        for decision in decisions.iter_mut().filter(|decision| !decision.passes()).take(MAX_WITH_NEAR_MISSES) {
            self.add_near_misses(decision).await?;
        }
        Ok(decisions)
    }

    /// The longest series that starts with the unapproved commit `first` and is approved together, otherwise `first`.
    async fn decide_series_from(&mut self, first: Decision, rest: &[Candidate]) -> Result<Vec<Decision>, GateError> {
        let mut series = vec![first];
        for candidate in rest.iter().take(MAX_SERIES - 1) {
            series.push(self.decide_without_near_misses(candidate.clone()).await?);
            if series_length(&series) < series.len() {
                series.pop();
                break;
            }
        }
        let length = self.decide_longest_series(&mut series).await?;
        series.truncate(length);
        if let [alone] = series.as_mut_slice() {
            self.add_near_misses(alone).await?;
        }
        Ok(series)
    }

    /// Finds the longest series from the first commit on that one review approved together, or that undoes itself. Its
    /// last commit is unapproved too; commits in between may pass by themselves. Returns its length, at least 1.
    async fn decide_longest_series(&mut self, decisions: &mut [Decision]) -> Result<usize, GateError> {
        for length in (2..=decisions.len()).rev() {
            let series = &mut decisions[..length];
            let (Some(first), Some(last)) = (series.first(), series.last()) else { break };
            if last.passes() {
                continue;
            }
            let joined = Candidate { parents: first.candidate.parents.clone(), ..last.candidate.clone() };
            if let Some(outcome) = self.decide_series(&joined, length).await? {
                apply_series_outcome(&outcome, series);
                return Ok(length);
            }
        }
        Ok(1)
    }

    /// The outcome for a series of commits as a whole: one review approved it, or its commits undo each other.
    async fn decide_series(&mut self, joined: &Candidate, commits: usize) -> Result<Option<Outcome>, GateError> {
        if self.find_exemption(joined).await? == Some(Exemption::NoChange) {
            return Ok(Some(Outcome::Exempt(Exemption::NoChange)));
        }
        let approval = self.find_approval(joined).await?;
        Ok(approval.map(|approval| Outcome::Approved(Box::new(Approval { commits, ..approval }))))
    }
}

/// Replaces the outcome of the commits that do not pass by themselves.
fn apply_series_outcome(outcome: &Outcome, decisions: &mut [Decision]) {
    for decision in decisions.iter_mut().filter(|decision| !decision.passes()) {
        decision.outcome = outcome.clone();
    }
}

fn skip(candidate: Candidate, reason: SkipReason) -> Decision {
    Decision { candidate, outcome: Outcome::NotExamined(reason) }
}

/// The whole range as one candidate: from the parent of its first commit to its last, along the first parents. `None` if
/// other commits are merged into this line: an outcome for the line says nothing about them.
fn join(commits: &[Candidate]) -> Option<Candidate> {
    let last = commits.last()?;
    let by_id: HashMap<_, _> = commits.iter().filter_map(|commit| Some((commit.commit.as_ref()?, commit))).collect();
    let (mut first, mut length) = (last, 1);
    while let Some(before) = first.parents.first().and_then(|parent| by_id.get(parent)) {
        (first, length) = (before, length + 1);
    }
    (length == commits.len())
        .then(|| Candidate { parents: first.parents.first().cloned().into_iter().collect(), ..last.clone() })
}

/// How many commits could form a series, from the first on: it must be unapproved, each must be the child of the one
/// before, and none may be a merge.
fn series_length(decisions: &[Decision]) -> usize {
    if decisions.first().is_none_or(Decision::passes) {
        return 0;
    }
    let mut last: Option<&Candidate> = None;
    let mut length = 0;
    for Decision { candidate, outcome } in decisions {
        let follows = last.is_none_or(|last| last.commit.as_ref() == candidate.parents.first());
        if matches!(outcome, Outcome::NotExamined(_)) || candidate.parents.len() > 1 || !follows {
            break;
        }
        (last, length) = (Some(candidate), length + 1);
    }
    length
}
