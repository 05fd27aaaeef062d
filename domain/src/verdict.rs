//! The verdicts a reviewer can give, what each requires, and the cost and token counts reported with one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

crate::string_enum! {
    Verdict {
        Approved = "approved" | "approve",
        ChangesRequested = "changes_requested" | "request_changes",
        Comment = "comment",
        Rejected = "rejected" | "reject",
    }
}

impl Verdict {
    /// A comment is not a vote; the seat still owes one.
    pub const fn is_vote(self) -> bool {
        !matches!(self, Self::Comment)
    }

    pub const fn needs_reason(self) -> bool {
        !matches!(self, Self::Approved)
    }

    /// An approval with a counter-patch would be ambiguous: either of the two diffs could be meant.
    pub const fn may_offer_patch(self) -> bool {
        matches!(self, Self::ChangesRequested | Self::Comment)
    }
}

impl ReviewMetrics {
    /// The cost in millionths of a dollar, which can be added without rounding.
    pub fn cost_micro_usd(&self) -> u64 {
        self.cost_usd.map_or(0, |cost| (cost.clamp(0.0, 1e6) * 1e6).round() as u64)
    }
}

/// What a review cost, as reported by the reviewer.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewMetrics {
    pub files_reviewed: Option<u32>,
    pub lines_analyzed: Option<u32>,
    pub duration_ms: Option<u64>,
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub model: Option<String>,
}
