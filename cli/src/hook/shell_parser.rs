//! Splits a shell command line into the commands it would run, without running anything.
//!
//! Quotes, expansions, substitutions, here-documents and subshells follow POSIX, as far as needed to see which programs
//! start with which arguments. The value of an expansion is not known, so a word that contains one is uncertain.

mod lexer;

/// One step of a script, in the order of execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Command(SimpleCommand),
    /// A change of the current folder after this ends at the matching [`Item::SubshellEnd`].
    SubshellStart,
    SubshellEnd,
}

/// A program with its arguments and redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub words: Vec<Word>,
    /// Text of a here-document or here-string on its stdin.
    pub input: Option<String>,
    /// Output is redirected to a file.
    pub writes: bool,
    pub connector: Connector,
}

/// The operator between a command and the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Connector {
    #[default]
    Sequence,
    And,
    Or,
    Pipe,
    /// `&`: the previous command continues in the background.
    Background,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// Contains an expansion, so the text is not known.
    pub uncertain: bool,
    /// Was at least partly quoted, so it cannot be a reserved word.
    pub quoted: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub items: Vec<Item>,
    /// The text ends inside a quote, a substitution or a here-document.
    pub broken: bool,
}

pub(super) fn parse(text: &str) -> Script {
    lexer::Lexer::new(text, 0).parse()
}

#[cfg(test)]
#[path = "shell_parser_tests.rs"]
mod tests;
