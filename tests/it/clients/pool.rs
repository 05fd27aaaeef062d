//! The real Codex and Claude Code as reviewers of the pool, with scripted models. They get only the argv and the prompt
//! of
//! the pool.
#![cfg(target_os = "linux")]

use crate::support::{
    agent_clients::{Client, are_skipped, installed},
    broker::{TIMEOUT, TestBroker, countersign},
    client::{TestClient, id, proposal_with},
    misbehaving_reviewer::{living, until_gone, variable},
    model_server::{Gate, ModelServer, Script},
    wait_until::wait_until,
};
use domain::{
    ids::ReviewNumber,
    review::{ClaimEndReason, Event},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};
use tempfile::TempDir;
use testkit::Repo;
use tokio::time::timeout;

/// The error of a server without the model.
const NO_MODEL: &str = "unknown model";

/// A broker whose pool starts this client.
struct Pooled {
    broker: TestBroker,
    model: ModelServer,
    /// The home folder of the client.
    _home: TempDir,
}

impl Pooled {
    async fn start(client: Client, model: ModelServer) -> Self {
        Self::start_with(client, model, "").await
    }

    /// With more settings of the pool.
    async fn start_with(client: Client, model: ModelServer, more: &str) -> Self {
        let home = TempDir::new().unwrap();
        let variables = client.environment(&model, home.path());
        let broker = TestBroker::with_env(variables, &(settings(client) + more)).await;
        Self { broker, model, _home: home }
    }

    fn client(&self) -> TestClient {
        self.broker.client()
    }

    async fn propose(&self, intent: &str, diff: Option<&str>) -> String {
        id(&self.client().call("create_review", proposal_with(intent, json!({ "diff": diff }))).await)
    }

    async fn status_becomes(&self, review: &str, wanted: &str) -> Value {
        let becoming = async {
            let mut status = self.client().status(review).await;
            while status["status"] != wanted {
                let next = json!({ "review_id": review, "wait": true, "since": status["version"] });
                status = self.client().call("get_review_status", next).await;
            }
            status
        };
        match timeout(TIMEOUT, becoming).await {
            Ok(status) => status,
            Err(_) => panic!("not {wanted}: {:#}\n{}", self.pool().await, self.logs()),
        }
    }

    async fn pool(&self) -> Value {
        self.client().call("list_reviewers", json!({})).await
    }

    /// Waits until the pool is like this.
    async fn until(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_until(what, async || Some(self.pool().await).filter(&fits)).await
    }

    /// The only live reviewer, once its model waits at `gate`.
    async fn reviewer_at(&self, gate: &Gate) -> Value {
        tokio::select! {
            () = gate.reached() => {}
            pool = self.until("one ends", |pool| pool["ended"][0].is_object()) => {
                panic!("ended before the gate: {pool:#}\n{}", self.logs());
            }
        }
        let pool = self.pool().await;
        assert_eq!((rows(&pool, "reviewers").len(), rows(&pool, "ended").len()), (1, 0), "{pool:#}");
        pool["reviewers"][0].clone()
    }

    fn log_of(&self, reviewer: &str) -> PathBuf {
        self.broker.data_dir().join("reviewers").join(format!("{reviewer}.log"))
    }

    /// The output of all reviewers, for a failed test.
    fn logs(&self) -> String {
        let files = fs::read_dir(self.broker.data_dir().join("reviewers")).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.chain([self.broker.log()]).collect::<Vec<_>>().join("\n")
    }
}

/// The settings of an operator, with the variables that the pool does not pass on by default.
pub(crate) fn settings(client: Client) -> String {
    let model = match client {
        Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => vec!["SCRIPTED_MODEL_KEY"],
        Client::Claude => vec![
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
        ],
    };
    let (runtime, program) = match client {
        Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => ("codex", installed::codex()),
        Client::Claude => ("claude", installed::claude()),
    };
    let environment = [vec!["HTTPS_PROXY", "NO_PROXY"], model].concat();
    let pool = json!({ "enabled": true, "runtime": runtime, "program": program, "environment": environment });
    toml::to_string(&json!({ "pool": pool })).unwrap()
}

/// The diff of every test. Repositories of tests are alike, so it can be known before the broker's own.
fn diff() -> String {
    Repo::new().diff("zwei")
}

/// One review: waits for work, claims, reads, judges. The model does not know its own name, so
/// it calls itself what the broker calls it, or nothing at all. It stands at `gate` before its verdict.
fn review(script: Script, intent: &str, gate: &Gate, word: &str, reason: Value) -> Script {
    let verdict = json!({
        "review_id": "${review_id}", "verdict": word, "reason": reason, "reviewer_id": "${claimed_by}",
        "claim_generation": "${claim_generation}", "content_hash": "${content_hash}",
    });
    script
        .call("list_reviews", json!({ "status": "pending", "wait": true, "timeout_seconds": 25 }))
        .until("review_id", 4)
        .save("review_id")
        .call("claim_review", json!({ "review_id": "${review_id}" }))
        .expect("status", "claimed")
        .save("claimed_by")
        .save("claim_generation")
        .save("content_hash")
        .call("get_proposal", json!({ "review_id": "${review_id}" }))
        .expect("intent", intent)
        .expect("content_hash", "${content_hash}")
        .gate(gate)
        .call("submit_verdict", verdict)
        .expect("status", word)
}

fn rows<'a>(pool: &'a Value, key: &str) -> &'a [Value] {
    pool[key].as_array().unwrap()
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("no {key} in {row:#}"))
}

/// One reviewer, started for a waiting review, completes it and the next one, and exits.
async fn reviews_what_comes(client: Client) {
    if are_skipped(&format!("{client:?} in the pool")) {
        return;
    }
    let (gate, second_gate) = (Gate::new(), Gate::new());
    second_gate.open();
    let script = review(Script::new(), "count in German", &gate, "changes_requested", json!("three words, please"));
    let script = review(script, "count on", &second_gate, "approved", Value::Null).finish("both");
    let pooled = Pooled::start(client, ModelServer::start(script).await).await;

    let first = pooled.propose("count in German", Some(&diff())).await;
    let reviewer = pooled.reviewer_at(&gate).await;
    let me = text(&reviewer, "reviewer_id");
    assert_eq!((&reviewer["state"], &reviewer["why"]), (&json!("busy"), &json!("cold_start")), "{reviewer:#}");
    assert_eq!((&reviewer["reviews"], &reviewer["project"]), (&json!(["R-1"]), &json!("project")), "{reviewer:#}");
    assert!(pooled.model.asked().contains(&format!("You are {me}, a code reviewer.")), "{}", pooled.model.asked());
    let token = variable(me, "COUNTERSIGN_TOKEN").expect("it lives and has a token");

    gate.open();
    let status = pooled.status_becomes(&first, "changes_requested").await;
    assert_eq!((&status["verdict_by"], &status["verdict_reason"]), (&json!(me), &json!("three words, please")));
    // It waits for the next review in a long poll.
    pooled.broker.until_waiting(1).await;
    let pool = pooled.pool().await;
    assert_eq!(rows(&pool, "reviewers").len(), 1, "{pool:#}");
    assert_eq!((&pool["reviewers"][0]["state"], &pool["reviewers"][0]["completed"]), (&json!("idle"), &json!(1)));
    let second = pooled.propose("count on", None).await;
    let status = pooled.status_becomes(&second, "approved").await;
    assert_eq!((&status["verdict_by"], &status["approved_hash"]), (&json!(me), &status["content_hash"]));

    let pool = pooled.until("it ends by itself", |pool| rows(pool, "reviewers").is_empty()).await;
    assert_eq!((&pool["state"], rows(&pool, "ended").len()), (&json!("ready"), 1), "{pool:#}");
    let ended = &pool["ended"][0];
    assert_eq!((text(ended, "reviewer_id"), text(ended, "exit")), (me, "exit code 0"), "{ended:#}");
    let counts = ["completed", "approvals", "changes_requested", "rejections", "comments"].map(|key| &ended[key]);
    assert_eq!(counts, [2, 1, 1, 0, 0], "{ended:#}");
    assert!(ended["average_ms"].as_u64().is_some_and(|ms| ms > 0), "{ended:#}");
    check_usage(client, &pooled.model, ended);
    assert_eq!(living(me), 0);
    check_log(&pooled, me, &token).await;
    pooled.broker.stop_and_check().await;
}

/// Each answer of the model counts for 1000 tokens read, in Claude Code for 100 more from its cache, and 20 said.
fn check_usage(client: Client, model: &ModelServer, ended: &Value) {
    let answers = model.replies().len() as u64;
    let read = if client == Client::Claude { 1100 } else { 1000 };
    assert_eq!((&ended["input_tokens"], &ended["output_tokens"]), (&json!(answers * read), &json!(answers * 20)));
    assert_eq!(ended["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), client == Client::Claude, "{ended:#}");
}

/// Its output is kept in a private file, without its token.
async fn check_log(pooled: &Pooled, reviewer: &str, token: &str) {
    let file = pooled.log_of(reviewer);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let log = fs::read_to_string(&file).unwrap();
    assert!(log.contains("SCRIPT-OK both"), "{log}");
    assert!(token.starts_with("cs_") && !log.contains(token) && !pooled.broker.log().contains(token));
    // by the short name, as people do
    let name = reviewer.rsplit_once('-').unwrap().0;
    let mut command = countersign(pooled.broker.home());
    command.args(["reviewer", "logs", name, "--data-dir"]).arg(pooled.broker.data_dir());
    let shown = timeout(TIMEOUT, command.output()).await.expect("it ends").unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), log, "{}", String::from_utf8_lossy(&shown.stderr));
}

/// A client that always fails is not started again, its error is reported, and people can review.
async fn is_given_up(pooled: Pooled, review: &str, failures: usize, said: &str) {
    let pool = pooled.until("it is given up", |pool| pool["state"] == "crash_loop").await;
    assert_eq!((rows(&pool, "reviewers").len(), rows(&pool, "ended").len()), (0, failures), "{pool:#}");
    for failed in rows(&pool, "ended").iter().chain([&pool]) {
        let last = rows(failed, "last_words").last().and_then(Value::as_str);
        assert!(last.is_some_and(|line| line.contains(said)), "{pool:#}\n{}", pooled.logs());
    }
    assert_eq!(pool["waiting"], json!([{ "project": "project", "pending": 1, "free_seats": 1 }]));

    assert_eq!(pooled.client().status(review).await["status"], "pending");
    let generation = pooled.client().claim(review, "a-person").await;
    let verdict = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    pooled.client().call("submit_verdict", verdict).await;
    assert_eq!(pooled.client().status(review).await["verdict_by"], "a-person");
    pooled.broker.stop_and_check().await;
}

async fn fails_without_its_model(client: Client, said: &str) {
    if are_skipped(&format!("{client:?} in the pool, without its model")) {
        return;
    }
    let model = ModelServer::without_models(NO_MODEL).await;
    let pooled = Pooled::start_with(client, model, "max_failures = 2").await;
    let review = pooled.propose("count in German", Some(&diff())).await;
    is_given_up(pooled, &review, 2, said).await;
}

/// Codex waits for the network and does not end: what it waits for is shown while it lives, and when it is let go
/// for doing nothing that counts as a failure.
async fn waits_for_a_server(client: Client, said: &str) {
    if are_skipped(&format!("{client:?} in the pool, without a server")) {
        return;
    }
    let more = "idle_after = '8s'\nmax_failures = 1\nmax_size = 1";
    let pooled = Pooled::start_with(client, ModelServer::gone().await, more).await;
    let review = pooled.propose("count in German", Some(&diff())).await;
    let complains =
        |pool: &Value| pool["reviewers"][0]["last_words"][0].as_str().is_some_and(|line| line.contains(said));
    pooled.until("it complains", complains).await;
    is_given_up(pooled, &review, 1, said).await;
}

/// The broker dies while its reviewer holds a claim: so does the reviewer, and the next broker begins anew.
async fn dies_with_the_broker(client: Client) {
    if are_skipped(&format!("{client:?} in the pool, with its broker killed")) {
        return;
    }
    let gate = Gate::new();
    let script = review(Script::new(), "count in German", &gate, "approved", Value::Null).finish("");
    let mut pooled = Pooled::start(client, ModelServer::start(script).await).await;
    let review = pooled.propose("count in German", Some(&diff())).await;
    let reviewer = pooled.reviewer_at(&gate).await;
    let killed = text(&reviewer, "reviewer_id");
    assert_eq!(pooled.client().status(&review).await["claimed_by"], killed);
    assert!(living(killed) > 0);
    let shim = format!("/proc/{}/cmdline", reviewer["pid"]);
    assert!(fs::read(&shim).is_ok_and(|argv| !argv.is_empty()));

    pooled.broker.kill().await;
    until_gone(killed, Duration::from_secs(2), &format!("{client:?}")).await;
    // A zombie has no environment to read.
    wait_until("its shim ends", async || fs::read(&shim).map_or(true, |argv| argv.is_empty()).then_some(())).await;
    gate.open();
    pooled.broker = pooled.broker.restarted().await;

    let status = pooled.status_becomes(&review, "approved").await;
    let next = text(&status, "verdict_by");
    assert_ne!(next, killed);
    let pool = pooled.until("it ends by itself", |pool| rows(pool, "reviewers").is_empty()).await;
    let ends: Vec<_> = rows(&pool, "ended").iter().map(|row| (text(row, "reviewer_id"), text(row, "exit"))).collect();
    assert_eq!(ends, [(next, "exit code 0"), (killed, "its broker ended")], "{pool:#}");
    let data_dir = pooled.broker.data_dir();
    assert!(pooled.broker.terminate().await.success());
    let store = store::open(&data_dir.join("countersign.db"), store::Settings::default()).await.unwrap();
    let events = crate::support::reviews::review_log(&store.reader, ReviewNumber(1)).await;
    let ended = events.iter().filter_map(|recorded| {
        let Event::ClaimEnded { by, reason, .. } = &recorded.event else { return None };
        Some((by.as_str(), *reason))
    });
    assert_eq!(ended.collect::<Vec<_>>(), [(killed, ClaimEndReason::BrokerRestarted)]);
}

#[tokio::test]
async fn codex_reviews_pending_reviews() {
    reviews_what_comes(Client::Codex).await;
}

#[tokio::test]
async fn codex_reviews_pending_reviews_in_code_mode() {
    reviews_what_comes(Client::CodexCodeMode).await;
}

#[tokio::test]
async fn claude_code_reviews_pending_reviews() {
    reviews_what_comes(Client::Claude).await;
}

#[tokio::test]
async fn codex_fails_without_its_model() {
    fails_without_its_model(Client::Codex, NO_MODEL).await;
}

#[tokio::test]
async fn claude_code_fails_without_its_model() {
    fails_without_its_model(Client::Claude, "issue with the selected model").await;
}

#[tokio::test]
async fn codex_is_stopped_if_it_cannot_reach_the_broker() {
    waits_for_a_server(Client::Codex, "error sending request").await;
}

#[tokio::test]
async fn codex_dies_with_the_broker() {
    dies_with_the_broker(Client::Codex).await;
}

#[tokio::test]
async fn claude_code_dies_with_the_broker() {
    dies_with_the_broker(Client::Claude).await;
}
