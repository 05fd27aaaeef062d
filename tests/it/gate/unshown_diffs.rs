//! Diffs that git applies in another way than they show. They are refused as proposals and as counter-patches, and an
//! approval of one that was not checked opens no gate.

use crate::support::{
    approvals::{approve, git, propose},
    broker::TestBroker,
    client::id,
    client::proposal_with,
    reviews::{verdict, with},
};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

const EDIT: &str = "diff --git a/code b/code\n--- a/code\n+++ b/code\n@@ -1,2 +1,2 @@\n-one\n+eins\n // note\n";

/// What each of them does, and the diff.
fn hostile() -> Vec<(&'static str, String)> {
    let code = |hunk: &str| format!("--- a/code\n+++ b/code\n{hunk}");
    let nul = |header: &str| {
        format!(
            "diff --git \"a/CLAUDE.md\\000.txt\" \"b/CLAUDE.md\\000.txt\"\n{header}--- \"a/CLAUDE.md\\000.txt\"\n\
             +++ \"b/CLAUDE.md\\000.txt\"\n@@ -1 +1 @@\n-rules\n+evil\n"
        )
    };
    vec![
        ("hides its files behind an empty header", format!("{EDIT}diff --git a/other b/other\n")),
        ("hides its files behind an empty header with ids", format!("{EDIT}diff --git a/x b/x\nindex 1..2 100644\n")),
        ("joins the next line to a comment", format!("{EDIT}\\ No newline at end of file\n")),
        (
            "joins the next line to a new comment",
            code("@@ -1,2 +1,2 @@\n-one\n // note\n+// more\n\\ No newline at end of file\n"),
        ),
        ("writes a file whose name is cut", nul("")),
        (
            "creates a file whose name is cut",
            "diff --git \"a/n\\000\" \"b/n\\000\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/n\\000\"\n@@ -0,0 +1 @@\n+x\n".into(),
        ),
        (
            "names a file before it creates it",
            "diff --git a/n b/n\n--- a/n\nnew file mode 100644\n+++ b/n\n@@ -0,0 +1 @@\n+new\n".into(),
        ),
        ("makes a file executable without its old mode", EDIT.replace("--- a", "new mode 100755\n--- a")),
        (
            "makes a file executable and gives a wrong old mode",
            EDIT.replace("--- a", "old mode 100755\nnew mode 100755\n--- a"),
        ),
        ("states a change of mode to the mode that the file has", "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n".into()),
        ("changes a link as if it was a text", "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-code\n\\ No newline at end of file\n+/etc\n\\ No newline at end of file\n".into()),
        (
            "renames a file twice",
            "diff --git a/code b/new\nold mode 100644\nnew mode 100755\nrename from code\nrename to new\n\
             diff --git a/code b/new\nrename from code\nrename to new\n"
                .into(),
        ),
        (
            "creates what git leaves out",
            "diff --git a/n b/n\nnew file mode 040000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n".into(),
        ),
    ]
}

async fn broker_with_files() -> TestBroker {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.write("code", "one\n// note\ncheck();\nlast\n");
    repo.write("CLAUDE.md", "rules\n");
    repo.write("run", "x\n");
    std::fs::set_permissions(repo.path().join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("code", repo.path().join("link")).unwrap();
    repo.commit("files");
    broker
}

#[tokio::test]
async fn a_proposal_that_hides_something_is_sent_back() {
    let broker = broker_with_files().await;
    let client = broker.client();
    for (about, diff) in hostile() {
        let created = client.call("create_review", proposal_with(about, json!({ "diff": diff }))).await;
        assert_eq!(created["applies"], false, "{about}: {created}");
        let claim = json!({ "review_id": id(&created), "reviewer_id": "ada" });
        let claimed = client.call("claim_review", claim).await;
        assert_eq!(claimed["auto_rejected"], true, "{about}: {claimed}");
    }
    let honest = client.call("create_review", proposal_with("honest", json!({ "diff": EDIT }))).await;
    assert_eq!(honest["applies"], true, "{honest}");
}

#[tokio::test]
async fn a_counter_patch_that_hides_something_is_refused() {
    let broker = broker_with_files().await;
    let client = broker.client();
    for skips in [false, true] {
        let more = json!({ "diff": EDIT.replace("eins", "uno"), "skip_diff_validation": skips });
        let review = propose(&broker, more).await;
        client.claim(&review, "ada").await;
        let offer = |diff: &str| {
            with(verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": diff, "reason": "better" }))
        };
        for (about, diff) in hostile() {
            let answer = client.try_call("submit_verdict", offer(&diff)).await;
            assert!(answer.is_err(), "{about}, skips: {skips}: {answer:?}");
        }
        client.call("submit_verdict", offer(EDIT)).await;
    }
}

#[tokio::test]
async fn an_approval_of_an_unchecked_diff_does_not_open_the_gate_for_what_it_hides() {
    let broker = broker_with_files().await;
    let repo = broker.repo();
    let mut applied = 0;
    for (about, diff) in hostile() {
        let file = broker.home().join("patch");
        std::fs::write(&file, &diff).unwrap();
        approve(&broker, json!({ "diff": diff, "skip_diff_validation": true })).await;
        // Git itself applies most of them.
        if git(&repo.path(), &["apply", "--index", file.to_str().unwrap()]).code == 0
            && git(&repo.path(), &["diff", "--cached", "--quiet"]).code == 1
        {
            applied += 1;
            for fail in ["--fail-open", "--fail-closed"] {
                let gate = broker.command(&["gate", fail]).finish().await;
                assert_eq!(gate.code, 1, "{about} {fail}: {}{}", gate.out, gate.err);
            }
        }
        // Git leaves it behind when it aborts.
        let _ = std::fs::remove_file(repo.path().join(".git/index.lock"));
        repo.git(&["reset", "--quiet", "--hard"]);
    }
    assert!(applied >= 6, "git applied only {applied}");
}
