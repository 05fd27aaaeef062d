use super::author;
use domain::approvals::ReviewedContent;
use git::Person;
use serde_json::json;

fn review(identity: &str) -> ReviewedContent {
    serde_json::from_value(json!({
        "number": "R-1", "review_id": "00000000-0000-0000-0000-000000000001", "status": "approved", "priority": "normal",
        "proposer": { "agent_type": "claude", "agent_role": "executor", "phase": "1", "proposer_id": identity },
        "intent": "x", "content_hash": "0", "files": [], "approved": true, "approved_before": false, "round": 1,
        "rule": "require_all", "seats": 1, "needed": 1, "votes": [],
    }))
    .unwrap()
}

#[test]
fn the_author_is_the_proposer_whatever_its_name_contains() {
    let committer = Person { name: "Ada".into(), email: "ada@example.org".into() };
    assert_eq!(author(&review("Ada"), &committer), committer);
    for (identity, name, email) in [
        ("claude-1", "claude-1", "claude-1@countersign.invalid"),
        ("O <x@y>\n", "O x@y", "o-x-y@countersign.invalid"),
        ("<>", "proposer", "proposer@countersign.invalid"),
        ("...", "proposer", "proposer@countersign.invalid"),
    ] {
        assert_eq!(
            author(&review(identity), &committer),
            Person { name: name.into(), email: email.into() },
            "{identity}"
        );
    }
}
