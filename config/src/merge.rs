//! Merges the layers, remembering for each setting who said it last.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use domain::default_panel::MAX_SEATS;
use domain::runtime::{MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE, TOKEN_VARIABLE};
use serde::Deserialize;
use toml::Value;

use crate::error::{ConfigError, Origin, Problem, show};
use crate::key::{Key, insert, settings};
use crate::panel;
use crate::personas::{self, Configured};
use crate::pool;
use crate::schema::{RULES, Rule, Scope, find};
use crate::sources::Sources;
use crate::suggest::{unknown_setting, unknown_variable};
use crate::validate::{Place, duration};
use crate::{Config, DEFAULTS};

const PREFIX: &str = "COUNTERSIGN_";
/// Ours, but no settings: whom a client is to speak to and as whom, and what the tests are told. A broker
/// that such a client starts inherits them.
const OTHER_VARIABLES: &[&str] =
    &["COUNTERSIGN_SKIP_CLIENTS", "COUNTERSIGN_NAME", TOKEN_VARIABLE, MCP_URL_VARIABLE, REVIEWER_ID_VARIABLE];
const TEST_PREFIX: &str = "COUNTERSIGN_TEST_";

/// A configuration, and where each of its settings came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// By persona and setting.
    pub personas: BTreeMap<String, BTreeMap<String, Origin>>,
    origins: BTreeMap<String, Origin>,
}

impl Loaded {
    /// Who set `key` (`server.listen`), for a value that turns out to be wrong only in use.
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

/// Who speaks: decides what may be said and how paths are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    OperatorsFile,
    ProjectsFile,
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
    merge.file(user, Speaker::OperatorsFile, sources.read_user_file());
    let project = file(sources.project_file().as_ref());
    merge.file(project, Speaker::ProjectsFile, sources.read_project_file());
    let named = file(sources.config_file.as_ref());
    merge.file(named, Speaker::OperatorsFile, sources.read_config_file());
    merge.variables();
    merge.flags();
    merge.finish()
}

fn internal(text: String) -> ConfigError {
    ConfigError { problems: vec![Problem::at(&Origin::Default, text)] }
}

impl Merge<'_> {
    fn file(&mut self, origin: Option<Origin>, speaker: Speaker, read: Result<Option<toml::Table>, Problem>) {
        match (origin, read) {
            (_, Err(problem)) => self.problems.push(problem),
            (Some(origin), Ok(Some(table))) => {
                for (key, value) in settings(table) {
                    self.set(&key, &value, &origin, speaker);
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
                (Some(_), None) => self.problems.push(Problem::at(&origin, "expected UTF-8")),
                (None, _) => self.problems.push(Problem::at(&origin, unknown_variable(&name))),
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
                (Some(_), None) => self.problems.push(Problem::at(&origin, "expected UTF-8")),
                (None, _) => {
                    self.problems.push(Problem::at(&origin, format!("stands for the unknown setting {}", flag.key)))
                }
            }
        }
    }

    fn set_text(&mut self, rule: &Rule, text: &str, origin: &Origin) {
        let key = Key::new(rule.key.split('.'));
        self.set(&key, &rule.read(text), origin, Speaker::CommandLine);
    }

    /// Takes the value over, or notes what is wrong with it; then the layer below stays.
    fn set(&mut self, key: &Key, value: &Value, origin: &Origin, speaker: Speaker) {
        match self.checked(key, value, speaker) {
            Ok(value) => {
                self.settings.insert(key.clone(), (value, origin.clone()));
            }
            Err(text) => self.problems.push(Problem::of(origin, key, value, text)),
        }
    }

    fn checked(&self, key: &Key, value: &Value, speaker: Speaker) -> Result<Value, String> {
        let Some(rule) = find(key) else {
            return Err(unknown_setting(key));
        };
        if key.project().is_some_and(|name| !is_project_name(name)) {
            return Err("expected a project name of 1 to 64 letters, digits and the characters . _ -".to_owned());
        }
        if speaker == Speaker::ProjectsFile && rule.scope == Scope::OperatorOnly {
            return Err(self.not_for_projects(rule));
        }
        let place = Place {
            home: self.sources.home.as_deref(),
            working_dir: match speaker {
                Speaker::CommandLine => self.sources.working_dir.as_deref(),
                Speaker::OperatorsFile | Speaker::ProjectsFile => None,
            },
        };
        let value = rule.check(value, self.defaults.get(key), &place)?;
        match (speaker, self.settings.get(key)) {
            (Speaker::ProjectsFile, Some((below, origin))) => tightened(rule, value, below, origin),
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
        // A value that was refused is not there to compare with.
        if !self.problems.iter().any(|problem| problem.is_about("pool")) {
            self.problems.extend(pool::contradictions(&self.settings));
        }
        let Configured { personas, origins: persona_origins, problems } = personas::load(self.sources, &self.settings);
        self.problems.extend(problems);
        self.known_panels(persona_origins.keys().cloned().collect());
        self.tokens_beyond_loopback();
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

    /// Panels are of personas that are there, and fit around one review.
    fn known_panels(&mut self, known: BTreeSet<String>) {
        let mut seats = BTreeSet::new();
        for name in ["personas", "rules"] {
            let key = Key::new(["panel", name]);
            let Some((value, origin)) = self.settings.get(&key) else { continue };
            if let Some(text) = panel::unknown_personas(value, &known) {
                self.problems.push(Problem::of(origin, &key, value, text));
                continue;
            }
            seats.extend(panel::named(value).map(str::to_owned));
            if seats.len() > MAX_SEATS {
                let text = format!(
                    "panel.personas and panel.rules name {} different personas; expected at most {MAX_SEATS}",
                    seats.len()
                );
                self.problems.push(Problem::of(origin, &key, value, text));
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
            None => self.problems.push(Problem::of(
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
                let text = "expected a path beside it: a project needs one";
                self.problems.push(Problem::of(origin, key, value, text));
            }
        }
    }

    /// What others can reach is open only to those who show a token.
    fn tokens_beyond_loopback(&mut self) {
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
            "expected a loopback address, since auth.required is {} ({tokens_origin}) and whoever reaches the port \
             could act as any agent; set auth.required = true to listen elsewhere",
            show(tokens)
        );
        self.problems.push(Problem::of(origin, &listen, address, text));
    }

    /// Blames the one that was set by somebody; the other may be a default.
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
            let text = format!("expected at least {low}, which is {} ({low_origin})", show(less));
            Problem::of(high_origin, &key(high), more, text)
        } else {
            let text = format!("expected at most {high}, which is {} ({high_origin})", show(more));
            Problem::of(low_origin, &key(low), less, text)
        });
    }
}

/// What a project's file makes of a setting that it may only tighten.
pub(crate) fn tightened(rule: &Rule, value: Value, below: &Value, origin: &Origin) -> Result<Value, String> {
    match (rule.scope, value, below) {
        (Scope::ProjectLowers, value, below) if exceeds(&value, below) => {
            Err(format!("a project's file may only lower it; it is {} ({origin})", show(below)))
        }
        (Scope::ProjectSays(word), value, below) if value.as_str() != Some(word) && value != *below => {
            Err(format!("a project's file may only say {word:?}; it is {} ({origin})", show(below)))
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
