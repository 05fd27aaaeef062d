//! Starts a broker or another server as a child process of the benchmark and measures its CPU time and memory.

use std::{path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) started_in: Duration,
}

impl Server {
    pub(crate) async fn noop() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(super::noop_mcp_server::FLAG);
        Self::spawn(command).await
    }

    /// The product, as a user starts it; its log goes to a file.
    pub(crate) async fn broker(home: &Path, settings: &str) -> Self {
        let config = home.join("config.toml");
        std::fs::write(&config, settings).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(home.join("data"))
            .arg("--config")
            .arg(config)
            .env("HOME", home)
            .current_dir(home)
            .stderr(std::fs::File::create(home.join("broker.log")).unwrap());
        Self::spawn(command).await
    }

    async fn spawn(mut command: Command) -> Self {
        let began = std::time::Instant::now();
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().expect("the server says where it listens");
        let port = line.rsplit(':').next().unwrap().parse().unwrap();
        Self { child, port, started_in: began.elapsed() }
    }

    /// CPU time the process has used, in all its threads.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id().unwrap())).unwrap();
        // After the command's name, which may hold anything, fields 14 and 15 are user and system ticks.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }

    /// Memory the process holds by itself, without what it only maps from files.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Transactions and changes the broker has committed.
    pub(crate) async fn commits(&self) -> (u64, u64) {
        let url = format!("http://127.0.0.1:{}/debug/actors", self.port);
        let tree: serde_json::Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        (tree["store"]["commits"].as_u64().unwrap(), tree["store"]["changes"].as_u64().unwrap())
    }

    pub(crate) async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }
}
