//! Plans and applies `init`'s change of one file: the content that `init` wants, and the edit that produces it. Nothing
//! is written before [`Change::apply`].

use super::{
    edit::{Fragment, FragmentState},
    undo_manifest::{Manifest, ManifestEntry},
};
use crate::atomic_files::{self, FileMode};
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
    entry: ManifestEntry,
    /// Whether the manifest keeps the entry: after an installation, and while fragments stay.
    keeps_entry: bool,
}

impl Change {
    /// The change that installs a target. `None` if it is up to date.
    pub(super) fn install(target: &InitTarget, scope: &Path, manifest: &Manifest) -> anyhow::Result<Option<Self>> {
        let path = &target.path;
        if let Some(backup) = target.backup_path.as_deref().filter(|backup| backup.exists()) {
            return Err(anyhow!("cannot move it to {}, which exists", backup.display()));
        }
        let before = if target.backup_path.is_some() { None } else { atomic_files::load(path)? };
        let mut entry = manifest.find(path).unwrap_or_default();
        let mut after = before.clone().unwrap_or_default();
        for fragment in &target.fragments {
            for container in fragment.missing_containers(&after)? {
                if !entry.created_containers.contains(&container) {
                    entry.created_containers.push(container);
                }
            }
            after = fragment.insert(&after)?;
        }
        let mode_is_right = target.mode != FileMode::Executable || atomic_files::is_executable(path);
        if before.as_ref() == Some(&after) && mode_is_right {
            return Ok(None);
        }
        entry.path.clone_from(path);
        scope.clone_into(&mut entry.scope);
        entry.kind = target.kind;
        entry.record_edit(before.as_deref(), &after);
        for fragment in &target.fragments {
            entry.fragments.extend(fragment.current(&after)?.map(|current| (fragment.name(), current)));
        }
        entry.created_folders.extend(atomic_files::missing_folders(path));
        entry.backup_path = target.backup_path.clone().or(entry.backup_path);
        Ok(Some(Self {
            path: path.clone(),
            kind: target.kind,
            before,
            after: Some(after),
            mode: target.mode,
            moved: target.backup_path.clone().map(|backup| (path.clone(), backup)),
            entry,
            keeps_entry: true,
        }))
    }

    /// The change that removes everything of `init` from a target, and why parts of it stay.
    pub(super) fn remove(target: &InitTarget, manifest: &Manifest) -> anyhow::Result<(Option<Self>, Vec<String>)> {
        let path = &target.path;
        let recorded = manifest.find(path);
        let before = atomic_files::load(path)?;
        let (after, mut kept) = match &before {
            None => (None, Vec::new()),
            Some(text) => match recorded.as_ref().and_then(|entry| entry.original(text)) {
                Some(original) => (original, Vec::new()),
                None => remove_fragments(&target.fragments, text, recorded.as_ref())?,
            },
        };
        if before == after && (recorded.is_none() || !kept.is_empty()) {
            return Ok((None, kept));
        }
        let entry = recorded.unwrap_or_default();
        let backup = entry.backup_path.clone().filter(|backup| backup.exists());
        let moved = match (backup, &after) {
            (Some(backup), Some(_)) => {
                kept.push(format!("the file has other content, so {} was not moved back", backup.display()));
                None
            }
            (backup, _) => backup.map(|backup| (backup, path.clone())),
        };
        let (path, kind, keeps_entry) = (path.clone(), target.kind, !kept.is_empty());
        let change = Self { path, kind, before, after, mode: FileMode::Default, moved, entry, keeps_entry };
        Ok((Some(change), kept))
    }

    /// Whether only the manifest changes.
    pub(super) fn is_silent(&self) -> bool {
        self.before == self.after && self.moved.is_none() && self.mode != FileMode::Executable
    }

    /// Writes the change, unless the file has changed since it was planned.
    pub(super) fn apply(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let moves_away = self.moved.as_ref().filter(|(from, _)| *from == self.path);
        if let Some((from, to)) = moves_away {
            move_file(from, to)?;
        }
        if atomic_files::load(&self.path)? != self.before {
            return Err(anyhow!("{} has changed in the meantime; run the command again", self.path.display()));
        }
        // The manifest first: after a crash it must know what was installed.
        if self.keeps_entry {
            manifest.save(&self.entry)?;
        }
        match (&self.after, &self.before) {
            (Some(after), _) => atomic_files::write(&self.path, after, self.mode)?,
            (None, Some(_)) => atomic_files::remove(&self.path, &self.entry.created_folders)?,
            (None, None) => {}
        }
        if let Some((from, to)) = self.moved.as_ref().filter(|_| moves_away.is_none()) {
            move_file(from, to)?;
        }
        if !self.keeps_entry {
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
