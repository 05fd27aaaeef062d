//! Lists the files in which two git trees differ, and finds the file at a path of a tree. Both check every tree that they
//! read.

use std::cmp::Ordering;

use super::Declined;
use super::object_id::ObjectId;
use super::objects::ObjectReader;
use super::tree::{Entry, MAX_DEPTH, Mode, compare, entries, find_entry, read_tree};
use super::tree_validation::check_entries;

/// More are listed by git.
const MAX_CHANGES: usize = 100_000;

/// The paths of the files in which two trees differ, as git lists them without looking for renames.
pub(crate) fn changed_paths(
    reader: &mut ObjectReader<'_>,
    from: &ObjectId,
    to: &ObjectId,
) -> Result<Vec<Vec<u8>>, Declined> {
    let mut changes = Changes { paths: Vec::new(), folder: Vec::new() };
    changes.compare_trees(reader, Some(from), Some(to), 0)?;
    Ok(changes.paths)
}

struct Changes {
    paths: Vec<Vec<u8>>,
    /// The path of the folder that is compared now, with a slash at its end.
    folder: Vec<u8>,
}

impl Changes {
    /// `None` is a tree without entries.
    fn compare_trees(
        &mut self,
        reader: &mut ObjectReader<'_>,
        from: Option<&ObjectId>,
        to: Option<&ObjectId>,
        depth: usize,
    ) -> Result<(), Declined> {
        if from == to {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(Declined("a deep tree"));
        }
        let read = |reader: &mut ObjectReader<'_>, id: Option<&ObjectId>| match id {
            Some(id) => read_checked(reader, id),
            None => Ok([].into()),
        };
        let (from, to) = (read(reader, from)?, read(reader, to)?);
        let list = |content| entries(content, reader.algorithm()).collect::<Result<Vec<Entry<'_>>, _>>();
        let (from, to) = (list(&from)?, list(&to)?);
        let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
        loop {
            let (old, new) = match (from.peek(), to.peek()) {
                (None, None) => return Ok(()),
                (old, None) => (old.is_some(), false),
                (None, new) => (false, new.is_some()),
                (Some(old), Some(new)) => match compare((old.name, old.is_folder()), (new.name, new.is_folder())) {
                    Ordering::Less => (true, false),
                    Ordering::Equal => (true, true),
                    Ordering::Greater => (false, true),
                },
            };
            let (old, new) = (from.next_if(|_| old), to.next_if(|_| new));
            self.compare_entries(reader, old, new, depth)?;
        }
    }

    /// Both have the same name, if both are there, and both or neither are folders.
    fn compare_entries(
        &mut self,
        reader: &mut ObjectReader<'_>,
        old: Option<&Entry<'_>>,
        new: Option<&Entry<'_>>,
        depth: usize,
    ) -> Result<(), Declined> {
        let Some(entry) = new.or(old) else { return Ok(()) };
        let state = |entry: Option<&Entry<'_>>| entry.map(|entry| Ok((entry.mode()?, entry.id()))).transpose();
        if state(old)? == state(new)? {
            return Ok(());
        }
        let length = self.folder.len();
        self.folder.extend_from_slice(entry.name);
        if entry.is_folder() {
            self.folder.push(b'/');
            let ids = (old.map(Entry::id), new.map(Entry::id));
            self.compare_trees(reader, ids.0.as_ref(), ids.1.as_ref(), depth + 1)?;
        } else if self.paths.len() < MAX_CHANGES {
            self.paths.push(self.folder.clone());
        } else {
            return Err(Declined("too many changed files"));
        }
        self.folder.truncate(length);
        Ok(())
    }
}

/// The file, symlink or submodule at a path of the tree `root`, of which nothing was checked yet.
pub(crate) fn find_file_checked(
    reader: &mut ObjectReader<'_>,
    root: &ObjectId,
    path: &[u8],
) -> Result<Option<(Mode, ObjectId)>, Declined> {
    let (mut tree, mut rest) = (*root, path);
    loop {
        let content = read_checked(reader, &tree)?;
        let slash = rest.iter().position(|&byte| byte == b'/');
        let (name, after) = match slash {
            Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..)),
            None => (rest, None),
        };
        match (find_entry(reader, &content, name)?, after) {
            (Some((Mode::Folder, id)), Some(after)) => (tree, rest) = (id, after),
            (Some((mode, id)), None) if mode != Mode::Folder => return Ok(Some((mode, id))),
            (Some(_) | None, _) => return Ok(None),
        }
    }
}

fn read_checked(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<std::sync::Arc<[u8]>, Declined> {
    let content = read_tree(reader, id)?;
    check_entries(reader, &content)?;
    Ok(content)
}
