//! Processes of another user of this machine. Only root can start them.

use super::broker::{TIMEOUT, TestBroker};
use nix::unistd::geteuid;
use serde_json::Value;
use std::process::{Output, Stdio};
use tokio::{process::Command, time::timeout};

/// A user without an account.
pub(crate) const OTHER_UID: u32 = 12_345;

/// Whether a test with another user is skipped. Prints what is skipped.
pub(crate) fn is_skipped(what: &str) -> bool {
    let skipped = !geteuid().is_root();
    if skipped {
        eprintln!("SKIPPED, because only root can start processes of another user: {what}");
    }
    skipped
}

/// Whether a test whose broker is another user's is skipped. Prints what is skipped.
pub(crate) async fn broker_is_skipped(what: &str) -> bool {
    if is_skipped(what) {
        return true;
    }
    let binary = env!("CARGO_BIN_EXE_countersign");
    let skipped = !script(&format!("test -x {binary} && command -v setpriv")).await.status.success();
    if skipped {
        eprintln!("SKIPPED, because other users cannot run {binary} or setpriv is missing: {what}");
    }
    skipped
}

/// The output of a shell script that another user runs.
pub(crate) async fn script(script: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", script]).uid(OTHER_UID).gid(OTHER_UID).current_dir("/").env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null()).kill_on_drop(true);
    timeout(TIMEOUT, command.output()).await.expect("the script ends").unwrap()
}

/// A GET request of another user over loopback: status and body.
pub(crate) async fn get(broker: &TestBroker, path: &str, token: Option<&str>) -> (u16, Value) {
    request(broker, "GET", path, token, "").await
}

pub(crate) async fn post(broker: &TestBroker, path: &str, token: Option<&str>, body: &Value) -> (u16, Value) {
    request(broker, "POST", path, token, &body.to_string()).await
}

async fn request(broker: &TestBroker, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, Value) {
    let port = broker.port();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{token}\r\n{body}",
        body.len()
    );
    let quoted = request.replace('\'', "'\\''");
    let output = script(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && printf %s '{quoted}' >&3 && cat <&3")).await;
    let answer = String::from_utf8_lossy(&output.stdout);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{output:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())))
}
