//! Plans the change of one file: what `init` wants in it, and the edit that leads there. Nothing is written before
//! [`Change::apply`].

use super::{
    edit::{Fragment, FragmentState},
    manifest::{Manifest, ManifestEntry},
    user_files::{self, FileMode},
};
use anyhow::{Context as _, anyhow};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The option of `init` that a file belongs to. Each file belongs to one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    #[default]
    Server,
    ClientHooks,
    GitHooks,
    Skills,
    Gsd,
}

/// A file and the fragments that `init` manages in it.
#[derive(Debug, Clone)]
pub(super) struct InitTarget {
    pub path: PathBuf,
    pub kind: Kind,
    pub fragments: Vec<Fragment>,
    pub mode: FileMode,
    /// Where to move a file of the user that is in the way.
    pub backup_path: Option<PathBuf>,
    /// The user-level settings file, which may contain the fragment for all projects.
    pub user_level_path: Option<PathBuf>,
}

impl InitTarget {
    pub(super) fn new(path: PathBuf, kind: Kind, fragments: Vec<Fragment>) -> Self {
        Self { path, kind, fragments, mode: FileMode::Default, backup_path: None, user_level_path: None }
    }
}

/// The text of a file before and after.
#[derive(Debug)]
pub(super) struct Change {
    pub path: PathBuf,
    pub kind: Kind,
    pub before: Option<String>,
    pub after: Option<String>,
    pub mode: FileMode,
    /// A file of the user that is moved: from, to.
    pub moved: Option<(PathBuf, PathBuf)>,
    /// The manifest entry to save; `None` deletes it.
    entry: Option<ManifestEntry>,
    /// Folders to remove if they are empty after a removal.
    folders: Vec<PathBuf>,
}

/// The result of planning a removal.
#[derive(Debug, Default)]
pub(super) struct Removal {
    pub change: Option<Change>,
    /// Fragments that stay because they were changed after the installation.
    pub kept: Vec<String>,
}

impl Change {
    /// The change that installs a target. `None` if it is up to date.
    pub(super) fn install(target: &InitTarget, scope: &Path, manifest: &Manifest) -> anyhow::Result<Option<Self>> {
        let existing = if target.backup_path.is_some() { None } else { user_files::load(&target.path)? };
        let before = existing.clone().unwrap_or_default();
        let mut entry = manifest.find(&target.path).unwrap_or_default();
        let mut after = before.clone();
        for fragment in &target.fragments {
            for container in fragment.missing_containers(&after)? {
                if !entry.created_containers.contains(&container) {
                    entry.created_containers.push(container);
                }
            }
            after = fragment.insert(&after)?;
        }
        let mode_is_right = target.mode != FileMode::Executable || user_files::is_executable(&target.path);
        if existing.is_some() && after == before && mode_is_right {
            return Ok(None);
        }
        entry.path.clone_from(&target.path);
        scope.clone_into(&mut entry.scope);
        entry.kind = target.kind;
        entry.record_edit(existing.as_deref(), &after);
        for fragment in &target.fragments {
            entry.fragments.extend(fragment.current(&after)?.map(|text| (fragment.name(), text)));
        }
        entry.created_folders.extend(user_files::missing_folders(&target.path));
        entry.backup_path = target.backup_path.clone().or(entry.backup_path);
        Ok(Some(Self {
            path: target.path.clone(),
            kind: target.kind,
            before: existing,
            after: Some(after),
            mode: target.mode,
            moved: target.backup_path.clone().map(|backup| (target.path.clone(), backup)),
            entry: Some(entry),
            folders: Vec::new(),
        }))
    }

    /// The change that removes everything of `init` from a target.
    pub(super) fn remove(target: &InitTarget, manifest: &Manifest) -> anyhow::Result<Removal> {
        let recorded = manifest.find(&target.path);
        let before = user_files::load(&target.path)?;
        let entry = recorded.clone().unwrap_or_default();
        let (after, mut kept) = match (&before, entry.original(before.as_deref().unwrap_or_default())) {
            (None, _) => (None, Vec::new()),
            (Some(_), Some(original)) => (original, Vec::new()),
            (Some(text), None) => remove_fragments(&target.fragments, text, recorded.as_ref())?,
        };
        if before == after && (recorded.is_none() || !kept.is_empty()) {
            return Ok(Removal { change: None, kept });
        }
        if let Some(backup) = entry.backup_path.as_deref().filter(|backup| after.is_some() && backup.exists()) {
            kept.push(format!("the file has other content, so {} was not moved back", backup.display()));
        }
        let moved = entry
            .backup_path
            .clone()
            .filter(|backup| after.is_none() && backup.exists())
            .map(|backup| (backup, target.path.clone()));
        let folders = entry.created_folders.clone();
        let change = Self {
            path: target.path.clone(),
            kind: target.kind,
            before,
            after,
            mode: FileMode::Default,
            moved,
            // Keep the record of fragments that stay.
            entry: (!kept.is_empty()).then_some(entry),
            folders,
        };
        Ok(Removal { change: Some(change), kept })
    }

    /// Whether only the manifest changes.
    pub(super) fn is_silent(&self) -> bool {
        self.before == self.after && self.moved.is_none() && self.mode != FileMode::Executable
    }

    /// Writes the change, unless the file has changed since it was planned.
    pub(super) fn apply(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let installs = self.after.is_some() && self.entry.is_some();
        if let (true, Some((from, to))) = (installs, &self.moved) {
            move_file(from, to)?;
        }
        if user_files::load(&self.path)? != self.before {
            return Err(anyhow!("{} has changed in the meantime; run the command again", self.path.display()));
        }
        // The manifest first: after a crash it must know what was installed.
        if let Some(entry) = &self.entry {
            manifest.save(entry)?;
        }
        match (&self.after, &self.before) {
            (Some(after), _) => user_files::write(&self.path, after, self.mode)?,
            (None, Some(_)) => user_files::remove(&self.path, &self.folders)?,
            (None, None) => {}
        }
        if let (false, Some((from, to))) = (installs, &self.moved) {
            move_file(from, to)?;
        }
        if self.entry.is_none() {
            manifest.delete(&self.path);
        }
        Ok(())
    }
}

fn move_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        return Err(anyhow!("cannot move {}: {} exists", from.display(), to.display()));
    }
    fs::rename(from, to).with_context(|| format!("cannot move {}", from.display()))
}

/// The text without the fragments that are unchanged since the installation, and a message for each of the others.
fn remove_fragments(
    fragments: &[Fragment],
    text: &str,
    entry: Option<&ManifestEntry>,
) -> anyhow::Result<(Option<String>, Vec<String>)> {
    let (mut rest, mut kept) = (text.to_owned(), Vec::new());
    let created_containers = entry.map(|entry| entry.created_containers.as_slice()).unwrap_or_default();
    for fragment in fragments {
        let Some(current) = fragment.current(&rest)? else { continue };
        let is_unchanged = match entry.and_then(|entry| entry.fragments.get(&fragment.name())) {
            Some(installed) => *installed == current,
            None => fragment.state(&rest)? == FragmentState::UpToDate,
        };
        match (is_unchanged, fragment, entry) {
            (true, _, _) => rest = fragment.remove(&rest, created_containers)?,
            // A whole file that is not in the manifest belongs to the user.
            (false, Fragment::Whole(_), None) => {}
            (false, _, _) => kept.push(format!("{} was changed after the installation, so it stays", fragment.name())),
        }
    }
    let is_whole_file = fragments.iter().any(|fragment| matches!(fragment, Fragment::Whole(_)));
    let created_file = entry.is_some_and(|entry| entry.created_file) || is_whole_file;
    let is_blank = fragments.iter().all(|fragment| fragment.is_blank(&rest));
    Ok(if created_file && is_blank && rest != text { (None, kept) } else { (Some(rest), kept) })
}
