//! A text that the user writes for a review. It is kept in the data folder until the broker has it, and the next call
//! offers it again.

use crate::{CliError, terminal};
use anyhow::{Context as _, anyhow};
use api::reviews::ReviewHead;
use config::{
    DataDir,
    data_dir::{make_private, replace_private},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::process::Command;

/// The text of one command for one review.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    /// `respond R-12`
    command: String,
}

impl Draft {
    /// The draft of `command` for a review. The id distinguishes reviews of different brokers.
    pub(crate) fn new(data_dir: &DataDir, command: &str, review: &ReviewHead) -> Self {
        let id: String = review.review_id.to_string().chars().take(8).collect();
        let path = data_dir.drafts().join(format!("{command}-{}-{id}.md", review.number));
        Self { path, command: format!("{command} {}", review.number) }
    }

    /// Opens the user's editor with the kept text, or else with `template`, and returns the edited text. The editor
    /// works on the draft itself, so the text survives a crash.
    pub(crate) async fn edit(&self, template: &str) -> Result<String, CliError> {
        match self.read() {
            Some(_) => terminal::remark(&format!("continuing your text in {}", self.path.display())),
            None => self.write(template)?,
        }
        let edited = run_editor(&self.path).await;
        // An editor may have replaced the file.
        let _ = fs::set_permissions(&self.path, fs::Permissions::from_mode(0o600));
        let text = fs::read_to_string(&self.path).context("cannot read the edited text");
        if text.as_deref().is_ok_and(|text| text.trim() == template.trim()) {
            self.discard();
        }
        edited?;
        Ok(text?)
    }

    /// The kept text.
    pub(crate) fn read(&self) -> Option<String> {
        fs::read_to_string(&self.path).ok().filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn write(&self, text: &str) -> Result<(), CliError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let written = make_private(folder).and_then(|()| replace_private(&self.path, text.as_bytes()));
        Ok(written.with_context(|| format!("cannot keep your text in {}", self.path.display()))?)
    }

    pub(crate) fn discard(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Where the text is, for an error message.
    pub(crate) fn note(&self) -> String {
        format!("your text is kept in {}; the next `countersign {}` offers it again", self.path.display(), self.command)
    }
}

/// After the text of `draft` was sent it is removed, else the user learns where it is.
pub(crate) fn settle<T>(draft: Option<&Draft>, result: Result<T, CliError>) -> Result<T, CliError> {
    match (draft, &result) {
        (Some(draft), Ok(_)) => draft.discard(),
        (Some(draft), Err(_)) if draft.read().is_some() => terminal::remark(&draft.note()),
        (Some(_) | None, _) => {}
    }
    result
}

/// Runs the editor through a shell, as git does: the variable may contain arguments.
pub(crate) async fn run_editor(file: &Path) -> Result<(), CliError> {
    let given = |name| std::env::var(name).ok().filter(|it: &String| !it.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(given).unwrap_or_else(|| "vi".into());
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let status = command.status().await.with_context(|| format!("cannot run {editor}"))?;
    if status.success() { Ok(()) } else { Err(anyhow!("{editor}: {status}").into()) }
}
