//! One-shot reviewers that fail: limited in time and size, recorded, and the seat is free again.
#![cfg(target_os = "linux")]

use crate::support::{
    client::proposal_with,
    measurements::resident_kib,
    one_shot::{APPROVED, OneShots, Scripted, says},
};
use domain::review::ClaimEndReason;
use serde_json::{Value, json};
use std::fs;

/// Name, script, and the recorded error.
const USELESS: [(&str, &str, &str); 9] = [
    ("hangs", "sleep 1000", "did not respond within its time limit"),
    ("deaf", "trap '' TERM INT HUP; sleep 1000; sleep 1000; sleep 1000", "did not respond within its time limit"),
    ("prose", "cat >/dev/null; echo I approve of this change.", "not a JSON object; it begins with \"I approve"),
    ("wrong", "cat >/dev/null; echo '{\"opinion\":\"good\"}'", "missing field `verdict`"),
    ("silent", "cat >/dev/null", "the response is empty"),
    ("dies", "kill -SEGV $$", "killed by SIGSEGV"),
    ("fails", "echo no key for the model >&2; exit 7", "exit code 7; last words: no key for the model"),
    ("floods", "head -c 100000000 /dev/zero | tr '\\0' x", "longer than 1048576 bytes"),
    ("chatters", "yes \"$(seq 300 | tr '\\n' y)\" | head -c 5000000", "not a JSON object; it begins with \"1y2y"),
];

#[tokio::test]
async fn an_unusable_response_is_retried_once() {
    let persona = |(name, script, message): &(&'static str, &str, &str)| {
        let limit = if message.contains("time limit") { "time_limit = \"1s\"\n" } else { "" };
        Scripted::new(name, format!("echo {name} >>\"$HOME/runs\"; {script}")).with(limit)
    };
    let personas: Vec<_> = USELESS.iter().map(persona).collect();
    let scene = OneShots::start(&personas, "max_size = 4\nmax_failures = 100\nstop_grace = \"200ms\"").await;
    let names: Vec<_> = USELESS.iter().map(|(name, _, _)| *name).collect();
    let before = resident_kib(scene.broker.pid());
    let review = scene.propose(&names).await;
    let done = |pool: &Value| pool["ended"].as_array().unwrap().len() == USELESS.len();
    let pool = scene.broker.until_pool("all have given up", done).await;
    for row in pool["ended"].as_array().unwrap() {
        assert!(row["exit"].as_str().unwrap().starts_with("could not review: "), "{row:#}");
    }
    // The list of those that ended is read page by page, and only a failure has last words.
    let (mut ended, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = scene.client().call("list_reviewers", json!({ "limit": 4, "cursor": cursor })).await;
        assert_eq!(page["ended_total"], USELESS.len(), "{page}");
        ended.extend(page["ended"].as_array().unwrap().clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(json!(ended), pool["ended"]);
    scene.nothing_is_left().await;
    let grown = resident_kib(scene.broker.pid()).saturating_sub(before);
    assert!(grown < 100 << 10, "200 MB were printed, and the broker has grown by {grown} KiB");
    let logs = fs::read_dir(scene.broker.data_dir().join("reviewers")).unwrap().flatten();
    let largest = logs.map(|log| log.metadata().unwrap().len()).max().unwrap();
    assert!(largest <= (32 << 20) + (64 << 10), "{largest}");

    // Twice each, and not again although seats are free and something happens.
    let status = scene.client().status(&review).await;
    assert_eq!(status["status"], "pending", "{status:#}");
    for (name, _, _) in USELESS {
        let claim = json!({ "review_id": review, "reviewer_id": format!("a person for {name}"), "persona": name });
        scene.client().call("claim_review", claim).await;
    }
    let runs = scene.read("runs");
    let records = scene.records().await;
    assert_eq!(records.retries().await, USELESS.len());
    let ends = records.claim_ends(1).await;
    for (name, _, message) in USELESS {
        assert_eq!(runs.lines().filter(|line| line == &name).count(), 2, "{name}");
        let (_, reason, detail) = ends.iter().find(|(persona, _, _)| persona == name).unwrap();
        assert_eq!(*reason, ClaimEndReason::CouldNotReview);
        assert!(detail.contains(message), "{name}: {detail}");
    }
}

/// A prompt has a largest size. A reviewer that would see only a part of a change does not judge it.
#[tokio::test]
async fn a_change_that_is_too_long_for_a_prompt_is_never_approved() {
    let script = format!("touch \"$HOME/ran\"; {}", says(APPROVED));
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let client = scene.client();
    let lines: String = (0..30_000).map(|n| format!("+line {n}\n")).collect();
    let long = format!("--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,30000 @@\n{lines}");
    assert!(long.len() > 256 * 1024);
    for more in [
        json!({ "diff": long }),
        json!({ "diff": scene.broker.repo().diff("zwei"), "description": "\u{20ac}".repeat(90_000) }),
    ] {
        let more = crate::support::reviews::with(more, json!({ "personas": ["security"] }));
        let created = client.call("create_review", proposal_with("too long", more)).await;
        let ended = |pool: &Value| {
            let rows = pool["ended"].as_array().unwrap();
            rows.iter().any(|row| row["review"] == created["number"])
        };
        let pool = scene.broker.until_pool("it has given up", ended).await;
        let row = &pool["ended"].as_array().unwrap().iter().find(|row| row["review"] == created["number"]).unwrap();
        let exit = row["exit"].as_str().unwrap();
        assert!(
            exit.starts_with("could not review: the ") && exit.contains("a one-shot reviewer sees at most "),
            "{exit}"
        );
        scene.status_becomes(created["review_id"].as_str().unwrap(), "pending").await;
    }
    assert!(!scene.file("ran").exists(), "the client does not even start");
    let records = scene.records().await;
    for review in [1, 2] {
        assert!(records.verdicts(review, 1).await.is_empty());
        let ends = records.claim_ends(review).await;
        assert!(ends.iter().all(|(_, reason, _)| *reason == ClaimEndReason::CouldNotReview), "{ends:?}");
    }
}

#[tokio::test]
async fn a_retry_contains_the_error_of_the_first_response() {
    let script = format!(
        r#"if [ -e "$HOME/first" ]; then cat >"$HOME/second"; echo '{APPROVED}'
        else cat >"$HOME/first"; echo '{{"verdict":"maybe"}}'; fi"#
    );
    let scene = OneShots::start(&[Scripted::new("security", script)], "").await;
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "approved").await;
    let second = scene.read("second");
    assert!(second.contains("verdict is \"maybe\"; allowed: approved"), "{second}");
    let records = scene.records().await;
    assert_eq!((records.retries().await, records.claim_ends(1).await), (1, vec![]));
    assert_eq!(records.verdicts(1, 1).await.len(), 1);
}

#[tokio::test]
async fn processes_left_by_a_one_shot_are_killed() {
    let left = "(setsid sleep 1000 &); (setsid sh -c 'env -i sleep 1000; :' &); sleep 1000 &";
    let scene = OneShots::start(&[Scripted::new("security", format!("{left} {}", says(APPROVED)))], "").await;
    let review = scene.propose(&["security"]).await;
    scene.status_becomes(&review, "approved").await;
    scene.records().await;
}

#[tokio::test]
async fn a_client_that_always_fails_ends_in_a_crash_loop() {
    let scene = OneShots::start(
        &[
            Scripted::new("security", r#"echo >>"$HOME/runs"; echo no login >&2; exit 1"#),
            Scripted::new("tests", says(APPROVED)),
        ],
        "max_failures = 2",
    )
    .await;
    for _ in 0..2 {
        scene.propose(&["security"]).await;
    }
    let pool = scene.broker.until_pool("crash loop", |pool| pool["state"] == "crash_loop").await;
    assert!(pool["message"].as_str().unwrap().contains("project (persona security)"), "{pool:#}");
    let last_words = pool["last_words"].to_string();
    assert!(last_words.contains("no login"), "{last_words}");
    scene.propose(&["security"]).await;
    // The client of another persona is not affected.
    let other = scene.propose(&["tests"]).await;
    let approved = async || Some(scene.client().status(&other).await).filter(|status| status["status"] == "approved");
    crate::support::wait_until::wait_until("the other is served", approved).await;
    assert_eq!(scene.read("runs").lines().count(), 4);
}

#[tokio::test]
async fn an_exhausted_budget_ends_the_attempts() {
    let script = r#"echo >>"$HOME/runs"; cat >/dev/null
        echo '{"type":"result","is_error":false,"total_cost_usd":0.3,"usage":{"input_tokens":1,"output_tokens":1}}'
        echo dear me"#;
    let scene = OneShots::start(&[Scripted::new("security", script).with("budget_usd = 0.5\n")], "").await;
    let review = scene.propose(&["security"]).await;
    scene.broker.until_pool("it has ended", |pool| pool["ended"][0].is_object()).await;
    scene.status_becomes(&review, "pending").await;
    let claim = scene.client().claim(&review, "ada").await;
    let verdict =
        json!({ "review_id": review, "verdict": "changes_requested", "reason": "no", "claim_generation": claim });
    scene.client().call("submit_verdict", verdict).await;
    // 0.6 of 0.5 are spent, so that the next round is not begun.
    scene.client().call("create_review", json!({ "review_id": review, "intent": "once more" })).await;
    let twice = |pool: &Value| pool["ended"].as_array().unwrap().len() == 2;
    scene.broker.until_pool("another has ended", twice).await;
    assert_eq!(scene.read("runs").lines().count(), 2);
    let records = scene.records().await;
    let details: Vec<_> = records.claim_ends(1).await.into_iter().map(|(_, _, detail)| detail).collect();
    assert!(details[1].contains("budget of 0.5 USD") && details.len() == 2, "{details:?}");
}

#[tokio::test]
async fn a_time_limit_is_capped_by_the_lease() {
    let settings = crate::support::pool::pool_of("exit 3", "stop_grace = \"100ms\"") + "[claims]\nlease = \"3s\"\n";
    let script = r#"echo >>"$HOME/runs"; sleep 1000"#;
    let scene = OneShots::start_with(&[Scripted::new("security", script)], &settings).await;
    let review = scene.propose(&["security"]).await;
    scene.broker.until_pool("it has ended", |pool| pool["ended"][0].is_object()).await;
    scene.status_becomes(&review, "pending").await;
    let records = scene.records().await;
    let ends: Vec<_> = records.claim_ends(1).await.into_iter().map(|(_, reason, _)| reason).collect();
    assert_eq!(ends, [ClaimEndReason::CouldNotReview]);
}
