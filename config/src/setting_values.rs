//! A map from the name of a setting (`claims.lease`, `projects."my.app".path`) to its value and origin, and suggestions
//! for unknown names.

use std::collections::BTreeMap;

use domain::text::{escape, near_names};
use toml::{Table, Value};

use crate::error::{Origin, Problem, display_value};
use crate::schema::{RULES, Rule, is_section};

/// Values that have been checked. Those of the defaults are always there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings(pub(crate) BTreeMap<String, (Value, Origin)>);

impl Settings {
    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = (String, Value)>, origin: &Origin) {
        self.0.extend(values.into_iter().map(|(key, value)| (key, (value, origin.clone()))));
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).map(|(value, _)| value)
    }

    /// The text of a setting; empty if it has none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.value(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.value(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether the setting is there and neither an empty text nor an empty list.
    pub(crate) fn is_given(&self, key: &str) -> bool {
        let is_empty = |value: &Value| value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        self.value(key).is_some_and(|value| !is_empty(value))
    }

    /// Whether a list contains this text.
    pub(crate) fn allows(&self, key: &str, text: &str) -> bool {
        self.list(key).iter().any(|allowed| allowed.as_str() == Some(text))
    }

    /// The value and its origin, for a message.
    pub(crate) fn describe(&self, key: &str) -> String {
        self.0.get(key).map_or_else(String::new, |(value, origin)| format!("{} ({origin})", display_value(value)))
    }

    pub(crate) fn problem(&self, key: &str, text: impl Into<String>) -> Option<Problem> {
        let (value, origin) = self.0.get(key)?;
        Some(Problem::in_setting(origin, key, value, text))
    }
}

/// One setting of a file.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) path: Vec<String>,
    /// The key in the table of rules, where one row covers every project.
    pub(crate) pattern: String,
    pub(crate) project: Option<String>,
    pub(crate) value: Value,
}

impl Entry {
    pub(crate) fn new(path: &[&str], value: Value) -> Self {
        let key = path.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".");
        let pattern = match path {
            ["projects", _, setting] => format!("projects.*.{setting}"),
            path => path.join("."),
        };
        let project = path.get(1).filter(|_| path[0] == "projects").map(ToString::to_string);
        Self { key, path: path.iter().map(ToString::to_string).collect(), pattern, project, value }
    }

    pub(crate) fn rule(&self) -> Result<&'static Rule, String> {
        RULES.iter().find(|rule| rule.key == self.pattern).ok_or_else(|| self.unknown())
    }

    fn unknown(&self) -> String {
        let section = format!("{}.", self.pattern);
        if self.pattern == "projects" {
            return "expected sections [projects.NAME]".to_owned();
        }
        if RULES.iter().any(|rule| rule.key.starts_with(&section)) {
            return format!("expected a section [{}]", self.key);
        }
        if self.project.is_some() && !self.pattern.starts_with("projects.*.") {
            return format!("expected a section [{}] with path and, if you like, trusted", self.key);
        }
        suggest("unknown setting", &near_names(&self.pattern, RULES.iter().map(|rule| rule.key)))
    }
}

/// A setting that the user names, such as `claims.lease` or `projects."my.app".path`.
#[derive(Clone)]
pub struct SettingName {
    /// The name as TOML writes it.
    pub name: String,
    /// Section and key, or `projects`, name and key.
    pub path: Vec<String>,
    rule: &'static Rule,
}

impl SettingName {
    /// The error says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys: Option<Table> =
            (!text.contains(['\n', '='])).then(|| toml::from_str(&format!("{text} = 0")).ok()).flatten();
        let not_a_name = || format!("{text:?} is not the name of a setting, such as claims.lease");
        let entry = entries(keys.ok_or_else(not_a_name)?).pop().ok_or_else(not_a_name)?;
        Ok(Self { rule: entry.rule()?, name: entry.key, path: entry.path })
    }

    /// Parses a value as in a variable: a bare text, a number, or a list with commas. It is checked when it is loaded.
    pub fn parse_value(&self, text: &str) -> Value {
        self.rule.parse(text)
    }
}

/// The names of all settings, without those of projects.
pub fn setting_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.key).filter(|key| !key.contains('*'))
}

/// A part of a key as TOML writes it.
fn quoted(part: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.is_empty() && part.chars().all(is_bare) { part.to_owned() } else { format!("\"{}\"", escape(part)) }
}

/// The settings of a file: two levels deep, three for projects.
///
/// A value in the place of a section is returned under the section's name, for the caller to refuse.
pub(crate) fn entries(file: Table) -> Vec<Entry> {
    let mut found = Vec::new();
    for (section, value) in file {
        let Some(settings) = value.as_table().filter(|table| !table.is_empty() || is_section(&section)) else {
            found.push(Entry::new(&[&section], value));
            continue;
        };
        for (name, value) in settings {
            let project = value.as_table().filter(|table| section == "projects" && !table.is_empty());
            match project {
                Some(project) => {
                    found.extend(project.iter().map(|(key, value)| Entry::new(&[&section, name, key], value.clone())))
                }
                None => found.push(Entry::new(&[&section, name], value.clone())),
            }
        }
    }
    found
}

pub(crate) fn unknown_variable(name: &str) -> String {
    if name.starts_with("COUNTERSIGN_PROJECTS_") {
        return "projects cannot be set in variables; use [projects.NAME] in a file".to_owned();
    }
    let known: Vec<_> = RULES.iter().filter_map(Rule::variable).collect();
    suggest("is not a setting", &near_names(name, known.iter().map(String::as_str)))
}

/// For a key in a table such as a panel rule.
pub(crate) fn unknown_key<'a>(given: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match near_names(given, known.clone()).as_slice() {
        [] => format!("unknown key; allowed are {}", known.collect::<Vec<_>>().join(", ")),
        names => format!("unknown key; did you mean {}?", names.join(" or ")),
    }
}

fn suggest(text: &str, near: &[&str]) -> String {
    match near {
        [] => format!("{text}; config/default.toml lists all"),
        names => format!("{text}; did you mean {}?", names.join(" or ").replace('*', "NAME")),
    }
}
