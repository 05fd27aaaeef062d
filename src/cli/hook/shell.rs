//! A command line as a shell would read it, taken apart and never run.
//!
//! Quotes, expansions, substitutions, here-documents and subshells are read as POSIX says, as far as it takes to see
//! which programs are started with which words. ActionKind an expansion stands for is not known: such a word is uncertain.

mod lexer;

/// ActionKind a shell would do, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Command(SimpleCommand),
    /// ActionKind changes a folder from here on is forgotten at the matching [`Item::SubshellEnd`].
    SubshellStart,
    SubshellEnd,
}

/// A program and its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub words: Vec<Word>,
    /// ActionKind a here-document gives it to read.
    pub input: Option<String>,
    /// Its output goes to a file.
    pub writes: bool,
    pub connector: Connector,
}

/// How a command hangs on what stands before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Connector {
    #[default]
    Sequence,
    And,
    Or,
    Pipe,
    /// Beside one that goes on in the background.
    Background,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// Holds an expansion, so that it may be any text.
    pub uncertain: bool,
    /// Was quoted at least in part, so it is no reserved word.
    pub quoted: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub items: Vec<Item>,
    /// It ends in the middle of a quote or a substitution.
    pub broken: bool,
}

pub(super) fn read(text: &str) -> Script {
    lexer::Lexer::new(text).read()
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
