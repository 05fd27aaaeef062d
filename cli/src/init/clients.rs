//! The supported clients: how to detect each one, where its settings are, and which entries it needs.

use super::{
    change::{InitTarget, Kind},
    edit::Fragment,
    self_command::SelfCommand,
    user_files::FileMode,
};
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

/// How a client reaches the broker.
#[derive(Debug, Clone)]
pub(super) enum Transport {
    /// The stdio bridge, which finds or starts the broker.
    Stdio {
        program: String,
        args: Vec<String>,
    },
    Http {
        url: String,
    },
}

/// The folders of user-level settings.
#[derive(Debug, Clone)]
pub(super) struct UserDirs {
    pub home: PathBuf,
    /// `~/.claude` or CLAUDE_CONFIG_DIR.
    pub claude: PathBuf,
    claude_json: PathBuf,
    pub codex: PathBuf,
}

impl UserDirs {
    pub(super) fn detect() -> Option<Self> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let from_env = |name: &str| env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let claude = from_env("CLAUDE_CONFIG_DIR");
        let claude_json = claude.clone().unwrap_or_else(|| home.clone()).join(".claude.json");
        let claude = claude.unwrap_or_else(|| home.join(".claude"));
        let codex = from_env("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        Some(Self { home, claude, claude_json, codex })
    }
}

/// Project settings, or user-level settings for all projects.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    Project(PathBuf),
    User,
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
    pub(super) fn detect(self, homes: &UserDirs, scope: &Scope) -> Option<String> {
        if let Some(program) = super::self_command::find_in_path(self.program()) {
            return Some(program.display().to_string());
        }
        let user_level = match self {
            Self::Claude => vec![homes.claude.clone(), homes.claude_json.clone()],
            Self::Codex => vec![homes.codex.clone()],
            Self::Gemini => vec![homes.home.join(".gemini")],
        };
        let here = match (scope, self) {
            (Scope::User, _) => Vec::new(),
            (Scope::Project(root), Self::Claude) => vec![root.join(".mcp.json"), root.join(".claude")],
            (Scope::Project(root), Self::Codex) => vec![root.join(".codex")],
            (Scope::Project(root), Self::Gemini) => vec![root.join(".gemini")],
        };
        user_level.into_iter().chain(here).find(|path| path.exists()).map(|path| path.display().to_string())
    }

    /// The entry in the list of MCP servers.
    pub(super) fn server(self, homes: &UserDirs, scope: &Scope, transport: &Transport) -> InitTarget {
        let user_level = match self {
            Self::Claude => homes.claude_json.clone(),
            Self::Codex => homes.codex.join("config.toml"),
            Self::Gemini => homes.home.join(".gemini/settings.json"),
        };
        let (path, user_level_path) = match (scope, self) {
            (Scope::User, _) => (user_level, None),
            (Scope::Project(root), Self::Claude) => (root.join(".mcp.json"), Some(user_level)),
            (Scope::Project(root), Self::Codex) => (root.join(".codex/config.toml"), Some(user_level)),
            (Scope::Project(root), Self::Gemini) => (root.join(".gemini/settings.json"), Some(user_level)),
        };
        let fragment = match self {
            Self::Claude | Self::Gemini => {
                let path = vec!["mcpServers".into(), NAME.into()];
                Fragment::Json { path, value: self.entry(transport), keys: JSON_KEYS }
            }
            Self::Codex => {
                let path = vec!["mcp_servers".into(), NAME.into()];
                Fragment::Toml { path, value: self.entry(transport), keys: TOML_KEYS }
            }
        };
        let mode = if user_level_path.is_some() { FileMode::Default } else { FileMode::Private };
        InitTarget { user_level_path, mode, ..InitTarget::new(path, Kind::Server, vec![fragment]) }
    }

    fn entry(self, transport: &Transport) -> Value {
        let mut entry = match (transport, self) {
            (Transport::Stdio { program, args }, Self::Claude) => {
                json!({ "type": "stdio", "command": program, "args": args })
            }
            (Transport::Stdio { program, args }, Self::Codex | Self::Gemini) => {
                json!({ "command": program, "args": args })
            }
            (Transport::Http { url }, Self::Claude) => json!({ "type": "http", "url": url }),
            (Transport::Http { url }, Self::Codex) => json!({ "url": url }),
            (Transport::Http { url }, Self::Gemini) => json!({ "httpUrl": url }),
        };
        match self {
            Self::Claude => entry["timeout"] = json!(CALL_TIMEOUT_SECONDS * 1_000),
            Self::Codex => {
                entry["startup_timeout_sec"] = json!(START_TIMEOUT_SECONDS);
                entry["tool_timeout_sec"] = json!(CALL_TIMEOUT_SECONDS);
            }
            Self::Gemini => {
                entry["timeout"] = json!(CALL_TIMEOUT_SECONDS * 1_000);
                // Without it, Gemini asks for confirmation before every call.
                entry["trust"] = json!(true);
            }
        }
        entry
    }

    /// The hooks for tool calls, the end of a turn and the start of a session. Gemini has a different hook format.
    pub(super) fn hooks(
        self,
        homes: &UserDirs,
        scope: &Scope,
        command: &SelfCommand,
        start: bool,
    ) -> Option<InitTarget> {
        let path = match (scope, self) {
            (Scope::Project(root), Self::Claude) => root.join(".claude/settings.json"),
            (Scope::User, Self::Claude) => homes.claude.join("settings.json"),
            (Scope::Project(root), Self::Codex) => root.join(".codex/hooks.json"),
            (Scope::User, Self::Codex) => homes.codex.join("hooks.json"),
            (_, Self::Gemini) => return None,
        };
        let hook = |event, matcher, subcommand: &'static str, option: &str| {
            let line = format!("{} {subcommand}{option}{}", command.shell_word(), command.shell_options());
            Fragment::Hook {
                event,
                matcher,
                subcommand,
                handler: json!({ "type": "command", "command": line, "timeout": HOOK_TIMEOUT_SECONDS }),
            }
        };
        let option = if start { " --start" } else { "" };
        let fragments = vec![
            hook("PreToolUse", Some("Bash"), "hook pre-tool-use", ""),
            hook("Stop", None, "hook stop", ""),
            hook("SessionStart", None, "hook session-start", option),
        ];
        Some(InitTarget::new(path, Kind::ClientHooks, fragments))
    }

    /// What the user has to do in the client.
    pub(super) fn note(self, homes: &UserDirs, scope: &Scope) -> Option<String> {
        let Scope::Project(root) = scope else { return None };
        match self {
            Self::Claude => {
                Some("Claude Code asks once whether to use the server in .mcp.json; `claude mcp list` shows the state".into())
            }
            Self::Codex if is_trusted(&homes.codex, root) => None,
            Self::Codex => Some(
                "Codex reads .codex/ only in trusted projects; it asks when you start it here, and `codex mcp list` shows the state"
                    .into(),
            ),
            Self::Gemini => None,
        }
    }
}

fn is_trusted(codex: &Path, root: &Path) -> bool {
    let text = std::fs::read_to_string(codex.join("config.toml")).unwrap_or_default();
    let Ok(settings) = text.parse::<toml::Table>() else { return false };
    let level = |settings: &toml::Table| {
        let project = settings.get("projects")?.get(root.to_str()?)?;
        project.get("trust_level")?.as_str().map(str::to_owned)
    };
    level(&settings).as_deref() == Some("trusted")
}
