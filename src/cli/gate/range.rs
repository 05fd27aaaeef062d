//! Several commits at once: each approved by itself, or some in a row as one review.

use super::words::MAX_TOLD;
use super::{
    judge::{Answer, Judge, Judgement, Needless, Unseen},
    landing::Landing,
};
use anyhow::anyhow;
use std::collections::HashMap;

/// More at once is a history and not a change.
pub(super) const MAX_COMMITS: usize = 1000;
/// Rows of commits are tried from each to each, and every try costs git a few runs.
const MAX_ROW: usize = 16;

/// One line that git gives a pre-push hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Update {
    pub local: String,
    /// `None`: the remote has no such branch yet, or nobody knows.
    pub remote: Option<String>,
}

impl Update {
    /// `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`, one a line. What is deleted brings nothing.
    pub(in crate::cli) fn read(lines: &str) -> anyhow::Result<Vec<Self>> {
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        let mut updates = Vec::new();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let [_, local, _, remote] = line.split(' ').collect::<Vec<_>>()[..] else {
                return Err(anyhow!("{line:?} is not what git tells a pre-push hook"));
            };
            if !is_zero(local) {
                updates
                    .push(Self { local: local.into(), remote: Some(remote.into()).filter(|id: &String| !is_zero(id)) });
            }
        }
        Ok(updates)
    }
}

/// What a push brings: the commits that are on no branch of the remote.
pub(in crate::cli) async fn judge_push(
    judge: &mut Judge,
    remote: Option<&str>,
    updates: &[Update],
) -> anyhow::Result<Vec<Judgement>> {
    let mut all: Vec<Judgement> = Vec::new();
    let remotes = judge.repo.git(["remote"]).await?;
    // What is pushed to a bare address is new if no remote has it.
    let known = remote.filter(|name| remotes.lines().any(|remote| remote == *name));
    let on_remote = known.map_or_else(|| "--remotes".to_owned(), |name| format!("--remotes={name}"));
    for update in updates {
        let mut range = vec![update.local.clone(), "--not".to_owned(), on_remote.clone()];
        if let Some(old) = &update.remote
            && judge.repo.has_commit(old).await?
        {
            range.push(old.clone());
        }
        let judged = answer_range(judge, &range.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let is_no = !judged.iter().all(Judgement::passes);
        let is_new = |judged: &Judgement| all.iter().all(|old| old.landing != judged.landing);
        let new: Vec<_> = judged.into_iter().filter(is_new).collect();
        all.extend(new);
        if is_no {
            break;
        }
    }
    Ok(all)
}

/// One more than may be, if there are more.
async fn list(judge: &Judge, range: &[&str]) -> anyhow::Result<Vec<Landing>> {
    let most = format!("--max-count={}", MAX_COMMITS + 1);
    Landing::list(&judge.repo, &[&[most.as_str()], range].concat()).await
}

/// Whether all of them may land. One that may not is an answer: whoever waits for it may not wait for the rest.
pub(in crate::cli) async fn answer_range(judge: &mut Judge, range: &[&str]) -> anyhow::Result<Vec<Judgement>> {
    let mut commits = list(judge, range).await?;
    if commits.len() > MAX_COMMITS {
        let last = commits.pop().into_iter();
        return Ok(last.map(|landing| Judgement { landing, answer: Answer::Unseen(Unseen::TooMany) }).collect());
    }
    let (whole, count) = (whole(&commits), commits.len());
    let mut as_whole = None;
    let mut judged: Vec<Judgement> = Vec::new();
    while judged.len() < count {
        let mut next = judge.judge_plainly(commits[judged.len()].clone()).await?;
        if !next.passes() && as_whole.is_none() {
            as_whole = match whole.as_ref().filter(|_| count > 1) {
                Some(whole) => Some(as_one(judge, whole, count).await?),
                None => Some(None),
            };
        }
        if let (false, Some(Some(answer))) = (next.passes(), &as_whole) {
            cover(std::slice::from_mut(&mut next), answer);
        }
        if next.passes() {
            judged.push(next);
            continue;
        }
        let row = row_from(judge, next, &commits[judged.len() + 1..]).await?;
        let is_no = !row.iter().all(Judgement::passes);
        judged.extend(row);
        if is_no {
            let rest = commits.drain(judged.len()..);
            judged.extend(rest.map(|landing| Judgement { landing, answer: Answer::Unseen(Unseen::AfterNo) }));
        }
    }
    Ok(judged)
}

/// The longest row that begins with an unapproved commit and is approved as one; else that commit alone.
async fn row_from(judge: &mut Judge, first: Judgement, rest: &[Landing]) -> anyhow::Result<Vec<Judgement>> {
    let mut row = vec![first];
    for landing in rest.iter().take(MAX_ROW - 1) {
        row.push(judge.judge_plainly(landing.clone()).await?);
        if row_length(&row) < row.len() {
            row.pop();
            break;
        }
    }
    let length = cover_row(judge, &mut row).await?;
    row.truncate(length);
    if let [alone] = row.as_mut_slice() {
        judge.look_around(alone).await?;
    }
    Ok(row)
}

/// Each of the commits that `git rev-list` gives for these arguments, however many of them are not approved.
pub(in crate::cli) async fn judge_range(judge: &mut Judge, range: &[&str]) -> anyhow::Result<Vec<Judgement>> {
    let commits = list(judge, range).await?;
    if commits.len() > MAX_COMMITS {
        return Err(anyhow!("these are more than {MAX_COMMITS} commits; name a shorter range"));
    }
    let whole = whole(&commits);
    let mut judged = Vec::new();
    for commit in commits {
        judged.push(judge.judge_plainly(commit).await?);
    }
    if judged.iter().all(Judgement::passes) {
        return Ok(judged);
    }
    if let Some(whole) = whole.filter(|_| judged.len() > 1)
        && let Some(answer) = as_one(judge, &whole, judged.len()).await?
    {
        cover(&mut judged, &answer);
        return Ok(judged);
    }
    judge_rows(judge, &mut judged).await?;
    for judged in judged.iter_mut().filter(|judged| !judged.passes()).take(MAX_TOLD) {
        judge.look_around(judged).await?;
    }
    Ok(judged)
}

/// From what the range stands on to its end, along the first parents.
fn whole(commits: &[Landing]) -> Option<Landing> {
    let last = commits.last()?;
    let by_id: HashMap<_, _> = commits.iter().filter_map(|commit| Some((commit.commit.as_ref()?, commit))).collect();
    let mut first = last;
    while let Some(before) = first.parents.first().and_then(|parent| by_id.get(parent)) {
        first = before;
    }
    Some(Landing { parents: first.parents.first().cloned().into_iter().collect(), ..last.clone() })
}

/// Whether a row of commits is approved as one, or takes itself back.
async fn as_one(judge: &mut Judge, row: &Landing, commits: usize) -> anyhow::Result<Option<AsOne>> {
    if judge.needless(row).await? == Some(Needless::Empty) {
        return Ok(Some(AsOne::Empty));
    }
    let found = judge.find_approval(row).await?;
    Ok(found.map(|mut approval| {
        approval.commits = commits;
        AsOne::Approved(Box::new(approval))
    }))
}

enum AsOne {
    Approved(Box<super::judge::Approval>),
    Empty,
}

fn cover(row: &mut [Judgement], answer: &AsOne) {
    for judged in row.iter_mut().filter(|judged| !judged.passes()) {
        judged.answer = match answer {
            AsOne::Approved(approval) => Answer::Approved(approval.clone()),
            AsOne::Empty => Answer::Needless(Needless::Empty),
        };
    }
}

/// Rows of commits, each on top of the one before, that one review approved together or that take themselves back: the
/// longest first. Both ends of a row are unapproved. What lies between may be approved by itself: a plan that is taken
/// back goes with its good commits, too.
async fn judge_rows(judge: &mut Judge, judged: &mut [Judgement]) -> anyhow::Result<()> {
    let mut start = 0;
    while start < judged.len() {
        let length = row_length(&judged[start..]).min(MAX_ROW);
        start += cover_row(judge, &mut judged[start..start + length]).await?;
    }
    Ok(())
}

/// How many of them, from the first on, are settled: those that are approved as one, or the first alone.
async fn cover_row(judge: &mut Judge, row: &mut [Judgement]) -> anyhow::Result<usize> {
    for length in (2..=row.len()).rev() {
        let row = &mut row[..length];
        let (Some(first), Some(last)) = (row.first(), row.last()) else { break };
        if last.passes() {
            continue;
        }
        let together = Landing { parents: first.landing.parents.clone(), ..last.landing.clone() };
        if let Some(answer) = as_one(judge, &together, length).await? {
            cover(row, &answer);
            return Ok(length);
        }
    }
    Ok(1)
}

fn row_length(judged: &[Judgement]) -> usize {
    if judged.first().is_none_or(Judgement::passes) {
        return 0;
    }
    let mut last: Option<&Landing> = None;
    let mut length = 0;
    for Judgement { landing, answer } in judged {
        let follows = last.is_none_or(|last| last.commit.as_ref() == landing.parents.first());
        if matches!(answer, Answer::Unseen(_)) || landing.parents.len() > 1 || !follows {
            break;
        }
        (last, length) = (Some(landing), length + 1);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::Update;

    #[test]
    fn deletions_bring_nothing_and_new_branches_have_no_past() {
        let lines = "refs/heads/a 11 refs/heads/a 22\n(delete) 00 refs/heads/b 33\nrefs/heads/c 44 refs/heads/c 00\n";
        let update = |local: &str, remote: Option<&str>| Update { local: local.into(), remote: remote.map(Into::into) };
        assert_eq!(Update::read(lines).unwrap(), [update("11", Some("22")), update("44", None)]);
        assert!(Update::read("nonsense\n").is_err());
    }
}
