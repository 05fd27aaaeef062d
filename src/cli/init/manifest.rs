//! What was put into which file, so that exactly that can be taken out again.
//!
//! Kept in the data folder, one note per file, for its owner only. A note holds what was put in and the lines it
//! replaced, not the whole file: other people's secrets stay where they are.

use super::{
    super::instance::{make_private, open_private},
    edit::{Splice, splices, undo},
};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestEntry {
    pub path: PathBuf,
    /// The repository or home that it belongs to.
    pub scope: PathBuf,
    pub kind: String,
    /// The changes on top of each other, with the user's own in between.
    layers: Vec<Layer>,
    /// What stood there right after it was put, by the pieces' names.
    pub pieces: BTreeMap<String, String>,
    /// Objects and lists that were made around them.
    pub made: Vec<String>,
    /// Folders that were made for the file.
    pub folders: Vec<PathBuf>,
    pub made_file: bool,
    /// Where the user's own file was moved to.
    pub aside: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Layer {
    /// Of the text as it was left.
    after: String,
    made_file: bool,
    splices: Vec<Splice>,
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ManifestEntry {
    /// Notes a change. One on top of our own last one is one with it.
    pub(super) fn note(&mut self, before: Option<&str>, after: &str) {
        let (mut base, mut made_file) = (before.unwrap_or_default().to_owned(), before.is_none());
        if let Some(last) = self.layers.last().filter(|last| before.is_some_and(|before| last.after == hash(before)))
            && let Some(older) = undo(&base, &last.splices)
        {
            (base, made_file) = (older, last.made_file);
            self.layers.pop();
        }
        self.made_file |= made_file;
        self.layers.push(Layer { after: hash(after), made_file, splices: splices(&base, after) });
    }

    /// The text before all of it, if nobody has changed it since. The inner `None`: there was no file.
    pub(super) fn undone(&self, text: &str) -> Option<Option<String>> {
        let mut text = text.to_owned();
        let mut was_there = true;
        for layer in self.layers.iter().rev() {
            if !was_there || layer.after != hash(&text) {
                return None;
            }
            text = undo(&text, &layer.splices)?;
            was_there = !layer.made_file;
        }
        (!self.layers.is_empty()).then(|| was_there.then_some(text))
    }
}

/// The notes of a data folder.
pub(super) struct Manifest {
    dir: PathBuf,
}

impl Manifest {
    pub(super) fn of(data_dir: &Path) -> Self {
        Self { dir: data_dir.join("init") }
    }

    fn file(&self, path: &Path) -> PathBuf {
        let name = hash(&path.to_string_lossy());
        self.dir.join(format!("{}.json", &name[..16]))
    }

    pub(super) fn find(&self, path: &Path) -> Option<ManifestEntry> {
        let record: ManifestEntry = serde_json::from_slice(&fs::read(self.file(path)).ok()?).ok()?;
        (record.path == path).then_some(record)
    }

    pub(super) fn list(&self, scope: &Path) -> Vec<ManifestEntry> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut manifest: Vec<ManifestEntry> =
            files.filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok()).collect();
        manifest.retain(|record| record.scope == scope);
        manifest.sort_by(|a, b| a.path.cmp(&b.path));
        manifest
    }

    pub(super) fn keep(&self, record: &ManifestEntry) -> anyhow::Result<()> {
        let inner = || -> std::io::Result<()> {
            if let Some(data_dir) = self.dir.parent() {
                make_private(data_dir)?;
            }
            make_private(&self.dir)?;
            let (path, draft) = (self.file(&record.path), self.file(&record.path).with_extension("new"));
            let mut file = open_private(&draft)?;
            file.set_len(0)?;
            file.write_all(&serde_json::to_vec_pretty(record)?)?;
            file.sync_all()?;
            fs::rename(draft, path)
        };
        inner().with_context(|| format!("cannot note in {} what is put in", self.dir.display()))
    }

    pub(super) fn forget(&self, path: &Path) {
        let _ = fs::remove_file(self.file(path));
        // Only the last one out finds it empty.
        let _ = fs::remove_dir(&self.dir);
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
