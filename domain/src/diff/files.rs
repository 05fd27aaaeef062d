//! Combines patches into a list of files.

use std::collections::HashMap;

use super::flags::excerpt;
use super::parser::Patch;
use super::{AffectedFile, Flag, FlagKind, Operation, paths};

#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) list: Vec<AffectedFile>,
    by_path: HashMap<String, usize>,
}

impl Files {
    /// Adds the patches that git applies in one run. Returns flags for deletions that git does not perform.
    pub(super) fn add_commit(&mut self, patches: &[Patch<'_>]) -> Vec<Flag> {
        let mut flags = Vec::new();
        // Paths that this run writes, and whether as the target of a rename or copy.
        let mut written: HashMap<String, bool> = HashMap::with_capacity(patches.len());
        for patch in patches {
            let file = affected(patch);
            let removed = match file.operation {
                Operation::Delete => Some(&file.path),
                Operation::Rename => file.old_path.as_ref(),
                Operation::Create | Operation::Modify | Operation::Copy | Operation::Mode => None,
            };
            let kept = removed.and_then(|path| Some((path, *written.get(path)?)));
            // Two files may swap their names in one diff. Git does that correctly.
            let kept = kept.filter(|(_, moved)| !moved || file.operation == Operation::Delete).map(|(path, _)| path);
            if let Some(path) = kept {
                let detail = format!("git keeps {}, because the diff writes it before removing it", excerpt(path));
                flags.push(Flag { kind: FlagKind::TextOutsideHunks, path: Some(path.clone()), detail });
                self.by_path.remove(path);
            }
            if file.operation != Operation::Delete {
                written.insert(file.path.clone(), matches!(file.operation, Operation::Rename | Operation::Copy));
            }
            self.add(file);
        }
        flags
    }

    fn add(&mut self, file: AffectedFile) {
        let earlier = self.by_path.get(&file.path).and_then(|&at| self.list.get_mut(at));
        if let Some(earlier) = earlier
            && let Some(operation) = combine(earlier.operation, file.operation)
        {
            earlier.operation = operation;
            earlier.added = earlier.added.saturating_add(file.added);
            earlier.removed = earlier.removed.saturating_add(file.removed);
            earlier.binary |= file.binary;
            return;
        }
        self.by_path.insert(file.path.clone(), self.list.len());
        self.list.push(file);
    }
}

/// The combined operation of two patches to one path, or `None` if both are listed.
fn combine(first: Operation, second: Operation) -> Option<Operation> {
    use Operation::{Copy, Create, Delete, Mode, Modify, Rename};
    match (first, second) {
        (Create | Modify | Rename | Copy, Modify | Mode) => Some(first),
        (Mode, Modify | Mode) => Some(second),
        (Modify | Mode, Delete) => Some(Delete),
        // Git writes a change of the file type, such as file to symlink, as a deletion and a creation.
        (Delete, Create) => Some(Modify),
        (Create | Rename | Copy, Delete)
        | (Delete, Modify | Mode | Delete)
        | (Create | Modify | Rename | Copy | Mode, Create)
        | (_, Rename | Copy) => None,
    }
}

fn affected(patch: &Patch<'_>) -> AffectedFile {
    let moved = patch.old.is_some() && patch.new.is_some() && patch.old != patch.new;
    let operation = if patch.created {
        Operation::Create
    } else if patch.deleted {
        Operation::Delete
    } else if patch.copied {
        Operation::Copy
    } else if moved || patch.renamed {
        // Git renames the file even if only `---` and `+++` differ.
        Operation::Rename
    } else if patch.hunks == 0 && !patch.binary {
        Operation::Mode
    } else {
        Operation::Modify
    };
    let old_path = match operation {
        Operation::Rename | Operation::Copy => patch.old.as_deref().map(paths::to_display),
        Operation::Create | Operation::Modify | Operation::Delete | Operation::Mode => None,
    };
    let (added, removed, binary) = (patch.added, patch.removed, patch.binary);
    AffectedFile { path: patch.display_path(), old_path, operation, added, removed, binary }
}
