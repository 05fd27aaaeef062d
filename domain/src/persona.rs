//! The type for a persona: what a reviewer looks for, and with which client and limits it runs.

use crate::{
    glob::Globs,
    runtime::{Effort, Runtime},
};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

pub const MAX_PERSONA_NAME_CHARS: usize = 64;

/// Whether this is a valid persona name: 1 to 64 ASCII letters, digits and `.`, `_`, `-`, because it is used in logs,
/// file names and arguments.
pub fn is_persona_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MAX_PERSONA_NAME_CHARS).contains(&name.len()) && name.chars().all(plain)
}

crate::string_enum! {
    /// How the pool serves a seat of a persona.
    #[derive(Default)]
    Mode {
        /// An agent process that claims seats itself.
        #[default]
        Agent = "agent",
        /// One run of a client per seat and round.
        OneShot = "one_shot",
        /// One reviewer per seat, which stays with the review: it is started for each of its turns and continues its
        /// own session.
        Dedicated = "dedicated",
    }
}

/// One configured persona.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Persona {
    /// The name of its file, not one of its settings.
    #[serde(skip)]
    pub name: String,
    /// What it looks for, in one line.
    pub focus: String,
    /// Instructions for the reviewer that takes its seat.
    #[serde(skip)]
    pub prompt: Arc<str>,
    /// Paths it does not review.
    pub ignore: Globs,
    pub mode: Mode,
    /// `None`, here and below: the pool's setting. With mode "agent", any of these binds agents to the persona.
    pub runtime: Option<Runtime>,
    pub program: Option<PathBuf>,
    /// Empty: the pool's setting.
    pub command: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<Effort>,
    /// For one run of a client.
    #[serde(skip)]
    pub time_limit: Duration,
    /// For all runs of one seat, here and in the limits below.
    pub budget_usd: Option<f64>,
    /// For dedicated reviewers.
    pub max_turns: u32,
    /// Tokens read and written, for dedicated reviewers.
    pub max_tokens: Option<u64>,
    /// How long the seat of a dedicated reviewer stays reserved for it while it waits for the proposer.
    #[serde(skip)]
    pub keep_seat: Duration,
    /// Whether a message that begins with a decision in front matter counts as its verdict.
    pub front_matter: bool,
}

impl Persona {
    /// Whether the pool starts agents for its seats alone, because they run with another client or model than the pool's.
    pub fn has_own_agents(&self) -> bool {
        let is_set = self.runtime.is_some() || self.program.is_some() || !self.command.is_empty();
        self.mode == Mode::Agent && (is_set || self.model.is_some() || self.effort.is_some())
    }
}

/// All configured personas by name.
pub type Personas = BTreeMap<String, Arc<Persona>>;
