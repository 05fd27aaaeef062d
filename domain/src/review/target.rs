//! Types for the branch, commit or range that a proposal's diff was taken from, resolved to commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::string_enum! {
    TargetKind { Branch = "branch", Commit = "commit", Range = "range" }
}

/// Commits to be reviewed, as the proposer names them. A repeat of a call names them the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl ReviewTarget {
    pub fn branch(&self) -> Option<&str> {
        (self.requested.kind == TargetKind::Branch).then_some(&*self.requested.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCommit {
    pub id: String,
    /// Shortened. Written by the author of the commit, so not trusted.
    pub subject: String,
}
