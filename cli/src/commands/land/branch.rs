//! Chooses the branch that a change lands on.

use domain::review::{TargetKind, TargetName};
use gate::{Gate, ReviewedContent};
use git::GitError;

/// The branch that a broker compares others with: the main branch of the remote, or one of these.
const MAIN_BRANCHES: [&str; 2] = ["main", "master"];

/// Chooses the branch to land on: the given one, else the one that the change was compared with, else the one that is
/// checked out. The inner error says why no branch was found.
pub(super) async fn find(
    gate: &Gate,
    review: &ReviewedContent,
    given: Option<&str>,
) -> Result<Result<String, String>, GitError> {
    if let Some(branch) = given {
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        return Ok(match gate.git.find_branch(branch).await? {
            Some(_) => Ok(branch.to_owned()),
            None => Err(format!("--onto {branch}: this repository has no such branch")),
        });
    }
    let mut candidates = Vec::new();
    if let Some(target) = &review.target {
        candidates = names_of_base(gate, target).await?;
        candidates.retain(|name| target.kind != TargetKind::Branch || *name != target.name);
    }
    for name in candidates {
        if gate.git.find_branch(&name).await?.is_some() {
            return Ok(Ok(name));
        }
    }
    let current = gate.repo.current_branch().await?;
    let is_own = |branch: &String| {
        review.target.as_ref().is_some_and(|target| target.kind == TargetKind::Branch && target.name == *branch)
    };
    Ok(match current {
        Some(branch) if is_own(&branch) => {
            Err(format!("{branch} is the branch that was reviewed; name the branch to land on with --onto"))
        }
        Some(branch) => Ok(branch),
        None => Err("no branch is checked out; name the branch to land on with --onto".to_owned()),
    })
}

/// The branches that the base of a target may mean in this repository. `origin/main` means `main`.
async fn names_of_base(gate: &Gate, target: &TargetName) -> Result<Vec<String>, GitError> {
    let mut names = Vec::new();
    match (&target.base_name, target.kind) {
        (Some(base), _) => names.extend(local_names(base)),
        (None, TargetKind::Branch) => {
            let main = gate.repo.try_git(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).await?;
            names.extend(local_names(&main.text()));
            names.extend(MAIN_BRANCHES.map(str::to_owned));
        }
        (None, TargetKind::Commit | TargetKind::Range) => {}
    }
    Ok(names)
}

fn local_names(base: &str) -> Vec<String> {
    let full = ["refs/heads/", "refs/remotes/"].iter().find_map(|prefix| base.strip_prefix(prefix));
    let name = full.unwrap_or(base);
    let of_remote = name.split_once('/').map(|(_, name)| name.to_owned());
    [Some(name.to_owned()), of_remote].into_iter().flatten().filter(|name| !name.is_empty()).collect()
}
