//! What a reviewer finds in a proposal, and what becomes of it from round to round.

pub mod anchor;
pub mod duplicate;
pub mod grounding;
mod lifecycle;
mod raw;
mod wording;

pub use lifecycle::{Anchor, Finding, ProposerReply, ProposerResponse, RequestedStatus, Resolution};
pub use raw::{BadFinding, RawFinding};

use serde::{Deserialize, Serialize};
use std::fmt;

crate::string_enum! {
    FindingKind {
        Bug = "bug",
        Security = "security",
        LogicError = "logic_error",
        Performance = "performance",
        Architecture = "architecture",
        TestGap = "test_gap",
        GuidelineViolation = "guideline_violation" | "claude_md_violation",
        Other = "other",
    }
}

crate::string_enum! {
    /// In rising order, so that the higher of two is their maximum.
    Severity {
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

crate::string_enum! {
    FindingStatus {
        Open = "open",
        Fixed = "fixed",
        /// It stands as it is: the reviewer withdraws it, or a person overrules it.
        WontFix = "wont_fix",
        /// Said before, by another persona or in another round.
        Duplicate = "duplicate",
    }
}

crate::string_enum! {
    /// What became of a finding's lines in the content of today.
    AnchorState {
        /// The same lines, where they were.
        Exact = "exact",
        /// The same lines, elsewhere.
        Moved = "moved",
        /// Some of the lines are others now; this is where they stood.
        Modified = "modified",
        Gone = "gone",
    }
}

/// The short number people say: `I-41`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingNumber(pub i64);

impl fmt::Display for FindingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I-{}", self.0)
    }
}

impl FindingNumber {
    /// Reads `I-41`, `i-41` or `41`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("I-").or_else(|| text.strip_prefix("i-")).unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse().ok().map(Self) } else { None }
    }
}

/// Lines of a file, counted from 1, the last one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub start: u32,
    pub end: u32,
}

/// Where in the content a finding stands: in the file as the proposal leaves it, or, where the proposal
/// deletes the file, as it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    /// `None`: the file as a whole.
    pub lines: Option<Lines>,
}

/// Whether a finding speaks of what is really there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Grounding {
    Grounded {
        /// What had to be put right, such as the line that a quote stands on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The file, the lines or the quote are not there.
    Ungrounded { why: String },
    /// There is nothing to check, or it could not be.
    Unchecked { why: String },
}

/// A finding as a reviewer raises it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFinding {
    /// Otherwise it is a suggestion, which never blocks.
    pub is_issue: bool,
    pub kind: FindingKind,
    pub severity: Severity,
    pub location: Option<Location>,
    pub title: String,
    pub description: Option<String>,
    /// The code it is about, quoted.
    pub code_snippet: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    pub rule_ref: Option<String>,
    /// In percent.
    pub confidence: Option<u8>,
}
