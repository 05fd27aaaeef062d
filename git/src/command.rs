//! A git command with nothing of the user's around it: no environment, no config, no shell.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::scratch_repo::Scratch;

const CONFIG: [&str; 6] = [
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    // what a check writes is thrown away: it need be neither durable nor small
    "core.fsync=none",
    "core.looseCompression=0",
];

const ENVIRONMENT: [(&str, &str); 8] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // a partial clone would run what its config names to reach its remote
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
];

#[derive(Debug)]
pub(crate) struct Git {
    /// For people, when it goes wrong.
    pub(crate) what: &'static str,
    pub(crate) home: PathBuf,
    git_dir: PathBuf,
    work_tree: Option<PathBuf>,
    args: Vec<OsString>,
    /// How much of its output is wanted, for commands that print more than a few words.
    pub(crate) keep: Option<usize>,
}

impl Git {
    /// A command in the scratch repository.
    pub(crate) fn new(what: &'static str, scratch: &Scratch) -> Self {
        let (home, git_dir) = (scratch.empty_home(), scratch.repo());
        Self { what, home, git_dir, work_tree: None, args: Vec::new(), keep: None }
    }

    pub(crate) fn git_dir(self, git_dir: &Path) -> Self {
        Self { git_dir: git_dir.to_owned(), ..self }
    }

    pub(crate) fn work_tree(self, folder: &Path) -> Self {
        Self { work_tree: Some(folder.to_owned()), ..self }
    }

    pub(crate) fn keep(self, bytes: usize) -> Self {
        Self { keep: Some(bytes), ..self }
    }

    pub(crate) fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.args.extend(args.into_iter().map(OsString::from));
        self
    }

    /// With a `folder`, the command has its index there and writes its objects there.
    pub(crate) fn command(&self, program: &Path, folder: Option<&Path>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(ENVIRONMENT).env("HOME", &self.home);
        if let Some(path) = env::var_os("PATH") {
            command.env("PATH", path);
        }
        if let Some(folder) = folder {
            command.env("GIT_INDEX_FILE", folder.join("index"));
            command.env("GIT_OBJECT_DIRECTORY", folder.join("objects"));
        }
        for setting in CONFIG {
            command.args(["-c", setting]);
        }
        command.arg(with_path("--git-dir=", &self.git_dir));
        if let Some(work_tree) = &self.work_tree {
            command.arg(with_path("--work-tree=", work_tree));
        }
        command.args(&self.args).current_dir(self.work_tree.as_deref().unwrap_or(&self.home));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

fn with_path(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}
