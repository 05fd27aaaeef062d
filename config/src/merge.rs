//! Merges the layers of settings and records the origin of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::net::SocketAddr;

use domain::default_panel::MAX_SEATS;
use domain::runtime::{MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, TOKEN_VARIABLE};
use toml::Value;

use crate::default_panel;
use crate::error::{ConfigError, Origin, Problem, display_value};
use crate::personas::{self, Configured};
use crate::reviewer_pool;
use crate::schema::{RULES, Rule, Scope};
use crate::setting_values::{Entry, Settings, entries, unknown_variable};
use crate::sources::{SettingsFile, Sources};
use crate::validate::{PathContext, duration};
use crate::{Config, DEFAULTS};

const PREFIX: &str = "COUNTERSIGN_";
/// Variables of the program that are not settings. A broker that a client starts inherits them.
const OTHER_VARIABLES: &[&str] = &[
    "COUNTERSIGN_SKIP_CLIENTS",
    "COUNTERSIGN_NAME",
    "COUNTERSIGN_PAGER",
    TOKEN_VARIABLE,
    MCP_URL_VARIABLE,
    REVIEWER_ID_VARIABLE,
];
const TEST_PREFIX: &str = "COUNTERSIGN_TEST_";

/// A configuration with the origin of each setting.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// By persona and setting.
    pub personas: BTreeMap<String, BTreeMap<String, Origin>>,
    /// The files that were looked for, in the order of their layers, each with its name in messages.
    pub files: Vec<(SettingsFile, Origin)>,
    settings: Settings,
}

impl Loaded {
    /// The origin of `key` (`server.listen`), for an error that shows only in use.
    pub fn origin(&self, key: &str) -> &Origin {
        self.settings.0.get(key).map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// Name, value and origin of every setting, sorted by name.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.settings.0.iter().map(|(key, (value, origin))| (key.as_str(), value, origin))
    }
}

/// One layer of settings. Its kind decides what it may set and how its paths are resolved.
pub(crate) struct Layer<'a> {
    pub(crate) origin: Origin,
    pub(crate) kind: LayerKind,
    pub(crate) sources: &'a Sources,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerKind {
    OperatorFile,
    ProjectFile,
    CommandLine,
}

impl Layer<'_> {
    /// Checks a value against its rule and against the layer below. `elsewhere` says where a project's operator may set
    /// it.
    pub(crate) fn check(
        &self,
        rule: &Rule,
        value: &Value,
        example: Option<&Value>,
        below: Option<&(Value, Origin)>,
        elsewhere: impl FnOnce() -> String,
    ) -> Result<Value, String> {
        let is_project = self.kind == LayerKind::ProjectFile;
        if is_project && rule.scope == Scope::OperatorOnly {
            return Err(format!(
                "not allowed in a project's file, which an agent may have written; it may stand in {}",
                elsewhere()
            ));
        }
        let paths = PathContext {
            home: self.sources.home.as_deref(),
            working_dir: self.sources.working_dir.as_deref().filter(|_| self.kind == LayerKind::CommandLine),
        };
        let value = rule.check(value, example, &paths)?;
        match below {
            Some((below, origin)) if is_project => tightened(rule, value, below, origin),
            Some(_) | None => Ok(value),
        }
    }
}

struct Merge<'a> {
    sources: &'a Sources,
    defaults: BTreeMap<String, Value>,
    settings: Settings,
    problems: Vec<Problem>,
}

pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let defaults = toml::from_str(DEFAULTS).map_err(|error| internal(error.to_string()))?;
    let defaults: BTreeMap<_, _> = entries(defaults).into_iter().map(|entry| (entry.key, entry.value)).collect();
    let mut settings = Settings::default();
    settings.extend(defaults.clone(), &Origin::Default);
    let mut merge = Merge { sources, settings, defaults, problems: Vec::new() };
    for (layer, read) in sources.files() {
        match read {
            Ok(table) => entries(table.unwrap_or_default()).iter().for_each(|entry| merge.set(entry, &layer)),
            Err(problem) => merge.problems.push(problem),
        }
    }
    for (name, value) in &sources.variables {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && !name.starts_with(TEST_PREFIX) && !OTHER_VARIABLES.contains(&&*name) {
            let rule = RULES.iter().find(|rule| rule.variable().as_deref() == Some(&*name));
            merge.set_text(Origin::Variable(name.to_string()), rule, value, || unknown_variable(&name));
        }
    }
    for flag in &sources.flags {
        let rule = RULES.iter().find(|rule| rule.key == flag.key);
        let unknown = || format!("stands for the unknown setting {}", flag.key);
        merge.set_text(Origin::Flag(flag.name.to_owned()), rule, &flag.value, unknown);
    }
    merge.finish()
}

fn internal(text: String) -> ConfigError {
    ConfigError { problems: vec![Problem::in_source(&Origin::Default, text)] }
}

impl Merge<'_> {
    /// Sets the value of a flag or a variable.
    fn set_text(&mut self, origin: Origin, rule: Option<&Rule>, value: &OsStr, unknown: impl FnOnce() -> String) {
        let problem = match (rule, value.to_str()) {
            (Some(rule), Some(text)) => {
                let path: Vec<_> = rule.key.split('.').collect();
                let layer = Layer { origin, kind: LayerKind::CommandLine, sources: self.sources };
                return self.set(&Entry::new(&path, rule.parse(text)), &layer);
            }
            (Some(_), None) => "expected UTF-8".to_owned(),
            (None, _) => unknown(),
        };
        self.problems.push(Problem::in_source(&origin, problem));
    }

    /// Sets the value, or records the problem and keeps the value of the layer below.
    fn set(&mut self, entry: &Entry, layer: &Layer<'_>) {
        match self.checked(entry, layer) {
            Ok(value) => self.settings.extend([(entry.key.clone(), value)], &layer.origin),
            Err(text) => self.problems.push(Problem::in_setting(&layer.origin, &entry.key, &entry.value, text)),
        }
    }

    fn checked(&self, entry: &Entry, layer: &Layer<'_>) -> Result<Value, String> {
        let rule = entry.rule()?;
        if entry.project.as_ref().is_some_and(|name| !is_project_name(name)) {
            return Err("expected a project name of 1 to 64 letters, digits and the characters . _ -".to_owned());
        }
        let elsewhere = || {
            let user_file = self.sources.user_file.as_ref().map(|file| self.sources.origin_of(file).to_string());
            let named_file = "a file given by --config".to_owned();
            user_file.into_iter().chain(rule.variable()).chain([named_file]).collect::<Vec<_>>().join(" or ")
        };
        let (example, below) = (self.defaults.get(&entry.key), self.settings.0.get(&entry.key));
        layer.check(rule, &entry.value, example, below, elsewhere)
    }

    fn finish(mut self) -> Result<Loaded, ConfigError> {
        self.fill_data_dir();
        self.name_projects_without_path();
        self.in_order("wait.default", "wait.max");
        self.in_order("limits.page_items", "limits.max_page_items");
        // Refused values are missing and cannot be compared.
        if !self.problems.iter().any(|problem| problem.is_about("pool")) {
            self.problems.extend(reviewer_pool::contradictions(&self.settings));
        }
        let Configured { personas, origins: persona_origins, problems } = personas::load(self.sources, &self.settings);
        self.problems.extend(problems);
        self.check_panels(&persona_origins.keys().map(String::as_str).collect());
        self.require_auth_beyond_loopback();
        if !self.problems.is_empty() {
            return Err(ConfigError { problems: self.problems });
        }
        let lines = self.settings.0.iter().map(|(key, (value, _))| format!("{key} = {value}\n"));
        let config: Config = toml::from_str(&lines.collect::<String>()).map_err(|error| internal(error.to_string()))?;
        let files = self.sources.settings_files().into_iter();
        let files = files.map(|file| (file.clone(), self.sources.origin_of(&file.path))).collect();
        Ok(Loaded { config: Config { personas, ..config }, personas: persona_origins, files, settings: self.settings })
    }

    /// Checks that panels name known personas and fit into one review.
    fn check_panels(&mut self, known: &BTreeSet<&str>) {
        let mut seats = BTreeSet::new();
        for key in ["panel.personas", "panel.rules"] {
            let named = default_panel::named(self.settings.list(key));
            let unknown: Vec<_> =
                named.clone().filter(|name| !known.contains(name)).map(|name| format!("{name:?}")).collect();
            if unknown.is_empty() {
                seats.extend(named);
            }
            let text = if !unknown.is_empty() {
                let known: Vec<_> = known.iter().copied().collect();
                format!("unknown persona {}; expected some of {}", unknown.join(", "), known.join(", "))
            } else if seats.len() > MAX_SEATS {
                let seats = seats.len();
                format!("panel.personas and panel.rules name {seats} different personas; expected at most {MAX_SEATS}")
            } else {
                continue;
            };
            self.problems.extend(self.settings.problem(key, text));
        }
    }

    fn fill_data_dir(&mut self) {
        let key = "server.data_dir";
        let Some((value, _)) = self.settings.0.get_mut(key).filter(|(value, _)| value.as_str() == Some("")) else {
            return;
        };
        match self.sources.data_dir.as_ref().and_then(|dir| dir.to_str()) {
            Some(dir) => *value = dir.into(),
            None => {
                let text = "expected a folder, since the user's data folder is not known (is HOME set?)";
                self.problems.extend(self.settings.problem(key, text));
            }
        }
    }

    fn name_projects_without_path(&mut self) {
        for key in self.settings.0.keys().filter(|key| key.starts_with("projects.")) {
            let path = key.strip_suffix(".trusted").map(|project| format!("{project}.path"));
            if path.is_some_and(|path| !self.settings.0.contains_key(&path)) {
                let text = "expected path as well: a project needs one";
                self.problems.extend(self.settings.problem(key, text));
            }
        }
    }

    /// An address other than loopback requires authentication.
    fn require_auth_beyond_loopback(&mut self) {
        let (key, tokens) = ("server.listen", "auth.required");
        let address = self.settings.text(key).parse::<SocketAddr>();
        let is_protected = self.settings.value(tokens).and_then(Value::as_bool) == Some(true);
        if is_protected || address.is_ok_and(|address| address.ip().is_loopback()) {
            return;
        }
        let text = format!(
            "expected a loopback address, since {tokens} is {} and any \
             process that reaches the port could act as any agent; set {tokens} = true to listen elsewhere",
            self.settings.describe(tokens)
        );
        self.problems.extend(self.settings.problem(key, text));
    }

    /// Reports the setting that is not a default, if one of them is.
    fn in_order(&mut self, low: &str, high: &str) {
        let settings = &self.settings;
        let (Some((less, low_origin)), Some((more, _))) = (settings.0.get(low), settings.0.get(high)) else { return };
        if exceeds(less, more) {
            self.problems.extend(if *low_origin == Origin::Default {
                settings.problem(high, format!("expected at least {low}, which is {}", settings.describe(low)))
            } else {
                settings.problem(low, format!("expected at most {high}, which is {}", settings.describe(high)))
            });
        }
    }
}

/// Merges a project's value for a setting that the project may only tighten.
fn tightened(rule: &Rule, value: Value, below: &Value, origin: &Origin) -> Result<Value, String> {
    match (rule.scope, value, below) {
        (Scope::ProjectLowers, value, below) if exceeds(&value, below) => {
            Err(format!("a project's file may only lower it; it is {} ({origin})", display_value(below)))
        }
        (Scope::ProjectTightensTo(word), value, below) if value.as_str() != Some(word) && value != *below => {
            Err(format!("a project's file may only say {word:?}; it is {} ({origin})", display_value(below)))
        }
        (Scope::ProjectAdds, Value::Array(more), _) if more.iter().any(default_panel::replaces) => {
            Err("a project's file may add rules, but none with replace = true".to_owned())
        }
        (Scope::ProjectAdds, Value::Array(more), Value::Array(below)) => {
            let mut all = below.clone();
            all.extend(more.into_iter().filter(|item| !below.contains(item)));
            Ok(Value::Array(all))
        }
        (_, value, _) => Ok(value),
    }
}

fn exceeds(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a > b,
        (Value::Float(a), Value::Float(b)) => a > b,
        (Value::String(a), Value::String(b)) => duration(a) > duration(b),
        _ => false,
    }
}

fn is_project_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(fits) && !matches!(name, "." | "..")
}
