//! Dedicated reviewers: one reviewer per seat, in the conversation until the review ends.
#![cfg(target_os = "linux")]

use crate::support::{
    dedicated::{DedicatedReviewers, call, says, votes},
    tokens::create_token,
};
use serde_json::{Value, json};
use std::fs;

const SECURITY: &str = "security-R-1";

/// Both names and values of the fields.
fn fields<const N: usize>(row: &Value, names: [&str; N]) -> [Value; N] {
    names.map(|name| row[name].clone())
}

#[tokio::test]
async fn a_reviewer_stays_in_the_conversation_until_the_review_is_closed() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    let first = scene.message(SECURITY, 1).await;
    for part in [
        "You are the security reviewer.",
        "You are `security-R-1`, the reviewer of the seat `security` in review R-1.",
        "Your focus: what security means.",
        "the change waits for your verdict",
        "+zwei",
        "claim_generation 1",
    ] {
        assert!(first.contains(part), "no {part} in {first}");
    }
    let issue = json!({ "severity": "high", "title": "two is left", "file": "greeting.txt", "line_start": 2 });
    scene.script(SECURITY, 1, &[votes("changes_requested", json!({ "issues": [issue] }))]);
    scene.status_becomes("changes_requested").await;
    let waiting = scene.state_becomes(SECURITY, "waiting").await;
    assert_eq!(
        fields(&waiting, ["turns", "persona", "review", "why"]),
        [json!(1), json!("security"), json!("R-1"), json!("dedicated")]
    );
    let session = waiting["reviewer_session_id"].clone();
    assert!(scene.broker.pool().await["reviewers"] == json!([]), "no process is kept");

    // The author asks, and the same reviewer answers in the same session.
    scene.author_writes("security", "which line?").await;
    let second = scene.message(SECURITY, 2).await;
    assert!(second.contains("you have a new message") && second.contains("which line?"), "{second}");
    assert!(second.contains("You have judged round 1 of this change before: changes_requested."), "{second}");
    assert!(!second.contains("count in another language") && !second.contains("+zwei"), "only what is new: {second}");
    // A client may have lost the beginning of its session without saying so.
    assert!(second.contains("You are the security reviewer."), "the message stands alone: {second}");
    assert!(second.contains("If you do not remember this review"), "{second}");
    scene.script(SECURITY, 2, &[says("the second one")]);
    scene.turn_becomes("proposer", "message").await;
    scene.status_becomes("pending").await;
    let refused = scene.client().try_call("claim_review", json!({ "review_id": "R-1", "reviewer_id": "bob" })).await;
    assert_eq!(refused.unwrap_err()["code"], "reserved");
    scene.state_becomes(SECURITY, "waiting").await;

    // A new round.
    scene.author_revises("deux").await;
    let third = scene.message(SECURITY, 3).await;
    assert!(third.contains("It is round 2") && third.contains("what changed since"), "{third}");
    assert!(third.contains("I-1 [high, bug, raised by security]") || third.contains("I-1 [high"), "{third}");
    let fixed = call("update_issue", json!({ "issue_id": "I-1", "status": "fixed", "role": "reviewer" }));
    scene.script(SECURITY, 3, &[fixed, votes("approved", json!({}))]);
    let approved = scene.status_becomes("approved").await;
    assert_eq!(approved["verdict_by"], SECURITY);
    let history = fs::read_to_string(scene.session_folder(SECURITY).join("history")).unwrap();
    let session = session.as_str().unwrap();
    assert_eq!(history, format!("turn 1 of {session}\nturn 2 of {session}\nturn 3 of {session}\n"));

    let log = scene.broker.command(&["reviewer", "logs", SECURITY]).stdout().await;
    let headings: Vec<_> =
        log.lines().filter_map(|line| line.split_once(" --- ")).map(|(_, heading)| heading).collect();
    assert_eq!(headings, ["turn 1", "turn 2", "turn 3"]);

    scene.client().call("close_review", json!({ "review_id": "R-1", "closer_role": "proposer" })).await;
    let finished = scene.state_becomes(SECURITY, "finished").await;
    assert_eq!(
        fields(&finished, ["turns", "approvals", "changes_requested", "fresh_starts"]),
        [3, 1, 1, 0].map(Value::from)
    );
    scene.nothing_is_left().await;
    let audit = scene.audit().await;
    let turns: Vec<_> = audit.iter().filter(|line| line.starts_with("turn ")).collect();
    let continues = |turn| format!("turn {turn} of reviewer security-R-1 for project: it continues its session");
    assert_eq!(turns[1..], [&continues(2), &continues(3)]);
    assert_eq!(turns[0], "turn 1 of reviewer security-R-1 for project: it begins a session");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_dispute_and_an_accepted_counter_patch_bring_the_reviewer_back() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    let issue = json!({ "severity": "high", "title": "two is left", "file": "greeting.txt", "line_start": 2 });
    scene.script(SECURITY, 1, &[votes("changes_requested", json!({ "issues": [issue] }))]);
    scene.status_becomes("changes_requested").await;
    let dispute = json!({ "review_id": "R-1", "issue_id": "I-1", "status": "disputed", "note": "as intended",
                          "role": "proposer", "caller_id": "author" });
    scene.client().call("update_issue", dispute).await;
    let message = scene.message(SECURITY, 2).await;
    assert!(message.contains("answered or disputed an issue") && message.contains("as intended"), "{message}");

    let better = scene.broker.repo().diff("deux");
    scene.script(SECURITY, 2, &[votes("changes_requested", json!({ "counter_patch": better }))]);
    scene.turn_becomes("proposer", "counter_patch_offered").await;
    scene.client().call("accept_counter_patch", json!({ "review_id": "R-1" })).await;
    let message = scene.message(SECURITY, 3).await;
    assert!(message.contains("accepted a counter-patch"), "{message}");
    scene.script(SECURITY, 3, &[votes("approved", json!({}))]);
    scene.status_becomes("approved").await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn two_personas_work_side_by_side_and_a_person_takes_one_seat_over() {
    let scene = DedicatedReviewers::start(&[("security", ""), ("tests", "")], "").await;
    scene.propose(&["security", "tests"]).await;
    scene.message(SECURITY, 1).await;
    scene.message("tests-R-1", 1).await;
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    scene.turn_becomes("reviewer", "reviewing").await;

    // A reviewer that has voted still answers.
    scene.state_becomes(SECURITY, "waiting").await;
    scene.author_writes("security", "why is it fine?").await;
    let asked = scene.message(SECURITY, 2).await;
    assert!(asked.contains("You have voted, and your vote stands."), "{asked}");
    scene.script(SECURITY, 2, &[says("it is only a greeting")]);
    let row = scene.reviewer(SECURITY, |row| row["state"] == "waiting" && row["turns"] == 2).await;
    assert_eq!(row["approvals"], 1);

    // A person takes the other seat over in the middle, and its reviewer ends.
    let take = json!({ "review_id": "R-1", "reviewer_id": "olga", "persona": "tests" });
    let taken = scene.client().call("take_over", take).await;
    scene.reviewer("tests-R-1", |row| row["state"] == "waiting").await;
    let verdict = json!({ "review_id": "R-1", "reviewer_id": "olga", "claim_generation": taken["claim_generation"],
                          "verdict": "changes_requested", "reason": "no test" });
    scene.client().call("submit_verdict", verdict).await;
    let status = scene.status_becomes("changes_requested").await;
    assert_eq!(status["verdict_by"], "olga");
    assert!(!scene.has_begun("tests-R-1", 2), "its seat is not free");
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_stopped_reviewer_does_not_come_back() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[says("is two needed?")]);
    scene.turn_becomes("proposer", "message").await;
    scene.state_becomes(SECURITY, "waiting").await;
    let stop = json!({ "reviewer_id": SECURITY });
    // Its log can be read while it waits, also by an operator of its project only.
    let token = create_token(scene.broker.home(), "operator", "olga", &["--project", "project"]).await;
    let rest = scene.broker.rest().with_token(&token);
    rest.get(&format!("/reviewers/{SECURITY}/logs")).await.is(200);
    scene.client().call("kill_reviewer", stop.clone()).await;
    scene.state_becomes(SECURITY, "stopped").await;
    scene.client().refused("unknown_reviewer", "kill_reviewer", stop).await;
    scene.author_writes("security", "yes").await;
    // The seat is free for others.
    scene.turn_becomes("reviewer", "message").await;
    scene.client().claim("R-1", "ada").await;
    let verdict = json!({ "review_id": "R-1", "reviewer_id": "ada", "verdict": "approved" });
    scene.client().call("submit_verdict", verdict).await;
    scene.status_becomes("approved").await;
    scene.nothing_is_left().await;
    assert!(!scene.has_begun(SECURITY, 2));

    // One that is at work ends at once.
    let other = scene.propose(&["security"]).await;
    scene.message("security-R-2", 1).await;
    scene.client().call("kill_reviewer", json!({ "reviewer_id": "security-R-2", "force": true })).await;
    scene.state_becomes("security-R-2", "stopped").await;
    assert_eq!(scene.client().claim(&other, "ada").await, 3);
    scene.nothing_is_left().await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_person_reaches_a_reviewer_that_waits_for_the_author() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    // A comment with a counter-patch is not a vote.
    let better = scene.broker.repo().diff("deux");
    scene.script(SECURITY, 1, &[votes("comment", json!({ "counter_patch": better }))]);
    scene.turn_becomes("proposer", "counter_patch_offered").await;
    scene.state_becomes(SECURITY, "waiting").await;
    assert!(!scene.has_begun(SECURITY, 2), "it is the author's turn");
    let word = json!({ "review_id": "R-1", "sender_role": "operator", "caller_id": "olga", "body": "is it urgent?",
                       "to": "reviewers" });
    scene.client().call("add_message", word).await;
    let message = scene.message(SECURITY, 2).await;
    assert!(message.contains("is it urgent?"), "{message}");
    scene.script(SECURITY, 2, &[says("no, take your time")]);
    scene.reviewer(SECURITY, |row| row["state"] == "waiting" && row["turns"] == 2).await;
    scene.client().call("accept_counter_patch", json!({ "review_id": "R-1" })).await;
    scene.script(SECURITY, 3, &[votes("approved", json!({}))]);
    scene.status_becomes("approved").await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_is_stopped_at_work_does_not_come_back_after_a_crash() {
    let mut scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.message(SECURITY, 1).await;
    // It may finish its turn, which it does not do before the broker is killed.
    let stopped = scene.client().call("kill_reviewer", json!({ "reviewer_id": SECURITY })).await;
    assert_eq!(stopped["state"], "draining");
    scene.broker = scene.broker.kill_and_restart().await;
    scene.state_becomes(SECURITY, "stopped").await;
    scene.turn_becomes("reviewer", "unclaimed").await;
    assert_eq!(scene.client().claim("R-1", "ada").await, 3);
    scene.nothing_is_left().await;
    assert!(!scene.has_begun(SECURITY, 2));
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn an_answer_that_is_no_longer_needed_is_stopped() {
    let scene = DedicatedReviewers::start(&[("security", ""), ("tests", "")], "").await;
    scene.propose(&["security", "tests"]).await;
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    scene.state_becomes(SECURITY, "waiting").await;
    scene.author_writes("security", "why is it fine?").await;
    scene.message(SECURITY, 2).await;

    // The next round needs a verdict at once, not after a minute.
    scene.author_revises("deux").await;
    let third = scene.message(SECURITY, 3).await;
    assert!(third.contains("It is round 2") && third.contains("it was ended before it was over"), "{third}");
    scene.script(SECURITY, 3, &[votes("approved", json!({}))]);
    scene.state_becomes(SECURITY, "waiting").await;
    scene.author_writes("security", "and now?").await;
    scene.message(SECURITY, 4).await;
    scene.client().call("cancel_review", json!({ "review_id": "R-1", "reason": "enough" })).await;
    scene.nothing_is_left().await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn a_disabled_pool_deletes_the_sessions_of_ended_reviews() {
    let mut scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    scene.status_becomes("approved").await;
    scene.state_becomes(SECURITY, "waiting").await;
    // Left behind by a broker that was killed while it deleted it.
    fs::create_dir(scene.session_folder("tests-R-9")).unwrap();
    let settings = "[pool]\nenabled = false\ncheck_every = \"200ms\"\nkeep_sessions = \"1s\"\n";
    assert!(scene.broker.terminate().await.success());
    scene.broker = scene.broker.restarted_with(settings).await;
    scene.broker.until_pool("it is cleaned up", |_| !scene.session_folder("tests-R-9").exists()).await;
    assert!(scene.session_folder(SECURITY).exists(), "its review is open");
    scene.client().call("close_review", json!({ "review_id": "R-1", "closer_role": "proposer" })).await;
    scene.nothing_is_left().await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn what_waits_for_a_free_place_says_so() {
    let scene = DedicatedReviewers::start(&[("security", ""), ("tests", "")], "max_size = 1").await;
    scene.propose(&["security", "tests"]).await;
    let queued = |pool: &Value| pool["queued"] != Value::Null && pool["reviewers"][0]["state"] == "busy";
    let pool = scene.broker.until_pool("one is queued", queued).await;
    let working = pool["reviewers"][0]["reviewer_id"].as_str().unwrap().to_owned();
    let other = if working == SECURITY { "tests" } else { "security" };
    assert_eq!(pool["queued"], json!([{ "review": "R-1", "persona": other }]));
    let list = scene.broker.command(&["reviewer", "list"]).stdout().await;
    assert!(list.contains(&format!("waiting for a free place (max_size 1): {other} of R-1")), "{list}");
    assert!(list.contains("dedicated\n") && list.contains("working"), "{list}");
    scene.script(&working, 1, &[votes("approved", json!({}))]);
    scene.script(&format!("{other}-R-1"), 1, &[votes("approved", json!({}))]);
    scene.status_becomes("approved").await;
    scene.broker.stop_and_check().await;
}

#[tokio::test]
async fn its_token_is_valid_for_its_own_review_only() {
    let scene = DedicatedReviewers::start(&[("security", "")], "").await;
    scene.propose(&["security"]).await;
    let other = scene.client().submit("something else").await;
    scene.message(SECURITY, 1).await;
    let reviewer = crate::support::pool::in_the_name_of(SECURITY, scene.broker.home());
    for (tool, more) in [("claim_review", json!({})), ("get_proposal", json!({})), ("get_discussion", json!({}))] {
        let mut arguments = more;
        arguments["review_id"] = json!(other);
        reviewer.refused("wrong_review", tool, arguments).await;
    }
    let listed = reviewer.call("list_reviews", json!({ "statuses": ["pending", "claimed"] })).await;
    assert_eq!(listed["reviews"].as_array().unwrap().iter().map(|row| &row["number"]).collect::<Vec<_>>(), ["R-1"]);
    scene.script(SECURITY, 1, &[votes("approved", json!({}))]);
    scene.status_becomes("approved").await;
    scene.broker.stop_and_check().await;
}
