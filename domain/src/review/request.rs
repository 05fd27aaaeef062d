//! The request to review a change, and the branch, commit or range that its diff is taken from.

use super::Category;
use crate::{consensus::PolicyRequest, priority::Priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateReviewRequest {
    /// What the change is for, in one or two sentences. Required, also in a revision.
    pub intent: String,
    /// The kind of agent that proposes, for example "gsd-executor". Required unless review_id is given.
    pub agent_type: Option<String>,
    /// The role the agent acts in, for example "proposer". Required unless review_id is given.
    pub agent_role: Option<String>,
    /// The phase of the work, for example "3" or "verify". Required unless review_id is given.
    pub phase: Option<String>,
    /// The plan the change belongs to.
    pub plan: Option<String>,
    /// The task the change belongs to.
    pub task: Option<String>,
    /// A project registered with the broker. Default: the repository you work in, if the client names it (the stdio
    /// bridge does), else the repository the broker was started in.
    pub project: Option<String>,
    /// Your own stable id. A reviewer cannot use this name. Default: agent_type.
    pub proposer_id: Option<String>,
    /// The kind of proposal.
    pub category: Option<Category>,
    /// The position in the queue. Default: inferred (critical for a planner's proposals, low for verifications). Not
    /// allowed with review_id.
    pub priority: Option<Priority>,
    /// The plan, report or reasoning, as long as needed. Markdown is fine.
    pub description: Option<String>,
    /// A unified diff as `git diff` prints it, against `base`.
    pub diff: Option<String>,
    /// The commit the diff applies to. Default: the current HEAD of the project's repository.
    pub base: Option<String>,
    /// Commits to review. The broker reads their diff from the project's repository. Not allowed with diff or base. In
    /// a revision the branch is read again at its current head, also if neither target nor diff is given.
    pub target: Option<TargetRequest>,
    /// The review to revise. Starts a new round; everything you leave out stays as it was.
    pub review_id: Option<String>,
    /// Skips the check that the diff applies. Reviewers see that it was skipped. Default false.
    pub skip_diff_validation: Option<bool>,
    /// The reviewers to ask for: one seat per persona, for example ["security", "tests"]. From 1 to 10 names of 1 to 64
    /// letters, digits, ".", "_" or "-". Default: what the broker's settings say, usually ["general"]. Not allowed with
    /// review_id.
    pub personas: Option<Vec<String>>,
    /// How the votes of several seats are counted. Default: all must approve. Not allowed with review_id.
    pub policy: Option<PolicyRequest>,
    /// Any string of your own. Repeating the call with this key returns the existing review.
    pub idempotency_key: Option<String>,
}

/// The commits to review: exactly one of branch, commit and range.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct TargetRequest {
    /// All commits of this branch that are not in `base`, since the two diverged.
    pub branch: Option<String>,
    /// This commit against its first parent.
    pub commit: Option<String>,
    /// "A..B": from A to B. "A...B": from the merge base of A and B to B.
    pub range: Option<String>,
    /// The commit to compare with. Default for a branch: origin/HEAD, else main, else master. Not allowed with range.
    pub base: Option<String>,
}

crate::string_enum! {
    TargetKind { Branch = "branch", Commit = "commit", Range = "range" }
}

/// Commits to be reviewed, as the proposer names them. A repeat of a call names them the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetName {
    pub kind: TargetKind,
    pub name: String,
    /// What they are compared with; `None` if the broker chooses it. A range contains its own base.
    pub base_name: Option<String>,
}

/// A resolved target. The commit ids are full and never resolved again, even if the names move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTarget {
    #[serde(flatten)]
    pub requested: TargetName,
    /// The commit that the diff starts from; `None` for the empty tree before a first commit.
    pub base: Option<String>,
    /// The commit that the diff leads to.
    pub head: String,
    /// The newest commits that are in `head` and not in `base`.
    pub commits: Vec<TargetCommit>,
    /// The number of all such commits.
    pub commits_total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCommit {
    pub id: String,
    /// Shortened. Written by the author of the commit, so not trusted.
    pub subject: String,
}
