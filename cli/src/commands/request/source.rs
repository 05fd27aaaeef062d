//! The proposed change: commits, the index, the working tree, a diff or a plan.

use crate::{CliError, terminal};
use anyhow::{Context as _, anyhow};
use git::UserRepo;
use serde_json::{Map, Value, json};
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
const MANY: u32 = 100;
const SUBJECTS: usize = 3;
const INTENT_CHARS: usize = 300;

#[derive(Debug, Clone, Default, clap::Args)]
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

/// The collected change: arguments of create_review, and a default description.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub arguments: Map<String, Value>,
    pub intent: Option<String>,
    pub description: Option<String>,
    /// The category, if it is not a code change.
    pub category: Option<&'static str>,
}

impl Source {
    /// Whether a source was given.
    pub(crate) fn is_named(&self) -> bool {
        let file = self.plan.is_some() || self.diff.is_some();
        let commits = self.base.is_some() || self.branch || self.commit.is_some() || self.range.is_some();
        file || commits || self.staged || self.worktree
    }

    pub(crate) async fn gather(&self, dir: &Path) -> Result<Gathered, CliError> {
        if let Some(file) = &self.plan {
            return plan(file);
        }
        if let Some(file) = &self.diff {
            let fields = json!({ "diff": read(file)?, "base": self.base });
            return Ok(Gathered { arguments: fields_of(fields), ..Gathered::default() });
        }
        let repo = UserRepo::find(dir).await.map_err(crate::commands::gate::name_repo_option)?;
        if self.staged || self.worktree {
            return self.uncommitted(&repo).await;
        }
        match (&self.commit, &self.range) {
            (Some(commit), _) => {
                let log = log(&repo, 1, commit).await?;
                Ok(log.with(json!({ "target": { "commit": commit, "base": self.base } })))
            }
            (None, Some(range)) => Ok(log(&repo, MANY, range).await?.with(json!({ "target": { "range": range } }))),
            (None, None) => self.branch(&repo).await,
        }
    }

    async fn branch(&self, repo: &UserRepo) -> Result<Gathered, CliError> {
        let branch = repo.current_branch().await?;
        let base = match &self.base {
            Some(base) => base.clone(),
            None => default_base(repo, branch.as_deref()).await?,
        };
        let of = branch.as_deref().unwrap_or("HEAD");
        let log = log(repo, MANY, &format!("{base}..HEAD")).await?;
        if log.intent.is_none() {
            let words = "for what is not committed there are --staged and --worktree, for a commit --commit REF";
            return Err(anyhow!("{of} has no commits ahead of {base}; {words}").into());
        }
        if !repo.git(["status", "--porcelain", "--untracked-files=no"]).await?.is_empty() {
            terminal::remark("note: what is not committed is not part of it (--worktree takes the files as they are)");
        }
        let target = match branch {
            Some(branch) => json!({ "branch": branch, "base": base }),
            None => json!({ "range": format!("{base}...{}", repo.git(["rev-parse", "HEAD"]).await?) }),
        };
        Ok(log.with(json!({ "target": target })))
    }

    async fn uncommitted(&self, repo: &UserRepo) -> Result<Gathered, CliError> {
        let diff = if self.staged {
            diff(repo).await?
        } else {
            let scratch = tempfile::tempdir().context("cannot create a temporary index")?;
            let index = scratch.path().join("index");
            let ours = repo.git(["rev-parse", "--git-path", "index"]).await?;
            // A copy of the index lets git check only changed files. Without it git reads all files.
            let _ = std::fs::copy(repo.root().join(ours), &index);
            let other = repo.with_index(&index);
            other.git(["add", "--all", "--", "."]).await?;
            diff(&other).await?
        };
        if diff.is_empty() {
            let what = if self.staged { "nothing is staged" } else { "nothing has changed" };
            return Err(anyhow!("{what} in {}", repo.root().display()).into());
        }
        let base = repo.git(["rev-parse", "HEAD"]).await?;
        Ok(Gathered::default().with(json!({ "diff": diff, "base": base })))
    }
}

impl Gathered {
    fn with(mut self, fields: Value) -> Self {
        self.arguments.extend(fields_of(fields));
        self
    }
}

fn fields_of(fields: Value) -> Map<String, Value> {
    fields.as_object().cloned().unwrap_or_default()
}

async fn diff(repo: &UserRepo) -> Result<String, CliError> {
    let said = repo.git_with_input(DIFF, &[]).await?;
    String::from_utf8(said.stdout().to_vec())
        .map_err(|_| anyhow!("the diff is not UTF-8; commit it and propose the commit").into())
}

async fn default_base(repo: &UserRepo, branch: Option<&str>) -> Result<String, CliError> {
    for base in BASES {
        if Some(base) != branch && repo.resolve_commit(base).await?.is_some() {
            return Ok(base.to_owned());
        }
    }
    Err(CliError::usage(anyhow!("no base branch found; pass --base, --commit or --range")))
}

/// Subjects and messages of the commits, oldest first.
async fn log(repo: &UserRepo, most: u32, revisions: &str) -> Result<Gathered, CliError> {
    let most = format!("--max-count={most}");
    let said = repo.git(["log", &most, "--format=%s%x00%b%x01", "--end-of-options", revisions, "--"]).await?;
    let mut commits: Vec<(&str, &str)> =
        said.split('\u{1}').filter_map(|commit| commit.trim().split_once('\u{0}')).collect();
    commits.reverse();
    let subjects: Vec<&str> =
        commits.iter().map(|(subject, _)| subject.trim()).filter(|text| !text.is_empty()).collect();
    let intent = match subjects.as_slice() {
        [] => None,
        few if few.len() <= SUBJECTS => Some(few.join("; ")),
        many => Some(format!("{}; and {} more commits", many[..SUBJECTS].join("; "), many.len() - SUBJECTS)),
    };
    let intent = intent.map(|intent| domain::text::truncate(&intent, INTENT_CHARS).to_owned());
    let bodies = commits.iter().filter(|(_, body)| !body.trim().is_empty());
    let described: Vec<_> = bodies.map(|(subject, body)| format!("{}\n\n{}", subject.trim(), body.trim())).collect();
    let description = Some(described.join("\n\n")).filter(|text| !text.is_empty());
    Ok(Gathered { intent, description, ..Gathered::default() })
}

fn plan(file: &Path) -> Result<Gathered, CliError> {
    let text = read(file)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(|title| title.trim().to_owned());
    let name = || file.file_stem().map(|name| name.to_string_lossy().into_owned());
    Ok(Gathered {
        intent: heading.or_else(name),
        description: Some(text),
        category: Some("plan_review"),
        ..Gathered::default()
    })
}

/// Reads a file, or stdin for `-`.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file).with_context(|| file.display().to_string()).map_err(CliError::usage);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("stdin").map_err(CliError::usage)?;
    Ok(text)
}
