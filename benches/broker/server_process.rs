//! Starts a broker or another server as a child process of the benchmark and measures its CPU time and memory.

use std::{path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// The program of the broker that is measured.
pub(crate) const BROKER: &str = env!("CARGO_BIN_EXE_countersign");

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) started_in: Duration,
}

impl Server {
    /// The tool that does nothing: on the stack of the broker, or on rmcp alone.
    pub(crate) async fn noop(is_rmcp_alone: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(super::noop_mcp_server::FLAG).args(is_rmcp_alone.then_some("rmcp"));
        Self::spawn(command).await
    }

    /// The product, as a user starts it; its log goes to a file.
    pub(crate) async fn broker(home: &Path, settings: &str) -> Self {
        Self::broker_in(home, home, settings).await
    }

    /// A broker for the repository `project`, with its files in `home`.
    pub(crate) async fn broker_in(project: &Path, home: &Path, settings: &str) -> Self {
        Self::program_in(Path::new(BROKER), project, home, settings).await
    }

    /// Another build of the broker.
    pub(crate) async fn program_in(program: &Path, project: &Path, home: &Path, settings: &str) -> Self {
        let mut command = Command::new(program);
        set_up(&mut command, project, home, settings);
        Self::spawn(command).await
    }

    /// A broker that runs inside another program, such as valgrind.
    pub(crate) async fn broker_under(mut program: Command, project: &Path, home: &Path) -> Self {
        program.arg(BROKER);
        set_up(&mut program, project, home, "");
        Self::spawn(program).await
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
        // After the command's name, which may hold anything, fields 14 to 17 are the user and system ticks of the process
        // and of the processes that it started.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Memory the process holds by itself, without what it only maps from files.
    pub(crate) fn memory(&self) -> u64 {
        self.status_bytes("RssAnon:")
    }

    /// All memory of the process that is resident, with the pages of its program file.
    pub(crate) fn resident(&self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    fn status_bytes(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Transactions and changes the broker has committed.
    pub(crate) async fn commits(&self) -> (u64, u64) {
        let tree = self.actors().await;
        (tree["store"]["commits"].as_u64().unwrap(), tree["store"]["changes"].as_u64().unwrap())
    }

    /// Calls that wait for a change.
    pub(crate) async fn waiting(&self) -> u64 {
        self.actors().await["calls"]["waiting"].as_u64().unwrap()
    }

    async fn actors(&self) -> serde_json::Value {
        let url = format!("http://127.0.0.1:{}/debug/actors", self.port);
        reqwest::get(url).await.unwrap().json().await.unwrap()
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub(crate) async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }
}

fn set_up(command: &mut Command, project: &Path, home: &Path, settings: &str) {
    let config = home.join("config.toml");
    std::fs::write(&config, settings).unwrap();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(home.join("data"))
        .arg("--config")
        .arg(config)
        .env("HOME", home)
        .current_dir(project)
        .stderr(std::fs::File::create(home.join("broker.log")).unwrap());
}
