//! Records what `init` changed in which file, so that `init --remove` can undo exactly that.
//!
//! The data folder holds one private JSON file per edited file. It contains the inserted and the replaced lines only, so
//! that secrets elsewhere in the user's file are not copied.

use super::{
    edit::{Splice, splices, undo},
    file_change::Kind,
};
use anyhow::Context as _;
use config::{DataDir, data_dir::make_private};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// What `init` changed in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestEntry {
    pub path: PathBuf,
    /// The repository or home folder that the file belongs to.
    pub scope: PathBuf,
    pub kind: Kind,
    /// The edit that can be undone as long as the file stays as it was after it.
    edit: Option<RecordedEdit>,
    /// The inserted fragments by name, as they were right after the edit.
    pub fragments: BTreeMap<String, Value>,
    /// JSON objects and lists that were created to hold the fragments.
    pub created_containers: Vec<String>,
    /// Folders that were created for the file.
    pub created_folders: Vec<PathBuf>,
    pub created_file: bool,
    /// Where the user's own file was moved to.
    pub backup_path: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedEdit {
    /// Hash of the text after the edit.
    after_hash: String,
    created_file: bool,
    splices: Vec<Splice>,
}

impl RecordedEdit {
    /// The text before the edit, if `text` is the one after it. The inner `None` means that there was no file.
    fn undo(&self, text: &str) -> Option<Option<String>> {
        let before = undo(text, &self.splices).filter(|_| self.after_hash == hash(text))?;
        Some((!self.created_file).then_some(before))
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ManifestEntry {
    /// Records an edit. It is merged with the previous one. If the user has changed the file since that one, neither can
    /// be undone exactly.
    pub(super) fn record_edit(&mut self, before: Option<&str>, after: &str) {
        self.created_file |= before.is_none();
        let original = match &self.edit {
            None => Some(before.map(str::to_owned)),
            Some(previous) => previous.undo(before.unwrap_or_default()).filter(|_| before.is_some()),
        };
        if let Some(original) = original {
            let splices = splices(original.as_deref().unwrap_or_default(), after);
            self.edit = Some(RecordedEdit { after_hash: hash(after), created_file: original.is_none(), splices });
        }
    }

    /// The text before all edits, if the file was not changed since. The inner `None` means that there was no file.
    pub(super) fn original(&self, text: &str) -> Option<Option<String>> {
        self.edit.as_ref()?.undo(text)
    }
}

/// All entries of a data folder.
pub(super) struct Manifest {
    dir: PathBuf,
}

impl Manifest {
    pub(super) fn new(data_dir: &DataDir) -> Self {
        Self { dir: data_dir.init_manifests() }
    }

    fn file(&self, path: &Path) -> PathBuf {
        let name = hash(&path.to_string_lossy());
        self.dir.join(format!("{}.json", &name[..16]))
    }

    pub(super) fn find(&self, path: &Path) -> Option<ManifestEntry> {
        let entry: ManifestEntry = serde_json::from_slice(&fs::read(self.file(path)).ok()?).ok()?;
        (entry.path == path).then_some(entry)
    }

    pub(super) fn list(&self, scope: &Path) -> Vec<ManifestEntry> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut entries: Vec<ManifestEntry> =
            files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok()).collect();
        entries.retain(|entry| entry.scope == scope);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries
    }

    pub(super) fn save(&self, entry: &ManifestEntry) -> anyhow::Result<()> {
        let write = || -> std::io::Result<()> {
            if let Some(data_dir) = self.dir.parent() {
                make_private(data_dir)?;
            }
            make_private(&self.dir)?;
            // Only the owner may read a temporary file.
            let mut file = NamedTempFile::new_in(&self.dir)?;
            file.write_all(&serde_json::to_vec_pretty(entry)?)?;
            file.as_file().sync_all()?;
            file.persist(self.file(&entry.path))?;
            Ok(())
        };
        write().with_context(|| format!("cannot write the manifest in {}", self.dir.display()))
    }

    pub(super) fn delete(&self, path: &Path) {
        let _ = fs::remove_file(self.file(path));
        // Fails, as intended, while there are other entries.
        let _ = fs::remove_dir(&self.dir);
    }
}

#[cfg(test)]
#[path = "undo_manifest_tests.rs"]
mod tests;
