//! Reads the project's `.planning/config.json`: whether and when changes need a review.
//!
//! The file belongs to the user's workflow, and only a few of its keys are read. An unknown value is an error, because a
//! wrong guess could skip a review.

use domain::{review::Category, text::near_names};
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
    /// The file says that the project does not use tandem mode, instead of saying nothing.
    #[serde(skip)]
    pub is_solo: bool,
    pub review_granularity: ReviewGranularity,
    pub execution_mode: ExecutionMode,
    /// Not interpreted: the broker's own settings decide about its pool.
    pub reviewer_pool: Option<Value>,
    pub review: ReviewSettings,
    /// Keys of the file that have no effect, and why.
    pub warnings: Vec<String>,
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
            is_solo: false,
            review_granularity: ReviewGranularity::default(),
            execution_mode: ExecutionMode::default(),
            reviewer_pool: None,
            review: ReviewSettings { required_gates: RequiredGate::all().collect() },
            warnings: Vec::new(),
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
        let tandem_enabled: Option<bool> = keys.read("tandem_enabled", "true or false")?;
        let mut planning = Self {
            tandem_enabled: tandem_enabled.unwrap_or_default(),
            is_solo: tandem_enabled == Some(false),
            review_granularity: keys.read("review_granularity", "\"per_task\" or \"per_plan\"")?.unwrap_or_default(),
            execution_mode: keys.read("execution_mode", "\"blocking\" or \"optimistic\"")?.unwrap_or_default(),
            reviewer_pool: keys.find("reviewer_pool").cloned(),
            review: ReviewSettings {
                required_gates: keys.read("review.required_gates", &gates)?.unwrap_or(default.review.required_gates),
            },
            warnings: Vec::new(),
        };
        planning.warnings = planning.keys_without_effect(&keys);
        Ok(planning)
    }

    fn keys_without_effect(&self, keys: &Keys<'_>) -> Vec<String> {
        const TOP: [&str; 5] =
            ["tandem_enabled", "review_granularity", "execution_mode", "review.required_gates", "reviewer_pool"];
        let mut warnings = Vec::new();
        let inner = keys.all.get("review").and_then(Value::as_object);
        let nested = inner.into_iter().flatten().map(|(key, _)| format!("review.{key}"));
        for key in keys.all.keys().cloned().chain(nested) {
            let is_known = TOP.contains(&key.as_str());
            // Other keys belong to the user's workflow, unless they look like a slip.
            if let Some(near) = near_names(&key, TOP.into_iter()).first().filter(|_| !is_known) {
                warnings.push(format!("{key} has no effect; did you mean {near}?"));
            }
        }
        if self.reviewer_pool.is_some() {
            let instead = "the broker's own settings configure its pool ([pool] in config.toml)";
            warnings.push(format!("reviewer_pool has no effect: {instead}"));
        }
        for key in ["review_granularity", "execution_mode"] {
            if !self.tandem_enabled && keys.find(key).is_some() {
                warnings.push(format!("{key} has no effect while tandem_enabled is not true"));
            }
        }
        let names_commit = keys.find("review.required_gates").is_some()
            && self.review.required_gates.contains(&RequiredGate::Git(GitPoint::Commit));
        if names_commit && self.commits_first() {
            let why = "with per_plan and optimistic, commits come before their review; pushes are checked";
            warnings.push(format!("\"commit\" in review.required_gates has no effect: {why}"));
        }
        warnings
    }

    /// Whether tasks are committed before their review.
    fn commits_first(&self) -> bool {
        self.tandem_enabled
            && (self.execution_mode == ExecutionMode::Optimistic
                || self.review_granularity == ReviewGranularity::PerPlan)
    }

    /// Whether a proposal of this category must be approved before work continues.
    pub fn requires(&self, category: Category) -> bool {
        self.tandem_enabled && self.review.required_gates.contains(&RequiredGate::Proposal(category))
    }

    /// Whether installed git hooks require an approval at this point. A project that commits before the verdict is checked
    /// when it pushes. A project that says that it works solo needs no approval.
    pub fn requires_approval_at(&self, point: GitPoint) -> bool {
        match point {
            GitPoint::Commit | GitPoint::Push if self.is_solo => false,
            GitPoint::Commit if self.commits_first() => false,
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
