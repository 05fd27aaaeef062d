//! Conversations that never stall: parties that only do what `waiting_on` names reach the end, also if the broker is
//! killed after every step. And a person who joins in.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{column, review_in, verdict, with},
};
use serde_json::{Value, json};
use std::collections::VecDeque;

const PROPOSER: &str = "builder";
const DIFF: &str =
    "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n";
const BETTER: &str =
    "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+two\n";

/// What a party does with its turn, if the turn leaves a choice. By default a reviewer approves, the proposer revises,
/// accepts and answers, and an operator writes.
type Choice = &'static str;

/// Two scripted agents and the review they talk about.
struct Conversation {
    broker: TestBroker,
    review: String,
    proposer: VecDeque<Choice>,
    reviewer: VecDeque<Choice>,
    operator: VecDeque<Choice>,
    /// Whether the broker is killed after every step.
    kills: bool,
    /// The turns that were taken: `who why tool`.
    steps: Vec<String>,
}

impl Conversation {
    async fn begin(settings: &str, kills: bool, proposer: &[Choice], reviewer: &[Choice]) -> Self {
        let broker = TestBroker::with_settings(settings).await;
        let more = json!({ "proposer_id": PROPOSER, "diff": DIFF });
        let review = id(&broker.client().call("create_review", proposal_with("add a file", more)).await);
        let script = |choices: &[Choice]| choices.iter().copied().collect();
        let (proposer, reviewer) = (script(proposer), script(reviewer));
        Self { broker, review, proposer, reviewer, operator: VecDeque::new(), kills, steps: Vec::new() }
    }

    /// Takes turns until the review is closed.
    async fn run(mut self) -> (Self, Value) {
        for _ in 0..60 {
            let status = self.broker.client().status(&self.review).await;
            let Some(turn) = status["waiting_on"].as_array().unwrap().first().cloned() else {
                return (self, status);
            };
            self.wait_is_answered_at_once(&status, &turn).await;
            let word = |field: &str| turn[field].as_str().unwrap_or_default().to_owned();
            self.steps.push(format!("{} {} {}", word("who"), word("why"), word("tool")));
            self.act(&turn, &status).await;
            if self.kills {
                self.broker = self.broker.kill_and_restart().await;
            }
        }
        panic!("it does not end: {:?}", self.steps);
    }

    /// The party whose turn it is does not have to wait, whatever it has seen.
    async fn wait_is_answered_at_once(&self, status: &Value, turn: &Value) {
        let is_operator = turn["who"] == "operator";
        let name = turn["name"].as_str().unwrap_or(if is_operator { "olga" } else { "ada" });
        let role = if is_operator { json!({ "role": "operator" }) } else { json!({}) };
        let wait = json!({ "review_id": self.review, "wait": true, "caller_id": name, "since": status["version"] });
        let wait = with(wait, role.clone());
        let waited = self.broker.client().call("get_review_status", wait).await;
        assert_eq!(waited["timed_out"], false, "{turn}");
        let mine = with(json!({ "my_turn": true, "wait": true, "caller_id": name }), role);
        let listed = self.broker.client().call("list_reviews", mine).await;
        assert_eq!(column(&listed["reviews"], "id"), [self.review.as_str()], "{turn}");
    }

    async fn act(&mut self, turn: &Value, status: &Value) {
        let client = self.broker.client();
        let (who, tool) = (turn["who"].as_str().unwrap(), turn["tool"].as_str().unwrap());
        let name = turn["name"].as_str().unwrap_or(if who == "operator" { "olga" } else { "ada" });
        let review = json!({ "review_id": self.review });
        let new = format!("at version {}", status["version"]);
        let write = |role: &str| with(review.clone(), json!({ "sender_role": role, "caller_id": name, "body": new }));
        let mut choose = |script: &str| match script {
            "proposer" => self.proposer.pop_front(),
            "reviewer" => self.reviewer.pop_front(),
            _ => self.operator.pop_front(),
        };
        match (who, tool) {
            (_, "claim_review") => {
                let claim = with(review, json!({ "reviewer_id": name, "persona": turn["seat"] }));
                client.call("claim_review", claim).await;
            }
            ("reviewer", "submit_verdict") => {
                let given = |word: &str| verdict(&self.review, name, word);
                let patch = json!({ "counter_patch": BETTER });
                match choose("reviewer").unwrap_or("default") {
                    "ask" => client.call("add_message", write("reviewer")).await,
                    "request changes" => client.call("submit_verdict", given("changes_requested")).await,
                    "raise an issue" => {
                        let issues = json!({ "issues": [{ "severity": "high", "title": new, "file": "new.txt", "line_start": 1 }] });
                        client.call("submit_verdict", with(given("changes_requested"), issues)).await
                    }
                    "offer a patch" => client.call("submit_verdict", with(given("changes_requested"), patch)).await,
                    "offer a patch in a comment" => client.call("submit_verdict", with(given("comment"), patch)).await,
                    "release" => {
                        let release = json!({ "reviewer_id": name, "reason": "not my field" });
                        client.call("release_claim", with(review, release)).await
                    }
                    _ => client.call("submit_verdict", given("approved")).await,
                };
            }
            ("reviewer", "add_message") => drop(client.call("add_message", write("reviewer")).await),
            ("proposer", "add_message") => drop(client.call("add_message", write("proposer")).await),
            ("operator", "add_message") => match choose("operator").unwrap_or("default") {
                "cancel" => {
                    client.call("cancel_review", with(review, json!({ "reason": "not worth it" }))).await;
                }
                _ => drop(client.call("add_message", write("operator")).await),
            },
            (_, "accept_counter_patch") => match choose("proposer").unwrap_or("default") {
                "reject the patch" => drop(client.call("reject_counter_patch", review).await),
                "ask" => drop(client.call("add_message", write("proposer")).await),
                _ => drop(client.call("accept_counter_patch", review).await),
            },
            (_, "create_review") => match choose("proposer").unwrap_or("default") {
                "ask" => drop(client.call("add_message", write("proposer")).await),
                "dispute" => {
                    let issues = client.call("list_issues", review.clone()).await;
                    let answer = json!({ "issue_id": issues["issues"][0]["issue_id"], "status": "disputed",
                                         "note": "it is on purpose", "role": "proposer", "caller_id": name });
                    client.call("update_issue", with(review, answer)).await;
                }
                _ => {
                    let revision = json!({ "change_note": new, "diff": DIFF, "proposer_id": name });
                    client.call("create_review", with(review, revision)).await;
                }
            },
            (_, "close_review") => {
                client.call("close_review", with(review, json!({ "closer_role": "proposer" }))).await;
            }
            other => panic!("no turn is {other:?}"),
        }
    }
}

/// Runs a conversation to its end, once undisturbed and once with the broker killed after every step.
async fn check(settings: &str, proposer: &[Choice], reviewer: &[Choice], steps: &[&str]) -> Value {
    let mut last = Value::Null;
    for kills in [false, true] {
        let (ended, status) = Conversation::begin(settings, kills, proposer, reviewer).await.run().await;
        assert_eq!(ended.steps, steps, "kills: {kills}");
        ended.broker.stop_and_check().await;
        last = status;
    }
    last
}

const CLAIM: &str = "reviewer unclaimed claim_review";
const VOTE: &str = "reviewer reviewing submit_verdict";
const CLOSE: &str = "proposer approved close_review";

#[tokio::test]
async fn a_question_is_answered_and_leads_to_a_verdict() {
    let answer = "proposer message add_message";
    check("", &[], &["ask"], &[CLAIM, VOTE, answer, "reviewer message submit_verdict", CLOSE]).await;
}

#[tokio::test]
async fn a_dispute_returns_to_the_reviewer_of_the_issue() {
    let steps = [
        CLAIM,
        VOTE,
        "proposer changes_requested create_review",
        "reviewer issue_answered claim_review",
        "reviewer issue_answered submit_verdict",
        CLOSE,
    ];
    check("", &["dispute"], &["raise an issue"], &steps).await;
}

#[tokio::test]
async fn an_accepted_counter_patch_returns_to_the_reviewer_that_offered_it() {
    let offered = "proposer counter_patch_offered accept_counter_patch";
    let steps = [
        CLAIM,
        VOTE,
        offered,
        "reviewer counter_patch_accepted claim_review",
        "reviewer counter_patch_accepted submit_verdict",
        CLOSE,
    ];
    check("", &[], &["offer a patch"], &steps).await;
    let steps = [CLAIM, VOTE, offered, "reviewer counter_patch_accepted submit_verdict", CLOSE];
    check("", &[], &["offer a patch in a comment"], &steps).await;
}

#[tokio::test]
async fn after_a_rejected_counter_patch_the_proposer_revises() {
    let steps = [
        CLAIM,
        VOTE,
        "proposer counter_patch_offered accept_counter_patch",
        "proposer changes_requested create_review",
        CLAIM,
        VOTE,
        CLOSE,
    ];
    check("", &["reject the patch", "revise"], &["offer a patch"], &steps).await;
}

#[tokio::test]
async fn a_question_about_a_counter_patch_is_answered_before_it_is_decided() {
    let offered = "proposer counter_patch_offered accept_counter_patch";
    let answer = "reviewer message submit_verdict";
    let accepted = "reviewer counter_patch_accepted submit_verdict";
    let steps = [CLAIM, VOTE, offered, answer, offered, accepted, CLOSE];
    check("", &["ask"], &["offer a patch in a comment", "ask"], &steps).await;
    let claim = "reviewer message claim_review";
    check("", &["ask"], &["offer a patch"], &[CLAIM, VOTE, offered, claim, answer, CLOSE]).await;
}

#[tokio::test]
async fn a_reviewer_that_gives_up_leaves_the_seat_to_the_next() {
    check("", &[], &["release"], &[CLAIM, VOTE, CLAIM, VOTE, CLOSE]).await;
}

#[tokio::test]
async fn an_escalation_waits_for_an_operator_and_goes_on() {
    let operator = "operator escalated add_message";
    let steps = [
        CLAIM,
        VOTE,
        operator,
        "reviewer message add_message",
        "proposer message add_message",
        "reviewer message claim_review",
        "reviewer message submit_verdict",
        CLOSE,
    ];
    let settings = "[reviews]\nmax_rounds = 1";
    let (ended, _) = Conversation::begin(settings, false, &[], &["request changes"]).await.run().await;
    assert_eq!(ended.steps[..3], steps[..3]);
    assert_eq!(ended.steps.last().map(String::as_str), Some(CLOSE), "{:?}", ended.steps);

    let mut cancelled = Conversation::begin(settings, true, &[], &["request changes"]).await;
    cancelled.operator.push_back("cancel");
    let (ended, status) = cancelled.run().await;
    assert_eq!((status["status"].as_str(), ended.steps.len()), (Some("closed"), 4), "{:?}", ended.steps);
}

#[tokio::test]
async fn exchanges_in_one_round_are_limited_by_a_setting() {
    let settings = "[reviews]\nmax_exchanges = 2";
    let mut talk = Conversation::begin(settings, false, &[], &["ask", "ask"]).await;
    talk.operator.push_back("cancel");
    let (ended, status) = talk.run().await;
    assert!(ended.steps.contains(&"operator escalated add_message".to_owned()), "{:?}", ended.steps);
    assert_eq!(status["status"], "closed");
}

#[tokio::test]
async fn a_revision_while_a_reviewer_works_is_stale_content_for_it() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let before = client.status(&id).await;
    let revised = client.call("create_review", json!({ "review_id": id, "change_note": "a better way" })).await;
    // Nothing changed, so nothing is revised.
    assert_eq!(revised["current_round"], 1);
    let more = json!({ "review_id": id, "description": "a better way", "change_note": "the description" });
    let revised = client.call("create_review", more).await;
    assert_eq!((&revised["current_round"], &revised["status"]), (&json!(2), &json!("pending")));
    assert_eq!(client.status(&id).await["intent"], before["intent"], "the title stays");
    let generation = before["claim_generation"].clone();
    let late = with(verdict(&id, "ada", "approved"), json!({ "claim_generation": generation }));
    client.refused("stale_content", "submit_verdict", late).await;
    client.refused("stale_content", "submit_verdict", verdict(&id, "ada", "approved")).await;
    client.claim(&id, "ada").await;
    client.call("submit_verdict", verdict(&id, "ada", "approved")).await;
    // An approval does not stand either.
    let more = json!({ "review_id": id, "remove": ["description"] });
    client.call("create_review", more).await;
    let status = client.status(&id).await;
    assert_eq!((&status["status"], &status["approved_hash"]), (&json!("pending"), &Value::Null));
    let timeline = client.call("get_review_timeline", json!({ "review_id": id })).await;
    assert_eq!(timeline["rounds"][1]["events"][0]["change_note"], "the description");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_asked_in_an_earlier_round_is_shown_what_changed() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let ask = json!({ "review_id": id, "sender_role": "reviewer", "caller_id": "ada", "body": "on purpose?" });
    client.call("add_message", ask).await;
    let claim = json!({ "review_id": id, "reviewer_id": "ada" });
    client.call("create_review", json!({ "review_id": id, "description": "on purpose" })).await;
    let claimed = client.call("claim_review", claim).await;
    assert_eq!(claimed["re_review"]["since_round"], 1);
    assert!(claimed["re_review"]["hint"].as_str().unwrap().contains("since_round"), "{claimed}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_expired_claim_with_an_open_question_returns_to_the_queue() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"2s\"").await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let ask = json!({ "review_id": id, "sender_role": "reviewer", "caller_id": "ada", "body": "on purpose?" });
    let asked = client.call("add_message", ask).await;
    assert_eq!(asked["waiting_on"][0]["who"], "proposer");
    let wait = json!({ "review_id": id, "wait": true, "since": asked["version"] });
    let expired = client.call("get_review_status", wait).await;
    assert_eq!((&expired["status"], &expired["waiting_on"][0]["why"]), (&json!("pending"), &json!("unclaimed")));
    let claim = json!({ "review_id": id, "reviewer_id": "bob" });
    let taken = client.call("claim_review", claim).await;
    assert_eq!(taken["waiting_on"][0]["name"], "bob", "the seat has changed hands");
    assert!(taken["re_review"].is_object(), "the seat has written before: {taken}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn reading_renews_a_claim() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"3s\"").await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let claimed = client.status(&id).await;
    // The holder only reads, for longer than the lease.
    let reads = ["get_proposal", "list_issues", "get_review_timeline", "get_discussion"];
    let mut tools = reads.iter().cycle();
    let mut read = || client.call(tools.next().unwrap_or(&reads[0]), json!({ "review_id": id, "caller_id": "ada" }));
    let started = std::time::Instant::now();
    while started.elapsed() < std::time::Duration::from_secs(5) {
        read().await;
        let wait = json!({ "review_id": id, "wait": true, "timeout_seconds": 1, "since": client.status(&id).await["version"] });
        client.call("get_review_status", wait).await;
    }
    let status = client.status(&id).await;
    assert_eq!((&status["status"], &status["claim_generation"]), (&json!("claimed"), &claimed["claim_generation"]));
    client.call("submit_verdict", verdict(&id, "ada", "approved")).await;
    broker.stop_and_check().await;
}

async fn turns(client: &TestClient, review: &str) -> Vec<String> {
    let status = client.status(review).await;
    let turn = |turn: &Value| format!("{} {}", turn["who"].as_str().unwrap(), turn["why"].as_str().unwrap());
    status["waiting_on"].as_array().unwrap().iter().map(turn).collect()
}

#[tokio::test]
async fn a_person_joins_in_and_takes_over() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let write = |to: &str, body: &str| json!({ "review_id": id, "sender_role": "operator", "caller_id": "olga", "to": to, "body": body });
    let anonymous = json!({ "review_id": id, "sender_role": "operator", "body": "hello" });
    client.try_call("add_message", anonymous).await.unwrap_err();
    client.call("add_message", write("proposer", "please say more")).await;
    assert_eq!(turns(&client, &id).await, ["reviewer reviewing", "proposer message"]);
    client.call("add_message", write("reviewers", "look at the tests too")).await;
    assert_eq!(turns(&client, &id).await, ["reviewer message", "proposer message"]);
    let talk = client.call("get_discussion", json!({ "review_id": id })).await;
    assert_eq!(column(&talk["messages"], "sender_role"), ["operator", "operator"]);
    let unread = client.call("get_review_status", json!({ "review_id": id, "caller_id": "ada" })).await;
    assert_eq!((&unread["message_count"], &unread["unread_messages"]), (&json!(2), &json!(1)));
    assert_eq!(unread["last_message_by"], "olga");
    let row = client.call("list_reviews", json!({ "my_turn": true, "caller_id": "ada" })).await["reviews"][0].clone();
    for field in ["message_count", "unread_messages", "last_message_by", "last_message_id", "waiting_on"] {
        assert_eq!(row[field], unread[field], "{field}");
    }

    let taken = client.call("take_over", json!({ "review_id": id, "reviewer_id": "olga" })).await;
    assert_eq!((&taken["claimed_by"], &taken["seat"]), (&json!("olga"), &json!("general")));
    let late = with(verdict(&id, "ada", "approved"), json!({ "claim_generation": 1 }));
    client.refused("stale_claim", "submit_verdict", late).await;
    client.call("submit_verdict", verdict(&id, "olga", "approved")).await;
    assert_eq!(client.status(&id).await["status"], "approved");
    broker.stop_and_check().await;
}

/// The remaining conversations, with the broker killed after every call.
#[tokio::test]
async fn a_revision_and_a_person_survive_a_kill_at_each_step() {
    let mut broker = TestBroker::start().await;
    let review = review_in(&broker.client(), "claimed").await;
    let on_review = |more: Value| with(json!({ "review_id": review }), more);
    let person = |more: Value| on_review(with(json!({ "sender_role": "operator", "caller_id": "olga" }), more));
    let steps = [
        ("create_review", on_review(json!({ "description": "a better way" })), "reviewer unclaimed"),
        ("claim_review", on_review(json!({ "reviewer_id": "ada" })), "reviewer reviewing"),
        (
            "add_message",
            on_review(json!({ "sender_role": "reviewer", "caller_id": "ada", "body": "why?" })),
            "proposer message",
        ),
        (
            "add_message",
            person(json!({ "to": "reviewers", "body": "decide alone" })),
            "proposer message reviewer message",
        ),
        ("add_seat", on_review(json!({ "reviewer": "@eva" })), "proposer message reviewer message reviewer unclaimed"),
        (
            "take_over",
            on_review(json!({ "reviewer_id": "olga", "persona": "general" })),
            "reviewer message reviewer unclaimed",
        ),
        ("submit_verdict", verdict(&review, "olga", "approved"), "reviewer unclaimed"),
        ("claim_review", on_review(json!({ "reviewer_id": "eva" })), "reviewer reviewing"),
        ("submit_verdict", verdict(&review, "eva", "approved"), "proposer approved"),
        ("close_review", on_review(json!({ "closer_role": "proposer" })), ""),
    ];
    for (tool, arguments, expected) in steps {
        broker.client().call(tool, arguments).await;
        broker = broker.kill_and_restart().await;
        assert_eq!(turns(&broker.client(), &review).await.join(" "), expected, "{tool}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_person_reaches_a_reviewer_that_waits_for_the_proposer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let ask = json!({ "review_id": id, "sender_role": "reviewer", "caller_id": "ada", "body": "on purpose?" });
    client.call("add_message", ask).await;
    let write = json!({ "review_id": id, "sender_role": "operator", "caller_id": "olga", "to": "reviewers",
                        "body": "the author is away, decide without an answer" });
    let written = client.call("add_message", write).await;
    assert_eq!(turns(&client, &id).await, ["proposer message", "reviewer message"]);
    let wait = json!({ "review_id": id, "wait": true, "caller_id": "ada", "since": written["version"] });
    assert_eq!(client.call("get_review_status", wait).await["timed_out"], false);
    client.call("submit_verdict", verdict(&id, "ada", "approved")).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_answer_to_a_person_needs_no_seat() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let more = json!({ "personas": ["security", "tests"], "proposer_id": PROPOSER });
    let review = id(&client.call("create_review", proposal_with("for two", more)).await);
    let write = json!({ "review_id": review, "sender_role": "operator", "caller_id": "olga", "to": "proposer",
                        "body": "please say more" });
    let asked = client.call("add_message", write).await;
    assert_eq!((&asked["waiting_on"][2]["who"], &asked["waiting_on"][2]["seat"]), (&json!("proposer"), &Value::Null));
    let answer =
        json!({ "review_id": review, "sender_role": "proposer", "caller_id": PROPOSER, "body": "it is for the users" });
    let answered = client.call("add_message", answer.clone()).await;
    assert_eq!(turns(&client, &review).await, ["reviewer message", "reviewer message"]);
    let again = client.call("add_message", answer.clone()).await;
    assert_eq!(again["version"], answered["version"], "a repeat changes nothing");
    let more = with(answer, json!({ "body": "and more" }));
    client.refused("persona_needed", "add_message", more).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_is_asked_again_gets_no_second_seat() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "changes_requested").await;
    client.call("add_message", json!({ "review_id": id, "sender_role": "proposer", "body": "why?" })).await;
    let add = json!({ "review_id": id, "reviewer": "@ada" });
    client.refused("holds_another_seat", "add_seat", add).await;
    client.claim(&id, "ada").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_seat_is_added_for_a_named_reviewer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "approved").await;
    let add = json!({ "review_id": id, "reviewer": "@olga" });
    let added = client.call("add_seat", add.clone()).await;
    assert_eq!((&added["status"], &added["approved_hash"]), (&json!("in_review"), &Value::Null));
    let again = client.call("add_seat", add).await;
    assert_eq!((&added["added"], &again["added"]), (&json!(true), &json!(false)));
    assert_eq!(again["version"], added["version"], "a repeat changes nothing");
    client.refused("reserved", "claim_review", json!({ "review_id": id, "reviewer_id": "bob" })).await;
    let listed = |caller: &str| client.call("list_reviews", json!({ "status": "pending", "caller_id": caller }));
    assert_eq!(listed("bob").await["reviews"], json!([]));
    assert_eq!(column(&listed("olga").await["reviews"], "id"), [id.as_str()]);
    client.claim(&id, "olga").await;
    client.call("submit_verdict", verdict(&id, "olga", "approved")).await;
    assert_eq!(client.status(&id).await["status"], "approved");
    client.refused("invalid_argument", "add_seat", json!({ "review_id": id, "reviewer": "a b" })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_question_about_a_named_seat_goes_to_the_operator_that_took_it_over() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let more = json!({ "reviewers": ["@olga"], "proposer_id": PROPOSER });
    let review = id(&client.call("create_review", proposal_with("for olga", more)).await);
    client.call("take_over", json!({ "review_id": review, "reviewer_id": "eva" })).await;
    client.call("submit_verdict", verdict(&review, "eva", "changes_requested")).await;
    let ask = json!({ "review_id": review, "sender_role": "proposer", "caller_id": PROPOSER, "body": "why?" });
    assert_eq!(client.call("add_message", ask).await["waiting_on"][0]["name"], "eva");
    let queue = |caller: &str| client.call("list_reviews", json!({ "status": "pending", "caller_id": caller }));
    assert_eq!(column(&queue("eva").await["reviews"], "id"), [review.as_str()]);
    assert_eq!(queue("olga").await["reviews"], json!([]));
    client.claim(&review, "eva").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_request_can_be_directed_to_one_reviewer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let more = json!({ "reviewers": ["@ada", "security"] });
    let created = client.call("create_review", proposal_with("for ada", more)).await;
    assert_eq!(created["personas"], json!(["@ada", "security"]));
    assert_eq!(created["waiting_on"][0]["name"], "ada");
    let review = id(&created);
    let claim = |by: &str| json!({ "review_id": review, "reviewer_id": by });
    assert_eq!(client.call("claim_review", claim("bob")).await["seat"], "security");
    client.refused("reserved", "claim_review", claim("cyd")).await;
    let security = with(claim("ada"), json!({ "persona": "security" }));
    client.refused("has_own_seat", "claim_review", security).await;
    assert_eq!(client.call("claim_review", claim("ada")).await["seat"], "@ada");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_message_can_be_anchored_and_go_to_all_seats() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let more = json!({ "personas": ["security", "tests"], "proposer_id": PROPOSER });
    let review = id(&client.call("create_review", proposal_with("for two", more)).await);
    let anchor = json!({ "file": "src/a.rs", "line_start": 3, "line_end": 5, "side": "old" });
    let message = json!({ "review_id": review, "sender_role": "proposer", "caller_id": PROPOSER, "to": "reviewers",
                          "body": "these lines are gone on purpose", "anchor": anchor });
    client.call("add_message", message.clone()).await;
    let talk = client.call("get_discussion", json!({ "review_id": review })).await;
    assert_eq!((&talk["messages"][0]["anchor"], &talk["messages"][0]["to"]), (&anchor, &json!("reviewers")));
    let claim = json!({ "review_id": review, "reviewer_id": "ada" });
    assert_eq!(client.call("claim_review", claim).await["waiting_on"][0]["why"], "message");
    let bad = |anchor: Value| with(message.clone(), json!({ "anchor": anchor }));
    for anchor in [
        json!({ "line_start": 3 }),
        json!({ "file": "a", "line_start": 3, "line_end": 2 }),
        json!({ "file": "a", "in": "description" }),
        json!({ "issue": "seven" }),
    ] {
        client.refused("invalid_argument", "add_message", bad(anchor)).await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_with_a_version_from_elsewhere_is_answered_at_once() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "pending").await;
    let wait = json!({ "review_id": id, "wait": true, "since": 1_000_000 });
    let answer = client.call("get_review_status", wait).await;
    assert_eq!((&answer["timed_out"], &answer["version"]), (&json!(false), &json!(1)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn no_issue_stays_open_in_a_closed_review() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let issue = |title: &str| json!({ "severity": "low", "title": title });
    let raised = with(verdict(&id, "ada", "changes_requested"), json!({ "issues": [issue("first")] }));
    client.call("submit_verdict", raised).await;
    // An approval settles what was raised before, in the same round too.
    let approved = with(verdict(&id, "ada", "approved"), json!({ "issues": [issue("second")] }));
    client.call("submit_verdict", approved).await;
    let statuses = async || column(&client.call("list_issues", json!({ "review_id": id })).await["issues"], "status");
    assert_eq!(statuses().await, ["open", "wont_fix"]);
    client.call("close_review", json!({ "review_id": id, "closer_role": "proposer" })).await;
    assert_eq!(statuses().await, ["wont_fix", "wont_fix"]);
    // An operator can correct the record.
    let issues = client.call("list_issues", json!({ "review_id": id })).await;
    let correct = json!({ "review_id": id, "issue_id": issues["issues"][0]["issue_id"], "status": "fixed",
                          "role": "operator", "caller_id": "olga", "note": "it was fixed" });
    let corrected = client.call("update_issue", correct.clone()).await;
    assert_eq!((&corrected["status"], &corrected["issue"]["status"]), (&json!("closed"), &json!("fixed")));
    let by_reviewer = with(correct, json!({ "role": "reviewer", "caller_id": "ada" }));
    client.refused("wrong_status", "update_issue", by_reviewer).await;
    broker.stop_and_check().await;
}
