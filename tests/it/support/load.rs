//! Reviews under load, with a record of every acknowledged call. Each call makes one change, so the version of a
//! review is the number of its calls.

use super::{
    client::{TestClient, id, proposal_with},
    random::Random,
};
use serde_json::{Value, json};

/// The course of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Two rounds with messages, approved, closed.
    Full,
    Rejected,
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct ScriptedReview {
    name: String,
    course: Course,
    diff: Option<String>,
    /// The last acknowledged answer.
    acknowledged: Option<Value>,
    messages: Vec<String>,
    verdicts: usize,
}

/// The result of a step.
pub(crate) enum Step {
    Acknowledged,
    /// The review was already complete.
    Over,
    /// The connection broke: the call may or may not have been executed.
    Unknown,
}

const FULL: &[&str] = &["create", "claim", "answer", "ask", "send back", "revise", "claim", "approve", "close"];
const REJECTED: &[&str] = &["create", "claim", "ask", "answer", "comment", "reject", "close"];
const CANCELLED: &[&str] = &["create", "claim", "cancel", "close"];

impl ScriptedReview {
    pub(crate) fn new(name: String, diff: Option<String>, random: &mut Random) -> Self {
        let course = *random.pick(&[Course::Full, Course::Full, Course::Rejected, Course::Cancelled]);
        Self { name, course, diff, acknowledged: None, messages: Vec::new(), verdicts: 0 }
    }

    /// Makes the next call, or repeats the one whose answer was lost.
    pub(crate) async fn step(&mut self, client: &TestClient) -> Step {
        let steps = match self.course {
            Course::Full => FULL,
            Course::Rejected => REJECTED,
            Course::Cancelled => CANCELLED,
        };
        let Some(step) = steps.get(self.version() as usize).copied() else { return Step::Over };
        let (tool, arguments) = self.call(step);
        match client.try_call(tool, arguments.clone()).await {
            Ok(answer) => {
                assert_eq!(answer["version"], self.version() + 1, "{step}: {answer}");
                self.acknowledged = Some(answer);
                match step {
                    "ask" | "answer" => self.messages.push(arguments["body"].as_str().unwrap().to_owned()),
                    "send back" | "approve" | "comment" | "reject" => self.verdicts += 1,
                    _ => {}
                }
                Step::Acknowledged
            }
            Err(error) if error.get("transport").is_some() => Step::Unknown,
            Err(error) => panic!("{step} of {self:?}: {error}"),
        }
    }

    fn version(&self) -> u64 {
        self.acknowledged.as_ref().map_or(0, |answer| answer["version"].as_u64().unwrap())
    }

    fn call(&self, step: &str) -> (&'static str, Value) {
        let review = self.acknowledged.as_ref().map(id).unwrap_or_default();
        let say = |role: &str| {
            (
                "add_message",
                json!({ "review_id": review, "sender_role": role, "body": format!("{role} {}", self.name) }),
            )
        };
        let judge = |word: &str| {
            let verdict = json!({ "review_id": review, "reviewer_id": "ada", "verdict": word, "reason": self.name });
            ("submit_verdict", verdict)
        };
        match step {
            "create" => {
                let more = json!({ "idempotency_key": self.name, "diff": self.diff, "description": "x".repeat(500) });
                ("create_review", proposal_with(&self.name, more))
            }
            "revise" => {
                let intent = format!("{} again", self.name);
                ("create_review", json!({ "review_id": review, "intent": intent, "idempotency_key": intent }))
            }
            "claim" => ("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })),
            "ask" => say("proposer"),
            "answer" => say("reviewer"),
            "send back" => judge("changes_requested"),
            "approve" => judge("approved"),
            "comment" => judge("comment"),
            "reject" => judge("rejected"),
            "cancel" => ("cancel_review", json!({ "review_id": review, "reason": self.name })),
            "close" => ("close_review", json!({ "review_id": review, "closer_role": "proposer" })),
            _ => unreachable!(),
        }
    }

    /// Checks that every acknowledged change is stored. `in_flight`: one more call may have been executed.
    pub(crate) async fn check(&self, client: &TestClient, in_flight: bool) {
        let Some(acknowledged) = &self.acknowledged else { return };
        let review = json!({ "review_id": id(acknowledged) });
        let now = client.call("get_review_status", review.clone()).await;
        let further = now["version"].as_u64().unwrap().checked_sub(self.version());
        assert!(further == Some(0) || (in_flight && further == Some(1)), "{self:?} became {now}");
        if further == Some(0) {
            for field in ["status", "current_round", "claim_generation", "content_hash", "approved_hash", "number"] {
                if let Some(value) = acknowledged.get(field) {
                    assert_eq!(now[field], *value, "{field} of {self:?} in {now}");
                }
            }
        }
        let discussion = client.call("get_discussion", review.clone()).await;
        let bodies: Vec<_> = discussion["messages"].as_array().unwrap().iter().map(|row| &row["body"]).collect();
        assert!(
            bodies.len() >= self.messages.len() && bodies.iter().zip(&self.messages).all(|(a, b)| *a == b),
            "{discussion}"
        );
        let proposal = client.call("get_proposal", json!({ "review_id": id(acknowledged), "round": 1 })).await;
        let verdicts = proposal["iterations"].as_array().map_or(0, Vec::len);
        let of_first_round = if self.course == Course::Full { self.verdicts.min(1) } else { self.verdicts };
        assert!(verdicts >= of_first_round, "{self:?}: {proposal}");
    }
}
