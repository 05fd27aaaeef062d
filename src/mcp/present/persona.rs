//! What a reviewer is told of the persona whose seat it takes.

use super::{Files, shortened};
use actors::personas::Persona;
use schemars::JsonSchema;
use serde::Serialize;

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
        Self { focus: &persona.focus, prompt: shortened(&persona.prompt, room, ""), ignore: &persona.ignore }
    }
}

/// Which of the files that are shown it does not look at. What is moved counts by its new name.
pub(in crate::mcp) fn ignored<'a>(persona: &Persona, files: &Files<'a>) -> Vec<&'a str> {
    let paths = files.affected_files.iter().map(|file| file.path.as_str());
    paths.filter(|path| persona.ignore.fits(path)).collect()
}
