//! Error codes and the body of an error response, shared by the server and its clients.

use domain::text::escape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of a refused call: structured content of an MCP error result and `application/problem+json` over HTTP.
///
/// `details` holds what a program needs to continue, for example `field`, `allowed` or `candidates`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What is wrong, what is allowed, and what to do next.
    pub error: String,
    /// A stable code for programs.
    pub code: ErrorCode,
    /// Whether the same call may succeed later.
    #[serde(default)]
    pub retryable: bool,
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl ErrorBody {
    /// An error is retryable if the broker cannot serve the call now.
    pub fn new(code: ErrorCode, error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            code,
            retryable: code.http_status() == 503 || matches!(code, ErrorCode::QuotaExceeded),
            details: Map::new(),
        }
    }

    /// An argument that can be read and is not valid.
    pub fn invalid(field: &str, problem: &str) -> Self {
        Self::new(ErrorCode::InvalidArgument, format!("{field}: {problem}")).with("field", field)
    }

    pub fn bad_cursor(list: &str) -> Self {
        let error = format!("cursor: not a cursor of this {list}; start again without it");
        Self::new(ErrorCode::BadCursor, error).with("field", "cursor")
    }

    /// A string that is not one of the allowed values of a field.
    pub fn unknown_value(field: &str, given: &str, allowed: &[&str]) -> Self {
        let error = format!("{field}: {given:?} is not known; allowed: {}", allowed.join(", "));
        Self::new(ErrorCode::unknown_value(field), error).with("field", field).with("allowed", allowed)
    }

    /// Reads the problem details of an HTTP response; `None` if they have no error code.
    pub fn from_problem(text: &str) -> Option<Self> {
        let mut body: Self = serde_json::from_str(text).ok()?;
        for key in ["type", "title", "status", "detail"] {
            body.details.remove(key);
        }
        // Problem details use `status` for the HTTP status.
        if let Some(status) = body.details.remove("current_status") {
            body.details.insert("status".into(), status);
        }
        Some(body)
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    pub fn detail(&self, key: &str) -> Option<&str> {
        self.details.get(key).and_then(Value::as_str)
    }
}

/// The message with control characters escaped, and the code.
impl std::fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", escape(&self.error), self.code)
    }
}

impl std::error::Error for ErrorBody {}

macro_rules! error_codes {
    ($($(#[$meta:meta])* $status:literal: $($code:ident = $text:literal),+;)+) => {
        /// A stable code that says why a call failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(with = "String")]
        pub enum ErrorCode {
            $($(#[serde(rename = $text)] $code,)+)+
            /// A code that this version does not know.
            #[serde(rename = "unknown", other)]
            Unknown,
        }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$($(Self::$code,)+)+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$code => $text,)+)+
                    Self::Unknown => "unknown",
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($($text => Some(Self::$code),)+)+
                    _ => None,
                }
            }

            /// The HTTP status of an error with this code.
            pub const fn http_status(self) -> u16 {
                match self {
                    $($(Self::$code)|+ => $status,)+
                    Self::Unknown => 422,
                }
            }
        }
    };
}

error_codes! {
    // The request cannot be read.
    400:
        InvalidParams = "invalid_params",
        HostMissing = "host_missing",
        BodyUnreadable = "body_unreadable",
        UnknownFormat = "unknown_format";
    401:
        TokenNeeded = "token_needed",
        UnknownToken = "unknown_token",
        UnknownTicket = "unknown_ticket",
        UnknownCode = "unknown_code";
    // The caller may not do this, whatever the state.
    403:
        WrongRole = "wrong_role",
        WrongIdentity = "wrong_identity",
        WrongProject = "wrong_project",
        WrongReview = "wrong_review",
        OwnProposal = "own_proposal",
        NotTheProposer = "not_the_proposer",
        NotYourSeat = "not_your_seat",
        NotForProposers = "not_for_proposers",
        NotForReviewers = "not_for_reviewers",
        HostNotAllowed = "host_not_allowed",
        OriginNotAllowed = "origin_not_allowed",
        CrossSite = "cross_site";
    // What the address names does not exist.
    404:
        NotFound = "not_found",
        UnknownReview = "unknown_review",
        UnknownIssue = "unknown_issue",
        UnknownReviewer = "unknown_reviewer",
        NoSuchRound = "no_such_round",
        UnknownEvent = "unknown_event",
        UnknownFile = "unknown_file",
        NoDiff = "no_diff",
        NoCounterPatch = "no_counter_patch",
        NoLog = "no_log",
        UnknownWebhook = "unknown_webhook";
    405: MethodNotAllowed = "method_not_allowed";
    // Not in the current state, which may change.
    409:
        WrongStatus = "wrong_status",
        AlreadyClaimed = "already_claimed",
        Reserved = "reserved",
        HoldsAnotherSeat = "holds_another_seat", HasOwnSeat = "has_own_seat", TooManySeats = "too_many_seats",
        NotClaimed = "not_claimed",
        StaleClaim = "stale_claim",
        StaleContent = "stale_content",
        ContentMoved = "content_moved",
        OutOfTurn = "out_of_turn",
        NoPendingCounterPatch = "no_pending_counter_patch",
        IssueSettled = "issue_settled",
        IdempotencyKeyReused = "idempotency_key_reused",
        AmbiguousReview = "ambiguous_review",
        Draining = "draining",
        NoRepository = "no_repository",
        PoolDisabled = "pool_disabled",
        PoolPaused = "pool_paused",
        PoolFull = "pool_full";
    408: BodyTimeout = "body_timeout";
    412: VersionMismatch = "version_mismatch";
    413:
        TooLong = "too_long",
        BodyTooLarge = "body_too_large";
    415: UnsupportedMediaType = "unsupported_media_type";
    421: AnotherBroker = "another_broker";
    426: UpgradeRequired = "upgrade_required";
    // The arguments can be read and are not valid.
    422:
        InvalidArgument = "invalid_argument",
        UnknownTool = "unknown_tool",
        UnknownProject = "unknown_project",
        UnknownPersona = "unknown_persona",
        OtherRepository = "other_repository",
        ContainsSecret = "contains_secret",
        BadCursor = "bad_cursor",
        BadBase = "bad_base",
        BadTarget = "bad_target",
        FlaggedDiff = "flagged_diff",
        BadReviewerId = "bad_reviewer_id",
        NoSuchSeat = "no_such_seat",
        PersonaNeeded = "persona_needed",
        NotSpawnable = "not_spawnable",
        NoFence = "no_fence",
        GenerationNeeded = "generation_needed",
        ReasonNeeded = "reason_needed",
        CounterPatchNotAllowed = "counter_patch_not_allowed",
        CounterPatchOnApproved = "counter_patch_on_approved",
        CounterPatchFails = "counter_patch_fails",
        TooManyIssues = "too_many_issues",
        NoteNeeded = "note_needed",
        DuplicateOfNeeded = "duplicate_of_needed",
        WaitNeedsPending = "wait_needs_pending",
        ProjectAndProjects = "project_and_projects",
        UnknownPriority = "unknown_priority",
        UnknownStatus = "unknown_status",
        UnknownCategory = "unknown_category",
        UnknownVerdict = "unknown_verdict",
        UnknownSeverity = "unknown_severity",
        UnknownType = "unknown_type",
        UnknownKind = "unknown_kind",
        UnknownOrder = "unknown_order",
        UnknownRecipient = "unknown_recipient",
        UnknownPart = "unknown_part",
        UnknownGroupBy = "unknown_group_by",
        UnknownRole = "unknown_role",
        UnknownRule = "unknown_rule",
        UnknownContent = "unknown_content",
        UnknownSide = "unknown_side";
    429: CoolingDown = "cooling_down", QuotaExceeded = "quota_exceeded";
    500: Internal = "internal";
    // The broker cannot serve the call now.
    503:
        NotReady = "not_ready",
        Busy = "busy",
        ShuttingDown = "shutting_down",
        Restarted = "restarted",
        NotSaved = "not_saved",
        Unreadable = "unreadable",
        CheckFailed = "check_failed",
        PoolUnavailable = "pool_unavailable";
}

impl ErrorCode {
    /// The code for a value that is not one of a field's allowed values.
    pub fn unknown_value(field: &str) -> Self {
        let name = field.rsplit('.').next().unwrap_or(field);
        // A value in a list is named as severities[0].
        let name = name.split('[').next().unwrap_or(name);
        let name = match name {
            _ if name.ends_with("_role") => "role",
            "statuses" => "status",
            "severities" => "severity",
            "remove" => "part",
            "to" => "recipient",
            _ => name,
        };
        Self::parse(&format!("unknown_{name}")).unwrap_or(Self::InvalidArgument)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorBody, ErrorCode};

    #[test]
    fn a_code_is_written_as_it_is_read() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
            assert_eq!(serde_json::to_value(code).expect("a string"), code.as_str());
        }
    }

    #[test]
    fn a_body_with_a_new_code_can_be_read() {
        let body: ErrorBody = serde_json::from_str(r#"{"error":"no","code":"brand_new","field":"a"}"#).expect("a body");
        assert_eq!((body.code, body.retryable, body.detail("field")), (ErrorCode::Unknown, false, Some("a")));
    }

    #[test]
    fn an_unknown_value_has_the_code_of_its_field() {
        assert_eq!(ErrorCode::unknown_value("policy.rule"), ErrorCode::UnknownRule);
        assert_eq!(ErrorCode::unknown_value("closer_role"), ErrorCode::UnknownRole);
        assert_eq!(ErrorCode::unknown_value("issues[0].severity"), ErrorCode::UnknownSeverity);
    }
}
