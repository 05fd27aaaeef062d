//! Reads git notes by their stored objects, without the settings of the repository.

use crate::{GitError, Repository};

/// A longer file is not a note.
const MAX_NOTE_BYTES: usize = 64 << 20;

/// A file in the tree of a notes commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The commit that the note belongs to. `None` if the file is not a note, or is too long.
    pub commit: Option<String>,
    pub blob: String,
}

impl Repository {
    /// The notes in a notes commit. Git spreads many notes over folders that are named by the first digits of the ids.
    pub async fn list_notes(&self, notes: &str) -> Result<Vec<Note>, GitError> {
        self.0.check_id(Some(notes))?;
        let mut session = self.session().await?;
        let git = session.scratch("listing the notes").stdout_limit(usize::MAX);
        let output = session.run(git.args(["ls-tree", "-r", "-l", "-z", "--full-tree", notes]), &[]).await?;
        let text = String::from_utf8_lossy(output.stdout());
        let files = text.split('\0').filter_map(|line| line.split_once('\t'));
        let notes = files.map(|(facts, path)| {
            let mut facts = facts.split_whitespace();
            let is_file = facts.next() == Some("100644") && facts.next() == Some("blob");
            let blob = facts.next().unwrap_or_default().to_owned();
            let is_short =
                facts.next().is_some_and(|size| size.parse().is_ok_and(|size: usize| size <= MAX_NOTE_BYTES));
            let commit = path.replace('/', "");
            let commit = Some(commit).filter(|commit| is_file && is_short && self.0.layout.is_id(commit));
            Note { commit, blob }
        });
        Ok(notes.collect())
    }

    /// The lines of a note. Bytes, because anyone who can push receipts can put anything into it.
    pub async fn read_note(&self, blob: &str) -> Result<Vec<Vec<u8>>, GitError> {
        self.0.check_id(Some(blob))?;
        let mut session = self.session().await?;
        let git = session.scratch("reading a note").stdout_limit(MAX_NOTE_BYTES);
        let output = session.run(git.args(["cat-file", "blob", blob]), &[]).await?;
        let lines = output.stdout().split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(<[u8]>::to_vec).collect())
    }
}
