//! "Did you mean": suggestions for unknown settings.

use crate::schema::{RULES, Rule};
use crate::setting_key::Key;

pub(crate) fn unknown_setting(key: &Key) -> String {
    let section = format!("{}.", key.pattern());
    if key.pattern() == "projects" {
        return "expected sections [projects.NAME]".to_owned();
    }
    if RULES.iter().any(|rule| rule.key.starts_with(&section)) {
        return format!("expected a section [{key}]");
    }
    if key.project().is_some() && key.parts().len() == 2 {
        return format!("expected a section [{key}] with path and, if you like, trusted");
    }
    let known = RULES.iter().map(|rule| rule.key);
    let near = near(&key.pattern(), known);
    suggest("unknown setting", &near)
}

pub(crate) fn unknown_variable(name: &str) -> String {
    if name.starts_with("COUNTERSIGN_PROJECTS_") {
        return "projects cannot be set in variables; use [projects.NAME] in a file".to_owned();
    }
    let known: Vec<_> = RULES.iter().filter_map(Rule::variable).collect();
    suggest("is not a setting", &near(name, known.iter().map(String::as_str)))
}

/// For a key in a table such as a panel rule.
pub(crate) fn unknown_key(given: &str, known: &[&str]) -> String {
    match near(given, known.iter().copied()).as_slice() {
        [] => format!("unknown key; allowed are {}", known.join(", ")),
        names => format!("unknown key; did you mean {}?", names.join(" or ")),
    }
}

fn suggest(text: &str, near: &[&str]) -> String {
    match near {
        [] => format!("{text}; config/default.toml lists all"),
        names => format!("{text}; did you mean {}?", names.join(" or ").replace('*', "NAME")),
    }
}

/// Up to three similar names, closest first.
fn near<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<_> = known
        .map(|name| (strsim::levenshtein(given, name), name))
        .filter(|(edits, name)| *edits <= 2.max(name.len() / 4))
        .collect();
    ranked.sort();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}
