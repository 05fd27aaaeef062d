//! The default panel: personas of proposals that name none.

use std::collections::BTreeSet;

use domain::default_panel::{self as domain_panel, DefaultPanel, MAX_SEATS};
use domain::glob::{GlobError, Globs};
use domain::review::Category;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::schema::MAX_GLOBS;
use crate::suggest::unknown_key;
use crate::validate::{globs, is_persona_list};

const MAX_RULES: usize = 50;
const KEYS: &[&str] = &["category", "paths", "personas", "replace"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    pub personas: Vec<String>,
    pub rules: Vec<PanelRule>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    pub personas: Vec<String>,
    #[serde(default)]
    pub replace: bool,
}

impl Panel {
    pub fn defaults(&self) -> Result<DefaultPanel, GlobError> {
        let rules = self.rules.iter().map(|rule| {
            Ok(domain_panel::PanelRule {
                category: rule.category,
                paths: rule.paths.clone().map(Globs::new).transpose()?,
                personas: rule.personas.clone(),
                replace: rule.replace,
            })
        });
        Ok(DefaultPanel { personas: self.personas.clone(), rules: rules.collect::<Result<_, _>>()? })
    }
}

/// Problems of a value of `panel.rules`.
pub(crate) fn faults(value: &Value) -> Vec<String> {
    let tables = value.as_array().and_then(|rules| rules.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
    let Some(tables) = tables else { return vec!["this is not a list of rules".to_owned()] };
    let mut faults = Vec::new();
    if tables.len() > MAX_RULES {
        faults.push(format!("{} rules are too many; at most {MAX_RULES} are allowed", tables.len()));
    }
    for (i, rule) in tables.into_iter().enumerate() {
        faults.extend(problems_of(rule).into_iter().map(|fault| format!("rule {}: {fault}", i + 1)));
    }
    faults
}

fn problems_of(rule: &Table) -> Vec<String> {
    let mut faults: Vec<String> = rule
        .keys()
        .filter(|key| !KEYS.contains(&key.as_str()))
        .map(|key| format!("{key:?}: {}", unknown_key(key, KEYS)))
        .collect();
    let is_category = |value: &Value| value.as_str().and_then(Category::parse).is_some();
    if rule.get("category").is_some_and(|value| !is_category(value)) {
        let all: Vec<_> = Category::ALL.iter().map(|category| category.as_str()).collect();
        faults.push(format!("category must be one of {}", all.join(", ")));
    }
    match rule.get("paths").map(globs) {
        None if !rule.contains_key("category") && faults.is_empty() => {
            faults.push("needs category or paths; personas for every review belong in panel.personas".to_owned());
        }
        None => {}
        Some(Some(Ok(globs))) if (1..=MAX_GLOBS).contains(&globs.len()) => {}
        Some(Some(Err(error))) => faults.push(format!("paths: {error}")),
        Some(Some(Ok(_)) | None) => faults.push(format!("paths must be a list of 1 to {MAX_GLOBS} patterns")),
    }
    if !rule.get("personas").is_some_and(is_persona_list) {
        faults.push(format!("personas must be a list of 1 to {MAX_SEATS} names"));
    }
    if rule.get("replace").is_some_and(|value| !value.is_bool()) {
        faults.push("replace must be true or false".to_owned());
    }
    faults
}

/// Whether a rule replaces the operator's personas, which a project's file must not do.
pub(crate) fn replaces(rule: &Value) -> bool {
    rule.get("replace").and_then(Value::as_bool) == Some(true)
}

/// Names of unknown personas in `panel.personas` or `panel.rules`, as a message.
pub(crate) fn unknown_personas(value: &Value, known: &BTreeSet<String>) -> Option<String> {
    let missing: Vec<_> = named(value).filter(|name| !known.contains(*name)).map(|name| format!("{name:?}")).collect();
    if missing.is_empty() {
        return None;
    }
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    Some(format!("unknown persona {}; expected some of {}", missing.join(", "), known.join(", ")))
}

/// The names in a value of `panel.personas` or `panel.rules`.
pub(crate) fn named(value: &Value) -> impl Iterator<Item = &str> {
    let lists = value.as_array().into_iter().flatten().map(|item| match item.get("personas") {
        Some(Value::Array(names)) => names.as_slice(),
        _ => std::slice::from_ref(item),
    });
    lists.flatten().filter_map(Value::as_str)
}
