//! Runs a command of `countersign` and captures its output.

use super::broker::{TIMEOUT, TestBroker, countersign};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::io::AsyncWriteExt as _;

/// Headings of help under which commands stand.
const COMMAND_GROUPS: [&str; 7] = ["Commands", "Start", "Propose", "Review", "Gate", "Observe", "Operate"];

/// The commands that a help lists.
pub(crate) fn commands_in(help: &str) -> Vec<String> {
    let mut is_group = false;
    let mut names = Vec::new();
    for line in help.lines() {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
            is_group = COMMAND_GROUPS.contains(&title);
        } else if let Some(line) = line.strip_prefix("  ").filter(|line| is_group && !line.starts_with(' ')) {
            names.extend(line.split(' ').next().filter(|name| *name != "help").map(str::to_owned));
        }
    }
    names
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A command that is not started yet.
pub(crate) struct TestCommand {
    pub(super) home: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

impl TestBroker {
    /// A command that uses this broker, run in its repository.
    pub(crate) fn command(&self, line: &[&str]) -> TestCommand {
        let data_dir = self.data_dir().display().to_string();
        command_in(self.home(), &self.repo().path(), line).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir)
    }
}

/// A command in the folder `dir`, with its own home folder.
pub(crate) fn command_in(home: &Path, dir: &Path, line: &[&str]) -> TestCommand {
    let args = line.iter().map(|word| (*word).to_owned()).collect();
    TestCommand { home: home.into(), dir: dir.into(), args, variables: Vec::new(), stdin: Vec::new() }
}

impl TestCommand {
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.as_bytes().to_vec();
        self
    }

    pub(crate) async fn finish(self) -> CommandOutput {
        let mut command = countersign(&self.home);
        command.args(&self.args).current_dir(&self.dir).envs(self.variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().unwrap();
        let feed = async move {
            let _ = stdin.write_all(&self.stdin).await;
        };
        let (ended, ()) = tokio::time::timeout(TIMEOUT, async { tokio::join!(child.wait_with_output(), feed) })
            .await
            .unwrap_or_else(|_| panic!("{:?} does not end", self.args));
        let ended = ended.unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("text");
        CommandOutput { code: ended.status.code().unwrap_or(-1), out: text(ended.stdout), err: text(ended.stderr) }
    }

    /// Runs the command, which must succeed: its stdout.
    #[track_caller]
    pub(crate) fn stdout(self) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        async move {
            let ended = self.finish().await;
            assert_eq!(ended.code, 0, "at {place}: {}{}", ended.out, ended.err);
            ended.out
        }
    }

    /// Runs the command, which must succeed: its stdout as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> impl Future<Output = Value> {
        let printed = self.stdout();
        async move { serde_json::from_str(&printed.await).expect("JSON") }
    }
}
