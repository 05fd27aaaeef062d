//! Trees: their entries, the check of a whole base, and changes to some of its files.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::Declined;
use super::object_id::{Algorithm, Kind, ObjectId};
use super::objects::ObjectReader;
use super::paths::is_allowed_name;

const MAX_DEPTH: usize = 256;
const MAX_TREE_BYTES: usize = 8 * 1024 * 1024;
/// Files of a base. Git lists them all in its index.
const MAX_FILES: u64 = 2_000_000;
/// Checked trees that are remembered for each repository.
const MAX_CHECKED: usize = 100_000;

const MALFORMED: Declined = Declined("a malformed tree");

/// The mode of a tree entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Symlink,
    Submodule,
    Folder,
}

impl Mode {
    /// Only the modes that git writes today.
    pub(crate) const fn from_bits(bits: u32) -> Option<Self> {
        match bits {
            0o100_644 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Symlink),
            0o160_000 => Some(Self::Submodule),
            0o040_000 => Some(Self::Folder),
            _ => None,
        }
    }

    const fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Submodule => "160000",
            Self::Folder => "40000",
        }
    }

    pub(crate) const fn is_regular(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }

    /// Whether both are files, symlinks or submodules. A patch cannot change one into the other.
    pub(crate) fn has_type_of(self, other: Self) -> bool {
        self == other || (self.is_regular() && other.is_regular())
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, Copy)]
struct Entry<'a> {
    bits: u32,
    name: &'a [u8],
    id: ObjectId,
}

impl Entry<'_> {
    /// Git sorts a folder as if its name ended in a slash.
    fn is_folder(&self) -> bool {
        self.bits == 0o040_000
    }

    fn mode(&self) -> Result<Mode, Declined> {
        Mode::from_bits(self.bits).ok_or(Declined("a tree with an old mode"))
    }
}

struct Entries<'a> {
    rest: &'a [u8],
    algorithm: Algorithm,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Declined>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.parse();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry.ok_or(MALFORMED))
    }
}

impl<'a> Entries<'a> {
    fn parse(&mut self) -> Option<Entry<'a>> {
        let blank = self.rest.iter().take(7).position(|&byte| byte == b' ')?;
        let (mode, rest) = (self.rest.get(..blank)?, self.rest.get(blank + 1..)?);
        if !mode.iter().all(|byte| matches!(byte, b'0'..=b'7')) || mode.first() == Some(&b'0') {
            return None;
        }
        let bits = mode.iter().fold(0, |bits, byte| (bits << 3) | u32::from(byte - b'0'));
        let end = rest.iter().position(|&byte| byte == 0)?;
        let (name, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
        let (id, rest) = rest.split_at_checked(self.algorithm.id_len())?;
        self.rest = rest;
        Some(Entry { bits, name, id: ObjectId::new(id) })
    }
}

fn entries(content: &[u8], algorithm: Algorithm) -> Entries<'_> {
    Entries { rest: content, algorithm }
}

/// The order of git: by bytes, with a slash behind the names of folders.
fn compare(a: (&[u8], bool), b: (&[u8], bool)) -> Ordering {
    let common = a.0.len().min(b.0.len());
    let end = |(name, is_folder): (&[u8], bool)| name.get(common).copied().or(is_folder.then_some(b'/'));
    a.0.get(..common).cmp(&b.0.get(..common)).then_with(|| end(a).cmp(&end(b))).then_with(|| a.0.len().cmp(&b.0.len()))
}

/// Trees that were checked, with the number of files below them.
#[derive(Debug, Default)]
pub(crate) struct CheckedTrees(Mutex<HashMap<ObjectId, u64>>);

impl CheckedTrees {
    /// Checks every tree of a base, as git does when it reads a base into its index: all are there, well-formed and
    /// sorted, none is empty, and no name is forbidden. Trees that were checked before are not read again.
    pub(crate) fn check(&self, reader: &mut ObjectReader<'_>, root: &ObjectId) -> Result<(), Declined> {
        if self.find(root).is_some() {
            return Ok(());
        }
        let mut found = HashMap::new();
        self.count_files(reader, root, 0, &mut found)?;
        let mut checked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.len() + found.len() > MAX_CHECKED {
            checked.clear();
        }
        checked.extend(found);
        Ok(())
    }

    fn find(&self, id: &ObjectId) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }

    fn count_files(
        &self,
        reader: &mut ObjectReader<'_>,
        id: &ObjectId,
        depth: usize,
        found: &mut HashMap<ObjectId, u64>,
    ) -> Result<u64, Declined> {
        if let Some(files) = found.get(id).copied().or_else(|| self.find(id)) {
            return Ok(files);
        }
        if depth > MAX_DEPTH {
            return Err(Declined("a deep tree"));
        }
        let content = read_tree(reader, id)?;
        let mut files = 0;
        let mut earlier: Vec<Entry<'_>> = Vec::new();
        for entry in entries(&content, reader.algorithm()) {
            let entry = entry?;
            check_entry(&entry, &earlier)?;
            earlier.push(entry);
            files += match entry.is_folder() {
                true => self.count_files(reader, &entry.id, depth + 1, found)?,
                false => 1,
            };
        }
        reader.budget.take_steps(earlier.len())?;
        // The root of an empty base is the one empty tree that git keeps.
        if (files == 0 && depth > 0) || files > MAX_FILES {
            return Err(Declined("a tree without files, or with too many"));
        }
        found.insert(*id, files);
        Ok(files)
    }
}

fn check_entry(entry: &Entry<'_>, earlier: &[Entry<'_>]) -> Result<(), Declined> {
    let is_known_type = matches!(entry.bits & 0o170_000, 0o100_000 | 0o120_000 | 0o160_000) || entry.is_folder();
    let is_symlink = entry.bits & 0o170_000 == 0o120_000;
    if !is_known_type || entry.id.is_null() || !is_allowed_name(entry.name, is_symlink) {
        return Err(Declined("a tree with an entry that git refuses"));
    }
    if let Some(last) = earlier.last()
        && compare((last.name, last.is_folder()), (entry.name, entry.is_folder())) != Ordering::Less
    {
        return Err(Declined("an unsorted tree"));
    }
    // A file and a folder of one name are not neighbours, but all names between them begin with it.
    let mut same_start = earlier.iter().rev().take_while(|other| other.name.starts_with(entry.name));
    if same_start.any(|other| other.name == entry.name) {
        return Err(Declined("a tree with a name twice"));
    }
    Ok(())
}

fn read_tree(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<Arc<[u8]>, Declined> {
    let content = reader.read_kind(id, Kind::Tree)?;
    if content.len() > MAX_TREE_BYTES { Err(Declined("a large tree")) } else { Ok(content) }
}

/// The entry of a tree with this name.
fn find_entry(
    reader: &mut ObjectReader<'_>,
    content: &[u8],
    name: &[u8],
) -> Result<Option<(Mode, ObjectId)>, Declined> {
    reader.budget.take_steps(1 + content.len() / 64)?;
    for entry in entries(content, reader.algorithm()) {
        let entry = entry?;
        if entry.name == name {
            return Ok(Some((entry.mode()?, entry.id)));
        }
    }
    Ok(None)
}

/// The file, symlink or submodule at a path of the tree `root`.
pub(crate) fn find_file(
    reader: &mut ObjectReader<'_>,
    root: &ObjectId,
    path: &[u8],
) -> Result<Option<(Mode, ObjectId)>, Declined> {
    let mut tree = *root;
    let mut parts = path.split(|&byte| byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let content = read_tree(reader, &tree)?;
        match (find_entry(reader, &content, part)?, parts.peek().is_some()) {
            (Some((Mode::Folder, id)), true) => tree = id,
            (Some((Mode::Folder, _)), false) | (Some(_), true) | (None, _) => return Ok(None),
            (Some(found), false) => return Ok(Some(found)),
        }
    }
    Ok(None)
}

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
        let mut all: Vec<(&[u8], Mode, ObjectId)> = Vec::new();
        for entry in entries(&content, reader.algorithm()) {
            let entry = entry?;
            let mode = entry.mode()?;
            if !is_changed(entry.name) {
                all.push((entry.name, mode, entry.id));
            }
        }
        all.extend(changed.iter().filter_map(|(name, entry)| entry.map(|(mode, id)| (name.as_slice(), mode, id))));
        reader.budget.take_steps(all.len())?;
        if all.is_empty() {
            return Ok(None);
        }
        all.sort_by(|a, b| compare((a.0, a.1 == Mode::Folder), (b.0, b.1 == Mode::Folder)));
        let mut tree = Vec::with_capacity(content.len() + 64 * changed.len());
        for (name, mode, id) in all {
            for bytes in [mode.octal().as_bytes(), b" ", name, b"\0", id.as_bytes()] {
                tree.extend_from_slice(bytes);
            }
        }
        reader.add(Kind::Tree, tree).map(Some)
    }
}
