//! `countersign serve`: output, settings, files on disk and shutdown.

use crate::support::{
    agent_clients::{are_skipped, installed},
    broker::{TIMEOUT, TestBroker, check_database, countersign},
    client::{TestClient, proposal, proposal_with},
    mcp_bridge::{Bridge, Unserved},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};
use tempfile::TempDir;
use testkit::Repo;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `countersign serve` on a free port.
fn serve(home: &Path) -> Command {
    let mut command = countersign(home);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command
}

/// A running broker and its output.
struct Served {
    child: Child,
    url: String,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: PathBuf,
}

impl Served {
    async fn start(mut command: Command, home: &Path) -> Self {
        let stderr = home.join("serve.log");
        let file = File::create(&stderr).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(TIMEOUT, stdout.next_line()).await.expect("it says where it listens").unwrap();
        let url = line.as_deref().and_then(|line| line.strip_prefix("listening "));
        let url = url.unwrap_or_else(|| panic!("{line:?}: {}", fs::read_to_string(&stderr).unwrap())).to_owned();
        Self { child, url, stdout, stderr }
    }

    fn client(&self) -> TestClient {
        TestClient::new(format!("{}/mcp", self.url))
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Ends it with this signal, which must go well: what it said on stdout after the first line, and
    /// everything on stderr.
    async fn end(mut self, signal: &str) -> (Vec<String>, String) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().await.unwrap().success());
        let mut rest = Vec::new();
        while let Some(line) = timeout(TIMEOUT, self.stdout.next_line()).await.expect("it ends").unwrap() {
            rest.push(line);
        }
        assert_eq!(self.child.wait().await.unwrap().code(), Some(0), "{}", self.log());
        (rest, self.log())
    }

    async fn stop(self) -> String {
        self.end("TERM").await.1
    }
}

/// A command that must fail with this exit code and an empty stdout: its stderr.
#[track_caller]
fn fails(mut command: Command, code: i32) -> impl Future<Output = String> {
    let place = std::panic::Location::caller();
    async move {
        let output = timeout(TIMEOUT, command.output()).await.expect("it ends by itself").unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "at {place}: {words}");
        assert_eq!(output.stdout, b"", "at {place}");
        words
    }
}

#[tokio::test]
async fn stdout_has_one_line_and_the_banner_shows_how_to_connect() {
    let home = home();
    let served = Served::start(serve(home.path()), home.path()).await;
    let url = served.url.clone();
    assert!(url.starts_with("http://127.0.0.1:") && !url.ends_with(":0"), "{url}");
    let (rest, stderr) = served.end("TERM").await;
    assert_eq!(rest, Vec::<String>::new());
    let database = home.path().join(".local/share/countersign/countersign.db");
    for said in [
        &format!("{url}/mcp"),
        database.to_str().unwrap(),
        &format!("claude mcp add --transport http countersign {url}/mcp"),
        &format!("codex mcp add countersign --url {url}/mcp"),
    ] {
        assert!(stderr.contains(said), "no {said} in {stderr}");
    }
}

#[tokio::test]
async fn the_real_clients_accept_the_commands_in_the_banner() {
    if are_skipped("the banner's commands") {
        return;
    }
    let home = home();
    let served = Served::start(serve(home.path()), home.path()).await;
    let url = format!("{}/mcp", served.url);
    for (name, program) in [("claude", installed::claude()), ("codex", installed::codex())] {
        let log = served.log();
        let start = format!("{name} mcp add ");
        let line = log.lines().find_map(|line| Some(&line[line.find(&start)? + start.len()..])).unwrap();
        let run = async |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command.args(["mcp"]).args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
            command.current_dir(home.path()).stdin(Stdio::null());
            let output = timeout(TIMEOUT, command.output()).await.expect("an answer").unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success(), "{name} mcp {arguments:?}: {said}");
            said
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        run(&[&["add"], &words[..]].concat()).await;
        let known = run(&["get", "countersign"]).await;
        assert!(known.contains(&url), "{name}: {known}");
    }
    served.stop().await;
}

#[tokio::test]
async fn the_broker_listens_on_the_configured_address() {
    let home = home();
    let free = {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        probe.local_addr().unwrap().port()
    };
    let mut command = countersign(home.path());
    command.args(["serve", "--listen", &format!("127.0.0.1:{free}")]);
    let served = Served::start(command, home.path()).await;
    assert_eq!(served.url, format!("http://127.0.0.1:{free}"));
    served.stop().await;

    // Not every machine has IPv6.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let mut command = countersign(home.path());
        command.args(["serve", "--listen", "[::1]:0"]);
        let served = Served::start(command, home.path()).await;
        assert!(served.url.starts_with("http://[::1]:"), "{}", served.url);
        served.client().submit("over IPv6").await;
        served.stop().await;
    }
}

#[tokio::test]
async fn an_address_that_is_not_loopback_is_refused_with_the_reason() {
    let home = home();
    let open = ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"].map(|address| (address, "auth.required"));
    let malformed = ["example.com:0", "127.0.0.1", "0"].map(|address| (address, "an address and a port"));
    for (address, reason) in open.into_iter().chain(malformed) {
        let mut command = countersign(home.path());
        command.args(["serve", "--listen", address, "--data-dir", "data"]);
        let words = fails(command, 2).await;
        assert!(words.contains("--listen") && words.contains(address), "{words}");
        assert!(words.contains(reason), "{words}");
    }
    assert!(!home.path().join("data").exists());
}

#[tokio::test]
async fn a_port_in_use_is_an_error_with_a_hint() {
    let home = home();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = countersign(home.path());
    command.args(["serve", "--listen", &address]);
    let words = fails(command, 4).await;
    assert!(words.contains(&address) && words.contains("--listen 127.0.0.1:PORT"), "{words}");
}

#[tokio::test]
async fn the_default_data_dir_is_in_the_home_folder() {
    let home = home();
    let own = home.path().join("xdg");
    let mut command = serve(home.path());
    command.env("XDG_DATA_HOME", &own);
    Served::start(command, home.path()).await.stop().await;
    assert!(own.join("countersign/countersign.db").is_file());

    let mut command = serve(home.path());
    command.args(["--data-dir", "some/where"]);
    let stderr = Served::start(command, home.path()).await.stop().await;
    let named = home.path().join("some/where/countersign.db");
    assert!(named.is_file() && stderr.contains(named.to_str().unwrap()), "{stderr}");
}

#[tokio::test]
async fn the_repository_is_the_one_around_the_current_folder() {
    let (home, repo) = (home(), Repo::new());
    let inside = repo.path().join("deep/down");
    fs::create_dir_all(&inside).unwrap();
    let mut command = serve(home.path());
    command.current_dir(&inside);
    let served = Served::start(command, home.path()).await;
    let made = proposal_with("here", json!({ "diff": repo.diff("zwei") }));
    let made = served.client().call("create_review", made).await;
    assert_eq!(made["applies"], true, "{made}");
    let stderr = served.stop().await;
    assert!(stderr.contains(&format!("project ({})", repo.path().display())), "{stderr}");

    let mut command = serve(home.path());
    command.current_dir(&inside).arg("--repo").arg(Repo::new().path());
    let words = fails(command, 2).await;
    assert!(words.contains("--repo") && words.contains("No such file"), "{words}");

    let served = Served::start(serve(home.path()), home.path()).await;
    let nowhere = proposal_with("nowhere", json!({ "diff": repo.diff("zwei") }));
    served.client().refused("no_repository", "create_review", nowhere).await;
    let stderr = served.stop().await;
    assert!(stderr.contains("not started in a git repository"), "{stderr}");
}

#[tokio::test]
async fn invalid_settings_are_reported_with_file_and_allowed_values() {
    let home = home();
    let wrong: &[(&str, &[&str])] = &[
        ("[claims]\nlease = \"soon\"", &["claims.lease = \"soon\"", "expected"]),
        ("[claims]\nlease = \"1ms\"", &["claims.lease = \"1ms\"", "1s"]),
        ("[limits]\nwaiters = 0", &["limits.waiters = 0", "1"]),
        ("[log]\nformat = \"xml\"", &["log.format = \"xml\"", "text", "json"]),
        ("[git]\nrefuse = [\"symlinks\"]", &["git.refuse", "symlinks", "symlink"]),
        ("[server]\nlisten = \"0.0.0.0:8321\"", &["server.listen = \"0.0.0.0:8321\"", "loopback", "auth.required"]),
        ("[claim]\nlease = \"20m\"", &["claim", "claims"]),
        ("[claims\n", &["line 1"]),
    ];
    for (text, words) in wrong {
        fs::write(home.path().join("wrong.toml"), text).unwrap();
        let mut command = serve(home.path());
        command.args(["--config", "wrong.toml", "--data-dir", "data"]);
        if text.contains("listen") {
            command = countersign(home.path());
            command.args(["serve", "--config", "wrong.toml", "--data-dir", "data"]);
        }
        let said = fails(command, 2).await;
        for word in [&["wrong.toml"][..], words].concat() {
            assert!(said.contains(word), "no {word} in {said}");
        }
    }
    let mut command = serve(home.path());
    command.args(["--config", "missing.toml", "--data-dir", "data"]);
    let said = fails(command, 2).await;
    assert!(said.contains("missing.toml") && said.contains("file not found"), "{said}");

    for (name, value, word) in [
        ("COUNTERSIGN_CLAIMS_LEASE", "soon", "expected"),
        ("COUNTERSIGN_CLAIM_LEASE", "20m", "COUNTERSIGN_CLAIMS_LEASE"),
        ("COUNTERSIGN_LIMITS_WAITERS", "-1", "limits.waiters"),
    ] {
        let mut command = serve(home.path());
        command.env(name, value).args(["--data-dir", "data"]);
        let said = fails(command, 2).await;
        assert!(said.contains(name) && said.contains(word), "{said}");
    }
    assert!(!home.path().join("data").exists(), "wrong settings leave no trace");
}

/// The limit of an intent, from the broker's error.
async fn intent_limit(command: Command, home: &Path) -> Value {
    let served = Served::start(command, home).await;
    let refused = served.client().refused("too_long", "create_review", proposal(&"x".repeat(50_000))).await;
    served.stop().await;
    refused["limit"].clone()
}

#[tokio::test]
async fn each_settings_layer_overrides_those_below() {
    let (home, repo) = (home(), Repo::new());
    let at = home.path();
    let start = || {
        let mut command = serve(at);
        command.args(["--data-dir", "data", "--repo"]).arg(repo.path());
        command
    };
    assert_eq!(intent_limit(start(), at).await, 2000);
    fs::create_dir_all(at.join(".config/countersign")).unwrap();
    fs::write(at.join(".config/countersign/config.toml"), "[limits]\nintent_chars = 1000\n").unwrap();
    assert_eq!(intent_limit(start(), at).await, 1000);
    repo.write(".countersign/config.toml", "[limits]\nintent_chars = 900\n");
    assert_eq!(intent_limit(start(), at).await, 900);
    fs::write(at.join("named.toml"), "[limits]\nintent_chars = 1100\n").unwrap();
    let named = || {
        let mut command = start();
        command.args(["--config", "named.toml"]);
        command
    };
    assert_eq!(intent_limit(named(), at).await, 1100);
    let mut variable = named();
    variable.env("COUNTERSIGN_LIMITS_INTENT_CHARS", "1200");
    // The flag overrides this variable.
    variable.env("COUNTERSIGN_SERVER_DATA_DIR", at.join("unused")).env("COUNTERSIGN_SERVER_LISTEN", "127.0.0.1:1");
    assert_eq!(intent_limit(variable, at).await, 1200);
    assert!(!at.join("unused").exists());

    for (text, word) in [("[limits]\nintent_chars = 1001\n", "only lower it"), ("[git]\nprogram = \"sh\"\n", "agent")] {
        repo.write(".countersign/config.toml", text);
        let said = fails(start(), 2).await;
        assert!(said.contains(".countersign/config.toml") && said.contains(word), "{said}");
    }
}

#[tokio::test]
async fn a_second_broker_is_refused_with_the_pid_of_the_first() {
    let broker = TestBroker::start().await;
    let again = || {
        let mut command = serve(broker.home());
        command.arg("--data-dir").arg(broker.data_dir());
        command
    };
    let words = fails(again(), 3).await;
    for said in [&broker.pid().to_string(), &broker.url(""), broker.data_dir().to_str().unwrap()] {
        assert!(words.contains(said), "no {said} in {words}");
    }
    assert_eq!(broker.client().status(&broker.client().submit("unharmed").await).await["status"], "pending");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_broker_without_the_lock_does_not_touch_the_database() {
    let home = home();
    let data_dir = home.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    let lock = File::create(data_dir.join("broker.lock")).unwrap();
    lock.lock().unwrap();
    fs::write(data_dir.join("countersign.db"), "not a database").unwrap();
    let mut command = serve(home.path());
    command.args(["--data-dir", "data"]);
    let words = fails(command, 3).await;
    assert!(words.contains("another broker uses"), "{words}");
    assert_eq!(fs::read(data_dir.join("countersign.db")).unwrap(), b"not a database");
    assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 2);
}

#[tokio::test]
async fn a_broker_starts_after_a_crash() {
    let mut broker = TestBroker::start().await;
    let review = broker.client().submit("kept").await;
    let note = broker.data_dir().join("broker.json");
    let (pid, first) = (broker.pid(), fs::read_to_string(&note).unwrap());
    assert!(first.contains(&pid.to_string()) && first.contains(&broker.url("")), "{first}");
    broker.kill().await;
    assert_eq!(fs::read_to_string(&note).unwrap(), first, "a kill leaves the note behind");
    let mut command = countersign(broker.home());
    command.arg("actors").arg("--data-dir").arg(broker.data_dir());
    let words = fails(command, 5).await;
    assert!(words.contains("no broker serves"), "{words}");

    let mut broker = broker.restarted().await;
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    assert!(fs::read_to_string(&note).unwrap().contains(&broker.pid().to_string()));
    broker.kill().await;
    fs::write(&note, "{ \"pid\": ").unwrap();
    let broker = broker.restarted().await;
    assert!(fs::read_to_string(&note).unwrap().contains(&broker.pid().to_string()));
    broker.stop_and_check().await;
    assert!(!note.exists(), "a broker that ends takes its note along");
}

/// A folder and its entries with their modes. Deeper entries are inside private folders.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    std::iter::once(folder.to_owned()).chain(inside).map(|path| (path.clone(), mode(&path))).collect()
}

#[tokio::test]
async fn the_files_of_the_broker_are_private() {
    let place = Unserved::new();
    // Through a shell, for its umask; the bridge, for the log of the broker it starts.
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_countersign"), "mcp"])
        .args(place.options());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", place.home()).kill_on_drop(true);
    let mut bridge = Bridge::start(command, place.home());
    let diff = json!({ "diff": place.repo().diff("zwei") });
    bridge.call("create_review", proposal_with("secret", diff)).await;
    let data_dir = place.data_dir();
    let modes = modes(&data_dir);
    let names: Vec<_> = modes.iter().filter_map(|(path, _)| path.strip_prefix(&data_dir).ok()?.to_str()).collect();
    for kept in ["broker.json", "broker.lock", "broker.log", "countersign.db", "countersign.db-wal", "scratch"] {
        assert!(names.contains(&kept), "no {kept} among {names:?}");
    }
    for (path, mode) in modes {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{} is {mode:o}", path.display());
    }
    bridge.close().await;
    place.stop_and_check().await;
}

#[tokio::test]
async fn an_open_data_dir_is_made_private() {
    let home = home();
    let data_dir = home.path().join("data");
    fs::create_dir(&data_dir).unwrap();
    fs::set_permissions(&data_dir, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = serve(home.path());
    command.args(["--data-dir", "data"]);
    Served::start(command, home.path()).await.stop().await;
    assert_eq!(modes(&data_dir)[0].1, 0o700);
}

#[tokio::test]
async fn a_signal_stops_the_broker_after_answering_waiting_calls() {
    for signal in ["TERM", "INT"] {
        let home = home();
        let mut command = serve(home.path());
        command.args(["--data-dir", "data"]);
        let served = Served::start(command, home.path()).await;
        let client = served.client();
        let review = client.submit("wait for me").await;
        let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 50 });
        let waiting = tokio::spawn(client.try_call("get_review_status", wait));
        let wait = json!({ "status": "pending", "wait": true, "since": u32::MAX, "timeout_seconds": 50 });
        let pending = tokio::spawn(client.try_call("list_reviews", wait));
        wait_until("both to wait", async || {
            let tree: Value = reqwest::get(format!("{}/debug/actors", served.url)).await.unwrap().json().await.unwrap();
            (tree["calls"]["waiting"] == 2).then_some(())
        })
        .await;
        // Saved, even if its response does not arrive before the end.
        let unsettled: Vec<_> =
            (0..20).map(|n| tokio::spawn(client.try_call("create_review", proposal(&n.to_string())))).collect();
        let (rest, stderr) = served.end(signal).await;
        assert_eq!(rest, Vec::<String>::new());
        assert!(stderr.contains(&format!("SIG{signal}")) && stderr.contains("stopped"), "{stderr}");
        let answer = waiting.await.unwrap().expect("an answer before the end");
        assert_eq!((&answer["status"], &answer["timed_out"]), (&json!("pending"), &json!(true)));
        assert_eq!(pending.await.unwrap().expect("an answer before the end")["timed_out"], true);
        let mut acknowledged = vec![review];
        for call in unsettled {
            if let Ok(made) = call.await.unwrap() {
                acknowledged.push(made["review_id"].as_str().unwrap().to_owned());
            }
        }
        let data_dir = home.path().join("data");
        check_database(&data_dir).await;
        let store = store::open(&data_dir.join("countersign.db"), store::Settings::default()).await.unwrap();
        for review in acknowledged {
            let id = domain::ids::ReviewId(review.parse().unwrap());
            assert!(store.reader.find_review(id).await.unwrap().is_some(), "{review} was acknowledged");
        }
        assert!(!data_dir.join("broker.json").exists());
    }
}

const FORGED: &str =
    "red\u{1b}[31m\u{7}\r\n2026-01-01T00:00:00.000000Z  INFO forged: line\u{2028}\u{202e}dlrow\u{9b}31m";

/// Everything an agent can write, with characters that would act on a terminal. EventRecord in all detail.
async fn log_of_hostile_calls(format: &str) -> String {
    let settings = format!("[log]\nfilter = \"trace\"\nformat = \"{format}\"\n");
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let review = client.submit(FORGED).await;
    let _ = client.try_call("claim_review", json!({ "review_id": review, "reviewer_id": FORGED })).await;
    let _ = client.try_call("claim_review", json!({ "review_id": FORGED, "reviewer_id": "second-mind" })).await;
    let generation = client.claim(&review, "second-mind").await;
    let hostile =
        json!({ "review_id": review, "sender_role": "reviewer", "body": FORGED, "metadata": { FORGED: FORGED } });
    client.call("add_message", hostile).await;
    let verdict = json!({
        "review_id": review, "verdict": "changes_requested", "reason": FORGED, "claim_generation": generation,
    });
    client.call("submit_verdict", verdict).await;
    let diff = format!("--- a/{FORGED}\n+++ b/{FORGED}\n@@ -1 +1 @@\n-x\n+y\n");
    let revision = proposal_with(FORGED, json!({ "review_id": review, "diff": diff, "proposer_id": FORGED }));
    let _ = client.try_call("create_review", revision).await;
    let _ = client.try_call(FORGED, json!({ FORGED: FORGED })).await;
    let _ = client.request(FORGED, json!({ FORGED: FORGED })).await;
    client.call("cancel_review", json!({ "review_id": review, "reason": FORGED })).await;
    let mut broker = broker;
    assert!(broker.terminate().await.success());
    broker.log()
}

#[tokio::test]
async fn text_from_agents_cannot_forge_a_log_line() {
    let log = log_of_hostile_calls("text").await;
    assert!(log.contains("forged"), "the test needs lines that quote agents");
    for line in log.lines() {
        assert!(!line.starts_with("2026-01-01"), "forged: {line}");
        let acts = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}');
        assert!(!line.contains(acts), "not escaped: {line:?}");
    }
}

#[tokio::test]
async fn every_line_of_a_json_log_is_json() {
    let log = log_of_hostile_calls("json").await;
    let mut calls = 0;
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(event["timestamp"].is_string() && event["level"].is_string(), "{line}");
        assert!(!line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}')), "{line:?}");
        if event["target"] == "countersign::call" {
            calls += 1;
            assert!(event["outcome"].is_string(), "{line}");
        }
    }
    assert!(calls >= 8, "one line per call: {log}");
    let started: Value = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|event| event["message"] == "listening")
        .expect("where it listens, as an event");
    assert!(started["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{started}");
    assert!(started["database"].as_str().unwrap().ends_with("countersign.db"), "{started}");
}

#[tokio::test]
async fn every_call_is_logged_in_one_line_with_its_ids() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("leave a trace").await;
    client.claim(&review, "second-mind").await;
    client.refused("already_claimed", "claim_review", json!({ "review_id": "R-1", "reviewer_id": "third" })).await;
    broker.until_logged(|line| line.contains("already_claimed")).await;
    let log = broker.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("countersign::call")).collect();
    assert_eq!(lines.len(), 3, "{log}");
    for (line, (tool, outcome)) in
        lines.iter().zip([("create_review", "ok"), ("claim_review", "ok"), ("claim_review", "already_claimed")])
    {
        assert!(line.contains(&review) && line.contains(tool) && line.contains(outcome), "{line}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn help_texts() {
    let home = home();
    let help = async |arguments: &[&str]| {
        let output = countersign(home.path()).args(arguments).output().await.unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    for command in [&[][..], &["serve"], &["mcp"], &["actors"], &["token"], &["stats"], &["audit"], &["timeline"]] {
        let text = help(&[command, &["--help"]].concat()).await;
        let name = if command.is_empty() { "help" } else { command[0] };
        insta::assert_snapshot!(name, text);
    }
    assert_eq!(help(&["--version"]).await, format!("countersign {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn wrong_usage_has_its_own_exit_code() {
    let home = home();
    for arguments in [&["bogus"][..], &["serve", "--bogus"], &["mcp", "--role", "king"], &["serve", "extra"]] {
        let mut command = countersign(home.path());
        command.args(arguments);
        let words = fails(command, 2).await;
        assert!(words.contains(arguments.last().unwrap()), "{words}");
    }
}
