//! Response types of the operations that show the broker itself: its personas and settings, the actor tree and the API
//! description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

/// Response of list_personas: the personas of the settings.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListPersonasResponse {
    pub personas: Vec<Persona>,
}

/// A persona as the settings define it.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Persona {
    pub name: String,
    /// What it looks for, in one line.
    pub focus: String,
    /// The instructions for a reviewer that takes its seat.
    pub prompt: String,
    /// Patterns of paths that it does not review.
    pub ignore: Vec<String>,
    /// agent, one_shot or dedicated.
    pub mode: Cow<'static, str>,
    /// This and the following settings are absent if the pool's settings apply.
    pub runtime: Option<Cow<'static, str>>,
    pub model: Option<String>,
    pub effort: Option<Cow<'static, str>>,
    /// Time limit for one run of a client.
    pub time_limit_seconds: u64,
    /// For one seat of a review, like the limits below.
    pub budget_usd: Option<f64>,
    /// Only of a dedicated persona.
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
    /// A message that starts with a decision counts as this persona's verdict.
    pub front_matter: bool,
}

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

/// Response of get_actors: the tree of running actors.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Actors {
    pub root: ActorNode,
    pub store: StoreCounters,
    pub calls: CallCounters,
    /// Live reviews that are not listed, because there are too many.
    pub more_reviews: usize,
}

/// An actor and the actors that it supervises.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ActorNode {
    /// supervisor, gateway, pool, reviewer, group or review.
    pub kind: Cow<'static, str>,
    pub id: String,
    /// What it does, in words.
    pub state: String,
    /// Messages that wait.
    pub mailbox: u64,
    /// Messages since its start.
    pub handled: u64,
    pub restarts: u64,
    pub uptime_ms: u64,
    pub last_error: Option<String>,
    pub children: Vec<Self>,
}

/// The thread that writes to the database. It is not an actor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct StoreCounters {
    /// Transactions since the start.
    pub commits: u64,
    /// Changes in these transactions.
    pub changes: u64,
    /// Changes that are not committed yet.
    pub waiting: u64,
}

/// Calls in progress.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct CallCounters {
    pub in_flight: usize,
    /// Calls that wait for a change.
    pub waiting: usize,
}

/// Response of get_openapi: the OpenAPI document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OpenApi(pub Map<String, Value>);
