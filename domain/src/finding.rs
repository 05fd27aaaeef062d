//! Findings: issues and suggestions that reviewers raise, from round to round.

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
    /// In rising order, so that `max` gives the higher one.
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
        /// It stays as it is: the reviewer withdrew it, or an operator overruled it.
        WontFix = "wont_fix",
        /// Another finding says the same.
        Duplicate = "duplicate",
    }
}

crate::string_enum! {
    /// What happened to a finding's lines in the active content.
    AnchorState {
        /// Unchanged, at their old position.
        Exact = "exact",
        /// Unchanged, at another position.
        Moved = "moved",
        /// Changed; the location is where they were.
        Modified = "modified",
        Gone = "gone",
    }
}

/// The short number of a finding, written `I-41`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingNumber(pub i64);

impl fmt::Display for FindingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I-{}", self.0)
    }
}

impl FindingNumber {
    /// Parses `I-41`, `i-41` or `41`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("I-").or_else(|| text.strip_prefix("i-")).unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse().ok().map(Self) } else { None }
    }
}

/// Lines of a file, counted from 1, `end` included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub start: u32,
    pub end: u32,
}

/// The location of a finding: in the file after the change or, if the change deletes the file, before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    /// `None` for the whole file.
    pub lines: Option<Lines>,
}

/// Whether the file, lines and quote of a finding exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Grounding {
    Grounded {
        /// What was corrected, such as the line of a quote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The file, the lines or the quote do not exist.
    Ungrounded { why: String },
    /// There is nothing to check, or it could not be checked.
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
    /// A quote of the code it is about.
    pub code_snippet: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    pub rule_ref: Option<String>,
    /// In percent.
    pub confidence: Option<u8>,
}
