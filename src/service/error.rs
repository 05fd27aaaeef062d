//! Converts errors of the broker into the error body that a caller gets.

use actors::BrokerError;
use api::{
    ErrorBody, ErrorCode,
    decode::{DecodeError, Malformed},
};
use domain::review::Refusal;
use serde_json::{Value, json};
use store::StoreError;
use tracing::error;

/// Why a call has no response.
#[derive(Debug)]
pub(crate) enum CallError {
    /// An argument is missing, unknown or of the wrong type.
    Malformed(Malformed),
    Refused(ErrorBody),
    /// A fault of the broker. The cause is in the log.
    Internal,
    /// The client disconnected.
    ClientLeft,
}

impl From<Malformed> for CallError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<DecodeError> for CallError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Malformed(malformed) => Self::Malformed(malformed),
            DecodeError::UnknownValue(body) => Self::Refused(body),
        }
    }
}

impl From<ErrorBody> for CallError {
    fn from(body: ErrorBody) -> Self {
        Self::Refused(body)
    }
}

impl From<BrokerError> for CallError {
    fn from(error: BrokerError) -> Self {
        Self::Refused(error_body(&error))
    }
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        BrokerError::from(error).into()
    }
}

impl From<serde_json::Error> for CallError {
    fn from(error: serde_json::Error) -> Self {
        error!(%error, "response cannot be serialised");
        Self::Internal
    }
}

pub(crate) fn error_body(error: &BrokerError) -> ErrorBody {
    let details = details(error).as_object().cloned().unwrap_or_default();
    ErrorBody {
        code: ErrorCode::parse(error.code()).unwrap_or(ErrorCode::Unknown),
        error: format!("{error}{}", hint(error)),
        retryable: error.is_retryable(),
        details,
    }
}

/// What the caller can do with this interface.
const fn hint(error: &BrokerError) -> &'static str {
    if matches!(error, BrokerError::NoRepository) {
        " or with --repo DIR"
    } else if matches!(error, BrokerError::PoolFull { .. }) {
        "; kill_reviewer makes room"
    } else {
        ""
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
        BrokerError::UnknownPersona { field, known, .. } => json!({ "field": field, "allowed": known }),
        BrokerError::InvalidArgument { field, .. }
        | BrokerError::BadTarget { field, .. }
        | BrokerError::WrongIdentity { field, .. }
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
        BrokerError::NotSpawnable { allowed, .. } => json!({ "field": "persona", "allowed": allowed }),
        BrokerError::CoolingDown { ms } => json!({ "retry_after_ms": ms }),
        BrokerError::UnknownReviewer { known, .. } => json!({ "field": "reviewer_id", "allowed": known }),
        BrokerError::NoRepository
        | BrokerError::PoolDisabled
        | BrokerError::PoolPaused
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
        Refusal::UnknownIssue { .. } => json!({ "field": "issue_id" }),
        Refusal::NotForProposers { .. } => json!({ "field": "status", "allowed": ["fixed", "wont_fix", "disputed"] }),
        Refusal::NotForReviewers { .. } => {
            json!({ "field": "status", "allowed": ["open", "fixed", "wont_fix", "duplicate"] })
        }
        Refusal::NoteNeeded { .. } => json!({ "field": "note" }),
        Refusal::DuplicateOfNeeded { .. } => json!({ "field": "duplicate_of" }),
        Refusal::TooManySeats { limit, .. } => json!({ "field": "reviewer", "limit": limit }),
        Refusal::TooManyIssues { limit, .. } => json!({ "field": "issues", "limit": limit }),
        Refusal::IssueSettled { status, .. } => json!({ "status": status }),
        Refusal::WrongStatus { status, possible, .. } => json!({ "status": status, "possible": possible }),
        Refusal::AlreadyClaimed { by, .. } => json!({ "claimed_by": by }),
        Refusal::Reserved { reviewer, .. } => json!({ "reserved_for": reviewer }),
        Refusal::HoldsAnotherSeat { persona, .. } | Refusal::HasOwnSeat { persona, .. } => json!({ "seat": persona }),
        Refusal::NoSuchSeat { seats, .. } | Refusal::PersonaNeeded { seats, .. } => json!({ "possible_seats": seats }),
        Refusal::StaleClaim { given, current } => json!({ "given": given, "current": current }),
        Refusal::StaleContent { given, current } => json!({ "given": given, "current": current }),
        Refusal::NotYourSeat { holder, .. } => json!({ "claimed_by": holder }),
        Refusal::CounterPatchFails { message } => json!({ "validation_error": message }),
        Refusal::OutOfTurn { role } => json!({ "last_role": role }),
        Refusal::BadReviewerId { .. }
        | Refusal::OwnProposal { .. }
        | Refusal::NotClaimed { .. }
        | Refusal::NoFence
        | Refusal::ReasonNeeded { .. }
        | Refusal::CounterPatchNotAllowed { .. }
        | Refusal::CounterPatchOnApproved { .. }
        | Refusal::NoPendingCounterPatch { .. }
        | Refusal::NotTheProposer { .. }
        | Refusal::ContentMoved
        | Refusal::UnknownReview
        | Refusal::IdempotencyKeyReused { .. } => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use actors::BrokerError;
    use api::ErrorCode;
    use domain::review::Refusal;
    use strum::VariantNames as _;

    #[test]
    fn every_code_of_the_rules_and_the_broker_is_an_error_code() {
        let codes = Refusal::VARIANTS.iter().chain(BrokerError::VARIANTS);
        for code in codes.filter(|code| **code != "refused") {
            assert!(ErrorCode::parse(code).is_some(), "{code} is not an ErrorCode");
        }
    }
}
