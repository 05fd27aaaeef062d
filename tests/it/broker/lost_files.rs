//! Files of the broker that a user deletes or replaces, limits of the system, and file systems that cannot be written.

use crate::support::{
    approvals::{approve_staged, stage},
    broker::{TIMEOUT, TestBroker, countersign},
    client::proposal_with,
};
use serde_json::json;
use std::{path::Path, process::Stdio};

async fn ready(broker: &TestBroker) -> u16 {
    reqwest::get(broker.url("/readyz")).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_change_to_a_deleted_or_replaced_database_is_not_acknowledged() {
    for (file, replacement) in [
        ("countersign.db", None),
        ("countersign.db-wal", None),
        ("countersign.db", Some("another")),
        ("countersign.db-wal", Some("another")),
    ] {
        let mut broker = TestBroker::start().await;
        let client = broker.client();
        let kept = client.submit("kept").await;
        assert_eq!(ready(&broker).await, 200);
        let (path, aside) = (broker.data_dir().join(file), broker.home().join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        if let Some(text) = replacement {
            std::fs::write(&path, text).unwrap();
        }
        client.refused("not_saved", "create_review", proposal_with("lost", json!({}))).await;
        let claim = json!({ "review_id": kept, "reviewer_id": "ada" });
        client.refused("not_saved", "claim_review", claim).await;
        assert_eq!(ready(&broker).await, 503, "{file}");
        broker.until_logged(|line| line.contains("was deleted or replaced") && line.contains(file)).await;
        let log = broker.log();
        assert_eq!(log.matches("nothing more is saved; stop the broker").count(), 1, "one clear line: {log}");
        // The file is back, and nothing acknowledged is lost.
        std::fs::rename(&aside, &path).unwrap();
        assert_eq!(ready(&broker).await, 200);
        broker.kill().await;
        let broker = broker.restarted().await;
        assert_eq!(broker.client().status(&kept).await["status"], "pending");
        broker.stop_and_check().await;
    }
}

#[tokio::test]
async fn a_second_broker_is_refused_also_without_the_lock_file() {
    let broker = TestBroker::start().await;
    for gone in [&["broker.lock"][..], &["broker.lock", "broker.json"]] {
        for file in gone {
            let _ = std::fs::remove_file(broker.data_dir().join(file));
        }
        let mut second = countersign(broker.home());
        second.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(broker.data_dir());
        let ended =
            tokio::time::timeout(TIMEOUT, second.stdin(Stdio::null()).output()).await.expect("it ends").unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(3), "{said}");
        assert!(said.contains("another broker uses"), "{said}");
    }
    let review = broker.client().submit("still served").await;
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_limit_of_file_sizes_gives_an_error_and_does_not_kill_the_broker() {
    // Without `trap '' XFSZ`, which would protect the broker from the outside.
    let mut broker = TestBroker::with_prelude("ulimit -f 4096", "").await;
    let client = broker.client();
    let kept = client.submit("kept").await;
    let description = "text ".repeat(25_000);
    let mut refused = None;
    for n in 0..200 {
        let proposal = proposal_with(&format!("large {n}"), json!({ "description": format!("{n} {description}") }));
        if let Err(error) = client.try_call("create_review", proposal).await {
            refused = Some(error);
            break;
        }
    }
    assert_eq!(refused.expect("the limit is reached")["code"], "not_saved");
    assert_eq!(client.status(&kept).await["status"], "pending", "it still answers");
    assert!(broker.terminate().await.success(), "{}", broker.log());
    broker.restarted_freely().await.stop_and_check().await;
}

/// Runs a line in a mount namespace of its own, as root in it. `None` if this system does not allow that.
async fn in_mount_namespace(home: &Path, line: &str) -> Option<std::process::Output> {
    let unshare = |line: &str| {
        let mut command = tokio::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", line]).kill_on_drop(true);
        command.env("HOME", home).current_dir(home).stdin(Stdio::null());
        command.output()
    };
    let allowed = unshare("mount -t tmpfs tmpfs /mnt").await.is_ok_and(|tried| tried.status.success());
    if !allowed {
        println!("skipped: this system allows no mount namespace");
        return None;
    }
    Some(tokio::time::timeout(TIMEOUT, unshare(line)).await.expect("it ends").unwrap())
}

/// On a full disk a broker starts and reads, or ends with an error that says what to do. Nothing is lost.
#[tokio::test]
async fn a_broker_that_was_killed_on_a_full_disk_says_so_at_its_start_and_loses_nothing() {
    let mut broker = TestBroker::start().await;
    let review = broker.client().submit("kept").await;
    broker.kill().await;
    let (binary, data) = (env!("CARGO_BIN_EXE_countersign"), broker.data_dir());
    let data = data.display();
    for (missing, code) in [("", 0), ("disk/countersign.db-shm", 1), ("disk/broker.json disk/operator.token", 1)] {
        // A small disk with the files of the killed broker and not one free block.
        let line = format!(
            "mkdir -p disk; mount -t tmpfs -o size=2m tmpfs disk; cp -a '{data}'/. disk; rm -f {missing}
             cat /dev/zero >disk/fill 2>/dev/null || true
             set +e; '{binary}' serve --listen 127.0.0.1:0 --data-dir \"$PWD/disk\" </dev/null >out & pid=$!
             while kill -0 $pid 2>/dev/null && ! grep -q listening out; do sleep 0.1; done
             if grep -q listening out; then
                 '{binary}' status R-1 --data-dir \"$PWD/disk\" --as ada || exit 7
                 kill $pid
             fi
             wait $pid; code=$?; rm disk/fill; rm -r '{data}'; cp -a disk '{data}'; exit $code"
        );
        let Some(ended) = in_mount_namespace(broker.home(), &line).await else { return };
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{missing}: {said}");
        assert_eq!(said.contains("is full; free some space and start again"), code == 1, "{missing}: {said}");
    }
    let broker = broker.restarted().await;
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_gate_answers_on_a_read_only_file_system() {
    // After a clean stop, after a kill (which leaves the log beside the database), and while the broker runs.
    for end in ["terminate", "kill", "run"] {
        let mut broker = TestBroker::start().await;
        stage(&broker, "zwei");
        approve_staged(&broker, &[]).await;
        match end {
            "terminate" => drop(broker.terminate().await),
            "kill" => broker.kill().await,
            _ => {}
        }
        let (binary, data, repo) = (env!("CARGO_BIN_EXE_countersign"), broker.data_dir(), broker.repo().path());
        let (data, repo) = (data.display(), repo.display());
        // Everything is read-only except a small temporary folder that the system has in memory.
        let line = format!(
            "for dir in '{data}' '{repo}' /tmp /var/tmp; do mount --bind \"$dir\" \"$dir\"; mount -o remount,ro,bind \"$dir\"; done
             cd '{repo}'; if touch x 2>/dev/null; then exit 9; fi
             exec '{binary}' gate --data-dir '{data}'"
        );
        let Some(ended) = in_mount_namespace(broker.home(), &line).await else { return };
        let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
        assert_eq!(ended.status.code(), Some(0), "{end}: {out}{err}");
        assert!(out.contains("was approved in R-1"), "{end}: {out}{err}");
    }
}
