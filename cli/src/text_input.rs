//! Reads a text that the user gives to a command: from an argument, a file, stdin, or the user's editor.

use crate::{CliError, commands::request::change_source::read_file, terminal};
use anyhow::{Context as _, anyhow};
use std::{io::IsTerminal as _, path::PathBuf, process::Stdio};
use tokio::process::Command;

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
    /// The text from the arguments, from stdin, or from the editor.
    pub(crate) async fn read(&self, what: &str) -> Result<String, CliError> {
        let text = match (&self.message, &self.file) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => read_file(file)?,
            (None, None) if terminal::is_interactive() => {
                without_comments(&edit(&format!("\n<!-- {what} -->\n")).await?)
            }
            (None, None) if !std::io::stdin().is_terminal() => read_file("-".as_ref())?,
            (None, None) => String::new(),
        };
        let text = text.trim().to_owned();
        if text.is_empty() {
            Err(CliError::usage(anyhow!("{what}: no text; use -m TEXT or -F FILE")))
        } else {
            Ok(text)
        }
    }
}

/// Opens the user's editor with `template` and returns the edited text.
pub(crate) async fn edit(template: &str) -> Result<String, CliError> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let file = folder.path().join("COUNTERSIGN.md");
    std::fs::write(&file, template).context("cannot write the text to edit")?;
    let editor =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".into());
    // Run it through a shell, as git does: the variable may contain arguments.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&file);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let status = command.status().await.with_context(|| format!("cannot run {editor}"))?;
    if !status.success() {
        return Err(anyhow!("{editor}: {status}").into());
    }
    Ok(std::fs::read_to_string(&file).context("cannot read the edited text")?)
}

/// Removes `<!-- … -->`.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_are_removed() {
        assert_eq!(without_comments("a<!-- b\nc -->d<!-- e"), "ad");
    }
}
