//! Loads settings and personas, and defines the paths of all files in the data folder.
//!
//! Settings come in layers: `default.toml` < the user's file < the project's file < `--config` < `COUNTERSIGN_*` <
//! flags. The embedded `default.toml` defines all defaults, the table in `schema` all bounds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use domain::default_panel::DefaultPanel;
use domain::diff::FlagKind;
use domain::git_engine_mode::EngineMode;
use domain::glob::Globs;
use domain::persona::Personas;
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::{Deserialize, Serialize};

pub mod data_dir;
mod default_panel;
mod defaults;
mod error;
mod lock_holder;
mod merge;
mod personas;
pub mod planning_config;
pub mod reviewer_log_files;
mod reviewer_pool;
mod schema;
mod setting_values;
mod sources;
mod validate;
mod webhooks;

pub use data_dir::{DataDir, DataDirLock, LockError, ProofKey, RegisteredProject, RunningBroker};
pub use defaults::{DefaultSetting, default_settings};
pub use error::{ConfigError, Origin, display_value};
pub use merge::Loaded;
pub use reviewer_pool::{Pool, SandboxMode};
pub use setting_values::{SettingName, setting_names};
pub use sources::{Flag, SettingsFile, Sources};
pub use webhooks::{Receiver, Webhooks};

const DEFAULTS: &str = include_str!("../default.toml");

/// All settings, validated. [`Config::load`] reads them; `default()` is `config/default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: Server,
    pub auth: Auth,
    pub log: Log,
    pub claims: Claims,
    pub reviews: Reviews,
    pub limits: domain::size_limits::Limits,
    pub wait: Wait,
    pub git: Git,
    pub store: Store,
    pub events: Events,
    pub webhooks: Webhooks,
    pub panel: DefaultPanel,
    pub gate: GateDefaults,
    pub pool: Pool,
    /// Read from their own files.
    #[serde(skip, default = "personas::built_in")]
    pub personas: Personas,
    /// Projects in addition to the repository that the broker was started in.
    #[serde(default)]
    pub projects: BTreeMap<String, Project>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub listen: SocketAddr,
    /// Additional allowed values of the Host header.
    pub hosts: Vec<String>,
    /// Absolute once loaded; empty only in `Config::default()`.
    pub data_dir: DataDir,
    pub max_connections: usize,
    #[serde(with = "duration")]
    pub header_timeout: Duration,
    #[serde(with = "duration")]
    pub body_timeout: Duration,
    #[serde(with = "duration")]
    pub write_timeout: Duration,
    /// Whether commands start a missing broker.
    pub auto_start: bool,
    /// After this time without work, a broker that was started by a command ends.
    #[serde(with = "duration")]
    pub idle_exit: Duration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    pub required: bool,
    pub local_users: LocalUsers,
    #[serde(with = "duration")]
    pub session_lifetime: Duration,
}

/// The users of this machine that need no token, unless `auth.required` is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalUsers {
    Own,
    Any,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub filter: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    #[serde(with = "duration")]
    pub lease: Duration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reviews {
    #[serde(with = "duration")]
    pub idle_after: Duration,
    pub max_live: usize,
    pub max_rounds: u32,
    pub max_exchanges: u32,
    pub choose_priority: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    #[serde(with = "duration")]
    pub default: Duration,
    #[serde(with = "duration")]
    pub max: Duration,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Git {
    pub program: PathBuf,
    #[serde(with = "duration")]
    pub time_limit: Duration,
    pub concurrency: usize,
    pub engine: EngineMode,
    /// Flags for which a diff is refused.
    pub refuse: Vec<FlagKind>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub readers: u32,
    pub max_batch: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Most streams that may be open.
    pub max_streams: usize,
    /// Most events that may wait for one subscriber.
    pub queue: usize,
}

/// Defaults of gates and hooks. Options of the command line take precedence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateDefaults {
    pub fail: FailMode,
    pub exempt: Globs,
    pub receipt: ReceiptKind,
    /// The user signs votes with an SSH key.
    pub sign_votes: bool,
}

/// What a hook does if the gate cannot decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailMode {
    Open,
    Closed,
}

/// Where a hook records an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptKind {
    None,
    Note,
    Trailer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    pub path: PathBuf,
    /// Whether git filters of the project may run when a diff is checked.
    #[serde(default)]
    pub trusted: bool,
    /// What the reviewers of the pool may do with their copy of the project.
    #[serde(default)]
    pub reviewer_copy: ReviewerCopy,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewerCopy {
    #[default]
    ReadOnly,
    /// Change it, and run tests in it. It has a repository of its own.
    Writable,
}

impl Config {
    /// Reads and merges all layers. The error lists all problems.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        merge::load(sources)
    }
}

impl Default for Config {
    fn default() -> Self {
        match toml::from_str(DEFAULTS) {
            Ok(config) => config,
            Err(error) => unreachable!("config/default.toml is built in and tested: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;
