//! How commands know the broker of a data folder, when files in it name another process.

use crate::support::broker::TestBroker;
use axum::{Json, Router, extract::State, http::Request};
use serde_json::json;
use std::{
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::{net::TcpListener, process::Command};

/// In a container, the process id in the lock file may belong to another process.
#[tokio::test]
async fn stop_ends_the_process_that_holds_the_lock_and_no_other() {
    let mut broker = TestBroker::start().await;
    let mut bystander = Command::new("sleep").arg("600").kill_on_drop(true).stdin(Stdio::null()).spawn().unwrap();
    let lock = broker.data_dir().join("broker.lock");
    std::fs::write(&lock, bystander.id().unwrap().to_string()).unwrap();
    let pid = broker.pid();
    let stopped = broker.command(&["stop", "--json"]).json().await;
    assert_eq!((&stopped["stopped"], &stopped["pid"]), (&json!(true), &json!(pid)));
    assert!(broker.ended().await.success());
    assert_eq!(bystander.try_wait().unwrap(), None, "it lives");
    // The lock is free now, although the file names a process.
    let text = broker.command(&["stop"]).stdout().await;
    assert!(text.contains("no broker runs"), "{text}");
    assert_eq!(bystander.try_wait().unwrap(), None, "it lives");
}

/// A broker that was killed leaves its announcement and its token behind.
#[tokio::test]
async fn a_program_in_the_place_of_a_killed_broker_gets_no_token() {
    let mut broker = TestBroker::start().await;
    let (pid, port) = (broker.pid(), broker.port());
    let health: serde_json::Value = reqwest::get(broker.url("/healthz")).await.unwrap().json().await.unwrap();
    broker.kill().await;
    assert!(broker.data_dir().join("operator.token").exists() && broker.data_dir().join("broker.json").exists());

    let requests = Arc::new(Mutex::new(Vec::new()));
    let answer = async |State(requests): State<Arc<Mutex<Vec<_>>>>, request: Request<axum::body::Body>| {
        let has_token = request.headers().contains_key("authorization");
        requests.lock().unwrap().push((request.uri().path().to_owned(), has_token));
        // What the broker answered, which anyone could read, and a guess.
        let mut health = health;
        health["proof"] = json!("00".repeat(32));
        Json(health)
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let app = Router::new().fallback(answer).with_state(Arc::clone(&requests));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    assert_eq!(health_pid(port).await, json!(pid), "it answers as the broker did");
    for line in [&["list"][..], &["status"], &["wait", "R-1"]] {
        let ended = broker.command(&[line, &["--no-start"]].concat()).finish().await;
        assert_eq!(ended.code, 5, "{line:?}: {}{}", ended.out, ended.err);
    }
    let seen = requests.lock().unwrap().clone();
    assert!(seen.len() > 3 && seen.iter().all(|(path, has_token)| path == "/healthz" && !has_token), "{seen:?}");
    server.abort();
}

async fn health_pid(port: u16) -> serde_json::Value {
    let health = reqwest::get(format!("http://127.0.0.1:{port}/healthz")).await.unwrap();
    health.json::<serde_json::Value>().await.unwrap()["pid"].clone()
}
