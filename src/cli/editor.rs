//! A text that somebody writes: given as an argument, in a file, on stdin, or in an editor.

use super::{Failure, request::source::read, terminal};
use anyhow::{Context as _, anyhow};
use std::{io::IsTerminal as _, path::PathBuf, process::Stdio};
use tokio::process::Command;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct TextArgs {
    /// What to say
    #[arg(long, short = 'm', value_name = "TEXT", conflicts_with = "file")]
    message: Option<String>,
    /// The same from a file, or from stdin with -
    #[arg(long, short = 'F', value_name = "FILE")]
    file: Option<PathBuf>,
}

impl TextArgs {
    /// What was given, what stdin holds, or what is written in the editor.
    pub(super) async fn get(&self, what: &str) -> Result<String, Failure> {
        let text = match (&self.message, &self.file) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => read(file)?,
            (None, None) if terminal::is_interactive() => {
                without_comments(&edit(&format!("\n<!-- {what} -->\n")).await?)
            }
            (None, None) if !std::io::stdin().is_terminal() => read("-".as_ref())?,
            (None, None) => String::new(),
        };
        let text = text.trim().to_owned();
        if text.is_empty() {
            Err(Failure::usage(anyhow!("{what}: say it with -m, or in a file with -F")))
        } else {
            Ok(text)
        }
    }
}

/// What is left of `template` once the user's editor has ended.
pub(super) async fn edit(template: &str) -> Result<String, Failure> {
    let folder = tempfile::tempdir().context("no room for a text to edit")?;
    let file = folder.path().join("COUNTERSIGN.md");
    std::fs::write(&file, template).context("no room for a text to edit")?;
    let editor =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".into());
    // As git does it: an editor may have arguments.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&file);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let ended = command.status().await.with_context(|| format!("cannot run {editor}"))?;
    if !ended.success() {
        return Err(anyhow!("{editor}: {ended}").into());
    }
    Ok(std::fs::read_to_string(&file).context("what was written cannot be read")?)
}

/// Without `<!-- … -->`.
pub(super) fn without_comments(text: &str) -> String {
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
    fn comments_are_not_part_of_it() {
        assert_eq!(without_comments("a<!-- b\nc -->d<!-- e"), "ad");
    }
}
