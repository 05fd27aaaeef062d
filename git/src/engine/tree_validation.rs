//! Validates all tree objects below a base commit, once per commit, with the checks of `git read-tree`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::Declined;
use super::forbidden_paths::is_allowed_name;
use super::object_id::ObjectId;
use super::objects::ObjectReader;
use super::tree::{Entry, MAX_DEPTH, compare, entries, read_tree};

/// Files of a base. Git lists them all in its index.
const MAX_FILES: u64 = 2_000_000;
/// Checked trees that are remembered for each repository.
const MAX_CHECKED: usize = 100_000;

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
        check_entries(reader, &content)?;
        let mut files = 0;
        for entry in entries(&content, reader.algorithm()) {
            let entry = entry?;
            files += match entry.is_folder() {
                true => self.count_files(reader, &entry.id(), depth + 1, found)?,
                false => 1,
            };
        }
        // Git drops folders without files. Only the root may be empty, and it is not remembered: below another root it
        // would be such a folder.
        match files {
            0 if depth == 0 => return Ok(0),
            1..=MAX_FILES if found.len() < MAX_CHECKED => found.insert(*id, files),
            _ => return Err(Declined("a tree without files, or with too many")),
        };
        Ok(files)
    }
}

/// Checks a tree without those below it.
pub(crate) fn check_entries(reader: &mut ObjectReader<'_>, content: &[u8]) -> Result<(), Declined> {
    let mut earlier: Vec<Entry<'_>> = Vec::new();
    for entry in entries(content, reader.algorithm()) {
        let entry = entry?;
        check_entry(&entry, &earlier)?;
        earlier.push(entry);
    }
    reader.budget.take_steps(earlier.len())
}

fn check_entry(entry: &Entry<'_>, earlier: &[Entry<'_>]) -> Result<(), Declined> {
    let is_known_type = matches!(entry.bits & 0o170_000, 0o100_000 | 0o120_000 | 0o160_000) || entry.is_folder();
    let is_symlink = entry.bits & 0o170_000 == 0o120_000;
    if !is_known_type || entry.id().is_null() || !is_allowed_name(entry.name, is_symlink) {
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
