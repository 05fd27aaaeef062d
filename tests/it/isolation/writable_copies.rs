//! Copies of a project that reviewers may change: they have a repository of their own and nothing of the user's.

use crate::support::{
    broker::TestBroker, client::proposal_with, pool::ids, scripted_reviewer::command_pool, wait_until::wait_until,
};
use sandbox::Support;
use serde_json::json;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};
use testkit::Repo;

/// Claims R-1, works in its copy as a test run would, and approves when the file `go` exists.
const TESTER: &str = r#"
real="$1" go="$2"
port=${COUNTERSIGN_MCP_URL#http://127.0.0.1:}; port=${port%%/*}
call() {
  exec 3<>/dev/tcp/127.0.0.1/$port
  printf 'POST /api/v1/reviews/R-1/%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$1" $port "$COUNTERSIGN_TOKEN" ${#2} "$2" >&3
  cat <&3; exec 3<&-
}
until claim=$(call claim '{}'); copy=$(echo "$claim" | sed -n 's/.*"workspace":"\([^"]*\)".*/\1/p'); [ -n "$copy" ]; do :; done
cd "$copy" || exit 1
say() { echo "$1 $(eval "$2" 2>&1 | tr '\n' '|')"; }
attempt() { if eval "$2" >/dev/null 2>&1; then echo "$1 OPEN"; else echo "$1 CLOSED"; fi; }
say status 'git status --porcelain'
say log 'git log --format=%s'
say branch 'git rev-parse --abbrev-ref HEAD'
say changed 'git diff --unified=0 HEAD -- greeting.txt | tail -n 1'
say hooks 'ls .git/hooks'
say settings 'git config user.secret'
say alternates 'cat .git/objects/info/alternates'
say remotes 'git remote; git for-each-ref --format="%(refname)"'
say other_branch 'git cat-file -t '$3
attempt build_output 'mkdir -p target && echo built > target/output && cat target/output'
attempt change_file 'echo x >> greeting.txt'
attempt commit 'git add --all && git -c user.name=r -c user.email=r@example.invalid commit -qm work'
attempt real_file 'echo x > "$real/left-behind"'
attempt real_ref 'echo x > "$real/.git/refs/heads/evil"'
attempt real_objects 'echo x > "$real/.git/objects/evil"'
attempt real_push 'git push -q "$real" HEAD:refs/heads/evil'
attempt real_hook 'echo x > "$real/.git/hooks/pre-commit"'
attempt drafts 'ls ../../../drafts'
attempt beside_folder 'echo x > ../../beside'
echo "copy $copy"
echo "finished yes"
until [ -e "$go" ]; do read -r -t 1 _ < <(:) || :; done
hash=$(echo "$claim" | sed -n 's/.*"content_hash":"\([0-9a-f]*\)".*/\1/p' | head -n 1)
generation=$(echo "$claim" | sed -n 's/.*"claim_generation":\([0-9]*\).*/\1/p' | head -n 1)
call verdict "{\"verdict\":\"approved\",\"claim_generation\":$generation,\"content_hash\":\"$hash\"}" >/dev/null
exec sleep 600
"#;

/// Lets the tester review a change of `project` and returns what it could do, and the broker.
async fn test_in_copy(project: &Repo, tools: &Path, settings: &str) -> (TestBroker, BTreeMap<String, String>) {
    let home = tempfile::TempDir::new().unwrap();
    let script = home.path().join("tester.sh");
    fs::write(&script, TESTER).unwrap();
    let go = tools.join("go");
    let secret = project.git(&["rev-parse", "secret"]);
    let command = [json!("bash"), json!(script), json!(project.path()), json!(go), json!(secret)];
    let pool = command_pool(&command, &format!("max_size = 1\nreadable = [{tools:?}]\nsandbox = \"required\"\n"));
    let settings = format!("{pool}[projects.app]\npath = {:?}\n{settings}\n", project.path());
    let broker = TestBroker::in_home(home, &settings).await;
    let diff = project.diff("zwei");
    let more = json!({ "diff": diff, "project": "app" });
    broker.client().call("create_review", proposal_with("in German", more)).await;
    let pool = broker.until_pool("a reviewer runs", |pool| !ids(pool, "reviewers").is_empty()).await;
    let reviewer = ids(&pool, "reviewers").pop_first().unwrap();
    let log = broker.data_dir().join("reviewers").join(format!("{reviewer}.log"));
    let report = wait_until("the reviewer has tried everything", async || {
        let log = fs::read_to_string(&log).unwrap_or_default();
        let results = log.lines().filter_map(|line| {
            let (_, line) = line.split_once(" out ")?;
            let (what, result) = line.split_once(' ')?;
            Some((what.trim().to_owned(), result.trim().to_owned()))
        });
        Some(results.collect::<BTreeMap<_, _>>()).filter(|results| results.contains_key("finished"))
    });
    let results = report.await;
    (broker, results)
}

/// A project with a second branch, a hook and a setting.
fn project() -> Repo {
    let project = Repo::new();
    project.write("tool.sh", "#!/bin/sh\n");
    project.commit("second");
    project.git(&["checkout", "--quiet", "-b", "secret"]);
    project.write("secret.txt", "secret\n");
    project.commit("a secret of another branch");
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["config", "user.secret", "sesame"]);
    let hook = project.path().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    project
}

/// All files of a folder with their content.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut folders, mut files) = (vec![folder.to_owned()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => drop(files.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    files
}

fn is_skipped(what: &str) -> bool {
    let missing = Support::of_this_system().missing();
    if let Some(why) = missing {
        eprintln!("SKIPPED, because {why}: {what}");
    }
    missing.is_some()
}

#[tokio::test]
async fn a_reviewer_runs_tests_in_a_copy_of_its_own() {
    if is_skipped("a writable copy in a sandbox") {
        return;
    }
    let (project, tools) = (project(), tempfile::tempdir().unwrap());
    project.diff("zwei");
    let before = files_in(&project.path());
    let (broker, could) = test_in_copy(&project, tools.path(), "reviewer_copy = \"writable\"").await;
    let expected = [
        ("status", "M greeting.txt|"),
        ("log", "second|first|"),
        ("branch", "review|"),
        ("changed", "+zwei|"),
        ("hooks", "ls: cannot access '.git/hooks': No such file or directory|"),
        ("settings", ""),
        ("alternates", "cat: .git/objects/info/alternates: No such file or directory|"),
        ("remotes", "refs/heads/review|"),
        ("other_branch", "fatal: git cat-file: could not get object info|"),
        ("build_output", "OPEN"),
        ("change_file", "OPEN"),
        ("commit", "OPEN"),
        ("real_file", "CLOSED"),
        ("real_ref", "CLOSED"),
        ("real_objects", "CLOSED"),
        ("real_push", "CLOSED"),
        ("real_hook", "CLOSED"),
        ("drafts", "CLOSED"),
        ("beside_folder", "CLOSED"),
        ("finished", "yes"),
    ];
    let mut could = could;
    let copy = could.remove("copy").unwrap();
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(what, result)| (what.to_owned(), result.to_owned())).collect();
    assert_eq!(could, expected);
    assert!(Path::new(&copy).join("target/output").exists() && Path::new(&copy).join(".git/HEAD").exists());
    assert_eq!(files_in(&project.path()), before, "nothing of the user's repository has changed");
    fs::write(tools.path().join("go"), "").unwrap();
    wait_until("the copy is gone", async || (!Path::new(&copy).exists()).then_some(())).await;
    let reviews = broker.client().call("list_reviews", json!({ "status": "approved" })).await;
    assert_eq!(reviews["reviews"].as_array().unwrap().len(), 1, "{reviews}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_copy_is_read_only_and_without_a_repository_by_default() {
    if is_skipped("a read-only copy in a sandbox") {
        return;
    }
    for settings in ["", "reviewer_copy = \"read_only\""] {
        let (project, tools) = (project(), tempfile::tempdir().unwrap());
        let (broker, could) = test_in_copy(&project, tools.path(), settings).await;
        for closed in ["build_output", "change_file", "commit", "real_file", "real_ref", "beside_folder"] {
            assert_eq!(could[closed], "CLOSED", "{closed}: {could:?}");
        }
        assert!(could["status"].contains("not a git repository"), "{could:?}");
        assert!(!Path::new(&could["copy"]).join(".git").exists());
        broker.stop_and_check().await;
    }
}

/// The history of a long project is cut, and that of a shallow clone ends where the clone ends.
#[tokio::test]
async fn a_copy_has_the_last_commits_only() {
    if is_skipped("a writable copy in a sandbox") {
        return;
    }
    let long = project();
    for number in 0..60 {
        long.git(&["commit", "--quiet", "--allow-empty", "--message", &format!("c{number}")]);
    }
    let shallow = Repo::empty("sha1");
    let source = format!("file://{}", long.path().display());
    shallow.git(&["fetch", "--quiet", "--depth", "3", &source, "main:fetched", "secret:secret"]);
    shallow.git(&["checkout", "--quiet", "-B", "main", "fetched"]);
    for (project, commits) in [(&long, 50), (&shallow, 3)] {
        let tools = tempfile::tempdir().unwrap();
        let (broker, could) = test_in_copy(project, tools.path(), "reviewer_copy = \"writable\"").await;
        let log: Vec<_> = could["log"].split_terminator('|').collect();
        assert_eq!((log.len(), log[0]), (commits, "c59"), "{could:?}");
        assert_eq!(could["status"], "M greeting.txt|");
        assert_eq!(could["commit"], "OPEN");
        broker.stop_and_check().await;
    }
}
