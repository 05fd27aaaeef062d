//! `countersign demo` runs a complete review and leaves nothing behind.

use crate::support::{
    broker::{TIMEOUT, countersign},
    command::{CommandOutput, command_in},
};
use serde_json::{Value, json};
use std::{path::Path, process::Stdio};
use testkit::Repo;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

async fn demo(options: &[&str]) -> CommandOutput {
    let home = tempfile::tempdir().unwrap();
    let tmp = home.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let line = [&["demo"], options].concat();
    let ended = command_in(home.path(), home.path(), &line).var("TMPDIR", tmp.to_str().unwrap()).finish().await;
    assert_empty(&tmp);
    let beside = |name: &str| home.path().join(name).exists();
    assert!(!beside(".local") && !beside(".config"), "the user's files are not touched");
    ended
}

fn assert_empty(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert!(left.is_empty(), "not removed: {left:?}");
}

#[tokio::test]
async fn the_demo_runs_a_complete_review_and_leaves_nothing_behind() {
    let ended = demo(&[]).await;
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let steps =
        ["proposes R-1", "requests changes", "answers:", "round 2", "a counter-patch:", "accepts", "approves R-1"];
    let places: Vec<_> =
        steps.iter().map(|step| ended.out.find(step).unwrap_or_else(|| panic!("{step}: {}", ended.out))).collect();
    assert!(places.is_sorted(), "{}", ended.out);
    assert!(ended.out.contains("▲ I-1 src/price.rs:8 A discount over 100 % panics"), "{}", ended.out);
    assert!(ended.out.contains("and closes R-1"), "{}", ended.out);
    assert_eq!(ended.err, "");
}

#[tokio::test]
async fn a_repository_named_in_the_environment_is_not_touched() {
    let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
    repo.write("greeting.txt", "my own work\n");
    let config = || std::fs::read_to_string(repo.path().join(".git/config")).unwrap();
    let before = (config(), repo.git(&["log", "--format=%s"]), repo.git(&["status", "--porcelain"]));
    let git_dir = repo.path().join(".git");
    let demo = command_in(home.path(), &repo.path(), &["demo"]).var("GIT_DIR", git_dir.to_str().unwrap());
    demo.var("GIT_WORK_TREE", repo.path().to_str().unwrap()).stdout().await;
    assert_eq!((config(), repo.git(&["log", "--format=%s"]), repo.git(&["status", "--porcelain"])), before);
}

#[tokio::test]
async fn each_step_can_be_printed_as_json() {
    let ended = demo(&["--json", "--fast"]).await;
    let steps: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(steps.len() >= 8, "{}", ended.out);
    for step in &steps {
        assert!(step["who"].is_string() && step["did"].is_string() && step["at_ms"].is_u64(), "{step}");
    }
}

#[tokio::test]
async fn a_served_demo_shows_a_review_in_every_state_until_it_is_stopped() {
    let home = tempfile::tempdir().unwrap();
    let tmp = home.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let mut demo = countersign(home.path());
    demo.args(["demo", "--serve", "--print", "--fast", "--json"]).env("TMPDIR", &tmp);
    let mut demo = demo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let played = async {
        let mut url = None;
        while let Some(line) = lines.next_line().await.unwrap() {
            let line: Value = serde_json::from_str(&line).unwrap();
            url = url.or_else(|| line["url"].as_str().map(str::to_owned));
            if line["waits_for"] == "SIGINT" {
                break;
            }
        }
        url.expect("the link is printed")
    };
    let url = tokio::time::timeout(TIMEOUT, played).await.expect("the demo plays to its end");

    let get = async |path: &str| -> Value { reqwest::get(format!("{url}{path}")).await.unwrap().json().await.unwrap() };
    let list = get("/api/v1/reviews?limit=50").await;
    let mut rows: Vec<_> = list["reviews"].as_array().unwrap().iter().collect();
    rows.reverse();
    let turns: Vec<_> = rows.iter().map(|row| json!([row["status"], row["waiting_on"][0]["why"]])).collect();
    let expected = [
        json!(["closed", null]),
        json!(["approved", "approved"]),
        json!(["claimed", "reviewing"]),
        json!(["changes_requested", "diff_does_not_apply"]),
        json!(["changes_requested", "escalated"]),
        json!(["changes_requested", "counter_patch_offered"]),
        json!(["in_review", "reviewing"]),
        json!(["pending", "unclaimed"]),
    ];
    assert_eq!(turns, expected);
    assert_eq!(get("/api/v1/whoami").await["demo"], true);

    let pid = demo.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    let ended = tokio::time::timeout(TIMEOUT, demo.wait()).await.expect("the demo ends").unwrap();
    assert!(ended.success());
    assert_empty(&tmp);
}
