//! Defaults of gates and hooks. Options of the command line take precedence.

use domain::glob::{GlobError, Globs};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub fail: Fail,
    pub exempt: Vec<String>,
    pub receipt: Receipt,
}

/// What a hook does if the gate cannot decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fail {
    Open,
    Closed,
}

/// Where a hook records an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    None,
    Note,
    Trailer,
}

impl Gate {
    /// Fails only for patterns that were not validated on load.
    pub fn exempt(&self) -> Result<Globs, GlobError> {
        Globs::new(self.exempt.clone())
    }
}
