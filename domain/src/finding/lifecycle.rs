//! A finding from the verdict that raised it to its end.

use super::{AnchorState, FindingNumber, FindingStatus, Grounding, Location, NewFinding, Severity};
use crate::{consensus::Policy, content::ContentHash, credential::Authority, time::Timestamp};
use serde::{Deserialize, Serialize};

/// Where a finding's lines are in the active content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub state: AnchorState,
    /// `None` when they are gone.
    pub place: Option<Location>,
    /// They were changed the way the finding suggests: a question to its reviewer, no decision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub likely_fixed: bool,
}

crate::string_enum! {
    /// What a caller asks of a finding.
    RequestedStatus {
        Open = "open",
        Fixed = "fixed",
        WontFix = "wont_fix",
        Duplicate = "duplicate",
        Disputed = "disputed",
    }
}

crate::string_enum! {
    /// What the proposer says of a finding. It stays open until its reviewer agrees.
    ProposerResponse {
        Fixed = "fixed",
        WontFix = "wont_fix",
        Disputed = "disputed",
    }
}

/// The proposer's word on a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub says: ProposerResponse,
    pub note: Option<String>,
    pub by: String,
    pub at: Timestamp,
    pub round: u32,
}

/// Who last decided what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    pub by: String,
    pub role: Authority,
    pub note: Option<String>,
    pub at: Timestamp,
    pub round: u32,
}

/// A finding as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub number: FindingNumber,
    /// As it was raised; of doubles it has the highest severity.
    pub found: NewFinding,
    pub persona: String,
    pub by: String,
    pub round: u32,
    pub at: Timestamp,
    /// The content whose lines `found.place` counts.
    pub raised_on: ContentHash,
    pub grounding: Grounding,
    pub status: FindingStatus,
    /// `None`: it names no place, or its place could not be followed.
    pub anchor: Option<Anchor>,
    pub duplicate_of: Option<FindingNumber>,
    /// Raised in a later round on lines that had not changed: kept, but no reason to hold anything up.
    pub late: bool,
    /// How often it was said again, by others or later.
    pub repeated: u32,
    /// The round in which it was last said.
    pub last_round: u32,
    /// It was fixed and came back, or asks to undo what another asked for.
    pub oscillating: bool,
    pub reply: Option<Reply>,
    pub resolution: Option<Resolution>,
}

impl Finding {
    /// Something is to be done about it before the change is good.
    pub fn is_open_issue(&self) -> bool {
        self.status == FindingStatus::Open && self.found.is_issue && !self.late
    }

    /// It keeps votes from being enough.
    pub fn blocks(&self, policy: &Policy) -> bool {
        let counts = policy.ungrounded_blocks || !matches!(self.grounding, Grounding::Ungrounded { .. });
        policy.block_on_critical && counts && self.is_open_issue() && self.found.severity == Severity::Critical
    }

    /// Where it stands now.
    pub fn place(&self) -> Option<&Location> {
        self.anchor.as_ref().and_then(|anchor| anchor.place.as_ref())
    }
}
