//! Two agents that run at the same time and know only what the MCP instructions say: each waits on the endpoint of its
//! role and does what `waiting_on` names. A conversation that stalls would not end in time.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{verdict, with},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{collections::VecDeque, time::Duration};

const PROPOSER: &str = "builder";
const DIFF: &str =
    "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n";
const BETTER: &str =
    "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+two\n";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Waits for an answer, one second each, before a reviewer votes on what it knows.
const MAX_WAITS: usize = 8;

/// What an agent does when it has a choice. By default a reviewer approves, and the proposer revises, accepts, answers.
type Choice = &'static str;

struct Agent {
    client: TestClient,
    name: &'static str,
    review: String,
    choices: VecDeque<Choice>,
    /// What it has done, in its own words.
    done: Vec<String>,
}

impl Agent {
    fn new(broker: &TestBroker, endpoint: &str, name: &'static str, review: &str, choices: &[Choice]) -> Self {
        let client = TestClient::new(broker.url(endpoint));
        Self { client, name, review: review.to_owned(), choices: choices.iter().copied().collect(), done: Vec::new() }
    }

    async fn on_review(&mut self, tool: &str, more: Value) -> Value {
        self.done.push(tool.to_owned());
        self.client.call(tool, with(json!({ "review_id": self.review }), more)).await
    }

    async fn write(&mut self) {
        let body = format!("{} has something to say", self.done.len());
        self.on_review("add_message", json!({ "caller_id": self.name, "body": body })).await;
    }

    /// Waits for a change of the review, and renews the claim by it.
    async fn wait(&self, since: &Value) -> Value {
        let wait = json!({ "review_id": self.review, "wait": true, "caller_id": self.name, "timeout_seconds": 1 });
        let since = if since.is_null() { json!({}) } else { json!({ "since": since }) };
        self.client.call("get_review_status", with(wait, since)).await
    }

    async fn propose(mut self) -> Vec<String> {
        let mut since = Value::Null;
        loop {
            let status = self.wait(&since).await;
            since = status["version"].clone();
            if status["status"] == "closed" {
                return self.done;
            }
            let turns = status["waiting_on"].as_array().unwrap();
            let Some(turn) = turns.iter().find(|turn| turn["who"] == "proposer") else { continue };
            let choice = match turn["tool"].as_str().unwrap() {
                "create_review" | "accept_counter_patch" => self.choices.pop_front().unwrap_or_default(),
                _ => "",
            };
            match (turn["tool"].as_str().unwrap(), choice) {
                ("add_message", _) | (_, "ask") => self.write().await,
                ("accept_counter_patch", "reject") => drop(self.on_review("reject_counter_patch", json!({})).await),
                ("accept_counter_patch", _) => drop(self.on_review("accept_counter_patch", json!({})).await),
                ("create_review", "dispute") => {
                    let issues = self.client.call("list_issues", json!({ "review_id": self.review })).await;
                    let answer = json!({ "issue_id": issues["issues"][0]["issue_id"], "status": "disputed",
                                         "note": "it is on purpose", "caller_id": self.name });
                    self.on_review("update_issue", answer).await;
                }
                ("create_review", _) => self.revise().await,
                ("close_review", _) => drop(self.on_review("close_review", json!({})).await),
                other => panic!("not a turn of a proposer: {other:?}"),
            }
        }
    }

    async fn revise(&mut self) {
        let note = format!("change {}", self.done.len());
        let revision = json!({ "diff": BETTER, "description": note, "change_note": note, "proposer_id": self.name });
        self.on_review("create_review", revision).await;
    }

    async fn review(mut self) -> Vec<String> {
        while self.client.status(&self.review).await["status"] != "closed" {
            let wait = json!({ "status": "pending", "wait": true, "caller_id": self.name, "timeout_seconds": 1 });
            let listed = self.client.call("list_reviews", wait).await;
            if listed["reviews"].as_array().unwrap().is_empty() {
                self.answer_old_questions().await;
            } else if self.claim().await && !self.judge().await {
                return self.done;
            }
        }
        self.done
    }

    /// Another reviewer may be faster.
    async fn claim(&mut self) -> bool {
        let claim = json!({ "review_id": self.review, "reviewer_id": self.name });
        let is_claimed = self.client.try_call("claim_review", claim).await.is_ok_and(|claim| claim["seat"].is_string());
        self.done.extend(is_claimed.then(|| "claim_review".to_owned()));
        is_claimed
    }

    /// Questions about a review on which it has voted.
    async fn answer_old_questions(&mut self) {
        let mine = json!({ "my_turn": true, "caller_id": self.name });
        let listed = self.client.call("list_reviews", mine).await;
        let turns = listed["reviews"][0]["waiting_on"].as_array().cloned().unwrap_or_default();
        if turns.iter().any(|turn| turn["name"] == self.name && turn["tool"] == "add_message") {
            self.write().await;
        }
    }

    /// Votes, or gives the claim back. False: it dies with its claim.
    async fn judge(&mut self) -> bool {
        loop {
            let vote = |word: &str| verdict(&self.review, self.name, word);
            let (given, waits) = match self.choices.pop_front().unwrap_or_default() {
                "die" => return false,
                "ask and die" => {
                    self.write().await;
                    return false;
                }
                "ask" => {
                    self.write().await;
                    (None, true)
                }
                "release" => {
                    self.on_review("release_claim", json!({ "reviewer_id": self.name })).await;
                    return true;
                }
                "offer in a comment" => (Some(with(vote("comment"), json!({ "counter_patch": BETTER }))), true),
                "offer" => (Some(with(vote("changes_requested"), json!({ "counter_patch": BETTER }))), false),
                "raise" => {
                    let issue = json!({ "severity": "high", "title": "one", "file": "new.txt", "line_start": 1 });
                    (Some(with(vote("changes_requested"), json!({ "issues": [issue] }))), false)
                }
                "request changes" => (Some(vote("changes_requested")), false),
                _ => (Some(vote("approved")), false),
            };
            if let Some(given) = given {
                match self.client.try_call("submit_verdict", given).await {
                    Ok(_) => self.done.push("submit_verdict".to_owned()),
                    // It was revised or taken over meanwhile.
                    Err(error) => {
                        self.done.push(error["code"].as_str().unwrap().to_owned());
                        return true;
                    }
                }
            }
            if !waits || !self.is_asked().await {
                return true;
            }
        }
    }

    /// Waits until it may act under its claim again. False: the review goes on without it.
    async fn is_asked(&mut self) -> bool {
        let mut since = Value::Null;
        for _ in 0..MAX_WAITS {
            let status = self.wait(&since).await;
            since = status["version"].clone();
            let seats = status["seats"].as_array().unwrap();
            let is_over = ["approved", "rejected", "cancelled", "closed"].map(Value::from).contains(&status["status"]);
            if is_over || !seats.iter().any(|seat| seat["claimed_by"] == self.name) {
                return false;
            }
            if status["waiting_on"].as_array().unwrap().iter().any(|turn| turn["name"] == self.name) {
                return true;
            }
        }
        true
    }
}

/// A review that both agents know. The reviewer's name is ada.
struct Pair {
    broker: TestBroker,
    review: String,
}

impl Pair {
    async fn begin(settings: &str) -> Self {
        let broker = TestBroker::with_settings(settings).await;
        let more = json!({ "proposer_id": PROPOSER, "diff": DIFF });
        let review = id(&broker.client().call("create_review", proposal_with("add a file", more)).await);
        Self { broker, review }
    }

    fn proposer(&self, choices: &[Choice]) -> Agent {
        Agent::new(&self.broker, "/mcp/proposer", PROPOSER, &self.review, choices)
    }

    fn reviewer(&self, name: &'static str, choices: &[Choice]) -> Agent {
        Agent::new(&self.broker, "/mcp/reviewer", name, &self.review, choices)
    }

    /// Waits until the reviewer has asked a question.
    async fn is_asked(&self) {
        let client = self.broker.client();
        let is_asked = async || (client.status(&self.review).await["message_count"] != 0).then_some(());
        wait_until("a question", is_asked).await;
    }

    async fn person_writes(&self, body: &str) {
        let message = json!({ "review_id": self.review, "sender_role": "operator", "caller_id": "olga", "body": body });
        self.broker.client().call("add_message", message).await;
    }
}

/// Runs both to the end. Returns what each of them has done.
async fn together(
    proposer: impl Future<Output = Vec<String>>,
    reviewer: impl Future<Output = Vec<String>>,
) -> [String; 2] {
    let both = async { tokio::join!(proposer, reviewer) };
    let (proposed, reviewed) = tokio::time::timeout(TIMEOUT, both).await.expect("a conversation that does not stall");
    [proposed.join(" "), reviewed.join(" ")]
}

async fn talk(proposer: &[Choice], reviewer: &[Choice]) -> [String; 2] {
    let pair = Pair::begin("").await;
    let done = together(pair.proposer(proposer).propose(), pair.reviewer("ada", reviewer).review()).await;
    pair.broker.stop_and_check().await;
    done
}

#[tokio::test]
async fn they_finish_a_question_and_its_answer() {
    let done = talk(&[], &["ask"]).await;
    assert_eq!(done, ["add_message close_review", "claim_review add_message submit_verdict"]);
}

#[tokio::test]
async fn they_finish_a_dispute() {
    let done = talk(&["dispute"], &["raise"]).await;
    assert_eq!(done, ["update_issue close_review", "claim_review submit_verdict claim_review submit_verdict"]);
}

#[tokio::test]
async fn they_finish_a_question_after_a_request_for_changes() {
    let done = talk(&["ask"], &["request changes"]).await;
    assert_eq!(done, ["add_message close_review", "claim_review submit_verdict claim_review submit_verdict"]);
}

#[tokio::test]
async fn they_finish_an_accepted_counter_patch() {
    let done = talk(&[], &["offer"]).await;
    assert_eq!(done, ["accept_counter_patch close_review", "claim_review submit_verdict claim_review submit_verdict"]);
    let done = talk(&["ask"], &["offer in a comment", "ask"]).await;
    let reviewed = "claim_review submit_verdict add_message submit_verdict";
    assert_eq!(done, ["add_message accept_counter_patch close_review", reviewed]);
}

#[tokio::test]
async fn they_finish_a_rejected_counter_patch() {
    let done = talk(&["reject", "revise"], &["offer"]).await;
    let proposed = "reject_counter_patch create_review close_review";
    assert_eq!(done, [proposed, "claim_review submit_verdict claim_review submit_verdict"]);
    let done = talk(&["reject"], &["offer in a comment"]).await;
    assert_eq!(done, ["reject_counter_patch close_review", "claim_review submit_verdict submit_verdict"]);
}

#[tokio::test]
async fn they_finish_after_a_reviewer_gave_it_back() {
    let done = talk(&[], &["release"]).await;
    assert_eq!(done, ["close_review", "claim_review release_claim claim_review submit_verdict"]);
}

#[tokio::test]
async fn they_finish_a_revision_while_a_reviewer_waits_for_an_answer() {
    let pair = Pair::begin("").await;
    let (mut author, reviewer) = (pair.proposer(&[]), pair.reviewer("ada", &["ask"]));
    let revised = async {
        pair.is_asked().await;
        author.revise().await;
        author.propose().await
    };
    let [proposed, reviewed] = together(revised, reviewer.review()).await;
    assert_eq!(proposed, "create_review close_review");
    assert_eq!(reviewed, "claim_review add_message claim_review submit_verdict");
    pair.broker.stop_and_check().await;
}

#[tokio::test]
async fn they_finish_after_a_claim_expired_with_an_open_question() {
    let pair = Pair::begin("[claims]\nlease = \"2s\"").await;
    let first = pair.reviewer("ada", &["ask and die"]);
    assert_eq!(first.review().await, ["claim_review", "add_message"]);
    let (author, second) = (pair.proposer(&[]), pair.reviewer("bob", &[]));
    let [proposed, reviewed] = together(author.propose(), second.review()).await;
    assert_eq!((proposed.as_str(), reviewed.as_str()), ("add_message close_review", "claim_review submit_verdict"));
    pair.broker.stop_and_check().await;
}

#[tokio::test]
async fn they_finish_after_an_operator_answered_an_escalation() {
    let pair = Pair::begin("[reviews]\nmax_rounds = 1").await;
    let (author, reviewer) = (pair.proposer(&[]), pair.reviewer("ada", &["request changes"]));
    let (operator, review) = (pair.broker.client(), pair.review.clone());
    let person = async {
        let wait = json!({ "review_id": review, "wait": true, "role": "operator", "caller_id": "olga" });
        wait_until("its turn", async || {
            let status = operator.call("get_review_status", wait.clone()).await;
            (status["waiting_on"][0]["who"] == "operator").then_some(())
        })
        .await;
        pair.person_writes("go on").await;
    };
    let both = together(author.propose(), reviewer.review());
    let ((), [proposed, reviewed]) = tokio::join!(person, both);
    assert_eq!(proposed, "create_review close_review");
    assert!(reviewed.ends_with("claim_review submit_verdict"), "{reviewed}");
    pair.broker.stop_and_check().await;
}

#[tokio::test]
async fn they_finish_with_a_person_who_joins_in() {
    let pair = Pair::begin("").await;
    let (author, reviewer) = (pair.proposer(&[]), pair.reviewer("ada", &["ask", "ask"]));
    let joined = async {
        pair.is_asked().await;
        pair.person_writes("think of the tests").await;
        author.propose().await
    };
    let [proposed, reviewed] = together(joined, reviewer.review()).await;
    assert!(proposed.starts_with("add_message") && proposed.ends_with("close_review"), "{proposed}");
    assert_eq!(reviewed, "claim_review add_message add_message submit_verdict");
    pair.broker.stop_and_check().await;
}

#[tokio::test]
async fn they_finish_with_a_person_who_takes_over() {
    let pair = Pair::begin("").await;
    let (author, reviewer) = (pair.proposer(&[]), pair.reviewer("ada", &["ask"]));
    let taken_over = async {
        pair.is_asked().await;
        let (client, review) = (pair.broker.client(), &pair.review);
        client.call("take_over", json!({ "review_id": review, "reviewer_id": "olga" })).await;
        client.call("submit_verdict", verdict(review, "olga", "approved")).await;
        author.propose().await
    };
    let [proposed, reviewed] = together(taken_over, reviewer.review()).await;
    assert_eq!((proposed.as_str(), reviewed.as_str()), ("close_review", "claim_review add_message"));
    pair.broker.stop_and_check().await;
}
