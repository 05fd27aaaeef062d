//! The commits of real repositories.

use super::*;

const VARIANTS: [&[&str]; 5] = [
    &["-M", "-C", "--binary", "--full-index"],
    &[],
    &["-U0", "-M"],
    &["-U1", "-B", "--find-copies-harder"],
    &["-U8", "--no-prefix"],
];

/// Compares the newest commits of a repository: against their parents in several forms, against another base, and with
/// the commit after them in one diff.
async fn compare_history(project: &Path, commits: usize) -> Comparison {
    let mut comparison = Comparison::open(project).await;
    let list = git_in(project, &["rev-list", "--no-merges", "--parents", &format!("-n{commits}"), "HEAD"]);
    let pairs: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
    for (at, (commit, parent)) in pairs.iter().enumerate() {
        let diff = |options: &[&str]| {
            let args =
                [&["diff-tree", "-p", "-r", "--no-textconv", "--no-ext-diff"], options, &[parent, commit]].concat();
            let output = git_command(project).args(args).output().unwrap();
            String::from_utf8(output.stdout).ok().filter(|diff| !diff.is_empty())
        };
        let variants = if at % 4 == 0 { &VARIANTS[..] } else { &VARIANTS[..1] };
        for options in variants {
            let Some(diff) = diff(options) else { continue };
            comparison.compare(&format!("{commit} {options:?}"), Some(parent), &diff).await;
        }
        let (Some(diff), Some((_, other))) = (diff(&[]), pairs.get(at + 7)) else { continue };
        if at % 3 == 0 {
            comparison.compare(&format!("{commit} on {other}"), Some(other), &diff).await;
        }
    }
    comparison
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_the_newest_commits_of_this_repository() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if !project.join(".git").exists() {
        println!("SKIPPED: the sources are not in a git repository");
        return;
    }
    let comparison = compare_history(project, 25).await;
    comparison.report("this repository");
}

/// `cargo xtask git-differential [REPOSITORY]`
#[tokio::test]
#[ignore = "long"]
async fn git_differential_history() {
    let project = project();
    let comparison = compare_history(&project, 5_000).await;
    comparison.report(&project.display().to_string());
    assert!(comparison.same > 0, "no diff could be compared");
}

/// The repository to read: the one in `COUNTERSIGN_TEST_HISTORY`, or this one.
pub(super) fn project() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    std::env::var_os("COUNTERSIGN_TEST_HISTORY").map_or(own, PathBuf::from)
}
