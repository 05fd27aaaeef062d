//! Reads a text that the user gives to a command: from an argument, a file, stdin, or the user's editor.

use crate::{CliError, client::BrokerArgs, commands::request::change_source::read_file, terminal, text_draft::Draft};
use anyhow::anyhow;
use api::reviews::ReviewHead;
use std::{io::IsTerminal as _, path::PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TextArgs {
    /// Use this text
    #[arg(long, short = 'm', value_name = "TEXT", conflicts_with = "file")]
    message: Option<String>,
    /// Read the text from this file, or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
}

impl TextArgs {
    /// Where the text is kept if it is written in the editor.
    pub(crate) fn draft(
        &self,
        broker: &BrokerArgs,
        command: &str,
        review: &ReviewHead,
    ) -> Result<Option<Draft>, CliError> {
        let is_edited = self.message.is_none() && self.file.is_none() && terminal::is_interactive();
        is_edited.then(|| Ok(Draft::new(&broker.data_dir()?, command, review))).transpose()
    }

    /// The text from the arguments, from stdin, or from the editor.
    pub(crate) async fn read(&self, what: &str, draft: Option<&Draft>) -> Result<String, CliError> {
        let text = match (&self.message, &self.file, draft) {
            (Some(text), ..) => text.clone(),
            (None, Some(file), _) => read_file(file)?,
            (None, None, Some(draft)) => without_comments(&draft.edit(&format!("\n<!-- {what} -->\n")).await?),
            (None, None, None) if !std::io::stdin().is_terminal() => read_file("-".as_ref())?,
            (None, None, None) => String::new(),
        };
        let text = text.trim().to_owned();
        if text.is_empty() {
            Err(CliError::usage(anyhow!("{what}: no text; use -m TEXT or -F FILE")))
        } else {
            Ok(text)
        }
    }
}

/// Removes `<!-- … -->`. Text after a `<!--` without an end stays.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        let Some((_, after)) = after.split_once("-->") else { break };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_are_removed() {
        assert_eq!(without_comments("a<!-- b\nc -->d<!-- e"), "ad<!-- e");
    }
}
