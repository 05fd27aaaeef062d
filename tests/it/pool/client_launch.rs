//! How the pool launches the real clients: they find the broker, use their token, and run nothing of the workspace.

use crate::support::{
    agent_clients::{Client, are_skipped, installed},
    broker::{TIMEOUT, TestBroker},
    client::proposal,
    model_server::{ModelServer, Script},
};
use actors::reviewer_process::{
    runtime::{Effort, Launch, RunMode, Runtime, RuntimeSettings},
    token_usage::Usage,
};
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, Method, StatusCode, header},
    response::IntoResponse,
};
use serde_json::json;
use std::{
    collections::{BTreeSet, HashMap},
    process::{Output, Stdio},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt as _, net::TcpListener, process::Command, time::timeout};

const TOKEN: &str = "cs_made-up";
const REVIEWER: &str = "pool-r1-a7f3b2e1";

/// Every value of `Authorization` that was seen.
type Shown = Arc<Mutex<BTreeSet<Option<String>>>>;

/// A proxy in front of `/mcp/reviewer`: its address, and the tokens it saw.
async fn watched(broker: &TestBroker) -> (String, Shown) {
    let (shown, url) = (Shown::default(), broker.url("/mcp/reviewer"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}/mcp/reviewer", listener.local_addr().unwrap());
    let seen = Arc::clone(&shown);
    let app = Router::new().fallback(move |method: Method, mut headers: HeaderMap, body: Bytes| {
        let authorization = headers.remove(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        seen.lock().unwrap().insert(authorization);
        headers.remove(header::HOST);
        let request = reqwest::Client::new().request(method, &url).headers(headers).body(body);
        async move {
            let Ok(answer) = request.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
            let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
            let headers: HeaderMap = kind.map(|kind| (header::CONTENT_TYPE, kind)).into_iter().collect();
            (answer.status(), headers, answer.bytes().await.unwrap()).into_response()
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, shown)
}

/// One review by the client as the pool would start it, in a workspace whose settings would run a command.
async fn reviews_for_the_pool(client: Client, settings: RuntimeSettings) -> Option<Usage> {
    if are_skipped(&format!("{client:?} as the pool starts it")) {
        return None;
    }
    let broker = TestBroker::start().await;
    broker.client().call("create_review", proposal("count in German")).await;
    let (mcp_url, shown) = watched(&broker).await;
    let home = TempDir::new().unwrap();
    let (workspace, ran) = (broker.repo().path(), home.path().join("ran"));
    let hook = json!({ "hooks": [{ "type": "command", "command": format!("touch {}", ran.display()) }] });
    broker.repo().write(".claude/settings.json", json!({ "hooks": { "SessionStart": [hook] } }).to_string());

    let claim = json!({ "review_id": "${review_id}", "reviewer_id": REVIEWER });
    let verdict = json!({
        "review_id": "${review_id}", "verdict": "approved", "reviewer_id": REVIEWER,
        "claim_generation": "${claim_generation}", "content_hash": "${content_hash}",
    });
    let script = Script::new()
        .call("list_reviews", json!({ "status": "pending", "caller_id": REVIEWER }))
        .save("review_id")
        .call("claim_review", claim)
        .save("claim_generation")
        .save("content_hash")
        .call("submit_verdict", verdict)
        .expect("status", "approved")
        .finish("");
    let model = ModelServer::start(script).await;
    let own: HashMap<_, _> = client.environment(&model, home.path()).into_iter().collect();
    // The model's address and key are what an operator would have to name.
    let settings = RuntimeSettings { environment: own.keys().cloned().collect(), ..settings };
    let launch = Launch {
        reviewer_id: REVIEWER,
        program: None,
        workspace: &workspace,
        mode: RunMode::Agent { token: TOKEN, mcp_url: &mcp_url },
        prompt: String::new(),
    };
    let spec = launch.process_spec(&settings, |name| own.get(name).cloned());
    assert!(!spec.argv.concat().contains(TOKEN), "{spec:?}");

    let mut command = Command::new(&spec.argv[0]);
    command.args(&spec.argv[1..]).env_clear().envs(spec.env).current_dir(&workspace);
    let Output { status, stdout, stderr } = output(command).await;
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success() && stdout.contains("SCRIPT-OK"), "{stdout}\n{stderr}");
    assert_eq!(*shown.lock().unwrap(), BTreeSet::from([Some(format!("Bearer {TOKEN}"))]));
    assert!(!ran.exists(), "the workspace's hook ran");
    assert!(!stdout.contains(TOKEN) && !stderr.contains(TOKEN), "{stdout}\n{stderr}");
    broker.stop_and_check().await;
    let mut usage = Usage::default();
    stdout.lines().for_each(|line| usage.read_line(line));
    assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
    assert_eq!(usage.last_error, None);
    Some(usage)
}

async fn output(mut command: Command) -> Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(domain::reviewer_prompt::DEFAULT_TEMPLATE.as_bytes()).await.unwrap();
    drop(stdin);
    timeout(TIMEOUT, child.wait_with_output()).await.expect("it ends by itself").unwrap()
}

fn settings(runtime: Runtime, model: &str) -> RuntimeSettings {
    let program = match runtime {
        Runtime::Codex => installed::codex as fn() -> _,
        Runtime::Claude => installed::claude,
        Runtime::Command => unreachable!("no client"),
    };
    RuntimeSettings {
        runtime,
        program: (!are_skipped("its program")).then(program),
        command: Vec::new(),
        model: Some(model.into()),
        effort: Some(Effort::High),
        environment: Vec::new(),
        wsl: None,
    }
}

#[tokio::test]
async fn codex_reviews_for_the_pool() {
    let usage = reviews_for_the_pool(Client::Codex, settings(Runtime::Codex, "scripted")).await;
    assert_eq!(usage.and_then(|usage| usage.cost_usd), None);
}

#[tokio::test]
async fn codex_reviews_for_the_pool_in_code_mode() {
    reviews_for_the_pool(Client::CodexCodeMode, settings(Runtime::Codex, "gpt-6.1-sol")).await;
}

#[tokio::test]
async fn claude_code_reviews_for_the_pool() {
    if let Some(usage) = reviews_for_the_pool(Client::Claude, settings(Runtime::Claude, "sonnet")).await {
        assert!(usage.cost_usd.is_some());
    }
}
