//! Reads git's tree objects: checks the modes and order of their entries, and finds the file at a path.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Declined;
use super::object_id::{Algorithm, Kind, ObjectId};
use super::objects::ObjectReader;

/// Folders below each other.
pub(crate) const MAX_DEPTH: usize = 256;
const MAX_TREE_BYTES: usize = 8 * 1024 * 1024;

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

    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
            Self::Submodule => 0o160_000,
            Self::Folder => 0o040_000,
        }
    }

    pub(crate) const fn octal(self) -> &'static str {
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
pub(crate) struct Entry<'a> {
    pub(crate) bits: u32,
    pub(crate) name: &'a [u8],
    /// The entry as it is stored: mode, name and id.
    pub(crate) stored: &'a [u8],
    id: &'a [u8],
}

impl Entry<'_> {
    pub(crate) fn id(&self) -> ObjectId {
        ObjectId::new(self.id)
    }

    /// Git sorts a folder as if its name ended in a slash.
    pub(crate) fn is_folder(&self) -> bool {
        self.bits == 0o040_000
    }

    pub(crate) fn mode(&self) -> Result<Mode, Declined> {
        Mode::from_bits(self.bits).ok_or(Declined("a tree with an old mode"))
    }
}

pub(crate) struct Entries<'a> {
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
        let stored = self.rest.get(..self.rest.len() - rest.len())?;
        self.rest = rest;
        Some(Entry { bits, name, stored, id })
    }
}

pub(crate) fn entries(content: &[u8], algorithm: Algorithm) -> Entries<'_> {
    Entries { rest: content, algorithm }
}

/// The order of git: by bytes, with a slash behind the names of folders.
pub(crate) fn compare(a: (&[u8], bool), b: (&[u8], bool)) -> Ordering {
    let common = a.0.len().min(b.0.len());
    let end = |(name, is_folder): (&[u8], bool)| name.get(common).copied().or(is_folder.then_some(b'/'));
    a.0.get(..common).cmp(&b.0.get(..common)).then_with(|| end(a).cmp(&end(b))).then_with(|| a.0.len().cmp(&b.0.len()))
}

pub(crate) fn read_tree(reader: &mut ObjectReader<'_>, id: &ObjectId) -> Result<Arc<[u8]>, Declined> {
    let content = reader.read_kind(id, Kind::Tree)?;
    if content.len() > MAX_TREE_BYTES { Err(Declined("a large tree")) } else { Ok(content) }
}

/// The entry of a tree with this name.
pub(crate) fn find_entry(
    reader: &mut ObjectReader<'_>,
    content: &[u8],
    name: &[u8],
) -> Result<Option<(Mode, ObjectId)>, Declined> {
    reader.budget.take_steps(1 + content.len() / 64)?;
    for entry in entries(content, reader.algorithm()) {
        let entry = entry?;
        if entry.name == name {
            return Ok(Some((entry.mode()?, entry.id())));
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
