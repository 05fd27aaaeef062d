//! The gate allows exactly the approved content.

use crate::support::{
    approvals::{approve, approve_staged, git, install, propose, stage, staged, vote},
    broker::TestBroker,
    command::command_in,
};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn only_approved_content_may_land() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let before = broker.command(&["gate"]).finish().await;
    assert_eq!(
        (before.code, before.out.as_str()),
        (1, "no: the staged change is not approved\nnext: countersign request --staged\n")
    );
    let review = approve_staged(&broker, &[]).await;
    let yes = broker.command(&["gate", "--staged"]).stdout().await;
    assert!(yes.starts_with(&format!("yes: the staged change was approved in {review} (ada (general) at ")), "{yes}");
    let answer = broker.command(&["gate", "--json"]).json().await;
    assert_eq!((&answer["answer"], &answer["changes"][0]["review"]["number"]), (&json!("yes"), &json!(review)));
    assert_eq!(answer["changes"][0]["review"]["approvers"][0]["reviewer_id"], "ada");
    broker.repo().git(&["commit", "--quiet", "--message", "second"]);
    let commit = broker.command(&["gate", "--commit", "HEAD"]).stdout().await;
    assert!(commit.contains("(second) was approved in R-1"), "{commit}");
    let quiet = broker.command(&["gate", "--commit", "HEAD~1", "--quiet"]).finish().await;
    assert_eq!((quiet.code, quiet.out + &quiet.err), (1, String::new()));
}

#[tokio::test]
async fn a_difference_of_one_byte_is_denied() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    approve_staged(&broker, &[]).await;
    let said = async |file: &str| {
        broker.repo().git(&["add", "--all"]);
        let ended = broker.command(&["gate"]).finish().await;
        assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
        assert!(ended.out.contains(&format!("R-1 approved this change except for {file}\n")), "{}", ended.out);
    };
    for text in ["one\nzwei \nthree\n", "one\nzwei\nthree", "one\nzwei\r\nthree\n", "one\nzweI\nthree\n"] {
        broker.repo().write("greeting.txt", text);
        said("greeting.txt").await;
    }
    broker.repo().write("greeting.txt", "one\nzwei\nthree\n");
    broker.repo().write("more.txt", "");
    said("more.txt").await;
    std::fs::remove_file(broker.repo().path().join("more.txt")).unwrap();
    let file = broker.repo().path().join("greeting.txt");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    said("greeting.txt").await;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    broker.repo().git(&["add", "--all"]);
    broker.command(&["gate"]).stdout().await;
}

#[tokio::test]
async fn a_part_of_an_approved_change_is_denied() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    broker.repo().write("more.txt", "more\n");
    broker.repo().git(&["add", "--all"]);
    approve_staged(&broker, &[]).await;
    broker.repo().git(&["reset", "--quiet", "more.txt"]);
    let ended = broker.command(&["gate"]).finish().await;
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("R-1 approved this change except for more.txt"), "{}", ended.out);
}

#[tokio::test]
async fn an_approval_holds_on_another_base_and_for_a_diff_with_other_context() {
    let broker = TestBroker::start().await;
    let lines: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    broker.repo().write("long.txt", &(lines.join("\n") + "\n"));
    broker.repo().commit("long");
    for (round, options) in [&["-U10"][..], &["--no-prefix"], &["-U0"], &["-U10", "--no-prefix"]].iter().enumerate() {
        let text = std::fs::read_to_string(broker.repo().path().join("long.txt")).unwrap();
        broker.repo().write("long.txt", text.replace("20\n", "20\nzwanzig\n"));
        broker.repo().git(&["add", "--all"]);
        approve_staged(&broker, options).await;
        broker.command(&["gate"]).stdout().await;
        broker.repo().git(&["stash", "--quiet"]);
        broker.repo().write(&format!("other{round}.txt"), "other\n");
        broker.repo().write("long.txt", format!("{round}\n{text}"));
        broker.repo().commit("another base");
        broker.repo().git(&["stash", "pop", "--quiet"]);
        broker.repo().git(&["add", "--all"]);
        let yes = broker.command(&["gate"]).stdout().await;
        assert!(yes.contains("approved"), "{options:?}: {yes}");
        broker.repo().git(&["reset", "--quiet", "--hard"]);
    }
}

/// Without context lines, an approved change could land at another place after the lines have moved.
#[tokio::test]
async fn a_diff_without_context_counts_only_on_its_own_base() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let lines: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    let text = lines.join("\n") + "\n";
    repo.write("long.txt", &text);
    repo.commit("long");
    repo.write("long.txt", text.replace("10\n", "10\nreturn\n"));
    repo.git(&["add", "--all"]);
    approve_staged(&broker, &["-U0"]).await;
    assert_eq!(broker.command(&["gate"]).finish().await.code, 0, "on its own base");
    repo.git(&["reset", "--quiet", "--hard"]);
    repo.write("long.txt", format!("first\n{text}"));
    repo.commit("the lines move");
    for place in ["9\n", "10\n"] {
        repo.write("long.txt", format!("first\n{text}").replace(&format!("\n{place}"), &format!("\n{place}return\n")));
        repo.git(&["add", "--all"]);
        let ended = broker.command(&["gate"]).finish().await;
        assert_eq!(ended.code, 1, "after line {place}: {}", ended.out);
        repo.git(&["reset", "--quiet", "--hard"]);
    }
    let landed = broker.command(&["land", "R-1"]).finish().await;
    assert!(
        landed.code == 1 && format!("{}{}", landed.out, landed.err).contains("without context lines"),
        "{landed:?}"
    );
}

#[tokio::test]
async fn a_near_miss_names_the_status_of_its_review() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    let said = async |expected: &str| {
        let ended = broker.command(&["gate"]).finish().await;
        assert_eq!(ended.code, 1, "{}", ended.out);
        assert!(ended.out.contains(expected), "{}", ended.out);
    };
    said("R-1 is exactly this change, but it is still pending\nnext: countersign wait R-1\n").await;
    broker.client().claim(&review, "ada").await;
    said("R-1 is exactly this change, but it is still being reviewed\n").await;
    vote(&broker, &review, "changes_requested").await;
    said("but changes were requested: changes_requested, says ada\nnext: countersign show R-1, then").await;
    broker.client().call("create_review", json!({ "review_id": review, "intent": "again" })).await;
    vote(&broker, &review, "approved").await;
    broker.command(&["gate"]).stdout().await;
    broker.client().call("submit_verdict", crate::support::reviews::verdict(&review, "ada", "changes_requested")).await;
    said("but it was approved once, and then changes were requested").await;
    broker.client().call("create_review", json!({ "review_id": review, "intent": "third" })).await;
    said("but it was approved, then revised, and is still pending").await;
    broker.client().call("cancel_review", json!({ "review_id": review, "reason": "no" })).await;
    said("and was cancelled\nnext: countersign request --staged\n").await;
}

#[tokio::test]
async fn a_closed_review_keeps_its_approval_and_a_rejected_one_has_none() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let review = approve_staged(&broker, &[]).await;
    broker.client().call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    broker.command(&["gate"]).stdout().await;
    stage(&broker, "deux");
    let rejected = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    vote(&broker, &rejected, "rejected").await;
    let ended = broker.command(&["gate"]).finish().await;
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("R-2 is exactly this change, but it was rejected: rejected, says ada"), "{}", ended.out);
}

#[tokio::test]
async fn the_gate_works_without_a_broker() {
    let mut broker = TestBroker::start().await;
    stage(&broker, "zwei");
    approve_staged(&broker, &[]).await;
    broker.kill().await;
    broker.command(&["gate"]).stdout().await;
    let mut broker = broker.restarted().await;
    broker.terminate().await;
    broker.command(&["gate"]).stdout().await;
    stage(&broker, "deux");
    assert_eq!(broker.command(&["gate"]).finish().await.code, 1);
}

#[tokio::test]
async fn an_undetermined_answer_follows_fail_open_or_fail_closed() {
    let mut broker = TestBroker::start().await;
    broker.terminate().await;
    let said = async |expected: &str| {
        for (flag, code) in [(None, 2), (Some("--fail-open"), 0), (Some("--fail-closed"), 1)] {
            let line: Vec<_> = ["gate"].into_iter().chain(flag).collect();
            let ended = broker.command(&line).finish().await;
            assert_eq!((ended.code, ended.out.as_str()), (code, ""), "{}", ended.err);
            assert!(ended.err.contains("could not tell: ") && ended.err.contains(expected), "{}", ended.err);
        }
        let json = broker.command(&["gate", "--json"]).finish().await;
        assert_eq!(json.code, 2);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json.out).unwrap()["answer"], "unknown");
    };
    let database = broker.data_dir().join("countersign.db");
    std::fs::write(&database, "no database, but as long as the header of one would be, and then some more of it")
        .unwrap();
    said("not a database").await;
    std::fs::write(&database, "").unwrap();
    said("not a countersign database").await;
    std::fs::remove_file(&database).unwrap();
    said("no database at").await;
    assert!(!database.exists(), "a gate creates nothing");
}

#[tokio::test]
async fn outside_of_a_repository_the_answer_is_undetermined() {
    let home = tempfile::tempdir().unwrap();
    let ended = command_in(home.path(), home.path(), &["gate"]).finish().await;
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("not in a git repository"), "{}", ended.err);
    let bad = command_in(home.path(), home.path(), &["gate", "--staged", "--push"]).finish().await;
    assert_eq!(bad.code, 2);
}

#[tokio::test]
async fn an_empty_change_needs_no_approval() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let gate = async |expected: &str| {
        let ended = broker.command(&["gate", "--commit", "HEAD"]).finish().await;
        assert!(ended.out.contains(expected), "{}{}", ended.out, ended.err);
        ended.code
    };
    assert!(broker.command(&["gate"]).stdout().await.contains("the staged change has no net effect"));
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    assert_eq!(gate("has no net effect").await, 0);
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("side.txt", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("main.txt", "main\n");
    repo.commit("main");
    repo.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert_eq!(gate("is a clean merge, but it brings commit ").await, 1, "the other branch is not approved");
    approve(&broker, json!({ "target": { "commit": "side" } })).await;
    assert_eq!(gate("is a merge without manual changes").await, 0);
    repo.write("main.txt", "evil\n");
    repo.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    assert_eq!(gate("is not approved").await, 1);
}

#[tokio::test]
async fn exempt_paths_need_no_approval() {
    let broker = TestBroker::start().await;
    let gate = async || broker.command(&["gate"]).var("COUNTERSIGN_GATE_EXEMPT", "docs/").finish().await;
    broker.repo().write("docs/a.md", "a\n");
    broker.repo().git(&["add", "--all"]);
    assert!(gate().await.out.contains("changes only exempt files"));
    assert_eq!(broker.command(&["gate"]).finish().await.code, 1);
    stage(&broker, "zwei");
    approve_staged(&broker, &["--", "greeting.txt"]).await;
    assert_eq!(gate().await.code, 0);
    assert_eq!(broker.command(&["gate"]).finish().await.code, 1);
    stage(&broker, "deux");
    assert_eq!(gate().await.code, 1);
}

#[tokio::test]
async fn approved_commits_of_every_kind_are_recognized() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["mv", "greeting.txt", "hello.txt"]);
    repo.write("hello.txt", "one\ntwo\nthree\nfour\n");
    std::fs::write(repo.path().join("raw.bin"), [0_u8, 159, 146, 150, 0]).unwrap();
    std::os::unix::fs::symlink("hello.txt", repo.path().join("link")).unwrap();
    repo.git(&["add", "--all"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{first},sub")]);
    repo.git(&["commit", "--quiet", "--message", "of every kind"]);
    for name in [first.as_str(), "HEAD"] {
        approve(&broker, json!({ "target": { "commit": name } })).await;
        let yes = broker.command(&["gate", "--commit", name]).stdout().await;
        assert!(yes.contains("approved"), "{yes}");
    }
    // On another base, so that the diff must be applied to prove it.
    repo.git(&["checkout", "--quiet", "-b", "other", &first]);
    repo.write("new.txt", "new\n");
    repo.commit("another base");
    repo.git(&["cherry-pick", "main"]);
    let yes = broker.command(&["gate", "--commit", "HEAD"]).stdout().await;
    assert!(yes.contains("was approved in R-2"), "{yes}");
    std::fs::write(repo.path().join("raw.bin"), [0_u8, 159, 146, 151, 0]).unwrap();
    repo.git(&["commit", "--quiet", "--amend", "--no-edit", "raw.bin"]);
    let no = broker.command(&["gate", "--commit", "HEAD"]).finish().await;
    assert!(no.out.contains("R-2 approved this change except for raw.bin"), "{}", no.out);
}

#[tokio::test]
async fn a_range_is_approved_commit_by_commit_or_as_one() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    for (file, text) in [("a", "1\n"), ("b", "1\n"), ("a", "2\n"), ("c", "1\n")] {
        repo.write(file, text);
        repo.commit(&format!("{file} {}", text.trim()));
    }
    let gate = async |range: &str| broker.command(&["gate", "--range", range]).finish().await;
    let ended = gate("HEAD~4..HEAD").await;
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("next: countersign request --range "), "{}", ended.out);
    approve(&broker, json!({ "target": { "range": "HEAD~3..HEAD~1" } })).await;
    approve(&broker, json!({ "target": { "commit": "HEAD~3" } })).await;
    let ended = gate("HEAD~4..HEAD").await;
    assert_eq!(ended.code, 1);
    assert_eq!(ended.out.lines().filter(|line| line.starts_with("no: ")).count(), 1, "{}", ended.out);
    approve(&broker, json!({ "target": { "commit": "HEAD" } })).await;
    let ended = gate("HEAD~4..HEAD").await;
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert!(ended.out.contains("is one of 2 commits that R-1 approved together"), "{}", ended.out);
    repo.git(&["revert", "--no-edit", "HEAD"]);
    repo.write("d", "1\n");
    repo.commit("d");
    assert_eq!(gate("HEAD~2..HEAD").await.code, 1);
    assert_eq!(gate("HEAD~3..HEAD~1").await.code, 0, "what takes itself back brings nothing");
}

#[tokio::test]
async fn linked_worktrees_and_sha256_repositories_are_supported() {
    let other = tempfile::tempdir().unwrap();
    let dir = other.path().join("sha256");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet", "--object-format=sha256"]);
    std::fs::write(dir.join("a"), "a\n").unwrap();
    git(&dir, &["add", "--all"]);
    assert_eq!(git(&dir, &["commit", "--quiet", "--message", "first"]).code, 0);
    let broker = TestBroker::with_settings(&format!("[projects.sha256]\npath = '{}'\n", dir.display())).await;
    std::fs::write(dir.join("a"), "b\n").unwrap();
    git(&dir, &["add", "--all"]);
    let diff = git(&dir, &["diff", "--cached"]).out;
    approve(&broker, json!({ "diff": diff, "project": "sha256" })).await;
    let data_dir = broker.data_dir().display().to_string();
    let gate = async |dir: &std::path::Path| {
        command_in(broker.home(), dir, &["gate"]).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir).finish().await
    };
    assert_eq!(gate(&dir).await.code, 0);
    std::fs::write(dir.join("a"), "c\n").unwrap();
    git(&dir, &["add", "--all"]);
    assert_eq!(gate(&dir).await.code, 1);

    let tree = other.path().join("tree");
    broker.repo().git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    std::fs::write(tree.join("greeting.txt"), "one\nzwei\nthree\n").unwrap();
    git(&tree, &["add", "--all"]);
    assert_eq!(gate(&tree).await.code, 1);
    approve(&broker, json!({ "diff": git(&tree, &["diff", "--cached"]).out })).await;
    assert_eq!(gate(&tree).await.code, 0);
    let sub = tree.join("sub");
    std::fs::create_dir(&sub).unwrap();
    assert_eq!(gate(&sub).await.code, 0, "also in a folder of it");
}

#[tokio::test]
async fn an_approval_of_another_repository_does_not_count() {
    let broker = TestBroker::start().await;
    approve(&broker, json!({ "diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n" })).await;
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["init", "--quiet"]);
    git(other.path(), &["commit", "--quiet", "--allow-empty", "--message", "unrelated"]);
    std::fs::write(other.path().join("new.txt"), "new\n").unwrap();
    git(other.path(), &["add", "--all"]);
    let data_dir = broker.data_dir().display().to_string();
    let gate = command_in(broker.home(), other.path(), &["gate"]).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir);
    assert_eq!(gate.finish().await.code, 1);
}

#[tokio::test]
async fn a_real_commit_passes_the_hook_only_with_an_approval() {
    let broker = TestBroker::start().await;
    install(&broker, "pre-commit", "");
    let repo = broker.repo();
    let commit = |args: &[&str]| git(&repo.path(), &[&["commit", "--quiet", "--message", "x"], args].concat());
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.write("other.txt", "other\n");
    repo.git(&["add", "other.txt"]);
    let no = commit(&["--all"]);
    assert_eq!(no.code, 1);
    assert!(no.err.contains("countersign: no: the staged change is not approved"), "{}", no.err);
    assert!(no.err.contains("countersign: next: countersign request --staged"), "{}", no.err);
    // Only one of the two files: git gives the hook a separate index.
    approve(&broker, json!({ "diff": repo.git(&["diff", "greeting.txt"]) + "\n" })).await;
    assert_eq!(commit(&[]).code, 1, "the other file is staged");
    assert_eq!(commit(&["greeting.txt"]).code, 0);
    assert_eq!(repo.git(&["show", "--name-only", "--format="]), "greeting.txt");
    // An amended commit contains both approved changes.
    approve(&broker, json!({ "base": "HEAD~1", "diff": repo.git(&["diff", "--cached", "HEAD~1"]) + "\n" })).await;
    assert_eq!(commit(&["--amend"]).code, 0);
    assert_eq!(commit(&["--amend", "--allow-empty"]).code, 0, "only the message");
    repo.write("other.txt", "changed\n");
    assert_eq!(commit(&["--all", "--amend"]).code, 1);
}

#[tokio::test]
async fn the_hook_sees_the_index_of_a_linked_worktree() {
    let broker = TestBroker::start().await;
    install(&broker, "pre-commit", "");
    let other = tempfile::tempdir().unwrap();
    let tree = other.path().join("tree");
    broker.repo().git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    std::fs::create_dir(tree.join("sub")).unwrap();
    std::fs::write(tree.join("sub/new.txt"), "new\n").unwrap();
    git(&tree, &["add", "--all"]);
    let commit = || git(&tree.join("sub"), &["commit", "--quiet", "--message", "x"]);
    assert_eq!(commit().code, 1);
    approve(&broker, json!({ "diff": git(&tree, &["diff", "--cached"]).out })).await;
    let ended = commit();
    assert_eq!(ended.code, 0, "{}", ended.err);
}

#[tokio::test]
async fn a_hook_with_an_undetermined_answer_passes_unless_fail_closed() {
    let mut broker = TestBroker::start().await;
    broker.terminate().await;
    std::fs::remove_file(broker.data_dir().join("countersign.db")).unwrap();
    let commit = |word: &str| {
        stage(&broker, word);
        git(&broker.repo().path(), &["commit", "--quiet", "--message", word])
    };
    install(&broker, "pre-commit", "");
    let passed = commit("zwei");
    assert_eq!(passed.code, 0, "{}", passed.err);
    assert!(passed.err.contains("cannot check for an approval, so nothing was checked"), "{}", passed.err);
    install(&broker, "pre-commit", "COUNTERSIGN_GATE_FAIL=closed");
    let refused = commit("deux");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("cannot check for an approval: "), "{}", refused.err);
    broker.repo().write(".countersign/config.toml", "gate.fail = 'closed'\n");
    install(&broker, "pre-commit", "");
    assert_eq!(commit("tres").code, 1, "a project may ask for it");
}

#[tokio::test]
async fn a_real_push_passes_only_with_approvals() {
    let broker = TestBroker::start().await;
    let (repo, bare) = (broker.repo(), tempfile::tempdir().unwrap());
    git(bare.path(), &["init", "--quiet", "--bare"]);
    repo.git(&["remote", "add", "origin", bare.path().to_str().unwrap()]);
    repo.git(&["push", "--quiet", "origin", "main"]);
    install(&broker, "pre-push", "");
    let push = |args: &[&str]| git(&repo.path(), &[&["push", "--quiet", "origin"], args].concat());
    stage(&broker, "zwei");
    repo.git(&["commit", "--quiet", "--message", "zwei"]);
    let no = push(&["main"]);
    assert_eq!(no.code, 1);
    assert!(no.err.contains("(zwei) is not approved") && no.err.contains("request --commit "), "{}", no.err);
    assert_eq!(push(&["main~1:refs/heads/old"]).code, 0, "the remote has all of it");
    assert_eq!(push(&["main:new"]).code, 1, "a new branch with an unapproved commit");
    assert_eq!(push(&["--delete", "old"]).code, 0);
    approve(&broker, json!({ "target": { "commit": "main" } })).await;
    assert_eq!(push(&["main", "main:new"]).code, 0);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    for n in ["1", "2"] {
        repo.write("feature.txt", n);
        repo.commit(n);
    }
    assert_eq!(push(&["feature"]).code, 1);
    approve(&broker, json!({ "target": { "branch": "feature" } })).await;
    let yes = push(&["feature"]);
    assert_eq!(yes.code, 0, "{}", yes.err);
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-edit", "feature"]);
    assert_eq!(push(&["main"]).code, 0);
}

#[tokio::test]
async fn a_hidden_submodule_change_still_counts() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let bump = |id: &str| repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},sub")]);
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ../sub\n");
    repo.git(&["add", ".gitmodules"]);
    bump(&first);
    repo.git(&["commit", "--quiet", "--message", "sub"]);
    repo.git(&["config", "submodule.sub.ignore", "all"]);
    bump(&"1".repeat(first.len()));
    let no = broker.command(&["gate"]).finish().await;
    assert_eq!(no.code, 1, "{}{}", no.out, no.err);
    assert!(no.out.contains("the staged change is not approved"), "{}", no.out);
    repo.git(&["commit", "--quiet", "--message", "bump"]);
    assert_eq!(broker.command(&["gate", "--commit", "HEAD"]).finish().await.code, 1);
}

#[tokio::test]
async fn git_replace_refs_are_ignored() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    stage(&broker, "zwei");
    approve_staged(&broker, &[]).await;
    repo.git(&["commit", "--quiet", "--message", "approved"]);
    let approved = repo.git(&["rev-parse", "HEAD"]);
    stage(&broker, "boese");
    repo.git(&["commit", "--quiet", "--amend", "--message", "another"]);
    repo.git(&["replace", "HEAD", &approved]);
    let no = broker.command(&["gate", "--commit", "HEAD"]).finish().await;
    assert_eq!(no.code, 1, "{}{}", no.out, no.err);
    assert!(no.out.contains("(another) is not approved"), "{}", no.out);
}

#[tokio::test]
async fn the_first_denied_commit_ends_the_check_and_too_many_commits_are_denied() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    for n in ["1", "2", "3"] {
        repo.write("n", n);
        repo.commit(n);
    }
    approve(&broker, json!({ "target": { "commit": "HEAD~2" } })).await;
    let no = broker.command(&["gate", "--range", "HEAD~3..HEAD"]).finish().await;
    assert_eq!(no.code, 1);
    assert!(no.out.contains("(2) is not approved") && no.out.contains("not examined: 1 later commit\n"), "{}", no.out);
    assert!(no.out.contains("next: countersign request --range "), "{}", no.out);
    let answer: serde_json::Value =
        serde_json::from_str(&broker.command(&["gate", "--range", "HEAD~3..HEAD", "--json"]).finish().await.out)
            .unwrap();
    assert_eq!(answer["changes"][2]["because"], "after_no");

    let mut import = String::new();
    for n in 0..1001 {
        let from = if n == 0 { "from refs/heads/main\n" } else { "" };
        import.push_str(&format!(
            "commit refs/heads/long\ncommitter T <t@example.invalid> {n} +0000\ndata 1\nx\n{from}\n"
        ));
    }
    let file = broker.home().join("import");
    std::fs::write(&file, import).unwrap();
    import_into(&repo.path(), &file);
    let no = broker.command(&["gate", "--range", "main..long"]).finish().await;
    assert_eq!(no.code, 1, "{}{}", no.out, no.err);
    assert!(no.out.contains("is the last of more than 1000 commits"), "{}", no.out);
    assert_eq!(broker.command(&["gate", "--range", "main..long~900"]).finish().await.code, 0, "they change nothing");
}

#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while git runs")]
fn import_into(dir: &std::path::Path, file: &std::path::Path) {
    let file = std::fs::File::open(file).unwrap();
    let mut git = std::process::Command::new("git");
    assert!(git.args(["fast-import", "--quiet"]).current_dir(dir).stdin(file).status().unwrap().success());
}

#[tokio::test]
async fn merge_drivers_of_the_repository_are_not_run() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let mark = broker.home().join("ran");
    repo.git(&["config", "merge.mine.driver", &format!("touch '{}'; echo driven >%A", mark.display())]);
    repo.write(".gitattributes", "*.txt merge=mine\n");
    std::fs::create_dir_all(repo.path().join(".git/info")).unwrap();
    std::fs::write(repo.path().join(".git/info/attributes"), "*.txt merge=mine\n").unwrap();
    repo.commit("attributes");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("greeting.txt", "one\ntwo\ndrei\n");
    repo.commit("side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("greeting.txt", "eins\ntwo\nthree\n");
    repo.commit("main");
    repo.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert!(mark.exists(), "git itself runs it");
    std::fs::remove_file(&mark).unwrap();
    let no = broker.command(&["gate", "--commit", "HEAD"]).finish().await;
    assert_eq!(no.code, 1, "what the driver made is not what git makes: {}{}", no.out, no.err);
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_denial_keeps_its_exit_code_with_a_closed_pipe() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    assert_eq!(code_unread(&broker, "gate"), 1);
    assert_eq!(code_unread(&broker, "verify"), 1);
}

/// The exit code of a command whose output goes to a closed pipe.
#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while it runs")]
fn code_unread(broker: &TestBroker, command: &str) -> i32 {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut gate = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    gate.arg(command).arg("--data-dir").arg(broker.data_dir()).current_dir(broker.repo().path()).stdout(writer);
    gate.env("HOME", broker.home()).stderr(std::process::Stdio::piped());
    let ended = gate.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    ended.status.code().unwrap()
}
