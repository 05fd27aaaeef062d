//! Response types that describe a diff: whether it applies, the files it changes, and the commits it was read from.

use crate::truncation::{excerpt, fitting};
use domain::{
    content::Content,
    diff::{AffectedFile, Flag},
    review::{AppliesTo, DiffCheck, HeadCheck, Review, ReviewTarget, TargetCommit, TargetKind},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

const MAX_FILES: usize = 100;
const MAX_FILES_BYTES: usize = 12_000;
const MAX_FLAGS: usize = 50;
const MAX_FLAGS_BYTES: usize = 6_000;
const MAX_COMMITS_BYTES: usize = 8_000;

/// The diff of a review: what git said about it, and where it was read from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiffState {
    pub has_diff: bool,
    /// Whether the diff applies to its base. Absent without a diff and if it was not checked.
    pub applies: Option<bool>,
    pub applies_to: Option<AppliesTo>,
    /// Whether the diff applied to HEAD, or HEAD had the change already, at the last claim or accepted counter-patch.
    /// Absent if HEAD was base_commit.
    pub applies_to_head: Option<bool>,
    /// By how many commits HEAD was ahead of base_commit then. Absent if HEAD was base_commit.
    pub base_behind: Option<u64>,
    /// Git's message if the diff does not apply or could not be checked.
    pub validation_error: Option<String>,
    /// The proposer skipped the check of the diff.
    pub diff_validation_skipped: Option<bool>,
    pub base_commit: Option<String>,
    /// Git's stable patch-id of the diff.
    pub patch_id: Option<String>,
    /// The tree that results from applying the diff to its base.
    pub tree_id: Option<String>,
    /// The branch, commit or range that the diff was read from.
    pub target: Option<Target>,
}

impl DiffState {
    /// The active diff of a review, with at most `max_commits` commits of its target.
    pub fn new(review: &Review, max_commits: usize) -> Self {
        let target = review.round.target.as_deref().map(|target| Target::with_commits(target, max_commits));
        let Some(facts) = &review.round.diff else {
            return Self { target, ..Self::default() };
        };
        let (base_commit, patch_id) = (facts.base_commit.clone(), facts.patch_id.clone());
        let head = facts.head.as_ref();
        let state = Self {
            has_diff: true,
            applies_to_head: head.and_then(HeadCheck::fits),
            base_behind: head.map(|head| head.behind),
            base_commit,
            patch_id,
            target,
            ..Self::default()
        };
        // A diff that applies to its base can be sent back because it no longer applies to HEAD.
        let sent_back = review.reason().filter(|_| review.auto_rejected()).map(excerpt);
        match &facts.check {
            DiffCheck::Skipped => Self { diff_validation_skipped: Some(true), ..state },
            DiffCheck::Applies { to, tree_id } => {
                let (to, tree_id) = (Some(*to), tree_id.clone());
                Self { applies: Some(true), applies_to: to, tree_id, validation_error: sent_back, ..state }
            }
            DiffCheck::Fails { message } => {
                Self { applies: Some(false), validation_error: Some(excerpt(message)), ..state }
            }
            DiffCheck::Unknown { why } => Self { validation_error: Some(excerpt(why)), ..state },
        }
    }
}

/// The files that a diff touches.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Files {
    /// The first of them if there are very many.
    pub affected_files: Vec<AffectedFile>,
    /// The number of all affected files.
    pub affected_files_total: usize,
    /// Only if affected_files is cut: get_proposal returns the following files with files_from set to this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_files_from: Option<usize>,
    /// What a reviewer should check twice: symlinks, mode changes, agent or CI configuration, hidden characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The number of all flags, if `flags` does not hold all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags_total: Option<usize>,
    /// Why affected_files is empty although there is a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_note: Option<String>,
}

impl From<&Content> for Files {
    fn from(content: &Content) -> Self {
        Self::starting_at(content, 0)
    }
}

impl Files {
    /// Without the first `from` files.
    pub fn starting_at(content: &Content, from: usize) -> Self {
        let files = content.files.get(from..).unwrap_or_default();
        let flags = fitting(content.flags.iter().cloned(), MAX_FLAGS, MAX_FLAGS_BYTES);
        let listed = Self {
            affected_files: fitting(files.iter().cloned(), MAX_FILES, MAX_FILES_BYTES),
            affected_files_total: content.files.len(),
            next_files_from: None,
            flags_total: (flags.len() < content.flags.len()).then_some(content.flags.len()),
            flags,
            diff_note: content.diff_note.clone(),
        };
        let next = from + listed.affected_files.len();
        Self { next_files_from: Some(next).filter(|next| *next < content.files.len()), ..listed }
    }
}

/// The branch, commit or range that a diff was read from, and the commits it meant at that time.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    pub kind: TargetKind,
    pub name: String,
    /// The base that the proposer named.
    pub base_name: Option<String>,
    /// The commit that the diff starts at. Absent: the empty tree before a first commit.
    pub base: Option<String>,
    /// The commit that the diff leads to.
    pub head: String,
    /// The newest commits. Their subjects are unchecked text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<TargetCommit>,
    /// The number of commits in head that are not in base.
    pub commits_total: u64,
}

impl Target {
    /// With at most `max_commits` of its commits.
    pub fn with_commits(target: &ReviewTarget, max_commits: usize) -> Self {
        Self {
            kind: target.requested.kind,
            name: target.requested.name.clone(),
            base_name: target.requested.base_name.clone(),
            base: target.base.clone(),
            head: target.head.clone(),
            commits: fitting(target.commits.iter().cloned(), max_commits, MAX_COMMITS_BYTES),
            commits_total: target.commits_total,
        }
    }
}
