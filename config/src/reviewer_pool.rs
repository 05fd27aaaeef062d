//! The settings of the reviewer pool as a type, and the checks that they do not contradict each other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::reviewer_prompt;
use domain::runtime::{Effort, Runtime, RuntimeSettings, Wsl};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::error::Problem;
use crate::setting_values::Settings;
use crate::sources::read_prompt;
use crate::validate::is_program;

const MAX_PROMPT_BYTES: u64 = 256 << 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    pub enabled: bool,
    pub runtime: Runtime,
    #[serde(with = "or_empty")]
    pub program: Option<PathBuf>,
    /// Not empty exactly when `runtime` is [`Runtime::Command`].
    pub command: Vec<String>,
    /// One of `models`.
    #[serde(with = "or_empty")]
    pub model: Option<String>,
    pub models: Vec<String>,
    #[serde(with = "or_empty")]
    pub effort: Option<Effort>,
    /// Absolute; existed when it was loaded.
    #[serde(with = "or_empty")]
    pub workspace: Option<PathBuf>,
    pub sandbox: SandboxMode,
    /// Absolute.
    pub readable: Vec<PathBuf>,
    #[serde(with = "or_empty")]
    pub work_dir: Option<PathBuf>,
    pub environment: Vec<String>,
    /// A file with a template that was valid when it was loaded.
    #[serde(with = "or_empty")]
    pub prompt: Option<PathBuf>,
    pub max_size: usize,
    pub ratio: u32,
    #[serde(with = "duration")]
    pub cooldown: Duration,
    #[serde(with = "duration")]
    pub idle_after: Duration,
    #[serde(with = "duration")]
    pub ttl: Duration,
    #[serde(with = "duration")]
    pub check_every: Duration,
    #[serde(with = "duration")]
    pub stop_grace: Duration,
    pub max_failures: u32,
    #[serde(with = "duration")]
    pub keep_sessions: Duration,
    /// Given together with `workspace_wsl_path` or not at all.
    #[serde(with = "or_empty")]
    pub wsl_distro: Option<String>,
    #[serde(with = "or_empty")]
    pub workspace_wsl_path: Option<String>,
}

/// Whether reviewers run in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Where the system supports it.
    Auto,
    /// No reviewer runs without one.
    Required,
    Off,
}

impl Pool {
    pub fn runtime_settings(&self) -> RuntimeSettings {
        let wsl = self.wsl_distro.clone().zip(self.workspace_wsl_path.clone());
        RuntimeSettings {
            runtime: self.runtime,
            program: self.program.clone(),
            command: self.command.clone(),
            model: self.model.clone(),
            effort: self.effort,
            environment: self.environment.clone(),
            wsl: wsl.map(|(distro, workspace)| Wsl { distro, workspace }),
        }
    }
}

/// Problems between settings that are valid by themselves. A setting without effect counts as a problem.
pub(crate) fn contradictions(settings: &Settings) -> Vec<Problem> {
    let is_command = settings.text("pool.runtime") == "command";
    let command = settings.list("pool.command");
    let mut problems = Vec::new();
    let mut blame = |name: &str, text: String| problems.extend(settings.problem(&format!("pool.{name}"), text));
    if is_command && !command.first().and_then(Value::as_str).is_some_and(is_program) {
        let begins = "a list that begins with the name of a program or its absolute path";
        if command.is_empty() {
            blame("runtime", format!("expected pool.command beside it, {begins}"));
        } else {
            blame("command", format!("expected {begins}"));
        }
    }
    if !is_command && !command.is_empty() {
        blame("command", format!("expected [], since pool.runtime is {}", settings.describe("pool.runtime")));
    }
    for name in ["program", "model", "effort"] {
        if is_command && settings.is_given(&format!("pool.{name}")) {
            let text = "expected \"\", since pool.command says it all when pool.runtime is";
            blame(name, format!("{text} {}", settings.describe("pool.runtime")));
        }
    }
    let model = settings.text("pool.model");
    if !model.is_empty() && !settings.allows("pool.models", model) {
        blame("model", format!("expected one of pool.models, which is {}", settings.describe("pool.models")));
    }
    for (name, other) in [("wsl_distro", "workspace_wsl_path"), ("workspace_wsl_path", "wsl_distro")] {
        if settings.is_given(&format!("pool.{name}")) && !settings.is_given(&format!("pool.{other}")) {
            blame(name, format!("expected pool.{other} beside it: both or neither"));
        }
    }
    let prompt = settings.text("pool.prompt");
    if !prompt.is_empty()
        && let Err(text) = check_prompt(Path::new(prompt))
    {
        blame("prompt", text);
    }
    problems
}

fn check_prompt(file: &Path) -> Result<(), String> {
    let template = read_prompt(file, MAX_PROMPT_BYTES)?;
    reviewer_prompt::check(&template).map_err(|error| error.to_string())
}

/// Serialises `None` as an empty string.
mod or_empty {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IntoDeserializer as _};

    pub(super) fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(to),
            None => "".serialize(to),
        }
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        match String::deserialize(from)? {
            text if text.is_empty() => Ok(None),
            text => T::deserialize(text.into_deserializer()).map(Some),
        }
    }
}
