//! The official MCP conformance suites against a running broker.
//!
//! The suites are written for a server with fixture tools (`test_simple_text` and so on), so most
//! of their scenarios fail on any other server. What counts are the scenarios named here.

use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use super::agent_clients::installed;

struct Suite {
    name: &'static str,
    package: &'static str,
    args: &'static [&'static str],
    required: &'static [&'static str],
}

/// Revisions with `initialize`.
const LEGACY: [Suite; 3] = [
    Suite {
        name: "2025-11-25 by 0.1",
        package: "conformance-01",
        args: &[],
        required: &[
            "server-initialize",
            "ping",
            "tools-list",
            "prompts-list",
            "resources-list",
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
        ],
    },
    Suite {
        name: "2025-06-18 by 0.2",
        package: "conformance-02",
        args: &["--spec-version", "2025-06-18"],
        required: &[
            "server-initialize",
            "server-session-lifecycle",
            "ping",
            "tools-list",
            "prompts-list",
            "resources-list",
        ],
    },
    Suite {
        name: "2025-11-25 by 0.2",
        package: "conformance-02",
        args: &["--spec-version", "2025-11-25"],
        required: &[
            "server-initialize",
            "server-session-lifecycle",
            "ping",
            "tools-list",
            "prompts-list",
            "resources-list",
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
        ],
    },
];

/// Revisions without `initialize`.
const MODERN: [Suite; 1] = [Suite {
    name: "2026-07-28 by 0.2",
    package: "conformance-02",
    args: &["--requirements", "2026-07-28"],
    required: &[
        "server-stateless",
        "tools-list",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "caching",
        "http-header-validation",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
}];

/// Checks within required scenarios that call a fixture tool.
const NEED_FIXTURES: [&str; 2] =
    ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"];

/// The revisions 2025-06-18 and 2025-11-25.
pub(crate) async fn legacy(url: &str) -> Report {
    run(&LEGACY, url).await
}

/// The revision 2026-07-28.
pub(crate) async fn modern(url: &str) -> Report {
    run(&MODERN, url).await
}

async fn run(suites: &[Suite], url: &str) -> Report {
    let reports = futures::future::join_all(suites.iter().map(|suite| suite.run(url))).await;
    Report(reports.into_iter().flatten().collect())
}

impl Suite {
    async fn run(&self, url: &str) -> Vec<Scenario> {
        let results = TempDir::new().unwrap();
        let mut node = Command::new(installed::node());
        node.arg(installed::conformance(self.package))
            .args(["server", "--url", url, "-o"])
            .arg(results.path())
            .args(self.args)
            .env_clear()
            .env("HOME", results.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = timeout(Duration::from_secs(120), node.output()).await;
        // It exits with 1 in any case, see above.
        let output = output.expect("a conformance suite took over 120 s").unwrap();
        let required = self.required.iter().map(|name| self.judge(name, results.path()));
        let scenarios: Vec<Scenario> = required.collect();
        if scenarios.iter().all(|scenario| scenario.passed == 0) {
            let said = [output.stdout, output.stderr].concat();
            panic!("{} did not run:\n{}", self.name, String::from_utf8_lossy(&said));
        }
        scenarios
    }

    fn judge(&self, name: &'static str, results: &Path) -> Scenario {
        let mut scenario = Scenario { suite: self.name, name, passed: 0, failures: Vec::new() };
        let Some(checks) = checks_of(name, results) else {
            scenario.failures.push("was not run".to_owned());
            return scenario;
        };
        for check in &checks {
            let (id, why) = (text(&check["id"]), text(&check["errorMessage"]));
            match text(&check["status"]) {
                "SUCCESS" => scenario.passed += 1,
                "FAILURE" if NEED_FIXTURES.contains(&id) || why.starts_with("Not testable") => {}
                "FAILURE" => scenario.failures.push(format!("{id}: {why}")),
                _ => {}
            }
        }
        scenario
    }
}

/// The suite saves them in a folder with the scenario's name and the time.
fn checks_of(scenario: &str, results: &Path) -> Option<Vec<Value>> {
    let prefix = format!("server-{scenario}-20");
    let folder = std::fs::read_dir(results)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|folder| folder.file_name().unwrap().to_string_lossy().starts_with(&prefix))?;
    let checks = std::fs::read(folder.join("checks.json")).ok()?;
    Some(serde_json::from_slice(&checks).unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// How the broker did in the required scenarios.
pub(crate) struct Report(Vec<Scenario>);

struct Scenario {
    suite: &'static str,
    name: &'static str,
    passed: usize,
    failures: Vec<String>,
}

impl Report {
    #[track_caller]
    pub(crate) fn assert_passed(&self) {
        assert!(self.0.iter().all(|scenario| scenario.failures.is_empty()), "not conformant\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Scenario { suite, name, passed, failures } in &self.0 {
            let verdict = if failures.is_empty() { "pass" } else { "FAIL" };
            writeln!(f, "{verdict} {suite}: {name} ({passed} checks passed)")?;
            for failure in failures {
                writeln!(f, "       {failure}")?;
            }
        }
        Ok(())
    }
}
