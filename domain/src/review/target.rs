//! A proposal that names commits instead of carrying a diff: what was named, and what that was at the time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::string_enum! {
    TargetKind { Branch = "branch", Commit = "commit", Range = "range" }
}

/// What is kept of a target. The ids are full and never resolved again, wherever the names lead by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTarget {
    pub kind: TargetKind,
    /// As the proposer wrote it.
    pub name: String,
    /// As the proposer wrote it; `None` left it to the broker.
    pub base_name: Option<String>,
    /// The commit the diff begins at; `None` is the empty tree before a first commit.
    pub base: Option<String>,
    /// The commit the diff leads to.
    pub head: String,
    /// The newest of the commits that `head` has and `base` has not.
    pub commits: Vec<TargetCommit>,
    /// How many there are in all.
    pub commits_total: u64,
}

impl ReviewTarget {
    /// What the proposer asked for. A repeat asks for the same, though the names may lead elsewhere by then.
    pub fn asked(&self) -> (TargetKind, &str, Option<&str>) {
        (self.kind, &self.name, self.base_name.as_deref())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetCommit {
    pub id: String,
    /// Somebody's words, not checked by anyone; shortened.
    pub subject: String,
}
