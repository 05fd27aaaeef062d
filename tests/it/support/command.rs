//! A command of ours, run to its end as somebody would type it.

use super::broker::{PATIENCE, TestBroker, countersign};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::io::AsyncWriteExt as _;

/// How it ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A command in the making.
pub(crate) struct Typed {
    home: PathBuf,
    dir: PathBuf,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

impl TestBroker {
    /// A command that finds this broker, in its repository.
    pub(crate) fn type_in(&self, line: &[&str]) -> Typed {
        let data_dir = self.data_dir().display().to_string();
        typed(self.home(), &self.repo().path(), line).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir)
    }
}

/// A command in a folder, with a home.
pub(crate) fn typed(home: &Path, dir: &Path, line: &[&str]) -> Typed {
    let args = line.iter().map(|word| (*word).to_owned()).collect();
    Typed { home: home.into(), dir: dir.into(), args, variables: Vec::new(), stdin: Vec::new() }
}

impl Typed {
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn reads(mut self, text: &str) -> Self {
        self.stdin = text.as_bytes().to_vec();
        self
    }

    pub(crate) async fn ends(self) -> Ended {
        let mut command = countersign(&self.home);
        command.args(&self.args).current_dir(&self.dir).envs(self.variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().unwrap();
        let feed = async move {
            let _ = stdin.write_all(&self.stdin).await;
        };
        let (ended, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(child.wait_with_output(), feed) })
            .await
            .unwrap_or_else(|_| panic!("{:?} does not end", self.args));
        let ended = ended.unwrap();
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended { code: ended.status.code().unwrap_or(-1), out: text(ended.stdout), err: text(ended.stderr) }
    }

    /// What it printed; it must end well.
    #[track_caller]
    pub(crate) fn prints(self) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        async move {
            let ended = self.ends().await;
            assert_eq!(ended.code, 0, "at {place}: {}{}", ended.out, ended.err);
            ended.out
        }
    }

    /// The JSON it printed; it must end well.
    #[track_caller]
    pub(crate) fn json(self) -> impl Future<Output = Value> {
        let printed = self.prints();
        async move { serde_json::from_str(&printed.await).expect("JSON") }
    }
}
