//! Reviews as answers show them. Every text in an answer is bounded, whatever was stored.

mod answers;
mod consensus;
mod content;
mod effort;
mod figures;
mod findings;
mod head;
mod history;
mod persona;
mod pool;
mod rows;
mod target;
mod timeline;
mod told;

pub(super) use answers::{Claimed, MessageAdded, Submission, VerdictTaken};
pub(super) use content::{About, Ending, Files, Proposal};
pub(super) use effort::EffortTotals;
pub(super) use figures::Figures;
pub(super) use findings::{FindingRow, IssueUpdated, Issues};
pub(super) use head::{DiffState, SeatRow, Status, next};
pub(super) use history::{Activity, ActivityRow, Audit, AuditRow};
pub(super) use persona::{PersonaRow, ignored};
pub(super) use pool::{Pool, Reviewer};
pub(super) use rows::{Discussion, IterationRow, List, MessageRow, ReviewRow};
pub(super) use target::TargetRow;
pub(super) use timeline::{Timeline, TimelineStep};

use domain::time::Timestamp;
use serde_json::Value;

/// Characters of a reason or an error inside an answer that is about something else.
const EXCERPT_CHARS: usize = 8_000;

/// A structured answer and the same as text.
pub(crate) struct Answer {
    pub structured: Value,
    pub text: String,
}

impl Answer {
    pub(crate) fn of(body: &impl serde::Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { structured: serde_json::to_value(body)?, text: serde_json::to_string(body)? })
    }
}

/// RFC 3339 in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}

/// Bounded, with a note of what is missing.
fn excerpt(text: &str) -> String {
    shortened(text, "")
}

/// The same for a text that get_proposal has in full.
fn paged_excerpt(text: &str) -> String {
    shortened(text, "; get_proposal pages the rest")
}

fn shortened(text: &str, hint: &str) -> String {
    match super::page::cut(text, EXCERPT_CHARS) {
        (all, None) => all.to_owned(),
        (start, Some(total)) => format!("{start}… [{EXCERPT_CHARS} of {total} characters{hint}]"),
    }
}
