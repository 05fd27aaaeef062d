//! Response types for the personas that the settings define.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
