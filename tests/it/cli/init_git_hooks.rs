//! Installed git hooks run the gate first, then the user's own hook.

use crate::{cli::init::Place, support::broker::TestBroker};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use testkit::git_command;

/// A fake `countersign` in PATH that logs its arguments and its stdin.
struct Stand {
    bin: PathBuf,
    log: PathBuf,
}

impl Stand {
    fn new(place: &Place, code: i32) -> Self {
        let (bin, log) = (place.home.path().join("bin"), place.home.path().join("log"));
        fs::create_dir_all(&bin).unwrap();
        let text =
            format!("#!/bin/sh\n{{ echo \"$*\"; [ \"$2\" = pre-push ] && cat; }} >>'{}'\nexit {code}\n", log.display());
        script(&bin.join("countersign"), &text);
        Self { bin, log }
    }

    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.bin.display())
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs git as the user does: whether it succeeded, and its output.
fn git_in(dir: &Path, home: &Path, path: &str, args: &[&str]) -> (bool, String) {
    let output = git_command(dir).args(args).env("PATH", path).env("HOME", home).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn git(place: &Place, path: &str, args: &[&str]) -> (bool, String) {
    git_in(&place.repo.path(), place.home.path(), path, args)
}

/// Puts the hooks into the work tree, so that they call the program by name.
fn shared_hooks(place: &Place) {
    place.repo.git(&["config", "core.hooksPath", ".githooks"]);
}

#[tokio::test]
async fn git_runs_our_hooks_and_then_those_of_the_user() {
    let place = Place::new();
    shared_hooks(&place);
    let mine = place.home.path().join("mine");
    script(
        &place.path(".githooks/pre-commit"),
        &format!("#!/bin/sh\nset -eu\necho pre-commit >>'{}'\n", mine.display()),
    );
    script(
        &place.path(".githooks/pre-push"),
        &format!("#!/bin/sh\necho \"$1\" >>'{0}'; cat >>'{0}'\n", mine.display()),
    );
    let stand = Stand::new(&place, 0);
    place.init(&["--git-hooks", "--yes"]).var("PATH", &stand.path()).stdout().await;
    place.repo.git(&["init", "--quiet", "--bare", "../far.git"]);
    place.repo.write("new.txt", "new\n");
    assert!(git(&place, &stand.path(), &["add", "new.txt"]).0);
    let (succeeded, output) = git(&place, &stand.path(), &["commit", "--quiet", "-m", "new"]);
    assert!(succeeded, "{output}");
    let (succeeded, output) = git(&place, &stand.path(), &["push", "--quiet", "../far.git", "main"]);
    assert!(succeeded, "{output}");
    let head = place.repo.git(&["rev-parse", "HEAD"]);
    let refs = format!("refs/heads/main {head} refs/heads/main {}\n", "0".repeat(40));
    let log = stand.log();
    let heads: Vec<&str> = log.lines().take(4).map(|line| line.split(" .git").next().unwrap()).collect();
    assert_eq!(
        heads,
        ["hook pre-commit", "hook commit-msg", "hook post-commit", "hook pre-push ../far.git ../far.git"]
    );
    assert!(log.ends_with(&refs), "{log}");
    assert_eq!(
        fs::read_to_string(&mine).unwrap(),
        format!("pre-commit\n../far.git\n{refs}"),
        "both read what git says"
    );
}

#[tokio::test]
async fn a_refusal_stops_a_commit_and_a_push() {
    let place = Place::new();
    shared_hooks(&place);
    let stand = Stand::new(&place, 1);
    place.init(&["--git-hooks", "--yes"]).var("PATH", &stand.path()).stdout().await;
    place.repo.git(&["init", "--quiet", "--bare", "../far.git"]);
    place.repo.write("new.txt", "new\n");
    assert!(git(&place, &stand.path(), &["add", "new.txt"]).0);
    assert!(!git(&place, &stand.path(), &["commit", "--quiet", "-m", "new"]).0);
    assert!(!git(&place, &stand.path(), &["push", "--quiet", "../far.git", "main"]).0);
}

#[tokio::test]
async fn a_failing_program_stops_git_only_with_fail_closed() {
    for code in [2, 101, 126] {
        for (more, may) in [(None, true), (Some("--fail-closed"), false)] {
            let place = Place::new();
            shared_hooks(&place);
            let stand = Stand::new(&place, code);
            let options: Vec<&str> = ["--git-hooks", "--yes"].into_iter().chain(more).collect();
            place.init(&options).var("PATH", &stand.path()).stdout().await;
            place.repo.git(&["init", "--quiet", "--bare", "../far.git"]);
            place.repo.write("new.txt", "new\n");
            assert!(git(&place, &stand.path(), &["add", "new.txt"]).0);
            let (succeeded, output) = git(&place, &stand.path(), &["commit", "--quiet", "-m", "new"]);
            assert_eq!(succeeded, may, "{code} {output}");
            assert_eq!(output.contains("the check itself failed, so nothing was checked"), may, "{output}");
            assert_eq!(git(&place, &stand.path(), &["push", "--quiet", "../far.git", "main"]).0, may, "{code}");
        }
    }
}

#[tokio::test]
async fn hooks_that_write_receipts_never_stop_git() {
    let place = Place::new();
    shared_hooks(&place);
    let stand = Stand::new(&place, 1);
    place.init(&["--git-hooks", "--fail-closed", "--yes"]).var("PATH", &stand.path()).stdout().await;
    fs::remove_file(place.path(".githooks/pre-commit")).unwrap();
    place.repo.write("new.txt", "new\n");
    assert!(git(&place, &stand.path(), &["add", "new.txt"]).0);
    let (succeeded, output) = git(&place, &stand.path(), &["commit", "--quiet", "-m", "new"]);
    assert!(succeeded, "{output}");
    assert!(stand.log().contains("hook commit-msg"), "{}", stand.log());
}

#[tokio::test]
async fn a_missing_program_stops_git_only_with_fail_closed() {
    for (options, may) in [(vec!["--git-hooks", "--yes"], true), (vec!["--git-hooks", "--fail-closed", "--yes"], false)]
    {
        let place = Place::new();
        shared_hooks(&place);
        let stand = Stand::new(&place, 1);
        place.init(&options).var("PATH", &stand.path()).stdout().await;
        place.repo.write("new.txt", "new\n");
        let bare = "/usr/bin:/bin";
        assert!(git(&place, bare, &["add", "new.txt"]).0);
        let (succeeded, output) = git(&place, bare, &["commit", "--quiet", "-m", "new"]);
        assert_eq!(succeeded, may, "{output}");
        assert!(output.contains("countersign: the program is missing"), "{output}");
    }
}

#[tokio::test]
async fn a_hook_that_is_not_a_shell_script_runs_after_ours_and_is_restored() {
    let place = Place::new();
    shared_hooks(&place);
    let mine = place.home.path().join("mine");
    let theirs = format!("#!/usr/bin/perl\nopen(my $f, '>>', '{}'); print $f \"mine\\n\";\n", mine.display());
    script(&place.path(".githooks/pre-commit"), &theirs);
    let stand = Stand::new(&place, 0);
    let before = place.all();
    let shown = place.init(&["--git-hooks", "--yes"]).var("PATH", &stand.path()).stdout().await;
    assert!(shown.contains("move .githooks/pre-commit to .githooks/pre-commit.local"), "{shown}");
    let again = place.init(&["--git-hooks", "--yes"]).var("PATH", &stand.path()).stdout().await;
    assert_eq!(again, "nothing to do\n");
    place.repo.write("new.txt", "new\n");
    assert!(git(&place, &stand.path(), &["add", "new.txt"]).0);
    let (succeeded, output) = git(&place, &stand.path(), &["commit", "--quiet", "-m", "new"]);
    assert!(succeeded, "{output}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine\n");
    assert!(stand.log().starts_with("hook pre-commit\n"));
    fs::remove_file(place.path("new.txt")).unwrap();
    place.init(&["--remove", "--yes"]).var("PATH", &stand.path()).stdout().await;
    assert_eq!(place.all(), before);
    assert_eq!(fs::metadata(place.path(".githooks/pre-commit")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn hooks_of_a_hook_manager_are_left_alone() {
    let place = Place::new();
    place.repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let ended = place.init(&["--git-hooks", "--yes"]).finish().await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "nothing to do\n"));
    assert!(
        ended.err.contains("husky manages the hooks here") && ended.err.contains("countersign hook pre-push"),
        "{}",
        ended.err
    );
    assert!(!place.path(".husky").exists());

    let place = Place::new();
    script(
        &place.path(".git/hooks/pre-commit"),
        "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
    );
    let ended = place.init(&["--git-hooks", "--yes"]).finish().await;
    assert!(
        ended.err.contains(".pre-commit-config.yaml") && ended.err.contains("entry: countersign hook pre-commit"),
        "{}",
        ended.err
    );
    assert!(!place.read(".git/hooks/pre-commit").contains("countersign"));
    assert!(place.read(".git/hooks/pre-push").contains("countersign"));
}

#[tokio::test]
async fn hooks_shared_by_all_repositories_are_left_alone() {
    let place = Place::new();
    let shared = place.home.path().join("hooks");
    fs::write(place.home.path().join(".gitconfig"), format!("[core]\n\thooksPath = {}\n", shared.display())).unwrap();
    let ended = place.init(&["--git-hooks", "--yes"]).finish().await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("core.hooksPath applies to more than this repository (global: "), "{}", ended.err);
    assert!(!shared.exists());
}

#[tokio::test]
async fn a_linked_worktree_uses_the_hooks_of_its_repository() {
    let place = Place::new();
    place.repo.git(&["worktree", "add", "--quiet", "../linked"]);
    let linked = place.repo.path().with_file_name("linked");
    let line = ["init", "--client", "claude", "--git-hooks", "--yes"];
    crate::support::command::command_in(place.home.path(), &linked, &line).var("PATH", "/usr/bin:/bin").stdout().await;
    assert!(linked.join(".mcp.json").exists() && !place.path(".mcp.json").exists());
    assert!(place.read(".git/hooks/pre-commit").contains(env!("CARGO_BIN_EXE_countersign")));
    let line = ["init", "--remove", "--yes"];
    crate::support::command::command_in(place.home.path(), &linked, &line).var("PATH", "/usr/bin:/bin").stdout().await;
    assert!(!place.path(".git/hooks/pre-commit").exists() && !linked.join(".mcp.json").exists());
}

#[tokio::test]
async fn an_existing_local_file_of_the_user_is_never_run() {
    let place = Place::new();
    script(&place.path(".git/hooks/pre-commit"), "#!/bin/sh\n. .git/hooks/pre-commit.local\n");
    script(&place.path(".git/hooks/pre-commit.local"), "true\n");
    place.init(&["--git-hooks", "--yes"]).stdout().await;
    assert_eq!(place.read(".git/hooks/pre-commit").matches("pre-commit.local").count(), 1);

    script(&place.path(".git/hooks/commit-msg"), "#!/usr/bin/perl\n");
    script(&place.path(".git/hooks/commit-msg.local"), "true\n");
    let ended = place.init(&["--git-hooks", "--yes"]).finish().await;
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("cannot move it to ") && ended.err.contains("which exists"), "{}", ended.err);
    assert_eq!(place.read(".git/hooks/commit-msg"), "#!/usr/bin/perl\n");
}

/// The hooks as `init` installs them, run by git, with the real gate.
#[tokio::test]
async fn unapproved_work_is_neither_committed_nor_pushed() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    let data_dir = broker.data_dir().display().to_string();
    let line = ["init", "--client", "claude", "--git-hooks", "--yes", "--data-dir", &data_dir];
    broker.command(&line).stdout().await;
    let git = |args: &[&str]| git_in(&repo.path(), broker.home(), "/usr/bin:/bin", args);
    // What a person decides for the project, and commits without asking us.
    let settle = |text: &str| {
        repo.write(".planning/config.json", text);
        assert!(git(&["add", ".planning"]).0);
        assert!(git(&["commit", "--quiet", "--no-verify", "-m", "settings", "--", ".planning"]).0);
    };
    repo.git(&["init", "--quiet", "--bare", "../far.git"]);
    repo.write("new.txt", "new\n");
    assert!(git(&["add", "new.txt"]).0);
    let (succeeded, output) = git(&["commit", "--quiet", "-m", "new"]);
    assert!(!succeeded && output.contains("approv"), "{output}");
    let optimistic = r#"{"tandem_enabled": true, "execution_mode": "optimistic"}"#;
    repo.write(".planning/config.json", optimistic);
    let (succeeded, output) = git(&["commit", "--quiet", "-m", "new"]);
    assert!(
        !succeeded && output.contains("it takes effect after it is committed"),
        "uncommitted settings do not count: {output}"
    );
    settle(optimistic);
    let (succeeded, output) = git(&["commit", "--quiet", "-m", "new"]);
    assert!(succeeded && output.contains("requires no approval for a commit"), "{output}");
    let (succeeded, output) = git(&["push", "--quiet", "../far.git", "main"]);
    assert!(!succeeded && output.contains("approv"), "{output}");
    settle(r#"{"review": {"required_gates": ["plan_review"]}}"#);
    let (succeeded, output) = git(&["push", "--quiet", "../far.git", "main"]);
    assert!(!succeeded && output.contains("approv"), "settings do not count for their own push: {output}");
    assert!(git(&["push", "--quiet", "--no-verify", "../far.git", "main"]).0);
    repo.write("more.txt", "more\n");
    assert!(git(&["add", "more.txt"]).0);
    assert!(git(&["commit", "--quiet", "--no-verify", "-m", "more"]).0);
    let (succeeded, output) = git(&["push", "--quiet", "../far.git", "main"]);
    assert!(succeeded && output.contains("requires no approval for a push"), "{output}");
    settle(r#"{"review": {"required_gates": []}}"#);
    let (succeeded, output) = git(&["push", "--quiet", "../far.git", "main"]);
    assert!(!succeeded && output.contains("is not approved"), "settings always need an approval: {output}");
}
