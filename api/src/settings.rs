//! Response types for the settings of the broker, with where each value comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

/// Response of get_config: the settings in force, as the broker read them when it started. Secrets are hidden.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Config {
    /// Sorted by name.
    pub settings: Vec<Setting>,
    /// The files that the broker reads if they exist. Later ones win.
    pub files: Vec<ConfigFile>,
}

/// One setting of the broker.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// For example claims.lease.
    pub name: String,
    pub value: Value,
    /// The value without any file, variable or option. Absent if the setting has none.
    pub default: Option<Value>,
    pub layer: SettingLayer,
    /// The file, the variable or the option that sets it. Absent if it has its default.
    pub source: Option<String>,
    /// What it does.
    pub description: Option<String>,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingLayer {
    Default,
    /// The user's file.
    UserFile,
    /// The project's file.
    ProjectFile,
    /// The file of --config.
    NamedFile,
    Environment,
    /// An option of the command that started the broker.
    Option,
}

/// A file of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigFile {
    pub layer: SettingLayer,
    pub path: String,
    pub exists: bool,
}
