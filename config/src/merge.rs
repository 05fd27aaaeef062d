//! Merges the layers of settings and records the origin of each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use domain::default_panel::MAX_SEATS;
use domain::runtime::{MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, TOKEN_VARIABLE};
use serde::Deserialize;
use toml::Value;

use crate::error::{ConfigError, Origin, Problem, display_value};
use crate::panel;
use crate::personas::{self, Configured};
use crate::pool;
use crate::schema::{RULES, Rule, Scope, find};
use crate::setting_key::{Key, insert, settings};
use crate::sources::Sources;
use crate::suggest::{unknown_setting, unknown_variable};
use crate::validate::{PathContext, duration};
use crate::{Config, DEFAULTS};

const PREFIX: &str = "COUNTERSIGN_";
/// Variables of the program that are not settings. A broker that a client starts inherits them.
const OTHER_VARIABLES: &[&str] =
    &["COUNTERSIGN_SKIP_CLIENTS", "COUNTERSIGN_NAME", TOKEN_VARIABLE, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE];
const TEST_PREFIX: &str = "COUNTERSIGN_TEST_";

/// A configuration with the origin of each setting.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// By persona and setting.
    pub personas: BTreeMap<String, BTreeMap<String, Origin>>,
    origins: BTreeMap<String, Origin>,
}

impl Loaded {
    /// The origin of `key` (`server.listen`), for an error that shows only in use.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }
}

struct Merge<'a> {
    sources: &'a Sources,
    defaults: BTreeMap<Key, Value>,
    settings: BTreeMap<Key, (Value, Origin)>,
    problems: Vec<Problem>,
}

/// The kind of source: decides what it may set and how its paths are resolved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    OperatorFile,
    ProjectFile,
    CommandLine,
}

pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let defaults = toml::from_str(DEFAULTS).map_err(|error| internal(error.to_string()))?;
    let defaults: BTreeMap<_, _> = settings(defaults).into_iter().collect();
    let with_origin = |(key, value): (&Key, &Value)| (key.clone(), (value.clone(), Origin::Default));
    let mut merge =
        Merge { sources, settings: defaults.iter().map(with_origin).collect(), defaults, problems: Vec::new() };
    let file = |path: Option<&std::path::PathBuf>| path.map(|path| sources.origin_of(path));
    let user = file(sources.user_file.as_ref());
    merge.file(user, SourceKind::OperatorFile, sources.read_user_file());
    let project = file(sources.project_file().as_ref());
    merge.file(project, SourceKind::ProjectFile, sources.read_project_file());
    let named = file(sources.config_file.as_ref());
    merge.file(named, SourceKind::OperatorFile, sources.read_config_file());
    merge.variables();
    merge.flags();
    merge.finish()
}

fn internal(text: String) -> ConfigError {
    ConfigError { problems: vec![Problem::in_source(&Origin::Default, text)] }
}

impl Merge<'_> {
    fn file(&mut self, origin: Option<Origin>, source_kind: SourceKind, read: Result<Option<toml::Table>, Problem>) {
        match (origin, read) {
            (_, Err(problem)) => self.problems.push(problem),
            (Some(origin), Ok(Some(table))) => {
                for (key, value) in settings(table) {
                    self.set(&key, &value, &origin, source_kind);
                }
            }
            (_, Ok(_)) => {}
        }
    }

    fn variables(&mut self) {
        let sources = self.sources;
        for (name, value) in &sources.variables {
            let name = name.to_string_lossy();
            if !name.starts_with(PREFIX) || name.starts_with(TEST_PREFIX) || OTHER_VARIABLES.contains(&&*name) {
                continue;
            }
            let origin = Origin::Variable(name.to_string());
            let rule = RULES.iter().find(|rule| rule.variable().as_deref() == Some(&*name));
            match (rule, value.to_str()) {
                (Some(rule), Some(text)) => self.set_text(rule, text, &origin),
                (Some(_), None) => self.problems.push(Problem::in_source(&origin, "expected UTF-8")),
                (None, _) => self.problems.push(Problem::in_source(&origin, unknown_variable(&name))),
            }
        }
    }

    fn flags(&mut self) {
        let sources = self.sources;
        for flag in &sources.flags {
            let origin = Origin::Flag(flag.name.to_owned());
            let rule = RULES.iter().find(|rule| rule.key == flag.key);
            match (rule, flag.value.to_str()) {
                (Some(rule), Some(text)) => self.set_text(rule, text, &origin),
                (Some(_), None) => self.problems.push(Problem::in_source(&origin, "expected UTF-8")),
                (None, _) => self
                    .problems
                    .push(Problem::in_source(&origin, format!("stands for the unknown setting {}", flag.key))),
            }
        }
    }

    fn set_text(&mut self, rule: &Rule, text: &str, origin: &Origin) {
        let key = Key::new(rule.key.split('.'));
        self.set(&key, &rule.parse(text), origin, SourceKind::CommandLine);
    }

    /// Sets the value, or records the problem and keeps the value of the layer below.
    fn set(&mut self, key: &Key, value: &Value, origin: &Origin, source_kind: SourceKind) {
        match self.checked(key, value, source_kind) {
            Ok(value) => {
                self.settings.insert(key.clone(), (value, origin.clone()));
            }
            Err(text) => self.problems.push(Problem::in_setting(origin, key, value, text)),
        }
    }

    fn checked(&self, key: &Key, value: &Value, source_kind: SourceKind) -> Result<Value, String> {
        let Some(rule) = find(key) else {
            return Err(unknown_setting(key));
        };
        if key.project().is_some_and(|name| !is_project_name(name)) {
            return Err("expected a project name of 1 to 64 letters, digits and the characters . _ -".to_owned());
        }
        if source_kind == SourceKind::ProjectFile && rule.scope == Scope::OperatorOnly {
            return Err(self.not_for_projects(rule));
        }
        let place = PathContext {
            home: self.sources.home.as_deref(),
            working_dir: match source_kind {
                SourceKind::CommandLine => self.sources.working_dir.as_deref(),
                SourceKind::OperatorFile | SourceKind::ProjectFile => None,
            },
        };
        let value = rule.check(value, self.defaults.get(key), &place)?;
        match (source_kind, self.settings.get(key)) {
            (SourceKind::ProjectFile, Some((below, origin))) => tightened(rule, value, below, origin),
            _ => Ok(value),
        }
    }

    fn not_for_projects(&self, rule: &Rule) -> String {
        let user_file = self.sources.user_file.as_ref();
        let mut places: Vec<_> =
            user_file.map(|file| self.sources.origin_of(file).to_string()).into_iter().chain(rule.variable()).collect();
        places.push("a file given by --config".to_owned());
        format!(
            "not allowed in a project's file, which an agent may have written; it may stand in {}",
            places.join(" or ")
        )
    }

    fn finish(mut self) -> Result<Loaded, ConfigError> {
        self.fill_data_dir();
        self.name_projects_without_path();
        self.in_order("wait.default", "wait.max");
        self.in_order("limits.page_items", "limits.max_page_items");
        // Refused values are missing and cannot be compared.
        if !self.problems.iter().any(|problem| problem.is_about("pool")) {
            self.problems.extend(pool::contradictions(&self.settings));
        }
        let Configured { personas, origins: persona_origins, problems } = personas::load(self.sources, &self.settings);
        self.problems.extend(problems);
        self.check_panels(persona_origins.keys().cloned().collect());
        self.require_auth_beyond_loopback();
        if !self.problems.is_empty() {
            return Err(ConfigError { problems: self.problems });
        }
        let mut tree = toml::Table::new();
        let mut origins = BTreeMap::new();
        for (key, (value, origin)) in self.settings {
            origins.insert(key.to_string(), origin);
            insert(&mut tree, key.parts(), value);
        }
        let config = Config::deserialize(tree).map_err(|error| internal(error.to_string()))?;
        Ok(Loaded { config: Config { personas, ..config }, personas: persona_origins, origins })
    }

    /// Checks that panels name known personas and fit into one review.
    fn check_panels(&mut self, known: BTreeSet<String>) {
        let mut seats = BTreeSet::new();
        for name in ["personas", "rules"] {
            let key = Key::new(["panel", name]);
            let Some((value, origin)) = self.settings.get(&key) else { continue };
            if let Some(text) = panel::unknown_personas(value, &known) {
                self.problems.push(Problem::in_setting(origin, &key, value, text));
                continue;
            }
            seats.extend(panel::named(value).map(str::to_owned));
            if seats.len() > MAX_SEATS {
                let text = format!(
                    "panel.personas and panel.rules name {} different personas; expected at most {MAX_SEATS}",
                    seats.len()
                );
                self.problems.push(Problem::in_setting(origin, &key, value, text));
            }
        }
    }

    fn fill_data_dir(&mut self) {
        let key = Key::new(["server", "data_dir"]);
        let Some((value, origin)) = self.settings.get_mut(&key) else {
            return;
        };
        if value.as_str() != Some("") {
            return;
        }
        match self.sources.data_dir.as_ref().and_then(|dir| dir.to_str()) {
            Some(dir) => *value = Value::String(dir.to_owned()),
            None => self.problems.push(Problem::in_setting(
                origin,
                &key,
                value,
                "expected a folder, since the user's data folder is not known (is HOME set?)",
            )),
        }
    }

    fn name_projects_without_path(&mut self) {
        for (key, (value, origin)) in &self.settings {
            let Some(name) = key.project() else { continue };
            if !self.settings.contains_key(&Key::new(["projects", name, "path"])) {
                let text = "expected path as well: a project needs one";
                self.problems.push(Problem::in_setting(origin, key, value, text));
            }
        }
    }

    /// An address other than loopback requires authentication.
    fn require_auth_beyond_loopback(&mut self) {
        let (listen, required) = (Key::new(["server", "listen"]), Key::new(["auth", "required"]));
        let (Some((address, origin)), Some((tokens, tokens_origin))) =
            (self.settings.get(&listen), self.settings.get(&required))
        else {
            return;
        };
        let parsed = address.as_str().and_then(|text| text.parse::<SocketAddr>().ok());
        if parsed.is_none_or(|address| address.ip().is_loopback()) || tokens.as_bool() == Some(true) {
            return;
        }
        let text = format!(
            "expected a loopback address, since auth.required is {} ({tokens_origin}) and any \
             process that reaches the port could act as any agent; set auth.required = true to listen elsewhere",
            display_value(tokens)
        );
        self.problems.push(Problem::in_setting(origin, &listen, address, text));
    }

    /// Reports the setting that is not a default, if one of them is.
    fn in_order(&mut self, low: &str, high: &str) {
        let key = |name: &str| Key::new(name.split('.'));
        let (Some((less, low_origin)), Some((more, high_origin))) =
            (self.settings.get(&key(low)), self.settings.get(&key(high)))
        else {
            return;
        };
        if !exceeds(less, more) {
            return;
        }
        self.problems.push(if *low_origin == Origin::Default {
            let text = format!("expected at least {low}, which is {} ({low_origin})", display_value(less));
            Problem::in_setting(high_origin, &key(high), more, text)
        } else {
            let text = format!("expected at most {high}, which is {} ({high_origin})", display_value(more));
            Problem::in_setting(low_origin, &key(low), less, text)
        });
    }
}

/// Merges a project's value for a setting that the project may only tighten.
pub(crate) fn tightened(rule: &Rule, value: Value, below: &Value, origin: &Origin) -> Result<Value, String> {
    match (rule.scope, value, below) {
        (Scope::ProjectLowers, value, below) if exceeds(&value, below) => {
            Err(format!("a project's file may only lower it; it is {} ({origin})", display_value(below)))
        }
        (Scope::ProjectTightensTo(word), value, below) if value.as_str() != Some(word) && value != *below => {
            Err(format!("a project's file may only say {word:?}; it is {} ({origin})", display_value(below)))
        }
        (Scope::ProjectAdds, Value::Array(more), _) if more.iter().any(panel::replaces) => {
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
