//! A review on a terminal of 80 and of 120 columns, as a transcript.

use crate::support::terminal::{Transcript, on_a_branch};
use unicode_width::UnicodeWidthStr as _;

async fn life(columns: &str) -> String {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    let mut on = Transcript::new(&broker, columns);
    on.types("ada", &["request", "--reviewers", "general,security", "--priority", "critical"]).await;
    on.types("ada", &["list"]).await;
    on.types("ada", &["show"]).await;
    on.types("ada", &["respond", "R-1", "--approve"]).await;
    on.types("bob", &["list", "--claimable"]).await;
    on.types("bob", &["claim", "1", "--persona", "general"]).await;
    on.types("bob", &["release", "-m", "no time today"]).await;
    on.types("bob", &["diff", "1"]).await;
    let better = repo.git(&["diff", "main"]).replace("+zwei", "+ZWO") + "\n";
    repo.write("../better.diff", &better);
    on.types(
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
    on.types("eve", &["respond", "1", "--approve", "--summary", "Nothing to fear"]).await;
    on.types("ada", &["wait", "--timeout", "1m"]).await;
    on.types("ada", &["issues"]).await;
    on.types("ada", &["issues", "dispute", "I-1", "-m", "zwei is right in writing"]).await;
    on.types("ada", &["issues", "R-1", "--full", "--suggestions"]).await;
    on.types("ada", &["patch", "show"]).await;
    on.types("ada", &["patch", "decline", "--persona", "general"]).await;
    on.types("ada", &["comment", "--persona", "general", "-m", "Are you sure?\nIt is written, not said."]).await;
    on.types("bob", &["comment", "1", "-m", "I am. Add a note at least."]).await;
    on.types("bob", &["respond", "1", "--request-changes", "-m", "Add a note"]).await;
    repo.write("NOTE", "as it is written\n");
    repo.commit("Say why");
    on.types("ada", &["resubmit", "--title", "Say it in German, and why"]).await;
    on.types("bob", &["issues", "wont-fix", "1", "-m", "convinced"]).await;
    on.types("bob", &["respond", "1", "--persona", "general", "--approve"]).await;
    on.types("bob", &["issues", "wont-fix", "1", "-m", "convinced"]).await;
    on.types("eve", &["respond", "1", "--approve"]).await;
    on.types("ada", &["status", "1"]).await;
    on.types("ada", &["show", "1"]).await;
    on.types("ada", &["close", "1"]).await;
    repo.write(
        "plan.md",
        "# 計画: a title that is longer than what a narrow terminal has room for \u{1b}[31mred\u{202e}\n\nStep one.\n",
    );
    on.types("ada", &["request", "--plan", "plan.md"]).await;
    on.types("ada", &["list", "--all"]).await;
    on.types("ada", &["cancel", "-m", "another plan"]).await;
    on.types("ada", &["wait", "2"]).await;
    on.types("ada", &["audit", "-n", "4"]).await;
    on.types("ada", &["activity", "-n", "4"]).await;
    on.types("ada", &["timeline", "2"]).await;
    on.types("ada", &["personas"]).await;
    on.types("ada", &["reviewer", "list"]).await;
    on.types("ada", &["token", "list"]).await;
    on.redacted()
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
        broker.types("a person with a very long name indeed", &["request", "-m", &long]).prints().await;
    }
    for columns in ["60", "80", "120"] {
        for command in [&["list"][..], &["show", "1"], &["status", "1"], &["audit"], &["activity"], &["issues"]] {
            let text = broker.types("ada", command).var("COLUMNS", columns).prints().await;
            let width: usize = columns.parse().unwrap();
            // Commands to type are not wrapped.
            let lines = text.lines().filter(|line| !line.contains("countersign "));
            for line in lines {
                assert!(line.width() <= width, "{command:?} on {columns}: {line:?} of {}", line.width());
            }
        }
    }
    let piped = broker.types("ada", &["list"]).prints().await;
    assert!(piped.lines().any(|line| line.width() > 120), "a pipe takes lines of any length: {piped}");
}
