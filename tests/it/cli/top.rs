//! `countersign top` on a real terminal.

use crate::support::{
    broker::{TIMEOUT, TestBroker, countersign},
    client::{id, proposal, proposal_with},
    wait_until::wait_until,
};
use nix::pty::{Winsize, openpty};
use serde_json::json;
use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::process::Child;

/// A command on a pseudo-terminal of 110 by 30.
struct Screen {
    child: Child,
    keys: File,
    /// Everything that was written to the terminal.
    written: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    fn open(broker: &TestBroker, line: &[&str]) -> Self {
        let size = Winsize { ws_row: 30, ws_col: 110, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(&size, None).unwrap();
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        let mut command = countersign(broker.home());
        command.args(line).current_dir(broker.repo().path()).env("COUNTERSIGN_SERVER_DATA_DIR", broker.data_dir());
        command.env("TERM", "xterm-256color");
        command.stdin(end(&terminal.slave)).stdout(end(&terminal.slave)).stderr(end(&terminal.slave));
        let child = command.spawn().unwrap();
        let (mut reader, keys) = (File::from(terminal.master.try_clone().unwrap()), File::from(terminal.master));
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // Reading ends with an error once the other end is closed.
            while let Ok(read @ 1..) = reader.read(&mut chunk) {
                sink.lock().unwrap().extend_from_slice(&chunk[..read]);
            }
        });
        Self { child, keys, written }
    }

    async fn shows(&self, text: &str) {
        let shown = || {
            // Only changes are written, so a terminal emulator computes the screen.
            let mut terminal = vt100::Parser::new(30, 110, 0);
            terminal.process(&self.written.lock().unwrap());
            terminal.screen().contents().contains(text)
        };
        wait_until(&format!("{text:?} is shown"), async || shown().then_some(())).await;
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    async fn finish(mut self) -> i32 {
        let ended = tokio::time::timeout(TIMEOUT, self.child.wait()).await.expect("it ends").unwrap();
        ended.code().unwrap_or(-1)
    }
}

#[tokio::test]
async fn a_user_watches_comments_approves_and_quits() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let more = json!({ "diff": diff });
    let review = id(&client.call("create_review", proposal_with("say it in German", more)).await);
    let mut screen = Screen::open(&broker, &["top", "--as", "ada"]);
    screen.shows("say it in German").await;
    screen.shows("[a reviewer]").await;

    let second = client.call("create_review", proposal("a second one")).await;
    screen.shows("a second one").await;
    screen.press("\r");
    screen.shows("Esc back").await;
    screen.press("\u{1b}");
    screen.shows("Enter open").await;
    client.call("cancel_review", serde_json::json!({ "review_id": second["review_id"], "reason": "no" })).await;

    screen.press("a");
    // The diff comes before the question.
    screen.shows("a approve  x request changes").await;
    screen.shows("+zwei").await;
    screen.press("a");
    screen.shows("Approve R-1? y/n").await;
    screen.press("y");
    screen.shows("approved R-1").await;
    let status = client.status(&review).await;
    assert_eq!((&status["status"], &status["verdict_by"]), (&"approved".into(), &"ada".into()));
    screen.press("q");
    assert_eq!(screen.finish().await, 0);
}

#[tokio::test]
async fn a_user_requests_changes_of_what_was_shown() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let diff = broker.repo().diff("zwei");
    let review = id(&client.call("create_review", proposal_with("in German", json!({ "diff": diff }))).await);
    let mut screen = Screen::open(&broker, &["top", "--as", "ada"]);
    screen.shows("in German").await;
    screen.press("x");
    screen.shows("+zwei").await;
    // The proposer is faster.
    let revision = json!({ "review_id": review, "intent": "again", "diff": broker.repo().diff("drei") });
    client.call("create_review", revision).await;
    screen.press("x");
    screen.shows("request changes to R-1, because").await;
    screen.press("no\r");
    screen.shows("stale_content").await;
    assert_eq!(client.status(&review).await["status"], "pending");
    screen.press("x");
    screen.shows("+drei").await;
    screen.press("x");
    // The text was kept.
    screen.shows("because: no").await;
    screen.press("\r");
    screen.shows("requested changes to R-1").await;
    let status = client.status(&review).await;
    assert_eq!((&status["status"], &status["verdict_reason"]), (&json!("changes_requested"), &json!("no")));
    screen.press("q");
    assert_eq!(screen.finish().await, 0);
}

#[tokio::test]
async fn without_a_terminal_only_json_is_printed() {
    let broker = TestBroker::start().await;
    broker.client().submit("say it in German").await;
    let ended = broker.command(&["top"]).finish().await;
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("needs a terminal"), "{}", ended.err);
    let seen = broker.command(&["top", "--json"]).json().await;
    assert_eq!(seen["reviews"][0]["intent"], "say it in German");
    assert!(seen["actors"].as_array().unwrap().len() > 2, "{seen}");
}
