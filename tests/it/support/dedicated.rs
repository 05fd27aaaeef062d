//! A broker whose personas are dedicated reviewers: this test binary, started again for every turn. The test writes what
//! each turn does into a file; the turn waits for that file.

use super::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    one_shot::write_persona_of_mode,
    pool::{living_in, pool_of},
    reviews::with,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    path::PathBuf,
};
use tempfile::TempDir;

/// What a turn prints and how it ends: exit code 0 after its calls, unless `fail` is set.
pub(crate) fn exit(code: i32) -> Value {
    json!({ "exit": code })
}

/// A call of a turn. Review, generation and content are filled in.
pub(crate) fn call(tool: &str, more: Value) -> Value {
    json!({ "tool": tool, "arguments": more })
}

pub(crate) fn says(body: &str) -> Value {
    call("add_message", json!({ "sender_role": "reviewer", "body": body }))
}

pub(crate) fn votes(verdict: &str, more: Value) -> Value {
    call("submit_verdict", with(json!({ "verdict": verdict, "reason": "because" }), more))
}

/// Prints a line on stdout.
pub(crate) fn prints(line: Value) -> Value {
    json!({ "print": line.to_string() })
}

/// Stays until it is killed.
pub(crate) fn hangs() -> Value {
    json!({ "hang": true })
}

pub(crate) struct DedicatedReviewers {
    pub(crate) broker: TestBroker,
}

impl DedicatedReviewers {
    /// With these personas, each with more settings; `pool` are more settings of the pool.
    pub(crate) async fn start(personas: &[(&str, &str)], pool: &str) -> Self {
        let script = "exec \"$0\" --ignored --exact --nocapture support::dedicated::takes_a_turn";
        Self::start_running(script, personas, pool).await
    }

    /// The reviewers run this shell script, whose `$0` is this test binary.
    pub(crate) async fn start_running(script: &str, personas: &[(&str, &str)], pool: &str) -> Self {
        let home = TempDir::new().unwrap();
        let this = std::env::current_exe().unwrap();
        for (name, more) in personas {
            let command = json!(["sh", "-c", script, this]);
            let settings = format!("runtime = \"command\"\ncommand = {command}\n{more}\n");
            write_persona_of_mode(home.path(), name, "dedicated", &settings);
        }
        // The pool must not start an agent: one that starts fails.
        let settings = pool_of("exit 3", &format!("check_every = \"200ms\"\nkeep_sessions = \"0s\"\n{pool}"));
        Self { broker: TestBroker::in_home(home, &settings).await }
    }

    pub(crate) fn client(&self) -> TestClient {
        self.broker.client()
    }

    /// What the reviewer does in this turn. Its process waits for it.
    pub(crate) fn script(&self, reviewer: &str, turn: u32, steps: &[Value]) {
        let file = self.broker.home().join(format!("{reviewer}.{turn}"));
        let draft = file.with_extension("draft");
        fs::write(&draft, Value::from(steps.to_vec()).to_string()).unwrap();
        fs::rename(draft, file).unwrap();
    }

    /// The message of this turn, once its process has read it.
    pub(crate) async fn message(&self, reviewer: &str, turn: u32) -> String {
        let file = self.broker.home().join(format!("{reviewer}.{turn}.message"));
        wait_until(&format!("turn {turn} of {reviewer}"), async || fs::read_to_string(&file).ok()).await
    }

    pub(crate) fn has_begun(&self, reviewer: &str, turn: u32) -> bool {
        self.broker.home().join(format!("{reviewer}.{turn}.message")).exists()
    }

    pub(crate) fn session_folder(&self, reviewer: &str) -> PathBuf {
        self.broker.work_dir().join("sessions").join(reviewer)
    }

    pub(crate) async fn propose(&self, personas: &[&str]) -> String {
        let diff = self.broker.repo().diff("zwei");
        let more = json!({ "diff": diff, "personas": personas, "proposer_id": "author" });
        id(&self.client().call("create_review", proposal_with("count in another language", more)).await)
    }

    pub(crate) async fn author_writes(&self, persona: &str, body: &str) {
        let message = json!({ "review_id": "R-1", "sender_role": "proposer", "caller_id": "author", "body": body,
                              "persona": persona });
        self.client().call("add_message", message).await;
    }

    pub(crate) async fn author_revises(&self, word: &str) {
        let revision = json!({ "review_id": "R-1", "diff": self.broker.repo().diff(word), "proposer_id": "author" });
        self.client().call("create_review", proposal_with("count in another language", revision)).await;
    }

    pub(crate) async fn status_becomes(&self, wanted: &str) -> Value {
        let fits = async || Some(self.client().status("R-1").await).filter(|status| status["status"] == wanted);
        wait_until(wanted, fits).await
    }

    /// Waits until `waiting_on` names this party with this reason.
    pub(crate) async fn turn_becomes(&self, who: &str, why: &str) -> Value {
        let fits = |turn: &Value| turn["who"] == who && turn["why"] == why;
        let waits = async || {
            let status = self.client().status("R-1").await;
            status["waiting_on"].as_array().unwrap().iter().any(fits).then_some(status)
        };
        wait_until(&format!("{who}: {why}"), waits).await
    }

    /// The dedicated reviewer in the list, once it fits.
    pub(crate) async fn reviewer(&self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let find = async || {
            let pool = self.broker.pool().await;
            let lists = ["dedicated", "ended"].map(|list| pool[list].as_array().cloned().unwrap_or_default());
            lists.concat().into_iter().find(|row| row["reviewer_id"] == name && fits(row))
        };
        wait_until(&format!("reviewer {name}"), find).await
    }

    pub(crate) async fn state_becomes(&self, name: &str, state: &str) -> Value {
        self.reviewer(name, |row| row["state"] == state).await
    }

    /// Neither a process nor a folder of a reviewer is left.
    pub(crate) async fn nothing_is_left(&self) {
        wait_until("no process is left", async || living_in(self.broker.home()).is_empty().then_some(())).await;
        for folder in ["work", "sessions"] {
            let folder = self.broker.work_dir().join(folder);
            let is_empty = async || fs::read_dir(&folder).map_or(true, |mut left| left.next().is_none()).then_some(());
            wait_until(&format!("{} is empty", folder.display()), is_empty).await;
        }
    }

    /// What the audit log says about reviewers.
    pub(crate) async fn audit(&self) -> Vec<String> {
        let log = self.client().call("get_audit_log", json!({ "order": "oldest", "limit": 200 })).await;
        let events = log["events"].as_array().unwrap().iter();
        let of_pool = events.filter(|event| event["kind"].as_str().unwrap().starts_with("reviewer_"));
        of_pool.map(|event| event["detail"].as_str().unwrap().to_owned()).collect()
    }
}

/// Not a test: one turn, in a process that the pool starts. Without its variables it does nothing.
#[tokio::test]
#[ignore = "started by the pool as a reviewer"]
async fn takes_a_turn() {
    let variable = |name: &str| std::env::var(format!("COUNTERSIGN_{name}")).ok();
    let (Some(reviewer), Some(session)) = (variable("REVIEWER_ID"), variable("SESSION_DIR")) else { return };
    let (home, turn) = (PathBuf::from(std::env::var("HOME").unwrap()), variable("TURN").unwrap());
    // What a client records: every turn so far.
    let mut history =
        fs::OpenOptions::new().append(true).create(true).open(PathBuf::from(session).join("history")).unwrap();
    writeln!(history, "turn {turn} of {}", variable("SESSION_ID").unwrap()).unwrap();
    println!("{}", json!({ "type": "assistant" }));
    let mut message = String::new();
    std::io::stdin().read_to_string(&mut message).unwrap();
    let draft = home.join(format!("{reviewer}.{turn}.draft"));
    fs::write(&draft, message).unwrap();
    fs::rename(draft, home.join(format!("{reviewer}.{turn}.message"))).unwrap();
    let script = home.join(format!("{reviewer}.{turn}"));
    let steps = wait_until("the script of the turn", async || fs::read_to_string(&script).ok()).await;
    let client = TestClient::new(variable("MCP_URL").unwrap()).with_token(&variable("TOKEN").unwrap());
    let number = reviewer.rsplit_once("-R-").map(|(_, number)| format!("R-{number}")).unwrap();
    let mut claim = json!({ "review_id": number });
    for step in serde_json::from_str::<Vec<Value>>(&steps).unwrap() {
        if let Some(code) = step["exit"].as_i64() {
            std::process::exit(i32::try_from(code).unwrap());
        }
        if let Some(line) = step["print"].as_str() {
            println!("{line}");
        }
        if step["hang"] == true {
            std::future::pending::<()>().await;
        }
        let Some(tool) = step["tool"].as_str() else { continue };
        if tool == "submit_verdict" {
            // A repeated claim names its generation and content.
            let held = client.call("claim_review", claim.clone()).await;
            for field in ["claim_generation", "content_hash"] {
                claim[field] = held[field].clone();
            }
        }
        let is_verdict = tool == "submit_verdict";
        let fence = if is_verdict { claim.clone() } else { json!({ "review_id": number }) };
        client.call(tool, with(fence, step["arguments"].clone())).await;
    }
    std::process::exit(0);
}
