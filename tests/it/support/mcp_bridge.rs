//! `countersign mcp` as a client starts it, and the broker that it starts.

use super::{
    broker::{TIMEOUT, check_database, countersign},
    client::TestClient,
    wait_until::wait_until,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};
use tempfile::TempDir;
use testkit::Repo;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// A data dir and a repository without a broker. A broker that is started for them ends with this value.
pub(crate) struct Unserved {
    home: TempDir,
    repo: Repo,
}

/// What a running broker writes about itself into its data dir.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Note {
    pub(crate) pid: u32,
    pub(crate) url: String,
}

impl Note {
    pub(crate) fn client(&self) -> TestClient {
        TestClient::new(format!("{}/mcp", self.url))
    }
}

impl Unserved {
    pub(crate) fn new() -> Self {
        Self::with("[server]\nlisten = \"127.0.0.1:0\"\n")
    }

    /// With these settings for the broker that a bridge starts.
    pub(crate) fn with(settings: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), settings).unwrap();
        Self { home, repo: Repo::new() }
    }

    pub(crate) fn repo(&self) -> &Repo {
        &self.repo
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The options that make a command use this data dir.
    pub(crate) fn options(&self) -> Vec<String> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let options = [
            ("--data-dir", self.data_dir()),
            ("--repo", self.repo.path()),
            ("--config", self.home().join("config.toml")),
        ];
        options.into_iter().flat_map(|(name, path)| [name.to_owned(), text(path)]).collect()
    }

    /// A bridge, which starts a broker at its first message.
    pub(crate) fn bridge(&self, more: &[&str]) -> Bridge {
        self.bridge_with("true", more)
    }

    /// A bridge with this value of `server.auto_start`.
    pub(crate) fn bridge_with(&self, auto_start: &str, more: &[&str]) -> Bridge {
        let mut command = countersign(self.home());
        command.arg("mcp").args(self.options()).args(more).env("COUNTERSIGN_SERVER_AUTO_START", auto_start);
        Bridge::start(command, self.home())
    }

    /// Waits for the broker of this data dir.
    pub(crate) async fn note(&self) -> Note {
        wait_until("a broker's note", async || self.read_note()).await
    }

    pub(crate) async fn note_other_than(&self, old: &Note) -> Note {
        wait_until("another broker's note", async || self.read_note().filter(|note| note.pid != old.pid)).await
    }

    fn read_note(&self) -> Option<Note> {
        serde_json::from_slice(&std::fs::read(self.data_dir().join("broker.json")).ok()?).ok()
    }

    /// SIGKILL to the broker, which leaves its announcement file behind.
    pub(crate) async fn kill(&self) {
        self.end("KILL").await;
    }

    /// Stops the broker, waits for its exit, and checks its database.
    pub(crate) async fn stop_and_check(self) {
        self.end("TERM").await;
        assert_eq!(self.read_note(), None, "a broker that ends takes its note along");
        check_database(&self.data_dir()).await;
    }

    async fn end(&self, signal: &str) {
        let Note { pid, .. } = self.note().await;
        let pid = pid.to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().await.unwrap().success());
        wait_until("the end of the broker", async || is_gone(&pid).await.then_some(())).await;
        // The process is gone a moment before the last of its threads, and with it the lock.
        wait_until("its lock went with it", async || self.holder().is_none().then_some(())).await;
    }

    /// The process that holds the data dir, if any.
    fn holder(&self) -> Option<String> {
        let path = self.data_dir().join("broker.lock");
        match File::open(&path).ok()?.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => None,
            Err(TryLockError::WouldBlock) => std::fs::read_to_string(path).ok(),
        }
    }
}

impl Drop for Unserved {
    /// A process is left only after a failed test.
    #[expect(clippy::disallowed_methods, reason = "drop cannot await")]
    fn drop(&mut self) {
        if let Some(pid) = self.holder() {
            let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        }
    }
}

/// A zombie counts as gone.
pub(crate) async fn is_gone(pid: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().await.unwrap();
    let state = String::from_utf8_lossy(&shown.stdout);
    state.trim().is_empty() || state.trim().starts_with('Z')
}

/// A running `countersign mcp`. Everything it prints must be JSON-RPC, one message a line.
pub(crate) struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// Responses that were not requested yet.
    early: HashMap<u64, Value>,
    next_id: u64,
}

impl Bridge {
    pub(crate) fn start(mut command: Command, home: &Path) -> Self {
        let stderr = File::options().create(true).append(true).open(home.join("bridge.log")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, output, early: HashMap::new(), next_id: 1 }
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        input.flush().await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_line(&message.to_string()).await;
    }

    /// Sends a request without waiting for its response: the id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    pub(crate) async fn ask_tool(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// The next line; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = timeout(TIMEOUT, self.output.next_line()).await.expect("the bridge says something").unwrap()?;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {line}");
        Some(message)
    }

    /// The complete response to an earlier request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let message = self.next().await.expect("an answer before the end");
            let other = message["id"].as_u64().unwrap_or_else(|| panic!("not an answer: {message}"));
            assert!(self.early.insert(other, message).is_none(), "{other} is answered twice");
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// A tool call that must succeed: its structured content.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.ask_tool(tool, arguments).await;
        let answer = self.answer(id).await;
        assert!(answer["result"]["isError"] != true && answer["result"].is_object(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Performs the handshake of the older revisions.
    pub(crate) async fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.request("initialize", params).await;
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    /// Closes stdin: the remaining output and the exit status.
    pub(crate) async fn close(mut self) -> (Vec<Value>, ExitStatus) {
        drop(self.input.take());
        let mut last_words = Vec::new();
        while let Some(message) = self.next().await {
            last_words.push(message);
        }
        let ended = timeout(TIMEOUT, self.child.wait()).await.expect("the bridge ends with its input").unwrap();
        (last_words, ended)
    }

    /// Closes its stdout.
    pub(crate) async fn leave(mut self) -> ExitStatus {
        drop(self.output);
        drop(self.input.take());
        timeout(TIMEOUT, self.child.wait()).await.expect("the bridge ends with its client").unwrap()
    }
}
