//! A reviewer for the pool: this test binary, started again as an MCP client.

use super::{client::TestClient, pool::marked, wait_until::wait_until};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

const SCRIPT_VARIABLE: &str = "SCRIPTED_REVIEWER";

/// What a scripted reviewer does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReviewerScript<'a> {
    /// Approves every review until it is drained.
    Approves,
    /// Approves every review, but only once this file exists.
    Waits(&'a Path),
    /// Approves one review and exits.
    ApprovesOne,
}

/// The settings of a pool with such reviewers and short timeouts.
pub(crate) fn pool(script: ReviewerScript<'_>, more: &str) -> String {
    let script = match script {
        ReviewerScript::Approves => "approves".to_owned(),
        ReviewerScript::Waits(file) => format!("waits {}", file.display()),
        ReviewerScript::ApprovesOne => "approves-one".to_owned(),
    };
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "export {SCRIPT_VARIABLE}='{script}'; exec \"$0\" --ignored --exact support::scripted_reviewer::acts_as_a_reviewer"
    );
    let command = [json!("sh"), json!("-c"), json!(script), json!(this)];
    command_pool(&command, more)
}

/// The settings of a pool that runs this argv.
pub(crate) fn command_pool(command: &[Value], more: &str) -> String {
    let command = Value::from(command.to_vec());
    let defaults = [("cooldown", "10ms"), ("idle_after", "1m"), ("stop_grace", "5s")];
    let own = defaults.iter().filter(|(key, _)| !more.contains(*key));
    let own: String = own.map(|(key, value)| format!("{key} = {value:?}\n")).collect();
    format!("[pool]\nenabled = true\nruntime = \"command\"\ncommand = {command}\n{own}{more}\n")
}

/// The pids of all processes with the mark of this reviewer.
pub(crate) fn processes_of(reviewer: &str) -> Vec<u32> {
    marked(&BTreeSet::from([reviewer.to_owned()])).iter().map(|process| process.pid).collect()
}

/// Not a test: the process that the pool starts. Without its variables it does nothing.
#[tokio::test]
#[ignore = "started by the pool as a reviewer"]
async fn acts_as_a_reviewer() {
    let (Ok(script), Ok(url)) = (std::env::var(SCRIPT_VARIABLE), std::env::var("COUNTERSIGN_MCP_URL")) else { return };
    let client = TestClient::new(url).with_token(&std::env::var("COUNTERSIGN_TOKEN").unwrap());
    let (script, file) = script.split_once(' ').map_or((script.as_str(), None), |(script, file)| (script, Some(file)));
    let gate = file.map(PathBuf::from);
    let mut since = Value::Null;
    loop {
        let mut wait = json!({ "status": "pending", "wait": true });
        if !since.is_null() {
            wait["since"] = since.clone();
        }
        let list = client.call("list_reviews", wait).await;
        if list["draining"] == true {
            return;
        }
        since = list["seq"].clone();
        for row in list["reviews"].as_array().unwrap() {
            // Another reviewer may have claimed it.
            let claim = client.try_call("claim_review", json!({ "review_id": row["review_id"] })).await;
            let Ok(claim) = claim else { continue };
            if let Some(gate) = &gate {
                wait_until("the gate opens", async || gate.exists().then_some(())).await;
            }
            let verdict = json!({
                "review_id": claim["review_id"], "verdict": "approved", "content_hash": claim["content_hash"],
                "claim_generation": claim["claim_generation"],
            });
            client.call("submit_verdict", verdict).await;
            since = Value::Null;
            if script == "approves-one" {
                return;
            }
            break;
        }
    }
}
