//! The hooks of agent clients: which commands are denied, when a turn is blocked, what a session starts with.

use crate::support::{
    approvals::{approve, approve_staged, git, propose, stage, staged, vote},
    broker::TestBroker,
    command::command_in,
};
use serde_json::{Value, json};

/// The output of a hook for this input. A hook always exits with 0 and prints one object.
async fn hook(broker: &TestBroker, line: &[&str], input: Value) -> Value {
    let line = [&["hook"], line].concat();
    broker.command(&line).stdin(&input.to_string()).json().await
}

/// The reason for which a command is denied, if it is.
async fn denied(broker: &TestBroker, command: &str) -> Option<String> {
    let input = json!({
        "session_id": "s", "cwd": broker.repo().path(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    let answer = hook(broker, &["pre-tool-use"], input).await;
    if answer == json!({}) {
        return None;
    }
    let decision = &answer["hookSpecificOutput"];
    assert_eq!((&decision["hookEventName"], &decision["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    Some(decision["permissionDecisionReason"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn an_unapproved_commit_is_denied_in_every_spelling() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.git(&["config", "alias.ci", "commit -m alias"]);
    repo.git(&["config", "alias.round", "about"]);
    repo.git(&["config", "alias.about", "round"]);
    repo.git(&["config", "alias.sh", "!f() { git commit; }; f"]);
    std::fs::create_dir(repo.path().join("sub")).unwrap();
    stage(&broker, "zwei");
    let root = repo.path().display().to_string();
    let commands = [
        "git commit -m x",
        "git commit -am 'x y'",
        "cd sub && git commit -m x",
        &format!("cd / && git -C {root} commit -m x"),
        &format!("cd {root} && GIT_AUTHOR_NAME=a git commit -m x"),
        "sh -c 'git commit -m x'",
        "bash -lc \"cd sub; git commit -m 'x'\"",
        "git add -A && git commit -m x && git push",
        "git commit --no-verify -m x",
        "git ci",
        "git sh",
        "git commit -F - <<'EOF'\nit's a message\nEOF",
        "git $SUBCOMMAND",
        "echo 'never closed; git commit",
        "git commit greeting.txt -m x",
    ];
    for command in commands {
        let reason = denied(&broker, command).await.unwrap_or_else(|| panic!("not denied: {command}"));
        assert!(
            reason.contains("no: the staged change is not approved") && reason.contains("countersign request --staged"),
            "{reason}"
        );
    }
    for command in [
        "git status",
        "echo 'git commit'",
        "git commit --dry-run",
        "git stash",
        "git round",
        "cd /tmp && git commit -m x",
        "ls",
    ] {
        assert_eq!(denied(&broker, command).await, None, "{command}");
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "M  greeting.txt", "nothing was run");
}

#[tokio::test]
async fn the_content_of_a_commit_is_predicted_without_side_effects() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.write("other.txt", "other\n");
    repo.git(&["add", "other.txt"]);
    approve(&broker, json!({ "diff": repo.git(&["diff", "greeting.txt"]) + "\n" })).await;
    let before = repo.git(&["status", "--porcelain"]);
    assert!(denied(&broker, "git commit -m x").await.is_some(), "other.txt is staged");
    assert!(denied(&broker, "git commit -am x").await.is_some(), "and comes with all");
    assert!(denied(&broker, "git commit --include greeting.txt -m x").await.is_some());
    assert_eq!(denied(&broker, "git commit -m x -- greeting.txt").await, None);
    assert_eq!(denied(&broker, "git rm --cached -q other.txt && git commit -am x").await, None);
    repo.git(&["rm", "--quiet", "--cached", "other.txt"]);
    assert_eq!(denied(&broker, "git add greeting.txt && git commit -m x").await, None);
    assert_eq!(denied(&broker, "git commit -am x").await, None);
    assert!(denied(&broker, "git add . && git commit -m x").await.is_some());
    for line in [
        "echo x >>greeting.txt && git commit -am x",
        "make && git add greeting.txt && git commit -m x",
        "git commit $FILES",
    ] {
        let reason = denied(&broker, line).await.unwrap_or_else(|| panic!("not denied: {line}"));
        assert!(reason.contains("the commit cannot be checked in advance"), "{line}: {reason}");
    }
    repo.git(&["add", "other.txt"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), before, "index and files are as they were");
    repo.git(&["commit", "--quiet", "--all", "--message", "both"]);
    repo.write("other.txt", "changed\n");
    approve(&broker, json!({ "base": "HEAD~1", "diff": repo.git(&["diff", "HEAD~1"]) + "\n" })).await;
    assert_eq!(denied(&broker, "git commit -a --amend --no-edit").await, None);
}

#[tokio::test]
async fn a_push_of_unapproved_commits_is_denied() {
    let broker = TestBroker::start().await;
    let (repo, bare) = (broker.repo(), tempfile::tempdir().unwrap());
    git(bare.path(), &["init", "--quiet", "--bare"]);
    repo.git(&["remote", "add", "origin", bare.path().to_str().unwrap()]);
    repo.git(&["push", "--quiet", "origin", "main"]);
    assert_eq!(denied(&broker, "git push").await, None, "the remote has all of it");
    stage(&broker, "zwei");
    repo.git(&["commit", "--quiet", "--message", "zwei"]);
    for command in [
        "git push",
        "git push origin main",
        "git push -u origin HEAD:refs/heads/x",
        "git push --all",
        "git push origin $BRANCH",
        "git push origin :",
        "git push --tags origin",
        "git push origin 'refs/heads/*:refs/heads/*'",
    ] {
        let reason = denied(&broker, command).await.unwrap_or_else(|| panic!("not denied: {command}"));
        assert!(reason.contains("(zwei) is not approved"), "{reason}");
    }
    for command in ["git push --dry-run", "git push origin :gone", "git push origin main~1:old"] {
        assert_eq!(denied(&broker, command).await, None, "{command}");
    }
    approve(&broker, json!({ "target": { "commit": "HEAD" } })).await;
    for command in ["git push origin main", "git fetch && git push", "git push origin :", "git push --tags origin"] {
        assert_eq!(denied(&broker, command).await, None, "{command}");
    }
    for command in [
        "git merge feat && git push origin main",
        "git cherry-pick feat && git push",
        "git branch -f main feat; git push",
        "cd \"$R\" && git push",
    ] {
        let reason = denied(&broker, command).await.unwrap_or_else(|| panic!("not denied: {command}"));
        assert!(reason.contains("run `git push` as a separate command"), "{reason}");
    }
    repo.git(&["checkout", "--quiet", "-b", "feat"]);
    stage(&broker, "drei");
    repo.git(&["commit", "--quiet", "--message", "drei"]);
    repo.git(&["tag", "v1"]);
    repo.git(&["checkout", "--quiet", "main"]);
    assert_eq!(denied(&broker, "git push origin main").await, None);
    for command in
        ["B=feat; git push origin $B", "git push origin :", "git push --tags origin", "git push origin 'refs/heads/*'"]
    {
        let reason = denied(&broker, command).await.unwrap_or_else(|| panic!("not denied: {command}"));
        assert!(reason.contains("(drei) is not approved"), "{reason}");
    }
}

/// Nothing is staged yet, so an empty prediction must not count as an empty commit.
#[tokio::test]
async fn a_line_that_stages_in_unpredictable_ways_is_denied() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    let root = repo.path().display().to_string();
    let outside = tempfile::tempdir().unwrap();
    for command in [
        "git add -Av && git commit -m x",
        "git rm -rf greeting.txt && git commit -m x",
        "git add --ignore-errors . && git commit -m x",
        "git add --chmod=+x greeting.txt && git commit -m x",
        "echo greeting.txt | git commit --pathspec-from-file=- -m x",
        "git commit -p -m x",
        "git commit --interactive",
        "git mv greeting.txt b && git commit -m x",
        "git apply --cached p && git commit -m x",
        "git stash pop --index && git commit -m x",
        "git merge --squash feat && git commit -m x",
        "bash -euo pipefail -c 'git add -A; git commit -m x'",
        &format!("R={root}; cd $R && git commit -am x"),
        &format!("cd / && R={root}; git -C $R commit -am x"),
        "pushd /tmp; popd; git commit -am x",
        "cd /tmp && cd - && git commit -am x",
        "cd nowhere; git commit -am x",
        "cd /tmp & git commit -am x",
        "echo 'git commit -am x' | sh",
        "function f { git commit -am x; }; f",
        "CMD='git commit -am x'; $CMD",
        "time -p git commit -am x",
        "flock /tmp/l git commit -am x",
        "env -S 'git commit -am x'",
        "trap 'git commit -am x' EXIT",
        &format!("cd {} && GIT_DIR={root}/.git GIT_WORK_TREE={root} git commit -am x", outside.path().display()),
        "git -c alias.zz=commit zz -am x",
        "python3 -c \"import os; os.system('git commit -am x')\"",
    ] {
        assert!(denied(&broker, command).await.is_some(), "not denied: {command}");
    }
    for command in ["git add -Av", "git mv greeting.txt b", "git stash pop", "cd $R && ls", "git stash push -m commit"]
    {
        assert_eq!(denied(&broker, command).await, None, "{command}");
    }
    approve(&broker, json!({ "diff": repo.git(&["diff"]) + "\n" })).await;
    for command in ["git add -Av && git commit -m x", "git switch -c feat && git commit -qam x", "git commit -asm x"] {
        assert_eq!(denied(&broker, command).await, None, "{command}");
    }
    repo.git(&["add", "greeting.txt"]);
    assert_eq!(denied(&broker, "make; git commit -m x").await, None, "what is staged stays so");
    let reason = denied(&broker, "git mv a b && git commit -m x").await.unwrap();
    assert!(reason.contains("run `git commit` as a separate command"), "{reason}");
}

#[tokio::test]
async fn the_workdir_of_a_tool_call_is_used() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let root = broker.repo().path();
    let (above, name) = (root.parent().unwrap(), root.file_name().unwrap().to_str().unwrap());
    let ask = async |workdir: Value| {
        let input = json!({
            "cwd": above, "tool_name": "Bash", "tool_input": { "command": "git commit -m x", "workdir": workdir },
        });
        hook(&broker, &["pre-tool-use"], input).await
    };
    assert_eq!(ask(json!(name)).await["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(ask(json!(root)).await["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(ask(json!(null)).await, json!({}));
}

#[tokio::test]
async fn a_client_hook_does_not_block_if_the_check_itself_fails() {
    let mut broker = TestBroker::start().await;
    broker.terminate().await;
    stage(&broker, "zwei");
    std::fs::write(broker.data_dir().join("countersign.db"), "not a database").unwrap();
    assert_eq!(denied(&broker, "git commit -m x").await, None);
    let input = json!({ "cwd": broker.repo().path(), "tool_input": { "command": "git commit -m x" } });
    let closed = hook(&broker, &["pre-tool-use", "--fail-closed"], input.clone()).await;
    assert_eq!(closed["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(hook(&broker, &["stop"], input.clone()).await, json!({}));
    assert!(hook(&broker, &["session-start"], input.clone()).await["hookSpecificOutput"].is_object());
    for line in ["pre-tool-use", "stop", "session-start"] {
        let ended = broker.command(&["hook", line]).stdin("not JSON").finish().await;
        assert_eq!((ended.code, ended.out.as_str()), (0, "{}\n"), "{}", ended.err);
        let broken = broker.command(&["hook", line]).var("COUNTERSIGN_CLAIMS_LEASE", "never").stdin(&input.to_string());
        let broken = broken.finish().await;
        assert_eq!(broken.code, 0, "{}", broken.err);
        assert!(serde_json::from_str::<Value>(&broken.out).unwrap().get("decision").is_none());
    }
    let home = tempfile::tempdir().unwrap();
    let nowhere = json!({ "cwd": home.path(), "tool_input": { "command": "git commit" } }).to_string();
    for line in ["pre-tool-use", "stop", "session-start"] {
        assert_eq!(command_in(home.path(), home.path(), &["hook", line]).stdin(&nowhere).json().await, json!({}));
    }
}

#[tokio::test]
async fn the_stop_hook_blocks_exactly_once_per_feedback() {
    let broker = TestBroker::start().await;
    let stop = async |session: &str, active: bool| {
        let input = json!({ "session_id": session, "cwd": broker.repo().path(), "hook_event_name": "Stop", "stop_hook_active": active });
        hook(&broker, &["stop"], input).await
    };
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    assert_eq!(stop("a", false).await, json!({}), "no feedback yet");
    vote(&broker, &review, "changes_requested").await;
    let blocked = stop("a", false).await;
    assert_eq!(blocked["decision"], "block");
    let reason = blocked["reason"].as_str().unwrap();
    assert!(reason.contains("R-1 (a change): changes requested: changes_requested, says ada"), "{reason}");
    for active in [true, false, true, false] {
        assert_eq!(stop("a", active).await, json!({}), "blocked before");
    }
    assert_eq!(stop("b", false).await["decision"], "block", "another session");
    broker.client().call("create_review", json!({ "review_id": review, "intent": "again" })).await;
    assert_eq!(stop("c", false).await, json!({}), "a revision is an answer");
    vote(&broker, &review, "approved").await;
    assert_eq!(stop("c", false).await, json!({}), "an approval needs no answer");
    let message =
        json!({ "review_id": review, "sender_role": "reviewer", "body": "and the tests?", "caller_id": "ada" });
    broker.client().call("add_message", message).await;
    assert_eq!(stop("a", true).await, json!({}), "never in a prolonged turn");
    let blocked = stop("a", false).await;
    assert!(blocked["reason"].as_str().unwrap().contains("an unanswered message"), "{blocked}");
    assert_eq!(stop("a", false).await, json!({}));
    let answer = json!({ "review_id": review, "sender_role": "proposer", "body": "there" });
    broker.client().call("add_message", answer).await;
    assert_eq!(stop("d", false).await, json!({}), "answered");
}

#[tokio::test]
async fn a_counter_patch_counts_as_feedback_for_its_proposer_only() {
    let broker = TestBroker::start().await;
    let patch = broker.repo().diff("deux");
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]), "proposer_id": "me" })).await;
    broker.client().claim(&review, "ada").await;
    let verdict = json!({ "review_id": review, "reviewer_id": "ada", "verdict": "comment", "reason": "so", "counter_patch": patch });
    broker.client().call("submit_verdict", verdict).await;
    let input = json!({ "session_id": "a", "cwd": broker.repo().path() });
    assert_eq!(hook(&broker, &["stop", "--as", "you"], input.clone()).await, json!({}));
    let reviewer =
        broker.command(&["hook", "stop"]).var("COUNTERSIGN_REVIEWER_ID", "codex-r1").stdin(&input.to_string());
    assert_eq!(reviewer.json().await, json!({}));
    let blocked = hook(&broker, &["stop", "--as", "me"], input).await;
    assert!(blocked["reason"].as_str().unwrap().contains("a reviewer offers a counter-patch"), "{blocked}");
}

#[tokio::test]
async fn the_hooks_report_a_message_of_a_person_and_an_escalation() {
    let broker = TestBroker::with_settings("[reviews]\nmax_rounds = 1").await;
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    let message = json!({ "review_id": review, "sender_role": "operator", "caller_id": "olga", "to": "proposer",
                          "body": "please say more" });
    broker.client().call("add_message", message).await;
    let input = json!({ "session_id": "a", "cwd": broker.repo().path() });
    let blocked = hook(&broker, &["stop"], input.clone()).await;
    assert!(blocked["reason"].as_str().unwrap().contains("an unanswered message"), "{blocked}");
    vote(&broker, &review, "changes_requested").await;
    assert_eq!(hook(&broker, &["stop"], input.clone()).await, json!({}), "the proposer waits for an operator");
    let started = hook(&broker, &["session-start"], input).await;
    let context = started["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("R-1 (a change): waits for an operator."), "{context}");
}

#[tokio::test]
async fn the_stop_hook_does_not_block_if_it_cannot_record_the_block() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    vote(&broker, &review, "changes_requested").await;
    std::fs::write(broker.repo().path().join(".git/countersign"), "in the way").unwrap();
    let input = json!({ "session_id": "a", "cwd": broker.repo().path() });
    assert_eq!(hook(&broker, &["stop"], input).await, json!({}));
}

#[tokio::test]
async fn a_session_starts_with_the_open_reviews() {
    let mut broker = TestBroker::start().await;
    stage(&broker, "zwei");
    let review = propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    let context = async |broker: &TestBroker, line: &[&str]| {
        let input = json!({ "session_id": "a", "cwd": broker.repo().path(), "source": "startup" });
        let answer = hook(broker, &[&["session-start"], line].concat(), input).await;
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    };
    let said = context(&broker, &[]).await;
    assert!(said.contains(&format!("runs at {}", broker.url(""))), "{said}");
    assert!(said.contains("R-1 (a change): pending. Next: `countersign wait R-1`"), "{said}");
    vote(&broker, &review, "changes_requested").await;
    assert!(context(&broker, &[]).await.contains("Reviews that wait for your answer: 1. Other open reviews: 0."));
    broker.terminate().await;
    assert!(context(&broker, &[]).await.contains("is not running; `countersign serve` starts it"));
    let started = context(&broker, &["--start"]).await;
    assert!(started.contains("runs at http://127.0.0.1:"), "{started}");
    let pid = broker.command(&["actors", "--json"]).json().await["pid"].as_u64();
    let note = std::fs::read_to_string(broker.data_dir().join("broker.json"));
    end(pid, note.ok().as_deref());
}

#[tokio::test]
async fn a_session_of_a_reviewer_starts_with_what_waits_for_a_reviewer() {
    let broker = TestBroker::start().await;
    let context = async |line: &[&str]| {
        let input = json!({ "session_id": "a", "cwd": broker.repo().path(), "source": "startup" });
        let answer = hook(&broker, &[&["session-start"], line].concat(), input).await;
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    };
    assert!(context(&["--role", "reviewer"]).await.contains("No review waits for a reviewer now"));
    stage(&broker, "zwei");
    let more = json!({ "diff": staged(&broker, &[]), "reviewers": ["security", "@ada"], "proposer_id": "eve" });
    propose(&broker, more).await;
    let said = context(&["--role", "reviewer"]).await;
    assert!(said.contains("Reviews that wait for a reviewer: 1. Take one with claim_review."), "{said}");
    assert!(said.contains("- R-1 (a change): unclaimed, seat security; unclaimed, seat @ada, for ada"), "{said}");
    assert!(!said.contains("Next: `countersign wait"), "the proposer's steps are not its: {said}");
    let own = context(&["--role", "reviewer", "--as", "eve"]).await;
    assert!(own.contains("No review waits for a reviewer now"), "its own: {own}");
    let both = context(&["--role", "both"]).await;
    assert!(both.contains("seat security") && both.contains("Next: `countersign wait R-1`"), "{both}");
    assert!(!context(&[]).await.contains("You review here"));
}

/// Stops the broker that a hook has started.
#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while kill runs")]
fn end(pid: Option<u64>, note: Option<&str>) {
    let noted = note.and_then(|note| serde_json::from_str::<Value>(note).ok()?["pid"].as_u64());
    let pid = pid.or(noted).expect("its process id");
    assert!(std::process::Command::new("kill").arg(pid.to_string()).status().unwrap().success());
}

#[tokio::test]
async fn an_approved_commit_is_not_denied() {
    let broker = TestBroker::start().await;
    stage(&broker, "zwei");
    approve_staged(&broker, &[]).await;
    assert_eq!(denied(&broker, "git commit -m x").await, None);
    let codex = json!({ "cwd": broker.repo().path(), "tool_name": "shell", "tool_input": { "command": ["bash", "-lc", "git commit -m x"] } });
    assert_eq!(hook(&broker, &["pre-tool-use"], codex.clone()).await, json!({}));
    stage(&broker, "deux");
    assert_eq!(hook(&broker, &["pre-tool-use"], codex).await["hookSpecificOutput"]["permissionDecision"], "deny");
}
