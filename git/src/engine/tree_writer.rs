//! Replaces files in a git tree and computes the new tree objects of their folders, up to the root.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Declined;
use super::object_id::{Kind, ObjectId};
use super::objects::ObjectReader;
use super::tree::{MAX_DEPTH, Mode, compare, entries, find_entry, read_tree};

/// A folder with changes that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// The tree before the changes; empty for a new folder.
    content: Arc<[u8]>,
    changes: BTreeMap<Vec<u8>, Change>,
}

#[derive(Debug)]
enum Change {
    Removed,
    File(Mode, ObjectId),
    Folder(Folder),
}

impl Folder {
    pub(crate) fn open(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<Self, Declined> {
        Ok(Self { content: read_tree(reader, id)?, changes: BTreeMap::new() })
    }

    /// Removes a file that the tree has.
    pub(crate) fn remove(&mut self, reader: &mut ObjectReader<'_>, path: &[u8]) -> Result<(), Declined> {
        let (folder, name) = self.descend(reader, path)?;
        let entry = find_entry(reader, &folder.content, name)?;
        if folder.changes.contains_key(name) || !matches!(entry, Some((mode, _)) if mode != Mode::Folder) {
            return Err(Declined("a file that cannot be removed"));
        }
        folder.changes.insert(name.to_vec(), Change::Removed);
        Ok(())
    }

    /// Adds a file at a path that is free, or was freed by [`Self::remove`].
    pub(crate) fn add(
        &mut self,
        reader: &mut ObjectReader<'_>,
        path: &[u8],
        mode: Mode,
        id: ObjectId,
    ) -> Result<(), Declined> {
        let (folder, name) = self.descend(reader, path)?;
        let is_free = match folder.changes.get(name) {
            Some(Change::Removed) => true,
            Some(Change::File(..) | Change::Folder(_)) => false,
            None => find_entry(reader, &folder.content, name)?.is_none(),
        };
        if !is_free {
            return Err(Declined("a path that is not free"));
        }
        folder.changes.insert(name.to_vec(), Change::File(mode, id));
        Ok(())
    }

    /// The folder of a path, created if needed, and the last part of the path. A folder can take the place of a file that
    /// was removed, but not of a symlink.
    fn descend<'f, 'p>(
        &'f mut self,
        reader: &mut ObjectReader<'_>,
        path: &'p [u8],
    ) -> Result<(&'f mut Self, &'p [u8]), Declined> {
        const BLOCKED: Declined = Declined("a file in the place of a folder");
        let mut folder = self;
        let mut parts = path.split(|&byte| byte == b'/').enumerate().peekable();
        while let Some((depth, part)) = parts.next() {
            if parts.peek().is_none() {
                return Ok((folder, part));
            }
            if depth > MAX_DEPTH {
                break;
            }
            if !matches!(folder.changes.get(part), Some(Change::Folder(_))) {
                let is_removed = match folder.changes.get(part) {
                    None => false,
                    Some(Change::Removed) => true,
                    Some(Change::File(..) | Change::Folder(_)) => return Err(BLOCKED),
                };
                let opened = match find_entry(reader, &folder.content, part)? {
                    None => Self::default(),
                    Some((Mode::Folder, id)) => Self::open(reader, &id)?,
                    Some((mode, _)) if is_removed && mode.is_regular() => Self::default(),
                    Some(_) => return Err(BLOCKED),
                };
                folder.changes.insert(part.to_vec(), Change::Folder(opened));
            }
            match folder.changes.get_mut(part) {
                Some(Change::Folder(next)) => folder = next,
                Some(Change::Removed | Change::File(..)) | None => return Err(BLOCKED),
            }
        }
        Err(Declined("a deep path"))
    }

    /// Writes the folder and those below it. `None` if no file is left.
    pub(crate) fn write(self, reader: &mut ObjectReader<'_>) -> Result<Option<ObjectId>, Declined> {
        let Self { content, changes } = self;
        let mut changed = Vec::with_capacity(changes.len());
        for (name, change) in changes {
            let entry = match change {
                Change::Removed => None,
                Change::File(mode, id) => Some((mode, id)),
                Change::Folder(folder) => folder.write(reader)?.map(|id| (Mode::Folder, id)),
            };
            changed.push((name, entry));
        }
        let is_changed = |name: &[u8]| changed.binary_search_by(|(other, _)| other.as_slice().cmp(name)).is_ok();
        let new = changed.iter().filter_map(|(name, entry)| entry.map(|(mode, id)| (name.as_slice(), mode, id)));
        let mut new: Vec<(&[u8], Mode, ObjectId)> = new.collect();
        new.sort_by(|a, b| compare((a.0, a.1 == Mode::Folder), (b.0, b.1 == Mode::Folder)));
        let mut new = new.into_iter().peekable();
        let mut tree = Vec::with_capacity(content.len() + 64 * changed.len());
        let mut count = changed.len();
        for entry in entries(&content, reader.algorithm()) {
            let entry = entry?;
            entry.mode()?;
            count += 1;
            let is_before = |new: &(&[u8], Mode, ObjectId)| {
                compare((new.0, new.1 == Mode::Folder), (entry.name, entry.is_folder())) == Ordering::Less
            };
            while let Some(entry) = new.next_if(is_before) {
                write_entry(&mut tree, entry);
            }
            if !is_changed(entry.name) {
                tree.extend_from_slice(entry.stored);
            }
        }
        new.for_each(|entry| write_entry(&mut tree, entry));
        reader.budget.take_steps(count)?;
        if tree.is_empty() {
            return Ok(None);
        }
        reader.add(Kind::Tree, tree).map(Some)
    }
}

fn write_entry(tree: &mut Vec<u8>, (name, mode, id): (&[u8], Mode, ObjectId)) {
    for bytes in [mode.octal().as_bytes(), b" ", name, b"\0", id.as_bytes()] {
        tree.extend_from_slice(bytes);
    }
}
