//! The branch, commit or range that a diff was taken from, resolved to commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::string_enum! {
    TargetKind { Branch = "branch", Commit = "commit", Range = "range" }
}

/// A resolved target. The commit ids are full and never resolved again, even if the names move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTarget {
    pub kind: TargetKind,
    /// As the proposer wrote it.
    pub name: String,
    /// As the proposer wrote it; `None` if the broker chose the base.
    pub base_name: Option<String>,
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
    /// The target as the proposer named it. A repeat of a call names it the same way.
    pub fn requested(&self) -> (TargetKind, &str, Option<&str>) {
        (self.kind, &self.name, self.base_name.as_deref())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCommit {
    pub id: String,
    /// Shortened. Written by the author of the commit, so not trusted.
    pub subject: String,
}
