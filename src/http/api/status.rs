//! Which HTTP status a refusal has. A code means the same at every door; this is only its number here.

use axum::http::StatusCode;

/// What is not named here is 422: it can be read, and makes no sense.
const TABLE: &[(StatusCode, &[&str])] = &[
    // The caller may not, whatever the state.
    (
        StatusCode::FORBIDDEN,
        &[
            "wrong_role",
            "wrong_identity",
            "wrong_project",
            "own_proposal",
            "not_the_proposer",
            "not_your_seat",
            "not_for_proposers",
            "not_for_reviewers",
        ],
    ),
    // What the address names is not there.
    (
        StatusCode::NOT_FOUND,
        &[
            "unknown_review",
            "unknown_issue",
            "unknown_reviewer",
            "no_such_round",
            "unknown_file",
            "no_diff",
            "no_log",
            "unknown_webhook",
        ],
    ),
    // Not as things stand; they may change.
    (
        StatusCode::CONFLICT,
        &[
            "wrong_status",
            "already_claimed",
            "being_claimed",
            "reserved",
            "holds_another_seat",
            "not_claimed",
            "stale_claim",
            "stale_content",
            "content_moved",
            "out_of_turn",
            "no_pending_counter_patch",
            "issue_settled",
            "idempotency_key_reused",
            "ambiguous_review",
            "draining",
            "no_repository",
            "pool_disabled",
            "pool_full",
        ],
    ),
    (StatusCode::PRECONDITION_FAILED, &["version_mismatch"]),
    (StatusCode::PAYLOAD_TOO_LARGE, &["too_long"]),
    (
        StatusCode::UNPROCESSABLE_ENTITY,
        &[
            "invalid_argument",
            "unknown_project",
            "other_repository",
            "contains_secret",
            "bad_cursor",
            "bad_base",
            "bad_target",
            "flagged_diff",
            "bad_reviewer_id",
            "no_such_seat",
            "persona_needed",
            "no_fence",
            "generation_needed",
            "reason_needed",
            "counter_patch_not_allowed",
            "counter_patch_fails",
            "too_many_issues",
            "note_needed",
            "duplicate_of_needed",
            "wait_needs_pending",
            "project_and_projects",
            "unknown_priority",
            "unknown_status",
            "unknown_category",
            "unknown_verdict",
            "unknown_severity",
            "unknown_type",
            "unknown_kind",
            "unknown_order",
            "unknown_group_by",
            "unknown_role",
            "unknown_rule",
            "unknown_content",
        ],
    ),
    (StatusCode::TOO_MANY_REQUESTS, &["cooling_down"]),
    // The broker cannot now.
    (
        StatusCode::SERVICE_UNAVAILABLE,
        &["busy", "shutting_down", "restarted", "not_saved", "unreadable", "check_failed", "pool_unavailable"],
    ),
];

pub(super) fn of(code: &str) -> StatusCode {
    let found = TABLE.iter().find(|(_, codes)| codes.contains(&code));
    found.map_or(StatusCode::UNPROCESSABLE_ENTITY, |(status, _)| *status)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
