//! The tandem workflow from plan to push, typed as the guards that `init --gsd` installs say it, through the hooks that
//! `init --git-hooks` installs.

use crate::gate::installed_guards::{EXECUTOR, Project, Shell, TANDEM};
use serde_json::json;
use testkit::Repo;

const REQUEST_STAGED: &str = "countersign request --staged";
const RESUBMIT_STAGED: &str = "countersign resubmit R-12 --staged";

#[tokio::test]
async fn by_task_only_approved_work_is_committed() {
    let project = Project::new(r#"{"tandem_enabled": true}"#).await;
    project.stages("one.txt", "one\n");
    let early = project.commits("one").await;
    assert!(early.code != 0 && early.err.contains("next: countersign request --staged"), "{}", early.err);

    let description = project.describes("The first task of the plan");
    let first = project.proposes(REQUEST_STAGED, &[("DESCRIPTION", &description), ("--task 2", "--task 1")]).await;
    assert_ne!(project.commits("one").await.code, 0, "proposed is not approved");
    assert_eq!(project.hears(&first, &["--approve"]).await, 0);
    project.has_committed("one").await;
    project.goes_on("countersign close R-12", &first).await;

    project.stages("two.txt", "tow\n");
    let second = project.proposes(REQUEST_STAGED, &[("DESCRIPTION", &description)]).await;
    let issue = ["--request-changes", "-m", "A slip", "--issue", "high two.txt:1 tow: it is two"];
    assert_eq!(project.hears(&second, &issue).await, 10);
    assert_ne!(project.commits("two").await.code, 0, "sent back");
    assert!(project.goes_on("countersign show R-12", &second).await.contains("A slip"));
    assert!(project.goes_on("countersign issues R-12 --open", &second).await.contains("tow"));
    project.stages("two.txt", "two\n");
    project.shell.does(EXECUTOR, RESUBMIT_STAGED, &[("R-12", &second)]).await;

    // The reviewer offers a counter-patch, which is accepted.
    let better = project.broker.repo().git(&["diff", "--cached", "--", "two.txt"]) + "\n";
    project.takes_counter_patch(&second, &better.replace("+two", "+two, and a half")).await;
    project.shell.does(EXECUTOR, RESUBMIT_STAGED, &[("R-12", &second)]).await;
    assert_ne!(project.commits("two").await.code, 0, "accepted is not approved");
    assert_eq!(project.hears(&second, &["--approve"]).await, 0);
    project.has_committed("two").await;
    project.goes_on("countersign close R-12", &second).await;
    assert_eq!(project.broker.repo().git(&["show", "HEAD:two.txt"]), "two, and a half");

    project.stages(".planning/SUMMARY.md", "Two tasks are done.\n");
    assert_ne!(project.commits("Summary").await.code, 0, "planning files are files");
    let said = project.shell.does(TANDEM, REQUEST_STAGED, &[]).await;
    let summary = said.split_whitespace().next().unwrap();
    assert_eq!(project.hears(summary, &["--approve"]).await, 0);
    project.has_committed("Summary").await;
    assert_eq!(project.standings().await, (0, vec!["proven".to_owned(); 3]));

    let status = project.broker.command_as("x", &["status", &second, "--json"]).json().await;
    let identity = ["agent_type", "phase", "plan", "task", "category"].map(|key| status[key].as_str().unwrap());
    assert_eq!(identity, [EXECUTOR, "3", "03-01", "2", "code_change"]);

    project.stages(".planning/SUMMARY.md", "Two tasks are done!\n");
    assert_eq!(project.runs("git commit --quiet --amend --no-edit --no-verify").await.code, 0);
    assert_eq!(project.runs("countersign gate --commit HEAD").await.code, 1, "one byte is another");
    assert_eq!(project.standings().await, (1, ["proven", "proven", "none"].map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn by_plan_the_commits_are_one_review_and_are_pushed_after_it() {
    let project = Project::new(r#"{"tandem_enabled": true, "review_granularity": "per_plan"}"#).await;
    for (task, text) in [("one", "1\n"), ("two", "2\n"), ("three", "drei\n")] {
        project.stages(&format!("{task}.txt"), text);
        project.has_committed(&format!("Task {task}")).await;
    }
    let pushed = async || project.runs("git push --quiet").await;
    let far = || project.broker.repo().git(&["ls-remote", "origin", "main"]);
    let (before, early) = (far(), pushed().await);
    assert!(early.code != 0 && early.err.contains("next: countersign request --range"), "{}", early.err);

    let range = format!("{}..HEAD", project.start);
    let plan = project.describes("The plan: count to three in German");
    let review = project.proposes("countersign request --range", &[("START..HEAD", &range), ("PLAN", &plan)]).await;
    let shown = project.broker.command_as("rita", &["show", &review, "--json"]).json().await;
    let messages: Vec<_> =
        shown["proposal"]["target"]["commits"].as_array().unwrap().iter().rev().map(|row| &row["subject"]).collect();
    assert_eq!(messages, ["Task one", "Task two", "Task three"], "the tasks speak for themselves");
    let description = shown["proposal"]["description"].as_str().unwrap();
    assert!(description.starts_with("The plan: count to three in German"), "{description}");
    assert_eq!(shown["proposal"]["affected_files"].as_array().unwrap().len(), 3, "beside all of the plan");
    assert_eq!(project.hears(&review, &["--request-changes", "-m", "Three is a number"]).await, 10);
    assert_ne!(pushed().await.code, 0, "sent back");

    project.stages("three.txt", "3\n");
    project.has_committed("Task three, as a number").await;
    let blanks = [("R-12", review.as_str()), ("START..HEAD", &range)];
    project.shell.does(EXECUTOR, "countersign resubmit R-12 --range", &blanks).await;
    assert_ne!(pushed().await.code, 0, "not approved yet");
    assert_eq!(far(), before);
    assert_eq!(project.hears(&review, &["--approve"]).await, 0);
    project.goes_on("countersign close R-12", &review).await;
    let through = pushed().await;
    assert_eq!(through.code, 0, "{}", through.err);
    assert!(far().starts_with(&project.broker.repo().git(&["rev-parse", "HEAD"])));
    assert_eq!(project.standings().await, (0, vec!["proven".to_owned(); 4]));
}

#[tokio::test]
async fn by_plan_a_counter_patch_adds_a_commit_and_a_rejection_reverts_all() {
    let project = Project::new(r#"{"tandem_enabled": true, "review_granularity": "per_plan"}"#).await;
    for (task, text) in [("one", "1\n"), ("two", "zwei\n")] {
        project.stages(&format!("{task}.txt"), text);
        project.has_committed(&format!("Task {task}")).await;
    }
    let range = format!("{}..HEAD", project.start);
    let plan = project.describes("The plan");
    let review = project.proposes("countersign request --range", &[("START..HEAD", &range), ("PLAN", &plan)]).await;
    let better = project.broker.repo().git(&["diff", &project.start, "HEAD"]).replace("+zwei", "+2") + "\n";
    project.takes_counter_patch(&review, &better).await;
    project.has_committed("Two, as the reviewer has it").await;
    let blanks = [("R-12", review.as_str()), ("START..HEAD", &range)];
    project.shell.does(EXECUTOR, "countersign resubmit R-12 --range", &blanks).await;
    assert_eq!(project.hears(&review, &["--approve"]).await, 0);
    assert_eq!(project.standings().await, (0, vec!["proven".to_owned(); 3]));

    assert_eq!(project.broker.command_as("rita", &["respond", &review, "--reject", "-m", "No"]).finish().await.code, 0);
    let waited = project.shell.follows(TANDEM, "countersign wait R-12", &[("R-12", &review)]).await;
    assert_eq!(waited.code, 11);
    project.shell.does(EXECUTOR, "countersign revert R-12", &[("R-12", &review)]).await;
    assert_eq!(project.broker.repo().git(&["diff", &project.start, "HEAD"]), "");
    assert_eq!(project.runs("git push --quiet").await.code, 0, "what takes itself back brings nothing");
}

/// Each task is committed and proposed at once.
async fn commits_and_proposes(project: &Project, task: &str, text: &str) -> String {
    project.stages(&format!("{task}.txt"), text);
    project.has_committed(&format!("Task {task}")).await;
    let description = project.describes(task);
    let blanks = [("DESCRIPTION", description.as_str()), ("--task 2", &format!("--task {task}"))];
    project.proposes("countersign request --commit HEAD", &blanks).await
}

#[tokio::test]
async fn optimistic_a_rejected_commit_is_reverted_with_its_successors() {
    let project = Project::new(r#"{"tandem_enabled": true, "execution_mode": "optimistic"}"#).await;
    let repo = project.broker.repo();
    let one = commits_and_proposes(&project, "one", "1\n").await;
    let two = commits_and_proposes(&project, "two", "zwei\n").await;
    let three = commits_and_proposes(&project, "three", "3\n").await;
    assert_eq!(project.hears(&one, &["--approve"]).await, 0);
    project.goes_on("countersign close R-12", &one).await;
    assert_eq!(project.broker.command_as("rita", &["respond", &three, "--approve"]).finish().await.code, 0);
    assert_eq!(project.hears(&two, &["--reject", "-m", "Not in German"]).await, 11);
    assert_ne!(project.runs("git push --quiet").await.code, 0, "a refused commit is on the way");

    repo.write("one.txt", "dirty\n");
    let dirty = project.shell.follows(EXECUTOR, "countersign revert R-12", &[("R-12", &two)]).await;
    assert!(dirty.code == 1 && dirty.err.contains("the working tree has changes"), "{}", dirty.err);
    repo.git(&["restore", "one.txt"]);
    let said = project.shell.does(EXECUTOR, "countersign revert R-12", &[("R-12", &two)]).await;
    assert!(said.contains("reverted 2 commits, newest first"), "{said}");
    assert_eq!(repo.git(&["ls-files", "*.txt"]), "greeting.txt\none.txt");

    // A new review changes it in another way. The third commit stays as approved.
    let again = commits_and_proposes(&project, "two", "deux\n").await;
    assert_ne!(again, two);
    project.stages("three.txt", "3\n");
    project.has_committed("Task three, again").await;
    project.shell.does(EXECUTOR, "countersign gate --commit HEAD", &[]).await;
    let four = commits_and_proposes(&project, "four", "4\n").await;

    // Changes are requested once more, with a counter-patch.
    let better = repo.git(&["show", "--format=", "HEAD~2"]).replace("+deux", "+2") + "\n";
    project.offers(&again, &better).await;
    project.shell.does(EXECUTOR, "countersign patch accept R-12", &[("R-12", &again)]).await;
    let said = project.shell.does(EXECUTOR, "countersign revert R-12", &[("R-12", &again)]).await;
    assert!(said.contains("reverted 3 commits") && said.contains("counter-patch is staged"), "{said}");
    project.has_committed("Task two, as the reviewer has it").await;
    project.shell.does(EXECUTOR, "countersign resubmit R-12 --commit HEAD", &[("R-12", &again)]).await;
    project.shell.does(EXECUTOR, "countersign cancel R-13", &[("R-13", &four)]).await;
    assert_eq!(project.hears(&again, &["--approve"]).await, 0);
    project.goes_on("countersign close R-12", &again).await;
    assert_eq!(repo.git(&["show", "HEAD:two.txt"]), "2");

    project.stages("three.txt", "3\n");
    project.has_committed("Task three, at last").await;
    project.shell.does(EXECUTOR, "countersign gate --commit HEAD", &[]).await;
    let four = commits_and_proposes(&project, "four", "4\n").await;
    assert_ne!(project.runs("git push --quiet").await.code, 0, "the fourth is not decided");
    assert_eq!(project.hears(&four, &["--approve"]).await, 0);
    let (code, standings) = project.standings().await;
    assert_eq!(code, 0, "{standings:?}");
    let through = project.runs("git push --quiet").await;
    assert_eq!(through.code, 0, "{}", through.err);
}

#[tokio::test]
async fn in_solo_mode_no_broker_is_called_and_nothing_is_blocked() {
    let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
    let (data_dir, shell) = fresh(&home, &repo);
    // Every call to the broker arrives here.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let note = json!({ "pid": 1, "url": format!("http://{}", listener.local_addr().unwrap()), "started_at": "" });
    std::fs::create_dir_all(&data_dir).unwrap();
    std::fs::write(data_dir.join("broker.json"), note.to_string()).unwrap();
    let set_up = shell.runs("countersign init --client claude --git-hooks --gsd --yes").await;
    assert_eq!(set_up.code, 0, "{}{}", set_up.out, set_up.err);
    // `init` registers the repository at the broker.
    while listener.accept().is_ok() {}
    // It also switches tandem mode on.
    std::fs::remove_file(repo.path().join(".planning/config.json")).unwrap();
    for (settings, file) in [(None, "a"), (Some(r#"{"tandem_enabled": false}"#), "b")] {
        if let Some(settings) = settings {
            repo.write(".planning/config.json", settings);
        }
        let solo = shell.follows(TANDEM, "countersign tandem", &[]).await;
        assert!(solo.code == 1 && solo.out.starts_with("tandem_enabled=false\n"), "{}", solo.out);
        repo.write(file, "alone\n");
        let ended = shell.runs(&format!("git add {file} && git commit --quiet -m {file} && git push --quiet")).await;
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    let called = listener.accept().map(|_| ()).unwrap_err();
    assert_eq!(called.kind(), std::io::ErrorKind::WouldBlock, "the broker was called");
}

#[tokio::test]
async fn without_a_broker_work_continues_unless_fail_closed() {
    for (option, may) in [("", true), ("--fail-closed", false)] {
        let (home, repo) = (tempfile::tempdir().unwrap(), Repo::new());
        let (_, shell) = fresh(&home, &repo);
        repo.write(".planning/config.json", r#"{"tandem_enabled": true}"#);
        let set_up = shell.runs(&format!("countersign init --client claude --git-hooks --gsd --yes {option}")).await;
        assert_eq!(set_up.code, 0, "{}{}", set_up.out, set_up.err);
        shell.does(TANDEM, "countersign tandem", &[]).await;
        repo.write("a", "a\n");
        repo.git(&["add", "a"]);
        let description = home.path().join("description.md");
        std::fs::write(&description, "The task\n").unwrap();
        let blanks = [("DESCRIPTION", description.to_str().unwrap())];
        assert_eq!(shell.follows(EXECUTOR, REQUEST_STAGED, &blanks).await.code, 5, "no broker answers");
        let ended = shell.runs("git commit --quiet -m a").await;
        assert_eq!(ended.code == 0, may, "{}", ended.err);
        assert!(ended.err.contains("cannot check for an approval"), "{}", ended.err);
        let gate = async |flag: &str| shell.runs(&format!("countersign gate --commit HEAD {flag}")).await.code;
        assert_eq!((gate("").await, gate("--fail-open").await, gate("--fail-closed").await), (2, 0, 1));
    }
}

/// A home where no broker has ever run, and a repository with a remote.
fn fresh(home: &tempfile::TempDir, repo: &Repo) -> (std::path::PathBuf, Shell) {
    repo.git(&["config", "user.name", "Test"]);
    repo.git(&["config", "user.email", "test@example.invalid"]);
    repo.git(&["init", "--quiet", "--bare", "../far.git"]);
    repo.git(&["remote", "add", "origin", "../far.git"]);
    repo.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    let data_dir = home.path().join("data");
    let shell = Shell::new(home.path(), &repo.path(), &data_dir);
    (data_dir, shell)
}

#[tokio::test]
async fn a_project_that_says_that_it_works_solo_commits_and_pushes_without_approvals() {
    let project = Project::new(r#"{"tandem_enabled": true}"#).await;
    project.stages("one.txt", "one\n");
    assert_ne!(project.commits("one").await.code, 0);
    project.broker.repo().git(&["reset", "--quiet", "--hard"]);
    // The switch itself is a change that needs an approval.
    assert_eq!(project.runs("countersign tandem off").await.code, 0);
    assert_eq!(project.runs("git add .planning/config.json").await.code, 0);
    assert_ne!(project.commits("Work solo").await.code, 0);
    let said = project.runs("countersign request --staged --as eve").await;
    let review = said.out.split_whitespace().next().unwrap().to_owned();
    assert_eq!(project.hears(&review, &["--approve"]).await, 0);
    project.has_committed("Work solo").await;
    assert_eq!(project.runs("git push --quiet").await.code, 0);

    project.stages("one.txt", "one\n");
    project.has_committed("one").await;
    let pushed = project.runs("git push --quiet").await;
    assert_eq!(pushed.code, 0, "{}", pushed.err);
    assert!(pushed.err.contains("requires no approval for a push"), "{}", pushed.err);
}
