//! Records what `init` changed in which file, so that `init --remove` can undo exactly that.
//!
//! The data folder holds one private JSON file per edited file. It contains the inserted and the replaced lines only, so
//! that secrets elsewhere in the user's file are not copied.

use super::{
    change::Kind,
    edit::{Splice, splices, undo},
};
use anyhow::Context as _;
use config::{
    DataDir,
    data_dir::{make_private, open_private},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// What `init` changed in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestEntry {
    pub path: PathBuf,
    /// The repository or home folder that the file belongs to.
    pub scope: PathBuf,
    pub kind: Kind,
    /// Edits by `init`, the oldest first. The user may have edited the file between them.
    layers: Vec<Layer>,
    /// The inserted fragments by name, as they were right after the edit.
    pub fragments: BTreeMap<String, String>,
    /// JSON objects and lists that were created to hold the fragments.
    pub created_containers: Vec<String>,
    /// Folders that were created for the file.
    pub created_folders: Vec<PathBuf>,
    pub created_file: bool,
    /// Where the user's own file was moved to.
    pub backup_path: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Layer {
    /// Hash of the text after the edit.
    after_hash: String,
    created_file: bool,
    splices: Vec<Splice>,
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ManifestEntry {
    /// Records an edit. If the file was not changed since the previous edit, the two are merged.
    pub(super) fn record_edit(&mut self, before: Option<&str>, after: &str) {
        let (mut base, mut created_file) = (before.unwrap_or_default().to_owned(), before.is_none());
        if let Some(last) =
            self.layers.last().filter(|last| before.is_some_and(|before| last.after_hash == hash(before)))
            && let Some(older) = undo(&base, &last.splices)
        {
            (base, created_file) = (older, last.created_file);
            self.layers.pop();
        }
        self.created_file |= created_file;
        self.layers.push(Layer { after_hash: hash(after), created_file, splices: splices(&base, after) });
    }

    /// The text before all edits, if the file was not changed since. The inner `None` means that there was no file.
    pub(super) fn original(&self, text: &str) -> Option<Option<String>> {
        let mut text = text.to_owned();
        let mut existed = true;
        for layer in self.layers.iter().rev() {
            if !existed || layer.after_hash != hash(&text) {
                return None;
            }
            text = undo(&text, &layer.splices)?;
            existed = !layer.created_file;
        }
        (!self.layers.is_empty()).then(|| existed.then_some(text))
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
        let inner = || -> std::io::Result<()> {
            if let Some(data_dir) = self.dir.parent() {
                make_private(data_dir)?;
            }
            make_private(&self.dir)?;
            let (path, draft) = (self.file(&entry.path), self.file(&entry.path).with_extension("new"));
            let mut file = open_private(&draft)?;
            file.set_len(0)?;
            file.write_all(&serde_json::to_vec_pretty(entry)?)?;
            file.sync_all()?;
            fs::rename(draft, path)
        };
        inner().with_context(|| format!("cannot write the manifest in {}", self.dir.display()))
    }

    pub(super) fn delete(&self, path: &Path) {
        let _ = fs::remove_file(self.file(path));
        // Fails, as intended, while there are other entries.
        let _ = fs::remove_dir(&self.dir);
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
