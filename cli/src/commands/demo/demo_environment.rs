//! Sets up the environment of `countersign demo`: a temporary folder with the repository of a shop, and a broker for it.

use crate::CliError;
use anyhow::{Context as _, anyhow};
use git::UserRepo;
use std::{fs, io, path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// Time limit for the broker to start, and to stop, on a busy machine.
const BROKER_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) const PRICE_FILE: &str = "src/price.rs";

const PRICES: &str = "\
/// The amount to pay, in cents.
pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum()
}
";

/// The files of the first commit.
const FILES: [(&str, &str); 5] = [
    ("README.md", include_str!("sample_repository/README.md")),
    ("src/cart.rs", include_str!("sample_repository/cart.rs")),
    ("src/checkout.rs", include_str!("sample_repository/checkout.rs")),
    ("src/legacy_prices.rs", include_str!("sample_repository/legacy_prices.rs")),
    (PRICE_FILE, PRICES),
];

/// A new content of a file; an empty one removes the file.
pub(super) type FileChange<'a> = (&'a str, &'a str);

pub(super) struct Sandbox {
    pub repo: UserRepo,
    pub url: String,
    broker: Child,
    /// The last field, so that the folder is removed after everything that uses it.
    _folder: TempDir,
}

impl Sandbox {
    pub(super) async fn create() -> Result<Self, CliError> {
        let folder = tempfile::Builder::new()
            .prefix("countersign-demo-")
            .tempdir()
            .context("cannot create a temporary folder")?;
        let repo = build_repo(&folder.path().join("shop")).await?;
        let (broker, url) = start_broker(folder.path(), repo.root()).await?;
        Ok(Self { repo, broker, url, _folder: folder })
    }

    pub(super) fn read(&self, path: &str) -> Result<String, CliError> {
        Ok(fs::read_to_string(self.repo.root().join(path))?)
    }

    /// The diff that appends `text` to the file with the prices.
    pub(super) async fn diff_that_adds(&self, text: &str) -> Result<String, CliError> {
        self.diff(&[(PRICE_FILE, &format!("{PRICES}{text}"))]).await
    }

    /// The diff of these changes. The files themselves stay as they are.
    pub(super) async fn diff(&self, changes: &[FileChange<'_>]) -> Result<String, CliError> {
        self.stage(changes).await?;
        let diff = self.repo.git(["diff", "--cached", "HEAD"]).await? + "\n";
        self.repo.git(["reset", "--quiet", "--hard"]).await?;
        Ok(diff)
    }

    /// Commits the changes on a branch, which is created from main if it does not exist.
    pub(super) async fn commit_on_branch(
        &self,
        branch: &str,
        message: &str,
        changes: &[FileChange<'_>],
    ) -> Result<(), CliError> {
        if self.repo.resolve_commit(branch).await?.is_none() {
            self.repo.git(["branch", branch, "main"]).await?;
        }
        self.repo.git(["switch", "--quiet", branch]).await?;
        self.stage(changes).await?;
        commit_staged(&self.repo, message).await?;
        self.repo.git(["switch", "--quiet", "main"]).await?;
        Ok(())
    }

    async fn stage(&self, changes: &[FileChange<'_>]) -> Result<(), CliError> {
        for (path, text) in changes {
            let file = self.repo.root().join(path);
            if text.is_empty() {
                fs::remove_file(&file)?;
            } else {
                write_file(&file, text)?;
            }
        }
        self.repo.git(["add", "--all"]).await?;
        Ok(())
    }

    /// Commits the diff and returns the short commit id.
    pub(super) async fn commit(&self, diff: &str, message: &str) -> Result<String, CliError> {
        self.repo.git_with_input(["apply", "--index", "-"], diff.as_bytes()).await?;
        commit_staged(&self.repo, message).await?;
        Ok(self.repo.git(["rev-parse", "--short", "HEAD"]).await?)
    }

    /// Stops the broker with SIGTERM, then kills it if it does not stop in time.
    pub(super) async fn remove(&mut self) {
        if let Some(pid) = self.broker.id() {
            let _ = Command::new("kill").arg(pid.to_string()).status().await;
        }
        if timeout(BROKER_TIMEOUT, self.broker.wait()).await.is_err() {
            let _ = self.broker.kill().await;
        }
    }
}

fn write_file(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text)
}

async fn build_repo(root: &Path) -> Result<UserRepo, CliError> {
    for (path, text) in FILES {
        write_file(&root.join(path), text)?;
    }
    let repo = UserRepo::without_git_variables(root);
    repo.git(["init", "--quiet", "--initial-branch=main"]).await?;
    let settings = [
        // Override settings of the user that would ask for a key or run hooks.
        ("commit.gpgSign", "false"),
        ("core.hooksPath", ".git/hooks"),
        ("core.autocrlf", "false"),
    ];
    for (key, value) in settings {
        repo.git(["config", key, value]).await?;
    }
    repo.git(["add", "--all"]).await?;
    commit_staged(&repo, "The shop adds up prices").await?;
    Ok(repo)
}

/// Commits as the scripted proposer. It is not configured in the repository, where the broker looks for the name of the
/// person at the page.
async fn commit_staged(repo: &UserRepo, message: &str) -> Result<(), CliError> {
    let author = ["-c", "user.name=builder", "-c", "user.email=builder@example.invalid"];
    repo.git(author.into_iter().chain(["commit", "--quiet", "--message", message])).await?;
    Ok(())
}

/// Starts a broker with default settings, independent of those of the user.
async fn start_broker(folder: &Path, repo: &Path) -> Result<(Child, String), CliError> {
    let log = folder.join("broker.log");
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        if ["COUNTERSIGN_", "GIT_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("HOME", folder).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command
        .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.join("data"))
        .arg("--repo")
        .arg(repo);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(&log)?).kill_on_drop(true);
    let mut child = command.spawn().context("cannot start a broker")?;
    let out = child.stdout.take().context("the broker has no output")?;
    let line = timeout(BROKER_TIMEOUT, BufReader::new(out).lines().next_line())
        .await
        .context("the broker did not start")??;
    let log_text = || fs::read_to_string(&log).unwrap_or_default();
    let url = line.as_deref().and_then(|line| line.strip_prefix("listening "));
    let url = url.ok_or_else(|| anyhow!("the broker did not start: {}", log_text().trim()))?.to_owned();
    Ok((child, url))
}
