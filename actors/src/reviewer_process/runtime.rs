//! Builds the command line and environment of a reviewer process.
//!
//! No shell is involved. The token is passed in an environment variable and never in argv, which every process of the
//! machine may read. The user's own settings of the client stay untouched.

pub use domain::runtime::{
    Effort, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, Runtime, RuntimeSettings, SESSION_DIR_VARIABLE,
    SESSION_ID_VARIABLE, TOKEN_VARIABLE, TURN_VARIABLE, Wsl,
};

use super::ProcessSpec;
use domain::runtime::WSL_PROGRAM;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env::{join_paths, split_paths},
    path::Path,
};

/// The name of the broker in the client's configuration, and so in the names of its tools.
const SERVER_NAME: &str = "countersign";

/// The built-in tools that only read.
const READ_TOOLS: &str = "Read,Grep,Glob";

/// Variables that are passed on if the broker has them: where programs and settings are, who the user is, how text is
/// encoded. None of them is ever a secret; proxy settings are left out because they may contain a password.
const ALLOWED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // Needed to reach the model where an organisation has its own certificates.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // A Windows program does not start without SystemRoot.
    "SystemRoot",
    "SystemDrive",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramData",
    "TEMP",
    "TMP",
];

/// What differs from one process to the next.
#[derive(Clone)]
pub struct Launch<'a> {
    pub reviewer_id: &'a str,
    /// The program found by [`RuntimeSettings::find_program`]; `None` uses its name in the settings.
    pub program: Option<&'a Path>,
    /// The current directory of the process.
    pub workspace: &'a Path,
    pub mode: RunMode<'a>,
    pub prompt: String,
}

/// How the client reviews.
#[derive(Clone, Copy)]
pub enum RunMode<'a> {
    /// It claims reviews by itself.
    Agent {
        token: &'a str,
        /// The broker's `/mcp/reviewer`.
        mcp_url: &'a str,
    },
    /// It responds to its prompt once. It does not connect to the broker and gets no token.
    OneShot {
        /// The JSON Schema of the response, as text and as a file.
        schema: &'a str,
        schema_file: &'a Path,
        /// What the run may cost, for clients that support such a limit.
        budget_usd: Option<f64>,
    },
    /// It takes one turn in a review whose seat the broker holds for it.
    Dedicated { token: &'a str, mcp_url: &'a str, session: SessionLaunch<'a>, budget_usd: Option<f64> },
}

/// The session that a dedicated reviewer begins or continues.
#[derive(Clone, Copy)]
pub struct SessionLaunch<'a> {
    /// The client's folder for its login, settings and sessions, instead of the user's.
    pub home: &'a Path,
    /// `None`: a new session, whose id the client chooses.
    pub id: Option<&'a str>,
    pub resumes: bool,
    pub turn: u32,
}

impl RunMode<'_> {
    /// The token and the address of a reviewer that connects to the broker.
    const fn connection(&self) -> Option<(&str, &str)> {
        match self {
            Self::Agent { token, mcp_url } | Self::Dedicated { token, mcp_url, .. } => Some((token, mcp_url)),
            Self::OneShot { .. } => None,
        }
    }
}

impl Launch<'_> {
    /// The process to start. `own_env` looks up a variable of the broker itself.
    pub fn process_spec(self, settings: &RuntimeSettings, own_env: impl Fn(&str) -> Option<String>) -> ProcessSpec {
        let env = self.environment(settings, own_env);
        let workspace = match &settings.wsl {
            Some(wsl) => wsl.workspace.clone(),
            None => self.workspace.to_string_lossy().into_owned(),
        };
        let mut argv = match settings.runtime {
            Runtime::Codex => codex_argv(settings, self.mode, &workspace),
            Runtime::Claude => claude_argv(settings, self.mode),
            Runtime::Command => settings.command.clone(),
        };
        match (&settings.wsl, self.program, argv.first_mut()) {
            (Some(wsl), _, _) => argv = wsl_argv(wsl, argv),
            (None, Some(program), Some(first)) => *first = program.to_string_lossy().into_owned(),
            (None, _, _) => {}
        }
        ProcessSpec { argv, env, cwd: self.workspace.to_owned(), prompt: self.prompt, sandbox: None }
    }

    fn environment(
        &self,
        settings: &RuntimeSettings,
        own_env: impl Fn(&str) -> Option<String>,
    ) -> Vec<(String, String)> {
        let inherit = |name: &str| Some((name.to_owned(), own_env(name)?));
        let allowed = ALLOWED_VARIABLES.iter().chain(config_variables(settings.runtime));
        let mut env: BTreeMap<_, _> = allowed.filter_map(|name| inherit(name)).collect();
        if settings.wsl.is_none()
            && let Some(path) = env.remove("PATH").as_deref().and_then(absolute_entries)
        {
            env.insert("PATH".to_owned(), path);
        }
        // The broker's own variables are added last, so that a configured name cannot replace them.
        let mut added: BTreeMap<_, _> = settings.environment.iter().filter_map(|name| inherit(name)).collect();
        added.extend(self.own_variables(settings.runtime));
        if settings.wsl.is_some() {
            // WSL passes on the variables named in WSLENV; `/u` means only from Windows to Linux.
            let names: Vec<_> = added.keys().map(|name| format!("{name}/u")).collect();
            env.insert("WSLENV".to_owned(), names.join(":"));
        }
        env.extend(added);
        env.into_iter().collect()
    }

    fn own_variables(&self, runtime: Runtime) -> impl Iterator<Item = (String, String)> {
        let mut variables = vec![(REVIEWER_ID_VARIABLE, self.reviewer_id.to_owned())];
        if let Some((token, mcp_url)) = self.mode.connection() {
            variables.extend([(TOKEN_VARIABLE, token.to_owned()), (MCP_URL_VARIABLE, mcp_url.to_owned())]);
        }
        if let RunMode::Dedicated { session, .. } = self.mode {
            let home = session.home.to_string_lossy();
            variables.extend(config_variables(runtime).iter().map(|name| (*name, home.clone().into_owned())));
            variables.extend([(SESSION_DIR_VARIABLE, home.into_owned()), (TURN_VARIABLE, session.turn.to_string())]);
            variables.extend(session.id.map(|id| (SESSION_ID_VARIABLE, id.to_owned())));
        }
        // Several reviewers at once must not replace the program they run.
        variables.extend((runtime == Runtime::Claude).then(|| ("DISABLE_AUTOUPDATER", "1".to_owned())));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value))
    }
}

/// Variables that say where the client keeps the user's login and settings.
pub(crate) const fn config_variables(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Codex => &["CODEX_HOME"],
        Runtime::Claude => &["CLAUDE_CONFIG_DIR"],
        Runtime::Command => &[],
    }
}

/// PATH without relative entries such as `.`, through which a file in the workspace could be run as a program.
fn absolute_entries(path: &str) -> Option<String> {
    let entries: Vec<_> = split_paths(path).filter(|entry| entry.is_absolute()).collect();
    let path = join_paths(entries).ok()?.into_string().ok()?;
    (!path.is_empty()).then_some(path)
}

/// Runs argv inside WSL. `--exec` bypasses the user's shell, and with it the profile, so a client outside of the default
/// PATH has to be given by its path.
fn wsl_argv(wsl: &Wsl, argv: Vec<String>) -> Vec<String> {
    let start = strings([WSL_PROGRAM, "--distribution", &wsl.distro, "--cd", &wsl.workspace, "--exec"]);
    start.into_iter().chain(argv).collect()
}

fn strings<const N: usize>(values: [&str; N]) -> [String; N] {
    values.map(str::to_owned)
}

/// `claude -p`
fn claude_argv(settings: &RuntimeSettings, mode: RunMode<'_>) -> Vec<String> {
    let mut argv = vec![settings.program_or("claude"), "-p".to_owned()];
    let allowed = match mode.connection() {
        Some((_, mcp_url)) => {
            argv.extend(strings(["--mcp-config", &claude_servers(mcp_url)]));
            format!("mcp__{SERVER_NAME}__*,{READ_TOOLS}")
        }
        None => READ_TOOLS.to_owned(),
    };
    // Ignores the servers of the user's own settings.
    argv.push("--strict-mcp-config".to_owned());
    // Ignores settings and hooks in the workspace: a proposal could add a hook that runs commands as the user. Also limits
    // Read to the workspace.
    argv.extend(strings(["--restricted", "--tools", READ_TOOLS, "--allowedTools", &allowed]));
    argv.extend(strings(["--output-format", "stream-json", "--verbose"]));
    let budget_usd = match mode {
        RunMode::Agent { .. } => None,
        RunMode::OneShot { budget_usd, .. } | RunMode::Dedicated { budget_usd, .. } => budget_usd,
    };
    match mode {
        RunMode::Dedicated { session: SessionLaunch { id: Some(id), resumes, .. }, .. } => {
            argv.extend(strings([if resumes { "--resume" } else { "--session-id" }, id]));
        }
        RunMode::Dedicated { .. } => {}
        RunMode::Agent { .. } | RunMode::OneShot { .. } => argv.push("--no-session-persistence".to_owned()),
    }
    if let RunMode::OneShot { schema, .. } = mode {
        argv.extend(strings(["--json-schema", schema]));
    }
    if let Some(budget) = budget_usd {
        argv.extend(strings(["--max-budget-usd", &budget.to_string()]));
    }
    if let Some(model) = &settings.model {
        argv.extend(strings(["--model", model]));
    }
    if let Some(effort) = settings.effort {
        argv.extend(strings(["--effort", effort.as_str()]));
    }
    argv
}

fn claude_servers(mcp_url: &str) -> String {
    // The client replaces the variable by its value.
    let authorization = format!("Bearer ${{{TOKEN_VARIABLE}}}");
    let server = json!({ "type": "http", "url": mcp_url, "headers": { "Authorization": authorization } });
    json!({ "mcpServers": { SERVER_NAME: server } }).to_string()
}

/// `codex exec`
fn codex_argv(settings: &RuntimeSettings, mode: RunMode<'_>, workspace: &str) -> Vec<String> {
    let mut argv = vec![settings.program_or("codex")];
    let resumed = match mode {
        RunMode::Dedicated { session: SessionLaunch { id, resumes: true, .. }, .. } => id,
        RunMode::Dedicated { .. } | RunMode::Agent { .. } | RunMode::OneShot { .. } => None,
    };
    argv.extend(strings(["exec", "--sandbox", "read-only", "-C", workspace]));
    // `resume` does not know the options before it, and inherits nothing from the session except its conversation.
    argv.extend(resumed.map(|_| "resume".to_owned()));
    argv.extend(strings(["--json", "--skip-git-repo-check"]));
    if !matches!(mode, RunMode::Dedicated { .. }) {
        argv.push("--ephemeral".to_owned());
    }
    if let Some(model) = &settings.model {
        argv.extend(strings(["-m", model]));
    }
    // Values are TOML, which writes strings, numbers and booleans like JSON.
    let mut set = |key: &str, value: Value| argv.extend(["-c".to_owned(), format!("{key}={value}")]);
    if let Some(effort) = settings.effort {
        set("model_reasoning_effort", effort.as_str().into());
    }
    // By default every command that the model runs gets the whole environment of Codex, including the token.
    set("shell_environment_policy.inherit", "core".into());
    // A client that reads untrusted text must not be able to send data out.
    set("web_search", "disabled".into());
    match mode {
        RunMode::Agent { mcp_url, .. } | RunMode::Dedicated { mcp_url, .. } => {
            for (key, value) in [
                ("url", json!(mcp_url)),
                ("bearer_token_env_var", json!(TOKEN_VARIABLE)),
                // Without it the first turn may start before the broker's tools are available.
                ("required", json!(true)),
                ("startup_timeout_sec", json!(30)),
                // Longer than the longest wait that the broker allows.
                ("tool_timeout_sec", json!(120)),
            ] {
                set(&format!("mcp_servers.{SERVER_NAME}.{key}"), value);
            }
        }
        RunMode::OneShot { schema_file, .. } => {
            argv.extend(["--output-schema".to_owned(), schema_file.to_string_lossy().into_owned()]);
        }
    }
    argv.extend(resumed.map(str::to_owned));
    argv.push("-".to_owned());
    argv
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
