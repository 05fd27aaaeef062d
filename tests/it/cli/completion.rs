//! Completions in a shell: commands, options, and values that only the broker or the settings know.

use crate::support::{command::command_in, terminal::on_a_branch};
use std::{path::Path, process::Stdio};
use tokio::process::Command;

/// What bash offers for a line whose last word is being typed.
async fn bash(home: &Path, dir: &Path, data_dir: &Path, words: &[&str]) -> Vec<String> {
    let script = command_in(home, home, &["completions", "bash"]).stdout().await;
    let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let (count, last) = (words.len() - 1, words[words.len() - 1]);
    let ask = format!(
        "{script}\nCOMP_WORDS=({line}); COMP_CWORD={count}; COMP_TYPE=9\n\
         _clap_complete_countersign countersign '{last}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let folder = Path::new(env!("CARGO_BIN_EXE_countersign")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(ask).env_clear().env("PATH", path).env("HOME", home).current_dir(dir).stdin(Stdio::null());
    let ended = shell.env("COUNTERSIGN_SERVER_DATA_DIR", data_dir).output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{words:?}");
    String::from_utf8(ended.stdout).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[tokio::test]
async fn ids_statuses_and_personas_complete() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request", "-m", "Say it in German"]).stdout().await;
    let finding = ["respond", "1", "--request-changes", "-m", "why?", "--issue", "high greeting.txt:2 off by one"];
    broker.command_as("bob", &finding).stdout().await;
    let repo = broker.repo().path();
    let offered = async |words: &[&str]| {
        let line: Vec<_> = ["countersign"].iter().chain(words).copied().collect();
        bash(broker.home(), &repo, &broker.data_dir(), &line).await
    };
    assert_eq!(offered(&["show", ""]).await.first().map(String::as_str), Some("R-1"));
    assert_eq!(offered(&["diff", "r"]).await, ["R-1"]);
    assert_eq!(offered(&["diff", "1"]).await, ["1"]);
    assert_eq!(offered(&["issues", "fix", "I-"]).await, ["I-1"]);
    assert_eq!(offered(&["list", "--status", "ch"]).await, ["changes_requested"]);
    assert_eq!(offered(&["claim", "1", "--persona", "sec"]).await, ["security"]);
    assert_eq!(offered(&["request", "--reviewers", "security,gen"]).await, ["security,general"]);
    assert_eq!(offered(&["list", "--project", "pro"]).await, ["project"]);
    assert_eq!(offered(&["config", "get", "claims."]).await, ["claims.lease"]);
    assert_eq!(offered(&["resu"]).await, ["resubmit"]);
    assert_eq!(offered(&["shi"]).await, [""], "commands for the broker alone are not offered");

    // A review that ended is offered once its number is typed.
    broker.command_as("ada", &["cancel", "1", "-m", "no"]).stdout().await;
    assert!(!offered(&["show", ""]).await.contains(&"R-1".to_owned()));
    assert_eq!(offered(&["show", "R-"]).await, ["R-1"]);
}

#[tokio::test]
async fn other_shells_see_what_a_candidate_means() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request", "-m", "Say it in German"]).stdout().await;
    let asked = |shell: &str| {
        let line = broker.command(&["--", "countersign", "show", "R-"]).var("COUNTERSIGN_COMPLETE", shell);
        line.var("_CLAP_COMPLETE_INDEX", "2").var("_CLAP_IFS", "\n")
    };
    assert_eq!(asked("fish").stdout().await, "R-1\tpending: Say it in German\n");
    assert_eq!(asked("zsh").stdout().await, "R-1:pending: Say it in German");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = broker.command(&["completions", shell]).stdout().await;
        assert!(script.contains("COUNTERSIGN_COMPLETE"), "{shell}: {script}");
    }
}

#[tokio::test]
async fn a_completion_starts_no_broker() {
    let home = tempfile::tempdir().unwrap();
    let complete = |words: &[&str]| {
        let line = [&["--", "countersign"], words].concat();
        command_in(home.path(), home.path(), &line)
            .var("COUNTERSIGN_COMPLETE", "fish")
            .var("COUNTERSIGN_SERVER_AUTO_START", "true")
    };
    assert_eq!(complete(&["show", "R-"]).stdout().await, "");
    assert!(complete(&["claim", "1", "--persona", ""]).stdout().await.contains("security"), "settings need no broker");
    assert!(!home.path().join(".local").exists(), "nothing is created");
}
