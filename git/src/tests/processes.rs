//! Time limits, concurrency, and cleanup of processes and folders.

use std::time::Instant;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::*;

const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A git that hangs in `apply`.
fn slow_git() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/slow-git.sh")
}

fn one_file() -> (TestRepo, String) {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    (repo, base)
}

/// The process ids that the slow git recorded: its own and its child's.
fn recorded_pids(repo: &TestRepo) -> Option<Vec<String>> {
    let project = children(&repo.scratch()).pop()?;
    let noted = fs::read_to_string(project.join("pids")).ok()?;
    Some(noted.split_whitespace().map(str::to_owned).collect())
}

/// A zombie counts as gone: it waits for its new parent.
fn is_gone(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit(") ").next().is_some_and(|state| state.starts_with(['Z', 'X']))
}

async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = timeout(TEST_TIMEOUT, async {
        while !holds() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "timed out: {what}");
}

#[tokio::test]
async fn a_hanging_git_is_killed_with_its_children() {
    let (repo, base) = one_file();
    let time_limit = Duration::from_secs(3);
    let repository = repo
        .open_with(GitSettings { engine: EngineMode::Git, program: slow_git(), time_limit, ..GitSettings::default() })
        .await;

    let started = Instant::now();
    let outcome = repository.check(Some(&base), DIFF).await;

    assert!(matches!(outcome, Err(GitError::TimedOut { after }) if after == time_limit), "{outcome:?}");
    assert!(started.elapsed() < TEST_TIMEOUT);
    assert_eq!(repo.left_behind(), [] as [PathBuf; 0]);
    let pids = recorded_pids(&repo).expect("the slow git ran");
    wait_until("both processes end", || pids.iter().all(|pid| is_gone(pid))).await;
}

#[tokio::test]
async fn a_dropped_check_leaves_no_process_and_no_file_and_releases_its_permit() {
    let (repo, base) = one_file();
    let settings =
        GitSettings { engine: EngineMode::Git, program: slow_git(), concurrency: 1, ..GitSettings::default() };
    let repository = repo.open_with(settings).await;
    let task = tokio::spawn({
        let (repository, base) = (repository.clone(), base.clone());
        async move { repository.check(Some(&base), DIFF).await }
    });
    wait_until("git runs", || recorded_pids(&repo).is_some()).await;
    assert_eq!(repo.left_behind().len(), 1);

    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());

    let pids = recorded_pids(&repo).unwrap();
    wait_until("both processes end", || pids.iter().all(|pid| is_gone(pid))).await;
    wait_until("the folder is removed", || repo.left_behind().is_empty()).await;
    let next = timeout(TEST_TIMEOUT, repository.resolve_base(None)).await;
    assert_eq!(next.expect("the permit is free again").unwrap(), Some(base));
}

#[test]
fn a_runtime_that_shuts_down_ends_the_check() {
    let (repo, base) = one_file();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let repository = repo
            .open_with(GitSettings { engine: EngineMode::Git, program: slow_git(), ..GitSettings::default() })
            .await;
        tokio::spawn(async move { repository.check(Some(&base), DIFF).await });
        wait_until("git runs", || recorded_pids(&repo).is_some()).await;
    });
    drop(runtime);
    let pids = recorded_pids(&repo).unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !pids.iter().all(|pid| is_gone(pid)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(pids.iter().all(|pid| is_gone(pid)));
    assert_eq!(repo.left_behind(), [] as [PathBuf; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_checks_of_a_new_base_agree() {
    let repo = TestRepo::new();
    for n in 0..200 {
        repo.write(&format!("dir{}/file{n}", n % 7), numbers(1, n));
    }
    repo.write("x", "1\n");
    let base = repo.commit();
    repo.write("x", "2\n");
    repo.commit();
    let repository = repo.open_with(GitSettings { concurrency: 8, ..GitSettings::default() }).await;
    let mut checks = JoinSet::new();
    for _ in 0..8 {
        let (repository, base) = (repository.clone(), base.clone());
        checks.spawn(async move { repository.check(Some(&base), DIFF).await.unwrap() });
    }
    let outcomes = checks.join_all().await;
    assert_eq!(outcomes, vec![applies(&repo.tree()); 8]);
    assert_eq!(repo.left_behind(), [] as [PathBuf; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_bases_than_the_cache_holds_still_give_the_right_tree() {
    let (repo, _) = one_file();
    let repository = repo.open_with(GitSettings { engine: EngineMode::Git, ..GitSettings::default() }).await;
    let mut bases = Vec::new();
    for n in 0..scratch_repo::INDEX_CACHE_CAPACITY + 4 {
        repo.write("other", format!("{n}\n"));
        bases.push(repo.commit());
    }
    repo.write("x", "2\n");
    for base in bases.iter().chain([&bases[0]]) {
        let DiffCheck::Applies { tree_id: Some(tree), .. } = repository.check(Some(base), DIFF).await.unwrap() else {
            panic!("does not apply to {base}");
        };
        repo.git(&["read-tree", base]);
        repo.git(&["add", "x"]);
        assert_eq!(repo.git(&["write-tree"]), tree);
    }
    let runs = children(&repo.scratch()).into_iter().flat_map(|project| children(&project));
    let kept = runs.map(|run| children(&run.join("indexes")).len());
    assert_eq!(kept.sum::<usize>(), scratch_repo::INDEX_CACHE_CAPACITY);
}

#[tokio::test]
async fn folders_of_an_earlier_run_are_removed_and_those_of_this_run_are_kept() {
    let (repo, base) = one_file();
    let first = repo.open().await;
    let project = children(&repo.scratch()).pop().unwrap();
    fs::create_dir_all(project.join("0123-earlier/sessions/half")).unwrap();
    let second = repo.open().await;
    assert!(!project.join("0123-earlier").exists());
    for repository in [&first, &second] {
        assert!(matches!(repository.check(Some(&base), DIFF).await.unwrap(), DiffCheck::Applies { .. }));
    }
    drop(first);
    assert_eq!(children(&project).len(), 1);
    drop(second);
    assert_eq!(children(&project), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_deleted_scratch_folder_is_built_again() {
    let (repo, base) = one_file();
    let repository = repo.open_with(GitSettings { engine: EngineMode::Git, ..GitSettings::default() }).await;
    for _ in 0..2 {
        assert!(matches!(repository.check_with_git(Some(&base), DIFF).await.unwrap(), DiffCheck::Applies { .. }));
        fs::remove_dir_all(repo.scratch()).unwrap();
        repository.resolve_base(None).await.unwrap();
        fs::remove_dir_all(repo.scratch()).unwrap();
        assert!(repository.patch_id(DIFF).await.unwrap().is_some());
        fs::remove_dir_all(repo.scratch()).unwrap();
    }
}

#[tokio::test]
async fn a_missing_git_program_is_named_in_the_error() {
    let (repo, _) = one_file();
    let settings = Arc::new(GitSettings { program: "/nowhere/git".into(), ..GitSettings::default() });
    let refused = Repository::open(&repo.project, &repo.scratch(), false, settings).await;
    assert!(matches!(refused, Err(GitError::Missing { .. })), "{refused:?}");
}

#[tokio::test]
async fn long_error_output_is_truncated() {
    let (repo, base) = one_file();
    let repository = repo.open().await;
    let diff: String = (0..2_000).map(|n| DIFF.replace('x', &format!("missing{n}"))).collect();
    let DiffCheck::Fails { message: words } = repository.check(Some(&base), &diff).await.unwrap() else {
        panic!("cannot apply");
    };
    assert!(words.len() < 10_000 && words.ends_with('…'), "{}", words.len());
}
