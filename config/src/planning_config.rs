//! Reads the project's `.planning/config.json`: whether and when changes need a review.
//!
//! The file belongs to the user's workflow, and only a few of its keys are read. An unknown value is an error, because a
//! wrong guess could skip a review.

use domain::review::Category;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Below the project's root.
pub const PLANNING_FILE: &str = ".planning/config.json";

/// The settings in effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanningConfig {
    /// Whether agents ask the broker for reviews.
    pub tandem_enabled: bool,
    pub review_granularity: ReviewGranularity,
    pub execution_mode: ExecutionMode,
    /// Not interpreted: the broker's own settings decide about its pool.
    pub reviewer_pool: Option<Value>,
    pub review: ReviewSettings,
}

/// Whether an executor asks for a review per task or per plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReviewGranularity {
    #[default]
    PerTask,
    PerPlan,
}

/// Whether an executor waits for the verdict before it commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ExecutionMode {
    #[default]
    Blocking,
    Optimistic,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewSettings {
    /// Where an approval is required [default: everywhere].
    pub required_gates: Vec<RequiredGate>,
}

/// A point at which an approval can be required: a category of proposals or a git operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(untagged)]
pub enum RequiredGate {
    #[strum(transparent)]
    Proposal(Category),
    #[strum(transparent)]
    Git(GitPoint),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum GitPoint {
    Commit,
    Push,
}

#[derive(Debug, thiserror::Error)]
pub enum PlanningError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: line {line}, column {column}: {what}")]
    Unreadable { path: PathBuf, line: usize, column: usize, what: String },
    #[error("{path}: {key} is {found}; expected {expected}")]
    Value { path: PathBuf, key: &'static str, found: String, expected: String },
}

impl Default for PlanningConfig {
    fn default() -> Self {
        Self {
            tandem_enabled: false,
            review_granularity: ReviewGranularity::default(),
            execution_mode: ExecutionMode::default(),
            reviewer_pool: None,
            review: ReviewSettings { required_gates: RequiredGate::all().collect() },
        }
    }
}

impl PlanningConfig {
    /// Loads the file of the project with this root. Missing files and keys have default values.
    pub fn load(root: &Path) -> Result<Self, PlanningError> {
        let path = root.join(PLANNING_FILE);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(PlanningError::Io { path, source }),
        }
    }

    /// Parses a text. `path` appears in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, PlanningError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let unreadable = |error: serde_json::Error| PlanningError::Unreadable {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            // serde_json appends the position to its message.
            what: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        };
        let all: Map<String, Value> = serde_json::from_str(text).map_err(unreadable)?;
        let keys = Keys { path, all: &all };
        let gates: Vec<_> = RequiredGate::all().map(|gate| gate.to_string()).collect();
        let gates = format!("a list of {}", gates.join(", "));
        let default = Self::default();
        Ok(Self {
            tandem_enabled: keys.read("tandem_enabled", "true or false")?.unwrap_or_default(),
            review_granularity: keys.read("review_granularity", "\"per_task\" or \"per_plan\"")?.unwrap_or_default(),
            execution_mode: keys.read("execution_mode", "\"blocking\" or \"optimistic\"")?.unwrap_or_default(),
            reviewer_pool: keys.find("reviewer_pool").cloned(),
            review: ReviewSettings {
                required_gates: keys.read("review.required_gates", &gates)?.unwrap_or(default.review.required_gates),
            },
        })
    }

    /// Whether a proposal of this category must be approved before work continues.
    pub fn requires(&self, category: Category) -> bool {
        self.tandem_enabled && self.review.required_gates.contains(&RequiredGate::Proposal(category))
    }

    /// Whether installed git hooks require an approval at this point. A project that commits before the verdict is checked
    /// when it pushes.
    pub fn requires_approval_at(&self, point: GitPoint) -> bool {
        let commits_first =
            self.execution_mode == ExecutionMode::Optimistic || self.review_granularity == ReviewGranularity::PerPlan;
        match point {
            GitPoint::Commit if self.tandem_enabled && commits_first => false,
            GitPoint::Commit | GitPoint::Push => self.review.required_gates.contains(&RequiredGate::Git(point)),
        }
    }
}

impl RequiredGate {
    pub fn all() -> impl Iterator<Item = Self> {
        let git = [GitPoint::Commit, GitPoint::Push].map(Self::Git);
        Category::ALL.iter().copied().map(Self::Proposal).chain(git)
    }
}

struct Keys<'a> {
    path: &'a Path,
    all: &'a Map<String, Value>,
}

impl<'a> Keys<'a> {
    /// Finds `review.required_gates` both as a nested key and under its full name.
    fn find(&self, key: &str) -> Option<&'a Value> {
        let nested = || key.split_once('.').and_then(|(outer, inner)| self.all.get(outer)?.get(inner));
        self.all.get(key).or_else(nested).filter(|value| !value.is_null())
    }

    fn read<T: Deserialize<'a>>(&self, key: &'static str, expected: &str) -> Result<Option<T>, PlanningError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        let wrong = |_| PlanningError::Value {
            path: self.path.to_owned(),
            key,
            found: value.to_string(),
            expected: expected.to_owned(),
        };
        T::deserialize(value).map(Some).map_err(wrong)
    }
}

#[cfg(test)]
#[path = "planning_config_tests.rs"]
mod tests;
