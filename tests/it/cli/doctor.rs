//! `countersign doctor` finds problems and suggests fixes.

use crate::support::{
    broker::TestBroker,
    command::{TestCommand, command_in},
};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _};

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
}

/// The report and the exit code.
async fn report(typed: TestCommand) -> (Value, i32) {
    let ended = typed.finish().await;
    (serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err)), ended.code)
}

#[tokio::test]
async fn a_running_broker_passes_all_checks() {
    let broker = TestBroker::start().await;
    let (report, code) = report(broker.command(&["doctor", "--json"])).await;
    assert_eq!((code, &report["fail"]), (0, &0.into()), "{report:#}");
    for name in ["git", "repository", "disk", "running", "database", "files", "reviewers"] {
        assert_eq!(check(&report, name)["found"], "ok", "{report:#}");
    }
    assert!(check(&report, "running")["says"].as_str().unwrap().contains(&broker.port().to_string()));
    let text = broker.command(&["doctor"]).stdout().await;
    assert!(text.contains("Machine\n  ✓ git") && text.contains(" · 0 fail\n"), "{text}");
}

#[tokio::test]
async fn readable_private_files_are_a_failure_with_a_fix() {
    let broker = TestBroker::start().await;
    let file = broker.data_dir().join("operator.token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (report, code) = report(broker.command(&["doctor", "--json"])).await;
    assert_eq!((code, &check(&report, "files")["found"]), (1, &"fail".into()));
    let fix = check(&report, "files")["fix"].as_str().unwrap();
    assert!(fix.starts_with("chmod 600 ") && fix.contains("operator.token"), "{fix}");
}

#[tokio::test]
async fn a_dead_broker_and_a_damaged_database_are_distinguished() {
    let mut broker = TestBroker::start().await;
    broker.kill().await;
    let (dead, code) = report(broker.command(&["doctor", "--json"])).await;
    assert_eq!((code, &check(&dead, "running")["found"]), (1, &"fail".into()), "{dead:#}");
    assert_eq!(check(&dead, "database")["found"], "ok", "{dead:#}");
    fs::write(broker.data_dir().join("countersign.db"), "not a database, but long enough to have a header").unwrap();
    let (broken, _) = report(broker.command(&["doctor", "--json"])).await;
    assert_eq!(check(&broken, "database")["found"], "fail", "{broken:#}");
}

#[tokio::test]
async fn a_fresh_machine_gets_warnings_only() {
    let home = tempfile::tempdir().unwrap();
    let (fresh, code) = report(command_in(home.path(), home.path(), &["doctor", "--json"])).await;
    assert_eq!(code, 0, "{fresh:#}");
    assert_eq!(check(&fresh, "running")["found"], "warn");
    assert_eq!(check(&fresh, "repository")["found"], "warn");
    assert!(!home.path().join(".local").exists(), "nothing is created");
    let wrong = command_in(home.path(), home.path(), &["doctor", "--json"]).var("COUNTERSIGN_CLAIMS_LEASE", "soon");
    let (wrong, code) = report(wrong).await;
    assert_eq!((code, &check(&wrong, "settings")["found"]), (1, &"fail".into()), "{wrong:#}");
}

#[tokio::test]
async fn what_is_left_to_do_in_the_clients_is_printed_and_checked() {
    let broker = TestBroker::start().await;
    let (repo, home) = (broker.repo(), broker.home());
    let clients = ["--client", "claude,codex", "--client-hooks", "--yes"];
    let ended = broker.command(&[&["init"][..], &clients].concat()).finish().await;
    for said in ["left to do: Claude Code: start `claude`", "left to do: Codex: start `codex`", "Codex: type /hooks"] {
        assert!(ended.err.contains(said), "{said}: {}", ended.err);
    }
    // Without the programs of the clients their folders are what doctor finds.
    let doctor = async || report(broker.command(&["doctor", "--json"]).var("PATH", "/usr/bin:/bin")).await.0;
    let accepted = |report: &Value| -> Vec<Value> {
        report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "accepted").cloned().collect()
    };
    let left = accepted(&doctor().await);
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.iter().all(|check| check["found"] == "warn"), "{left:?}");
    assert!(left[0]["fix"].as_str().unwrap().contains("accept the server countersign"), "{left:?}");

    // What the clients store when their user agrees.
    let root = repo.path().display().to_string();
    let state = serde_json::json!({ "projects": { &root: { "hasTrustDialogAccepted": true } } });
    fs::write(home.join(".claude.json"), state.to_string()).unwrap();
    repo.write(".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["countersign"]}"#);
    fs::create_dir_all(home.join(".codex")).unwrap();
    let hook = format!("[hooks.state.'{root}/.codex/hooks.json:stop:0:0']\ntrusted_hash = \"x\"\n");
    let trusted = format!("[projects.'{root}']\ntrust_level = \"trusted\"\n{hook}");
    fs::write(home.join(".codex/config.toml"), trusted).unwrap();
    let done = accepted(&doctor().await);
    assert_eq!((done.len(), &done[0]["found"]), (1, &"ok".into()), "{done:?}");
}
