//! Output on a terminal: the pager for long texts, and lines that fit into 80 columns.

use crate::support::{broker::TestBroker, command::command_in, terminal::on_a_branch};
use unicode_width::UnicodeWidthStr as _;

const REASON: &str = "The file is in English from the first line to the last, and readers of one language rarely expect \
                      another one in the middle of it without a word of explanation";

/// A review with texts that are longer than a line.
async fn with_long_texts() -> TestBroker {
    let broker = on_a_branch().await;
    let title = "Say it in German, because most readers of this greeting live where German is spoken every day";
    broker.command_as("ada", &["request", "-m", title]).stdout().await;
    let found = format!("high greeting.txt:2 {REASON}: details");
    let verdict = ["respond", "1", "--request-changes", "-m", REASON, "--issue", &found];
    broker.command_as("a-reviewer-with-a-long-name", &verdict).stdout().await;
    broker
}

#[tokio::test]
async fn lines_fit_into_80_columns() {
    let broker = with_long_texts().await;
    for line in [
        &["audit"][..],
        &["activity"],
        &["timeline", "1"],
        &["actors"],
        &["doctor"],
        &["demo", "--fast"],
        &["config", "list"],
        &["--help"],
        &["list"],
    ] {
        // High enough to need no pager.
        let (_, text) = broker.command(line).on_terminal(80, 500).finish_with_text().await;
        let long: Vec<_> = text.lines().filter(|line| line.width() > 80).collect();
        assert!(long.is_empty(), "{line:?}: {long:#?}");
        assert!(text.lines().count() >= 2, "{line:?}: {text}");
    }
    // What is too long continues on the next line and is not lost.
    for line in [&["audit"][..], &["timeline", "1"]] {
        let (_, text) = broker.command(line).on_terminal(80, 500).finish_with_text().await;
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("from the first line to the last"), "{text}");
    }
}

#[tokio::test]
async fn a_long_output_goes_through_the_pager_on_a_terminal() {
    let broker = with_long_texts().await;
    let shown = async |line: &[&str], pager: (&str, &str), rows: u16| {
        let command = broker.command(line).var(pager.0, pager.1).var("LESS", "");
        command.on_terminal(80, rows).finish_with_text().await.1
    };
    let numbered = "sed 's/^/page: /'";
    let timeline = ["timeline", "1"];
    assert!(shown(&timeline, ("COUNTERSIGN_PAGER", numbered), 5).await.starts_with("page: R-1"));
    assert!(shown(&timeline, ("PAGER", numbered), 5).await.starts_with("page: R-1"));
    assert!(shown(&["config", "list"], ("PAGER", numbered), 24).await.starts_with("page: "));
    let without = [
        (&["timeline", "1"][..], numbered, 100, "it fits"),
        (&["timeline", "1", "--no-pager"], numbered, 5, "--no-pager"),
        (&["--no-pager", "timeline", "1"], numbered, 5, "--no-pager before the command"),
        (&["timeline", "1", "--json"], numbered, 5, "--json"),
        (&["timeline", "1"], "cat", 5, "cat"),
        (&["timeline", "1"], "", 5, "an empty variable"),
        (&["timeline", "1"], "a-pager-that-does-not-exist 2>&-", 5, "a missing program"),
    ];
    for (line, pager, rows, why) in without {
        let text = shown(line, ("COUNTERSIGN_PAGER", pager), rows).await;
        assert!(!text.contains("page: ") && text.contains("R-1"), "{why}: {text}");
    }
    let piped = broker.command(&timeline).var("PAGER", numbered).stdout().await;
    assert!(piped.starts_with("R-1"), "{piped}");
    // A pager that closes early is not an error.
    let early = broker.command(&["config", "list"]).var("PAGER", "head -1").on_terminal(80, 5);
    assert_eq!(early.finish_with_text().await.0, 0);
}

#[tokio::test]
async fn help_shows_every_command_by_task() {
    let home = tempfile::tempdir().unwrap();
    let help = command_in(home.path(), home.path(), &["--help"]).stdout().await;
    let groups: Vec<_> = help.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(
        groups,
        ["Start:", "Propose:", "Review:", "Gate:", "Observe:", "Operate:", "Examples:", "Options:"],
        "{help}"
    );
    let start = help.split("Start:\n").nth(1).unwrap();
    let first: Vec<_> = start.lines().take(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first, ["init", "demo"]);
}
