//! `countersign receipt` and `verify`: receipts name the approval of a commit, and `verify` checks them.

use crate::support::{
    approvals::{approve, approve_staged, git, install, stage},
    broker::TestBroker,
    command::{CommandOutput, command_in},
};
use serde_json::{Value, json};

/// A broker whose repository has a git identity, since the commands run git without the user's settings.
async fn start() -> TestBroker {
    let broker = TestBroker::start().await;
    broker.repo().git(&["config", "user.name", "Test"]);
    broker.repo().git(&["config", "user.email", "test@example.invalid"]);
    broker
}

async fn commit_approved(broker: &TestBroker, word: &str) -> String {
    stage(broker, word);
    let review = approve_staged(broker, &[]).await;
    broker.repo().git(&["commit", "--quiet", "--message", word]);
    review
}

async fn standings(broker: &TestBroker, range: &str) -> (i32, Vec<Value>) {
    read(&broker.command(&["verify", range, "--json"]).finish().await)
}

fn read(ended: &CommandOutput) -> (i32, Vec<Value>) {
    let answer: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err));
    (ended.code, crate::support::reviews::column(&answer["commits"], "standing"))
}

#[tokio::test]
async fn every_commit_of_a_range_is_listed_with_its_approval() {
    let broker = start().await;
    commit_approved(&broker, "zwei").await;
    broker.repo().git(&["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    assert_eq!(standings(&broker, "HEAD~2..HEAD").await, (0, vec![json!("proven"), json!("clear")]));
    stage(&broker, "deux");
    broker.repo().git(&["commit", "--quiet", "--message", "deux"]);
    assert_eq!(standings(&broker, "HEAD~3..HEAD").await.1[2], "none");
    let text = broker.command(&["verify", "HEAD~3..HEAD"]).finish().await;
    assert_eq!(text.code, 1);
    assert!(text.out.contains("1 of 3 without an approval") && text.out.contains("proven"), "{}", text.out);
    assert_eq!(standings(&broker, "HEAD~2").await, (0, vec![json!("proven")]));
    let whole = broker.command(&["verify", "--json"]).finish().await;
    assert_eq!(read(&whole).1.len(), 4, "all of main, which has no upstream");
    broker.repo().git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    assert_eq!(read(&broker.command(&["verify", "--json"]).finish().await), (0, vec![]));
}

#[tokio::test]
async fn a_receipt_is_written_only_for_an_allowed_commit() {
    let broker = start().await;
    let review = commit_approved(&broker, "zwei").await;
    let before = broker.repo().git(&["rev-parse", "HEAD"]);
    broker.command(&["receipt", "--note"]).stdout().await;
    assert_eq!(broker.repo().git(&["rev-parse", "HEAD"]), before, "a note changes no commit");
    let shown = broker.command(&["receipt", "--show", "--json"]).json().await;
    let statement = &shown["receipts"][0]["statement"];
    assert_eq!(statement["predicate"]["review"]["number"], json!(review));
    assert_eq!(statement["subject"][1]["digest"]["gitTree"], broker.repo().git(&["rev-parse", "HEAD^{tree}"]));
    broker.repo().write("staged.txt", "staged\n");
    broker.repo().git(&["add", "--all"]);
    broker.command(&["receipt", "--trailer"]).stdout().await;
    broker.command(&["receipt", "--trailer"]).stdout().await;
    let message = broker.repo().git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.matches("Countersigned: R-1 sha256:").count(), 1, "{message}");
    assert!(message.contains(" by ada (general)"), "{message}");
    assert_eq!(broker.repo().git(&["diff", "--cached", "--name-only"]), "staged.txt", "what is staged stays so");
    assert_eq!(standings(&broker, "HEAD~1..HEAD").await, (0, vec![json!("proven")]));
    let shown = broker.command(&["receipt", "--show"]).stdout().await;
    assert!(shown.starts_with("Countersigned: R-1 "), "{shown}");
    broker.repo().git(&["commit", "--quiet", "--message", "unapproved"]);
    let refused = broker.command(&["receipt"]).finish().await;
    assert_eq!(refused.code, 1);
    assert!(refused.out.contains("not approved; no receipt written"), "{}", refused.out);
    assert_eq!(git(&broker.repo().path(), &["notes", "--ref=countersign", "show", "HEAD"]).code, 1);
}

#[tokio::test]
async fn a_pushed_commit_is_amended_only_with_force() {
    let broker = start().await;
    commit_approved(&broker, "zwei").await;
    let bare = tempfile::tempdir().unwrap();
    git(bare.path(), &["init", "--quiet", "--bare"]);
    broker.repo().git(&["remote", "add", "origin", bare.path().to_str().unwrap()]);
    broker.repo().git(&["push", "--quiet", "origin", "main"]);
    let refused = broker.command(&["receipt", "--trailer"]).finish().await;
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("is already on origin/main; pass --force"), "{}", refused.err);
    broker.command(&["receipt", "--trailer", "--force"]).stdout().await;
    let earlier = broker.command(&["receipt", "HEAD~1", "--trailer"]).finish().await;
    assert_eq!(earlier.code, 1);
}

#[tokio::test]
async fn a_claim_of_an_approval_is_not_one() {
    let broker = start().await;
    commit_approved(&broker, "zwei").await;
    broker.command(&["receipt", "--trailer"]).stdout().await;
    broker.command(&["receipt", "--note"]).stdout().await;
    assert_eq!(standings(&broker, "HEAD").await, (0, vec![json!("proven")]));
    // Other content with the same message, and then with the same note.
    let before = broker.repo().git(&["rev-parse", "HEAD"]);
    stage(&broker, "boese");
    broker.repo().git(&["commit", "--quiet", "--amend", "--no-edit"]);
    assert_eq!(standings(&broker, "HEAD").await, (1, vec![json!("unproven")]));
    broker.repo().git(&["notes", "--ref=countersign", "copy", &before, "HEAD"]);
    let text = broker.command(&["verify", "HEAD"]).finish().await;
    assert_eq!(text.code, 1);
    assert!(
        text.out.contains("1 of 1 without an approval") && text.out.contains("it names R-1, but no approval"),
        "{}",
        text.out
    );
    // Without the database and without signers there is no answer.
    let elsewhere = tempfile::tempdir().unwrap();
    let ended = command_in(elsewhere.path(), &broker.repo().path(), &["verify", "HEAD"]).finish().await;
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("no database at") && ended.err.contains("pass --signers FILE"), "{}", ended.err);
}

#[tokio::test]
async fn piped_output_has_no_colours() {
    let broker = start().await;
    for line in [&["verify", "HEAD"][..], &["gate"], &["receipt", "--show"], &["tandem"], &["init", "--check"]] {
        let ended = broker.command(line).finish().await;
        assert!(!ended.out.contains('\u{1b}'), "{line:?}: {}", ended.out);
    }
}

#[tokio::test]
async fn hooks_write_receipts() {
    let broker = start().await;
    install(&broker, "post-commit", "COUNTERSIGN_GATE_RECEIPT=note");
    commit_approved(&broker, "zwei").await;
    let shown = broker.command(&["receipt", "--show"]).stdout().await;
    assert!(shown.starts_with("receipt for R-1 of project project"), "{shown}");
    install(&broker, "commit-msg", "COUNTERSIGN_GATE_RECEIPT=trailer");
    commit_approved(&broker, "deux").await;
    let message = broker.repo().git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("\n\nCountersigned: R-2 sha256:"), "{message}");
    stage(&broker, "tres");
    broker.repo().git(&["commit", "--quiet", "--message", "unapproved"]);
    assert_eq!(broker.repo().git(&["log", "-1", "--format=%B"]).trim(), "unapproved");
    approve(&broker, json!({ "target": { "commit": "HEAD" } })).await;
    assert_eq!(standings(&broker, "HEAD~3..HEAD").await.0, 0);
}

#[tokio::test]
async fn an_unreadable_database_is_an_undetermined_answer() {
    let broker = start().await;
    std::fs::write(broker.home().join("broken.db"), "x").unwrap();
    let data = broker.home().join("elsewhere");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("countersign.db"), "this file is not a database, despite its name").unwrap();
    let ended = broker.command(&["verify", "--data-dir", data.to_str().unwrap()]).finish().await;
    assert_eq!(ended.code, 2, "{}", ended.err);
    let ended = broker.command(&["verify", "nothing..HEAD"]).finish().await;
    assert_eq!(ended.code, 2);
}
