//! `--watch`: printed again after each change.

use crate::support::{
    broker::{TestBroker, countersign},
    terminal::on_a_branch,
};
use serde_json::Value;
use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout},
};

struct Watching {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Watching {
    fn begin(broker: &TestBroker, line: &[&str]) -> Self {
        let mut command = countersign(broker.home());
        command.args(line).args(["--watch", "--json"]).current_dir(broker.repo().path());
        command.env("COUNTERSIGN_SERVER_DATA_DIR", broker.data_dir()).env("COUNTERSIGN_NAME", "ada");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        Self { lines: BufReader::new(child.stdout.take().unwrap()).lines(), _child: child }
    }

    /// Reads until the value at `path` is this one. Intermediate states may be printed before.
    async fn until(&mut self, path: &str, value: &str) {
        while self.next().await.pointer(path).and_then(Value::as_str) != Some(value) {}
    }

    async fn next(&mut self) -> Value {
        let line =
            tokio::time::timeout(Duration::from_secs(60), self.lines.next_line()).await.expect("it is shown anew");
        serde_json::from_str(&line.unwrap().expect("it goes on")).unwrap()
    }
}

#[tokio::test]
async fn watch_shows_changes_also_after_a_restart() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    let mut status = Watching::begin(&broker, &["status", "1"]);
    let mut list = Watching::begin(&broker, &["list"]);
    let mut show = Watching::begin(&broker, &["show", "1"]);
    status.until("/status", "pending").await;
    list.until("/reviews/0/status", "pending").await;
    show.until("/review/status", "pending").await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    status.until("/status", "claimed").await;
    list.until("/reviews/0/claimed_by", "bob").await;
    show.until("/review/status", "claimed").await;
    let broker = broker.kill_and_restart().await;
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    status.until("/status", "approved").await;
    list.until("/reviews/0/status", "approved").await;
    show.until("/verdicts/0/verdict", "approved").await;
}
