//! Reviews with several reviewers: one seat for each persona, and a policy that counts the votes.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{self, column, last_event, verdict, with},
    scripted_reviewer::{ReviewerScript, pool},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PERSONAS: [&str; 3] = ["general", "security", "tests"];
const REVIEWERS: [&str; 3] = ["ada", "bob", "cyd"];

async fn submit(client: &TestClient, more: Value) -> String {
    let arguments = with(proposal_with("for a panel", json!({ "personas": PERSONAS })), more);
    id(&client.call("create_review", arguments).await)
}

async fn claim(client: &TestClient, review: &str, reviewer: &str, persona: &str) -> Value {
    let claim = json!({ "review_id": review, "reviewer_id": reviewer, "persona": persona });
    client.call("claim_review", claim).await
}

/// All three seats, taken in order.
async fn claim_all(client: &TestClient, review: &str) {
    for (reviewer, persona) in REVIEWERS.iter().zip(PERSONAS) {
        claim(client, review, reviewer, persona).await;
    }
}

/// One wait of a reviewer's loop, as its instructions say.
async fn wait(client: &TestClient, reviewer: &str, since: &Value) -> Value {
    let mut wait = json!({ "status": "pending", "wait": true, "caller_id": reviewer, "timeout_seconds": 50 });
    if !since.is_null() {
        wait["since"] = since.clone();
    }
    client.call("list_reviews", wait).await
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The outcome of three votes in this order. Voting stops once the review is decided.
fn expected(needed: usize, votes: &[&str]) -> &'static str {
    let count = |wanted: &str| votes.iter().filter(|vote| **vote == wanted).count();
    if count("rejected") > 0 {
        "rejected"
    } else if count("approved") >= needed {
        "approved"
    } else if votes.len() == 3 {
        "changes_requested"
    } else {
        "undecided"
    }
}

#[tokio::test]
async fn the_order_of_votes_does_not_change_the_outcome() {
    const VOTES: [&str; 3] = ["approved", "changes_requested", "rejected"];
    let broker = TestBroker::start().await;
    let client = broker.client();
    let policies = [
        (json!({ "rule": "require_all" }), 3),
        (json!({ "rule": "min_approvals", "min_approvals": 2 }), 2),
        (json!({ "rule": "majority" }), 2),
    ];
    let all = VOTES.iter().flat_map(|a| VOTES.iter().flat_map(move |b| VOTES.iter().map(move |c| [*a, *b, *c])));
    let mut cases = Vec::new();
    for votes in all {
        cases.extend(policies.iter().map(|(policy, needed)| (policy.clone(), *needed, votes)));
    }
    let run = async |(policy, needed, votes): (Value, usize, [&'static str; 3])| {
        let review = submit(&client, json!({ "policy": policy })).await;
        claim_all(&client, &review).await;
        for cast in 1..=3 {
            let (reviewer, vote) = (REVIEWERS[cast - 1], votes[cast - 1]);
            let answer = client.call("submit_verdict", verdict(&review, reviewer, vote)).await;
            let outcome = expected(needed, &votes[..cast]);
            let consensus = &answer["consensus"];
            assert_eq!((&consensus["outcome"], &consensus["approvals_needed"]), (&json!(outcome), &json!(needed)));
            let status = if outcome == "undecided" { "in_review" } else { outcome };
            assert_eq!(answer["status"], status, "{votes:?} under {policy}");
            assert_eq!(client.status(&review).await["consensus"], *consensus, "one home, one answer");
            if outcome != "undecided" {
                assert_eq!(consensus["waiting_for"], json!([]));
                return;
            }
            assert_eq!(consensus["waiting_for"], json!(PERSONAS[cast..]), "{votes:?} under {policy}");
        }
    };
    futures::future::join_all(cases.into_iter().map(run)).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_undecided_review_says_why_and_who_is_missing() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = submit(&client, json!({})).await;
    let why = async || words(&client.status(&review).await["consensus"]["why"]).to_owned();
    assert_eq!(why().await, "0 of 3 needed approvals; waiting for general (free), security (free), tests (free)");
    claim(&client, &review, "ada", "general").await;
    claim(&client, &review, "bob", "tests").await;
    let answer = client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    assert_eq!(answer["consensus"]["votes"][0], json!({ "persona": "general", "verdict": "approved" }));
    assert_eq!(answer["consensus"]["waiting_for"], json!(["security", "tests"]));
    assert_eq!(why().await, "1 of 3 needed approvals; waiting for security (free), tests (claimed by bob)");
    assert!(words(&answer["next"]).contains("each free seat is for a different reviewer"), "{answer}");
    client.call("submit_verdict", verdict(&review, "bob", "changes_requested")).await;
    assert_eq!(
        why().await,
        "1 of 3 needed approvals; changes requested by tests; the other seats vote first, so that one revision can \
         answer all of them; waiting for security (free)"
    );
    claim(&client, &review, "cyd", "security").await;
    let answer = client.call("submit_verdict", verdict(&review, "cyd", "approved")).await;
    assert_eq!((&answer["status"], &answer["consensus"]["waiting_for"]), (&json!("changes_requested"), &json!([])));
    let decided = why().await;
    assert_eq!(decided, "every seat has voted: 2 of 3 needed approvals; changes requested by tests");

    // A question to one reviewer: its seat is reserved, the other votes stay.
    let question = json!({ "review_id": review, "sender_role": "proposer", "body": "which test?" });
    let unclear = client.refused("persona_needed", "add_message", question.clone()).await;
    assert!(words(&unclear["error"]).contains("general, security, tests"), "{unclear}");
    client.call("add_message", with(question, json!({ "persona": "tests" }))).await;
    assert_eq!(why().await, "2 of 3 needed approvals; waiting for tests (reserved for bob)");
    let list = async |caller: &str| {
        let list = json!({ "status": "pending", "caller_id": caller });
        column(&client.call("list_reviews", list).await["reviews"], "free_seats")
    };
    assert_eq!(list("dee").await, [] as [Value; 0], "not for others");
    assert_eq!(list("bob").await, [json!(["tests"])]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_identity_takes_one_seat() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = submit(&client, json!({ "proposer_id": "eve" })).await;
    let first = claim(&client, &review, "ada", "security").await;
    assert_eq!((&first["seat"], &first["status"]), (&json!("security"), &json!("in_review")));
    assert_eq!(column(&first["seats"], "persona"), PERSONAS);
    assert_eq!(first["seats"][1]["claimed_by"], "ada");
    let before = last_event(&client).await;
    let claim_as =
        |reviewer: &str, persona: &str| json!({ "review_id": review, "reviewer_id": reviewer, "persona": persona });
    let second = client.refused("holds_another_seat", "claim_review", claim_as("ada", "tests")).await;
    assert_eq!(second["seat"], "security");
    let taken = client.refused("already_claimed", "claim_review", claim_as("bob", "security")).await;
    assert_eq!(taken["claimed_by"], "ada");
    let unknown = client.refused("no_such_seat", "claim_review", claim_as("bob", "poetry")).await;
    assert_eq!(unknown["possible_seats"], "general, security, tests");
    client.refused("own_proposal", "claim_review", claim_as("eve", "tests")).await;
    assert_eq!(last_event(&client).await, before, "nothing of it was saved");
    // Without a persona a reviewer gets its own seat again, and others the first free one.
    let claim = |reviewer: &str| client.call("claim_review", json!({ "review_id": review, "reviewer_id": reviewer }));
    assert_eq!(claim("ada").await["claim_generation"], first["claim_generation"]);
    assert_eq!(
        (claim("bob").await["seat"].clone(), claim("cyd").await["seat"].clone()),
        (json!("general"), json!("tests"))
    );
    let full = json!({ "review_id": review, "reviewer_id": "dee" });
    client.refused("already_claimed", "claim_review", full).await;
    // Each message belongs to its sender's seat.
    let stale = with(verdict(&review, "bob", "approved"), json!({ "claim_generation": first["claim_generation"] }));
    client.refused("not_your_seat", "submit_verdict", stale).await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let again = claim("ada").await;
    assert!(words(&again["next"]).contains("You have already voted"), "{again}");
    let shown = client.call("get_proposal", json!({ "review_id": review })).await;
    assert_eq!(column(&shown["seats"], "verdict"), [Value::Null, json!("approved"), Value::Null]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_frees_all_seats() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let policy = json!({
        "rule": "min_approvals", "min_approvals": 2, "max_rounds": 1, "block_on_critical": true,
        "ungrounded_blocks": true,
    });
    let review = submit(&client, json!({ "policy": policy })).await;
    claim_all(&client, &review).await;
    for (reviewer, vote) in REVIEWERS.iter().zip(["changes_requested", "approved", "changes_requested"]) {
        client.call("submit_verdict", verdict(&review, reviewer, vote)).await;
    }
    let sent_back = client.status(&review).await;
    assert_eq!((&sent_back["status"], &sent_back["escalate"]), (&json!("changes_requested"), &json!(true)));
    assert!(words(&sent_back["next"]).contains("an operator looks at the review"), "{sent_back}");

    let revision = json!({ "review_id": review, "intent": "better" });
    for more in [json!({ "personas": ["general"] }), json!({ "policy": { "rule": "majority" } })] {
        let refused = client.refused("invalid_argument", "create_review", with(revision.clone(), more)).await;
        assert!(words(&refused["error"]).contains("not allowed with review_id"), "{refused}");
    }
    let revised = client.call("create_review", revision).await;
    assert_eq!((&revised["status"], &revised["personas"]), (&json!("pending"), &json!(PERSONAS)));
    assert_eq!(revised["policy"], policy);
    let status = client.status(&review).await;
    let empty = |persona: &str| json!({ "persona": persona, "has_counter_patch": false });
    assert_eq!(status["seats"], json!(PERSONAS.map(empty)));
    assert_eq!((&status["consensus"]["approvals"], &status["policy"]), (&json!(0), &policy));
    let listed = client.call("list_reviews", json!({ "status": "pending" })).await;
    assert_eq!(listed["reviews"][0]["free_seats"], json!(PERSONAS));
    // Another seat this time, for the first reviewer.
    assert_eq!(claim(&client, &review, "cyd", "general").await["seat"], "general");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_is_answered_by_the_seat_it_came_from() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let review = submit(&client, json!({ "diff": repo.diff("zwei") })).await;
    claim_all(&client, &review).await;
    client.call("submit_verdict", verdict(&review, "bob", "approved")).await;
    for (reviewer, word) in [("ada", "dos"), ("cyd", "deux")] {
        let offer = json!({ "counter_patch": repo.diff(word) });
        client.call("submit_verdict", with(verdict(&review, reviewer, "comment"), offer)).await;
    }
    let shown = client.call("get_proposal", json!({ "review_id": review })).await;
    let from = (&shown["counter_patch_by"], &shown["counter_patch_persona"]);
    assert_eq!(from, (&json!("cyd"), &json!("tests")));
    assert_eq!(column(&shown["seats"], "has_counter_patch"), [true, false, true]);
    for tool in ["accept_counter_patch", "reject_counter_patch"] {
        let unclear = client.refused("persona_needed", tool, json!({ "review_id": review })).await;
        assert_eq!(unclear["possible_seats"], "general, tests", "those that have offered one");
    }
    client.call("reject_counter_patch", json!({ "review_id": review, "persona": "general" })).await;
    let accepted = client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!(column(&accepted["seats"], "has_counter_patch"), [false, false, false]);
    // The content that bob approved was replaced, and ada read another.
    assert_eq!(column(&accepted["seats"], "claimed_by"), [Value::Null, Value::Null, json!("cyd")]);
    assert_eq!(accepted["consensus"]["approvals"], 0);
    let list = json!({ "status": "pending", "caller_id": "bob" });
    let found = client.call("list_reviews", list).await;
    assert_eq!(column(&found["reviews"], "free_seats"), [json!(["general", "security"])], "it can be taken again");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn votes_survive_a_crash_between_them() {
    let mut broker = TestBroker::start().await;
    let review = submit(&broker.client(), json!({ "policy": { "rule": "majority" } })).await;
    for (reviewer, persona) in REVIEWERS.iter().take(2).zip(PERSONAS) {
        let before = claim(&broker.client(), &review, reviewer, persona).await;
        broker = broker.kill_and_restart().await;
        let again = claim(&broker.client(), &review, reviewer, persona).await;
        assert_eq!(again["claim_generation"], before["claim_generation"]);
        let told = broker.client().call("submit_verdict", verdict(&review, reviewer, "approved")).await;
        broker = broker.kill_and_restart().await;
        let status = broker.client().status(&review).await;
        assert_eq!((&status["consensus"], &status["seats"]), (&told["consensus"], &told["seats"]));
        if *reviewer == "ada" {
            let found = wait(&broker.client(), "dee", &Value::Null).await;
            assert_eq!(column(&found["reviews"], "free_seats"), [json!(["security", "tests"])]);
        }
    }
    assert_eq!(broker.client().status(&review).await["status"], "approved");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn waiting_reviewers_find_a_review_that_others_have_begun() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let start = client.call("list_reviews", json!({ "status": "pending", "caller_id": "bob" })).await["seq"].clone();
    let review = submit(&client, json!({})).await;
    claim(&client, &review, "ada", "general").await;

    // Bob waits with an old version and cyd without one; both find the review at once.
    for (reviewer, since, persona) in [("bob", start, "security"), ("cyd", Value::Null, "tests")] {
        let found = wait(&client, reviewer, &since).await;
        assert_eq!((&found["timed_out"], found["reviews"].as_array().unwrap().len()), (&json!(false), 1), "{found}");
        let row = &found["reviews"][0];
        assert_eq!((&row["status"], &row["free_seats"][0]), (&json!("in_review"), &json!(persona)));
        let taken = client.call("claim_review", json!({ "review_id": review, "reviewer_id": reviewer })).await;
        assert_eq!(taken["seat"], persona);
    }
    // A reviewer sees only reviews that it can claim.
    for caller in ["ada", "dee", "gsd-executor"] {
        let list = json!({ "status": "pending", "caller_id": caller });
        assert_eq!(client.call("list_reviews", list).await["reviews"], json!([]), "{caller}");
    }
    // A seat that becomes free wakes the reviewers that can claim it, but not those that hold one.
    let known = last_event(&client).await;
    let waits = ["ada", "dee"].map(|who| {
        let wait = json!({ "status": "pending", "wait": true, "caller_id": who, "since": known, "timeout_seconds": 3 });
        tokio::spawn(client.call("list_reviews", wait))
    });
    broker.until_waiting(2).await;
    client.call("release_claim", json!({ "review_id": review, "reviewer_id": "bob", "reason": "not my field" })).await;
    let [ada, dee] = futures::future::join_all(waits).await.try_into().unwrap();
    assert_eq!(ada.unwrap()["timed_out"], true);
    assert_eq!(column(&dee.unwrap()["reviews"], "free_seats"), [json!(["security"])]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_anonymous_caller_sees_only_reviews_without_claims() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = submit(&client, json!({})).await;
    let pending = || client.call("list_reviews", json!({ "status": "pending" }));
    assert_eq!(column(&pending().await["reviews"], "review_id"), [json!(review)]);
    claim(&client, &review, "ada", "tests").await;
    assert_eq!(pending().await["reviews"], json!([]));
    let wait = json!({ "status": "pending", "wait": true, "timeout_seconds": 1 });
    let waited = client.call("list_reviews", wait).await;
    assert_eq!((&waited["timed_out"], &waited["reviews"]), (&json!(true), &json!([])));
    assert!(words(&waited["next"]).contains("caller_id"), "{waited}");
    let in_review = client.call("list_reviews", json!({ "status": "in_review" })).await;
    assert_eq!(column(&in_review["reviews"], "free_seats"), [json!(["general", "security"])]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_changed_vote_makes_the_free_seat_claimable_again() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = submit(&client, json!({ "policy": { "rule": "majority" } })).await;
    for (reviewer, persona) in [("ada", "general"), ("bob", "security")] {
        claim(&client, &review, reviewer, persona).await;
        client.call("submit_verdict", verdict(&review, reviewer, "approved")).await;
    }
    let list = json!({ "status": "pending", "caller_id": "cyd" });
    let decided = client.call("list_reviews", list).await;
    assert_eq!(decided["reviews"], json!([]), "two of three are enough");
    let changed = verdict(&review, "bob", "changes_requested");
    assert_eq!(client.call("submit_verdict", changed).await["status"], "in_review");
    let found = wait(&client, "cyd", &decided["version"]).await;
    assert_eq!((&found["timed_out"], &found["reviews"][0]["free_seats"]), (&json!(false), &json!(["tests"])));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn impossible_personas_and_policies_are_refused() {
    let broker = TestBroker::with_settings("[reviews]\nmax_rounds = 4").await;
    let client = broker.client();
    let before = last_event(&client).await;
    let many: Vec<_> = (0..11).map(|n| format!("p{n}")).collect();
    let policy = |policy: Value| json!({ "personas": PERSONAS, "policy": policy });
    let cases = [
        (json!({ "personas": many }), "invalid_argument", "personas", "1 to 10"),
        (json!({ "personas": ["code review"] }), "invalid_argument", "personas", "a-z A-Z 0-9 . _ -"),
        (json!({ "personas": ["ok", ""] }), "invalid_argument", "personas", "1 to 64"),
        (json!({ "personas": ["x".repeat(65)] }), "too_long", "personas", "the limit is 64"),
        (policy(json!({ "rule": "dictator" })), "unknown_rule", "policy.rule", "require_all, min_approvals, majority"),
        (policy(json!({ "rule": "min_approvals" })), "invalid_argument", "policy.min_approvals", "1 to 3"),
        (
            policy(json!({ "rule": "min_approvals", "min_approvals": 4 })),
            "invalid_argument",
            "policy.min_approvals",
            "1 to 3",
        ),
        (
            policy(json!({ "rule": "min_approvals", "min_approvals": 0 })),
            "invalid_argument",
            "policy.min_approvals",
            "1 to 3",
        ),
        (
            policy(json!({ "rule": "majority", "min_approvals": 2 })),
            "invalid_argument",
            "policy.min_approvals",
            "only with rule min_approvals",
        ),
        (policy(json!({ "max_rounds": 5 })), "invalid_argument", "policy.max_rounds", "1 to 4"),
        (policy(json!({ "max_rounds": 0 })), "invalid_argument", "policy.max_rounds", "1 to 4"),
    ];
    for (more, code, field, allowed) in cases {
        let refused = client.refused(code, "create_review", proposal_with("no", more.clone())).await;
        assert_eq!(refused["field"], field, "{more}: {refused}");
        assert!(words(&refused["error"]).contains(allowed), "{more}: {refused}");
    }
    for more in [json!({ "policy": { "surprise": 1 } }), json!({ "policy": { "max_rounds": "few" } })] {
        let error = client.try_call("create_review", proposal_with("no", more)).await.unwrap_err();
        assert_eq!(error["code"], "invalid_params", "{error}");
        assert!(words(&error["field"]).starts_with("policy"), "{error}");
    }
    assert_eq!(last_event(&client).await, before);

    let doubled = json!({ "personas": ["b", "a", "b"], "policy": { "max_rounds": 2 } });
    let made = client.call("create_review", proposal_with("yes", doubled)).await;
    assert_eq!(made["personas"], json!(["b", "a"]));
    assert_eq!(
        made["policy"],
        json!({
            "rule": "require_all", "max_rounds": 2, "block_on_critical": true, "ungrounded_blocks": true,
        })
    );
    let plain = client.call("create_review", proposal_with("plain", json!({}))).await;
    assert_eq!((&plain["personas"], &plain["policy"]["max_rounds"]), (&json!(["general"]), &json!(4)));
    assert_eq!(plain["policy"]["block_on_critical"], false, "of one reviewer the verdict is all there is");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_panel_is_part_of_the_idempotency_key() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let policy = json!({ "rule": "min_approvals", "min_approvals": 1 });
    let more = json!({ "idempotency_key": "k", "personas": ["a", "b"], "policy": policy });
    let first = proposal_with("once", more);
    let made = client.call("create_review", first.clone()).await;
    assert_eq!(client.call("create_review", first.clone()).await, made);
    let doubled = with(first.clone(), json!({ "personas": ["a", "b", "a"] }));
    assert_eq!(client.call("create_review", doubled).await, made, "merged, it is the same");
    for other in [
        json!({ "personas": ["a", "c"] }),
        json!({ "personas": ["a", "b", "c"] }),
        json!({ "personas": null, "policy": null }),
        json!({ "policy": null }),
        json!({ "policy": { "rule": "majority" } }),
        json!({ "policy": with(policy.clone(), json!({ "min_approvals": 2 })) }),
        json!({ "policy": with(policy.clone(), json!({ "max_rounds": 1 })) }),
    ] {
        client.refused("idempotency_key_reused", "create_review", with(first.clone(), other)).await;
    }
    broker.stop_and_check().await;
}

/// Who voted, once the review is approved.
async fn signed_by(broker: &TestBroker, review: &str) -> BTreeSet<String> {
    let client = broker.client();
    let approved = wait_until("it is approved", async || {
        Some(client.status(review).await).filter(|status| status["status"] == "approved")
    });
    column(&approved.await["seats"], "claimed_by").iter().map(|by| words(by).to_owned()).collect()
}

#[tokio::test]
async fn the_pool_gives_every_seat_a_reviewer_of_its_own() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Approves, "max_size = 3\nratio = 3")).await;
    let client = broker.client();
    let review = submit(&client, json!({})).await;
    let signed = signed_by(&broker, &review).await;
    assert_eq!(signed.len(), 3, "{signed:?}");
    // The three reviewers also complete a review with a diff.
    let again = submit(&client, json!({ "diff": broker.repo().diff("zwei") })).await;
    assert_eq!(signed_by(&broker, &again).await, signed);
    let pool = client.call("list_reviewers", json!({})).await;
    assert_eq!(reviews::column(&pool["reviewers"], "completed"), [2, 2, 2], "{pool}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_pool_smaller_than_the_panel_fills_its_seats_one_after_the_other() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Approves, "max_size = 2")).await;
    let review = submit(&broker.client(), json!({})).await;
    assert_eq!(signed_by(&broker, &review).await.len(), 3);
    broker.stop_and_check().await;
}
