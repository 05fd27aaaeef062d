//! Collects the change that `countersign request` proposes: commits, staged changes, the working tree, a diff file or a
//! plan.

use crate::{CliError, gate_settings::name_repo_option, terminal};
use anyhow::{Context as _, anyhow};
use api::reviews::{CreateReviewRequest, TargetRequest};
use domain::{
    review::Category,
    text::{count, truncate},
};
use git::UserRepo;
use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

/// Base branches; the first one that exists is used.
const BASES: [&str; 4] = ["origin/HEAD", "main", "master", "@{upstream}"];

/// Fixed options, independent of the user's git settings, so that reviewers read what git would apply.
const DIFF: [&str; 11] = [
    "diff",
    "--cached",
    "--binary",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// Newest commits whose messages describe the proposal.
const MAX_COMMITS: u32 = 100;
const MAX_SUBJECTS: usize = 3;
const INTENT_CHARS: usize = 300;

#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub(crate) struct Source {
    /// Base branch [default: origin/HEAD, main, master or the upstream]
    #[arg(long, value_name = "REF", conflicts_with_all = ["range", "staged", "worktree", "plan"])]
    pub base: Option<String>,
    /// Propose the current branch; the default of `request`
    #[arg(long, group = "source")]
    pub branch: bool,
    /// Propose only this commit
    #[arg(long, value_name = "REF", group = "source")]
    pub commit: Option<String>,
    /// Propose a range: A..B, or A...B from the merge base
    #[arg(long, value_name = "A..B", group = "source")]
    pub range: Option<String>,
    /// Propose the index
    #[arg(long, group = "source")]
    pub staged: bool,
    /// Propose the working tree including untracked files
    #[arg(long, group = "source")]
    pub worktree: bool,
    /// Propose a plan instead of a change
    #[arg(long, value_name = "FILE", group = "source")]
    pub plan: Option<PathBuf>,
    /// Propose a diff from a file, or from stdin with -
    #[arg(long, value_name = "FILE", group = "source")]
    pub diff: Option<PathBuf>,
}

impl Source {
    /// Whether a source was given.
    pub(crate) fn is_named(&self) -> bool {
        *self != Self::default()
    }

    /// A proposal with this change, described by its commits or its plan.
    pub(crate) async fn read(&self, dir: &Path) -> Result<CreateReviewRequest, CliError> {
        if let Some(file) = &self.plan {
            return plan(file);
        }
        if let Some(file) = &self.diff {
            let diff = Some(read_file(file)?);
            return Ok(CreateReviewRequest { diff, base: self.base.clone(), ..Default::default() });
        }
        let (repo, branch) = UserRepo::find_with_branch(dir).await.map_err(name_repo_option)?;
        if self.staged || self.worktree {
            return self.uncommitted(&repo).await;
        }
        let (commit, range, base) = (self.commit.clone(), self.range.clone(), self.base.clone());
        match (&commit, &range) {
            (Some(revision), _) => {
                let described = describe(&repo, 1, revision).await?;
                let target = Some(TargetRequest { commit, base, ..Default::default() });
                Ok(CreateReviewRequest { target, ..described })
            }
            (None, Some(revisions)) => {
                let described = describe(&repo, MAX_COMMITS, revisions).await?;
                let target = Some(TargetRequest { range, ..Default::default() });
                Ok(CreateReviewRequest { target, ..described })
            }
            (None, None) => self.branch(&repo, branch).await,
        }
    }

    async fn branch(&self, repo: &UserRepo, branch: Option<String>) -> Result<CreateReviewRequest, CliError> {
        let base = match &self.base {
            Some(base) => base.clone(),
            None => default_base(repo, branch.as_deref()).await?,
        };
        let described = describe(repo, MAX_COMMITS, &format!("{base}..HEAD")).await?;
        if described.intent.as_deref().is_none_or(str::is_empty) {
            let name = branch.as_deref().unwrap_or("HEAD");
            let hint = "for what is not committed there are --staged and --worktree, for a commit --commit REF";
            return Err(anyhow!("{name} has no commits ahead of {base}; {hint}").into());
        }
        if !repo.git(["status", "--porcelain", "--untracked-files=no"]).await?.is_empty() {
            terminal::remark("note: what is not committed is not part of it (--worktree takes the files as they are)");
        }
        let target = match branch {
            Some(branch) => TargetRequest { branch: Some(branch), base: Some(base), ..Default::default() },
            None => {
                let head = repo.git(["rev-parse", "HEAD"]).await?;
                TargetRequest { range: Some(format!("{base}...{head}")), ..Default::default() }
            }
        };
        Ok(CreateReviewRequest { target: Some(target), ..described })
    }

    async fn uncommitted(&self, repo: &UserRepo) -> Result<CreateReviewRequest, CliError> {
        let diff = if self.staged {
            diff(repo).await?
        } else {
            let scratch = tempfile::tempdir().context("cannot create a temporary index")?;
            // With a copy of the index git reads only changed files; with an empty one it would read all files.
            let other = repo.with_copied_index(&scratch.path().join("index")).await?;
            other.git(["add", "--all", "--", "."]).await?;
            diff(&other).await?
        };
        if diff.is_empty() {
            let what = if self.staged { "nothing is staged" } else { "nothing has changed" };
            return Err(anyhow!("{what} in {}", repo.root().display()).into());
        }
        let base = repo.git(["rev-parse", "HEAD"]).await?;
        let intent = Some(intent_of(&diff));
        Ok(CreateReviewRequest { intent, diff: Some(diff), base: Some(base), ..Default::default() })
    }
}

/// What a diff without a message is called: `Changes in src/a.rs, README.md and 3 more files`.
fn intent_of(diff: &str) -> String {
    let headers = diff.lines().filter_map(|line| line.strip_prefix("diff --git "));
    let names: Vec<_> = headers
        .filter_map(|names| names.rsplit_once(" b/").or_else(|| names.rsplit_once(" \"b/")))
        .map(|(_, name)| name.trim_end_matches('"'))
        .collect();
    let listed = names[..names.len().min(MAX_SUBJECTS)].join(", ");
    let more = names.len().saturating_sub(MAX_SUBJECTS);
    let rest = if more > 0 { format!(" and {}", count(more, "more file")) } else { String::new() };
    truncate(&format!("Changes in {listed}{rest}"), INTENT_CHARS).to_owned()
}

async fn diff(repo: &UserRepo) -> Result<String, CliError> {
    let output = repo.git_with_input(DIFF, &[]).await?;
    String::from_utf8(output.stdout().to_vec())
        .map_err(|_| anyhow!("the diff is not UTF-8; commit it and propose the commit").into())
}

async fn default_base(repo: &UserRepo, branch: Option<&str>) -> Result<String, CliError> {
    let bases: Vec<_> = BASES.into_iter().filter(|base| Some(*base) != branch).collect();
    let found = repo.find_first_commit(&bases).await?.map(str::to_owned);
    found.ok_or_else(|| CliError::usage(anyhow!("no base branch found; pass --base, --commit or --range")))
}

/// A proposal described by the subjects and messages of its commits, oldest first.
async fn describe(repo: &UserRepo, max: u32, revisions: &str) -> Result<CreateReviewRequest, CliError> {
    let max = format!("--max-count={max}");
    let log = repo.git(["log", &max, "--format=%s%x00%b%x01", "--end-of-options", revisions, "--"]).await?;
    let mut commits: Vec<(&str, &str)> =
        log.split('\u{1}').filter_map(|commit| commit.trim().split_once('\u{0}')).collect();
    commits.reverse();
    let subjects: Vec<&str> =
        commits.iter().map(|(subject, _)| subject.trim()).filter(|text| !text.is_empty()).collect();
    let intent = match subjects.as_slice() {
        few if few.len() <= MAX_SUBJECTS => few.join("; "),
        many => format!("{}; and {} more commits", many[..MAX_SUBJECTS].join("; "), many.len() - MAX_SUBJECTS),
    };
    let intent = Some(truncate(&intent, INTENT_CHARS).to_owned());
    let bodies = commits.iter().filter(|(_, body)| !body.trim().is_empty());
    let described: Vec<_> = bodies.map(|(subject, body)| format!("{}\n\n{}", subject.trim(), body.trim())).collect();
    let description = Some(described.join("\n\n")).filter(|text| !text.is_empty());
    Ok(CreateReviewRequest { intent, description, ..Default::default() })
}

fn plan(file: &Path) -> Result<CreateReviewRequest, CliError> {
    let text = read_file(file)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(|title| title.trim().to_owned());
    let name = || file.file_stem().map(|name| name.to_string_lossy().into_owned());
    Ok(CreateReviewRequest {
        intent: heading.or_else(name),
        description: Some(text),
        category: Some(Category::PlanReview),
        ..Default::default()
    })
}

/// Reads a file, or stdin for `-`.
pub(crate) fn read_file(file: &Path) -> Result<String, CliError> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file).with_context(|| file.display().to_string()).map_err(CliError::usage);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("stdin").map_err(CliError::usage)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::intent_of;

    #[test]
    fn a_diff_is_called_after_its_files() {
        assert_eq!(intent_of("diff --git a/src/a b.rs b/src/a b.rs\n--- a/x\n"), "Changes in src/a b.rs");
        let many: String = ["1", "2", "3", "4", "5"].map(|name| format!("diff --git a/{name} b/{name}\n")).concat();
        assert_eq!(intent_of(&many), "Changes in 1, 2, 3 and 2 more files");
    }
}
