//! Types for findings: the issues and suggestions that reviewers raise. In each new round the lines of a finding are
//! located again, until it is resolved.

pub mod anchor;
pub mod duplicate_detection;
pub mod grounding;
mod input_validation;
mod location;

pub use input_validation::{BadFinding, RawFinding, validate_findings};
pub use location::{Lines, LocatedText, Location};

use crate::{consensus::Policy, content::ContentHash, credential::Authority, time::Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
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
    /// What has become of a finding. Unlike the status it tells a disputed finding from an open one.
    FindingFate {
        Open = "open",
        /// Its proposer disputes it, and its reviewer has not answered.
        Disputed = "disputed",
        Fixed = "fixed",
        WontFix = "wont_fix",
        Duplicate = "duplicate",
    }
}

crate::string_enum! {
    /// How the last dispute of a finding ended.
    DisputeOutcome {
        Undecided = "undecided",
        /// The finding was withdrawn: it became `wont_fix`.
        Upheld = "upheld",
        /// The finding was confirmed, fixed, or merged with another one.
        Rejected = "rejected",
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// A quote of the lines it is about.
    pub code_snippet: Option<String>,
    /// What to write instead.
    pub suggestion: Option<String>,
    pub rule_ref: Option<String>,
    /// In percent.
    pub confidence: Option<u8>,
}

/// The position of a finding's lines in the active content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub state: AnchorState,
    /// `None` if the lines are gone.
    pub location: Option<Location>,
    /// The lines were changed the way the finding suggests. A hint for its reviewer, not a decision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub likely_fixed: bool,
}

crate::string_enum! {
    /// The status that a caller requests for a finding.
    RequestedStatus {
        Open = "open",
        Fixed = "fixed",
        WontFix = "wont_fix",
        Duplicate = "duplicate",
        Disputed = "disputed",
    }
}

crate::string_enum! {
    /// The proposer's answer to a finding, which stays open until its reviewer agrees.
    ProposerResponse {
        Fixed = "fixed",
        WontFix = "wont_fix",
        Disputed = "disputed",
    }
}

/// The proposer's response to a finding, which its reviewer has not answered yet.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposerReply {
    #[serde(rename = "says")]
    pub response: ProposerResponse,
    pub note: Option<String>,
    pub by: String,
    pub at: jiff::Timestamp,
    pub round: u32,
}

/// The last decision about a finding.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    pub by: String,
    pub role: Authority,
    pub note: Option<String>,
    pub at: jiff::Timestamp,
    pub round: u32,
}

/// The state of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub number: FindingNumber,
    /// As it was raised, but with the highest severity of its duplicates.
    pub found: NewFinding,
    pub persona: String,
    pub by: String,
    /// The verdict that raised it.
    pub verdict_id: u64,
    pub round: u32,
    pub at: Timestamp,
    /// The content that `found.location` refers to.
    pub raised_on: ContentHash,
    pub grounding: Grounding,
    pub status: FindingStatus,
    /// `None` if it names no location, or if the location could not be found in the active content.
    pub anchor: Option<Anchor>,
    pub duplicate_of: Option<FindingNumber>,
    /// Raised in a later round on lines that had not changed. A late finding does not block.
    pub late: bool,
    /// How many duplicates it has.
    pub repeated: u32,
    /// The round in which it was last raised.
    pub last_round: u32,
    /// It was fixed and came back, or it asks to undo an earlier suggestion.
    pub oscillating: bool,
    pub reply: Option<ProposerReply>,
    /// `None` if its proposer never disputed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<DisputeOutcome>,
    pub resolution: Option<Resolution>,
}

impl Finding {
    /// An open issue that is not late.
    pub fn is_open_issue(&self) -> bool {
        self.status == FindingStatus::Open && self.found.is_issue && !self.late
    }

    /// Whether it prevents an approval.
    pub fn blocks(&self, policy: &Policy) -> bool {
        let counts = policy.ungrounded_blocks || !matches!(self.grounding, Grounding::Ungrounded { .. });
        policy.block_on_critical && counts && self.is_open_issue() && self.found.severity == Severity::Critical
    }

    pub fn fate(&self) -> FindingFate {
        match self.status {
            FindingStatus::Open if self.is_disputed() => FindingFate::Disputed,
            FindingStatus::Open => FindingFate::Open,
            FindingStatus::Fixed => FindingFate::Fixed,
            FindingStatus::WontFix => FindingFate::WontFix,
            FindingStatus::Duplicate => FindingFate::Duplicate,
        }
    }

    /// How its last dispute ended. Findings that were stored without `dispute` can still be disputed now.
    pub fn dispute(&self) -> Option<DisputeOutcome> {
        if self.is_disputed() { Some(DisputeOutcome::Undecided) } else { self.dispute }
    }

    fn is_disputed(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| reply.response == ProposerResponse::Disputed)
    }

    /// Its location in the active content.
    pub fn location(&self) -> Option<&Location> {
        self.anchor.as_ref().and_then(|anchor| anchor.location.as_ref())
    }

    /// Whether its anchor is updated in a new content: it refers to existing lines and is not a duplicate.
    pub fn is_anchored(&self) -> bool {
        let is_ungrounded = matches!(self.grounding, Grounding::Ungrounded { .. });
        self.status != FindingStatus::Duplicate && self.found.location.is_some() && !is_ungrounded
    }
}
