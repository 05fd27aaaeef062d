//! The clients that propose and review, whether they know the broker, and whether the pool could start its own.

use super::Check;
use crate::{
    cli::place::Place,
    config::{Config, Pool},
};
use domain::runtime::Runtime;
use std::{ffi::OsStr, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

const GROUP: &str = "Clients";

/// A client that says its version later than that would not review either.
const PATIENCE: Duration = Duration::from_secs(20);

const CLIENTS: [(&str, &str); 3] = [("claude", "Claude Code"), ("codex", "Codex"), ("gemini", "Gemini")];

pub(super) async fn checks(config: &Config, place: &Place) -> Vec<Check> {
    let mut checks = Vec::new();
    for (program, name) in CLIENTS {
        if let Some(version) = version(program).await {
            checks.push(match version {
                Ok(words) => Check::ok(GROUP, name, words),
                Err(words) => Check::failure(GROUP, name, words, format!("run `{program} --version` and see")),
            });
        }
    }
    if checks.is_empty() {
        let fix =
            "install Claude Code, Codex or Gemini; people need none: `countersign request`, `countersign respond`";
        checks.push(Check::warning(GROUP, "agents", "none found in PATH", fix));
    }
    checks.extend(connected(place).await);
    checks.push(reviewers(&config.pool).await);
    checks
}

/// Its version, or why it does not say one; none if there is no such program.
async fn version(program: impl AsRef<OsStr>) -> Option<Result<String, String>> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().ok()?;
    let said = match timeout(PATIENCE, child.wait_with_output()).await {
        Err(_) => return Some(Err(format!("did not say its version within {} s", PATIENCE.as_secs()))),
        Ok(Err(error)) => return Some(Err(error.to_string())),
        Ok(Ok(said)) => said,
    };
    let first = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned();
    Some(if said.status.success() { Ok(first(&said.stdout)) } else { Err(format!("fails: {}", first(&said.stderr))) })
}

/// What `init` put in, held against what is there now.
async fn connected(place: &Place) -> Option<Check> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["init", "--check", "--json"]);
    if let Some(repo) = &place.repo {
        command.arg("--repo").arg(repo);
    }
    let said = command.stdin(Stdio::null()).output().await.ok()?;
    Some(if said.status.success() {
        Check::ok(GROUP, "connected", "as `countersign init` would do it")
    } else {
        Check::warning(
            GROUP,
            "connected",
            "not all of them, or not as today",
            "`countersign init --check` says what differs",
        )
    })
}

async fn reviewers(pool: &Pool) -> Check {
    let name = "reviewers";
    if !pool.enabled {
        return Check::ok(GROUP, name, "come by themselves: the pool is off (pool.enabled)");
    }
    let settings = pool.runtime_settings();
    let fix = "install it and log in, or set pool.program to where it is";
    let found = match settings.find_program(std::env::var_os("PATH").as_deref(), is_executable) {
        Ok(found) => found,
        Err(error) => return Check::failure(GROUP, name, error.to_string(), fix),
    };
    match settings.runtime {
        Runtime::Command => Check::ok(GROUP, name, found.display().to_string()),
        Runtime::Codex | Runtime::Claude => match version(&found).await {
            Some(Ok(words)) => Check::ok(GROUP, name, runs(&found, &words)),
            Some(Err(words)) => Check::failure(GROUP, name, runs(&found, &words), fix),
            None => Check::failure(GROUP, name, format!("{} does not start", found.display()), fix),
        },
    }
}

fn runs(program: &Path, words: &str) -> String {
    format!("{} {words}", program.display())
}

/// Whether this is a file that the user can run.
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
