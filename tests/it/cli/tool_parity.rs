//! Every tool has a command that calls it.

use crate::support::{broker::TestBroker, client::TestClient, command::command_in, tool_calls::every_tool};
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
    ("add_seat", &["add-seat", "--reviewer", "security", "R-1"]),
    ("take_over", &["claim", "R-1", "--take-over"]),
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
    let tools = every_tool(&broker.client()).await;
    let response = response_to_every_call(&broker.client()).await;
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let command = COMMANDS.iter().find(|(tool, _)| *tool == name).map(|(_, command)| *command);
        let command = command.unwrap_or_else(|| panic!("no command reaches {name}: write one, and name it here"));
        let (url, called) = listens(response.clone()).await;
        let name_option = ["--url", &url, "--as", if is_for_reviewers(command) { "bob" } else { "ada" }];
        let line: Vec<_> = command.iter().copied().chain(name_option).collect();
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

fn is_for_reviewers(command: &[&str]) -> bool {
    ["claim", "release", "respond"].contains(&command[0])
}

/// One object with the fields of several responses about a review of ada's.
async fn response_to_every_call(client: &TestClient) -> Value {
    let proposal = json!({
        "intent": "x", "agent_type": "cli", "agent_role": "proposer", "phase": "1", "proposer_id": "ada",
    });
    let submitted = client.call("create_review", proposal).await;
    let review = json!({ "review_id": submitted["review_id"] });
    let mut fields = submitted.as_object().unwrap().clone();
    for tool in ["get_proposal", "get_discussion", "get_review_status"] {
        fields.extend(client.call(tool, review.clone()).await.as_object().unwrap().clone());
    }
    fields.insert("reviews".into(), json!([]));
    fields.insert("diff".into(), json!("diff"));
    fields.remove("next_cursor");
    fields.into()
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

/// A server that records which operations are called, and answers every call with `response`.
async fn listens(response: Value) -> (String, Called) {
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
            stream.read_exact(&mut vec![0; length]).await.unwrap();
            let (name, mut response) = (operation(&request), response.clone());
            if name == "list_issues" {
                response["issues"] = json!([]);
            }
            noted.lock().unwrap().push(name);
            let answer = response.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
            let _ = stream.write_all(format!("{head} {}\r\n\r\n{answer}", answer.len()).as_bytes()).await;
        }
    });
    (url, called)
}
