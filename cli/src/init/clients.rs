//! The agent clients that `init` supports (Claude Code, Codex, Gemini): how to detect each one, where its settings are,
//! and which entries it needs.

use super::{
    edit::Fragment,
    file_change::{InitTarget, Kind},
    own_command_line::{OwnCommandLine, find_in_path},
};
use crate::atomic_files::FileMode;
use serde_json::{Value, json};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Timeout of a tool call. A waiting call returns after 50 seconds.
const CALL_TIMEOUT_SECONDS: u64 = 120;
/// The bridge may have to start a broker first.
const START_TIMEOUT_SECONDS: u64 = 30;
/// Longer than the time limit that a hook sets itself.
const HOOK_TIMEOUT_SECONDS: u64 = 60;

/// The server name in client settings. Tools are called `mcp__countersign__…` after it.
const NAME: &str = "countersign";

/// The keys that `init` writes into an entry.
const JSON_KEYS: &[&str] = &["type", "command", "args", "url", "httpUrl", "timeout", "trust"];
const TOML_KEYS: &[&str] = &["command", "args", "url", "startup_timeout_sec", "tool_timeout_sec"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Client {
    Claude,
    Codex,
    Gemini,
}

/// The tools that an agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum AgentRole {
    Proposer,
    Reviewer,
    Both,
}

impl AgentRole {
    /// The role of the endpoint. `None`: the endpoint for both.
    pub(super) fn as_option(self) -> Option<&'static str> {
        match self {
            Self::Proposer => Some("proposer"),
            Self::Reviewer => Some("reviewer"),
            Self::Both => None,
        }
    }
}

/// The folders that hold the settings of clients.
#[derive(Debug, Clone)]
pub(super) struct SettingsDirs {
    home: PathBuf,
    /// CLAUDE_CONFIG_DIR, if it is set.
    claude: Option<PathBuf>,
    /// CODEX_HOME, if it is set.
    codex: Option<PathBuf>,
    /// The root of the project. `None` means the user-level settings for all projects.
    pub project: Option<PathBuf>,
}

impl SettingsDirs {
    /// `None` if there is no home folder.
    pub(super) fn detect(project: Option<PathBuf>) -> Option<Self> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let from_env = |name: &str| env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        Some(Self { home, claude: from_env("CLAUDE_CONFIG_DIR"), codex: from_env("CODEX_HOME"), project })
    }

    /// The project, or the user's home.
    pub(super) fn root(&self) -> &Path {
        self.project.as_ref().unwrap_or(&self.home)
    }

    /// The same user without a project.
    pub(super) fn user_level(&self) -> Self {
        Self { project: None, ..self.clone() }
    }

    /// The settings folder of a client, for example `.claude` in the project or the home folder.
    pub(super) fn dir(&self, client: Client) -> PathBuf {
        let from_env = match client {
            Client::Claude => &self.claude,
            Client::Codex => &self.codex,
            Client::Gemini => &None,
        };
        match from_env {
            Some(dir) if self.project.is_none() => dir.clone(),
            Some(_) | None => self.root().join(format!(".{}", client.program())),
        }
    }
}

impl Client {
    pub(super) const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The program or settings file that shows that the client is used here.
    pub(super) fn detect(self, dirs: &SettingsDirs) -> Option<String> {
        let user_level = dirs.user_level();
        let mut settings = Vec::new();
        for dirs in [&user_level, dirs] {
            settings.push(dirs.dir(self));
            settings.extend((self == Self::Claude).then(|| self.server_file(dirs)));
        }
        let found = find_in_path(self.program()).or_else(|| settings.into_iter().find(|path| path.exists()));
        found.map(|path| path.display().to_string())
    }

    /// The file that lists the MCP servers.
    fn server_file(self, dirs: &SettingsDirs) -> PathBuf {
        match (self, &dirs.project) {
            (Self::Claude, Some(root)) => root.join(".mcp.json"),
            (Self::Claude, None) => dirs.claude.as_ref().unwrap_or(&dirs.home).join(".claude.json"),
            (Self::Codex, _) => dirs.dir(self).join("config.toml"),
            (Self::Gemini, _) => dirs.dir(self).join("settings.json"),
        }
    }

    /// The entry of the MCP server: the stdio bridge, or the broker at `url`.
    pub(super) fn server(
        self,
        dirs: &SettingsDirs,
        command: &OwnCommandLine,
        url: Option<&str>,
        role: AgentRole,
    ) -> InitTarget {
        let value = self.entry(command, url, role);
        let fragment = match self {
            Self::Claude | Self::Gemini => Fragment::Json { path: vec!["mcpServers", NAME], value, keys: JSON_KEYS },
            Self::Codex => Fragment::Toml { path: vec!["mcp_servers", NAME], value, keys: TOML_KEYS },
        };
        let user_level_path = dirs.project.as_ref().map(|_| self.server_file(&dirs.user_level()));
        let mode = if user_level_path.is_some() { FileMode::Default } else { FileMode::Private };
        InitTarget { user_level_path, mode, ..InitTarget::new(self.server_file(dirs), Kind::Server, vec![fragment]) }
    }

    fn entry(self, command: &OwnCommandLine, url: Option<&str>, role: AgentRole) -> Value {
        let mut entry = match (url, self) {
            (None, _) => {
                let role = role.as_option().into_iter().flat_map(|role| ["--role", role]);
                let options = command.options.iter().map(String::as_str);
                let args: Vec<_> = ["mcp"].into_iter().chain(role).chain(options).collect();
                json!({ "command": command.program, "args": args })
            }
            (Some(url), Self::Claude | Self::Codex) => json!({ "url": url }),
            (Some(url), Self::Gemini) => json!({ "httpUrl": url }),
        };
        match self {
            Self::Claude => {
                entry["type"] = if url.is_some() { "http" } else { "stdio" }.into();
                entry["timeout"] = (CALL_TIMEOUT_SECONDS * 1_000).into();
            }
            Self::Codex => {
                entry["startup_timeout_sec"] = START_TIMEOUT_SECONDS.into();
                entry["tool_timeout_sec"] = CALL_TIMEOUT_SECONDS.into();
            }
            Self::Gemini => {
                entry["timeout"] = (CALL_TIMEOUT_SECONDS * 1_000).into();
                // Without it, Gemini asks for confirmation before every call.
                entry["trust"] = true.into();
            }
        }
        entry
    }

    /// The hooks for tool calls, the end of a turn and the start of a session. Gemini has a different hook format.
    pub(super) fn hooks(
        self,
        dirs: &SettingsDirs,
        command: &OwnCommandLine,
        start: bool,
        role: AgentRole,
    ) -> Option<InitTarget> {
        let file = match self {
            Self::Claude => "settings.json",
            Self::Codex => "hooks.json",
            Self::Gemini => return None,
        };
        let hook = |event, matcher, subcommand: &'static str, option: &str| {
            let line = format!("{} {subcommand}{option}{}", command.shell_word(), command.shell_options());
            let handler = json!({ "type": "command", "command": line, "timeout": HOOK_TIMEOUT_SECONDS });
            Fragment::Hook { event, matcher, subcommand, handler }
        };
        let mut option = if start { " --start" } else { "" }.to_owned();
        if role != AgentRole::Proposer {
            option += &format!(" --role {}", role.as_option().unwrap_or("both"));
        }
        let fragments = vec![
            hook("PreToolUse", Some("Bash"), "hook pre-tool-use", ""),
            hook("Stop", None, "hook stop", ""),
            hook("SessionStart", None, "hook session-start", &option),
        ];
        Some(InitTarget::new(dirs.dir(self).join(file), Kind::ClientHooks, fragments))
    }

    /// What the user has to do in the client before it uses what was installed: `init` accepts nothing in the user's name.
    pub(super) fn left_to_do(self, dirs: &SettingsDirs, has_hooks: bool) -> Vec<&'static str> {
        let Some(root) = dirs.project.as_ref() else { return Vec::new() };
        let user = dirs.user_level();
        let mut steps = Vec::new();
        match self {
            Self::Claude => {
                if !(claude::trusts(&self.server_file(&user), root) && claude::accepts_server(dirs, &user)) {
                    steps.push(
                        "start `claude` in this folder once, trust the folder, and accept the server countersign of .mcp.json",
                    );
                }
            }
            Self::Codex => {
                let config = user.dir(self).join("config.toml");
                if !codex::trusts(&config, root) {
                    steps.push("start `codex` in this folder once and trust it; until then it ignores .codex/");
                }
                if has_hooks && !codex::trusts_hooks(&config, &dirs.dir(self).join("hooks.json")) {
                    steps.push(
                        "type /hooks in `codex` and trust each hook of Countersign; until then it ignores them silently",
                    );
                }
            }
            Self::Gemini => {}
        }
        steps
    }
}

/// What Claude Code stores when its user agrees to something.
mod claude {
    use super::{Client, NAME, SettingsDirs, json_file};
    use std::path::Path;

    /// Whether the user has trusted the folder.
    pub(super) fn trusts(state: &Path, root: &Path) -> bool {
        json_file(state)["projects"][root.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true
    }

    /// Whether the user has accepted the server of the project's .mcp.json.
    pub(super) fn accepts_server(dirs: &SettingsDirs, user: &SettingsDirs) -> bool {
        let (own, user) = (dirs.dir(Client::Claude), user.dir(Client::Claude));
        let files = [own.join("settings.local.json"), own.join("settings.json"), user.join("settings.json")];
        files.iter().any(|file| {
            let settings = json_file(file);
            let named = settings["enabledMcpjsonServers"].as_array();
            named.is_some_and(|names| names.iter().any(|name| name == NAME))
                || settings["enableAllProjectMcpServers"] == true
        })
    }
}

/// What Codex stores when its user agrees to something.
mod codex {
    use super::toml_file;
    use std::path::Path;

    pub(super) fn trusts(config: &Path, root: &Path) -> bool {
        let settings = toml_file(config);
        let project = settings.get("projects").and_then(|projects| projects.get(root.to_str()?));
        project.and_then(|project| project.get("trust_level")?.as_str()) == Some("trusted")
    }

    /// Whether the user has trusted a hook of this file. The key of each begins with the file's path.
    pub(super) fn trusts_hooks(config: &Path, hooks: &Path) -> bool {
        let settings = toml_file(config);
        let state = settings.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
        let file = hooks.to_string_lossy();
        state.is_some_and(|state| state.keys().any(|key| key.starts_with(file.as_ref())))
    }
}

/// Null if the file cannot be read.
fn json_file(path: &Path) -> Value {
    std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn toml_file(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap_or_default().parse().unwrap_or_default()
}
