//! What has to be done to a file, decided before anything is touched.

use super::{
    atomic_write::{self, FileMode},
    edit::{Fragment, FragmentState},
    manifest::{Manifest, ManifestEntry},
    target::{InitTarget, Kind},
};
use anyhow::{Context as _, anyhow};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file as it is and as it is to be.
#[derive(Debug)]
pub(super) struct Change {
    pub path: PathBuf,
    pub kind: Kind,
    pub before: Option<String>,
    pub after: Option<String>,
    pub make: FileMode,
    /// The user's own file: from where to where.
    pub moved: Option<(PathBuf, PathBuf)>,
    /// What to remember of it; `None` to forget it.
    record: Option<ManifestEntry>,
    folders: Vec<PathBuf>,
}

/// What is found when something is to be taken out.
#[derive(Debug, Default)]
pub(super) struct Removal {
    pub change: Option<Change>,
    /// What stays because somebody has changed it.
    pub kept: Vec<String>,
}

impl Change {
    /// What it takes to have the target as it is wanted; `None` if it is.
    pub(super) fn put(target: &InitTarget, scope: &Path, manifest: &Manifest) -> anyhow::Result<Option<Self>> {
        let there = if target.aside.is_some() { None } else { atomic_write::read(&target.path)? };
        let before = there.clone().unwrap_or_default();
        let mut record = manifest.find(&target.path).unwrap_or_default();
        let mut after = before.clone();
        for piece in &target.pieces {
            for made in piece.containers(&after)? {
                if !record.made.contains(&made) {
                    record.made.push(made);
                }
            }
            after = piece.put(&after)?;
        }
        let can_run = target.make != FileMode::Executable || atomic_write::is_executable(&target.path);
        if there.is_some() && after == before && can_run {
            return Ok(None);
        }
        record.path.clone_from(&target.path);
        scope.clone_into(&mut record.scope);
        record.kind = target.kind.as_str().into();
        record.note(there.as_deref(), &after);
        for piece in &target.pieces {
            record.pieces.extend(piece.read(&after)?.map(|text| (piece.name(), text)));
        }
        record.folders.extend(atomic_write::missing_folders(&target.path));
        record.aside = target.aside.clone().or(record.aside);
        Ok(Some(Self {
            path: target.path.clone(),
            kind: target.kind,
            before: there,
            after: Some(after),
            make: target.make,
            moved: target.aside.clone().map(|aside| (target.path.clone(), aside)),
            record: Some(record),
            folders: Vec::new(),
        }))
    }

    /// What it takes to have nothing of ours in the target.
    pub(super) fn take(target: &InitTarget, manifest: &Manifest) -> anyhow::Result<Removal> {
        let record = manifest.find(&target.path);
        let there = atomic_write::read(&target.path)?;
        let known = record.clone().unwrap_or_default();
        let (after, mut kept) = match (&there, known.undone(there.as_deref().unwrap_or_default())) {
            (None, _) => (None, Vec::new()),
            (Some(_), Some(older)) => (older, Vec::new()),
            (Some(text), None) => cut(&target.pieces, text, record.as_ref())?,
        };
        if there == after && (record.is_none() || !kept.is_empty()) {
            return Ok(Removal { change: None, kept });
        }
        if let Some(aside) = known.aside.as_deref().filter(|aside| after.is_some() && aside.exists()) {
            kept.push(format!("it has other lines now, so {} is not put back", aside.display()));
        }
        let moved = known
            .aside
            .clone()
            .filter(|aside| after.is_none() && aside.exists())
            .map(|aside| (aside, target.path.clone()));
        let record = known.clone();
        let change = Self {
            path: target.path.clone(),
            kind: target.kind,
            before: there,
            after,
            make: FileMode::Default,
            moved,
            // Of what stays we still know that it was ours.
            record: (!kept.is_empty()).then_some(record),
            folders: known.folders,
        };
        Ok(Removal { change: Some(change), kept })
    }

    /// Only what is remembered changes, not the file.
    pub(super) fn is_silent(&self) -> bool {
        self.before == self.after && self.moved.is_none() && self.make != FileMode::Executable
    }

    /// Does it, if the file is still what it was.
    pub(super) fn apply(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let putting = self.after.is_some() && self.record.is_some();
        if let (true, Some((from, to))) = (putting, &self.moved) {
            self.move_file(from, to)?;
        }
        let there = atomic_write::read(&self.path)?;
        if there != self.before {
            return Err(anyhow!("{} has changed in the meantime; run it again", self.path.display()));
        }
        // First the note: without it nobody could take out what a crash has left.
        if let Some(record) = &self.record {
            manifest.keep(record)?;
        }
        match (&self.after, &self.before) {
            (Some(after), _) => atomic_write::write(&self.path, after, self.make)?,
            (None, Some(_)) => atomic_write::remove(&self.path, &self.folders)?,
            (None, None) => {}
        }
        if let (false, Some((from, to))) = (putting, &self.moved) {
            self.move_file(from, to)?;
        }
        if self.record.is_none() {
            manifest.forget(&self.path);
        }
        Ok(())
    }

    fn move_file(&self, from: &Path, to: &Path) -> anyhow::Result<()> {
        if to.exists() {
            return Err(anyhow!("{} is in the way of {}", to.display(), from.display()));
        }
        fs::rename(from, to).with_context(|| format!("cannot move {}", from.display()))
    }
}

/// The text without what is still as it was put there; and in words, what is not.
fn cut(
    pieces: &[Fragment],
    text: &str,
    record: Option<&ManifestEntry>,
) -> anyhow::Result<(Option<String>, Vec<String>)> {
    let (mut left, mut kept) = (text.to_owned(), Vec::new());
    let made = record.map(|record| record.made.as_slice()).unwrap_or_default();
    for piece in pieces {
        let Some(now) = piece.read(&left)? else { continue };
        let put = record.and_then(|record| record.pieces.get(&piece.name()));
        let is_ours =
            put.map_or_else(|| piece.stands(&left).map(|it| it == FragmentState::UpToDate), |put| Ok(*put == now))?;
        match (is_ours, piece, record) {
            (true, _, _) => left = piece.cut(&left, made)?,
            // Of a file that was never ours there is nothing to say.
            (false, Fragment::Whole(_), None) => {}
            (false, _, _) => kept.push(format!("{} was changed since, so it stays", piece.name())),
        }
    }
    let whole = pieces.iter().any(|piece| matches!(piece, Fragment::Whole(_)));
    let made_file = record.is_some_and(|record| record.made_file) || whole;
    let is_nothing = pieces.iter().all(|piece| piece.is_nothing(&left));
    Ok(if made_file && is_nothing && left != text { (None, kept) } else { (Some(left), kept) })
}
