//! Diffs: affected files, the check whether they apply, and what a reviewer sees of it.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal, proposal_with},
    reviews::{self, column, last_event, with},
};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use testkit::Repo;

#[tokio::test]
async fn every_kind_of_change_is_listed_and_makes_the_tree_that_git_makes() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    repo.write("old name.txt", "a line that stays\n".repeat(20));
    repo.write("gone.txt", "away\n");
    repo.write("script.sh", "echo\n");
    std::fs::write(repo.path().join("picture.png"), [0, 159, 146, 150, 0, 1, 2]).unwrap();
    repo.commit("more files");
    let base = repo.git(&["rev-parse", "HEAD"]);

    repo.write("greeting.txt", "one\nzwei\nthree\nfour");
    repo.write("new.txt", "no newline at the end");
    std::fs::remove_file(repo.path().join("gone.txt")).unwrap();
    std::fs::rename(repo.path().join("old name.txt"), repo.path().join("Größe \"neu\"\t.txt")).unwrap();
    std::fs::set_permissions(repo.path().join("script.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(repo.path().join("picture.png"), [0, 159, 146, 150, 0, 9, 9, 9]).unwrap();
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached", "--binary", "--find-renames"]) + "\n";
    let tree = repo.git(&["write-tree"]);

    let created = client.call("create_review", proposal_with("all kinds", json!({ "diff": diff }))).await;
    let files = created["affected_files"].as_array().unwrap();
    let found = |path: &str| {
        let file = files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path} in {files:?}"));
        (file["operation"].as_str().unwrap(), file["added"].as_u64().unwrap(), file["removed"].as_u64().unwrap())
    };
    assert_eq!(files.len(), 6);
    assert_eq!(found("greeting.txt"), ("modify", 2, 1));
    assert_eq!(found("new.txt"), ("create", 1, 0));
    assert_eq!(found("gone.txt"), ("delete", 0, 1));
    assert_eq!(found("script.sh"), ("mode", 0, 0));
    assert_eq!(found("Größe \"neu\"\t.txt"), ("rename", 0, 0));
    assert_eq!(found("picture.png"), ("modify", 0, 0));
    let named = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(named("Größe \"neu\"\t.txt")["old_path"], "old name.txt");
    assert_eq!((&named("picture.png")["binary"], &named("new.txt")["binary"]), (&json!(true), &json!(false)));

    assert_eq!((&created["applies"], &created["applies_to"]), (&json!(true), &json!("base")));
    assert_eq!((&created["tree_id"], &created["base_commit"]), (&json!(tree), &json!(base)));
    assert_eq!(created["patch_id"], patch_id(repo, &diff));
    let id = id(&created);
    let claim = client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert_eq!((&claim["tree_id"], &claim["affected_files"]), (&json!(tree), &created["affected_files"]));
    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!((&read["diff"], &read["tree_id"]), (&json!(diff), &json!(tree)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_file_of_a_diff_can_be_read_alone() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    repo.write("a b.txt", "new\n");
    repo.write("greeting.txt", "one\n--- a/fake\n+++ b/fake\nthree\n");
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached"]) + "\n";
    let id = id(&client.call("create_review", proposal_with("two files", json!({ "diff": diff }))).await);
    let part = |file: &str| {
        let read = client.call("get_proposal", json!({ "review_id": id, "file": file }));
        async move { read.await["diff"].as_str().unwrap().to_owned() }
    };
    let (first, second) = (part("a b.txt").await, part("greeting.txt").await);
    assert!(first.starts_with("diff --git a/a b.txt") && second.starts_with("diff --git a/greeting.txt"));
    assert_eq!(first + &second, diff);
    let unknown = json!({ "review_id": id, "file": "fake" });
    let refused = client.refused("unknown_file", "get_proposal", unknown).await;
    assert_eq!(refused["allowed"], json!(["a b.txt", "greeting.txt"]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_that_does_not_apply_is_rejected_when_claimed() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei").replace("-two", "-twelve");
    let created = client.call("create_review", proposal_with("too early", json!({ "diff": diff }))).await;
    assert_eq!((&created["status"], &created["applies"]), (&json!("pending"), &json!(false)));
    let words = created["validation_error"].as_str().unwrap();
    assert!(words.contains("greeting.txt") && words.contains("patch does not apply"), "git's own words: {words}");

    let id = id(&created);
    let claim = client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert_eq!((&claim["status"], &claim["auto_rejected"]), (&json!("changes_requested"), &json!(true)));
    assert_eq!((&claim["claimed_by"], &claim["seat"]), (&json!("broker-validator"), &Value::Null));
    assert_eq!(claim["validation_error"], words);
    let status = client.status(&id).await;
    assert_eq!((&status["verdict"], &status["verdict_by"]), (&json!("changes_requested"), &json!("broker-validator")));
    assert_eq!((&status["verdict_reason"], &status["auto_rejected"]), (&json!(words), &json!(true)));
    client.refused("not_claimed", "submit_verdict", reviews::verdict(&id, "ada", "approved")).await;

    let good = json!({ "review_id": id, "intent": "in time", "diff": broker.repo().diff("zwei") });
    let revised = client.call("create_review", good).await;
    assert_eq!((&revised["applies"], &revised["current_round"]), (&json!(true), &json!(2)));
    client.claim(&id, "ada").await;
    let status = client.status(&id).await;
    assert_eq!((&status["auto_rejected"], &status["claimed_by"]), (&json!(false), &json!("ada")));
    let old = client.call("get_proposal", json!({ "review_id": id, "round": 1 })).await;
    assert_eq!((&old["verdict_reason"], &old["auto_rejected"]), (&json!(words), &json!(true)));
    assert_eq!(column(&old["iterations"], "reviewer_id"), ["broker-validator"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn work_that_is_already_written_or_committed_is_checked_against_its_base() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let base = repo.git(&["rev-parse", "HEAD"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    let diff = repo.git(&["diff"]) + "\n";
    let written = client.call("create_review", proposal_with("written", json!({ "diff": diff }))).await;
    assert_eq!((&written["applies"], &written["base_commit"]), (&json!(true), &json!(base)));

    repo.commit("already done");
    let (head, tree) = (repo.git(&["rev-parse", "HEAD"]), repo.git(&["rev-parse", "HEAD^{tree}"]));
    let committed = client.call("create_review", proposal_with("committed", json!({ "diff": diff }))).await;
    assert_eq!((&committed["applies"], &committed["base_commit"]), (&json!(false), &json!(head)));
    for name in [&*base, "HEAD~1", "main^", &base[..10]] {
        let named = json!({ "diff": diff, "base": name });
        let against = client.call("create_review", proposal_with("against its base", named)).await;
        assert_eq!((&against["applies"], &against["base_commit"]), (&json!(true), &json!(base)), "{name}");
        assert_eq!(against["tree_id"], tree);
    }
    // HEAD has moved, but the base of the earlier proposal has not.
    assert_eq!(client.claim(&id(&written), "ada").await, 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_base_that_is_not_a_commit_is_refused() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let blob = broker.repo().git(&["rev-parse", "HEAD:greeting.txt"]);
    let before = last_event(&client).await;
    for base in ["no-such-branch", &blob, "--all", "-", "HEAD:greeting.txt", "a b", "@{upstream}"] {
        let proposal = proposal_with("based", json!({ "diff": diff, "base": base }));
        let refused = client.refused("bad_base", "create_review", proposal).await;
        assert_eq!(refused["field"], "base", "{refused}");
    }
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_worktree_and_index_of_the_user_are_unchanged() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let diff = repo.diff("zwei");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("greeting.txt", "half\ndone\n");
    repo.write("untracked.txt", "mine\n");
    let state = || {
        let index = std::fs::read(repo.path().join(".git/index")).unwrap();
        let objects = repo.git(&["count-objects", "-v"]);
        (index, objects, repo.git(&["--no-optional-locks", "status", "--porcelain"]))
    };
    let before = state();
    let id = id(&client.call("create_review", proposal_with("careful", json!({ "diff": diff }))).await);
    client.claim(&id, "ada").await;
    let patch = json!({ "counter_patch": diff.replace("+zwei", "+dos") });
    client.call("submit_verdict", with(reviews::verdict(&id, "ada", "changes_requested"), patch)).await;
    client.call("accept_counter_patch", json!({ "review_id": id })).await;
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_to_string(repo.path().join("greeting.txt")).unwrap(), "half\ndone\n");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unchecked_diff_is_marked_for_its_reviewer() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei").replace("-two", "-twelve");
    let unchecked = json!({ "diff": diff, "skip_diff_validation": true });
    let created = client.call("create_review", proposal_with("trust me", unchecked)).await;
    assert_eq!((&created["applies"], &created["diff_validation_skipped"]), (&Value::Null, &json!(true)));
    let id = id(&created);
    let claim = client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert_eq!((&claim["status"], &claim["diff_validation_skipped"]), (&json!("claimed"), &json!(true)));
    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!((&read["diff_validation_skipped"], &read["tree_id"]), (&json!(true), &Value::Null));
    assert_eq!(client.status(&id).await["diff_validation_skipped"], true);

    // A revision without the argument keeps the setting; one with `false` is checked.
    client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    let revised = client.call("create_review", json!({ "review_id": id, "intent": "still" })).await;
    assert_eq!(revised["diff_validation_skipped"], true);
    client.claim(&id, "ada").await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    let checked = json!({ "review_id": id, "intent": "now checked", "skip_diff_validation": false });
    let revised = client.call("create_review", checked).await;
    assert_eq!((&revised["diff_validation_skipped"], &revised["applies"]), (&Value::Null, &json!(false)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn risky_changes_are_flagged() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let diff = dangerous(repo);
    let created = client.call("create_review", proposal_with("harmless", json!({ "diff": diff }))).await;
    let expected =
        ["agent_config", "bidi_characters", "ci_config", "git_config", "mode_change", "symlink", "text_outside_hunks"];
    assert_eq!(kinds(&created), expected);
    let claim = json!({ "review_id": created["review_id"], "reviewer_id": "ada" });
    assert_eq!(kinds(&client.call("claim_review", claim).await), expected);
    let read = client.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
    assert_eq!(kinds(&read), expected);
    let link = read["flags"].as_array().unwrap().iter().find(|flag| flag["kind"] == "symlink").unwrap();
    assert_eq!(link["path"], "link");
    assert!(link["detail"].as_str().unwrap().contains("/etc/passwd"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_policy_refuses_only_the_flags_that_it_names() {
    let broker = TestBroker::with_settings("[git]\nrefuse = [\"symlink\", \"agent_config\"]\n").await;
    let (client, repo) = (broker.client(), broker.repo());
    let before = last_event(&client).await;
    let refused =
        client.refused("flagged_diff", "create_review", proposal_with("no", json!({ "diff": dangerous(repo) }))).await;
    let flags = refused["refused_flags"].to_string();
    assert!(flags.contains("symlink in link") && flags.contains("agent_config in .mcp.json"), "{flags}");
    assert!(!flags.contains("ci_config"), "{flags}");
    assert_eq!(last_event(&client).await, before);

    repo.git(&["reset", "--hard", "--quiet"]);
    repo.write(".github/workflows/ci.yml", "on: push\n");
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached"]) + "\n";
    let created = client.call("create_review", proposal_with("only shown", json!({ "diff": diff }))).await;
    assert_eq!(kinds(&created), ["ci_config"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn outside_of_a_repository_plans_are_reviewed_and_diffs_refused() {
    let broker = TestBroker::without_repo().await;
    let client = broker.client();
    let plan = proposal_with("a plan", json!({ "description": "First this, then that.", "category": "plan_review" }));
    let plan = id(&client.call("create_review", plan).await);
    client.claim(&plan, "ada").await;
    let before = last_event(&client).await;
    let diff = Repo::new().diff("zwei");
    let refused =
        client.refused("no_repository", "create_review", proposal_with("a diff", json!({ "diff": diff }))).await;
    assert!(refused["error"].as_str().unwrap().contains("--repo"), "says what to do: {refused}");
    let offer = with(reviews::verdict(&plan, "ada", "changes_requested"), json!({ "counter_patch": diff }));
    client.refused("no_repository", "submit_verdict", offer).await;
    client
        .refused("unknown_project", "create_review", proposal_with("elsewhere", json!({ "project": "project" })))
        .await;
    assert_eq!(last_event(&client).await, before);
    client.call("submit_verdict", reviews::verdict(&plan, "ada", "approved")).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_project_is_a_registered_name_and_never_a_path() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let path = broker.repo().path();
    for project in [path.to_str().unwrap(), ".", "..", "/", "project/../project", "Project"] {
        let proposal = proposal_with("elsewhere", json!({ "project": project }));
        let refused = client.refused("unknown_project", "create_review", proposal).await;
        assert_eq!(refused["allowed"], json!(["project"]));
    }
    let named = client.call("create_review", proposal_with("here", json!({ "project": "project" }))).await;
    let unnamed = client.call("create_review", proposal("here")).await;
    for review in [named, unnamed] {
        assert_eq!(client.status(&id(&review)).await["project"], "project");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_is_checked_against_its_own_project() {
    let other = Repo::new();
    other.write("greeting.txt", "uno\ndos\ntres\n");
    other.commit("spanish");
    let broker = TestBroker::with_settings(&format!("[projects.spanish]\npath = {:?}\n", other.path())).await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let here = client.call("create_review", proposal_with("here", json!({ "diff": diff }))).await;
    let there =
        client.call("create_review", proposal_with("there", json!({ "diff": diff, "project": "spanish" }))).await;
    assert_eq!((&here["applies"], &there["applies"]), (&json!(true), &json!(false)));
    assert_eq!(there["base_commit"], other.git(&["rev-parse", "HEAD"]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_over_the_limit_is_refused_by_its_size() {
    let broker = TestBroker::with_settings("[limits]\ndiff_bytes = 2000\n").await;
    let (client, repo) = (broker.client(), broker.repo());
    let (fits, too_long) = (repo.diff(&"z".repeat(1000)), repo.diff(&"z".repeat(2000)));
    let id = id(&client.call("create_review", proposal_with("fits", json!({ "diff": fits }))).await);
    client.claim(&id, "ada").await;
    let before = last_event(&client).await;
    let refused = client.refused("too_long", "create_review", proposal_with("more", json!({ "diff": too_long }))).await;
    assert_eq!((&refused["field"], &refused["limit"]), (&json!("diff"), &json!(2000)));
    assert!(refused["error"].as_str().unwrap().contains("2000"));
    let offer = with(reviews::verdict(&id, "ada", "comment"), json!({ "counter_patch": too_long }));
    let refused = client.refused("too_long", "submit_verdict", offer).await;
    assert_eq!(refused["field"], "counter_patch");
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_text_that_is_not_a_diff_has_no_files_and_a_note() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let prose = json!({ "diff": "I changed line two to zwei.\n" });
    let created = client.call("create_review", proposal_with("prose", prose)).await;
    assert_eq!((&created["affected_files"], &created["applies"]), (&json!([]), &json!(false)));
    assert!(created["diff_note"].as_str().unwrap().contains("no file header"), "{created}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_pages_of_a_long_diff_join_to_the_diff() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let lines: String = (0..4000).map(|n| format!("Zeile {n} über größere Dinge\n")).collect();
    repo.write("long.txt", &(lines + &"ß".repeat(40_000)));
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached"]) + "\n";
    let description = "Warum. ".repeat(6000);
    let created =
        client.call("create_review", proposal_with("long", json!({ "diff": diff, "description": description }))).await;
    let id = id(&created);
    let (mut read_diff, mut read_description, mut pages, mut cursor) = (String::new(), String::new(), 0, Value::Null);
    loop {
        let page = client.call("get_proposal", json!({ "review_id": id, "cursor": cursor })).await;
        assert_eq!(page["total"], description.chars().count() + diff.chars().count());
        let (described, part) = (page["description"].as_str().unwrap_or(""), page["diff"].as_str().unwrap_or(""));
        assert!(described.chars().count() + part.chars().count() <= 30_000);
        assert_eq!(page["intent"].is_null(), pages > 0, "only the first page tells what stands beside the texts");
        read_description += described;
        read_diff += part;
        pages += 1;
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(pages >= 7, "{pages}");
    assert!(read_description == description && read_diff == diff);
    let claim = client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert!(claim.to_string().chars().count() <= 30_000, "a claim contains no long texts");

    // A cursor belongs to the content it was given for.
    let first = client.call("get_proposal", json!({ "review_id": id })).await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    client.call("create_review", json!({ "review_id": id, "intent": "longer" })).await;
    let stale = json!({ "review_id": id, "cursor": first["next_cursor"] });
    client.refused("bad_cursor", "get_proposal", stale).await;
    let old = json!({ "review_id": id, "cursor": first["next_cursor"], "round": 1 });
    client.call("get_proposal", old).await;
    broker.stop_and_check().await;
}

/// Stages a symlink, a mode change, agent, CI and git config and a bidi override: its diff, after a line that git
/// ignores.
fn dangerous(repo: &Repo) -> String {
    repo.write(".mcp.json", "{}\n");
    repo.write(".github/workflows/ci.yml", "on: push\n");
    repo.write(".gitattributes", "* filter=x\n");
    repo.write("bidi.txt", "user \u{202e}nimda\u{202c}\n");
    symlink("/etc/passwd", repo.path().join("link")).unwrap();
    std::fs::set_permissions(repo.path().join("greeting.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&["add", "--all"]);
    format!("This patch was approved before.\n{}\n", repo.git(&["diff", "--cached"]))
}

/// The kinds of the flags, sorted.
fn kinds(answer: &Value) -> Vec<String> {
    let mut kinds: Vec<String> =
        column(&answer["flags"], "kind").iter().map(|kind| kind.as_str().unwrap().to_owned()).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

fn patch_id(repo: &Repo, diff: &str) -> String {
    std::fs::write(repo.path().join("../the.diff"), diff).unwrap();
    let printed = repo.git(&["-c", "alias.ids=!git patch-id --stable < ../the.diff", "ids"]);
    printed.split(' ').next().unwrap().to_owned()
}
