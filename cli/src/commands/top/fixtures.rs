//! Sample reviews, reviewers and events for the tests of `top`.

use api::{events::Event, review_lists::ReviewRow, reviewer_pool::ListReviewersResponse};
use serde_json::{Value, json};

pub(super) fn review(number: &str, status: &str, intent: &str, claimed_by: Option<&str>) -> ReviewRow {
    let (id, at) =
        ("00000000-0000-0000-0000-000000000001", jiff::Timestamp::now() - jiff::SignedDuration::from_secs(200));
    let turn = claimed_by.map(
        |name| json!({ "who": "reviewer", "name": name, "why": "reviewing", "since": at, "tool": "submit_verdict" }),
    );
    serde_json::from_value(json!({
        "waiting_on": turn.into_iter().collect::<Vec<_>>(), "message_count": 0, "has_counter_patch": false,
        "id": id, "review_id": id, "number": number, "status": status, "intent": intent, "agent_type": "codex",
        "agent_role": "proposer", "phase": "1", "priority": "normal", "current_round": 2, "claimed_by": claimed_by,
        "has_diff": true, "version": 3, "created_at": at, "updated_at": at,
    }))
    .unwrap()
}

/// A pool with one reviewer, which has these fields.
pub(super) fn pool(fields: Value) -> ListReviewersResponse {
    let mut reviewer = json!({
        "runtime": "codex", "why": "backlog", "spawned_at": "2026-11-16T10:00:00Z", "pid": 7, "completed": 0,
        "approvals": 0, "rejections": 0, "changes_requested": 0, "comments": 0,
    });
    for (name, value) in fields.as_object().unwrap() {
        reviewer[name] = value.clone();
    }
    let waiting = json!([{ "pending": 3, "free_seats": 3 }]);
    serde_json::from_value(json!({
        "state": "ready", "runtime": "codex", "max_size": 3, "waiting": waiting, "reviewers": [reviewer], "ended": [],
    }))
    .unwrap()
}

pub(super) fn claimed(number: &str, seq: u64) -> Event {
    serde_json::from_value(json!({
        "seq": seq, "at": "2026-11-16T10:11:12.345Z", "type": "review_updated", "review_id": null, "number": number,
        "project": null, "actor": "second-mind", "status": "claimed", "round": 1, "version": 2, "kind": "claimed",
        "data": { "persona": "general", "reviewer_id": "second-mind", "claim_generation": 1 },
    }))
    .unwrap()
}
