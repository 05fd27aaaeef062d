//! What a reviewer is told of the persona whose seat it takes.

use super::Files;
use domain::persona::Persona;
use schemars::JsonSchema;
use serde::Serialize;

/// Enough for all that the broker adds to a prompt.
const PROMPT_END_CHARS: usize = 4_000;

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct PersonaRow<'a> {
    pub focus: &'a str,
    /// How to review, and how to report what you find.
    pub prompt: String,
    /// Patterns of paths that it does not look at.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub ignore: &'a [String],
}

impl<'a> PersonaRow<'a> {
    /// With a prompt of at most so many characters.
    pub(in crate::mcp) fn of(persona: &'a Persona, room: usize) -> Self {
        Self { focus: &persona.focus, prompt: without_middle(&persona.prompt, room), ignore: &persona.ignore }
    }
}

/// At most so many characters of a prompt. What it ends with is the broker's own word on how to report, so that stays.
fn without_middle(prompt: &str, room: usize) -> String {
    let total = prompt.chars().count();
    if total <= room {
        return prompt.to_owned();
    }
    let tail = PROMPT_END_CHARS.min(room / 2);
    let start: String = prompt.chars().take(room - tail).collect();
    let end: String = prompt.chars().skip(total - tail).collect();
    format!("{start}… [{room} of {total} characters; here some are left out] …{end}")
}

/// Which of the files that are shown it does not look at. What is moved counts by its new name.
pub(in crate::mcp) fn ignored<'a>(persona: &Persona, files: &Files<'a>) -> Vec<&'a str> {
    let paths = files.affected_files.iter().map(|file| file.path.as_str());
    paths.filter(|path| persona.ignore.matches(path)).collect()
}
