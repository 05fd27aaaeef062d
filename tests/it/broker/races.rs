//! Concurrent calls: one wins, the others get an error, and no state is mixed.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
};
use futures::future::{join, join_all};
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};

type Answer = Result<Value, Value>;

fn code(answer: &Answer) -> &str {
    answer.as_ref().err().map_or("ok", |error| error["code"].as_str().unwrap_or("no code"))
}

fn verdict(review: &str, word: &str, generation: u64) -> Value {
    json!({ "review_id": review, "verdict": word, "claim_generation": generation, "reason": "because" })
}

/// Claimed by `ada`, who then requested changes.
async fn returned(client: &TestClient, arguments: Value) -> String {
    let review = id(&client.call("create_review", arguments).await);
    let generation = client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "changes_requested", generation)).await;
    review
}

#[tokio::test]
async fn one_of_twenty_concurrent_claims_wins() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for turn in 0..50 {
        let review = client.submit(&format!("change {turn}")).await;
        let claim = |n| client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": format!("r{n}") }));
        let answers = join_all((0..20).map(claim)).await;
        let winners: Vec<_> = answers.iter().flatten().collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        let (winner, generation) = (&winners[0]["claimed_by"], &winners[0]["claim_generation"]);
        for loser in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            assert_eq!(loser["code"], "already_claimed", "{loser}");
            assert_eq!(loser["claimed_by"], *winner);
        }
        let status = client.status(&review).await;
        assert_eq!((&status["claimed_by"], &status["claim_generation"]), (winner, generation));
        assert_eq!(status["version"], 2);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_of_twenty_concurrent_claims_wins_while_git_checks_the_diff() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for turn in 0..5 {
        let diff = broker.repo().diff(&format!("word {turn}"));
        let review = id(&client.call("create_review", proposal_with("a diff", json!({ "diff": diff }))).await);
        let claim = |n| client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": format!("r{n}") }));
        let answers = join_all((0..20).map(claim)).await;
        let winners: Vec<_> = answers.iter().flatten().collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        for loser in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            assert_eq!(loser["code"], "already_claimed", "{loser}");
            assert_eq!(loser["claimed_by"], winners[0]["claimed_by"]);
        }
        assert_eq!(client.status(&review).await["claimed_by"], winners[0]["claimed_by"]);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_of_two_concurrent_messages_is_out_of_turn() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("to be discussed").await;
    client.claim(&review, "ada").await;
    let mut said = Vec::new();
    for turn in 0..50 {
        let role = if turn % 2 == 0 { "proposer" } else { "reviewer" };
        let bodies = [format!("{turn} left"), format!("{turn} right")];
        let say = |body: &String| {
            client.try_call("add_message", json!({ "review_id": review, "sender_role": role, "body": body }))
        };
        let (left, right) = join(say(&bodies[0]), say(&bodies[1])).await;
        let mut codes = [code(&left), code(&right)];
        said.push(bodies[usize::from(left.is_err())].clone());
        codes.sort_unstable();
        assert_eq!(codes, ["ok", "out_of_turn"], "{left:?} {right:?}");
    }
    let discussion = client.call("get_discussion", json!({ "review_id": review })).await;
    let stored: Vec<_> = discussion["messages"].as_array().unwrap().iter().map(|row| row["body"].clone()).collect();
    assert_eq!(stored, said);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_verdict_at_the_end_of_a_lease_is_accepted_or_stale() {
    const LEASE: Duration = Duration::from_secs(1);
    let broker = TestBroker::with_settings("[claims]\nlease = \"1s\"").await;
    let client = broker.client();
    // LaunchOptions the end of the lease, from well before to well after it.
    let races = (0..40).map(|n| {
        let client = client.clone();
        async move {
            let review = client.submit("a race").await;
            let claimed = tokio::time::Instant::now();
            let generation = client.claim(&review, "ada").await;
            tokio::time::sleep_until(claimed + LEASE * (80 + n) / 100).await;
            let answer = client.try_call("submit_verdict", verdict(&review, "approved", generation)).await;
            let status = client.status(&review).await;
            match code(&answer) {
                "ok" => {
                    assert_eq!(status["status"], "approved");
                    assert_eq!(status["claim_generation"], generation);
                    assert_eq!(status["approved_hash"], status["content_hash"]);
                }
                "stale_claim" => {
                    let error = answer.as_ref().unwrap_err();
                    assert_eq!((&error["given"], &error["current"]), (&generation.into(), &(generation + 1).into()));
                    assert_eq!(status["status"], "pending");
                    assert_eq!(status["claim_generation"], generation + 1);
                }
                other => panic!("{other}: {answer:?}"),
            }
            answer.is_ok()
        }
    });
    let taken = join_all(races).await.into_iter().filter(|taken| *taken).count();
    println!("{taken} of 40 verdicts came in time");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_verdict_of_a_reclaimed_claim_never_counts_for_the_next_one() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"1s\"").await;
    let client = broker.client();
    let races = (0..20).map(|n| {
        let client = client.clone();
        async move {
            let review = client.submit("a race").await;
            let old = client.claim(&review, "ada").await;
            let wait = json!({ "review_id": review, "wait": true, "since": 2 });
            assert_eq!(client.call("get_review_status", wait).await["status"], "pending");
            let next = json!({ "review_id": review, "reviewer_id": format!("next {n}") });
            let (late, claim) = join(
                client.try_call("submit_verdict", verdict(&review, "approved", old)),
                client.call("claim_review", next),
            )
            .await;
            let error = late.unwrap_err();
            assert_eq!((&error["code"], &error["given"]), (&"stale_claim".into(), &old.into()));
            assert_eq!(claim["claim_generation"], old + 2);
        }
    });
    join_all(races).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_claim_during_a_revision_gets_either_content_but_never_a_mix() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mut claims_first = 0;
    for turn in 0..40 {
        // Every second review has a diff, so that git runs during the claim.
        let with_diff = turn % 2 == 1;
        let mut first = proposal_with("first", json!({}));
        if with_diff {
            first["diff"] = broker.repo().diff(&format!("first {turn}")).into();
        }
        let review = returned(&client, first).await;
        client.call("create_review", json!({ "review_id": review, "intent": "second" })).await;
        let mut third = json!({ "review_id": review, "intent": "third" });
        if with_diff {
            third["diff"] = broker.repo().diff(&format!("third {turn}")).into();
        }
        let (claim, revision) = join(
            client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": "bob" })),
            client.try_call("create_review", third),
        )
        .await;
        let status = client.status(&review).await;
        match (&claim, code(&claim), code(&revision)) {
            // The revision ends the claim of the round before.
            (Ok(claim), _, "ok") if claim["current_round"] == 2 => {
                claims_first += 1;
                assert_eq!((&status["status"], &status["current_round"]), (&"pending".into(), &3.into()));
                assert_ne!(claim["content_hash"], status["content_hash"]);
            }
            (Ok(claim), _, "ok") => {
                assert_eq!((&claim["current_round"], &status["current_round"]), (&3.into(), &3.into()));
                assert_eq!(claim["content_hash"], status["content_hash"]);
                assert_eq!(status["status"], "claimed");
            }
            (Err(_), "content_moved", "ok") => {
                assert_eq!((&status["status"], &status["current_round"]), (&"pending".into(), &3.into()));
            }
            _ => panic!("{claim:?} {revision:?}"),
        }
    }
    println!("{claims_first} of 40 claims came first");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_accepted_during_an_approval_never_changes_the_approved_content() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for turn in 0..20 {
        let diff = broker.repo().diff(&format!("mine {turn}"));
        let review = id(&client.call("create_review", proposal_with("a diff", json!({ "diff": diff }))).await);
        let claim = client.call("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })).await;
        let (generation, hash) = (claim["claim_generation"].as_u64().unwrap(), claim["content_hash"].clone());
        let mut offer = verdict(&review, "comment", generation);
        offer["counter_patch"] = broker.repo().diff(&format!("yours {turn}")).into();
        client.call("submit_verdict", offer).await;
        let mut approval = verdict(&review, "approved", generation);
        approval["content_hash"] = hash.clone();
        let (accepted, approved) = join(
            client.try_call("accept_counter_patch", json!({ "review_id": review })),
            client.try_call("submit_verdict", approval),
        )
        .await;
        let status = client.status(&review).await;
        match (code(&accepted), code(&approved)) {
            ("ok", "stale_content") => {
                assert_ne!(status["content_hash"], hash);
                assert_eq!(status["approved_hash"], Value::Null);
                assert_ne!(status["status"], "approved");
            }
            ("wrong_status", "ok") => {
                assert_eq!((&status["content_hash"], &status["approved_hash"]), (&hash, &hash));
                assert_eq!(status["status"], "approved");
            }
            _ => panic!("{accepted:?} {approved:?}"),
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_close_during_a_changed_vote_closes_an_approved_review_or_nothing() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for _ in 0..30 {
        let review = client.submit("approved, then doubted").await;
        let generation = client.claim(&review, "ada").await;
        client.call("submit_verdict", verdict(&review, "approved", generation)).await;
        let (closed, doubted) = join(
            client.try_call("close_review", json!({ "review_id": review, "closer_role": "proposer" })),
            client.try_call("submit_verdict", verdict(&review, "changes_requested", generation)),
        )
        .await;
        let status = client.status(&review).await;
        match (code(&closed), code(&doubted)) {
            ("ok", "wrong_status" | "stale_claim") => {
                assert_eq!(status["status"], "closed");
                assert_eq!(status["approved_hash"], status["content_hash"]);
            }
            ("wrong_status", "ok") => assert_eq!(status["status"], "changes_requested"),
            _ => panic!("{closed:?} {doubted:?}"),
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_cancellation_during_a_claim_leaves_no_active_claim() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for _ in 0..30 {
        let review = client.submit("no longer wanted").await;
        let (claim, cancel) = join(
            client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": "ada" })),
            client.try_call("cancel_review", json!({ "review_id": review, "reason": "changed plans" })),
        )
        .await;
        assert!(cancel.is_ok() && matches!(code(&claim), "ok" | "wrong_status"), "{claim:?} {cancel:?}");
        let status = client.status(&review).await;
        assert_eq!((&status["status"], &status["claimed_by"]), (&"cancelled".into(), &Value::Null));
        if let Ok(claim) = claim {
            let late = verdict(&review, "approved", claim["claim_generation"].as_u64().unwrap());
            client.refused("wrong_status", "submit_verdict", late).await;
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn concurrent_proposals_get_different_ids_and_numbers() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let create = |n| client.call("create_review", proposal_with(&format!("change {n}"), json!({})));
    let answers = join_all((0..100).map(create)).await;
    let ids: HashSet<_> = answers.iter().map(id).collect();
    let numbers: HashSet<_> = answers.iter().map(|answer| answer["number"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), numbers.len()), (100, 100));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn concurrent_proposals_with_one_key_create_one_review() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for turn in 0..10 {
        let arguments = proposal_with("once", json!({ "idempotency_key": format!("key {turn}") }));
        let answers = join_all((0..16).map(|_| client.call("create_review", arguments.clone()))).await;
        let ids: HashSet<_> = answers.iter().map(id).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
    }
    let list = client.call("list_reviews", json!({ "status": "pending" })).await;
    assert_eq!(list["reviews"].as_array().unwrap().len(), 10);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn concurrent_repeats_of_a_verdict_count_once() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("signed once").await;
    let generation = client.claim(&review, "ada").await;
    let send = || client.call("submit_verdict", verdict(&review, "changes_requested", generation));
    for answer in join_all((0..16).map(|_| send())).await {
        assert_eq!(answer["status"], "changes_requested");
        assert_eq!(answer["version"], 3);
    }
    let proposal = client.call("get_proposal", json!({ "review_id": review })).await;
    assert_eq!(proposal["iterations"].as_array().unwrap().len(), 1, "{proposal}");
    broker.stop_and_check().await;
}
