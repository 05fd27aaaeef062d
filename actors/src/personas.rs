//! Who reviews, in the sense of what they look for.

use crate::reviewer_process::runtime::{Effort, Runtime};
use domain::globs::Globs;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

/// How the broker has a seat of this persona served, when its pool is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By an agent that claims seats by itself.
    #[default]
    Agent,
    /// By one run of a client for each seat and round.
    OneShot,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::OneShot => "one_shot",
        }
    }
}

/// One persona, as configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Persona {
    pub name: String,
    /// What it looks for, in a line.
    pub focus: String,
    /// What whoever takes its seat is told.
    pub prompt: Arc<str>,
    /// Paths it does not look at.
    pub ignore: Globs,
    pub mode: Mode,
    /// Left out, here and below: as the pool is set.
    pub runtime: Option<Runtime>,
    pub program: Option<PathBuf>,
    pub command: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<Effort>,
    /// For one review.
    pub time_limit: Duration,
    pub budget_usd: Option<f64>,
    /// A message that begins with a decision counts as its verdict.
    pub front_matter: bool,
}

/// All that are configured, by name.
pub type Personas = BTreeMap<String, Arc<Persona>>;
