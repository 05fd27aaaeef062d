//! The load generator of the benchmarks: sends calls over one keep-alive connection per client, with little work per
//! call because it shares the machine with the broker.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub(crate) struct Connection {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
    /// How long each call took.
    pub(crate) times: Vec<Duration>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, host: format!("127.0.0.1:{port}"), buffer: Vec::with_capacity(1 << 16), times: Vec::new() }
    }

    /// Calls a tool and gives its structured answer, unread; a refusal ends the benchmark.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments }
        });
        let began = Instant::now();
        let answer = self.post(&body.to_string()).await;
        self.times.push(began.elapsed());
        match serde_json::from_slice(&answer) {
            Ok(Response { error: None, result: Some(Called { is_error: false, structured: Some(answer) }) }) => {
                Answer(answer.to_owned())
            }
            _ => panic!("{tool}: {}", String::from_utf8_lossy(&answer)),
        }
    }

    /// Repeats a call: the median time in milliseconds, and the last answer.
    pub(crate) async fn median(&mut self, tool: &str, arguments: &Value, times: usize) -> (f64, Answer) {
        self.times.clear();
        let mut last = self.call(tool, arguments.clone()).await;
        for _ in 1..times {
            last = self.call(tool, arguments.clone()).await;
        }
        self.times.sort_unstable();
        (self.times[times / 2].as_secs_f64() * 1e3, last)
    }

    async fn post(&mut self, body: &str) -> Vec<u8> {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n\
             content-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            let Some(head) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let length = content_length(&self.buffer[..head]);
            if self.buffer.len() >= head + 4 + length {
                return self.buffer[head + 4..head + 4 + length].to_vec();
            }
        }
    }
}

/// The structured part of a tool's answer. Most are not needed, and reading one costs the load more than
/// sending the call.
pub(crate) struct Answer(Box<RawValue>);

impl Answer {
    pub(crate) fn read(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap()
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    result: Option<Called<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called<'a> {
    #[serde(default)]
    is_error: bool,
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:")).expect("a plain JSON answer");
    line.trim().parse().unwrap()
}

/// What one measurement gave.
pub(crate) struct Measured {
    pub(crate) calls: usize,
    pub(crate) elapsed: Duration,
    pub(crate) server_cpu: Duration,
    times: Vec<Duration>,
}

impl Measured {
    pub(crate) fn new(mut times: Vec<Duration>, elapsed: Duration, server_cpu: Duration) -> Self {
        times.sort_unstable();
        Self { calls: times.len(), elapsed, server_cpu, times }
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.calls as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn cpu_micros(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.calls as f64
    }

    /// In milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        self.times[(self.times.len() - 1) * percent / 100].as_secs_f64() * 1e3
    }
}
