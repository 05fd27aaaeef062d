use super::Topic;
use crate::{review::Event, reviewer_pool::PoolEvent};
use serde_json::{Value, json};

fn review(kind: &str, more: Value) -> Event {
    let mut event = more;
    event["kind"] = kind.into();
    serde_json::from_value(event).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn pool(kind: &str, more: Value) -> PoolEvent {
    let mut event = more;
    event["kind"] = kind.into();
    serde_json::from_value(event).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

/// One of each kind that is easily written down; the rest stands in the match alone.
#[test]
fn each_kind_has_its_topic() {
    let hash = "0".repeat(64);
    let said = json!({ "persona": "general", "role": "proposer", "by": "p1", "round": 1, "body": "why?",
        "metadata": null, "digest": "", "lease_ends": null, "requeued": null });
    let verdict = json!({ "persona": "general", "by": "r1", "generation": 1, "verdict": "approved", "reason": null,
        "summary": null, "metrics": null, "content_hash": hash, "round": 1, "offers_patch": false,
        "status": "approved", "lease_ends": null, "digest": "" });
    let finding = |settles| {
        json!({ "number": 1, "role": "reviewer", "by": "r1", "requested": "fixed", "duplicate_of": null, "note": null,
            "round": 1, "settles": settles, "status": "pending", "lease_ends": null })
    };
    let claim = json!({ "persona": "general", "by": "r1", "generation": 1, "lease_ends": 5, "diff": null });
    let ended = json!({ "persona": "general", "by": "r1", "reason": "released", "generation": 2 });
    let table = [
        (review("claimed", claim), Topic::ReviewUpdated),
        (review("claim_ended", ended), Topic::ReviewUpdated),
        (review("reservation_ended", json!({ "persona": "general", "reviewer": "r1" })), Topic::ReviewUpdated),
        (review("auto_rejected", json!({ "claimant": "r1", "message": "no", "generation": 1 })), Topic::ReviewUpdated),
        (review("verdict_given", verdict.clone()), Topic::IterationAdded),
        (review("finding_updated", finding(true)), Topic::IssueResolved),
        (review("finding_updated", finding(false)), Topic::Activity),
        (review("message_added", said), Topic::MessageAdded),
        (
            review("counter_patch_rejected", json!({ "by": "p1", "persona": "general", "patch": 1 })),
            Topic::ReviewUpdated,
        ),
        (
            review("cancelled", json!({ "by": "p1", "reason": "no", "detached": [], "generation": 1 })),
            Topic::ReviewUpdated,
        ),
        (review("closed", json!({ "by": "proposer", "identity": "p1" })), Topic::ReviewUpdated),
    ];
    for (event, topic) in table {
        assert_eq!(event.topic(), topic, "{}", event.kind());
    }
    // A decision also updates the review; a comment, and a vote that decides nothing, do not.
    let with = |field: &str, value: &str| {
        let mut verdict = verdict.clone();
        verdict[field] = value.into();
        review("verdict_given", verdict).also()
    };
    assert_eq!(with("status", "changes_requested"), Some(Topic::ReviewUpdated));
    assert_eq!((with("status", "in_review"), with("verdict", "comment")), (None, None));
    let spawned = json!({ "reviewer": "r1", "runtime": "codex", "project": null, "why": "backlog" });
    let terminated = json!({ "reviewer": "r1", "exit": "exit code 0", "ran_ms": null });
    let table = [
        (pool("reviewer_spawned", spawned), Topic::ReviewerUpdated),
        (pool("reviewer_retried", json!({ "reviewer": "r1", "why": "no" })), Topic::ReviewerUpdated),
        (pool("reviewer_draining", json!({ "reviewer": "r1", "why": "idle" })), Topic::ReviewerUpdated),
        (pool("reviewer_terminated", terminated), Topic::ReviewerUpdated),
        (pool("crash_loop", json!({ "project": null, "failures": 5, "last_words": [] })), Topic::Activity),
        (pool("crash_loop_cleared", json!({ "project": null })), Topic::Activity),
        (pool("pool_paused", json!({})), Topic::Activity),
        (pool("pool_resumed", json!({ "by": "ann" })), Topic::Activity),
        (pool("pool_limit_changed", json!({ "max_size": 2 })), Topic::Activity),
    ];
    for (event, topic) in table {
        assert_eq!(event.topic(), topic, "{}", event.kind());
    }
}
