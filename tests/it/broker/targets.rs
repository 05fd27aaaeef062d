//! A branch, a commit or a range as a proposal: the broker computes the diff and records the commits.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal, proposal_with},
    reviews::{column, last_event, verdict, with},
    tokens,
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use testkit::Repo;

fn target(intent: &str, target: Value) -> Value {
    proposal_with(intent, json!({ "target": target }))
}

/// A branch `topic` of two commits, beside one more on `main`.
fn branched(repo: &Repo) -> String {
    let fork = head(repo);
    repo.git(&["checkout", "--quiet", "-b", "topic"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.commit("say it in German");
    repo.write("new.txt", "new\n");
    repo.commit("a new file");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("other.txt", "meanwhile\n");
    repo.commit("meanwhile");
    fork
}

fn head(repo: &Repo) -> String {
    id_of(repo, "HEAD")
}

fn id_of(repo: &Repo, name: &str) -> String {
    repo.git(&["rev-parse", name])
}

async fn diff_of(client: &TestClient, review: &str) -> String {
    client.call("get_proposal", json!({ "review_id": review })).await["diff"].as_str().unwrap().to_owned()
}

/// Requests changes, so that the review can be revised.
async fn send_back(client: &TestClient, review: &str) {
    client.claim(review, "ada").await;
    client.call("submit_verdict", verdict(review, "ada", "changes_requested")).await;
}

#[tokio::test]
async fn a_branch_is_compared_with_its_merge_base() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let fork = branched(repo);
    let created = client.call("create_review", target("a branch", json!({ "branch": "topic" }))).await;
    let pinned = &created["target"];
    assert_eq!((&pinned["kind"], &pinned["name"]), (&json!("branch"), &json!("topic")));
    assert_eq!((&pinned["base"], &pinned["head"]), (&json!(fork), &json!(id_of(repo, "topic"))));
    assert_eq!(column(&pinned["commits"], "subject"), [json!("a new file"), json!("say it in German")]);
    assert_eq!(pinned["commits_total"], 2);
    assert_eq!((&created["applies"], &created["base_commit"]), (&json!(true), &json!(fork)));
    assert_eq!(created["tree_id"], id_of(repo, "topic^{tree}"));
    assert_eq!(column(&created["affected_files"], "path"), [json!("greeting.txt"), json!("new.txt")]);

    let id = id(&created);
    let read = client.call("get_proposal", json!({ "review_id": id })).await;
    assert_eq!(read["target"], *pinned);
    assert!(read["diff"].as_str().unwrap().contains("-two\n+zwei\n"), "{read}");
    let claim = client.call("claim_review", json!({ "review_id": id, "reviewer_id": "ada" })).await;
    assert_eq!(claim["target"], *pinned);
    let status = client.status(&id).await;
    assert_eq!((&status["target"]["head"], &status["target"]["commits"]), (&pinned["head"], &Value::Null));
    let broker = broker.kill_and_restart().await;
    assert_eq!(broker.client().status(&id).await["target"], status["target"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn each_kind_of_target_has_its_own_base() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let fork = branched(repo);
    repo.git(&["merge", "--quiet", "--no-ff", "--message=merged", "topic"]);
    let (main, before) = (head(repo), id_of(repo, "HEAD^1"));
    repo.git(&["tag", "--annotate", "--message=tagged", "v1", "topic"]);
    let cases = [
        // A merge contains everything that its first parent does not have.
        (json!({ "commit": "main" }), Some(&before), &main, 3),
        (json!({ "commit": "topic", "base": "main~1" }), Some(&before), &id_of(repo, "topic"), 2),
        (json!({ "commit": "v1" }), Some(&id_of(repo, "topic~1")), &id_of(repo, "topic"), 1),
        (json!({ "commit": fork.get(..10) }), None, &fork, 1),
        (json!({ "range": "main~1..topic" }), Some(&before), &id_of(repo, "topic"), 2),
        (json!({ "range": "main~1...topic" }), Some(&fork), &id_of(repo, "topic"), 2),
        (json!({ "branch": "topic", "base": &before }), Some(&fork), &id_of(repo, "topic"), 2),
        (json!({ "branch": "refs/heads/topic", "base": "main^1" }), Some(&fork), &id_of(repo, "topic"), 2),
    ];
    for (asked, base, head, commits) in cases {
        let created = client.call("create_review", target("by kind", asked.clone())).await;
        let pinned = &created["target"];
        assert_eq!((pinned["base"].as_str(), &pinned["head"]), (base.map(String::as_str), &json!(head)), "{asked}");
        assert_eq!((&pinned["commits_total"], &created["applies"]), (&json!(commits), &json!(true)), "{asked}");
        // Base plus diff gives the tree of the commit.
        assert_eq!(created["tree_id"], id_of(repo, &format!("{head}^{{tree}}")), "{asked}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_default_branch_is_that_of_origin_then_main_then_master() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let fork = branched(repo);
    let base = async |name: &str| {
        let created = client.call("create_review", target("by default", json!({ "branch": name }))).await;
        created["target"]["base"].as_str().unwrap().to_owned()
    };
    repo.git(&["update-ref", "refs/remotes/origin/trunk", "topic~1"]);
    repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(base("topic").await, id_of(repo, "topic~1"));
    repo.git(&["symbolic-ref", "--delete", "refs/remotes/origin/HEAD"]);
    assert_eq!(base("topic").await, fork);
    // A remote branch is also a branch.
    assert_eq!(base("origin/trunk").await, fork);
    repo.git(&["branch", "--move", "main", "master"]);
    assert_eq!(base("topic").await, fork);
    repo.git(&["branch", "--move", "master", "stem"]);
    let refused = client.refused("bad_target", "create_review", target("none", json!({ "branch": "topic" }))).await;
    assert!(refused["error"].as_str().unwrap().contains("give target.base"), "{refused}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_a_revision_reads_a_moved_branch_again() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let created = client.call("create_review", target("moving", json!({ "branch": "topic", "base": "main" }))).await;
    let review = id(&created);
    let first = diff_of(&client, &review).await;
    repo.git(&["checkout", "--quiet", "topic"]);
    repo.write("new.txt", "newer\n");
    repo.commit("newer");
    assert_eq!(diff_of(&client, &review).await, first);
    send_back(&client, &review).await;
    assert_eq!(diff_of(&client, &review).await, first);

    let again = json!({ "review_id": review, "intent": "the branch as it is now" });
    let revised = client.call("create_review", again.clone()).await;
    assert_eq!((&revised["current_round"], &revised["target"]["head"]), (&json!(2), &json!(head(repo))));
    assert_eq!((&revised["target"]["base_name"], &revised["target"]["commits_total"]), (&json!("main"), &json!(3)));
    assert!(diff_of(&client, &review).await.contains("+newer"));
    // The branch has not moved: no further round.
    assert_eq!(client.call("create_review", again).await["current_round"], 2);
    let earlier = client.call("get_proposal", json!({ "review_id": review, "round": 1 })).await;
    assert_eq!((&earlier["target"], earlier["diff"].as_str()), (&created["target"], Some(first.as_str())));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_may_name_another_target_or_none() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let created = client.call("create_review", target("changing", json!({ "commit": "topic" }))).await;
    let review = id(&created);
    send_back(&client, &review).await;
    let revise = |more: Value| with(json!({ "review_id": review, "intent": "changed" }), more);
    // A commit does not change.
    let kept = client.call("create_review", revise(json!({ "description": "said better" }))).await;
    assert_eq!((&kept["current_round"], &kept["target"]), (&json!(2), &created["target"]));
    let other = client.call("create_review", revise(json!({ "target": { "range": "main~1..topic" } }))).await;
    assert_eq!((&other["current_round"], &other["target"]["kind"]), (&json!(3), &json!("range")));
    let by_hand = client.call("create_review", revise(json!({ "diff": repo.diff("dos"), "base": "main" }))).await;
    assert_eq!((&by_hand["current_round"], &by_hand["target"]), (&json!(4), &Value::Null));
    let without = client.call("create_review", revise(json!({ "description": "and again" }))).await;
    assert_eq!((&without["current_round"], &without["target"]), (&json!(5), &Value::Null));
    assert_eq!(diff_of(&client, &review).await, repo.diff("dos"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_accepted_counter_patch_replaces_the_target() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let created = client.call("create_review", target("countered", json!({ "branch": "topic" }))).await;
    let review = id(&created);
    client.claim(&review, "ada").await;
    let offer = with(verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": repo.diff("dos") }));
    client.call("submit_verdict", offer).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    assert_eq!(client.status(&review).await["target"], Value::Null);
    let read = async |more: Value| client.call("get_proposal", with(json!({ "review_id": review }), more)).await;
    assert_eq!(read(json!({})).await["target"], Value::Null);
    assert_eq!(read(json!({ "content": "submitted" })).await["target"], created["target"]);
    // A revision does not return to the branch.
    let again = client.call("create_review", json!({ "review_id": review, "intent": "as accepted" })).await;
    assert_eq!(again["target"], Value::Null);
    assert!(diff_of(&client, &review).await.contains("+dos"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_repeat_is_recognized_after_the_branch_moved_or_was_deleted() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let keyed = |key: &str, more: Value| with(json!({ "idempotency_key": key }), more);
    let first = with(target("once", json!({ "branch": "topic" })), keyed("t-1", json!({})));
    let created = client.call("create_review", first.clone()).await;
    let review = id(&created);
    repo.git(&["branch", "--force", "topic", "topic~1"]);
    assert_eq!(client.call("create_review", first.clone()).await, created);
    let other = with(target("once", json!({ "branch": "topic", "base": "main" })), keyed("t-1", json!({})));
    client.refused("idempotency_key_reused", "create_review", other).await;

    send_back(&client, &review).await;
    let named = keyed("t-2", json!({ "review_id": review, "intent": "again", "target": { "branch": "topic" } }));
    let revised = client.call("create_review", named.clone()).await;
    assert_eq!(revised["target"]["head"], id_of(repo, "topic"));
    repo.git(&["branch", "--force", "topic", "main~1"]);
    assert_eq!(client.call("create_review", named.clone()).await, revised);
    repo.git(&["branch", "--delete", "--force", "topic"]);
    assert_eq!(client.call("create_review", named).await, revised);
    assert_eq!(id(&client.call("create_review", first).await), review);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_empty_target_is_refused() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    repo.git(&["commit", "--quiet", "--allow-empty", "--message=nothing"]);
    let before = last_event(&client).await;
    for (asked, field) in [
        (json!({ "branch": "main" }), "target.branch"),
        (json!({ "commit": "main" }), "target.commit"),
        (json!({ "range": "main~1..main" }), "target.range"),
        (json!({ "range": "main..main" }), "target.range"),
    ] {
        let refused = client.refused("bad_target", "create_review", target("nothing", asked)).await;
        assert_eq!((&refused["field"], &refused["retryable"]), (&json!(field), &json!(false)));
        assert!(refused["error"].as_str().unwrap().contains("changes nothing"), "{refused}");
    }
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn unknown_names_and_git_options_are_refused() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    repo.git(&["tag", "only-a-tag", "topic"]);
    let planted = broker.home().join("planted");
    let option = format!("--output={}", planted.display());
    let before = last_event(&client).await;
    let names = ["nowhere", "-n", "--all", &option, "^main", "main:greeting.txt", "topic@{1}", ":/German", "a b"];
    for name in names {
        for (kind, asked) in [
            ("branch", json!({ "branch": name })),
            ("commit", json!({ "commit": name })),
            ("range", json!({ "range": format!("{name}..topic") })),
            ("range", json!({ "range": format!("main...{name}") })),
            ("base", json!({ "branch": "topic", "base": name })),
            ("base", json!({ "commit": "topic", "base": name })),
        ] {
            let refused = client.refused("bad_target", "create_review", target("odd", asked)).await;
            assert_eq!(refused["field"], format!("target.{kind}"), "{refused}");
        }
    }
    for asked in [
        json!({ "branch": "topic~1" }),
        json!({ "branch": "only-a-tag" }),
        json!({ "branch": "topi*" }),
        json!({ "branch": "../../heads/topic" }),
        json!({ "branch": id_of(repo, "topic") }),
        json!({ "commit": "main..topic" }),
        json!({ "range": "topic" }),
        json!({ "range": "main.." }),
        json!({ "range": "..topic" }),
        json!({ "range": "main..topic..main" }),
        json!({ "range": "main....topic" }),
        json!({ "commit": "HEAD^{tree}" }),
    ] {
        client.refused("bad_target", "create_review", target("odd", asked)).await;
    }
    for (asked, code) in [
        (json!({ "branch": "x".repeat(201) }), "too_long"),
        (json!({ "branch": "to\npic" }), "invalid_argument"),
        (json!({ "branch": " topic" }), "invalid_argument"),
    ] {
        let refused = client.refused(code, "create_review", target("odd", asked)).await;
        assert_eq!(refused["field"], "target.branch", "{refused}");
    }
    assert_eq!(last_event(&client).await, before);
    assert!(!planted.exists());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_target_has_exactly_one_kind() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let refused = async |arguments: Value| {
        client.refused("invalid_argument", "create_review", arguments).await["field"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(target("none", json!({}))).await, "target");
    assert_eq!(refused(target("base alone", json!({ "base": "main" }))).await, "target");
    assert_eq!(refused(target("two", json!({ "branch": "topic", "commit": "topic" }))).await, "target");
    assert_eq!(refused(target("both", json!({ "range": "main..topic", "base": "main" }))).await, "target.base");
    let branch = target("beside", json!({ "branch": "topic" }));
    assert_eq!(refused(with(branch.clone(), json!({ "diff": repo.diff("dos") }))).await, "diff");
    assert_eq!(refused(with(branch, json!({ "base": "main" }))).await, "base");
    let unknown = client.try_call("create_review", target("odd", json!({ "tag": "v1" }))).await.unwrap_err();
    assert_eq!(unknown["field"], "target.tag");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn renames_binary_files_and_non_ascii_names_are_kept() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    repo.write("old name.txt", "a line that stays\n".repeat(20));
    repo.write("mode.sh", "echo\n");
    std::fs::write(repo.path().join("latin.txt"), b"caf\xe9\nolder\n").unwrap();
    repo.commit("before");
    repo.git(&["checkout", "--quiet", "-b", "odd"]);
    std::fs::rename(repo.path().join("old name.txt"), repo.path().join("größe.txt")).unwrap();
    std::fs::write(repo.path().join("picture.png"), [0, 159, 146, 150, 0, 9]).unwrap();
    std::fs::write(repo.path().join("latin.txt"), b"caf\xe9\nnewer\n").unwrap();
    std::fs::set_permissions(repo.path().join("mode.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    repo.commit("after\u{202e}");
    let created = client.call("create_review", target("odd files", json!({ "branch": "odd" }))).await;
    assert_eq!((&created["applies"], &created["tree_id"]), (&json!(true), &json!(id_of(repo, "odd^{tree}"))));
    let files = created["affected_files"].as_array().unwrap();
    let found = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(
        (&found("größe.txt")["operation"], &found("größe.txt")["old_path"]),
        (&json!("rename"), &json!("old name.txt"))
    );
    assert_eq!((&found("picture.png")["binary"], &found("latin.txt")["binary"]), (&json!(true), &json!(true)));
    assert_eq!(column(&created["flags"], "kind"), [json!("mode_change")]);
    assert_eq!(created["target"]["commits"][0]["subject"], "after\u{fffd}");
    broker.stop_and_check().await;
}

/// The user's own git proves that the trap works.
#[tokio::test]
async fn nothing_configured_by_the_project_is_executed() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let (mark, tool) = (broker.home().join("mark"), broker.home().join("tool.sh"));
    std::fs::write(&tool, format!("#!/bin/sh\ntouch '{}'\necho other\n", mark.display())).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    repo.write(".gitattributes", "*.txt diff=spy\n");
    branched(repo);
    for key in ["diff.spy.textconv", "diff.spy.command", "diff.external", "core.fsmonitor", "core.pager", "gpg.program"]
    {
        repo.git(&["config", key, tool.to_str().unwrap()]);
    }
    repo.git(&["config", "log.showSignature", "true"]);
    repo.git(&["diff", "main", "topic"]);
    assert!(mark.exists(), "the trap does not work");
    std::fs::remove_file(&mark).unwrap();
    let created = client.call("create_review", target("trapped", json!({ "branch": "topic" }))).await;
    assert!(diff_of(&client, &id(&created)).await.contains("-two\n+zwei\n"));
    assert_eq!(created["target"]["commits_total"], 2);
    assert!(!mark.exists());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_target_has_the_same_limits_as_a_diff() {
    let broker = TestBroker::with_settings("[limits]\ndiff_bytes = 2000\n[git]\nrefuse = [\"symlink\"]\n").await;
    let (client, repo) = (broker.client(), broker.repo());
    let before = last_event(&client).await;
    repo.git(&["checkout", "--quiet", "-b", "large"]);
    repo.write("large.txt", "many\n".repeat(1000));
    repo.commit("large");
    let refused = client.refused("too_long", "create_review", target("large", json!({ "branch": "large" }))).await;
    assert_eq!((&refused["field"], &refused["limit"]), (&json!("diff"), &json!(2000)));
    assert!(refused["actual"].as_u64().unwrap() > 5000, "{refused}");

    repo.git(&["checkout", "--quiet", "-b", "linked", "main"]);
    std::os::unix::fs::symlink("/etc", repo.path().join("link")).unwrap();
    repo.commit("a link");
    client.refused("flagged_diff", "create_review", target("linked", json!({ "branch": "linked" }))).await;

    let secret = tokens::create_token(broker.home(), "reviewer", "ada", &[]).await;
    for (branch, text, subject) in
        [("in-the-diff", secret.as_str(), "plain"), ("in-the-words", "plain", secret.as_str())]
    {
        repo.git(&["checkout", "--quiet", "-b", branch, "main"]);
        repo.write("secret.txt", text);
        repo.commit(subject);
        client.refused("contains_secret", "create_review", target("secret", json!({ "branch": branch }))).await;
    }
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn many_commits_are_counted_and_only_the_newest_listed() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    let mut stream = String::from("feature done\n");
    let base = head(repo);
    for n in 1..=130 {
        let words = if n == 130 { "x".repeat(300) } else { String::new() };
        let (subject, text) = (format!("step {n} {words}"), format!("{n}\n"));
        stream += &format!(
            "commit refs/heads/long\ncommitter T <t@example.invalid> {n} +0000\ndata {}\n{subject}\n",
            subject.len()
        );
        if n == 1 {
            stream += &format!("from {base}\n");
        }
        stream += &format!("M 644 inline counter.txt\ndata {}\n{text}\n", text.len());
    }
    stream += "done\n";
    repo.write("stream", &stream);
    repo.git(&["-c", "alias.import=!git fast-import --quiet <stream", "import"]);
    let created = client.call("create_review", target("long", json!({ "branch": "long" }))).await;
    assert_eq!(created["target"]["commits_total"], 130);
    assert_eq!(created["target"]["commits"].as_array().unwrap().len(), 20);
    let read = client.call("get_proposal", json!({ "review_id": id(&created) })).await;
    let commits = read["target"]["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 100);
    let subject = commits[0]["subject"].as_str().unwrap();
    assert!(subject.starts_with("step 130 ") && subject.ends_with('…') && subject.chars().count() == 201, "{subject}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_oldest_commit_of_a_shallow_clone_is_not_treated_as_the_first() {
    let broker = TestBroker::start().await;
    let (client, repo) = (broker.client(), broker.repo());
    branched(repo);
    let main = head(repo);
    std::fs::write(repo.path().join(".git/shallow"), format!("{main}\n")).unwrap();
    let parent = id_of(repo, &format!("{}^@", id_of(repo, "topic~1")));
    std::fs::remove_file(repo.path().join(".git/objects").join(&parent[..2]).join(&parent[2..])).unwrap();
    let refused = client.refused("bad_target", "create_review", target("cut", json!({ "commit": "main" }))).await;
    assert!(refused["error"].as_str().unwrap().contains("not in this clone"), "{refused}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn targets_are_refused_outside_of_a_repository() {
    let broker = TestBroker::without_repo().await;
    let client = broker.client();
    client.refused("no_repository", "create_review", target("nowhere", json!({ "branch": "main" }))).await;
    client.call("create_review", proposal("a plan")).await;
    broker.stop_and_check().await;
}
