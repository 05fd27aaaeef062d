//! `countersign doctor`: what a broker and its clients need on this machine, looked at one by one, each with what to
//! do about it. It changes nothing.

mod broker;
mod clients;
mod machine;

use super::{Failure, place::Place, text::print};
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// How a look at one thing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Good,
    /// Works, but somebody should know.
    Odd,
    Bad,
}

impl Found {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Odd => "warn",
            Self::Bad => "fail",
        }
    }

    fn glyph(self) -> char {
        match self {
            Self::Good => '✓',
            Self::Odd => '!',
            Self::Bad => '✗',
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    group: &'static str,
    name: String,
    found: Found,
    says: String,
    /// What to do about it.
    fix: Option<String>,
}

impl Check {
    fn good(group: &'static str, name: &str, says: impl Into<String>) -> Self {
        Self { group, name: name.to_owned(), found: Found::Good, says: says.into(), fix: None }
    }

    fn odd(group: &'static str, name: &str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { found: Found::Odd, fix: Some(fix.into()), ..Self::good(group, name, says) }
    }

    fn bad(group: &'static str, name: &str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { found: Found::Bad, ..Self::odd(group, name, says, fix) }
    }
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let mut checks = vec![machine::git().await];
    match args.place.load(None) {
        Err(failure) => {
            let fix = "mend the setting; `countersign serve --help` names the files that are read";
            checks.push(Check::bad("Broker", "settings", format!("{:#}", failure.error), fix));
        }
        Ok((loaded, repo)) => {
            checks.extend(machine::repository(repo.as_deref()));
            checks.push(machine::disk(&loaded.config.server.data_dir));
            checks.extend(broker::checks(&loaded.config).await);
            checks.extend(clients::checks(&loaded.config, &args.place).await);
        }
    }
    let bad = checks.iter().filter(|check| check.found == Found::Bad).count();
    print(args.json, &report(&checks), |_| shown(&checks))?;
    match bad {
        0 => Ok(()),
        1 => Err(anyhow!("one thing is wrong").into()),
        more => Err(anyhow!("{more} things are wrong").into()),
    }
}

fn report(checks: &[Check]) -> Value {
    let row = |check: &Check| {
        json!({ "group": check.group, "name": check.name, "found": check.found.word(), "says": check.says,
                "fix": check.fix })
    };
    let rows: Vec<_> = checks.iter().map(row).collect();
    let count = |found| checks.iter().filter(|check| check.found == found).count();
    json!({
        "version": env!("CARGO_PKG_VERSION"), "checks": rows, "ok": count(Found::Good), "warn": count(Found::Odd),
        "fail": count(Found::Bad),
    })
}

fn shown(checks: &[Check]) -> String {
    let mut out = String::new();
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            let _ = writeln!(out, "{group}");
        }
        let _ = writeln!(out, "  {} {:width$}  {}", check.found.glyph(), check.name, check.says);
        if let Some(fix) = &check.fix {
            let _ = writeln!(out, "    {:width$}  → {fix}", "");
        }
    }
    let count = |found| checks.iter().filter(|check| check.found == found).count();
    let _ = writeln!(out, "\n{} ok · {} warn · {} fail", count(Found::Good), count(Found::Odd), count(Found::Bad));
    out
}

#[cfg(test)]
mod tests {
    use super::{Check, shown};

    #[test]
    fn each_trouble_comes_with_what_to_do() {
        let checks = [
            Check::good("Machine", "git", "2.47.0"),
            Check::odd("Machine", "disk", "300 MiB free", "make room"),
            Check::bad("Broker", "database", "is damaged", "restore a copy"),
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
        assert_eq!(shown(&checks), text);
    }
}
