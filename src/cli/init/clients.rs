//! The clients we know: how to tell that one is here, where it keeps its settings, and what it wants to hear.

use super::{
    atomic_write::FileMode,
    edit::Fragment,
    self_path::Program,
    target::{InitTarget, Kind},
};
use serde_json::{Value, json};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Longer than any call of ours waits (50 seconds), shorter than anybody's patience.
const CALL_SECONDS: u64 = 120;
/// The bridge may have to start a broker first.
const START_SECONDS: u64 = 30;
/// More than a hook takes to say that it cannot tell.
const HOOK_SECONDS: u64 = 60;

/// The name under which clients know us; tools are called `mcp__countersign__…` after it.
const NAME: &str = "countersign";

/// All that we ever write into an entry.
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
    /// The bridge, which finds the broker or starts it.
    Stdio {
        program: String,
        args: Vec<String>,
    },
    Http {
        url: String,
    },
}

/// Where the user's own settings are.
#[derive(Debug, Clone)]
pub(super) struct UserDirs {
    pub home: PathBuf,
    /// `~/.claude`, or where the user has put it.
    pub claude: PathBuf,
    claude_json: PathBuf,
    pub codex: PathBuf,
}

impl UserDirs {
    pub(super) fn of_this_user() -> Option<Self> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty())?;
        let given = |name: &str| env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let claude = given("CLAUDE_CONFIG_DIR");
        let claude_json = claude.clone().unwrap_or_else(|| home.clone()).join(".claude.json");
        let claude = claude.unwrap_or_else(|| home.join(".claude"));
        let codex = given("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        Some(Self { home, claude, claude_json, codex })
    }
}

/// Whose settings: a project's, or the user's own for all of them.
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

    /// By what one can tell that it is used here, if it is.
    pub(super) fn found(self, homes: &UserDirs, scope: &Scope) -> Option<String> {
        if let Some(program) = super::self_path::in_path(self.program()) {
            return Some(program.display().to_string());
        }
        let own = match self {
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
        own.into_iter().chain(here).find(|path| path.exists()).map(|path| path.display().to_string())
    }

    /// The entry among the servers that it uses.
    pub(super) fn server(self, homes: &UserDirs, scope: &Scope, way: &Transport) -> InitTarget {
        let own = match self {
            Self::Claude => homes.claude_json.clone(),
            Self::Codex => homes.codex.join("config.toml"),
            Self::Gemini => homes.home.join(".gemini/settings.json"),
        };
        let (path, or_at) = match (scope, self) {
            (Scope::User, _) => (own, None),
            (Scope::Project(root), Self::Claude) => (root.join(".mcp.json"), Some(own)),
            (Scope::Project(root), Self::Codex) => (root.join(".codex/config.toml"), Some(own)),
            (Scope::Project(root), Self::Gemini) => (root.join(".gemini/settings.json"), Some(own)),
        };
        let piece = match self {
            Self::Claude | Self::Gemini => {
                let path = vec!["mcpServers".into(), NAME.into()];
                Fragment::Json { path, value: self.entry(way), keys: JSON_KEYS }
            }
            Self::Codex => {
                let path = vec!["mcp_servers".into(), NAME.into()];
                Fragment::Toml { path, value: self.entry(way), keys: TOML_KEYS }
            }
        };
        let make = if or_at.is_some() { FileMode::Default } else { FileMode::Private };
        InitTarget { or_at, make, ..InitTarget::new(path, Kind::Server, vec![piece]) }
    }

    fn entry(self, way: &Transport) -> Value {
        let mut entry = match (way, self) {
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
            Self::Claude => entry["timeout"] = json!(CALL_SECONDS * 1_000),
            Self::Codex => {
                entry["startup_timeout_sec"] = json!(START_SECONDS);
                entry["tool_timeout_sec"] = json!(CALL_SECONDS);
            }
            Self::Gemini => {
                entry["timeout"] = json!(CALL_SECONDS * 1_000);
                // Else it asks before every call, also before each of a waiting loop.
                entry["trust"] = json!(true);
            }
        }
        entry
    }

    /// What it runs before a command, at the end of a turn and at the start of a session. Gemini has other hooks.
    pub(super) fn hooks(self, homes: &UserDirs, scope: &Scope, program: &Program, start: bool) -> Option<InitTarget> {
        let path = match (scope, self) {
            (Scope::Project(root), Self::Claude) => root.join(".claude/settings.json"),
            (Scope::User, Self::Claude) => homes.claude.join("settings.json"),
            (Scope::Project(root), Self::Codex) => root.join(".codex/hooks.json"),
            (Scope::User, Self::Codex) => homes.codex.join("hooks.json"),
            (_, Self::Gemini) => return None,
        };
        let hook = |event, matcher, ending: &'static str, option: &str| {
            let command = format!("{} {ending}{option}{}", program.in_shell(), program.options_in_shell());
            Fragment::Hook {
                event,
                matcher,
                ending,
                handler: json!({ "type": "command", "command": command, "timeout": HOOK_SECONDS }),
            }
        };
        let option = if start { " --start" } else { "" };
        let pieces = vec![
            hook("PreToolUse", Some("Bash"), "hook pre-tool-use", ""),
            hook("Stop", None, "hook stop", ""),
            hook("SessionStart", None, "hook session-start", option),
        ];
        Some(InitTarget::new(path, Kind::ClientHooks, pieces))
    }

    /// What it still asks the user, or what the user has to do.
    pub(super) fn word(self, homes: &UserDirs, scope: &Scope) -> Option<String> {
        let Scope::Project(root) = scope else { return None };
        match self {
            Self::Claude => {
                Some("Claude Code asks once whether to use the server of .mcp.json; `claude mcp list` shows it".into())
            }
            Self::Codex if trusts(&homes.codex, root) => None,
            Self::Codex => Some(
                "Codex reads .codex/ only of projects that you trust: it asks when you start it here; `codex mcp list` shows it"
                    .into(),
            ),
            Self::Gemini => None,
        }
    }
}

fn trusts(codex: &Path, root: &Path) -> bool {
    let text = std::fs::read_to_string(codex.join("config.toml")).unwrap_or_default();
    let Ok(settings) = text.parse::<toml::Table>() else { return false };
    let level = |settings: &toml::Table| {
        let project = settings.get("projects")?.get(root.to_str()?)?;
        project.get("trust_level")?.as_str().map(str::to_owned)
    };
    level(&settings).as_deref() == Some("trusted")
}
