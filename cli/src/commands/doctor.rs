//! `countersign doctor`: checks what the broker and its clients need on this machine. Each problem comes with a fix.
//! It changes nothing.

mod broker;
mod clients;
mod system;

use crate::{CliError, config_args::ConfigArgs, render::print};
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ConfigArgs,
}

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Ok,
    /// Works, but should be fixed.
    Warning,
    Failure,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warn",
            Self::Failure => "fail",
        }
    }

    fn glyph(self) -> char {
        match self {
            Self::Ok => '✓',
            Self::Warning => '!',
            Self::Failure => '✗',
        }
    }
}

/// One checked item.
#[derive(Debug)]
struct Check {
    group: &'static str,
    name: String,
    severity: Severity,
    message: String,
    /// How to fix it.
    fix: Option<String>,
}

impl Check {
    fn ok(group: &'static str, name: &str, message: impl Into<String>) -> Self {
        Self { group, name: name.to_owned(), severity: Severity::Ok, message: message.into(), fix: None }
    }

    fn warning(group: &'static str, name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, fix: Some(fix.into()), ..Self::ok(group, name, message) }
    }

    fn failure(group: &'static str, name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Failure, ..Self::warning(group, name, message, fix) }
    }
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let mut checks = vec![system::git().await];
    match args.place.load(None) {
        Err(failure) => {
            let fix = "correct the setting; `countersign serve --help` lists the files that are read";
            checks.push(Check::failure("Broker", "settings", format!("{:#}", failure.error), fix));
        }
        Ok((loaded, repo)) => {
            checks.extend(system::repository(repo.as_deref()));
            checks.push(system::disk(&loaded.config.server.data_dir));
            checks.extend(broker::checks(&loaded.config).await);
            checks.extend(clients::checks(&loaded.config, &args.place).await);
        }
    }
    let failures = checks.iter().filter(|check| check.severity == Severity::Failure).count();
    print(args.json, &report(&checks), |_| render(&checks))?;
    match failures {
        0 => Ok(()),
        1 => Err(anyhow!("1 check failed").into()),
        several => Err(anyhow!("{several} checks failed").into()),
    }
}

fn report(checks: &[Check]) -> Value {
    let row = |check: &Check| {
        json!({ "group": check.group, "name": check.name, "found": check.severity.as_str(), "says": check.message,
                "fix": check.fix })
    };
    let rows: Vec<_> = checks.iter().map(row).collect();
    let count = |found| checks.iter().filter(|check| check.severity == found).count();
    json!({
        "version": env!("CARGO_PKG_VERSION"), "checks": rows, "ok": count(Severity::Ok), "warn": count(Severity::Warning),
        "fail": count(Severity::Failure),
    })
}

fn render(checks: &[Check]) -> String {
    let mut out = String::new();
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            let _ = writeln!(out, "{group}");
        }
        let _ = writeln!(out, "  {} {:width$}  {}", check.severity.glyph(), check.name, check.message);
        if let Some(fix) = &check.fix {
            let _ = writeln!(out, "    {:width$}  → {fix}", "");
        }
    }
    let count = |found| checks.iter().filter(|check| check.severity == found).count();
    let _ = writeln!(
        out,
        "\n{} ok · {} warn · {} fail",
        count(Severity::Ok),
        count(Severity::Warning),
        count(Severity::Failure)
    );
    out
}

#[cfg(test)]
mod tests {
    use super::{Check, render};

    #[test]
    fn each_problem_comes_with_a_fix() {
        let checks = [
            Check::ok("Machine", "git", "2.47.0"),
            Check::warning("Machine", "disk", "300 MiB free", "make room"),
            Check::failure("Broker", "database", "is damaged", "restore a copy"),
        ];
        let text = "\
Machine
  ✓ git       2.47.0
  ! disk      300 MiB free
              → make room
Broker
  ✗ database  is damaged
              → restore a copy

1 ok · 1 warn · 1 fail
";
        assert_eq!(render(&checks), text);
    }
}
