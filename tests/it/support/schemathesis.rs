//! Generated requests from the OpenAPI description, by schemathesis.

use super::{agent_clients::are_skipped, broker::TestBroker};
use std::path::{Path, PathBuf};
use tokio::process::Command;

const VERSION: &str = "4.32.5";

/// Examples per operation, unless COUNTERSIGN_TEST_EXAMPLES is set.
const EXAMPLES: &str = "8";

/// Also skipped without Python: no other test needs it.
#[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while it looks")]
pub(crate) fn is_skipped() -> bool {
    if are_skipped("schemathesis, which needs Python and the network the first time") {
        return true;
    }
    let venv = std::process::Command::new("python3").args(["-c", "import venv, ensurepip"]).output();
    let is_there = venv.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: schemathesis: python3 with venv is missing");
    }
    !is_there
}

/// The program, installed into the target folder the first time.
async fn installed() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join(format!("schemathesis-{VERSION}"));
    let program = folder.join("bin/schemathesis");
    if program.is_file() {
        return program;
    }
    // Installed beside and then linked, so that an interrupted run leaves nothing incomplete.
    let fresh = target.join(format!("schemathesis-{VERSION}-{}", std::process::id()));
    must(Command::new("python3").args(["-m", "venv"]).arg(&fresh)).await;
    let pip = ["install", "--quiet", "--disable-pip-version-check"];
    must(Command::new(fresh.join("bin/pip")).args(pip).arg(format!("schemathesis=={VERSION}"))).await;
    if std::os::unix::fs::symlink(&fresh, &folder).is_err() {
        // Another run was faster.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    program
}

async fn must(command: &mut Command) {
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A few requests for every operation, the same in every run.
pub(crate) async fn run(broker: &TestBroker) {
    let examples = std::env::var("COUNTERSIGN_TEST_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,\
                  response_headers_conformance";
    // Otherwise nearly all requests would be about unknown reviews.
    let known = "[parameters]\n\"path.review_id\" = \"R-1\"\n\"path.issue_id\" = \"I-1\"\n";
    std::fs::write(broker.home().join("schemathesis.toml"), known).unwrap();
    let output = Command::new(installed().await)
        .args(["run", &broker.url("/api/v1/openapi.json")])
        .args(["--checks", checks, "--max-examples", &examples, "--seed", "1", "--generation-deterministic"])
        // The event stream never ends.
        .args(["--exclude-path", "/api/v1/events"])
        .args(["--phases", "coverage,fuzzing", "--mode", "all", "--no-color", "--warnings", "off"])
        .current_dir(broker.home())
        .output()
        .await
        .unwrap();
    let (said, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{words}\n{}", broker.log());
    println!("{said}");
}
