//! Decides whether a push is allowed: checks the commits that are new to the remote, and the new tips of branches and
//! tags.
//!
//! What the remote has is taken from the lines that git gives to the hook and from the remote's own answer. Tracking
//! refs (`refs/remotes`) prove nothing, because any process in the repository can write them.

use std::collections::{HashMap, HashSet, VecDeque};

use git::{GitError, RemoteRefs, Walk};

use crate::commit_ranges::{MAX_COMMITS, MAX_SERIES, is_zero_id};
use crate::receipt::NOTES_REF;
use crate::{Candidate, Decision, Exemption, Gate, GateError, Outcome, RefusalReason};

/// How far around a landed commit other commits are compared with it.
const MAX_LANDED: usize = 1000;

/// One ref that a push sets. Git passes it as a line to `pre-push` and `pre-receive`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushUpdate {
    /// The name of the ref on the remote. Empty if it is not known.
    pub name: String,
    /// Only of receipts it can be zeros: their ref is deleted.
    pub local: String,
    /// What the ref is now on the remote. `None` if it is new there, or not known.
    pub remote: Option<String>,
}

/// How the gate learns what the remote has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote {
    /// This repository receives the push.
    Here,
    /// The remote is asked at this address.
    Address(String),
    /// Only the updates themselves say it.
    Unknown,
}

impl PushUpdate {
    /// Parses the lines of a pre-push hook: `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`. Deletions of
    /// other refs than that of receipts are skipped.
    pub fn parse_lines(lines: &str) -> Result<Vec<Self>, GateError> {
        Self::parse(lines, |fields| match *fields {
            [_, local, name, remote] => Some((name, local, remote)),
            _ => None,
        })
    }

    /// Parses the lines of a pre-receive hook: `OLD-ID NEW-ID REF`. Deletions of other refs than
    /// that of receipts are skipped.
    pub fn parse_received(lines: &str) -> Result<Vec<Self>, GateError> {
        Self::parse(lines, |fields| match *fields {
            [old, new, name] => Some((name, new, old)),
            _ => None,
        })
    }

    fn parse<'a>(
        lines: &'a str,
        split: impl Fn(&[&'a str]) -> Option<(&'a str, &'a str, &'a str)>,
    ) -> Result<Vec<Self>, GateError> {
        let mut updates = Vec::new();
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split(' ').collect();
            let (name, local, remote) = split(&fields).ok_or_else(|| GateError::BadPushLine(line.to_owned()))?;
            if !is_zero_id(local) || name == NOTES_REF {
                let remote = (!is_zero_id(remote)).then(|| remote.to_owned());
                updates.push(Self { name: name.to_owned(), local: local.to_owned(), remote });
            }
        }
        Ok(updates)
    }
}

/// What the remote is known to have.
struct RemoteState {
    /// Commits that are the end of a branch or tag there.
    tips: Vec<String>,
    head: Option<String>,
    was_asked: bool,
    /// Why the remote did not answer.
    error: Option<GitError>,
}

impl Gate {
    /// Decides about all updates of a push. Stops after the first one that may not land.
    pub async fn decide_push(&mut self, remote: &Remote, updates: &[PushUpdate]) -> Result<Vec<Decision>, GateError> {
        let (receipts, updates): (Vec<_>, Vec<_>) = updates.iter().partition(|update| update.name == NOTES_REF);
        for update in receipts {
            if let Some(refused) = self.decide_receipts(update).await? {
                return Ok(vec![refused]);
            }
        }
        let old: Vec<String> = updates.iter().filter_map(|update| update.remote.clone()).collect();
        let tips = self.git.known_commits(&old).await?;
        let mut state = RemoteState { tips, head: None, was_asked: *remote == Remote::Unknown, error: None };
        if *remote == Remote::Here {
            state.tips.extend(self.git.ref_commits(NOTES_REF).await?);
            state.head = self.git.resolve_commit("HEAD").await?;
            state.was_asked = true;
        }
        let mut all: Vec<Decision> = Vec::new();
        for update in updates {
            // Without a commit to start from, the whole history would be new.
            if update.remote.is_none() {
                self.ask(remote, &mut state).await;
            }
            let mut decisions = self.decide_update(update, &state).await?;
            if !decisions.iter().all(Decision::passes) && !state.was_asked {
                self.ask(remote, &mut state).await;
                decisions = self.decide_update(update, &state).await?;
            }
            let passes = decisions.iter().all(Decision::passes);
            if let (false, Some(error)) = (passes || update.remote.is_some(), &state.error) {
                return Err(GateError::Remote(error.clone()));
            }
            for decision in decisions {
                if all.iter().all(|known| known.candidate != decision.candidate) {
                    all.push(decision);
                }
            }
            if !passes {
                break;
            }
        }
        Ok(all)
    }

    /// A remote that does not answer is known only by the updates: more commits are new then.
    async fn ask(&self, remote: &Remote, state: &mut RemoteState) {
        let Remote::Address(address) = remote else { return };
        if state.was_asked {
            return;
        }
        state.was_asked = true;
        let answer = async {
            let RemoteRefs { ids, head } = self.git.ask_remote(address, NOTES_REF).await?;
            Ok((self.git.known_commits(&ids).await?, head))
        };
        match answer.await {
            Ok((tips, head)) => {
                state.tips.extend(tips);
                state.head = head;
            }
            Err(error) => state.error = Some(error),
        }
    }

    async fn decide_update(&mut self, update: &PushUpdate, state: &RemoteState) -> Result<Vec<Decision>, GateError> {
        let Some(tip) = self.git.peel_to_commit(&update.local).await? else {
            return Ok(vec![refuse(update, RefusalReason::NotACommit)]);
        };
        let is_strict = self.requires_push(update, state).await?;
        if is_strict && let Some(judged) = self.list_judged_tips(&tip, update, state).await? {
            return self.decide_tip(tip, &judged).await;
        }
        let tips = std::slice::from_ref(&tip);
        if !is_strict && !state.tips.contains(&tip) {
            let commits = self.list(tips, &state.tips, Walk::Ancestors { max: MAX_COMMITS + 1 }).await?;
            let mut protected = commits.len() > MAX_COMMITS;
            for commit in &commits {
                protected |= self.changes_protected_files(commit).await?;
            }
            if !protected {
                let outcome = Outcome::Exempt(Exemption::NotRequired);
                let pass = |candidate| Decision { candidate, outcome: outcome.clone() };
                return Ok(commits.into_iter().map(pass).collect());
            }
        }
        self.decide_tip(tip, &state.tips).await
    }

    /// Decides whether a commit may become the end of a ref, if the remote has accepted `known` and their ancestors.
    async fn decide_tip(&mut self, tip: String, known: &[String]) -> Result<Vec<Decision>, GateError> {
        if known.contains(&tip) {
            return Ok(Vec::new());
        }
        let mut decisions = self.decide_commits(std::slice::from_ref(&tip), known).await?;
        if !decisions.iter().all(Decision::passes) {
            return Ok(decisions);
        }
        // The new commits stand on others, which were not always the end of a branch.
        let new: HashSet<_> = decisions.iter().filter_map(|decision| decision.candidate.commit.clone()).collect();
        let parents = decisions.iter().flat_map(|decision| decision.candidate.parents.iter().cloned());
        let mut landed: Vec<String> = if new.is_empty() { vec![tip] } else { parents.collect() };
        landed.sort();
        landed.dedup();
        landed.retain(|commit| !new.contains(commit));
        // Empty commits need no approval, but a history of nothing else would remove all files.
        if let (true, false, Some(last)) = (landed.is_empty(), known.is_empty(), decisions.last_mut())
            && last.candidate.tree == self.git.tree_of(None).await?
        {
            last.outcome = Outcome::Unapproved(Vec::new());
        }
        landed.retain(|commit| !known.contains(commit));
        for commit in landed {
            if let Some(refused) = self.decide_landed(&commit, known).await? {
                decisions.push(refused);
            }
        }
        Ok(decisions)
    }

    /// Whether the project requires an approval for pushes to this ref, by its settings as the remote has them now.
    async fn requires_push(&self, update: &PushUpdate, state: &RemoteState) -> Result<bool, GateError> {
        let Some(target) = update.remote.as_ref().or(state.head.as_ref()) else { return Ok(true) };
        let known = self.git.known_commits(std::slice::from_ref(target)).await?;
        let Some(target) = known.first() else { return Ok(true) };
        self.requires_push_at(target).await
    }

    async fn requires_push_at(&self, commit: &str) -> Result<bool, GateError> {
        let Some(workflow) = self.workflow else { return Ok(true) };
        let text = self.git.read_committed_file(commit, workflow.file).await?;
        let text = text.and_then(|text| String::from_utf8(text).ok());
        Ok(text.is_none_or(|text| (workflow.requires_push)(&text)))
    }

    /// The commits of the remote that went through the gate, if it also has others: a branch that requires no approval
    /// may hold anything, and a branch that requires one must not get it from there. `None` if all count.
    async fn list_judged_tips(
        &self,
        tip: &str,
        update: &PushUpdate,
        state: &RemoteState,
    ) -> Result<Option<Vec<String>>, GateError> {
        let Some(workflow) = self.workflow else { return Ok(None) };
        let mut judged: Vec<String> = update.remote.iter().cloned().collect();
        if let Some(head) = &state.head
            && self.requires_push_at(head).await?
        {
            judged.push(head.clone());
        }
        let judged = self.git.known_commits(&judged).await?;
        // Nothing of the tip is on another branch only.
        let tip = [tip.to_owned()];
        let new = self.list(&tip, &state.tips, Walk::Ancestors { max: MAX_COMMITS + 1 }).await?;
        if self.list(&tip, &judged, Walk::Ancestors { max: new.len() + 1 }).await?.len() == new.len() {
            return Ok(None);
        }
        for commit in self.git.list_changes_of_file(&state.tips, workflow.file).await? {
            if !self.requires_push_at(&commit).await? {
                return Ok(Some(judged));
            }
        }
        Ok(None)
    }

    /// Refuses a commit that the remote has, but that was acceptable only together with later ones.
    async fn decide_landed(&mut self, id: &str, tips: &[String]) -> Result<Option<Decision>, GateError> {
        let id = id.to_owned();
        let before = self.list(std::slice::from_ref(&id), &[], Walk::Ancestors { max: MAX_LANDED }).await?;
        let Some(candidate) = before.last().cloned() else { return Ok(None) };
        let by_id: HashMap<_, _> = before.iter().filter_map(|commit| Some((commit.commit.clone()?, commit))).collect();
        // The nearest commits first, along the first parents.
        let mut line = vec![&candidate];
        while let Some(parent) = line.last().and_then(|last| by_id.get(last.parents.first()?)) {
            line.push(parent);
        }
        let refused =
            |candidate| Ok(Some(Decision { candidate, outcome: Outcome::Refused(RefusalReason::InsideSeries) }));
        let depth = match self.find_unapproved(&line).await? {
            FirstUnapproved::At(depth) => depth,
            // Empty and exempt commits need no approval, so enough of them could hide what stands before them.
            FirstUnapproved::None { approved } if before.len() >= MAX_LANDED && approved < MAX_LANDED / 2 => {
                return refused(candidate);
            }
            FirstUnapproved::None { .. } => return Ok(None),
        };
        let after = self.list(tips, std::slice::from_ref(&id), Walk::Descendants).await?;
        let after = nearest_descendants(&id, after);
        if self.is_inside_series(&line, depth, &by_id, &after).await? {
            return refused(candidate);
        }
        Ok(None)
    }

    /// The first commit that is not approved by itself. The whole line is searched: an attacker can make it long.
    async fn find_unapproved(&mut self, line: &[&Candidate]) -> Result<FirstUnapproved, GateError> {
        let mut approved = 0;
        for (depth, commit) in line.iter().enumerate() {
            let decision = self.decide_without_near_misses((*commit).clone()).await?;
            if !decision.passes() {
                return Ok(FirstUnapproved::At(depth));
            }
            approved += usize::from(matches!(decision.outcome, Outcome::Approved(_)));
        }
        Ok(FirstUnapproved::None { approved })
    }

    /// Whether commits before and after together are one approved change, or cancel each other out.
    async fn is_inside_series(
        &mut self,
        line: &[&Candidate],
        depth: usize,
        before: &HashMap<String, &Candidate>,
        after: &[Candidate],
    ) -> Result<bool, GateError> {
        let starts: HashSet<&String> = line.iter().skip(depth + 1).map(|commit| &commit.tree).collect();
        if after.iter().any(|commit| starts.contains(&commit.tree)) {
            return Ok(true);
        }
        let later: HashSet<_> = line.iter().take(depth + 1).filter_map(|commit| commit.commit.as_ref()).collect();
        for end in after.iter().take(MAX_LANDED) {
            for base in self.list_approved_bases(end).await? {
                if before.contains_key(&base) && !later.contains(&base) {
                    return Ok(true);
                }
            }
        }
        // Rebased series have other trees than the review.
        for (back, start) in line.iter().enumerate().skip(depth).take(MAX_SERIES) {
            for end in after.iter().take(MAX_SERIES.saturating_sub(back + 1)) {
                let joined = Candidate { parents: start.parents.iter().take(1).cloned().collect(), ..end.clone() };
                if self.has_review_of_same_files(&joined).await? && self.find_approval(&joined).await?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Where a line of commits has its first one that is not approved by itself.
enum FirstUnapproved {
    At(usize),
    /// Nowhere; so many of them are approved, and the others need no approval.
    None {
        approved: usize,
    },
}

pub(crate) fn refuse(update: &PushUpdate, reason: RefusalReason) -> Decision {
    let (commit, subject) = (Some(update.local.clone()), String::new());
    let candidate = Candidate { commit, subject, parents: Vec::new(), tree: String::new() };
    Decision { candidate, outcome: Outcome::Refused(reason) }
}

/// The descendants of a commit, the nearest first.
fn nearest_descendants(id: &str, descendants: Vec<Candidate>) -> Vec<Candidate> {
    let mut children: HashMap<String, Vec<Candidate>> = HashMap::new();
    for commit in descendants {
        for parent in &commit.parents {
            children.entry(parent.clone()).or_default().push(commit.clone());
        }
    }
    let (mut queue, mut found, mut seen) = (VecDeque::from([id.to_owned()]), Vec::new(), HashSet::new());
    while let Some(next) = queue.pop_front() {
        for child in children.remove(&next).unwrap_or_default() {
            if let Some(id) = child.commit.clone().filter(|id| seen.insert(id.clone())) {
                queue.push_back(id);
                found.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::PushUpdate;

    #[test]
    fn a_deletion_is_skipped_and_a_new_branch_has_no_remote_commit() {
        let update = |name: &str, local: &str, remote: Option<&str>| PushUpdate {
            name: name.into(),
            local: local.into(),
            remote: remote.map(Into::into),
        };
        let expected = [update("refs/heads/a", "11", Some("22")), update("refs/heads/c", "44", None)];
        let lines = "refs/heads/a 11 refs/heads/a 22\n(delete) 00 refs/heads/b 33\nrefs/heads/x 44 refs/heads/c 00\n";
        assert_eq!(PushUpdate::parse_lines(lines).unwrap(), expected);
        let lines = "22 11 refs/heads/a\n33 00 refs/heads/b\n00 44 refs/heads/c\n";
        assert_eq!(PushUpdate::parse_received(lines).unwrap(), expected);
        for lines in ["nonsense\n", "1 2 3 4 5\n"] {
            assert!(PushUpdate::parse_lines(lines).is_err() && PushUpdate::parse_received(lines).is_err());
        }
        let notes = "refs/notes/countersign";
        let deleted = PushUpdate::parse_received(&format!("33 00 {notes}\n")).unwrap();
        assert_eq!(deleted, [update(notes, "00", Some("33"))], "the receipts may not be deleted");
    }
}
