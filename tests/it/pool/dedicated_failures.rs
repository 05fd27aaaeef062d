//! Dedicated reviewers that fail, reach a limit or are killed.
#![cfg(target_os = "linux")]

use crate::support::{
    dedicated::{DedicatedReviewers, call, exit, hangs, prints, says, votes},
    pool::{environments, tree, until_gone},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

const SECURITY: &str = "security-R-1";

#[tokio::test]
async fn a_turn_without_an_act_is_repeated_once_and_then_handed_to_an_operator() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[exit(3)]);
    let status = scene.turn_becomes("operator", "escalated").await;
    assert_eq!(status["escalate_why"], "could_not_review", "{status}");
    let message = scene.message(SECURITY, 1).await;
    assert!(message.contains("Your last run of this turn did not end well: it failed: exit code 3"), "{message}");
    let failed = scene.state_becomes(SECURITY, "failed").await;
    assert!(failed["last_words"][0].as_str().unwrap().starts_with("it failed: exit code 3"), "{failed}");

    // The operator's word gives it another turn.
    scene.script(SECURITY, 2, &[votes("approved", json!({}))]);
    let word = json!({ "review_id": "R-1", "sender_role": "operator", "caller_id": "olga", "body": "try again",
                       "to": "reviewers" });
    scene.client().call("add_message", word).await;
    scene.status_becomes("approved").await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lost_session_ends_in_a_fresh_one_that_knows_the_history() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[votes("changes_requested", json!({}))]);
    scene.status_becomes("changes_requested").await;
    let before = scene.state_becomes(SECURITY, "waiting").await["reviewer_session_id"].clone();
    // The second run of the turn finds the script that a fresh session needs.
    let lost = json!({ "type": "result", "is_error": true, "errors": ["No conversation found with session ID: x"] });
    scene.script(SECURITY, 2, &[prints(lost), exit(1)]);
    scene.author_writes("security", "which line?").await;
    let find_fresh = async || {
        let message = scene.message(SECURITY, 2).await;
        message.contains("it begins a new one").then_some(message)
    };
    let fresh = wait_until("a fresh session", find_fresh).await;
    for part in ["You are the security reviewer.", "which line?", "+zwei", "You have judged round 1"] {
        assert!(fresh.contains(part), "no {part} in {fresh}");
    }
    scene.turn_becomes("operator", "escalated").await;
    let row = scene.state_becomes(SECURITY, "failed").await;
    assert_eq!(row["fresh_starts"], 1);
    assert_ne!(row["reviewer_session_id"], before);
    let audit = scene.audit().await;
    assert!(audit.iter().any(|line| line.contains("its session could not be continued")), "{audit:#?}");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_deleted_session_folder_ends_in_a_fresh_session() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[says("is two needed?")]);
    scene.state_becomes(SECURITY, "waiting").await;
    fs::remove_dir_all(scene.session_folder(SECURITY)).unwrap();
    scene.script(SECURITY, 2, &[votes("approved", json!({}))]);
    scene.author_writes("security", "yes").await;
    scene.status_becomes("approved").await;
    let message = scene.message(SECURITY, 2).await;
    for part in ["count in another language", "is two needed?", "its folder is gone"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    let row = scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!(row["fresh_starts"], 1);
    let audit = scene.audit().await;
    let began = "turn 2 of reviewer security-R-1 for project: it begins a session";
    assert!(audit.iter().any(|line| line == began), "{audit:#?}");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn turns_and_tokens_are_limited() {
    let personas = [("security", "max_turns = 1"), ("tests", "max_tokens = 1000")];
    let scene = DedicatedReviewers::start(&personas, "max_failures = 1").await;
    scene.propose(&["security", "tests"]).await;
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    let usage = json!({ "type": "turn.completed", "usage": { "input_tokens": 990, "output_tokens": 10 } });
    scene.script("tests-R-1", 1, &[prints(usage), says("is two needed?")]);
    scene.turn_becomes("proposer", "message").await;
    scene.state_becomes("tests-R-1", "waiting").await;

    // A seat without a vote is given up.
    scene.author_writes("tests", "yes").await;
    scene.turn_becomes("operator", "escalated").await;
    let failed = scene.state_becomes("tests-R-1", "failed").await;
    assert!(
        failed["last_words"][0].as_str().unwrap().starts_with("its 1000 tokens for this review are used up"),
        "{failed}"
    );
    assert!(!scene.has_begun("tests-R-1", 2), "no process was started");

    // A seat with a vote says so in the discussion.
    let word = json!({ "review_id": "R-1", "sender_role": "operator", "caller_id": "olga", "body": "why approved?",
                       "persona": "security" });
    scene.client().call("add_message", word).await;
    let discussion = async || {
        let messages = scene.client().call("get_discussion", json!({ "review_id": "R-1" })).await;
        messages.to_string().contains("its 1 turns for this review are used up").then_some(())
    };
    wait_until("it says that it cannot answer", discussion).await;
    scene.turn_becomes("operator", "escalated").await;
    scene.state_becomes(SECURITY, "failed").await;
    assert_eq!(scene.broker.pool().await["state"], "ready", "a limit is not a failure of the client");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn cost_and_time_are_limited() {
    let personas = [("security", "budget_usd = 0.5"), ("tests", "time_limit = \"1s\"")];
    let scene = DedicatedReviewers::start(&personas, "").await;
    scene.propose(&["security"]).await;
    let cost = json!({ "type": "result", "is_error": false, "total_cost_usd": 0.5 });
    scene.script(SECURITY, 1, &[prints(cost), says("is two needed?")]);
    let row = scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!(row["cost_usd"], 0.5);
    scene.author_writes("security", "yes").await;
    scene.turn_becomes("operator", "escalated").await;
    let failed = scene.state_becomes(SECURITY, "failed").await;
    let why = failed["last_words"][0].as_str().unwrap();
    assert!(why.starts_with("its budget of 0.5 USD for this review is spent"), "{failed}");
    assert!(!scene.has_begun(SECURITY, 2), "no process was started");
    let audit = scene.audit().await;
    assert!(!audit.iter().any(|line| line.contains("again")), "it is not asked again: {audit:#?}");

    scene.propose(&["tests"]).await;
    scene.script("tests-R-2", 1, &[hangs()]);
    let failed = scene.state_becomes("tests-R-2", "failed").await;
    let why = failed["last_words"][0].as_str().unwrap();
    assert!(why.starts_with("it did not end its turn within its time limit"), "{failed}");
    assert_eq!(scene.client().status("R-2").await["escalate_why"], "could_not_review");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_releases_its_seat_hands_it_to_an_operator() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[call("release_claim", json!({ "claim_generation": 1, "reason": "not my field" }))]);
    let status = scene.turn_becomes("operator", "escalated").await;
    assert_eq!(status["escalate_why"], "could_not_review", "{status}");
    let row = scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!(row["turns"], 1, "it is not started again and again");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_comment_instead_of_a_verdict_does_not_end_the_turn() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[votes("comment", json!({}))]);
    let status = scene.turn_becomes("operator", "escalated").await;
    assert_eq!(status["escalate_why"], "could_not_review", "{status}");
    let failed = scene.state_becomes(SECURITY, "failed").await;
    assert_eq!(failed["turns"], 1, "it is not started again and again");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_killed_reviewer_continues_its_session_in_the_same_turn() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[hangs()]);
    scene.message(SECURITY, 1).await;
    let home = format!("HOME={}", scene.broker.home().display());
    let is_reviewer = |(pid, environment): &(u32, BTreeSet<String>)| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        environment.contains(&home) && command.contains("takes_a_turn")
    };
    let (process, _) = environments().find(is_reviewer).expect("it runs");
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process.cast_signed()), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    scene.status_becomes("approved").await;
    let message = scene.message(SECURITY, 1).await;
    assert!(message.contains("killed by SIGKILL") && !message.contains("count in another language"), "{message}");
    let row = scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!((&row["turns"], &row["fresh_starts"]), (&json!(1), &json!(0)));
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_killed_broker_continues_the_conversation() {
    let mut scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[hangs()]);
    // In the middle of the first turn.
    scene.message(SECURITY, 1).await;
    scene.broker = scene.broker.kill_and_restart().await;
    scene.script(SECURITY, 2, &[says("is two needed?")]);
    scene.turn_becomes("proposer", "message").await;
    let message = scene.message(SECURITY, 2).await;
    assert!(message.contains("it was ended before it was over. Check with get_review_status"), "{message}");
    // Between two turns: the seat stays reserved.
    scene.state_becomes(SECURITY, "waiting").await;
    scene.broker = scene.broker.kill_and_restart().await;
    let refused = scene.client().try_call("claim_review", json!({ "review_id": "R-1", "reviewer_id": "bob" })).await;
    assert_eq!(refused.unwrap_err()["code"], "reserved");
    scene.script(SECURITY, 3, &[votes("approved", json!({}))]);
    scene.author_writes("security", "yes").await;
    scene.status_becomes("approved").await;
    let row = scene.state_becomes(SECURITY, "waiting").await;
    let history = fs::read_to_string(scene.session_folder(SECURITY).join("history")).unwrap();
    let session = row["reviewer_session_id"].as_str().unwrap();
    // The first turn is part of it, unless the broker was killed before it knew that anything was recorded.
    assert!(history.ends_with(&format!("turn 2 of {session}\nturn 3 of {session}\n")), "{history}");
    scene.client().call("close_review", json!({ "review_id": "R-1", "closer_role": "proposer" })).await;
    scene.nothing_is_left().await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn no_process_of_a_turn_outlives_the_broker() {
    // Children in other sessions, and one that shows nothing of where it comes from.
    let script = "setsid sleep 1000 & (setsid sh -c 'env -i sleep 1000; :' &) ; exec sleep 1000";
    let mut scene = DedicatedReviewers::start_running(script, &[("security", ""), ("tests", "")], "").await;
    scene.propose(&["security", "tests"]).await;
    for round in 0..3 {
        let pid = |row: &Value| u32::try_from(row["pid"].as_u64().unwrap()).unwrap();
        let whole = |pool: &Value| {
            let rows = pool["reviewers"].as_array().unwrap();
            rows.len() == 2 && rows.iter().all(|row| row["state"] == "busy" && tree(pid(row)).len() >= 5)
        };
        let pool = scene.broker.until_pool("two reviewers with all their processes", whole).await;
        let shims: Vec<_> = pool["reviewers"].as_array().unwrap().iter().map(pid).collect();
        let processes: Vec<_> = shims.iter().flat_map(|shim| tree(*shim)).collect();
        let began = Instant::now();
        if round % 2 == 0 {
            scene.broker.kill().await;
        } else {
            assert!(scene.broker.terminate().await.success());
        }
        until_gone(&processes, &BTreeSet::new(), began, Duration::from_secs(2)).await;
        scene.broker.start_again().await;
    }
    scene.client().call("cancel_review", json!({ "review_id": "R-1", "reason": "enough" })).await;
    scene.nothing_is_left().await;
    scene.broker.stop_and_check().await;
}
