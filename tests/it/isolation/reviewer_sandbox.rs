//! What a reviewer process can do on this machine: with a sandbox, without one, and where the kernel has none.

use crate::support::{
    broker::{TestBroker, countersign},
    client::{id, proposal, proposal_with},
    pool::ids,
    scripted_reviewer::{ReviewerScript, command_pool, pool},
    wait_until::wait_until,
};
use sandbox::Support;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};
use tempfile::TempDir;
use tokio::process::Command;

/// A reviewer that tries what it must not do, and prints what it could do.
const INTRUDER: &str = r#"
data="$1/data"
broker=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$PPID/stat)
attempt() { if eval "$2" >/dev/null 2>&1; then echo "$1 OPEN"; else echo "$1 CLOSED"; fi; }
attempt token 'cat "$data/operator.token"'
attempt database 'head -c 1 "$data/countersign.db"'
attempt data_folder 'ls "$data"'
attempt change_database 'echo x >> "$data/countersign.db"'
attempt home_file 'cat "$0.secret"'
attempt home_folder 'ls "${0%/*}"'
attempt new_file 'echo x > "${0%/*}/left-behind"'
attempt other_reviewers 'ls "$1-reviewers/private"'
attempt broker_environment 'cat /proc/$broker/environ'
attempt broker_memory 'cat /proc/$broker/maps | grep .'
attempt broker_files 'readlink /proc/$broker/fd/0'
attempt broker_signal 'kill -0 $broker'
attempt shim_signal 'kill -0 $PPID'
attempt system 'ls /usr/bin'
attempt certificates 'ls /etc'
attempt own_process 'cat /proc/self/environ'
attempt own_home 'echo x > "$HOME/file" && cat "$HOME/file"'
attempt own_temporary_file 'f=$(mktemp) && echo x > $f'
attempt own_workspace 'ls .'
attempt change_workspace 'echo x > new-file'
port=${COUNTERSIGN_MCP_URL#http://127.0.0.1:}; port=${port%%/*}
call() {
  exec 3<>/dev/tcp/127.0.0.1/$port
  printf 'GET /api/v1/reviews HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n%s\r\n' $port "$1" >&3
  read -r _ status _ <&3; exec 3<&-; echo $status
}
echo "tokenless $(call '')"
echo "own_token $(call "Authorization: Bearer $COUNTERSIGN_TOKEN"$'\r\n')"
if token=$(cat "$data/operator.token" 2>/dev/null); then
  echo "stolen_token $(call "Authorization: Bearer $token"$'\r\n')"
fi
# Another session, another group, no mark in the environment, and no living parent.
export port; export -f call
echo "detached $( (env -i PATH="$PATH" port=$port setsid bash -c "$(declare -f call); call ''" </dev/null) )"
echo finished yes
exec sleep 600
"#;

/// Runs the intruder in a pool of a broker and returns the broker and what the reviewer could do.
async fn intrude(settings: &str) -> (TestBroker, BTreeMap<String, String>) {
    let home = TempDir::new().unwrap();
    let script = home.path().join("intruder.sh");
    fs::write(&script, INTRUDER).unwrap();
    fs::write(home.path().join("intruder.sh.secret"), "secret").unwrap();
    let command = [json!("bash"), json!(script), json!(home.path())];
    let settings = command_pool(&command, &format!("max_size = 1\n{settings}"));
    let broker = TestBroker::in_home(home, &settings).await;
    broker.client().call("create_review", proposal("count in words")).await;
    let pool = broker.until_pool("a reviewer runs", |pool| !ids(pool, "reviewers").is_empty()).await;
    let reviewer = ids(&pool, "reviewers").pop_first().unwrap();
    let log = broker.data_dir().join("reviewers").join(format!("{reviewer}.log"));
    let report = wait_until("the reviewer has tried everything", async || {
        let log = fs::read_to_string(&log).unwrap_or_default();
        let results = log.lines().filter_map(|line| {
            let (_, line) = line.split_once(" out ")?;
            let (what, result) = line.trim().split_once(' ')?;
            Some((what.to_owned(), result.to_owned()))
        });
        Some(results.collect::<BTreeMap<_, _>>()).filter(|results| results.contains_key("finished"))
    });
    let results = report.await;
    (broker, results)
}

/// Why reviewers cannot be confined here. Prints what is skipped.
fn is_skipped(what: &str) -> bool {
    let missing = Support::of_this_system().missing();
    if let Some(why) = missing {
        eprintln!("SKIPPED, because {why}: {what}");
    }
    missing.is_some()
}

#[tokio::test]
async fn a_reviewer_in_a_sandbox_reads_and_changes_nothing_of_others() {
    if is_skipped("a reviewer in a sandbox") {
        return;
    }
    let (broker, mut could) = intrude("sandbox = \"required\"").await;
    let limits_signals = match Support::of_this_system() {
        Support::Partial(missing) => !missing.iter().any(|missing| missing.starts_with("signals")),
        Support::Full => true,
        Support::None(_) => false,
    };
    for signal in ["broker_signal", "shim_signal"] {
        let result = could.remove(signal).unwrap();
        assert!(!limits_signals || result == "CLOSED", "{signal} {result}");
    }
    let expected = [
        ("token", "CLOSED"),
        ("database", "CLOSED"),
        ("data_folder", "CLOSED"),
        ("change_database", "CLOSED"),
        ("home_file", "CLOSED"),
        ("home_folder", "CLOSED"),
        ("new_file", "CLOSED"),
        ("other_reviewers", "CLOSED"),
        ("broker_environment", "CLOSED"),
        ("broker_memory", "CLOSED"),
        ("broker_files", "CLOSED"),
        ("system", "OPEN"),
        ("certificates", "OPEN"),
        ("own_process", "OPEN"),
        ("own_home", "OPEN"),
        ("own_temporary_file", "OPEN"),
        ("own_workspace", "OPEN"),
        ("change_workspace", "CLOSED"),
        ("tokenless", "401"),
        ("own_token", "200"),
        ("detached", "401"),
        ("finished", "yes"),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(what, result)| (what.to_owned(), result.to_owned())).collect();
    assert_eq!(could, expected);
    assert!(broker.log().contains("started when reviews wait; in a sandbox"), "{}", broker.log());
    assert!(!broker.log().contains("without a sandbox"));
    // The user's own programs are not reviewers.
    assert_eq!(reqwest::get(broker.url("/api/v1/reviews")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_reviewer_without_a_sandbox_cannot_call_under_another_name() {
    let (broker, could) = intrude("sandbox = \"off\"").await;
    let result = |what: &str| could.get(what).map(String::as_str);
    assert_eq!(
        ["tokenless", "detached", "stolen_token", "own_token"].map(result),
        [Some("401"), Some("401"), Some("403"), Some("200")],
        "{could:?}"
    );
    assert_eq!(result("token"), Some("OPEN"), "the test would otherwise not show what the sandbox changes");
    assert!(broker.log().contains("no sandbox (pool.sandbox)"), "{}", broker.log());
    assert_eq!(reqwest::get(broker.url("/api/v1/reviews")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_reviewer_in_a_sandbox_reviews_a_copy_of_the_project() {
    if is_skipped("a review in a sandbox") {
        return;
    }
    let settings = pool(ReviewerScript::Approves, "max_size = 1\nsandbox = \"required\"");
    let broker = TestBroker::with_settings(&settings).await;
    let diff = broker.repo().diff("zwei");
    let review = id(&broker.client().call("create_review", proposal_with("in German", json!({ "diff": diff }))).await);
    wait_until("it is approved", async || {
        (broker.client().status(&review).await["status"] == "approved").then_some(())
    })
    .await;
    let pool = broker.pool().await;
    let reviewer = ids(&pool, "reviewers").pop_first().unwrap();
    broker.client().call("kill_reviewer", json!({ "reviewer_id": reviewer, "force": true })).await;
    for folder in ["work", "private"] {
        let folder = broker.work_dir().join(folder).join(&reviewer);
        wait_until("its folders are gone", async || (!folder.exists()).then_some(())).await;
    }
    broker.stop_and_check().await;
}

/// While a reviewer may live, calls of processes that look like one need its credential. A reviewer that never started
/// must not keep that up, nor leave its folders behind.
#[tokio::test]
async fn a_reviewer_that_could_not_start_leaves_no_credential_and_no_folder() {
    if is_skipped("a reviewer whose sandbox cannot be prepared") {
        return;
    }
    let home = TempDir::new().unwrap();
    let work_dir = home.path().join("work-dir");
    fs::create_dir(&work_dir).unwrap();
    // The folder for the private folders of reviewers cannot be created.
    fs::write(work_dir.join("private"), "a file").unwrap();
    let more = format!("max_size = 1\nsandbox = \"required\"\nwork_dir = {work_dir:?}");
    let broker = TestBroker::in_home(home, &command_pool(&[json!("true")], &more)).await;
    broker.client().call("create_review", proposal("count in words")).await;
    let pool = broker.until_pool("no reviewer can start", |pool| pool["state"] == "unavailable").await;
    assert!(pool["message"].as_str().unwrap().contains("pool.sandbox"), "{pool}");
    let call = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /api/v1/reviews HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3; \
         read -r _ status _ <&3; echo $status",
        port = broker.port()
    );
    let called =
        Command::new("bash").args(["-c", &call]).env("COUNTERSIGN_REVIEWER_ID", "none").output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&called.stdout).trim(), "200", "no reviewer lives");
    let work = work_dir.join("work");
    wait_until("its folder is gone", async || (fs::read_dir(&work).ok()?.count() == 0).then_some(())).await;
}

/// Replaces the shell by a program for which the kernel has no Landlock.
const WITHOUT_LANDLOCK: &str = r#"exec python3 -c '
import ctypes, os, struct, sys
def op(code, true, false, k): return struct.pack("HBBI", code, true, false, k)
# Calls 444 to 446 fail with ENOSYS (38), on all processors.
rules = op(0x20, 0, 0, 0) + op(0x35, 0, 2, 444) + op(0x25, 1, 0, 446) + op(0x06, 0, 0, 0x50026) + op(0x06, 0, 0, 0x7FFF0000)
rules = ctypes.create_string_buffer(rules, len(rules))
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(5, ctypes.addressof(rules))), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
' "$0" "$@""#;

async fn python_is_missing(what: &str) -> bool {
    let missing =
        !Command::new("python3").args(["-c", "import ctypes"]).status().await.is_ok_and(|status| status.success());
    if missing {
        eprintln!("SKIPPED, because python3 is missing: {what}");
    }
    missing
}

async fn without_landlock(home: TempDir, mode: &str) -> TestBroker {
    let settings = pool(ReviewerScript::Approves, &format!("max_size = 1\nsandbox = {mode:?}"));
    TestBroker::with_prelude_in(WITHOUT_LANDLOCK, home, &settings).await
}

#[tokio::test]
async fn without_landlock_a_required_sandbox_stops_all_reviewers() {
    if python_is_missing("a kernel without Landlock").await {
        return;
    }
    let broker = without_landlock(TempDir::new().unwrap(), "required").await;
    let review = id(&broker.client().call("create_review", proposal("count in words")).await);
    let pool = broker.until_pool("no reviewer can start", |pool| pool["state"] == "unavailable").await;
    let message = pool.to_string();
    assert!(message.contains("pool.sandbox is \\\"required\\\", but the kernel has no Landlock"), "{message}");
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    assert!(broker.log().contains("none can start: pool.sandbox is required"), "{}", broker.log());
}

#[tokio::test]
async fn without_landlock_reviewers_run_with_a_warning() {
    if python_is_missing("a kernel without Landlock").await {
        return;
    }
    let broker = without_landlock(TempDir::new().unwrap(), "auto").await;
    let review = id(&broker.client().call("create_review", proposal("count in words")).await);
    wait_until("it is approved", async || {
        (broker.client().status(&review).await["status"] == "approved").then_some(())
    })
    .await;
    let log = broker.log();
    assert_eq!(log.matches("reviewers run without a sandbox").count(), 1, "{log}");
    assert!(log.contains("NO SANDBOX, because the kernel has no Landlock"), "{log}");
}

#[tokio::test]
async fn doctor_says_what_the_kernel_enforces() {
    let found = |home: &Path, mode: &str| {
        fs::write(home.join("pool.toml"), command_pool(&[json!("true")], &format!("sandbox = {mode:?}"))).unwrap();
        let mut command = countersign(home);
        command.args(["doctor", "--json", "--config"]).arg(home.join("pool.toml"));
        command
    };
    let home = TempDir::new().unwrap();
    for (mode, supported, unsupported) in [("auto", "ok", "warn"), ("required", "ok", "fail"), ("off", "warn", "warn")]
    {
        let output = found(home.path(), mode).output().await.unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
        let expected = if Support::of_this_system().missing().is_some() { unsupported } else { supported };
        assert_eq!(check["found"], expected, "{mode}: {check}");
    }
}
