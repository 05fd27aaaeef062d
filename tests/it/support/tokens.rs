//! `countersign token`.

use super::broker::{TIMEOUT, TestBroker, countersign};
use serde_json::Value;
use std::{path::Path, process::Output};
use tokio::time::timeout;

/// Runs `countersign token` on the folder `data` in `home`.
pub(crate) async fn token(home: &Path, arguments: &[&str]) -> Output {
    let mut command = countersign(home);
    command.arg("token").args(arguments).arg("--data-dir").arg(home.join("data"));
    timeout(TIMEOUT, command.output()).await.expect("it ends by itself").unwrap()
}

/// The expected stdout.
pub(crate) async fn token_stdout(home: &Path, arguments: &[&str]) -> String {
    let output = token(home, arguments).await;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A new token's secret; `more` may bound it to a project.
pub(crate) async fn create_token(home: &Path, role: &str, name: &str, more: &[&str]) -> String {
    let secret = token_stdout(home, &[&["create", "--role", role, "--name", name], more].concat()).await;
    secret.strip_suffix('\n').expect("one line").to_owned()
}

pub(crate) async fn list_tokens(home: &Path) -> Vec<Value> {
    let list: Value = serde_json::from_str(&token_stdout(home, &["list", "--json"]).await).unwrap();
    list["tokens"].as_array().unwrap().clone()
}

/// The secret of the local user.
pub(crate) fn operator_secret(broker: &TestBroker) -> String {
    std::fs::read_to_string(broker.data_dir().join("operator.token")).unwrap().trim().to_owned()
}
