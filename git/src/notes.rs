//! Reads git notes by their stored objects, without the settings of the repository.

use crate::{GitError, Repository};

/// The most that is read of one note.
const MAX_NOTE_BYTES: usize = 1 << 20;

/// A file in the tree of a notes commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The commit that the note belongs to. `None` if the file is not a note.
    pub commit: Option<String>,
    pub blob: String,
}

impl Repository {
    /// The notes in a notes commit. Git spreads many notes over folders that are named by the first digits of the ids.
    pub async fn list_notes(&self, notes: &str) -> Result<Vec<Note>, GitError> {
        self.0.check_id(Some(notes))?;
        let mut session = self.session().await?;
        let git = session.scratch("listing the notes").stdout_limit(usize::MAX);
        let output = session.run(git.args(["ls-tree", "-r", "-z", "--full-tree", notes]), &[]).await?;
        let text = String::from_utf8_lossy(output.stdout());
        let files = text.split('\0').filter_map(|line| line.split_once('\t'));
        let notes = files.map(|(facts, path)| {
            let mut facts = facts.split(' ');
            let is_file = facts.next() == Some("100644") && facts.next() == Some("blob");
            let commit = path.replace('/', "");
            let commit = Some(commit).filter(|commit| is_file && self.0.layout.is_id(commit));
            Note { commit, blob: facts.next_back().unwrap_or_default().to_owned() }
        });
        Ok(notes.collect())
    }

    /// The text of a note. `None` if it is longer than 1 MiB or not UTF-8.
    pub async fn read_note(&self, blob: &str) -> Result<Option<String>, GitError> {
        self.0.check_id(Some(blob))?;
        let mut session = self.session().await?;
        let git = session.scratch("reading a note").stdout_limit(MAX_NOTE_BYTES);
        let output = session.try_run(git.args(["cat-file", "blob", blob]), &[]).await?;
        let is_whole = output.success && output.overflow().is_none();
        Ok(String::from_utf8(output.stdout().to_vec()).ok().filter(|_| is_whole))
    }
}
