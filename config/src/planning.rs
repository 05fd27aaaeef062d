//! How a project wants to be worked on, as its `.planning/config.json` says.
//!
//! The file belongs to the user's own workflow: of its keys we read a few, and of those nothing is guessed. A word we do
//! not know is an error, because the guess would be whether a change is reviewed.

use domain::review::Category;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Below the project's root.
pub const FILE: &str = ".planning/config.json";

/// The settings in effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tandem {
    /// Off unless the project says so: then nobody calls the broker.
    pub tandem_enabled: bool,
    pub review_granularity: Granularity,
    pub execution_mode: Mode,
    /// As it stands there. The broker's own settings decide about its pool.
    pub reviewer_pool: Option<Value>,
    pub review: Review,
}

/// When an executor asks for a review: for each task, or once for a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    #[default]
    PerTask,
    PerPlan,
}

/// Whether an executor waits before it commits, or commits and hears later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Blocking,
    Optimistic,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// Where an approval is needed to go on: everywhere, unless some gates are named.
    pub required_gates: Vec<Gate>,
}

/// A point of the work: a kind of proposal, or what git is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Gate {
    Proposal(Category),
    Git(Point),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    Commit,
    Push,
}

#[derive(Debug, thiserror::Error)]
pub enum TandemError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: line {line}, column {column}: {what}")]
    Unreadable { path: PathBuf, line: usize, column: usize, what: String },
    #[error("{path}: {key} is {found}; expected {expected}")]
    Value { path: PathBuf, key: &'static str, found: String, expected: String },
}

impl Default for Tandem {
    fn default() -> Self {
        Self {
            tandem_enabled: false,
            review_granularity: Granularity::default(),
            execution_mode: Mode::default(),
            reviewer_pool: None,
            review: Review { required_gates: Gate::all().collect() },
        }
    }
}

impl Tandem {
    /// Of the project with this root. Without the file, and without a key, the default holds.
    pub fn of(root: &Path) -> Result<Self, TandemError> {
        let path = root.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => Self::read(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(TandemError::Io { path, source }),
        }
    }

    /// Of this text; the path is for the words of an error.
    pub fn read(path: &Path, text: &str) -> Result<Self, TandemError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let unreadable = |error: serde_json::Error| TandemError::Unreadable {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            // Serde says the place at the end of its words.
            what: error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        };
        let all: Map<String, Value> = serde_json::from_str(text).map_err(unreadable)?;
        let keys = Keys { path, all: &all };
        let default = Self::default();
        Ok(Self {
            tandem_enabled: keys.read("tandem_enabled", "true or false", Value::as_bool)?.unwrap_or_default(),
            review_granularity: keys.word("review_granularity", &GRANULARITIES)?.unwrap_or_default(),
            execution_mode: keys.word("execution_mode", &MODES)?.unwrap_or_default(),
            reviewer_pool: keys.find("reviewer_pool").cloned(),
            review: Review { required_gates: keys.gates()?.unwrap_or(default.review.required_gates) },
        })
    }

    /// Whether a proposal of this kind has to be approved before work goes on.
    pub fn requires(&self, category: Category) -> bool {
        self.tandem_enabled && self.review.required_gates.contains(&Gate::Proposal(category))
    }

    /// Whether git's hooks, where they are installed, ask for an approval here. A project that commits first and hears
    /// later is asked when it pushes.
    pub fn asks_at(&self, point: Point) -> bool {
        let commits_first = self.execution_mode == Mode::Optimistic || self.review_granularity == Granularity::PerPlan;
        match point {
            Point::Commit if self.tandem_enabled && commits_first => false,
            Point::Commit | Point::Push => self.review.required_gates.contains(&Gate::Git(point)),
        }
    }
}

impl Gate {
    pub fn all() -> impl Iterator<Item = Self> {
        let git = [Point::Commit, Point::Push].map(Self::Git);
        Category::ALL.iter().copied().map(Self::Proposal).chain(git)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposal(category) => category.as_str(),
            Self::Git(Point::Commit) => "commit",
            Self::Git(Point::Push) => "push",
        }
    }
}

const GRANULARITIES: [(&str, Granularity); 2] =
    [("per_task", Granularity::PerTask), ("per_plan", Granularity::PerPlan)];
const MODES: [(&str, Mode); 2] = [("blocking", Mode::Blocking), ("optimistic", Mode::Optimistic)];

impl Granularity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerTask => "per_task",
            Self::PerPlan => "per_plan",
        }
    }
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Optimistic => "optimistic",
        }
    }
}

struct Keys<'a> {
    path: &'a Path,
    all: &'a Map<String, Value>,
}

impl<'a> Keys<'a> {
    /// `review.required_gates` may stand in an object, or under its whole name.
    fn find(&self, key: &str) -> Option<&'a Value> {
        let nested = || key.split_once('.').and_then(|(outer, inner)| self.all.get(outer)?.get(inner));
        self.all.get(key).or_else(nested).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, TandemError> {
        let Some(value) = self.find(key) else { return Ok(None) };
        let wrong = || TandemError::Value {
            path: self.path.to_owned(),
            key,
            found: value.to_string(),
            expected: expected.to_owned(),
        };
        read(value).ok_or_else(wrong).map(Some)
    }

    fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Result<Option<T>, TandemError> {
        let quoted: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        self.read(key, &quoted.join(" or "), |value| {
            let word = value.as_str()?;
            words.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant)
        })
    }

    fn gates(&self) -> Result<Option<Vec<Gate>>, TandemError> {
        let words: Vec<_> = Gate::all().map(Gate::as_str).collect();
        let expected = format!("a list of {}", words.join(", "));
        self.read("review.required_gates", &expected, |value| {
            let named = |word: &Value| Gate::all().find(|gate| Some(gate.as_str()) == word.as_str());
            value.as_array()?.iter().map(named).collect()
        })
    }
}

#[cfg(test)]
#[path = "planning_tests.rs"]
mod tests;
