//! An agent that types what the installed guards say, in their words, and a reviewer who answers it.

use crate::support::{
    broker::{TIMEOUT, TestBroker},
    command::CommandOutput,
};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

pub(crate) const TANDEM: &str = "tandem";
pub(crate) const EXECUTOR: &str = "gsd-executor";

/// A placeholder of a guard, and its value.
type Blanks<'a> = &'a [(&'a str, &'a str)];

/// A shell with `countersign` in PATH and without the settings of this machine.
pub(crate) struct Shell {
    home: PathBuf,
    dir: PathBuf,
    data_dir: PathBuf,
}

impl Shell {
    pub(crate) fn new(home: &Path, dir: &Path, data_dir: &Path) -> Self {
        Self { home: home.into(), dir: dir.into(), data_dir: data_dir.into() }
    }

    pub(crate) async fn runs(&self, line: &str) -> CommandOutput {
        let ours = Path::new(env!("CARGO_BIN_EXE_countersign")).parent().unwrap();
        let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap());
        let mut command = tokio::process::Command::new("sh");
        command.arg("-c").arg(line).current_dir(&self.dir).stdin(Stdio::null()).kill_on_drop(true);
        command.env_clear().env("PATH", path).env("HOME", &self.home);
        command.env("COUNTERSIGN_SERVER_DATA_DIR", &self.data_dir).env("COUNTERSIGN_SERVER_AUTO_START", "false");
        let output = tokio::time::timeout(TIMEOUT, command.output()).await;
        let output = output.unwrap_or_else(|_| panic!("{line} does not end")).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandOutput { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs the command of this guard that starts with the given text, with its placeholders filled in.
    pub(crate) async fn follows(&self, guard: &str, beginning: &str, blanks: Blanks<'_>) -> CommandOutput {
        let mut line = self.instruction(guard, beginning).replace("NAME", EXECUTOR);
        for (blank, with) in blanks {
            assert!(line.contains(blank), "{line} leaves no {blank} open");
            line = line.replace(blank, with);
        }
        self.runs(&line).await
    }

    /// Runs the command, which must succeed.
    pub(crate) async fn does(&self, guard: &str, beginning: &str, blanks: Blanks<'_>) -> String {
        let ended = self.follows(guard, beginning, blanks).await;
        assert_eq!(ended.code, 0, "{beginning}: {}{}", ended.out, ended.err);
        ended.out
    }

    /// A command from the installed guard: a line of a code block with its continuation lines, or text in backticks.
    fn instruction(&self, guard: &str, beginning: &str) -> String {
        let file = self.dir.join(format!(".claude/countersign/gsd/{guard}.md"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let at = text.find(beginning).unwrap_or_else(|| panic!("{guard} does not say {beginning}"));
        let (before, rest) = text.split_at(at);
        if before.ends_with('`') {
            return rest.split('`').next().unwrap().replace('\n', " ");
        }
        let rest = rest.replace("\\\n", " ");
        rest.lines().next().unwrap().to_owned()
    }
}

/// A project in tandem mode: settings, `init`, and a remote.
pub(crate) struct Project {
    pub(crate) broker: TestBroker,
    pub(crate) shell: Shell,
    /// The commit before the work.
    pub(crate) start: String,
}

impl Project {
    pub(crate) async fn new(settings: &str) -> Self {
        let broker = TestBroker::start().await;
        let repo = broker.repo();
        repo.git(&["config", "user.name", "Test"]);
        repo.git(&["config", "user.email", "test@example.invalid"]);
        repo.git(&["init", "--quiet", "--bare", "../far.git"]);
        repo.git(&["remote", "add", "origin", "../far.git"]);
        repo.write(".planning/config.json", settings);
        repo.write(".gitignore", ".claude/\n.mcp.json\n.codex/\n.gemini/\n");
        repo.commit("Plan to work in tandem");
        repo.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
        let shell = Shell::new(broker.home(), &repo.path(), &broker.data_dir());
        let set_up = shell.runs("countersign init --client claude --git-hooks --gsd --yes").await;
        assert_eq!(set_up.code, 0, "{}{}", set_up.out, set_up.err);
        let start = repo.git(&["rev-parse", "HEAD"]);
        let project = Self { broker, shell, start };
        project.shell.does(TANDEM, "countersign tandem", &[]).await;
        project
    }

    pub(crate) async fn runs(&self, line: &str) -> CommandOutput {
        self.shell.runs(line).await
    }

    /// Writes a file and stages it.
    pub(crate) fn stages(&self, file: &str, text: &str) {
        self.broker.repo().write(file, text);
        self.broker.repo().git(&["add", file]);
    }

    /// Commits what is staged, through the hooks.
    pub(crate) async fn commits(&self, message: &str) -> CommandOutput {
        self.runs(&format!("git commit --quiet -m '{message}'")).await
    }

    /// Commits what is staged; the hooks must allow it.
    pub(crate) async fn has_committed(&self, message: &str) {
        let ended = self.commits(message).await;
        assert_eq!(ended.code, 0, "{message}: {}", ended.err);
    }

    /// Proposes with the command of the guard: the number of the review.
    pub(crate) async fn proposes(&self, beginning: &str, blanks: Blanks<'_>) -> String {
        let said = self.shell.does(EXECUTOR, beginning, blanks).await;
        said.split_whitespace().next().unwrap().to_owned()
    }

    /// The description of a task, outside of the repository.
    pub(crate) fn describes(&self, task: &str) -> String {
        let file = self.broker.home().join("description.md");
        std::fs::write(&file, format!("{task}\n\nVerified: the tests pass.\n")).unwrap();
        file.display().to_string()
    }

    /// Runs the wait command of the guard while the reviewer decides: the exit code.
    pub(crate) async fn hears(&self, review: &str, verdict: &[&str]) -> i32 {
        let line = [&["respond", review], verdict].concat();
        let decides = async {
            self.broker.until_waiting(1).await;
            self.broker.command_as("rita", &line).stdout().await
        };
        let blanks = [("R-12", review)];
        let (heard, _) = tokio::join!(self.shell.follows(TANDEM, "countersign wait R-12", &blanks), decides);
        heard.code
    }

    /// The reviewer requests changes with a counter-patch.
    pub(crate) async fn offers(&self, review: &str, patch: &str) {
        let file = self.broker.home().join("better.diff");
        std::fs::write(&file, patch).unwrap();
        let verdict = ["--request-changes", "-m", "Better so", "--counter-patch", file.to_str().unwrap()];
        assert_eq!(self.hears(review, &verdict).await, 10);
    }

    /// Requests changes with a counter-patch, which the agent accepts and stages as the loop says.
    pub(crate) async fn takes_counter_patch(&self, review: &str, patch: &str) {
        self.offers(review, patch).await;
        assert_eq!(self.goes_on("countersign patch show R-12", review).await, patch);
        self.goes_on("countersign diff R-12 | git apply --index --reverse", review).await;
        self.goes_on("countersign patch accept R-12", review).await;
        self.goes_on("countersign diff R-12 | git apply --index  ", review).await;
    }

    /// Does what the shared loop says to this review.
    pub(crate) async fn goes_on(&self, beginning: &str, review: &str) -> String {
        self.shell.does(TANDEM, beginning, &[("R-12", review)]).await
    }

    /// The approvals of the commits since the start, oldest first, and the exit code of `verify`.
    pub(crate) async fn standings(&self) -> (i32, Vec<String>) {
        let ended = self.runs(&format!("countersign verify {}..HEAD --json", self.start)).await;
        let answer: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
        let rows = answer["commits"].as_array().unwrap();
        (ended.code, rows.iter().map(|row| row["standing"].as_str().unwrap().to_owned()).collect())
    }
}
