//! `countersign request` and `resubmit`: the proposals that they create.

use crate::support::{broker::TestBroker, terminal::on_a_branch};
use serde_json::{Value, json};

async fn requests(broker: &TestBroker, line: &[&str]) -> Value {
    let line: Vec<_> = ["request", "--json"].iter().chain(line).copied().collect();
    broker.command_as("ada", &line).json().await
}

async fn proposal(broker: &TestBroker, number: &str) -> Value {
    broker.command_as("ada", &["diff", number, "--json"]).json().await
}

#[tokio::test]
async fn a_branch_is_proposed_with_base_commits_and_message() {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    repo.write("NOTE", "why\n");
    repo.commit("Say why\n\nBecause readers will ask.");
    let ended = broker.command_as("ada", &["request"]).finish().await;
    assert!(ended.code == 0 && ended.err.starts_with("no reviewer is there"), "{}", ended.err);
    assert!(ended.out.starts_with("R-1 submitted: 2 files +2 −1, for general\n"), "{}", ended.out);
    assert!(ended.out.contains("countersign wait R-1"), "{}", ended.out);
    let proposal = proposal(&broker, "1").await;
    assert_eq!(proposal["intent"], "Say it in German; Say why");
    assert_eq!(proposal["description"], "Say why\n\nBecause readers will ask.");
    assert_eq!(proposal["proposer_id"], "ada");
    let target = &proposal["target"];
    assert_eq!(
        (&target["kind"], &target["name"], &target["base_name"]),
        (&json!("branch"), &json!("topic"), &json!("main"))
    );
    assert_eq!(target["commits_total"], 2);

    repo.write("greeting.txt", "one\ndeux\nthree\n");
    let ended = broker.command_as("ada", &["request", "--new", "-m", "title", "--description", "more"]).finish().await;
    assert!(ended.err.contains("what is not committed is not part of it"), "{}", ended.err);
    assert_eq!(self::proposal(&broker, "2").await["description"], "more");
}

#[tokio::test]
async fn uncommitted_changes_can_be_proposed_without_staging_them() {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("greeting.txt", "one\ndeux\nthree\n");
    repo.write("new.txt", "new\n");
    let before = repo.git(&["status", "--porcelain"]);
    let paths = |submitted: &Value| -> Vec<String> {
        let files = submitted["affected_files"].as_array().unwrap();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let staged = requests(&broker, &["--staged", "-m", "x"]).await;
    assert_eq!((paths(&staged), &staged["applies"]), (vec!["staged.txt".to_owned()], &json!(true)));
    let worktree = requests(&broker, &["--worktree", "-m", "x"]).await;
    assert_eq!(paths(&worktree), ["greeting.txt", "new.txt", "staged.txt"]);
    assert_eq!(worktree["applies"], true);
    assert_eq!(repo.git(&["status", "--porcelain"]), before);
    let diff = repo.git(&["diff"]) + "\n";
    let line = ["request", "--json", "--diff", "-", "-m", "from a pipe"];
    let piped = broker.command_as("ada", &line).stdin(&diff).json().await;
    assert_eq!(paths(&piped), ["greeting.txt"]);
    assert_eq!(requests(&broker, &["--staged"]).await["number"], "R-4");
    assert_eq!(proposal(&broker, "4").await["intent"], "Changes in staged.txt");
    let ended = broker.command_as("ada", &["request", "--diff", "-"]).stdin(&diff).finish().await;
    assert!(ended.code == 2 && ended.err.contains("no intent given"), "{}", ended.err);
}

#[tokio::test]
async fn a_commit_a_range_or_a_plan_can_be_proposed_with_every_option() {
    let broker = on_a_branch().await;
    let commit = requests(&broker, &["--commit", "HEAD"]).await;
    assert_eq!((&commit["target"]["kind"], &commit["affected_files_total"]), (&json!("commit"), &json!(1)));
    let range = requests(&broker, &["--range", "main..topic"]).await;
    assert_eq!(range["target"]["kind"], "range");
    broker.repo().git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(requests(&broker, &[]).await["target"]["kind"], "range", "a detached HEAD has no branch");
    broker.repo().write("p.md", "intro\n# The plan\n\nStep one.\n");
    let said = [
        "--plan",
        "p.md",
        "--reviewers",
        "tests,security",
        "--policy",
        "1",
        "--priority",
        "low",
        "--phase",
        "3",
        "--plan-id",
        "p",
        "--task",
        "t",
        "--agent-type",
        "planner",
        "--idempotency-key",
        "k",
    ];
    let plan = requests(&broker, &said).await;
    assert_eq!((&plan["has_diff"], &plan["priority"]), (&json!(false), &json!("low")));
    assert_eq!((&plan["personas"], &plan["policy"]["min_approvals"]), (&json!(["tests", "security"]), &json!(1)));
    assert_eq!(requests(&broker, &said).await["number"], plan["number"], "by its key");
    let shown = broker.command_as("ada", &["status", plan["number"].as_str().unwrap(), "--json"]).json().await;
    let fields = ["intent", "category", "phase", "plan", "task", "agent_type"].map(|key| shown[key].as_str().unwrap());
    assert_eq!(fields, ["The plan", "plan_review", "3", "p", "t", "planner"]);
}

#[tokio::test]
async fn an_empty_change_is_refused() {
    let broker = on_a_branch().await;
    broker.repo().git(&["switch", "--quiet", "--create", "empty", "main"]);
    let ended = broker.command_as("ada", &["request"]).finish().await;
    assert!(ended.code == 1 && ended.err.contains("empty has no commits ahead of main"), "{}", ended.err);
    let ended = broker.command_as("ada", &["request", "--worktree", "-m", "x"]).finish().await;
    assert!(ended.code == 1 && ended.err.contains("nothing has changed"), "{}", ended.err);
    assert_eq!(broker.command_as("ada", &["list", "--json"]).json().await["reviews"], json!([]));
}

#[tokio::test]
async fn incremental_revises_an_open_review_or_starts_after_the_last_approval() {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    let request = async || {
        let ended = broker.command_as("ada", &["request", "--incremental", "--json"]).finish().await;
        assert_eq!(ended.code, 0, "{}", ended.err);
        (serde_json::from_str::<Value>(&ended.out).unwrap(), ended.err)
    };
    let (first, said) = request().await;
    assert!(said.contains("nothing of topic was approved yet"), "{said}");
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "no"]).stdout().await;
    repo.write("NOTE", "why\n");
    repo.commit("Say why");
    let (second, said) = request().await;
    assert!(said.contains("topic has an open review, R-1: this is its next round"), "{said}");
    assert_eq!((&second["number"], &second["current_round"]), (&first["number"], &json!(2)));
    assert_eq!(second["affected_files_total"], 2);
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let approved = repo.git(&["rev-parse", "HEAD"]);
    repo.write("MORE", "more\n");
    repo.commit("Say more");
    let (third, said) = request().await;
    assert!(said.contains("up to which R-1 is approved"), "{said}");
    assert_eq!((&third["number"], &third["target"]["base"]), (&json!("R-2"), &json!(approved)));
    assert_eq!((&third["target"]["name"], &third["affected_files_total"]), (&json!("topic"), &json!(1)));
}

#[tokio::test]
async fn a_revision_without_a_source_uses_the_branch_or_the_accepted_patch() {
    let broker = on_a_branch().await;
    requests(&broker, &[]).await;
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "no"]).stdout().await;
    broker.repo().write("NOTE", "why\n");
    broker.repo().commit("Say why");
    let revised = broker.command_as("ada", &["resubmit", "--json"]).json().await;
    assert_eq!((&revised["current_round"], &revised["affected_files_total"]), (&json!(2), &json!(2)));
    assert_eq!(
        broker.command_as("ada", &["status", "1", "--json"]).json().await["intent"],
        "Say it in German",
        "it stays"
    );

    broker.repo().write("greeting.txt", "one\ndeux\nthree\n");
    requests(&broker, &["--worktree", "-m", "x"]).await;
    let patch = broker.repo().git(&["diff"]).replace("deux", "DEUX") + "\n";
    broker.repo().write("../p.diff", &patch);
    broker
        .command_as("bob", &["respond", "2", "--request-changes", "-m", "so", "--counter-patch", "../p.diff"])
        .stdout()
        .await;
    let ended = broker.command_as("ada", &["resubmit", "2"]).finish().await;
    assert!(ended.code == 2 && ended.err.contains("was made from a diff"), "{}", ended.err);
    broker.command_as("ada", &["patch", "accept", "2"]).stdout().await;
    let ended = broker.command_as("ada", &["resubmit", "2"]).finish().await;
    assert!(ended.code == 0 && ended.err.contains("with the accepted counter-patch"), "{}", ended.err);
    assert!(proposal(&broker, "2").await["diff"].as_str().unwrap().contains("+DEUX"));
}

#[tokio::test]
async fn the_working_tree_is_read_again_where_only_the_time_could_hide_a_change() {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    repo.git(&["config", "core.trustctime", "false"]);
    // The file has the time of the index, and the change keeps its size and time.
    let (file, index) = (repo.path().join("greeting.txt"), repo.path().join(".git/index"));
    let set_time = |path: &std::path::Path, time| {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    let staged = std::fs::metadata(&file).unwrap().modified().unwrap();
    set_time(&index, staged);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("one", "ONE", 1)).unwrap();
    set_time(&file, staged);
    let submitted = requests(&broker, &["--worktree", "-m", "x"]).await;
    assert_eq!(submitted["affected_files_total"], 1);
}

#[tokio::test]
async fn the_branch_of_a_review_is_known_after_a_counter_patch_and_an_approved_one_is_named() {
    let broker = on_a_branch().await;
    let repo = broker.repo();
    requests(&broker, &[]).await;
    let patch = repo.git(&["diff", "main"]).replace("+zwei", "+ZWEI") + "\n";
    assert!(patch.contains("ZWEI"), "{patch}");
    repo.write("../p.diff", &patch);
    let respond = ["respond", "1", "--request-changes", "-m", "so", "--counter-patch", "../p.diff"];
    broker.command_as("bob", &respond).stdout().await;
    broker.command_as("ada", &["patch", "accept", "1"]).stdout().await;
    let listed = broker.command_as("ada", &["list", "--json"]).json().await;
    assert_eq!(listed["reviews"][0]["branch"], "topic");
    repo.write("NOTE", "why\n");
    repo.commit("Say why");
    let ended = broker.command_as("ada", &["request", "--json"]).finish().await;
    assert!(ended.err.contains("topic has an open review, R-1: this is its next round"), "{}", ended.err);
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let ended = broker.command_as("ada", &["request"]).finish().await;
    assert!(ended.err.contains("topic has an approved review, R-1: this is a new review"), "{}", ended.err);
    assert!(ended.out.starts_with("R-2 submitted"), "{}", ended.out);
}

#[tokio::test]
async fn the_caller_is_named_by_flag_variable_token_or_git() {
    let broker = on_a_branch().await;
    let proposer = async |typed: crate::support::command::TestCommand| {
        let number = typed.json().await["number"].as_str().unwrap().to_owned();
        broker.command_as("x", &["status", &number, "--json"]).json().await["proposer_id"].clone()
    };
    let request = ["request", "--json"];
    assert_eq!(proposer(broker.command_as("bob", &["request", "--json", "--as", "ada"])).await, "ada");
    assert_eq!(proposer(broker.command_as("bob", &request)).await, "bob");
    let ended = broker.command(&request).finish().await;
    assert!(ended.code == 2 && ended.err.contains("no identity"), "{}", ended.err);
    assert_eq!(proposer(broker.command(&request).var("USER", "login")).await, "login");
    broker.repo().git(&["config", "user.name", "Grace Hopper"]);
    assert_eq!(proposer(broker.command(&request).var("USER", "login")).await, "Grace Hopper");
    let token = broker.command(&["token", "create", "--role", "proposer", "--name", "agent-7"]).stdout().await;
    assert_eq!(proposer(broker.command(&request).var("COUNTERSIGN_TOKEN", token.trim())).await, "agent-7");
    let other = broker.command_as("bob", &request).var("COUNTERSIGN_TOKEN", token.trim()).finish().await;
    assert!(other.err.contains("wrong_identity"), "{}", other.err);
}
