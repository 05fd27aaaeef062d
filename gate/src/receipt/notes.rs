//! Receipts in git notes: one envelope per line, so that notes of several clones can be merged line by line.

use git::UserRepo;

use super::{Receipt, ReceiptFault};
use crate::GateError;

pub(crate) const NOTES_REF: &str = "refs/notes/countersign";
const NOTES_OPTION: &str = "--ref=refs/notes/countersign";

/// The receipts in the note of a commit, without a check of their signatures.
pub async fn list_receipts(repo: &UserRepo, commit: &str) -> Result<Vec<Result<Receipt, ReceiptFault>>, GateError> {
    let note = repo.try_git(["notes", NOTES_OPTION, "show", commit]).await?;
    let text = if note.success { note.text() } else { String::new() };
    Ok(text.lines().filter(|line| !line.is_empty()).map(|line| Receipt::parse(line.as_bytes())).collect())
}

/// The commits that have a note.
pub(crate) async fn list_with_receipt(repo: &UserRepo) -> Result<Vec<String>, GateError> {
    let notes = repo.try_git(["notes", NOTES_OPTION, "list"]).await?.text();
    Ok(notes.lines().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned).collect())
}

/// Adds a line to the note of a commit, unless the note has it.
pub(super) async fn add_line(repo: &UserRepo, commit: &str, line: &str) -> Result<(), GateError> {
    let note = repo.try_git(["notes", NOTES_OPTION, "show", commit]).await?;
    let mut text = if note.success { note.text() } else { String::new() };
    if text.lines().any(|known| known == line) {
        return Ok(());
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
    repo.git_with_input(["notes", NOTES_OPTION, "add", "--force", "--file", "-", commit], text.as_bytes()).await?;
    Ok(())
}
