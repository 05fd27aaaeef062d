//! How commands fail: message, JSON and exit code.

use crate::support::{
    broker::TestBroker,
    client::proposal_with,
    command::{command_in, commands_in},
    terminal::{branch, on_a_branch},
};
use serde_json::{Value, json};

/// Every command that calls a broker, with its required arguments.
const COMMANDS: &[&[&str]] = &[
    &["request"],
    &["list"],
    &["show", "R-1"],
    &["status", "R-1"],
    &["wait", "R-1"],
    &["diff", "R-1"],
    &["claim", "R-1"],
    &["release", "R-1"],
    &["respond", "R-1", "--approve"],
    &["comment", "R-1", "-m", "x"],
    &["resubmit", "R-1"],
    &["patch", "show", "R-1"],
    &["patch", "accept", "R-1"],
    &["patch", "decline", "R-1"],
    &["cancel", "R-1", "-m", "x"],
    &["close", "R-1"],
    &["issues"],
    &["issues", "fix", "I-1", "--review", "R-1"],
    &["activity"],
    &["audit"],
    &["timeline", "R-1"],
    &["stats"],
    &["events"],
    &["reviewer", "list"],
    &["reviewer", "spawn"],
    &["reviewer", "stop", "codex-r1"],
    &["list", "--watch"],
    &["show", "R-1", "--watch"],
];

#[tokio::test]
async fn without_a_broker_every_command_ends_with_5_and_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        let ended = command_in(home.path(), home.path(), command).finish().await;
        assert_eq!((ended.code, &*ended.out), (5, ""), "{command:?}: {}", ended.err);
        assert!(ended.err.contains("no broker serves") && ended.err.contains("countersign serve"), "{}", ended.err);
        let line: Vec<_> = command.iter().copied().chain(["--json"]).collect();
        let ended = command_in(home.path(), home.path(), &line).finish().await;
        let error: Value = serde_json::from_str(&ended.err).unwrap_or_else(|_| panic!("{command:?}: {}", ended.err));
        assert_eq!((&error["code"], &error["exit_code"]), (&json!("no_broker"), &json!(5)));
        assert_eq!((ended.code, &*ended.out), (5, ""));
    }
}

#[tokio::test]
async fn a_refusal_prints_message_code_and_allowed_values() {
    let broker = on_a_branch().await;
    let ended = broker.command_as("ada", &["status", "R-9"]).finish().await;
    assert_eq!((ended.code, &*ended.out), (1, ""));
    assert!(
        ended.err.starts_with("countersign: no review \"R-9\"") && ended.err.ends_with("(unknown_review)\n"),
        "{}",
        ended.err
    );

    let refused = async |who: &str, line: &[&str]| {
        let line: Vec<_> = line.iter().copied().chain(["--json"]).collect();
        let ended = broker.command_as(who, &line).finish().await;
        assert_eq!((ended.code, &*ended.out), (1, ""), "{line:?}");
        serde_json::from_str::<Value>(&ended.err).unwrap_or_else(|_| panic!("{}", ended.err))
    };
    let error = refused("ada", &["request", "--project", "nowhere"]).await;
    assert_eq!((&error["code"], &error["allowed"]), (&json!("unknown_project"), &json!(["project"])));
    assert_eq!((&error["exit_code"], &error["retryable"]), (&json!(1), &json!(false)));
    assert_eq!(refused("ada", &["reviewer", "spawn"]).await["code"], "pool_disabled");
    broker.command_as("ada", &["request"]).stdout().await;
    assert_eq!(refused("ada", &["respond", "1", "--approve"]).await["code"], "own_proposal");
    assert_eq!(refused("ada", &["claim", "1"]).await["code"], "own_proposal");
    assert_eq!(refused("ada", &["close", "1"]).await["code"], "wrong_status");
}

#[tokio::test]
async fn wrong_usage_ends_with_2() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    let cases: &[&[&str]] = &[
        &["respond", "1"],
        &["respond", "1", "--request-changes", "-m", "x", "--issue", "no severity"],
        &["request", "--staged", "--worktree"],
        &["request", "--plan", "nowhere.md"],
        &["request", "--diff", "-"],
        &["wait", "1", "--timeout", "soon"],
        &["show"],
        &["nothing"],
        &["cancel", "R-1", "--as", "ada"],
        &["request", "--priority", "soon"],
        &["list", "--status", "gone"],
        &["list", "--my-turn", "--role", "king"],
        &["issues", "--severity", "bad"],
    ];
    for line in cases {
        let ended = broker.command_as("bob", line).finish().await;
        assert_eq!(ended.code, 2, "{line:?}: {}{}", ended.out, ended.err);
        assert_eq!(ended.out, "");
        // The same as JSON, whether clap or the command noticed it.
        let line: Vec<_> = line.iter().copied().chain(["--json"]).collect();
        let ended = broker.command_as("bob", &line).finish().await;
        let error: Value = serde_json::from_str(&ended.err).unwrap_or_else(|_| panic!("{line:?}: {}", ended.err));
        assert_eq!((ended.code, &*ended.out, &error["exit_code"]), (2, "", &json!(2)), "{line:?}");
        assert!(error["code"].is_string() && error["error"].as_str().is_some_and(|text| !text.contains("Usage:")));
    }
    let error = broker.command_as("bob", &["list", "--status", "gone", "--json"]).finish().await.err;
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((&error["code"], &error["allowed"][0]), (&json!("unknown_status"), &json!("pending")));
}

/// Every command, from the help of the program.
#[tokio::test]
async fn every_command_reports_wrong_usage_and_wrong_settings_as_json_with_exit_code_2() {
    let home = tempfile::tempdir().unwrap();
    let mut commands = vec![Vec::new()];
    let mut leaves = Vec::new();
    while let Some(command) = commands.pop() {
        let line: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = command_in(home.path(), home.path(), &line).stdout().await;
        let names = commands_in(&help);
        if names.is_empty() {
            leaves.push(command);
        } else {
            commands.extend(names.into_iter().map(|name| [command.clone(), vec![name]].concat()));
        }
    }
    assert!(leaves.len() > 40, "{leaves:?}");
    for command in leaves {
        let line: Vec<&str> = command.iter().map(String::as_str).chain(["--no-such-option", "--json"]).collect();
        let ended = command_in(home.path(), home.path(), &line).finish().await;
        let error: Value = serde_json::from_str(&ended.err).unwrap_or_else(|_| panic!("{line:?}: {}", ended.err));
        assert_eq!((ended.code, &*ended.out), (2, ""), "{line:?}");
        assert_eq!((&error["code"], &error["exit_code"]), (&json!("usage"), &json!(2)), "{line:?}");
        assert!(error["error"].as_str().unwrap().contains("--no-such-option"), "{error}");
    }
    // A failure to start.
    for line in [&["serve", "--json"][..], &["list", "--json"], &["init", "--json"]] {
        let ended =
            command_in(home.path(), home.path(), line).var("COUNTERSIGN_SERVER_LISTEN", "nowhere").finish().await;
        let error: Value = serde_json::from_str(&ended.err).unwrap_or_else(|_| panic!("{line:?}: {}", ended.err));
        assert_eq!((ended.code, &error["exit_code"], &error["code"]), (2, &json!(2), &json!("usage")), "{line:?}");
    }
}

#[tokio::test]
async fn outside_of_a_repository_only_commands_that_need_one_fail() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    let folder = tempfile::tempdir().unwrap();
    let data_dir = broker.data_dir().display().to_string();
    let type_there = |line: &[&str]| {
        command_in(broker.home(), folder.path(), line)
            .var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir)
            .var("COUNTERSIGN_NAME", "ada")
    };
    for line in [&["request"][..], &["request", "--staged", "-m", "x"], &["request", "--commit", "HEAD"]] {
        let ended = type_there(line).finish().await;
        assert_eq!((ended.code, &*ended.out), (1, ""), "{line:?}: {}", ended.err);
        assert!(ended.err.contains("is not in a git repository"), "{}", ended.err);
    }
    for line in [&["list"][..], &["show"], &["status", "1"], &["diff"], &["issues"], &["comment", "1", "-m", "x"]] {
        let ended = type_there(line).finish().await;
        assert!(ended.code == 0 || ended.err.contains("(wrong_status)"), "{line:?}: {}", ended.err);
    }
    std::fs::write(folder.path().join("p.md"), "# A plan\n").unwrap();
    type_there(&["request", "--plan", "p.md"]).stdout().await;
    // With --repo the current folder does not matter.
    let repo = broker.repo().path().display().to_string();
    type_there(&["request", "--repo", &repo]).stdout().await;
}

#[tokio::test]
async fn commands_of_the_proposer_refuse_other_callers() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    for line in [
        &["cancel", "1", "-m", "x"][..],
        &["close", "1"],
        &["resubmit", "1"],
        &["patch", "accept", "1"],
        &["patch", "decline", "1"],
    ] {
        let ended = broker.command_as("bob", line).finish().await;
        assert_eq!((ended.code, &*ended.out), (1, ""), "{line:?}");
        assert!(ended.err.contains("--as ada (not_the_proposer)"), "{}", ended.err);
    }
    // The user who runs the broker may act under any name, but must say so.
    broker.command_as("bob", &["cancel", "1", "-m", "x", "--as", "ada"]).stdout().await;
}

/// No file may grow beyond 2 or 4 MiB; writes fail then as they do on a full disk.
const SMALL_DISK: &str = "trap '' XFSZ; ulimit -f 4096";

#[tokio::test]
async fn on_a_full_disk_a_command_says_that_nothing_was_saved() {
    let broker = TestBroker::with_prelude(SMALL_DISK, "").await;
    branch(&broker);
    broker.command_as("ada", &["request"]).stdout().await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    let client = broker.client();
    let large =
        |n: usize| proposal_with(&format!("large {n}"), json!({ "description": format!("{n} ").repeat(60_000) }));
    let mut n = 0;
    while client.try_call("create_review", large(n)).await.is_ok() {
        n += 1;
        assert!(n < 200, "the disk is never full");
    }
    let text = "why? ".repeat(30_000);
    let texts = broker.home().join("long.txt").display().to_string();
    std::fs::write(&texts, &text).unwrap();
    let verdict = broker.home().join("verdict.md").display().to_string();
    std::fs::write(&verdict, format!("verdict: changes_requested\n\n{text}\n")).unwrap();
    for (who, line) in [
        ("ada", &["request", "--new", "-F", &texts][..]),
        ("bob", &["respond", "1", "-F", &verdict][..]),
        ("bob", &["comment", "1", "-F", &texts][..]),
    ] {
        let line: Vec<_> = line.iter().copied().chain(["--json"]).collect();
        let ended = broker.command_as(who, &line).finish().await;
        assert_eq!((ended.code, &*ended.out), (1, ""), "{}", line[0]);
        let error: Value = serde_json::from_str(&ended.err).unwrap();
        assert_eq!((&error["code"], &error["retryable"]), (&json!("not_saved"), &json!(true)), "{error}");
    }
    let status = broker.command_as("ada", &["status", "1", "--json"]).json().await;
    assert_eq!((&status["status"], &status["version"]), (&json!("claimed"), &json!(2)), "and what was there is there");
}
