//! One-shot reviewers: the broker claims a seat and runs a client once to review it.
#![cfg(target_os = "linux")]

use crate::support::{
    one_shot::{APPROVED, OneShots, Scripted, says},
    pool::pool_of,
};
use domain::{finding::Grounding, review::ClaimEndReason, verdict::Verdict};
use serde_json::{Value, json};
use std::fs;

fn rows<'a>(pool: &'a Value, list: &str) -> &'a [Value] {
    pool[list].as_array().unwrap()
}

#[tokio::test]
async fn a_response_becomes_a_verdict_with_findings_and_metrics() {
    let answer = json!({
        "verdict": "request_changes", "summary": "one thing", "reason": "the third line, too", "files_reviewed": 1,
        "lines_analyzed": 3, "suggestions": [], "unasked": "for",
        "issues": [{ "type": "bug", "severity": "high", "title": "three is left", "file": "greeting.txt",
                     "line_start": 3, "line_end": 3, "code_snippet": "three", "confidence": 0.9 }],
    });
    let script = format!(
        r#"cat >"$HOME/prompt"; cp greeting.txt "$HOME/seen"; env >"$HOME/env"; pwd >"$HOME/where"
        echo '{{"type":"system","model":"m-1"}}'
        echo '{{"type":"result","is_error":false,"total_cost_usd":0.25,"usage":{{"input_tokens":12,"output_tokens":3}}}}'
        echo '{answer}'"#
    );
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let review = scene.propose(&["security"]).await;
    let status = scene.status_becomes(&review, "changes_requested").await;
    assert_eq!(status["verdict_reason"], "the third line, too");

    let pool = scene.nothing_is_left().await;
    let ended = &pool["ended"][0];
    let told = ["persona", "review", "why", "runtime", "exit", "changes_requested", "cost_usd"].map(|key| &ended[key]);
    let wanted = [json!("security"), json!("R-1"), json!("one_shot"), json!("command"), json!("exit code 0"), json!(1)];
    assert_eq!(told[..6], wanted.each_ref()[..], "{ended:#}");
    assert_eq!((ended["cost_usd"].as_f64(), rows(&pool, "ended").len()), (Some(0.25), 1), "{pool:#}");
    assert_eq!(status["verdict_by"], ended["reviewer_id"]);

    assert_eq!(scene.read("seen"), "one\nzwei\nthree\n", "the change is applied where it works");
    let (prompt, copy) = (scene.read("prompt"), scene.read("where"));
    for part in ["You are the security reviewer.", "what security means", "two is zwei", "+zwei", "\"enum\"", "copy"] {
        assert!(prompt.contains(part), "no {part} in {prompt}");
    }
    assert!(copy.contains("/data-reviewers/work/") && !std::path::Path::new(copy.trim()).exists());
    let env = scene.read("env");
    assert!(env.contains("COUNTERSIGN_REVIEWER_ID=command-r1-"), "{env}");
    assert!(!env.contains("COUNTERSIGN_TOKEN") && !env.contains("COUNTERSIGN_MCP_URL"), "{env}");

    let records = scene.records().await;
    let [verdict] = records.verdicts(1, 1).await.try_into().unwrap();
    assert_eq!((verdict.verdict, verdict.summary.as_deref()), (Verdict::ChangesRequested, Some("one thing")));
    let metrics = verdict.metrics.unwrap();
    assert_eq!((metrics.files_reviewed, metrics.lines_analyzed), (Some(1), Some(3)));
    assert_eq!((metrics.input_tokens, metrics.output_tokens, metrics.cost_usd), (Some(12), Some(3), Some(0.25)));
    assert_eq!(metrics.model.as_deref(), Some("m-1"));
    assert!(metrics.duration_ms.is_some());
    assert_eq!(records.claim_ends(1).await, []);
    let review = records.review(1).await;
    let [finding] = review.findings.as_slice() else { panic!("{:?}", review.findings) };
    assert_eq!((finding.found.title.as_str(), finding.persona.as_str()), ("three is left", "security"));
    assert_eq!(finding.grounding, Grounding::Grounded { note: None });
}

/// Each waits for the other, so that neither would end if they came one after the other.
fn meets(other: &str, name: &str) -> String {
    format!("touch \"$HOME/{name}\"; until [ -e \"$HOME/{other}\" ]; do sleep 0.05; done; {}", says(APPROVED))
}

#[tokio::test]
async fn two_personas_review_in_parallel_without_an_agent() {
    let personas = [Scripted::new("security", meets("b", "a")), Scripted::new("tests", meets("a", "b"))];
    let scene = OneShots::start(&personas, "").await;
    let review = scene.propose(&["security", "tests"]).await;
    scene.status_becomes(&review, "approved").await;
    let pool = scene.nothing_is_left().await;
    assert_eq!(rows(&pool, "ended").len(), 2, "{pool:#}");
    let records = scene.records().await;
    let mut voted: Vec<_> = records.verdicts(1, 1).await.into_iter().map(|verdict| verdict.persona).collect();
    voted.sort();
    assert_eq!(voted, ["security", "tests"]);
}

#[tokio::test]
async fn a_person_and_a_one_shot_share_a_panel() {
    // The agent that comes for the other seat does nothing.
    let settings = pool_of("exec sleep 1000", "max_size = 2");
    let scene = OneShots::start_with(&[Scripted::new("security", says(APPROVED))], &settings).await;
    let review = scene.propose(&["security", "maintainer"]).await;
    let claim = json!({ "review_id": review, "reviewer_id": "ada", "persona": "maintainer" });
    let claim = scene.client().call("claim_review", claim).await;
    let verdict = json!({ "review_id": review, "verdict": "approved", "claim_generation": claim["claim_generation"] });
    scene.client().call("submit_verdict", verdict).await;
    scene.status_becomes(&review, "approved").await;
    let pool = scene.broker.pool().await;
    assert_eq!(rows(&pool, "ended").iter().map(|row| &row["why"]).collect::<Vec<_>>(), ["one_shot"], "{pool:#}");
}

#[tokio::test]
async fn the_pool_size_is_limited_and_the_queue_is_served_in_order() {
    let script = format!(r#"echo $COUNTERSIGN_REVIEWER_ID >>"$HOME/runs"; {}"#, says(APPROVED));
    let scene = OneShots::start(&[Scripted::new("security", script)], "max_size = 1").await;
    let mut reviews = Vec::new();
    for _ in 0..4 {
        reviews.push(scene.propose(&["security"]).await);
    }
    for review in &reviews {
        scene.status_becomes(review, "approved").await;
    }
    let pool = scene.nothing_is_left().await;
    let order: Vec<_> = rows(&pool, "ended").iter().rev().map(|row| row["review"].as_str().unwrap()).collect();
    assert_eq!(order, ["R-1", "R-2", "R-3", "R-4"]);
    assert!(rows(&pool, "ended").iter().all(|row| row["name"] == "command-r1"), "never two at once");
    scene.records().await;
}

#[tokio::test]
async fn the_prompt_of_a_second_round_has_the_changes_and_the_discussion() {
    let script = format!(
        r#"if [ -e "$HOME/first" ]; then cat >"$HOME/second"; echo '{APPROVED}'; else cat >"$HOME/first"
        echo '{{"verdict":"changes_requested","reason":"say drei as well"}}'; fi"#
    );
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "changes_requested").await;
    scene.nothing_is_left().await;
    let diff = scene.broker.repo().diff("zwei\ndrei");
    let revision = json!({ "review_id": review, "intent": "count further", "diff": diff });
    scene.client().call("create_review", revision).await;
    scene.status_becomes(&review, "approved").await;
    let (first, second) = (scene.read("first"), scene.read("second"));
    assert!(!first.contains("You have judged"), "{first}");
    let told =
        ["You have judged round 1 of this change before: changes_requested", "say drei as well", "count further"];
    for part in told.iter().chain(&[" what changed since\n", "+drei"]) {
        assert!(second.contains(part), "no {part} in {second}");
    }
    let since = second.split(" what changed since\n").nth(1).unwrap().split(">>").next().unwrap();
    assert!(since.contains("+drei") && !since.contains("+zwei"), "{since}");
    scene.records().await;
}

#[tokio::test]
async fn a_cancelled_review_ends_its_reviewer() {
    let script = r#"touch "$HOME/runs"; trap '' TERM; (setsid sleep 1000 &); sleep 1000; sleep 1000"#;
    let scene = OneShots::start(&[Scripted::new("security", script)], "stop_grace = \"100ms\"").await;
    let review = scene.propose(&["security"]).await;
    scene.until_file("runs").await;
    let busy = |pool: &Value| pool["reviewers"][0]["state"] == "busy";
    let pool = scene.broker.until_pool("it is busy", busy).await;
    assert_eq!(
        (&pool["reviewers"][0]["persona"], &pool["reviewers"][0]["reviews"]),
        (&json!("security"), &json!(["R-1"]))
    );
    let tree = scene.broker.actors().await.to_string();
    assert!(tree.contains("busy R-1 security"), "{tree}");
    let cancel = json!({ "review_id": review, "reason": "no longer wanted" });
    scene.client().call("cancel_review", cancel).await;
    let pool = scene.nothing_is_left().await;
    assert_eq!(pool["state"], "ready", "the pool has not failed: {pool:#}");
    let records = scene.records().await;
    assert_eq!((records.claim_ends(1).await, records.retries().await), (vec![], 0));
}

#[tokio::test]
async fn a_rejection_by_another_reviewer_ends_the_one_shot() {
    let scene = OneShots::start(&[Scripted::new("security", r#"touch "$HOME/runs"; sleep 1000"#)], "").await;
    let review = scene.propose(&["security", "tests"]).await;
    scene.until_file("runs").await;
    let claim = json!({ "review_id": review, "reviewer_id": "ada", "persona": "tests" });
    let claim = scene.client().call("claim_review", claim).await;
    let generation = &claim["claim_generation"];
    let verdict = json!({ "review_id": review, "verdict": "rejected", "reason": "no", "claim_generation": generation });
    scene.client().call("submit_verdict", verdict).await;
    scene.nothing_is_left().await;
}

#[tokio::test]
async fn a_one_shot_is_repeated_after_a_crash_of_the_broker() {
    let script = format!(
        r#"if [ -e "$HOME/begun" ]; then echo '{APPROVED}'; exit; fi
        touch "$HOME/begun"; (setsid sleep 1000 &); exec sleep 1000"#
    );
    let mut scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let review = scene.propose(&["security"]).await;
    scene.until_file("begun").await;
    scene.broker.kill().await;
    scene.broker = scene.broker.restarted().await;
    scene.status_becomes(&review, "approved").await;
    let pool = scene.nothing_is_left().await;
    let ends: Vec<_> = rows(&pool, "ended").iter().map(|row| row["exit"].as_str().unwrap()).collect();
    assert_eq!(ends, ["exit code 0", "its broker ended"]);
    let records = scene.records().await;
    let ends: Vec<_> = records.claim_ends(1).await.into_iter().map(|(_, reason, _)| reason).collect();
    assert_eq!(ends, [ClaimEndReason::BrokerRestarted]);
}

#[tokio::test]
async fn a_one_shot_stopped_by_an_operator_is_not_started_again() {
    let scene = OneShots::start(&[Scripted::new("security", r#"touch "$HOME/runs"; sleep 1000"#)], "").await;
    let review = scene.propose(&["security"]).await;
    scene.until_file("runs").await;
    let pool = scene.broker.pool().await;
    let stop = json!({ "reviewer_id": pool["reviewers"][0]["reviewer_id"], "force": true });
    scene.client().call("kill_reviewer", stop).await;
    scene.status_becomes(&review, "pending").await;
    let pool = scene.nothing_is_left().await;
    assert_eq!(rows(&pool, "ended").len(), 1, "{pool:#}");
    let records = scene.records().await;
    let [(_, reason, detail)] = records.claim_ends(1).await.try_into().unwrap();
    assert_eq!((reason, detail.contains("stopped")), (ClaimEndReason::CouldNotReview, true), "{detail}");
}

#[tokio::test]
async fn an_idle_agent_is_stopped_for_a_one_shot() {
    let agent = r#"touch "$HOME/agent"; exec sleep 1000"#;
    let settings = pool_of(agent, "max_size = 1\nstop_grace = \"100ms\"");
    let scene = OneShots::start_with(&[Scripted::new("security", says(APPROVED))], &settings).await;
    scene.client().call("spawn_reviewer", json!({})).await;
    scene.until_file("agent").await;
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "approved").await;
}

#[tokio::test]
async fn nothing_happens_while_the_pool_is_off() {
    let settings = pool_of("exit 3", "").replace("enabled = true", "enabled = false");
    let scene = OneShots::start_with(&[Scripted::new("security", says(APPROVED))], &settings).await;
    let review = scene.propose(&["security"]).await;
    assert_eq!(scene.client().status(&review).await["status"], "pending");
    assert!(!scene.broker.data_dir().join("reviewers").exists());
    assert!(fs::exists(scene.broker.data_dir()).unwrap());
}

#[tokio::test]
async fn a_seat_of_a_one_shot_persona_waits_for_its_reviewer() {
    let script = format!(r#"until [ -e "$HOME/go" ]; do sleep 0.05; done; {}"#, says(APPROVED));
    let scene = OneShots::start(&[Scripted::new("security", script)], "max_size = 1").await;
    let first = scene.propose(&["security"]).await;
    scene.broker.until_pool("it is busy", |pool| pool["reviewers"][0]["state"] == "busy").await;
    let (second, third) = (scene.propose(&["security", "maintainer"]).await, scene.propose(&["security"]).await);
    let client = scene.client();
    let offered = client.call("list_reviews", json!({ "status": "pending", "caller_id": "ada" })).await;
    let offered: Vec<_> = offered["reviews"].as_array().unwrap().iter().map(|row| &row["review_id"]).collect();
    assert_eq!(offered, [second.as_str()], "what ada cannot claim is not offered to her");
    let claim = |review: &str, persona: Value| json!({ "review_id": review, "reviewer_id": "ada", "persona": persona });
    let refused = client.refused("reserved", "claim_review", claim(&second, json!("security"))).await;
    assert_eq!(refused["reserved_for"], "the pool's own security reviewer");
    let claimed = client.call("claim_review", claim(&second, Value::Null)).await;
    assert_eq!(claimed["seat"], "maintainer", "the other seat is free for all");
    client.refused("reserved", "claim_review", claim(&third, Value::Null)).await;
    client.call("take_over", claim(&third, Value::Null)).await;
    fs::write(scene.file("go"), "").unwrap();
    scene.status_becomes(&first, "approved").await;
}

#[tokio::test]
async fn the_prompt_has_the_conventions_of_the_project() {
    let script = format!(r#"cat >"$HOME/prompt"; echo '{APPROVED}'"#);
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    scene.broker.repo().write("CLAUDE.md", "Count in English only.\n");
    scene.broker.repo().commit("conventions");
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "approved").await;
    let prompt = scene.read("prompt");
    assert!(prompt.contains(" CLAUDE.md\nCount in English only.\n"), "{prompt}");
}
