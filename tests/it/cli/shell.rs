//! Commands in a shell: colours, closed pipes, manual pages and escaping.

use crate::support::{command::command_in, terminal::on_a_branch};
use std::process::Stdio;
use tokio::process::Command;

#[tokio::test]
async fn colours_are_only_for_terminals() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    for command in [&["list"][..], &["show", "1"], &["status", "1"]] {
        let plain = broker.command_as("ada", command).stdout().await;
        assert!(!plain.contains('\u{1b}'), "a pipe: {plain:?}");
        let forced = broker.command_as("ada", command).var("CLICOLOR_FORCE", "1").stdout().await;
        assert!(forced.contains("\u{1b}[1m"), "{forced:?}");
        assert_eq!(anstream::adapter::strip_str(&forced).to_string(), plain, "and nothing else is different");
    }
    // NO_COLOR also applies on a terminal.
    let line = format!("{} list --as ada", env!("CARGO_BIN_EXE_countersign"));
    for (variable, coloured) in [("COLUMNS", true), ("NO_COLOR", false)] {
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(broker.repo().path());
        script
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", broker.home())
            .env("TERM", "xterm");
        script.env("COUNTERSIGN_SERVER_DATA_DIR", broker.data_dir()).env(variable, "100").stdin(Stdio::null());
        let shown = script.output().await.expect("script, of util-linux, gives a terminal");
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("R-1"), "{shown:?}");
        assert_eq!(shown.contains("\u{1b}[1mID"), coloured, "{variable}: {shown:?}");
    }
}

#[tokio::test]
async fn a_closed_pipe_is_not_an_error() {
    let broker = on_a_branch().await;
    let long = "line\n".repeat(30_000);
    broker.command_as("ada", &["request", "-F", "-"]).stdin(&long).stdout().await;
    broker.command(&["token", "create", "--role", "reviewer", "--name", "agent-7"]).stdout().await;
    let commands = [
        "list",
        "show 1",
        "show 1 --json",
        "diff 1",
        "status 1",
        "audit",
        "activity",
        "timeline 1",
        "personas",
        "completions bash",
        "man",
        "events",
        "actors",
        "stats",
        "issues",
        "token list",
        "reviewer list",
    ];
    for command in commands {
        let mut shell = Command::new("bash");
        let pipe = format!("set -o pipefail; \"$0\" {command} | true; echo \"${{PIPESTATUS[0]}}\"");
        shell.arg("-c").arg(pipe).arg(env!("CARGO_BIN_EXE_countersign")).current_dir(broker.repo().path());
        shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", broker.home());
        shell.env("COUNTERSIGN_SERVER_DATA_DIR", broker.data_dir()).env("COUNTERSIGN_NAME", "ada").stdin(Stdio::null());
        let ended = shell.output().await.unwrap();
        assert_eq!(
            (&*String::from_utf8_lossy(&ended.stdout), &*String::from_utf8_lossy(&ended.stderr)),
            ("0\n", ""),
            "{command}"
        );
    }
}

#[tokio::test]
async fn control_characters_from_agents_are_escaped() {
    let broker = on_a_branch().await;
    let evil = "evil\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}text\r\u{e0041}";
    let on = async |who: &str, line: &[&str]| {
        let ended = broker.command_as(who, line).finish().await;
        for text in [&ended.out, &ended.err] {
            let hidden = text.chars().find(|c| c.is_control() && *c != '\n' || matches!(c, '\u{202e}' | '\u{e0041}'));
            assert_eq!(hidden, None, "{line:?}: {text:?}");
        }
        ended
    };
    let asked = on("ada", &["request", "-m", evil, "--description", evil]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    on("ada", &["request", "-m", evil, "--phase", evil]).await;
    let issue = format!("high greeting.txt:2 a title: {evil}");
    on("bob", &["claim", "1"]).await;
    on("bob", &["comment", "1", "-m", evil]).await;
    let verdict = ["respond", "1", "--request-changes", "-m", evil, "--summary", evil, "--issue", &issue];
    let given = on("bob", &verdict).await;
    assert_eq!(given.code, 0, "{given:?}");
    on("ada", &["issues", "dispute", "I-1", "-m", evil]).await;
    let shown = on("ada", &["show", "1"]).await;
    assert!(shown.out.contains("evil\\u{1b}[2J") && shown.out.contains("\\u{202e}text"), "{shown:?}");
    for line in [
        &["list"][..],
        &["status", "1"],
        &["wait", "1", "--timeout", "1s"],
        &["issues"],
        &["issues", "--full"],
        &["timeline", "1"],
        &["audit"],
        &["activity"],
        &["events"],
        &["stats", "--by", "reviewer"],
        &["status", evil],
        &["list", "--status", evil],
        &["reviewer", "stop", evil],
    ] {
        on("ada", line).await;
    }
}

#[tokio::test]
async fn a_diff_is_piped_unchanged() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    let diff = broker.command_as("bob", &["diff", "1"]).stdout().await;
    broker.repo().git(&["switch", "--quiet", "main"]);
    broker.repo().write("../r1.diff", &diff);
    broker.repo().git(&["apply", "../r1.diff"]);
    assert_eq!(std::fs::read_to_string(broker.repo().path().join("greeting.txt")).unwrap(), "one\nzwei\nthree\n");
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "more"]).stdout().await;
    broker.repo().git(&["switch", "--quiet", "--force", "topic"]);
    broker.repo().write("greeting.txt", "one\nzwo\nthree\n");
    broker.repo().commit("again");
    broker.command_as("ada", &["resubmit", "1"]).stdout().await;
    let first = broker.command_as("bob", &["diff", "1", "--round", "1"]).stdout().await;
    assert_eq!(first, diff);
    let since = broker.command_as("bob", &["diff", "1", "--since", "1"]).stdout().await;
    assert!(since.contains("\n-zwei\n+zwo\n"), "{since}");
    let file = broker.command_as("bob", &["diff", "1", "--file", "greeting.txt"]).stdout().await;
    assert!(file.contains("+zwo"), "{file}");
    let none = broker.command_as("bob", &["diff", "1", "--file", "nowhere"]).finish().await;
    assert!(none.code == 1 && none.err.contains("(unknown_file)"), "{}", none.err);
}

#[tokio::test]
async fn manual_pages_are_valid() {
    let home = tempfile::tempdir().unwrap();
    let print = async |line: &[&str]| command_in(home.path(), home.path(), line).stdout().await;
    let page = print(&["man"]).await;
    assert!(page.contains(".TH countersign 1") && page.contains("countersign\\-request(1)"), "{page}");
    let folder = home.path().join("pages");
    print(&["man", "--dir", folder.to_str().unwrap()]).await;
    for page in ["countersign.1", "countersign-request.1", "countersign-issues-wont-fix.1"] {
        assert!(folder.join(page).exists(), "{page} is missing");
    }
    let wait = std::fs::read_to_string(folder.join("countersign-wait.1")).unwrap();
    assert!(wait.contains("13 not decided"), "{wait}");
}
