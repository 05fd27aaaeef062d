//! `countersign doctor`: checks what the broker and its clients need on this machine. Each problem comes with a fix.
//! It changes nothing.

mod broker;
mod clients;
mod system;

use crate::{
    CliError,
    config_overrides::ConfigArgs,
    render::{hanging, print},
};
use anyhow::anyhow;
use domain::text::count;
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Severity {
    #[serde(rename = "ok")]
    Ok,
    /// Works, but should be fixed.
    #[serde(rename = "warn")]
    Warning,
    #[serde(rename = "fail")]
    Failure,
}

/// One checked item.
#[derive(Debug, Serialize)]
struct Check {
    group: &'static str,
    name: String,
    #[serde(rename = "found")]
    severity: Severity,
    #[serde(rename = "says")]
    message: String,
    /// How to fix it.
    fix: Option<String>,
}

/// All checks, and how many of them had each result.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    checks: Vec<Check>,
    ok: usize,
    warn: usize,
    fail: usize,
}

impl Report {
    fn new(checks: Vec<Check>) -> Self {
        let count = |severity| checks.iter().filter(|check| check.severity == severity).count();
        let [ok, warn, fail] = [Severity::Ok, Severity::Warning, Severity::Failure].map(count);
        Self { version: env!("CARGO_PKG_VERSION"), checks, ok, warn, fail }
    }
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
    match args.config.load(None) {
        Err(failure) => {
            let fix = "correct the setting; `countersign serve --help` lists the files that are read";
            checks.push(Check::failure("Broker", "settings", format!("{:#}", failure.error), fix));
        }
        Ok((loaded, repo)) => {
            checks.push(system::repository(repo.as_deref()));
            checks.push(system::disk(&loaded.config.server.data_dir));
            checks.extend(broker::checks(&loaded.config).await);
            checks.extend(clients::checks(&loaded.config, &args.config).await);
        }
    }
    let report = Report::new(checks);
    print(args.json, &report, render)?;
    match report.fail {
        0 => Ok(()),
        failed => Err(anyhow!("{} failed", count(failed, "check")).into()),
    }
}

fn render(report: &Report) -> String {
    let mut out = String::new();
    let width = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut group = "";
    for check in &report.checks {
        if check.group != group {
            group = check.group;
            let _ = writeln!(out, "{group}");
        }
        let glyph = match check.severity {
            Severity::Ok => '✓',
            Severity::Warning => '!',
            Severity::Failure => '✗',
        };
        let indent = " ".repeat(4 + width + 2);
        out.push_str(&hanging(&format!("  {glyph} {:width$}  ", check.name), &indent, &check.message));
        if let Some(fix) = &check.fix {
            out.push_str(&hanging(&format!("{indent}→ "), &format!("{indent}  "), fix));
        }
    }
    let _ = writeln!(out, "\n{} ok · {} warn · {} fail", report.ok, report.warn, report.fail);
    out
}

#[cfg(test)]
mod tests {
    use super::{Check, Report, render};

    #[test]
    fn each_problem_comes_with_a_fix() {
        let checks = vec![
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
        assert_eq!(render(&Report::new(checks)), text);
    }
}
