//! The real binary with its own database and repository.

use super::{client::TestClient, mcp_bridge::Bridge, wait_until::wait_until};
use serde_json::Value;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use testkit::Repo;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// A running broker. Dropping it kills the process.
pub(crate) struct TestBroker {
    home: TempDir,
    repo: Option<Repo>,
    settings: String,
    launch_options: LaunchOptions,
    child: Child,
    port: u16,
}

/// The environment of a broker process.
#[derive(Default)]
struct LaunchOptions {
    /// Shell commands that run before the broker.
    prelude: Option<&'static str>,
    /// Variables in addition to the default ones.
    variables: Vec<(String, String)>,
}

/// Time limit of every wait in the tests: long enough for a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

impl TestBroker {
    /// A broker for a fresh repository, with the defaults.
    pub(crate) async fn start() -> Self {
        Self::with_settings("").await
    }

    /// A broker with these settings (TOML) over the defaults.
    pub(crate) async fn with_settings(settings: &str) -> Self {
        Self::launch(tempfile::tempdir().unwrap(), Some(Repo::new()), settings, 0).await
    }

    /// A broker on this port.
    pub(crate) async fn on_port(port: u16) -> Self {
        Self::launch(tempfile::tempdir().unwrap(), Some(Repo::new()), "", port).await
    }

    /// A broker outside of any repository.
    pub(crate) async fn without_repo() -> Self {
        Self::launch(tempfile::tempdir().unwrap(), None, "", 0).await
    }

    /// A broker on a data dir that a test has filled before: the folder `data` in `home`.
    pub(crate) async fn in_home(home: TempDir, settings: &str) -> Self {
        Self::launch(home, Some(Repo::new()), settings, 0).await
    }

    /// A broker that a shell starts after `prelude`, which may set limits and redirect.
    pub(crate) async fn with_prelude(prelude: &'static str, settings: &str) -> Self {
        let launch_options = LaunchOptions { prelude: Some(prelude), ..LaunchOptions::default() };
        Self::launch_in(launch_options, tempfile::tempdir().unwrap(), Some(Repo::new()), settings, 0).await
    }

    /// A broker with these variables in its environment.
    pub(crate) async fn with_env(variables: Vec<(String, String)>, settings: &str) -> Self {
        let launch_options = LaunchOptions { variables, ..LaunchOptions::default() };
        Self::launch_in(launch_options, tempfile::tempdir().unwrap(), Some(Repo::new()), settings, 0).await
    }

    /// A broker that a shell starts after `prelude`, in a home that a test has filled before.
    pub(crate) async fn with_prelude_in(prelude: &'static str, home: TempDir, settings: &str) -> Self {
        let launch_options = LaunchOptions { prelude: Some(prelude), ..LaunchOptions::default() };
        Self::launch_in(launch_options, home, Some(Repo::new()), settings, 0).await
    }

    async fn launch(home: TempDir, repo: Option<Repo>, settings: &str, port: u16) -> Self {
        Self::launch_in(LaunchOptions::default(), home, repo, settings, port).await
    }

    async fn launch_in(
        launch_options: LaunchOptions,
        home: TempDir,
        repo: Option<Repo>,
        settings: &str,
        port: u16,
    ) -> Self {
        std::fs::write(home.path().join("config.toml"), settings).unwrap();
        let (child, port) = spawn(&launch_options, home.path(), repo.as_ref().map(Repo::path), port).await;
        Self { home, repo, settings: settings.to_owned(), launch_options, child, port }
    }

    /// SIGKILL, then another process on the same database and port.
    pub(crate) async fn kill_and_restart(mut self) -> Self {
        self.kill().await;
        self.restarted().await
    }

    /// SIGKILL, without a restart.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// SIGTERM, and the exit status.
    pub(crate) async fn terminate(&mut self) -> std::process::ExitStatus {
        self.signal("TERM").await;
        self.ended().await
    }

    /// Waits for the process to exit.
    pub(crate) async fn ended(&mut self) -> std::process::ExitStatus {
        tokio::time::timeout(TIMEOUT, self.child.wait()).await.expect("the broker exits").unwrap()
    }

    pub(crate) async fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status().await.unwrap();
        assert!(status.success());
    }

    /// SIGKILL to a process that this broker has started.
    pub(crate) async fn kill_process(&self, pid: u32) {
        // It may have exited already.
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status().await.unwrap();
    }

    /// A new broker process on the same data dir and port, after the last one has ended.
    pub(crate) async fn restarted(mut self) -> Self {
        self.start_again().await;
        self
    }

    /// Like [`Self::restarted`], in place.
    pub(crate) async fn start_again(&mut self) {
        std::fs::write(self.home.path().join("config.toml"), &self.settings).unwrap();
        let repo = self.repo.as_ref().map(Repo::path);
        (self.child, self.port) = spawn(&self.launch_options, self.home.path(), repo, self.port).await;
    }

    /// Like [`Self::restarted`], without the prelude.
    pub(crate) async fn restarted_freely(mut self) -> Self {
        self.launch_options.prelude = None;
        self.restarted().await
    }

    /// Like [`Self::restarted`], with other settings.
    pub(crate) async fn restarted_with(mut self, settings: &str) -> Self {
        self.settings = settings.to_owned();
        self.restarted().await
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("the broker runs")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn mcp_url(&self) -> String {
        self.url("/mcp")
    }

    /// A caller on the endpoint for every role.
    pub(crate) fn client(&self) -> TestClient {
        TestClient::new(self.mcp_url())
    }

    /// A bridge to this broker.
    pub(crate) fn bridge(&self, options: &[&str]) -> Bridge {
        let mut command = countersign(self.home());
        command.arg("mcp").arg("--data-dir").arg(self.data_dir()).args(options);
        Bridge::start(command, self.home())
    }

    pub(crate) fn repo(&self) -> &Repo {
        self.repo.as_ref().expect("this broker has a repository")
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The folders of its reviewers.
    pub(crate) fn work_dir(&self) -> PathBuf {
        self.home.path().join("data-reviewers")
    }

    /// The live actor tree.
    pub(crate) async fn actors(&self) -> Value {
        reqwest::get(self.url("/debug/actors")).await.unwrap().json().await.unwrap()
    }

    /// The live reviews in the actor tree, at most as many as it shows.
    pub(crate) async fn live_reviews(&self) -> Vec<Value> {
        reviews_in(&self.actors().await)
    }

    /// Returns once exactly this many calls wait for a change.
    pub(crate) async fn until_waiting(&self, calls: usize) {
        self.until(&format!("{calls} calls wait"), |tree| tree["calls"]["waiting"] == calls).await;
    }

    /// Polls the actor tree until `fits` is true.
    pub(crate) async fn until(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_until(what, async || Some(self.actors().await).filter(&fits)).await
    }

    /// The log of all runs of the broker.
    /// Waits for a line of the log: the broker writes its log a moment after the answer.
    pub(crate) async fn until_logged(&self, fits: impl Fn(&str) -> bool) -> String {
        wait_until("a line of the log", async || self.log().lines().find(|line| fits(line)).map(str::to_owned)).await
    }

    /// What is in the log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("stderr.log")).unwrap_or_default()
    }

    /// Stops the broker and checks that every snapshot equals its replayed log.
    pub(crate) async fn stop_and_check(mut self) {
        assert!(self.terminate().await.success(), "{}", self.log());
        check_database(&self.data_dir()).await;
    }
}

/// The reviews of an actor tree.
pub(crate) fn reviews_in(tree: &Value) -> Vec<Value> {
    let children = tree["root"]["children"].as_array().unwrap();
    children.iter().filter(|node| node["kind"] == "review").cloned().collect()
}

/// Checks that the snapshot of every review equals its replayed log and its row in the list.
pub(crate) async fn check_database(data_dir: &Path) {
    let store = store::open(&data_dir.join("countersign.db"), store::Settings::default()).await.unwrap();
    let last = store.reader.last_number().await.unwrap();
    let (page, _) = store.reader.list_reviews(&[store::ReviewFilter::default()], None, 100_000).await.unwrap();
    let mut listed: HashMap<_, _> = page.items.into_iter().map(|row| (row.number, row.claimable_by(None))).collect();
    for number in 1..=last.0 {
        let number = domain::ids::ReviewNumber(number);
        let Some(id) = store.reader.find_id_by_number(number).await.unwrap() else { continue };
        let snapshot = store.reader.find_review(id).await.unwrap();
        let log = super::reviews::review_log(&store.reader, number).await;
        assert_eq!(domain::review::replay(&log), snapshot, "{number}");
        let snapshot = snapshot.unwrap();
        let to_take =
            snapshot.free_seats().filter(|seat| seat.reserved_for().is_none()).map(|seat| seat.persona.clone());
        assert_eq!(listed.remove(&number), Some(to_take.collect()), "{number}");
        let hash = &snapshot.round.content_hash;
        let content = store.reader.find_content(hash).await.unwrap().expect("the active content is stored");
        assert_eq!(content.hash(), *hash);
    }
}

/// The binary under test, without the environment and settings of this machine.
pub(crate) fn countersign(home: &Path) -> Command {
    bare(Command::new(env!("CARGO_BIN_EXE_countersign")), home)
}

fn bare(mut command: Command, home: &Path) -> Command {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        // A broker that a command starts would outlive the test.
        .env("COUNTERSIGN_SERVER_AUTO_START", "false")
        .current_dir(home)
        .kill_on_drop(true);
    command
}

async fn spawn(launch_options: &LaunchOptions, home: &Path, repo: Option<PathBuf>, port: u16) -> (Child, u16) {
    let stderr = std::fs::OpenOptions::new().create(true).append(true).open(home.join("stderr.log")).unwrap();
    let mut command = match launch_options.prelude {
        None => countersign(home),
        Some(prelude) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("{prelude}\nexec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_countersign"));
            bare(shell, home)
        }
    };
    command
        .envs(launch_options.variables.iter().map(|(name, value)| (name, value)))
        .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(home.join("data"))
        .arg("--config")
        .arg(home.join("config.toml"));
    if let Some(repo) = repo {
        command.arg("--repo").arg(repo);
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(TIMEOUT, lines.next_line()).await.expect("it prints its address").unwrap();
    let port = line.as_deref().and_then(|line| line.strip_prefix("listening http://127.0.0.1:")?.parse().ok());
    let Some(port) = port else {
        panic!("no port in {line:?}: {}", std::fs::read_to_string(home.join("stderr.log")).unwrap_or_default());
    };
    (child, port)
}
