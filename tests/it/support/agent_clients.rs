//! Runs the real Codex and Claude Code against a broker, with a scripted model.
//!
//! A client gets an empty environment, a home of its own that ends with the run, made-up keys and
//! a proxy that does not answer. What an administrator put into `/etc` (managed settings) it still
//! reads.

mod claude;
mod codex;
pub(crate) mod installed;
mod outcome;
mod process;

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use super::model_server::ModelServer;
pub(crate) use outcome::ClientOutcome;
pub(crate) use process::Running;

/// The broker's name in the clients' configuration.
const SERVER_NAME: &str = "countersign";

/// After this time a client is killed with all its processes.
const TIME_LIMIT: Duration = Duration::from_secs(90);

/// Whether tests with the real clients are skipped. Prints what is skipped.
pub(crate) fn are_skipped(what: &str) -> bool {
    let skipped = std::env::var_os("COUNTERSIGN_SKIP_CLIENTS").is_some_and(|set| !set.is_empty());
    if skipped {
        eprintln!("SKIPPED by COUNTERSIGN_SKIP_CLIENTS: {what}");
    }
    skipped
}

/// A client, and for Codex how it shows tools to the model, which goes by the model's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Each tool is a function.
    Codex,
    /// Tools have to be searched for first.
    CodexToolSearch,
    /// Tools are only there for programs that the model writes.
    CodexCodeMode,
    Claude,
}

impl Client {
    /// A budget in the settings of a persona. Codex reports no cost, so it can have none.
    pub(crate) const fn budget(self) -> &'static str {
        match self {
            Self::Claude => "budget_usd = 5.0\n",
            Self::Codex | Self::CodexToolSearch | Self::CodexCodeMode => "",
        }
    }

    /// The environment in which this client uses `model`. Writes the client's configuration into `home`.
    pub(crate) fn environment(self, model: &ModelServer, home: &Path) -> Vec<(String, String)> {
        let path = |below: &str| home.join(below).to_str().unwrap().to_owned();
        std::fs::create_dir_all(path("tmp")).unwrap();
        let common = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("HOME", path("")),
            ("TMPDIR", path("tmp")),
            ("XDG_CONFIG_HOME", path(".config")),
            ("XDG_CACHE_HOME", path(".cache")),
            ("XDG_DATA_HOME", path(".local/share")),
            ("XDG_STATE_HOME", path(".local/state")),
            // The discard port is closed, so every HTTPS request fails at once.
            ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ];
        let own = match self {
            Self::Codex => codex::environment("scripted", model, home),
            Self::CodexToolSearch => codex::environment("gpt-5.5", model, home),
            Self::CodexCodeMode => codex::environment("gpt-6.1-sol", model, home),
            Self::Claude => claude::environment(model, home),
        };
        common.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// How the client reaches the broker.
enum Server {
    Http { url: String },
    Stdio { command: String, args: Vec<String> },
}

/// A client about to be run. No tool of the broker is approved for Codex beforehand, so it refuses
/// each whose annotations do not say that it is harmless. (Claude Code asks for any tool, so for it
/// they are allowed.)
pub(crate) struct ClientRun<'a> {
    client: Client,
    model: &'a ModelServer,
    server: Server,
}

impl<'a> ClientRun<'a> {
    /// With the broker's MCP address.
    pub(crate) fn new(client: Client, model: &'a ModelServer, broker: &str) -> Self {
        Self::with(client, model, Server::Http { url: broker.to_owned() })
    }

    /// With a command that speaks MCP on stdio.
    pub(crate) fn over_stdio(client: Client, model: &'a ModelServer, command: &Path, args: &[&str]) -> Self {
        let command = command.to_str().unwrap().to_owned();
        let args = args.iter().map(ToString::to_string).collect();
        Self::with(client, model, Server::Stdio { command, args })
    }

    fn with(client: Client, model: &'a ModelServer, server: Server) -> Self {
        Self { client, model, server }
    }

    /// It takes the prompt from stdin.
    fn command(&self, home: &Path) -> Command {
        let mut command = match self.client {
            Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => codex::command(self),
            Client::Claude => claude::command(self),
        };
        command.env_clear().envs(self.client.environment(self.model, home));
        command
    }
}
