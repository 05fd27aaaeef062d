//! Where the demo plays: a folder of its own with a repository, and a broker that serves nothing else.

use crate::cli::{Failure, remote::Remote};
use anyhow::{Context as _, anyhow};
use git::UserRepo;
use std::{fs, path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// For a broker on a loaded machine to start, and to end.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const FILE: &str = "src/price.rs";

const BEFORE: &str = "\
/// What is to pay, in cents.
pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum()
}
";

pub(super) struct Sandbox {
    repo: UserRepo,
    broker: Child,
    url: String,
    /// Last, so that it goes when nobody uses it any more.
    _folder: TempDir,
}

impl Sandbox {
    pub(super) async fn build() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("countersign-demo-").tempdir().context("no temporary folder")?;
        let repo = build_repo(&folder.path().join("shop")).await?;
        let (broker, url) = start_broker(folder.path(), repo.root()).await?;
        Ok(Self { repo, broker, url, _folder: folder })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn repo(&self) -> &UserRepo {
        &self.repo
    }

    pub(super) fn remote(&self) -> Result<Remote, Failure> {
        Remote::at(&self.url)
    }

    /// The diff that adds `text` to the file; the file itself stays as it is.
    pub(super) async fn diff_that_adds(&self, text: &str) -> Result<String, Failure> {
        let file = self.repo.root().join(FILE);
        fs::write(&file, format!("{BEFORE}{text}"))?;
        let diff = self.repo.git(["diff"]).await? + "\n";
        fs::write(&file, BEFORE)?;
        Ok(diff)
    }

    /// Commits the diff: the id, shortened.
    pub(super) async fn commit(&self, diff: &str, message: &str) -> Result<String, Failure> {
        // The file was written and put back, so git only has to look at it again.
        self.repo.git(["update-index", "--refresh"]).await?;
        self.repo.git_with_input(["apply", "--index", "-"], diff.as_bytes()).await?;
        self.repo.git(["commit", "--quiet", "--message", message]).await?;
        Ok(self.repo.git(["rev-parse", "--short", "HEAD"]).await?)
    }

    /// Ends the broker as an operator would. One that does not listen is killed.
    pub(super) async fn clear(&mut self) {
        if let Some(pid) = self.broker.id() {
            let _ = Command::new("kill").arg(pid.to_string()).status().await;
        }
        if timeout(PATIENCE, self.broker.wait()).await.is_err() {
            let _ = self.broker.kill().await;
        }
    }
}

async fn build_repo(root: &Path) -> Result<UserRepo, Failure> {
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join(FILE), BEFORE)?;
    let repo = UserRepo::without_git_variables(root);
    repo.git(["init", "--quiet", "--initial-branch=main"]).await?;
    for (key, value) in [("user.name", "builder"), ("user.email", "builder@example.invalid")] {
        repo.git(["config", key, value]).await?;
    }
    // Settings of the user's that would ask for a key, or run somebody's hooks.
    for (key, value) in [("commit.gpgSign", "false"), ("core.hooksPath", ".git/hooks"), ("core.autocrlf", "false")] {
        repo.git(["config", key, value]).await?;
    }
    repo.git(["add", "--all"]).await?;
    repo.git(["commit", "--quiet", "--message", "The shop adds up prices"]).await?;
    Ok(repo)
}

/// A broker with the defaults: of the user's settings it hears nothing.
async fn start_broker(folder: &Path, repo: &Path) -> Result<(Child, String), Failure> {
    let log = folder.join("broker.log");
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        if ["COUNTERSIGN_", "GIT_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("HOME", folder).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data")).arg("--repo").arg(repo);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(&log)?).kill_on_drop(true);
    let mut child = command.spawn().context("cannot start a broker")?;
    let out = child.stdout.take().context("the broker has no output")?;
    let line =
        timeout(PATIENCE, BufReader::new(out).lines().next_line()).await.context("the broker did not start")??;
    let said = || fs::read_to_string(&log).unwrap_or_default();
    let url = line.as_deref().and_then(|line| line.strip_prefix("listening "));
    let url = url.ok_or_else(|| anyhow!("the broker did not start: {}", said().trim()))?.to_owned();
    Ok((child, url))
}
