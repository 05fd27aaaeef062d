//! Fills the prompt template of a reviewer agent: replaces `{{variables}}`, and checks that each one is known.

/// The built-in template.
pub const DEFAULT_TEMPLATE: &str = include_str!("../../reviewer_prompt.md");

/// The variables of a template: the reviewer's id, its project (empty if it has none), the minutes a claim lasts, the
/// seconds one wait for work may take, and how many waits in a row may find no work.
pub const VARIABLES: &[&str] = &["reviewer_id", "project", "claim_minutes", "wait_seconds", "empty_waits"];

const MAX_VALUE_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("line {line}: unknown variable {{{{{}}}}}; known: {}", .name.escape_debug(), .known.join(", "))]
    Unknown { name: String, line: usize, known: Vec<String> },
    #[error("line {line}: {{{name}}} would stay as it is; write {{{{{name}}}}}")]
    SingleBraces { name: String, line: usize },
    #[error("line {line}: \"{{{{\" without \"}}}}\" on the same line")]
    Unclosed { line: usize },
    #[error(
        "the value of {name} is not a name: expected at most {MAX_VALUE_CHARS} letters, digits and the characters . _ -"
    )]
    NotAName { name: String },
}

/// Fills in the variables in one pass, so that a value is never read as a template.
///
/// Values must be plain names. Text that a caller chose would reach the reviewer as the broker's own instructions.
pub fn fill(template: &str, values: &[(&str, &str)]) -> Result<String, PromptError> {
    if let Some((name, _)) = values.iter().find(|(_, value)| !is_name(value)) {
        return Err(PromptError::NotAName { name: (*name).to_owned() });
    }
    let mut filled = String::with_capacity(template.len());
    for (i, text) in template.split_inclusive('\n').enumerate() {
        let (line, mut rest) = (i + 1, text);
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or(PromptError::Unclosed { line })?;
            let name = name.trim();
            let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
                let known = values.iter().map(|(known, _)| (*known).to_owned()).collect();
                return Err(PromptError::Unknown { name: name.to_owned(), line, known });
            };
            check_single_braces(before, values, line)?;
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        check_single_braces(rest, values, line)?;
        filled.push_str(rest);
    }
    Ok(filled)
}

/// Refuses `{variable}`, the form of other template languages, which would reach the reviewer unfilled.
fn check_single_braces(text: &str, values: &[(&str, &str)], line: usize) -> Result<(), PromptError> {
    match values.iter().find(|(name, _)| text.contains(&format!("{{{name}}}"))) {
        Some((name, _)) => Err(PromptError::SingleBraces { name: (*name).to_owned(), line }),
        None => Ok(()),
    }
}

/// Checks that [`fill`] will succeed, so that a mistake shows at start-up and not with the first reviewer.
pub fn check(template: &str) -> Result<(), PromptError> {
    let values: Vec<_> = VARIABLES.iter().map(|name| (*name, "")).collect();
    fill(template, &values).map(drop)
}

fn is_name(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    value.len() <= MAX_VALUE_CHARS && value.chars().all(plain)
}

#[cfg(test)]
#[path = "reviewer_prompt_tests.rs"]
mod tests;
