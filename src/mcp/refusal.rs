//! A "no" as the caller sees it: words, a stable code, and what a program needs to go on.

use actors::BrokerError;
use domain::review::Refusal;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Refused {
    pub code: &'static str,
    pub error: String,
    /// The same call may succeed later.
    pub retryable: bool,
    pub details: JsonObject,
}

impl Refused {
    pub(crate) fn new(code: &'static str, error: impl Into<String>) -> Self {
        Self { code, error: error.into(), retryable: false, details: JsonObject::new() }
    }

    pub(super) fn bad_cursor(of: &str) -> Self {
        Self::new("bad_cursor", format!("cursor: not one of this {of}; begin again without it")).with("field", "cursor")
    }

    pub(crate) fn invalid(field: &str, problem: &str) -> Self {
        Self::new("invalid_argument", format!("{field}: {problem}")).with("field", field)
    }

    /// A word that is none of `allowed`.
    pub(super) fn unknown_word(code: &'static str, field: &str, given: &str, allowed: &[&str]) -> Self {
        let given = domain::text::truncate(given, 80);
        Self::new(code, format!("{field}: {given:?} is not known; allowed: {}", allowed.join(", ")))
            .with("field", field)
            .with("allowed", allowed)
    }

    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    pub(super) fn into_value(self) -> Value {
        let mut body = self.details;
        body.insert("error".into(), self.error.into());
        body.insert("code".into(), self.code.into());
        body.insert("retryable".into(), self.retryable.into());
        Value::Object(body)
    }
}

impl From<BrokerError> for Refused {
    fn from(error: BrokerError) -> Self {
        let details = match details(&error) {
            Value::Object(details) => details,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
        };
        Self { code: error.code(), error: error.to_string(), retryable: error.is_retryable(), details }
    }
}

fn details(error: &BrokerError) -> Value {
    match error {
        BrokerError::Refused(refusal) => refusal_details(refusal),
        BrokerError::UnknownReview { .. } => json!({ "field": "review_id" }),
        BrokerError::AmbiguousReview { candidates, .. } => json!({ "field": "review_id", "candidates": candidates }),
        BrokerError::UnknownProject { known, .. } | BrokerError::OtherRepository { known, .. } => {
            json!({ "field": "project", "allowed": known })
        }
        BrokerError::Invalid { field, .. }
        | BrokerError::BadTarget { field, .. }
        | BrokerError::OfThePool { field, .. }
        | BrokerError::ContainsSecret { field } => json!({ "field": field }),
        BrokerError::TooLong { field, actual, limit, .. } => {
            json!({ "field": field, "actual": actual, "limit": limit })
        }
        BrokerError::VersionMismatch { given, current, .. } => json!({ "given": given, "current": current }),
        BrokerError::BadCursor => json!({ "field": "cursor" }),
        BrokerError::BadBase { .. } => json!({ "field": "base" }),
        BrokerError::FlaggedDiff { flags } => json!({ "refused_flags": flags }),
        BrokerError::NoSuchRound { last, .. } => json!({ "field": "round", "last": last }),
        BrokerError::PoolFull { max_size } => json!({ "limit": max_size }),
        BrokerError::CoolingDown { ms } => json!({ "retry_after_ms": ms }),
        BrokerError::UnknownReviewer { known, .. } => json!({ "field": "reviewer_id", "allowed": known }),
        BrokerError::NoRepository
        | BrokerError::PoolDisabled
        | BrokerError::PoolUnavailable { .. }
        | BrokerError::CheckFailed { .. }
        | BrokerError::Busy { .. }
        | BrokerError::NotSaved { .. }
        | BrokerError::Unreadable { .. }
        | BrokerError::Restarted
        | BrokerError::ShuttingDown => Value::Null,
    }
}

fn refusal_details(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::UnknownFinding { .. } => json!({ "field": "issue_id" }),
        Refusal::NotForProposers { .. } => json!({ "field": "status", "allowed": ["fixed", "wont_fix", "disputed"] }),
        Refusal::NotForReviewers { .. } => {
            json!({ "field": "status", "allowed": ["open", "fixed", "wont_fix", "duplicate"] })
        }
        Refusal::NoteNeeded { .. } => json!({ "field": "note" }),
        Refusal::DuplicateOfWhat { .. } => json!({ "field": "duplicate_of" }),
        Refusal::TooManyFindings { limit, .. } => json!({ "field": "issues", "limit": limit }),
        Refusal::FindingSettled { status, .. } => json!({ "status": status }),
        Refusal::WrongStatus { status, possible, .. } => json!({ "status": status, "possible": possible }),
        Refusal::AlreadyClaimed { by, .. } | Refusal::BeingClaimed { by, .. } => json!({ "claimed_by": by }),
        Refusal::Reserved { reviewer, .. } => json!({ "reserved_for": reviewer }),
        Refusal::HoldsAnotherSeat { persona, .. } => json!({ "seat": persona }),
        Refusal::NoSuchSeat { seats, .. } | Refusal::PersonaNeeded { seats, .. } => json!({ "possible_seats": seats }),
        Refusal::StaleClaim { given, current } => json!({ "given": given, "current": current }),
        Refusal::StaleContent { given, current } => json!({ "given": given, "current": current }),
        Refusal::NotYourSeat { holder, .. } => json!({ "claimed_by": holder }),
        Refusal::PatchFails { words } => json!({ "validation_error": words }),
        Refusal::OutOfTurn { role } => json!({ "last_role": role }),
        Refusal::BadReviewer { .. }
        | Refusal::OwnProposal { .. }
        | Refusal::NotClaimed { .. }
        | Refusal::NoFence
        | Refusal::ReasonNeeded { .. }
        | Refusal::PatchNotAllowed { .. }
        | Refusal::NoPendingPatch { .. }
        | Refusal::NotTheProposer { .. }
        | Refusal::ContentMoved
        | Refusal::KeyReused { .. } => Value::Null,
    }
}
