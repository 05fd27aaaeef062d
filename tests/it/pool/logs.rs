//! The log of a reviewer: by offset, as a stream, and on the command line.
#![cfg(target_os = "linux")]

use crate::support::{
    broker::{TestBroker, countersign},
    pool::pool_of,
    rest_client::sent,
    wait_until::wait_until,
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::{fs, process::Stdio};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

/// Prints a line, waits for the file `more` in its home, prints another and ends.
const PATIENT: &str = "echo begin; until [ -e $HOME/more ]; do sleep 0.05; done; echo end; exec sleep 1000";

/// Writes a log without a reviewer, as an earlier broker would have left it.
fn write_log(broker: &TestBroker, name: &str, text: &str) {
    let folder = broker.data_dir().join("reviewers");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

async fn reviewer_with_a_line(broker: &TestBroker) -> String {
    let spawned = broker.client().call("spawn_reviewer", json!({})).await;
    let id = spawned["reviewer_id"].as_str().unwrap().to_owned();
    let rest = broker.rest_as_operator();
    wait_until("it has printed a line", async || {
        let answer = rest.get(&format!("/reviewers/{id}/logs")).await;
        answer.text.contains("out begin").then_some(())
    })
    .await;
    id
}

#[tokio::test]
async fn a_log_is_read_by_offset() {
    let broker = TestBroker::start().await;
    let rest = broker.rest_as_operator();
    let lines: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    write_log(&broker, "codex-r1-a7f3b2e1.log", &lines);
    let (mut text, mut next) = (String::new(), 0);
    loop {
        let part = rest.get(&format!("/reviewers/codex-r1/logs?from={next}&bytes=4096")).await.is(200);
        assert_eq!((&part["from"], &part["total_bytes"]), (&json!(next), &json!(lines.len())));
        assert!(part["text"].as_str().unwrap().ends_with('\n') && part["text"].as_str().unwrap().len() <= 4096);
        assert_eq!((&part["dropped_bytes"], &part["ended"]), (&json!(0), &json!(true)));
        text += part["text"].as_str().unwrap();
        next = part["next"].as_u64().unwrap();
        if next == lines.len() as u64 {
            break;
        }
    }
    assert_eq!(text, lines);
    let tail = rest.get("/reviewers/codex-r1/logs?lines=2").await.is(200);
    assert_eq!(tail["text"], "line 9998\nline 9999\n");
    assert_eq!(tail["next"], lines.len());

    let beyond = rest.get(&format!("/reviewers/codex-r1/logs?from={}", next + 1)).await;
    assert!(beyond.refused(422, "invalid_argument")["detail"].as_str().unwrap().contains("beyond the end of the log"));
    rest.get("/reviewers/codex-r1/logs?from=0&lines=3").await.refused(422, "invalid_argument");
    rest.get("/reviewers/codex-r1/logs?bytes=4096").await.refused(422, "invalid_argument");
    rest.get("/reviewers/codex-r1/logs?from=0&bytes=1").await.refused(400, "invalid_params");
}

#[tokio::test]
async fn offsets_count_what_was_dropped() {
    let broker = TestBroker::start().await;
    let rest = broker.rest_as_operator();
    let old = "2026-11-19T10:00:00Z --- continues at byte 5000\nold\n";
    let at = 5000 + old.len();
    write_log(&broker, "codex-r1-a7f3b2e1.log.1", old);
    write_log(&broker, "codex-r1-a7f3b2e1.log", &format!("2026-11-19T10:00:01Z --- continues at byte {at}\nnew\n"));
    let part = rest.get("/reviewers/codex-r1/logs?from=0").await.is(200);
    assert_eq!((&part["from"], &part["dropped_bytes"]), (&json!(5000), &json!(5000)));
    assert!(part["text"].as_str().unwrap().starts_with(old) && part["text"].as_str().unwrap().ends_with("\nnew\n"));
    let answer =
        sent(rest.request("GET", "/reviewers/codex-r1/logs/stream?from=0").header("accept", "text/plain")).await;
    assert_eq!(answer.text, format!("--- 5000 bytes were dropped\n{}", part["text"].as_str().unwrap()));
}

#[tokio::test]
async fn a_stream_carries_new_lines_and_ends_with_the_reviewer() {
    let broker = TestBroker::with_settings(&pool_of(PATIENT, "stop_grace = \"5s\"")).await;
    let id = reviewer_with_a_line(&broker).await;
    let rest = broker.rest_as_operator();
    let open = |from: u64| rest.request("GET", &format!("/reviewers/{id}/logs/stream?from={from}")).send();
    let mut frames = Frames::of(open(0).await.unwrap());
    let first = frames.next().await;
    assert!(first["text"].as_str().unwrap().contains(" out begin\n"), "{first}");
    assert_eq!(first["ended"], false);
    fs::write(broker.home().join("more"), "").unwrap();
    let second = frames.next().await;
    assert_eq!(second["from"], first["next"]);
    assert!(second["text"].as_str().unwrap().ends_with(" out end\n"), "{second}");
    // A connection that was lost continues where it was.
    let mut again = Frames::of(open(first["next"].as_u64().unwrap()).await.unwrap());
    assert_eq!(again.next().await["text"], second["text"]);

    broker.command(&["reviewer", "stop", &id, "--force"]).stdout().await;
    assert_eq!(frames.next().await, json!({ "reason": "complete", "next": second["next"] }));
    assert!(frames.has_ended().await);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_has_printed_nothing_has_an_empty_log() {
    let broker = TestBroker::with_settings(&pool_of("exec sleep 1000", "stop_grace = \"5s\"")).await;
    let spawned = broker.client().call("spawn_reviewer", json!({})).await;
    let id = spawned["reviewer_id"].as_str().unwrap();
    let rest = broker.rest_as_operator();
    let part = rest.get(&format!("/reviewers/{id}/logs?from=0")).await.is(200);
    assert_eq!((&part["text"], &part["total_bytes"], &part["ended"]), (&json!(""), &json!(0), &json!(false)));
    broker.command(&["reviewer", "stop", id, "--force"]).stdout().await;
    wait_until("its log is over", async || {
        rest.get(&format!("/reviewers/{id}/logs")).await.json()["code"]
            .as_str()
            .filter(|code| *code == "no_log")
            .map(drop)
    })
    .await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_command_line_follows_a_log_until_the_reviewer_ends() {
    let broker = TestBroker::with_settings(&pool_of(PATIENT, "stop_grace = \"5s\"")).await;
    let id = reviewer_with_a_line(&broker).await;
    let mut command = countersign(broker.home());
    command.args(["reviewer", "logs", &id, "--follow", "--data-dir"]).arg(broker.data_dir());
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(following.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).await.unwrap();
    assert!(first.ends_with(" out begin\n"), "{first}");
    fs::write(broker.home().join("more"), "").unwrap();
    let mut second = String::new();
    out.read_line(&mut second).await.unwrap();
    assert!(second.ends_with(" out end\n"), "{second}");
    broker.command(&["reviewer", "stop", &id, "--force"]).stdout().await;
    let mut rest = String::new();
    out.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "");
    assert!(following.wait().await.unwrap().success());

    let from = first.len().to_string();
    let part = broker.command(&["reviewer", "logs", &id, "--from", &from]).stdout().await;
    assert_eq!(part, second);
    assert_eq!(broker.command(&["reviewer", "logs", &id, "-n", "1"]).stdout().await, second);
    broker.stop_and_check().await;
}

/// The data of server-sent events.
struct Frames {
    stream: std::pin::Pin<Box<dyn futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    rest: String,
}

impl Frames {
    fn of(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self { stream: Box::pin(response.bytes_stream()), rest: String::new() }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned())) {
                self.rest = rest;
                if let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return serde_json::from_str(data).unwrap();
                }
                continue;
            }
            let bytes = self.stream.next().await.expect("a frame").unwrap();
            self.rest += std::str::from_utf8(&bytes).unwrap();
        }
    }

    async fn has_ended(&mut self) -> bool {
        self.stream.next().await.is_none()
    }
}
