//! Every tool has a command that calls it.

use crate::support::{broker::TestBroker, client::TestClient, command::command_in, tool_calls::all_tools};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

/// The command that calls each tool. A tool without a command fails the test.
const COMMANDS: &[(&str, &[&str])] = &[
    ("accept_counter_patch", &["patch", "accept", "R-1"]),
    ("add_message", &["comment", "R-1", "-m", "x"]),
    ("cancel_review", &["cancel", "R-1", "-m", "x"]),
    ("claim_review", &["claim", "R-1"]),
    ("close_review", &["close", "R-1"]),
    ("create_review", &["request", "--plan", "-", "-m", "x"]),
    ("get_activity_feed", &["activity"]),
    ("get_audit_log", &["audit"]),
    ("get_discussion", &["show", "R-1"]),
    ("get_proposal", &["diff", "R-1"]),
    ("get_review_stats", &["stats"]),
    ("get_review_status", &["status", "R-1"]),
    ("get_review_timeline", &["timeline", "R-1"]),
    ("kill_reviewer", &["reviewer", "stop", "codex-r1"]),
    ("list_issues", &["issues"]),
    ("list_reviewers", &["reviewer", "list"]),
    ("list_reviews", &["list"]),
    ("reject_counter_patch", &["patch", "decline", "R-1"]),
    ("release_claim", &["release", "R-1"]),
    ("spawn_reviewer", &["reviewer", "spawn"]),
    ("submit_verdict", &["respond", "R-1", "--approve"]),
    ("update_issue", &["issues", "fix", "I-1", "--review", "R-1"]),
];

#[tokio::test]
async fn every_tool_has_a_command_that_calls_it() {
    let broker = TestBroker::start().await;
    let tools = all_tools(&broker.client()).await;
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let command = COMMANDS.iter().find(|(tool, _)| *tool == name).map(|(_, command)| *command);
        let command = command.unwrap_or_else(|| panic!("no command reaches {name}: write one, and name it here"));
        let (url, called) = listens(broker.client()).await;
        let line: Vec<_> = command.iter().copied().chain(["--url", &url, "--as", "bob"]).collect();
        let line: Vec<_> = if takes_name(command) { line } else { line[..line.len() - 2].to_vec() };
        command_in(broker.home(), &broker.repo().path(), &line).stdin("a plan").finish().await;
        let called = called.lock().unwrap().clone();
        assert!(called.iter().any(|tool| tool == name), "{command:?} calls {called:?}, not {name}");
    }
    assert_eq!(tools.len(), COMMANDS.len(), "a tool that is gone still stands here");
}

/// Commands of operators take no name.
fn takes_name(command: &[&str]) -> bool {
    !["activity", "audit", "stats", "timeline", "reviewer"].contains(&command[0])
}

type Called = Arc<Mutex<Vec<String>>>;

/// The operation of a REST request, by its request line.
fn operation(request: &str) -> String {
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let path: Vec<_> = target.split('?').next().unwrap().split('/').collect();
    let fits = |route: &&api::Route| {
        let template: Vec<_> = route.path.split('/').collect();
        let is_equal = |(part, given): (&&str, &&str)| part.starts_with('{') || part == given;
        route.method == method && template.len() == path.len() && template.iter().zip(&path).all(is_equal)
    };
    let mut routes = api::OperationId::ALL.iter().flat_map(|id| id.routes());
    routes.find(fits).map(|route| route.operation.name().to_owned()).unwrap_or_default()
}

/// A server that records which tools are called. Every call succeeds with a review
/// that fits every command.
async fn listens(_client: TestClient) -> (String, Called) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let called = Called::default();
    let noted = Arc::clone(&called);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            let (mut request, mut line, mut length) = (String::new(), String::new(), 0);
            stream.read_line(&mut request).await.unwrap();
            while stream.read_line(&mut line).await.unwrap() > 2 {
                if let Some(given) = line.to_lowercase().strip_prefix("content-length:") {
                    length = given.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            let call: Value = serde_json::from_slice(&body).unwrap_or_default();
            let name = call["params"]["name"].as_str().map_or_else(|| operation(&request), str::to_owned);
            noted.lock().unwrap().push(name);
            let review = json!({
                "review_id": "id", "number": "R-1", "status": "pending", "version": 1, "current_round": 1,
                "claim_generation": 1, "diff": "diff", "intent": "x",
            });
            let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "structuredContent": review } }).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
            let _ = stream.write_all(format!("{head} {}\r\n\r\n{answer}", answer.len()).as_bytes()).await;
        }
    });
    (url, called)
}
