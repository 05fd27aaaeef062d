//! Request and response types of the operations for operators: listing personas and settings, the actor tree and the
//! API description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

/// Arguments of an operation that takes none.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct NoArguments {}

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

/// Response of list_projects: the projects that the broker knows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListProjectsResponse {
    pub projects: Vec<Project>,
}

/// A project whose reviews the broker keeps.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    pub name: String,
    /// The folder of its repository. Only for an operator on this machine.
    pub root: Option<String>,
}

/// Arguments of register_project.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegisterProjectRequest {
    /// Absolute path of a folder in the repository, which must belong to the broker's user.
    pub path: String,
    /// Name of the project. Default: the name of the folder, with a number if another repository has it.
    pub name: Option<String>,
}

/// Arguments of remove_project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemoveProjectRequest {
    pub name: String,
}

/// Response of get_config: the settings in force, with secrets hidden.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Config(pub Map<String, Value>);

/// Response of get_actors: the tree of running actors.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Actors(pub Map<String, Value>);

/// Response of get_openapi: the OpenAPI document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OpenApi(pub Map<String, Value>);
