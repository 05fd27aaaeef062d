//! Settings of the reviewer pool, and checks between them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use domain::reviewer_prompt;
use domain::runtime::{Effort, Runtime, RuntimeSettings, Wsl};
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::error::{Origin, Problem, display_value};
use crate::setting_key::Key;
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
    /// Given together with `workspace_wsl_path` or not at all.
    #[serde(with = "or_empty")]
    pub wsl_distro: Option<String>,
    #[serde(with = "or_empty")]
    pub workspace_wsl_path: Option<String>,
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
pub(crate) fn contradictions(settings: &BTreeMap<Key, (Value, Origin)>) -> Vec<Problem> {
    let all = Settings(settings);
    let is_command = all.text("runtime") == "command";
    let command = all.list("command");
    let mut problems = Vec::new();
    let mut blame = |name: &str, text: String| problems.extend(all.problem(name, text));
    if is_command && !command.first().and_then(Value::as_str).is_some_and(is_program) {
        let begins = "a list that begins with the name of a program or its absolute path";
        if command.is_empty() {
            blame("runtime", format!("expected pool.command beside it, {begins}"));
        } else {
            blame("command", format!("expected {begins}"));
        }
    }
    if !is_command && !command.is_empty() {
        blame("command", format!("expected [], since pool.runtime is {}", all.describe("runtime")));
    }
    for name in ["program", "model", "effort"] {
        if is_command && !all.text(name).is_empty() {
            let text = "expected \"\", since pool.command says it all when pool.runtime is";
            blame(name, format!("{text} {}", all.describe("runtime")));
        }
    }
    let model = all.text("model");
    if !model.is_empty() && !all.list("models").iter().any(|allowed| allowed.as_str() == Some(model)) {
        blame("model", format!("expected one of pool.models, which is {}", all.describe("models")));
    }
    for (name, other) in [("wsl_distro", "workspace_wsl_path"), ("workspace_wsl_path", "wsl_distro")] {
        if !all.text(name).is_empty() && all.text(other).is_empty() {
            blame(name, format!("expected pool.{other} beside it: both or neither"));
        }
    }
    if let Err(text) = check_prompt(all.text("prompt")) {
        blame("prompt", text);
    }
    problems
}

fn check_prompt(file: &str) -> Result<(), String> {
    if file.is_empty() {
        return Ok(());
    }
    let mut template = String::new();
    let read = File::open(file).and_then(|file| file.take(MAX_PROMPT_BYTES + 1).read_to_string(&mut template));
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(_) if template.len() as u64 > MAX_PROMPT_BYTES => {
            Err(format!("expected a file of at most {} KiB", MAX_PROMPT_BYTES >> 10))
        }
        Ok(_) if template.trim().is_empty() => Err("expected a file with text in it".to_owned()),
        Ok(_) => reviewer_prompt::check(&template).map_err(|error| error.to_string()),
    }
}

/// The settings of this section, by their short names.
struct Settings<'a>(&'a BTreeMap<Key, (Value, Origin)>);

impl<'a> Settings<'a> {
    fn get(&self, name: &str) -> Option<&'a (Value, Origin)> {
        self.0.get(&Key::new(["pool", name]))
    }

    fn text(&self, name: &str) -> &'a str {
        self.get(name).and_then(|(value, _)| value.as_str()).unwrap_or_default()
    }

    fn list(&self, name: &str) -> &'a [Value] {
        self.get(name).and_then(|(value, _)| value.as_array()).map_or(&[], Vec::as_slice)
    }

    /// The value and its origin.
    fn describe(&self, name: &str) -> String {
        self.get(name).map_or_else(String::new, |(value, origin)| format!("{} ({origin})", display_value(value)))
    }

    fn problem(&self, name: &str, text: String) -> Option<Problem> {
        let (value, origin) = self.get(name)?;
        Some(Problem::in_setting(origin, &Key::new(["pool", name]), value, text))
    }
}

/// Serialises `None` as an empty string.
pub(crate) mod or_empty {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IntoDeserializer as _};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(to),
            None => "".serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        match String::deserialize(from)? {
            text if text.is_empty() => Ok(None),
            text => T::deserialize(text.into_deserializer()).map(Some),
        }
    }
}
