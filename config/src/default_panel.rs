//! Validates the settings of the default panel: the personas that review proposals which name none.

use domain::default_panel::MAX_SEATS;
use domain::persona::is_persona_name;
use domain::review::Category;
use toml::{Table, Value};

use crate::schema::MAX_GLOBS;
use crate::validate::{Tables, globs};

pub(crate) const RULES: Tables = Tables {
    item: "rule",
    max: 50,
    keys: &["category", "paths", "personas", "replace", "required"],
    path: None,
    faults,
    expected: "a list of rules with personas and category or paths, such as \
               [{ paths = [\"migrations/**\"], personas = [\"architecture\"] }]",
};

fn faults(rule: &Table) -> Vec<String> {
    let mut faults = Vec::new();
    let is_category = |value: &Value| value.as_str().and_then(Category::parse).is_some();
    if rule.get("category").is_some_and(|value| !is_category(value)) {
        let all: Vec<_> = Category::ALL.iter().map(|category| category.as_str()).collect();
        faults.push(format!("category must be one of {}", all.join(", ")));
    }
    match rule.get("paths").map(globs) {
        // A misspelt key is reported by itself.
        None if !rule.contains_key("category") && rule.keys().all(|key| RULES.keys.contains(&key.as_str())) => {
            faults.push("needs category or paths; personas for every review belong in panel.personas".to_owned());
        }
        None => {}
        Some(Some(Ok(globs))) if (1..=MAX_GLOBS).contains(&globs.len()) => {}
        Some(Some(Err(error))) => faults.push(format!("paths: {error}")),
        Some(Some(Ok(_)) | None) => faults.push(format!("paths must be a list of 1 to {MAX_GLOBS} patterns")),
    }
    let is_name = |name: &Value| name.as_str().is_some_and(is_persona_name);
    let names = rule.get("personas").and_then(Value::as_array);
    if !names.is_some_and(|names| (1..=MAX_SEATS).contains(&names.len()) && names.iter().all(is_name)) {
        faults.push(format!("personas must be a list of 1 to {MAX_SEATS} names"));
    }
    for key in ["replace", "required"] {
        if rule.get(key).is_some_and(|value| !value.is_bool()) {
            faults.push(format!("{key} must be true or false"));
        }
    }
    faults
}

/// Whether a rule replaces the operator's personas, which a project's file must not do.
pub(crate) fn replaces(rule: &Value) -> bool {
    rule.get("replace").and_then(Value::as_bool) == Some(true)
}

/// The names in a value of `panel.personas` or `panel.rules`.
pub(crate) fn named(value: &[Value]) -> impl Iterator<Item = &str> + Clone {
    let lists = value.iter().map(|item| match item.get("personas") {
        Some(Value::Array(names)) => names.as_slice(),
        _ => std::slice::from_ref(item),
    });
    lists.flatten().filter_map(Value::as_str)
}
