//! `init` edits files of a project or of a user, and `init --remove` restores them byte by byte.

use crate::{
    gate::installed_guards::Shell,
    support::{
        broker::TestBroker,
        command::{TestCommand, command_in},
    },
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};
use tempfile::TempDir;
use testkit::Repo;
use tokio::io::AsyncWriteExt as _;

/// A repository with its own home folder.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) repo: Repo,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), repo: Repo::new() }
    }

    /// Runs `init` in the repository. PATH contains the system's programs only.
    pub(crate) fn init(&self, options: &[&str]) -> TestCommand {
        let line: Vec<&str> = std::iter::once("init").chain(options.iter().copied()).collect();
        command_in(self.home.path(), &self.repo.path(), &line).var("PATH", "/usr/bin:/bin")
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.repo.path().join(file)
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Every file and folder of the project, including git hooks, but nothing else of `.git`.
    pub(crate) fn all(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut all = BTreeMap::new();
        collect(&self.repo.path(), &mut all);
        collect(&self.path(".git/hooks"), &mut all);
        all
    }
}

fn collect(dir: &Path, all: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".git") {
            continue;
        }
        if path.is_dir() {
            collect(&path, all);
            all.insert(path, None);
        } else {
            all.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
}

const EVERYTHING: [&str; 6] = ["--client", "claude,codex,gemini", "--git-hooks", "--client-hooks", "--skills", "--gsd"];

fn with<'a>(options: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    options.iter().chain(more).copied().collect()
}

#[tokio::test]
async fn existing_files_are_kept_and_restored_byte_by_byte() {
    let place = Place::new();
    let files = [
        (".mcp.json", "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // why\n  },\n}"),
        (
            ".claude/settings.json",
            "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\r\n\t\t]\r\n\t}\r\n}\r\n",
        ),
        (".codex/config.toml", "model = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n# the end"),
        (".gemini/settings.json", "\u{feff}{\"theme\":\"dark\"}"),
        ("AGENTS.md", "# Ours\n\nDo this."),
        (
            ".claude/commands/gsd/plan-phase.md",
            "---\nname: gsd:plan-phase\nallowed-tools:\n  - Read\n---\n\nPlan it.\n",
        ),
        (".claude/agents/gsd-executor.md", "---\nname: gsd-executor\n---\nDo it.\n"),
        (".claude/skills/mine/SKILL.md", "mine\n"),
    ];
    for (file, text) in files {
        place.repo.write(file, text);
    }
    place.repo.write(".git/hooks/pre-commit", "#!/usr/bin/env bash\nset -eu\necho mine\n");
    fs::set_permissions(place.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o750)).unwrap();
    let before = place.all();

    place.init(&with(&EVERYTHING, &["--yes"])).stdout().await;
    let after = place.all();
    for (path, bytes) in &before {
        let now = after.get(path).unwrap_or_else(|| panic!("{} is gone", path.display()));
        let lines =
            |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        for word in lines(bytes).split_whitespace().map(|word| word.trim_matches([',', '{', '}', '\u{feff}'])) {
            assert!(lines(now).contains(word), "{word} of {} is gone", path.display());
        }
    }
    let config: toml::Table = place.read(".codex/config.toml").parse().unwrap();
    assert_eq!(config["mcp_servers"]["countersign"]["tool_timeout_sec"].as_integer(), Some(120));
    assert_eq!(config["mcp_servers"]["other"]["command"].as_str(), Some("y"));
    let settings: Value = serde_json::from_str(&place.read(".claude/settings.json")).unwrap();
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert!(settings["hooks"]["Stop"][1]["hooks"][0]["command"].as_str().unwrap().ends_with("countersign hook stop"));
    assert_eq!(settings["hooks"]["PreToolUse"][0]["matcher"], "Bash");
    let plan = place.read(".claude/commands/gsd/plan-phase.md");
    assert!(
        plan.starts_with("---\nname: gsd:plan-phase\nallowed-tools:\n  - Read\n---\n<!-- countersign: begin -->\n")
    );
    assert!(plan.contains("`.claude/countersign/gsd/plan-phase.md`") && plan.ends_with("\n\nPlan it.\n"), "{plan}");
    let mode = fs::metadata(place.path(".git/hooks/pre-commit")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o750);

    let again = place.init(&with(&EVERYTHING, &["--yes"])).finish().await;
    assert_eq!((again.code, again.out.as_str(), again.err.as_str()), (0, "nothing to do\n", ""));
    assert_eq!(place.init(&with(&EVERYTHING, &["--check"])).stdout().await, "everything is up to date\n");
    assert_eq!(place.all(), after);

    place.init(&["--remove", "--yes"]).stdout().await;
    assert_eq!(place.all(), before);
    assert_eq!(place.init(&["--remove", "--yes"]).stdout().await, "nothing to do\n");
    assert!(!place.home.path().join(".local/share/countersign/init").exists(), "what is taken out is forgotten");
}

#[tokio::test]
async fn created_files_are_removed_with_their_folders() {
    let place = Place::new();
    let before = place.all();
    place.init(&with(&EVERYTHING, &["--yes"])).stdout().await;
    for file in [
        ".mcp.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        "AGENTS.md",
        ".git/hooks/pre-push",
        ".claude/skills/countersign/SKILL.md",
        ".claude/countersign/gsd/tandem.md",
        ".claude/commands/countersign/verify-work.md",
        ".planning/config.json",
    ] {
        assert!(place.path(file).exists(), "{file}");
    }
    place.init(&["--remove", "--yes"]).stdout().await;
    assert_eq!(place.all(), before);
}

#[tokio::test]
async fn the_change_is_shown_and_written_only_after_confirmation() {
    let place = Place::new();
    place.repo.write(".mcp.json", "{\n  \"mcpServers\": {}\n}\n");
    let before = place.all();
    let asked = place.init(&["--client", "claude"]).finish().await;
    assert_eq!(asked.code, 2);
    let binary = env!("CARGO_BIN_EXE_countersign");
    let shown = asked.out.replace(binary, "BINARY");
    insta::assert_snapshot!("the_change_as_a_diff", shown);
    assert!(
        asked.err.ends_with("countersign: nothing was written: no terminal to ask on; use --yes\n"),
        "{}",
        asked.err
    );
    let dry = place.init(&["--client", "claude", "--dry-run"]).finish().await;
    assert_eq!((dry.code, dry.out), (0, asked.out));
    assert_eq!(place.all(), before);
    let json = place.init(&["--client", "claude", "--yes", "--json"]).json().await;
    assert_eq!(json["applied"], true);
    assert_eq!((&json["changes"][0]["action"], &json["changes"][0]["kind"]), (&"edit".into(), &"server".into()));
}

/// Runs on a pseudo-terminal made by `script`.
async fn on_a_terminal(place: &Place, answer: &str) -> std::process::Output {
    let line = format!(
        "cd '{}' && HOME='{}' '{}' init --client claude",
        place.repo.path().display(),
        place.home.path().display(),
        env!("CARGO_BIN_EXE_countersign")
    );
    let mut command = tokio::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("util-linux has script");
    child.stdin.take().unwrap().write_all(answer.as_bytes()).await.unwrap();
    child.wait_with_output().await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_a_yes_on_the_terminal_writes() {
    for (answer, code) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        let place = Place::new();
        let ended = on_a_terminal(&place, answer).await;
        let shown = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(code), "{shown}");
        assert!(shown.contains("+++ b/.mcp.json") && shown.contains("Write this? [y/N]"), "{shown}");
        assert_eq!(place.path(".mcp.json").exists(), code == 0);
    }
}

#[tokio::test]
async fn drift_is_reported_and_fixed() {
    let place = Place::new();
    let options = ["--client", "claude,codex"];
    let missing = place.init(&with(&options, &["--check"])).finish().await;
    assert_eq!(
        (missing.code, missing.out.as_str()),
        (1, ".mcp.json: mcpServers.countersign: missing\n.codex/config.toml: mcp_servers.countersign: missing\n")
    );
    place.init(&with(&options, &["--yes"])).stdout().await;
    let moved = place.read(".mcp.json").replace(env!("CARGO_BIN_EXE_countersign"), "/old/countersign");
    place.repo.write(".mcp.json", &moved);
    let changed = place.read(".codex/config.toml").replace("120", "5") + "env = { A = '1' }\n";
    place.repo.write(".codex/config.toml", &changed);
    let drift = place.init(&with(&options, &["--check", "--json"])).finish().await;
    assert_eq!(drift.code, 1);
    let drift: Value = serde_json::from_str(&drift.out).unwrap();
    let what: Vec<_> = drift["drift"].as_array().unwrap().iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert!(what[0].starts_with("command is \"/old/countersign\", expected "), "{what:?}");
    assert_eq!(what[1], "tool_timeout_sec is 5, expected 120");
    place.init(&with(&options, &["--yes"])).stdout().await;
    place.init(&with(&options, &["--check"])).stdout().await;
    assert!(place.read(".codex/config.toml").contains("env = { A = '1' }"));
}

#[tokio::test]
async fn a_changed_entry_is_kept_and_reported() {
    let place = Place::new();
    place.init(&["--client", "claude,codex,gemini", "--yes"]).stdout().await;
    let changed = place.read(".mcp.json").replace("120000", "5");
    place.repo.write(".mcp.json", &changed);
    // A neighbouring entry is not ours.
    place.repo.write(".codex/config.toml", format!("model = \"x\"\n\n{}", place.read(".codex/config.toml")));
    let gemini = place.read(".gemini/settings.json").replacen('{', "{ \"theme\": \"dark\",", 1);
    place.repo.write(".gemini/settings.json", &gemini);
    let ended = place.init(&["--remove", "--yes"]).finish().await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended
            .err
            .contains("left alone: .mcp.json: mcpServers.countersign was changed after the installation, so it stays"),
        "{}",
        ended.err
    );
    assert_eq!(place.read(".mcp.json"), changed);
    assert_eq!(place.read(".codex/config.toml"), "model = \"x\"\n");
    assert_eq!(
        serde_json::from_str::<Value>(&place.read(".gemini/settings.json")).unwrap(),
        serde_json::json!({"theme": "dark"})
    );
}

#[tokio::test]
async fn an_unparsable_file_is_left_alone_and_the_others_are_written() {
    let place = Place::new();
    let broken = "{\n  \"mcpServers\": {\n    \"a\": 1\n    \"b\": 2\n  }\n}\n";
    place.repo.write(".mcp.json", broken);
    place.repo.write(".codex/config.toml", "a = 1\na = 2\n");
    fs::create_dir(place.path(".gemini")).unwrap();
    fs::write(place.path(".gemini/settings.json"), b"{\"a\": \"\xff\"}").unwrap();
    let ended = place.init(&["--client", "claude,codex,gemini", "--client-hooks", "--yes"]).finish().await;
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains(".mcp.json: line 3, column 11: Expected comma"), "{}", ended.err);
    assert!(ended.err.contains(".codex/config.toml: line 2, column 1: duplicate key"), "{}", ended.err);
    assert!(ended.err.contains(".gemini/settings.json: not UTF-8 text"), "{}", ended.err);
    assert!(ended.err.contains("3 files were left alone"), "{}", ended.err);
    assert_eq!(place.read(".mcp.json"), broken);
    assert!(place.path(".claude/settings.json").exists());
}

#[tokio::test]
async fn symbolic_links_of_the_user_are_followed_and_those_of_the_repository_are_not() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("mcp.json");
    fs::write(&target, "{}\n").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&target, place.path(".mcp.json")).unwrap();
    place.init(&["--client", "claude", "--yes"]).stdout().await;
    assert!(place.path(".mcp.json").is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("countersign"));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    place.init(&["--remove", "--yes"]).stdout().await;
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}\n");

    place.repo.commit("a link that leads out");
    let ended = place.init(&["--client", "claude", "--yes"]).finish().await;
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("is a symbolic link in the repository that leads out of it"), "{}", ended.err);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}\n");
}

#[tokio::test]
async fn user_level_settings_are_in_the_home_folder() {
    let place = Place::new();
    let before = place.all();
    let home = |file: &str| place.home.path().join(file);
    fs::write(home(".claude.json"), "{\"numStartups\":3}").unwrap();
    fs::set_permissions(home(".claude.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let line = ["--user", "--client", "claude,codex,gemini", "--client-hooks", "--start", "--skills", "--gsd", "--yes"];
    place.init(&line).stdout().await;
    for file in [
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/AGENTS.md",
        ".gemini/settings.json",
        ".claude/settings.json",
        ".claude/skills/countersign/SKILL.md",
        ".claude/commands/countersign/plan-phase.md",
    ] {
        assert!(home(file).exists(), "{file}");
    }
    let claude: Value = serde_json::from_slice(&fs::read(home(".claude.json")).unwrap()).unwrap();
    assert_eq!(claude["numStartups"], 3);
    assert_eq!(claude["mcpServers"]["countersign"]["command"], env!("CARGO_BIN_EXE_countersign"));
    assert!(fs::read_to_string(home(".claude/settings.json")).unwrap().contains("hook session-start --start\""));
    assert_eq!(fs::metadata(home(".claude.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.all(), before, "the project is another matter");
    place.init(&["--check"]).stdout().await;
    assert_eq!(fs::metadata(home(".codex/config.toml")).unwrap().permissions().mode() & 0o777, 0o600);
    place.init(&["--user", "--remove", "--yes"]).stdout().await;
    assert_eq!(fs::read_to_string(home(".claude.json")).unwrap(), "{\"numStartups\":3}");
    for folder in [".codex", ".gemini", ".claude"] {
        assert!(!home(folder).exists(), "{folder}");
    }
}

#[tokio::test]
async fn clients_are_found_by_their_programs_and_folders() {
    let place = Place::new();
    let none = place.init(&["--yes"]).finish().await;
    assert_eq!(none.code, 1);
    assert!(none.err.contains("no client found") && none.err.contains("--client"), "{}", none.err);
    fs::create_dir(place.home.path().join(".codex")).unwrap();
    let bin = place.home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["gemini", "countersign"] {
        fs::write(bin.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let found = place.init(&["--yes"]).var("PATH", &path).finish().await;
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.err.contains("found Codex: ") && found.err.contains("found Gemini: "), "{}", found.err);
    assert!(!place.path(".mcp.json").exists());
    assert!(
        place.read(".codex/config.toml").contains("command = \"countersign\"\n"),
        "by name, as it is in the search path"
    );
}

#[tokio::test]
async fn with_http_the_address_replaces_the_bridge() {
    let place = Place::new();
    place.init(&["--client", "claude,codex,gemini", "--http", "--yes"]).stdout().await;
    let claude: Value = serde_json::from_str(&place.read(".mcp.json")).unwrap();
    assert_eq!(
        claude["mcpServers"]["countersign"],
        serde_json::json!({"type": "http", "url": "http://127.0.0.1:8321/mcp/proposer", "timeout": 120_000})
    );
    assert!(place.read(".codex/config.toml").contains("url = \"http://127.0.0.1:8321/mcp/proposer\""));
    assert!(place.read(".gemini/settings.json").contains("\"httpUrl\": \"http://127.0.0.1:8321/mcp/proposer\""));
    place.init(&["--client", "claude", "--yes"]).stdout().await;
    assert!(!place.read(".mcp.json").contains("http"), "one way or the other");
    place.init(&["--remove", "--yes"]).stdout().await;
    assert!(!place.path(".mcp.json").exists());
}

#[tokio::test]
async fn outside_a_repository_only_user_settings_can_be_edited() {
    let home = tempfile::tempdir().unwrap();
    let ended = command_in(home.path(), home.path(), &["init", "--client", "claude", "--yes"]).finish().await;
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("is not in a git repository") && ended.err.contains("--user"), "{}", ended.err);
    let ended = command_in(home.path(), home.path(), &["init", "--user", "--git-hooks", "--yes"]).finish().await;
    assert_eq!(ended.code, 2, "{}", ended.err);
}

#[tokio::test]
async fn only_the_named_parts_are_removed() {
    let place = Place::new();
    place.init(&with(&EVERYTHING, &["--yes"])).stdout().await;
    place.init(&["--remove", "--client", "codex", "--yes"]).stdout().await;
    for gone in [".codex", "AGENTS.md"] {
        assert!(!place.path(gone).exists(), "{gone}");
    }
    assert!(place.path(".git/hooks/pre-push").exists() && place.path(".mcp.json").exists());
    place.init(&["--remove", "--gsd", "--git-hooks", "--yes"]).stdout().await;
    assert!(!place.path(".git/hooks/pre-push").exists() && !place.path(".claude/countersign").exists());
    assert!(place.path(".mcp.json").exists() && place.path(".claude/skills/countersign/SKILL.md").exists());
}

#[tokio::test]
async fn entries_installed_with_other_options_are_not_drift() {
    let place = Place::new();
    let line =
        ["--client", "claude,codex", "--http", "--git-hooks", "--fail-closed", "--client-hooks", "--start", "--yes"];
    place.init(&line).stdout().await;
    assert_eq!(place.init(&["--check"]).stdout().await, "everything is up to date\n");
    let bin = place.home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_countersign"), bin.join("countersign")).unwrap();
    // Now it is in the search path, and files that other machines read would name it so.
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let drift = place.init(&["--check"]).var("PATH", &path).finish().await;
    assert_eq!(drift.code, 1, "{}", drift.out);
    assert!(drift.out.contains(".claude/settings.json: hooks.Stop: "), "{}", drift.out);
    assert!(!drift.out.contains(".mcp.json"), "an address stays: {}", drift.out);
}

#[tokio::test]
async fn the_guards_come_with_tandem_mode_and_say_if_gsd_is_missing() {
    let place = Place::new();
    let gsd = ["--client", "claude", "--gsd", "--yes"];
    let ended = place.init(&gsd).finish().await;
    assert!(
        ended.code == 0 && ended.err.contains("GSD is not installed: neither .claude nor ~/.claude"),
        "{}",
        ended.err
    );
    let planning: Value = serde_json::from_str(&place.read(".planning/config.json")).unwrap();
    assert_eq!(planning, json!({ "tandem_enabled": true }));

    // Another project has GSD, and has decided to work solo.
    let place = Place::new();
    place.repo.write(".claude/commands/gsd/plan-phase.md", "Plan it.\n");
    let solo = "{\"mode\": \"yolo\", \"tandem_enabled\": false}\n";
    place.repo.write(".planning/config.json", solo);
    let ended = place.init(&gsd).finish().await;
    assert!(ended.code == 0 && !ended.err.contains("GSD is not installed"), "{}", ended.err);
    assert_eq!(place.read(".planning/config.json"), solo);
    place.init(&["--remove", "--gsd", "--yes"]).stdout().await;
    assert_eq!(place.read(".planning/config.json"), solo, "it was there before");
}

/// The lines of code that the text prints, indented.
fn printed_commands(text: &str) -> Vec<String> {
    let is_command = |line: &&str| ["git ", "countersign "].iter().any(|program| line.starts_with(program));
    text.lines().filter_map(|line| line.strip_prefix("  ")).filter(is_command).map(str::to_owned).collect()
}

#[tokio::test]
async fn what_init_wrote_is_committed_through_its_own_hooks_with_the_printed_commands() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.git(&["config", "user.name", "Ada"]);
    repo.git(&["config", "user.email", "ada@example.invalid"]);
    repo.write(".gitignore", ".gemini/\n");
    repo.commit("ignore");
    let shell = Shell::new(broker.home(), &repo.path(), &broker.data_dir());
    let ended = shell.runs("countersign init --client claude,gemini --gsd --git-hooks --yes").await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let commands = printed_commands(&ended.err);
    assert_eq!(commands.len(), 4, "{}", ended.err);
    for command in commands {
        let ended = shell.runs(&command.replace("R-N", "R-1")).await;
        assert_eq!(ended.code, 0, "{command}: {}{}", ended.out, ended.err);
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert!(repo.git(&["show", "--name-only", "--format="]).contains(".planning/config.json"));
}
