//! A review on a terminal of 80 and of 120 columns, as a transcript.

use crate::support::terminal::{Transcript, on_a_branch};
use unicode_width::UnicodeWidthStr as _;

async fn life(columns: &str) -> String {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    let mut transcript = Transcript::new(&broker, columns);
    transcript.run("ada", &["request", "--reviewers", "general,security", "--priority", "critical"]).await;
    transcript.run("ada", &["list"]).await;
    transcript.run("ada", &["show"]).await;
    transcript.run("ada", &["respond", "R-1", "--approve"]).await;
    transcript.run("bob", &["list", "--claimable"]).await;
    transcript.run("bob", &["claim", "1", "--persona", "general"]).await;
    transcript.run("bob", &["release", "-m", "no time today"]).await;
    transcript.run("bob", &["diff", "1"]).await;
    let better = repo.git(&["diff", "main"]).replace("+zwei", "+ZWO") + "\n";
    repo.write("../better.diff", &better);
    transcript
        .run(
            "bob",
            &[
                "respond",
                "1",
                "--persona",
                "general",
                "--request-changes",
                "-m",
                "This is no number that Germans shout.\n\nTwo things.",
                "--summary",
                "Nearly there",
                "--issue",
                "high greeting.txt:2 wrong word: Germans say zwo on the telephone",
                "--suggestion",
                "greeting.txt a better name for the file would help readers next year",
                "--counter-patch",
                "../better.diff",
            ],
        )
        .await;
    transcript.run("eve", &["respond", "1", "--approve", "--summary", "Nothing to fear"]).await;
    transcript.run("ada", &["wait", "--timeout", "1m"]).await;
    transcript.run("ada", &["issues"]).await;
    transcript.run("ada", &["issues", "dispute", "I-1", "-m", "zwei is right in writing"]).await;
    transcript.run("ada", &["issues", "R-1", "--full", "--suggestions"]).await;
    transcript.run("ada", &["patch", "show"]).await;
    transcript.run("ada", &["patch", "decline", "--persona", "general"]).await;
    transcript.run("ada", &["comment", "--persona", "general", "-m", "Are you sure?\nIt is written, not said."]).await;
    transcript.run("bob", &["comment", "1", "-m", "I am. Add a note at least."]).await;
    transcript.run("bob", &["respond", "1", "--request-changes", "-m", "Add a note"]).await;
    repo.write("NOTE", "as it is written\n");
    repo.commit("Say why");
    transcript.run("ada", &["resubmit", "--title", "Say it in German, and why"]).await;
    transcript.run("bob", &["issues", "wont-fix", "1", "-m", "convinced"]).await;
    transcript.run("bob", &["respond", "1", "--persona", "general", "--approve"]).await;
    transcript.run("bob", &["issues", "wont-fix", "1", "-m", "convinced"]).await;
    transcript.run("eve", &["respond", "1", "--approve"]).await;
    transcript.run("ada", &["status", "1"]).await;
    transcript.run("ada", &["show", "1"]).await;
    transcript.run("ada", &["close", "1"]).await;
    repo.write(
        "plan.md",
        "# 計画: a title that is longer than what a narrow terminal has room for \u{1b}[31mred\u{202e}\n\nStep one.\n",
    );
    transcript.run("ada", &["request", "--plan", "plan.md"]).await;
    transcript.run("ada", &["list", "--all"]).await;
    transcript.run("ada", &["cancel", "-m", "another plan"]).await;
    transcript.run("ada", &["wait", "2"]).await;
    transcript.run("ada", &["audit", "-n", "4"]).await;
    transcript.run("ada", &["activity", "-n", "4"]).await;
    transcript.run("ada", &["timeline", "2"]).await;
    transcript.run("ada", &["personas"]).await;
    transcript.run("ada", &["reviewer", "list"]).await;
    transcript.run("ada", &["token", "list"]).await;
    transcript.redacted()
}

#[tokio::test]
async fn on_80_columns() {
    insta::assert_snapshot!(life("80").await);
}

#[tokio::test]
async fn on_120_columns() {
    insta::assert_snapshot!(life("120").await);
}

#[tokio::test]
async fn no_table_is_wider_than_the_terminal() {
    let broker = on_a_branch().await;
    let long = "a very long title ".repeat(20);
    for _ in 0..2 {
        broker.command_as("a person with a very long name indeed", &["request", "-m", &long]).stdout().await;
    }
    for columns in ["60", "80", "120"] {
        for command in [&["list"][..], &["show", "1"], &["status", "1"], &["audit"], &["activity"], &["issues"]] {
            let text = broker.command_as("ada", command).var("COLUMNS", columns).stdout().await;
            let width: usize = columns.parse().unwrap();
            // Commands to type are not wrapped.
            let lines = text.lines().filter(|line| !line.contains("countersign "));
            for line in lines {
                assert!(line.width() <= width, "{command:?} on {columns}: {line:?} of {}", line.width());
            }
        }
    }
    let piped = broker.command_as("ada", &["list"]).stdout().await;
    assert!(piped.lines().any(|line| line.width() > 120), "a pipe takes lines of any length: {piped}");
}
