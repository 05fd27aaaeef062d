//! `countersign land` makes exactly the approved content a commit, and nothing else.

use crate::support::{
    approvals::{approve, approve_staged, git, propose, stage, staged, vote},
    broker::TestBroker,
    command::CommandOutput,
};
use serde_json::{Value, json};
use std::path::Path;

/// A broker, and a repository in which git knows a committer.
async fn start() -> TestBroker {
    let broker = TestBroker::start().await;
    name_committer(&broker);
    broker
}

fn name_committer(broker: &TestBroker) {
    broker.repo().git(&["config", "user.name", "Cleo"]);
    broker.repo().git(&["config", "user.email", "cleo@example.org"]);
}

/// The outcome of `land` as JSON, and its exit code.
async fn land(broker: &TestBroker, options: &[&str]) -> (i32, Value) {
    let line: Vec<_> = ["land", "--json"].iter().chain(options).copied().collect();
    let ended = broker.command(&line).finish().await;
    (ended.code, serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err)))
}

async fn refused(broker: &TestBroker, options: &[&str], because: &str) -> Value {
    let head = broker.repo().git(&["rev-parse", "main"]);
    let (code, answer) = land(broker, options).await;
    assert_eq!((code, &answer["outcome"], &answer["because"]), (1, &json!("refused"), &json!(because)), "{answer}");
    assert_eq!(broker.repo().git(&["rev-parse", "main"]), head, "the branch has not moved");
    answer
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// What `git status` says.
fn status(broker: &TestBroker) -> String {
    broker.repo().git(&["status", "--porcelain"])
}

/// An approved change of `greeting.txt` that is not in the working tree.
async fn approved_elsewhere(broker: &TestBroker, word: &str) -> String {
    stage(broker, word);
    let review = approve_staged(broker, &[]).await;
    broker.repo().git(&["reset", "--quiet", "--hard"]);
    review
}

/// An approved change of a file of its own that is not in the working tree.
async fn approved_file(broker: &TestBroker, file: &str, more: Value) -> String {
    broker.repo().write(file, "text\n");
    broker.repo().git(&["add", "--all"]);
    let mut arguments = more;
    arguments["diff"] = staged(broker, &[]).into();
    broker.repo().git(&["reset", "--quiet", "--hard"]);
    approve(broker, arguments).await
}

#[tokio::test]
async fn exactly_the_approved_content_becomes_a_commit_with_its_receipt() {
    let broker = start().await;
    let repo = broker.repo();
    let parent = repo.git(&["rev-parse", "HEAD"]);
    let review = approved_elsewhere(&broker, "zwei").await;
    let (code, dry) = land(&broker, &[&review, "--dry-run"]).await;
    assert_eq!((code, &dry["outcome"], &dry["parent"]), (0, &json!("would_land"), &json!(parent)), "{dry}");
    assert_eq!(repo.git(&["rev-parse", "main"]), parent);

    let (code, landed) = land(&broker, &[&review]).await;
    assert_eq!((code, &landed["outcome"], &landed["closed"]), (0, &json!("landed"), &json!(true)), "{landed}");
    let commit = repo.git(&["rev-parse", "main"]);
    assert_eq!((text(&landed["commit"]), &landed["tree"]), (commit.as_str(), &dry["tree"]));
    assert_eq!(repo.git(&["log", "-1", "--format=%P %T"]), format!("{parent} {}", text(&dry["tree"])));
    assert_eq!(std::fs::read_to_string(repo.path().join("greeting.txt")).unwrap(), "one\nzwei\nthree\n");
    assert_eq!(status(&broker), "", "index and files followed the branch");
    let message = repo.git(&["log", "-1", "--format=%an <%ae>|%cn <%ce>|%B"]);
    assert!(message.contains("|Cleo <cleo@example.org>|"), "{message}");
    assert!(message.contains("a change\n"), "{message}");
    assert!(message.contains(&format!("\nCountersigned: {review} sha256:")), "{message}");
    let note = repo.git(&["notes", "--ref=refs/notes/countersign", "show", "HEAD"]);
    assert!(note.contains("payload"), "a signed receipt: {note}");
    broker.command(&["gate", "--commit", "HEAD"]).stdout().await;
    broker.command(&["verify", "HEAD"]).stdout().await;

    let state = broker.client().status(&review).await;
    assert_eq!((&state["status"], &state["landed_as"]), (&json!("closed"), &json!(commit)));
    let (code, again) = land(&broker, &[&review]).await;
    assert_eq!((code, &again["outcome"], &again["commit"]), (0, &json!("had_landed"), &json!(commit)), "{again}");
    let said = broker.command(&["land", &review]).stdout().await;
    assert!(said.contains(&format!("{review}: has already landed on main as {}", &commit[..10])), "{said}");
    assert_eq!(repo.git(&["rev-parse", "main"]), commit);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn what_is_not_approved_does_not_land() {
    let broker = start().await;
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    let answer = refused(&broker, &[&review], "not_approved").await;
    assert!(text(&answer["message"]).contains("it is still pending"), "{answer}");
    vote(&broker, &review, "approved").await;
    broker.client().call("create_review", json!({ "review_id": review, "intent": "again" })).await;
    let answer = refused(&broker, &[&review], "not_approved").await;
    assert!(text(&answer["message"]).contains("it was approved, then revised"), "{answer}");
    vote(&broker, &review, "rejected").await;
    refused(&broker, &[&review], "not_approved").await;
    let plan = approve(&broker, json!({ "description": "a plan" })).await;
    refused(&broker, &[&plan], "no_diff").await;
    broker.repo().git(&["config", "user.useConfigOnly", "true"]);
    broker.repo().git(&["config", "--unset", "user.email"]);
    let other = approved_elsewhere(&broker, "deux").await;
    let unnamed = broker.command(&["land", &other]).finish().await;
    assert!(unnamed.code == 1 && unnamed.err.contains("set user.name and user.email"), "{}", unnamed.err);
    let unknown = broker.command(&["land", "R-99"]).finish().await;
    assert!(unknown.code == 1 && unknown.err.contains("no review"), "{}", unknown.err);
    assert_eq!(broker.command(&["land"]).finish().await.code, 2, "a review or --queue is needed");
}

#[tokio::test]
async fn a_moved_base_is_no_obstacle_while_the_diff_applies() {
    let broker = start().await;
    let review = approved_elsewhere(&broker, "zwei").await;
    let late = approved_elsewhere(&broker, "deux").await;
    broker.repo().write("beside.txt", "beside\n");
    let tip = broker.repo().commit("beside");
    let (code, landed) = land(&broker, &[&review]).await;
    assert_eq!((code, text(&landed["parent"])), (0, tip.trim()), "{landed}");
    broker.command(&["gate", "--commit", "HEAD"]).stdout().await;
    let answer = refused(&broker, &[&late], "does_not_apply").await;
    assert!(text(&answer["next"]).contains(&format!("countersign resubmit {late}")), "{answer}");
    // A change that landed by another way is recognised by its content.
    stage(&broker, "drei");
    let by_hand = approve_staged(&broker, &[]).await;
    broker.repo().git(&["commit", "--quiet", "--message", "by hand"]);
    let commit = broker.repo().git(&["rev-parse", "HEAD"]);
    let (code, answer) = land(&broker, &[&by_hand]).await;
    assert_eq!((code, &answer["outcome"], text(&answer["commit"])), (0, &json!("had_landed"), commit.as_str()));
    assert_eq!(broker.client().status(&by_hand).await["landed_as"], json!(commit));
    // After a revert it can land again.
    broker.repo().git(&["revert", "--no-edit", "HEAD"]);
    let (code, answer) = land(&broker, &[&by_hand]).await;
    assert_eq!((code, &answer["outcome"]), (0, &json!("landed")), "{answer}");
}

#[tokio::test]
async fn changes_in_the_working_tree_are_never_overwritten() {
    let broker = start().await;
    let repo = broker.repo();
    let review = approved_elsewhere(&broker, "zwei").await;
    repo.write("greeting.txt", "mine\n");
    let answer = refused(&broker, &[&review], "working_tree").await;
    assert!(text(&answer["message"]).contains("greeting.txt"), "{answer}");
    repo.git(&["add", "--all"]);
    refused(&broker, &[&review], "working_tree").await;
    assert_eq!(std::fs::read_to_string(repo.path().join("greeting.txt")).unwrap(), "mine\n");
    repo.git(&["reset", "--quiet", "--hard"]);
    let new = approved_file(&broker, "new.txt", json!({})).await;
    repo.write("new.txt", "mine\n");
    refused(&broker, &[&new], "working_tree").await;
    // Git itself would overwrite a file that it ignores.
    let excluded = repo.path().join(".git/info/exclude");
    std::fs::write(&excluded, "new.txt\n").unwrap();
    let answer = refused(&broker, &[&new], "working_tree").await;
    assert!(text(&answer["message"]).contains("new.txt"), "{answer}");
    assert_eq!(std::fs::read_to_string(repo.path().join("new.txt")).unwrap(), "mine\n");
    std::fs::write(&excluded, "").unwrap();
    std::fs::remove_file(repo.path().join("new.txt")).unwrap();
    repo.write("other.txt", "staged\n");
    repo.git(&["add", "--all"]);
    repo.write("untracked.txt", "untracked\n");
    let (code, landed) = land(&broker, &[&review]).await;
    assert_eq!(code, 0, "{landed}");
    assert_eq!(status(&broker), "A  other.txt\n?? untracked.txt", "other changes stay as they are");
}

#[tokio::test]
async fn the_approved_change_may_be_in_the_files_or_staged_already() {
    let broker = start().await;
    for (word, unstage) in [("zwei", false), ("deux", true)] {
        stage(&broker, word);
        let review = approve_staged(&broker, &[]).await;
        if unstage {
            broker.repo().git(&["reset", "--quiet"]);
        }
        let (code, landed) = land(&broker, &[&review]).await;
        assert_eq!((code, &landed["outcome"]), (0, &json!("landed")), "{landed}");
        assert_eq!(status(&broker), "", "{word}");
    }
}

#[tokio::test]
async fn a_branch_lands_on_its_base_as_one_commit() {
    let broker = start().await;
    let repo = broker.repo();
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    for name in ["a", "b"] {
        repo.write(name, "half\n");
        repo.commit(name);
    }
    let review = approve(&broker, json!({ "target": { "branch": "feature" } })).await;
    refused(&broker, &[&review, "--onto", "nowhere"], "no_branch").await;
    let (code, landed) = land(&broker, &[&review]).await;
    assert_eq!((code, &landed["branch"]), (0, &json!("main")), "{landed}");
    assert_eq!(repo.git(&["rev-list", "--count", "main"]), "2");
    assert_eq!(repo.git(&["rev-parse", "main^{tree}"]), repo.git(&["rev-parse", "feature^{tree}"]));
    assert_eq!((repo.git(&["branch", "--show-current"]), status(&broker)), ("feature".into(), String::new()));
    // The commits of a branch that was merged by hand are recognised.
    repo.write("c", "more\n");
    repo.commit("c");
    let next = approve(&broker, json!({ "target": { "range": "HEAD~1..HEAD" } })).await;
    repo.git(&["checkout", "--quiet", "-b", "release", "feature~1"]);
    let (code, landed) = land(&broker, &[&next]).await;
    assert_eq!((code, &landed["branch"]), (0, &json!("release")), "the current branch: {landed}");
    let (code, landed) = land(&broker, &[&next, "--onto", "feature"]).await;
    assert_eq!((code, &landed["outcome"]), (0, &json!("had_landed")), "{landed}");
    let (code, landed) = land(&broker, &[&next, "--onto", "main"]).await;
    assert_eq!(
        (code, &landed["outcome"]),
        (0, &json!("landed")),
        "one approval may land on several branches: {landed}"
    );
}

#[tokio::test]
async fn a_linked_working_tree_follows_and_an_operation_in_progress_does_not() {
    let broker = start().await;
    let repo = broker.repo();
    let review = approved_elsewhere(&broker, "zwei").await;
    let folder = tempfile::tempdir().unwrap();
    let linked = folder.path().join("linked");
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]);
    std::fs::write(linked.join("greeting.txt"), "mine\n").unwrap();
    refused(&broker, &[&review, "--onto", "main"], "working_tree").await;
    git(&linked, &["checkout", "--quiet", "greeting.txt"]);
    let merge_head = linked.join(git(&linked, &["rev-parse", "--git-path", "MERGE_HEAD"]).out.trim());
    std::fs::write(&merge_head, repo.git(&["rev-parse", "main"])).unwrap();
    let answer = refused(&broker, &[&review, "--onto", "main"], "working_tree").await;
    assert!(text(&answer["message"]).contains("in the middle of a merge"), "{answer}");
    std::fs::remove_file(merge_head).unwrap();
    let (code, landed) = land(&broker, &[&review, "--onto", "main"]).await;
    assert_eq!(code, 0, "{landed}");
    assert_eq!(std::fs::read_to_string(linked.join("greeting.txt")).unwrap(), "one\nzwei\nthree\n");
    assert_eq!(git(&linked, &["status", "--porcelain"]).out, "");
}

/// Everything in a repository that could run a program or change what is written.
fn set_traps(dir: &Path) {
    let hooks = dir.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction", "post-index-change"]
    {
        let file = hooks.join(hook);
        std::fs::write(&file, format!("#!/bin/sh\ntouch '{}/trapped'\nexit 1\n", dir.display())).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::write(dir.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    for (key, value) in [
        ("filter.evil.clean", "echo evil"),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.fsmonitor", "false"),
        ("i18n.commitEncoding", "UTF-16"),
        ("commit.gpgSign", "true"),
        ("apply.whitespace", "fix"),
        ("core.autocrlf", "true"),
    ] {
        git(dir, &["config", key, value]);
    }
}

#[tokio::test]
async fn nothing_in_the_repository_changes_the_commit() {
    let broker = start().await;
    let repo = broker.repo();
    repo.write("spaces.txt", "line  \n\n");
    repo.git(&["add", "--all"]);
    let review = approve_staged(&broker, &[]).await;
    let tree = repo.git(&["write-tree"]);
    let parent = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["reset", "--quiet", "--hard"]);
    repo.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    let other = repo.git(&["commit-tree", "-m", "x", "HEAD^{tree}"]);
    repo.git(&["replace", &parent, &other]);
    std::fs::write(repo.path().join(".git/info/grafts"), format!("{parent}\n")).unwrap();
    set_traps(&repo.path());
    let (code, landed) = land(&broker, &[&review, "--onto", "main"]).await;
    assert_eq!((code, &landed["outcome"]), (0, &json!("landed")), "{landed}");
    assert_eq!((text(&landed["tree"]), text(&landed["parent"])), (tree.as_str(), parent.as_str()));
    let stored = repo.git(&["--no-replace-objects", "cat-file", "commit", "main"]);
    assert!(stored.starts_with(&format!("tree {tree}\nparent {parent}\nauthor ")), "{stored}");
    assert!(!stored.contains("\nencoding ") && !stored.contains("gpgsig"), "{stored}");
}

#[tokio::test]
async fn a_review_of_another_project_does_not_land() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    let broker = {
        let source = testkit::Repo::new();
        source.git(&["clone", "--quiet", ".", other.to_str().unwrap()]);
        TestBroker::with_settings(&format!("[projects.other]\npath = '{}'\n", other.display())).await
    };
    std::fs::write(other.join("greeting.txt"), "one\nzwei\nthree\n").unwrap();
    let diff = git(&other, &["diff"]).out;
    let review = approve(&broker, json!({ "diff": diff, "project": "other" })).await;
    let answer = refused(&broker, &[&review], "other_project").await;
    assert!(text(&answer["message"]).contains("it belongs to the project other"), "{answer}");
    let (code, queue) = land(&broker, &["--queue"]).await;
    assert_eq!((code, &queue["reviews"]), (0, &json!([])));
}

#[tokio::test]
async fn it_lands_without_a_broker_and_a_later_call_closes_the_review() {
    let mut broker = start().await;
    let review = approved_elsewhere(&broker, "zwei").await;
    broker.terminate().await;
    let (code, landed) = land(&broker, &[&review]).await;
    assert_eq!((code, &landed["closed"]), (0, &json!(false)), "{landed}");
    assert!(text(&landed["next"]).starts_with(&format!("countersign close {review} --landed-as ")), "{landed}");
    let broker = broker.restarted().await;
    let (code, again) = land(&broker, &[&review]).await;
    assert_eq!((code, &again["outcome"], &again["closed"]), (0, &json!("had_landed"), &json!(true)), "{again}");
    let state = broker.client().status(&review).await;
    assert_eq!((&state["status"], &state["landed_as"]), (&json!("closed"), &landed["commit"]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_queue_lands_by_priority_then_by_approval_and_skips_what_no_longer_applies() {
    let broker = start().await;
    let slow = {
        broker.repo().write("slow.txt", "text\n");
        broker.repo().git(&["add", "--all"]);
        let diff = staged(&broker, &[]);
        broker.repo().git(&["reset", "--quiet", "--hard"]);
        propose(&broker, json!({ "diff": diff })).await
    };
    let first = approved_elsewhere(&broker, "zwei").await;
    let conflict = approved_elsewhere(&broker, "deux").await;
    let urgent = approved_file(&broker, "urgent.txt", json!({ "priority": "critical" })).await;
    let pending = {
        broker.repo().write("pending.txt", "text\n");
        broker.repo().git(&["add", "--all"]);
        let diff = staged(&broker, &[]);
        broker.repo().git(&["reset", "--quiet", "--hard"]);
        propose(&broker, json!({ "diff": diff })).await
    };
    vote(&broker, &slow, "approved").await;
    let (code, queue) = land(&broker, &["--queue"]).await;
    let rows: Vec<_> =
        queue["reviews"].as_array().unwrap().iter().map(|row| (text(&row["number"]), text(&row["outcome"]))).collect();
    assert_eq!(
        rows,
        [(urgent.as_str(), "landed"), (&first, "landed"), (&conflict, "refused"), (&slow, "landed")],
        "{pending} is not approved"
    );
    assert_eq!(code, 1, "one was refused");
    assert_eq!(broker.repo().git(&["rev-list", "--count", "HEAD"]), "4");
    broker.command(&["gate", "--range", "HEAD~3..HEAD"]).stdout().await;
    let state = broker.client().status(&conflict).await;
    assert_eq!((&state["status"], &state["waiting_on"][0]["who"]), (&json!("approved"), &json!("proposer")), "{state}");
    let (_, again) = land(&broker, &["--queue"]).await;
    assert_eq!(again["reviews"].as_array().unwrap().len(), 1, "{again}");
    let discussion = broker.client().call("get_discussion", json!({ "review_id": conflict })).await;
    assert_eq!(discussion["messages"].as_array().unwrap().len(), 1, "its proposer is informed once: {discussion}");
}

fn receiving_remote(broker: &TestBroker) -> tempfile::TempDir {
    let remote = tempfile::tempdir().unwrap();
    git(remote.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
    broker.repo().git(&["remote", "add", "origin", remote.path().to_str().unwrap()]);
    broker.repo().git(&["push", "--quiet", "origin", "main"]);
    let project = broker.repo().path().file_name().unwrap().to_str().unwrap().to_owned();
    let (binary, home, data) = (env!("CARGO_BIN_EXE_countersign"), broker.home().display(), broker.data_dir());
    let data = data.display();
    let hook = format!(
        "#!/bin/sh\nHOME='{home}' exec '{binary}' hook pre-receive --data-dir '{data}' --project '{project}'\n"
    );
    let file = remote.path().join("hooks/pre-receive");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, hook).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    remote
}

#[tokio::test]
async fn a_server_with_the_hook_accepts_every_commit_that_lands() {
    let broker = start().await;
    let remote = receiving_remote(&broker);
    let push = |spec: &str| -> CommandOutput { git(&broker.repo().path(), &["push", "--quiet", "origin", spec]) };
    let first = approved_elsewhere(&broker, "zwei").await;
    let (code, landed) = land(&broker, &[&first, "--push"]).await;
    assert_eq!((code, &landed["pushed_to"]), (0, &json!("origin")), "{landed}");
    let tip = git(remote.path(), &["rev-parse", "main"]).out;
    assert_eq!(tip.trim(), text(&landed["commit"]));
    // A mode, a deletion, a binary file and a symbolic link, on a base that has moved.
    let repo = broker.repo();
    std::fs::remove_file(repo.path().join("greeting.txt")).unwrap();
    std::fs::write(repo.path().join("raw.bin"), [0_u8, 159, 146, 150, 0]).unwrap();
    std::os::unix::fs::symlink("raw.bin", repo.path().join("link")).unwrap();
    repo.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(repo.path().join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.git(&["add", "--all"]);
    let mixed = approve_staged(&broker, &["--binary"]).await;
    repo.git(&["reset", "--quiet", "--hard"]);
    let beside = approved_file(&broker, "beside.txt", json!({ "priority": "critical" })).await;
    let (code, queue) = land(&broker, &["--queue"]).await;
    assert_eq!((code, queue["reviews"].as_array().unwrap().len()), (0, 2), "{mixed} {beside}: {queue}");
    for spec in ["main~1:refs/heads/part", "main"] {
        let pushed = push(spec);
        assert_eq!(pushed.code, 0, "{spec}: {}", pushed.err);
    }
    repo.write("evil.txt", "evil\n");
    repo.commit("evil");
    assert_eq!(push("main").code, 1);
    // A push that is refused is reported, and what has landed stays.
    let (code, again) = land(&broker, &[&mixed, "--push=nowhere"]).await;
    assert_eq!((code, &again["outcome"]), (1, &json!("had_landed")), "{again}");
    assert!(text(&again["problems"][0]).starts_with("not pushed: "), "{again}");
}
