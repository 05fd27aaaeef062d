//! Checks of `countersign doctor` on the agent clients (Claude Code, Codex, Gemini): installed programs, their
//! connection to the broker, and the reviewer pool.

use super::Check;
use crate::config_overrides::ConfigArgs;
use config::{Config, Pool, SandboxMode};
use domain::runtime::Runtime;
use sandbox::Support;
use serde_json::Value;
use std::{ffi::OsStr, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

const GROUP: &str = "Clients";

/// Time limit for `--version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

const CLIENTS: [(&str, &str); 3] = [("claude", "Claude Code"), ("codex", "Codex"), ("gemini", "Gemini")];

pub(super) async fn checks(config: &Config, args: &ConfigArgs) -> Vec<Check> {
    let mut checks = Vec::new();
    for (program, name) in CLIENTS {
        if let Some(version) = version(program).await {
            checks.push(match version {
                Ok(version) => Check::ok(GROUP, name, version),
                Err(message) => Check::failure(GROUP, name, message, format!("run `{program} --version`")),
            });
        }
    }
    if checks.is_empty() {
        let fix =
            "install Claude Code, Codex or Gemini, or work without them: `countersign request`, `countersign respond`";
        checks.push(Check::warning(GROUP, "agents", "none found in PATH", fix));
    }
    checks.extend(connected(args).await);
    checks.push(reviewers(&config.pool).await);
    checks.extend(sandbox(&config.pool, &Support::of_this_system()));
    checks
}

/// The output of `--version`, or why the call failed. `None` if the program does not exist.
async fn version(program: impl AsRef<OsStr>) -> Option<Result<String, String>> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().ok()?;
    let output = match timeout(VERSION_TIMEOUT, child.wait_with_output()).await {
        Err(_) => return Some(Err(format!("`--version` did not end within {} s", VERSION_TIMEOUT.as_secs()))),
        Ok(Err(error)) => return Some(Err(error.to_string())),
        Ok(Ok(output)) => output,
    };
    let first = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned();
    Some(if output.status.success() {
        Ok(first(&output.stdout))
    } else {
        Err(format!("`--version` fails: {}", first(&output.stderr)))
    })
}

/// Runs `init --check`: whether the entries are there, and whether the user has accepted them in each client.
async fn connected(args: &ConfigArgs) -> Vec<Check> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let mut command = Command::new(program);
    command.args(["init", "--check", "--json"]);
    if let Some(repo) = &args.repo {
        command.arg("--repo").arg(repo);
    }
    let Ok(output) = command.stdin(Stdio::null()).output().await else { return Vec::new() };
    if !output.status.success() {
        let fix = "`countersign init --check` lists the differences";
        return vec![Check::warning(GROUP, "connected", "some entries are missing or different", fix)];
    }
    let mut checks = vec![Check::ok(GROUP, "connected", "as `countersign init` sets it up")];
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    for left in report["left_to_do"].as_array().into_iter().flatten() {
        let [client, step] = ["client", "step"].map(|key| left[key].as_str().unwrap_or_default());
        let message = format!("{client} does not use what `countersign init` installed yet");
        checks.push(Check::warning(GROUP, "accepted", message, step));
    }
    if checks.len() == 1 {
        checks.push(Check::ok(GROUP, "accepted", "nothing is left to do in the clients"));
    }
    checks
}

async fn reviewers(pool: &Pool) -> Check {
    let name = "reviewers";
    if !pool.enabled {
        return Check::ok(GROUP, name, "reviewer pool: off (pool.enabled), external reviewers only");
    }
    let settings = pool.runtime_settings();
    let fix = "install it and log in, or set pool.program to its path";
    let found = match settings.find_program(std::env::var_os("PATH").as_deref(), is_executable) {
        Ok(found) => found,
        Err(error) => return Check::failure(GROUP, name, error.to_string(), fix),
    };
    match settings.runtime {
        Runtime::Command => Check::ok(GROUP, name, found.display().to_string()),
        Runtime::Codex | Runtime::Claude => match version(&found).await {
            Some(Ok(version)) => Check::ok(GROUP, name, describe(&found, &version)),
            Some(Err(message)) => Check::failure(GROUP, name, describe(&found, &message), fix),
            None => Check::failure(GROUP, name, format!("{} does not start", found.display()), fix),
        },
    }
}

/// What the system can enforce, if the broker starts reviewers.
fn sandbox(pool: &Pool, support: &Support) -> Option<Check> {
    let name = "sandbox";
    let fix = "use Linux 6.2 or newer with Landlock, or run reviewers as another user";
    Some(match (pool.sandbox, support) {
        _ if !pool.enabled => return None,
        (SandboxMode::Off, _) => {
            let message = "off: reviewers can read and change all your files";
            Check::warning(GROUP, name, message, "set pool.sandbox to \"auto\"")
        }
        (SandboxMode::Required, Support::None(why)) => {
            Check::failure(GROUP, name, format!("required, but {why}; no reviewer can start"), fix)
        }
        (SandboxMode::Auto, Support::None(why)) => {
            Check::warning(GROUP, name, format!("{why}; reviewers can read and change all your files"), fix)
        }
        (SandboxMode::Auto | SandboxMode::Required, Support::Partial(missing)) => {
            Check::ok(GROUP, name, format!("Landlock; the kernel does not limit {}", missing.join(", and ")))
        }
        (SandboxMode::Auto | SandboxMode::Required, Support::Full) => Check::ok(GROUP, name, "Landlock"),
    })
}

fn describe(program: &Path, message: &str) -> String {
    format!("{} {message}", program.display())
}

/// Whether this is a file that the user can run.
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
