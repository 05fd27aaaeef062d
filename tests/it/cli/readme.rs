//! The story of the README, with two terminals: every command in it is run as printed.

use crate::support::{
    broker::{TIMEOUT, countersign},
    command::{TestCommand, command_in},
    wait_until::wait_until,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
};

/// Commands that this test cannot run, and why.
const NOT_RUN: [(&str, &str); 6] = [
    ("cargo run --release -- serve", "builds a release; `cargo xtask first-hour` builds and serves one"),
    ("cargo install --path .", "builds a release and installs it for the user"),
    (
        "claude mcp add --transport http countersign http://127.0.0.1:8321/mcp",
        "needs Claude Code and a fixed port; the tests of the real clients connect it",
    ),
    (
        "codex mcp add countersign --url http://127.0.0.1:8321/mcp",
        "needs Codex and a fixed port; the tests of the real clients connect it",
    ),
    ("cargo xtask test", "runs this test"),
    ("cargo xtask test --no-clients", "runs this test"),
];

/// The commands of the README, as printed: lines of shell blocks, with their comments, and short ones in a sentence. Those
/// with an ellipsis only name a command.
fn printed_commands() -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let mut commands = BTreeSet::new();
    for (n, part) in text.split("```").enumerate() {
        match part.strip_prefix("sh\n") {
            Some(block) if n % 2 == 1 => commands.extend(block.lines().map(str::to_owned)),
            _ if n % 2 == 1 => {}
            _ => {
                let spans = part.split('`').skip(1).step_by(2);
                let spans = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
                commands.extend(spans.filter(|span| span.starts_with("countersign ") || span.starts_with("cargo ")));
            }
        }
    }
    commands.retain(|command| !command_part(command).contains('…') && !command.trim().is_empty());
    commands
}

/// The command without the comment after it.
fn command_part(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim()
}

/// A new user with an empty home folder, Claude Code, and a repository with a branch to propose.
struct Story {
    home: tempfile::TempDir,
    repo: testkit::Repo,
    /// Those of the README that were not run yet.
    left: BTreeSet<String>,
}

impl Story {
    fn begin() -> Self {
        let (home, repo) = (tempfile::tempdir().unwrap(), testkit::Repo::new());
        fs::create_dir(home.path().join(".claude")).unwrap();
        repo.git(&["config", "user.name", "grace"]);
        repo.git(&["config", "user.email", "grace@example.org"]);
        repo.write("src/a.rs", (1..=20).map(|n| format!("// {n}\n")).collect::<String>());
        repo.commit("Count");
        repo.git(&["switch", "--quiet", "--create", "topic"]);
        repo.write("src/a.rs", (1..=20).map(|n| format!("// {}\n", if n == 10 { 11 } else { n })).collect::<String>());
        repo.commit("Count past ten");
        Self { home, repo, left: printed_commands() }
    }

    /// The line of the README with this command. It counts as run.
    fn printed(&mut self, command: &str) -> String {
        let all = printed_commands();
        let same: Vec<_> = all.iter().filter(|line| command_part(line) == command).collect();
        let line = same.last().unwrap_or_else(|| panic!("the README does not show `{command}`")).to_string();
        self.left.retain(|line| command_part(line) != command);
        line
    }

    fn variables(&self) -> [(&'static str, String); 5] {
        let program = Path::new(env!("CARGO_BIN_EXE_countersign")).parent().unwrap().display().to_string();
        [
            ("PATH", format!("{program}:{}", std::env::var("PATH").unwrap())),
            ("COUNTERSIGN_SERVER_DATA_DIR", self.data_dir().display().to_string()),
            ("COUNTERSIGN_SERVER_LISTEN", "127.0.0.1:0".to_owned()),
            ("BROWSER", "true".to_owned()),
            ("TMPDIR", self.home.path().display().to_string()),
        ]
    }

    fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Starts a line of the README in a shell. The shell becomes the command.
    fn start(&mut self, command: &str) -> Child {
        let line = self.printed(command);
        let mut shell = Command::new("sh");
        let bare = countersign(self.home.path());
        shell.arg("-c").arg(format!("exec {line}")).env_clear();
        shell.envs(bare.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.envs(self.variables()).current_dir(self.repo.path()).kill_on_drop(true);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        shell.spawn().unwrap()
    }

    /// Runs a line of the README: its exit code and stdout.
    async fn run(&mut self, command: &str) -> (i32, String) {
        finish(self.start(command)).await
    }

    /// Runs a line of the README, which must succeed.
    async fn succeeds(&mut self, command: &str) -> String {
        let (code, out) = self.run(command).await;
        assert_eq!(code, 0, "{command}: {out}");
        out
    }

    /// A command that the README does not print in this form.
    fn other(&self, line: &[&str]) -> TestCommand {
        let command = command_in(self.home.path(), &self.repo.path(), line);
        self.variables().iter().fold(command, |command, (name, value)| command.var(name, value))
    }

    /// Runs a line of the README on a terminal, and types `keys` once it shows `text`.
    async fn on_terminal(&mut self, command: &str, text: &str, keys: &str) {
        let line = self.printed(command);
        let words: Vec<_> = command_part(&line).split(' ').skip(1).collect();
        let mut screen = self.other(&words).on_terminal(100, 500);
        screen.shows(text).await;
        screen.press(keys);
        assert_eq!(screen.finish().await, 0, "{command}");
    }

    async fn is_open(&self, review: &str) -> bool {
        self.other(&["show", review]).finish().await.code == 0
    }
}

async fn finish(mut child: Child) -> (i32, String) {
    let mut stdout = child.stdout.take().unwrap();
    let ended = async {
        let mut out = String::new();
        stdout.read_to_string(&mut out).await.unwrap();
        (child.wait().await.unwrap().code().unwrap_or(-1), out)
    };
    tokio::time::timeout(TIMEOUT, ended).await.expect("the command ends")
}

#[tokio::test]
async fn every_command_of_the_readme_works_as_printed() {
    let mut story = Story::begin();
    for (command, why) in NOT_RUN {
        story.printed(command);
        assert!(!why.is_empty());
    }

    // Start it.
    story.succeeds("countersign serve --help").await;
    let broker = story.start("countersign serve");
    let data_dir = config::DataDir::from(story.data_dir());
    wait_until("the broker listens", async || data_dir.running_broker()).await;
    assert!(story.succeeds("countersign status").await.contains("runs (pid"));
    assert!(story.succeeds("countersign demo").await.contains("and closes R-1"));
    story.on_terminal("countersign init", "Write this?", "y\r").await;
    story.on_terminal("countersign init --client codex --role reviewer", "Write this?", "y\r").await;
    assert!(fs::read_to_string(story.repo.path().join(".mcp.json")).unwrap().contains("countersign"));
    story.succeeds("countersign mcp").await;

    // A first review, in two terminals.
    for n in 1..12 {
        fs::write(story.home.path().join("plan.md"), format!("plan {n}")).unwrap();
        let plan = story.home.path().join("plan.md").display().to_string();
        story.other(&["request", "--new", "--plan", &plan, "--as", "eve"]).stdout().await;
    }
    let first = story.start("countersign request --wait 10m");
    wait_until("the change is proposed", async || story.is_open("R-12").await.then_some(())).await;
    assert!(story.succeeds("countersign list --claimable --as ada").await.contains("R-12"));
    assert!(story.succeeds("countersign show R-12").await.contains("Count past ten"));
    let wrong =
        "countersign respond R-12 --as ada --request-changes -m \"Say why\" --issue 'high src/a.rs:10 off by one'";
    assert!(story.succeeds(wrong).await.contains("I-1"));
    assert_eq!(finish(first).await.0, 10, "changes requested");
    story.repo.git(&["reset", "--quiet", "--hard", "main"]);
    story.repo.write("src/a.rs", (1..=21).map(|n| format!("// {n}\n")).collect::<String>());
    story.repo.git(&["add", "src/a.rs"]);
    assert_eq!(story.run("countersign gate").await.0, 1, "not approved yet");
    story.repo.commit("Count past ten, without a gap");
    story.other(&["resubmit", "R-12", "-m", "no line is missing"]).stdout().await;
    story.other(&["claim", "R-12", "--as", "ada"]).stdout().await;
    story.other(&["issues", "fix", "I-1", "--as", "ada", "--role", "reviewer"]).stdout().await;
    story.other(&["respond", "R-12", "--as", "ada", "--approve"]).stdout().await;
    assert!(story.succeeds("countersign land R-12").await.contains("landed on main"));
    assert!(story.repo.git(&["show", "main:src/a.rs"]).ends_with("// 21"));
    assert!(story.succeeds("countersign verify").await.contains("R-12"));

    // The page and the other commands.
    story.succeeds("countersign open").await;
    story.on_terminal("countersign top", "R-11", "q").await;
    for command in ["countersign personas", "countersign doctor", "countersign export", "countersign reviewer list"] {
        story.succeeds(command).await;
    }
    let mut served = story.start("countersign demo --serve");
    let mut text = Vec::new();
    let mut stdout = served.stdout.take().unwrap();
    let is_served = async {
        while !String::from_utf8_lossy(&text).contains("Ctrl-C stops the broker") {
            assert!(stdout.read_buf(&mut text).await.unwrap() > 0, "{}", String::from_utf8_lossy(&text));
        }
    };
    tokio::time::timeout(TIMEOUT, is_served).await.expect("all reviews are played");
    let pid = served.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    assert!(served.wait().await.unwrap().success());

    story.succeeds("countersign stop").await;
    assert_eq!(finish(broker).await.0, 0);
    assert!(story.left.is_empty(), "the README shows commands that were not run: {:#?}", story.left);
}

/// `docs/first-hour.md` is the record of this script with a build of its own.
#[tokio::test]
async fn the_recorded_first_hour_can_be_repeated() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_hour.sh");
    let mut played = Command::new("bash");
    played.arg(script).arg(env!("CARGO_BIN_EXE_countersign")).stdin(Stdio::null()).kill_on_drop(true);
    let played = tokio::time::timeout(TIMEOUT, played.output()).await.expect("the hour ends").unwrap();
    let (record, problems) = (String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
    assert!(played.status.success(), "{problems}\n{record}");
    for step in ["### The gate refuses", "### The agent approves", "### Commit", "### Disconnect", "All steps together"]
    {
        assert!(record.contains(step), "{step}: {record}");
    }
}
