//! How gates behave where nobody says it on the command line.

use domain::glob::{GlobError, Globs};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub fail: Fail,
    pub exempt: Vec<String>,
    pub receipt: Receipt,
}

/// What a hook does when a gate cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fail {
    Open,
    Closed,
}

/// Where a hook writes an approval down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    None,
    Note,
    Trailer,
}

impl Gate {
    /// The patterns were checked when they were read.
    pub fn exempt(&self) -> Result<Globs, GlobError> {
        Globs::new(self.exempt.clone())
    }
}
