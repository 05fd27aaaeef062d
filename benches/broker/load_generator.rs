//! The load generator: sends MCP calls over one keep-alive connection per client, with little work per call because it
//! often shares the machine with the broker. It speaks plain MCP over HTTP: JSON or event streams as answers, with or
//! without a session.

use serde::{Deserialize, de::DeserializeOwned, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const PROTOCOL_VERSION: &str = "2025-06-18";

/// Where an MCP server listens: `http://HOST:PORT/PATH`.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
}

impl Target {
    /// The MCP endpoint of a broker on this machine.
    pub(crate) fn local(port: u16) -> Self {
        Self { host: format!("127.0.0.1:{port}"), path: "/mcp".into(), token: None }
    }

    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| format!("{url:?}: expected http://HOST:PORT/PATH"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
        Ok(Self { host, path: format!("/{path}"), token: None })
    }
}

pub(crate) struct Connection {
    stream: TcpStream,
    target: Target,
    /// Of a server that keeps sessions.
    session: Option<String>,
    buffer: Vec<u8>,
    /// How long each call took.
    pub(crate) times: Vec<Duration>,
}

impl Connection {
    /// A connection to a broker on this machine. It has no sessions, so there is nothing to agree on.
    pub(crate) async fn open(port: u16) -> Self {
        Self::connect(Target::local(port)).await.unwrap()
    }

    /// A connection to any MCP server, after the handshake.
    pub(crate) async fn open_session(target: Target) -> Result<Self, String> {
        let mut connection = Self::connect(target).await.map_err(|error| error.to_string())?;
        let client = json!({ "name": "countersign-load", "version": env!("CARGO_PKG_VERSION") });
        let parameters = json!({ "protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters });
        let answer = connection.post("POST", &hello.to_string()).await?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| format!("initialize: {error}"))?;
        if !answer["result"].is_object() {
            return Err(format!("initialize: {answer}"));
        }
        connection.post("POST", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        Ok(connection)
    }

    async fn connect(target: Target) -> std::io::Result<Self> {
        let stream = TcpStream::connect(&target.host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, target, session: None, buffer: Vec::with_capacity(1 << 16), times: Vec::new() })
    }

    /// Calls a tool and gives its structured answer, unread; a refusal ends the benchmark.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.try_call(tool, &arguments).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, String> {
        let body = call_body(tool, arguments);
        let began = Instant::now();
        let answer = self.post("POST", &body).await?;
        self.times.push(began.elapsed());
        let refused = || Err(format!("{tool}: {}", String::from_utf8_lossy(&answer)));
        match serde_json::from_slice(&answer) {
            Ok(Response { error: None, result: Some(Called { is_error: false, structured: Some(answer), .. }) }) => {
                Ok(Answer(answer.get().to_owned()))
            }
            // A server without structured answers puts the JSON into the text.
            Ok(Response { error: None, result: Some(Called { is_error: false, structured: None, content }) }) => {
                let blocks: Vec<Block> =
                    content.and_then(|blocks| serde_json::from_str(blocks.get()).ok()).unwrap_or_default();
                blocks.into_iter().find_map(|block| block.text).map_or_else(refused, |text| Ok(Answer(text)))
            }
            _ => refused(),
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

    /// Reads a text of the REST interface completely: its number of bytes.
    pub(crate) async fn get(&mut self, path: &str) -> usize {
        self.target.path = path.into();
        self.post("GET", "").await.unwrap().len()
    }

    /// Sends a request and reads the whole answer: the JSON message in it.
    async fn post(&mut self, method: &str, body: &str) -> Result<Vec<u8>, String> {
        let Target { host, path, token } = &self.target;
        // A diff is only sent as a whole to a client that accepts text.
        let accept = if method == "GET" { "text/x-diff" } else { "application/json, text/event-stream" };
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             accept: {accept}\r\nmcp-protocol-version: {PROTOCOL_VERSION}\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in [("mcp-session-id: ", &self.session), ("authorization: Bearer ", token)] {
            if let Some(value) = value {
                let _ = write!(request, "{name}{value}\r\n");
            }
        }
        request.push_str("\r\n");
        request.push_str(body);
        let gone = |error: std::io::Error| error.to_string();
        self.stream.write_all(request.as_bytes()).await.map_err(gone)?;
        self.buffer.clear();
        let mut searched = 0;
        let head_end = loop {
            self.read_more().await?;
            let from = searched.min(self.buffer.len());
            if let Some(at) = self.buffer[from..].windows(4).position(|four| four == b"\r\n\r\n") {
                break from + at + 4;
            }
            searched = self.buffer.len().saturating_sub(3);
        };
        let head = Head::read(&self.buffer[..head_end])?;
        if head.session.is_some() {
            self.session.clone_from(&head.session);
        }
        let body = match head.length {
            Some(length) => {
                while self.buffer.len() < head_end + length {
                    self.read_more().await?;
                }
                self.buffer[head_end..head_end + length].to_vec()
            }
            None if head.is_chunked => self.read_chunks(head_end).await?,
            None => Vec::new(),
        };
        if !(200..300).contains(&head.status) {
            return Err(format!("status {}: {}", head.status, String::from_utf8_lossy(&body)));
        }
        Ok(if head.is_event_stream { last_message(&body) } else { body })
    }

    async fn read_chunks(&mut self, mut at: usize) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        loop {
            let line_end = loop {
                match self.buffer[at..].windows(2).position(|two| two == b"\r\n") {
                    Some(end) => break at + end,
                    None => self.read_more().await?,
                }
            };
            let size = std::str::from_utf8(&self.buffer[at..line_end]).ok();
            let size = size.and_then(|text| usize::from_str_radix(text.split(';').next()?.trim(), 16).ok());
            let size = size.ok_or("the answer has a malformed chunk")?;
            let start = line_end + 2;
            while self.buffer.len() < start + size + 2 {
                self.read_more().await?;
            }
            body.extend_from_slice(&self.buffer[start..start + size]);
            at = start + size + 2;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn read_more(&mut self) -> Result<(), String> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err("the server closed the connection".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A call of a tool as the body of a request.
fn call_body(tool: &str, arguments: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
}

/// What matters of the head of an answer.
#[derive(Default)]
struct Head {
    status: u16,
    length: Option<usize>,
    is_chunked: bool,
    is_event_stream: bool,
    session: Option<String>,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the answer is not HTTP")?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let mut head = Self { status: status.ok_or("the answer is not HTTP")?, ..Self::default() };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.len() {
                14 if name.eq_ignore_ascii_case("content-length") => head.length = value.parse().ok(),
                17 if name.eq_ignore_ascii_case("transfer-encoding") => head.is_chunked = value == "chunked",
                12 if name.eq_ignore_ascii_case("content-type") => {
                    head.is_event_stream = value.starts_with("text/event-stream");
                }
                14 if name.eq_ignore_ascii_case("mcp-session-id") => head.session = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(head)
    }
}

/// The data of the last message of an event stream, which is the answer; others are notifications.
fn last_message(stream: &[u8]) -> Vec<u8> {
    let mut messages = stream.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    messages.rfind(|data| !data.trim_ascii().is_empty()).unwrap_or_default().trim_ascii().to_vec()
}

/// The structured part of a tool's answer. Most are not needed, and reading one costs the load more than
/// sending the call.
pub(crate) struct Answer(String);

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.0).unwrap_or_else(|error| panic!("{error} in {}", self.0))
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
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

/// What one measurement gave.
pub(crate) struct Measured {
    pub(crate) elapsed: Duration,
    pub(crate) server_cpu: Duration,
    times: Vec<Duration>,
}

impl Measured {
    pub(crate) fn new(mut times: Vec<Duration>, elapsed: Duration, server_cpu: Duration) -> Self {
        times.sort_unstable();
        Self { elapsed, server_cpu, times }
    }

    /// Adds the calls of another measurement.
    pub(crate) fn join(&mut self, other: Self) {
        self.times.extend(other.times);
        self.times.sort_unstable();
        self.elapsed += other.elapsed;
        self.server_cpu += other.server_cpu;
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }

    pub(crate) fn cpu_micros(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.times.len() as f64
    }

    /// In milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        percentile(&self.times, percent)
    }
}

/// Of sorted times, in milliseconds.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3
}
