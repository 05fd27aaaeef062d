//! Applies the patches of one run of `git apply --cached` to a tree.
//!
//! Git checks all patches, then removes all old names, then writes all new ones. Diffs in which two patches write one
//! path, or one patch builds on the result of another, go to git.

use std::collections::HashMap;

use domain::diff::Patch;

use super::Declined;
use super::binary_patch::apply_binary;
use super::forbidden_paths::is_allowed_path;
use super::hunks::{Context, apply_hunks};
use super::object_id::{Kind, ObjectId};
use super::objects::ObjectReader;
use super::tree::{Mode, find_file};
use super::tree_writer::Folder;

const SUBMODULE_START: &[u8] = b"Subproject commit ";

/// What a patch does with its files.
struct FileChange<'p> {
    removes: Option<&'p [u8]>,
    writes: Option<(&'p [u8], Mode, ObjectId)>,
}

/// The tree after `patches`.
pub(crate) fn apply_patches(
    reader: &mut ObjectReader<'_>,
    tree: &ObjectId,
    patches: &[Patch<'_>],
    context: Context,
) -> Result<ObjectId, Declined> {
    check_order(patches)?;
    let mut changes = Vec::with_capacity(patches.len());
    for patch in patches {
        changes.push(apply_patch(reader, tree, patch, context)?);
    }
    let mut root = Folder::open(reader, tree)?;
    for path in changes.iter().filter_map(|change| change.removes) {
        root.remove(reader, path)?;
    }
    for (path, mode, id) in changes.iter().filter_map(|change| change.writes) {
        root.add(reader, path, mode, id)?;
    }
    match root.write(reader)? {
        Some(id) => Ok(id),
        None => reader.add(Kind::Tree, Vec::new()),
    }
}

/// Declines a path that one patch writes and a later one removes, except if both are renames: files can swap their names.
fn check_order(patches: &[Patch<'_>]) -> Result<(), Declined> {
    let mut written: HashMap<&[u8], bool> = HashMap::with_capacity(patches.len());
    for patch in patches {
        let removes = patch.old.as_deref().filter(|old| !patch.copied && patch.new.as_deref() != Some(old));
        if removes.and_then(|path| written.get(path)).is_some_and(|renamed| !(*renamed && patch.renamed)) {
            return Err(Declined("a path that is written and then removed"));
        }
        if let Some(new) = patch.new.as_deref() {
            written.insert(new, patch.renamed);
        }
    }
    Ok(())
}

fn apply_patch<'p>(
    reader: &mut ObjectReader<'_>,
    tree: &ObjectId,
    patch: &'p Patch<'_>,
    context: Context,
) -> Result<FileChange<'p>, Declined> {
    let modes = check_patch(patch)?;
    let (old, new) = (patch.old.as_deref(), patch.new.as_deref());
    let before = match old {
        Some(path) => Some(find_file(reader, tree, path)?.ok_or(Declined("a file that the base does not have"))?),
        None => None,
    };
    let (old_mode, old_id) = before.unzip();
    // A stated mode must have the type of the file. Other permissions are ignored.
    if let (Some(stated), Some(stored)) = (modes.old, old_mode)
        && !stated.has_type_of(stored)
    {
        return Err(Declined("a file of another type"));
    }
    let mode = modes.new.or(old_mode).unwrap_or(Mode::File);
    if !patch.shows_modes(old_mode.map(Mode::bits), Some(mode.bits())) {
        return Err(Declined("modes that the diff does not show"));
    }
    if old_mode.is_some_and(|old| !old.has_type_of(mode)) {
        return Err(Declined("a change of type"));
    }
    let allowed = |path: Option<&[u8]>| path.is_none_or(|path| is_allowed_path(path, mode == Mode::Symlink));
    if !allowed(old) || !allowed(new) {
        return Err(Declined("a path that git may refuse"));
    }
    if patch.binary && mode == Mode::Submodule {
        return Err(Declined("a binary patch of a submodule"));
    }
    let content = match &old_id {
        old if patch.binary => apply_binary(reader, patch, old.as_ref())?,
        Some(id) => apply_hunks(&read_content(reader, mode, id)?, &patch.hunks, context, &mut reader.budget)?,
        None => apply_hunks(&[], &patch.hunks, context, &mut reader.budget)?,
    };
    let writes = match new {
        Some(path) => Some((path, mode, write_content(reader, mode, content)?)),
        None if content.is_empty() => None,
        None => return Err(Declined("a deleted file with content left")),
    };
    Ok(FileChange { removes: old.filter(|_| !patch.copied), writes })
}

/// The modes that a header states.
struct StatedModes {
    old: Option<Mode>,
    new: Option<Mode>,
}

/// Declines patches whose header git reads in more than one way, or in which it has to guess.
fn check_patch(patch: &Patch<'_>) -> Result<StatedModes, Declined> {
    if patch.binary && patch.binary_data.is_empty() {
        return Err(Declined("a binary patch without data"));
    }
    if patch.guessed {
        return Err(Declined("a header without certain names"));
    }
    let is_moved = patch.renamed || patch.copied;
    let has_names = match (&patch.old, &patch.new) {
        (None, Some(_)) => patch.created && patch.old_mode.is_none(),
        (Some(_), None) => patch.deleted && patch.new_mode.is_none(),
        (Some(old), Some(new)) => !patch.created && !patch.deleted && (old != new) == is_moved,
        (None, None) => false,
    };
    // The hunk of a whole file; git rejects old lines of a new file and new lines of a deleted one.
    let is_whole = match (&patch.old, &patch.new, patch.hunks.as_slice()) {
        (Some(_), Some(_), _) | (_, _, []) => true,
        (None, _, [hunk]) => hunk.old == 0 && hunk.old_start == 0,
        (_, None, [hunk]) => hunk.new == 0,
        (_, _, [_, ..]) => false,
    };
    if !has_names || !is_whole {
        return Err(Declined("an unusual header"));
    }
    if patch.old.is_some() && patch.new_mode.is_some() && patch.old_mode.is_none() {
        return Err(Declined("a new mode without an old one"));
    }
    let mode = |bits: Option<u32>| match bits {
        None => Ok(None),
        Some(bits) => match Mode::from_bits(bits) {
            None | Some(Mode::Folder) => Err(Declined("an unusual mode")),
            mode => Ok(mode),
        },
    };
    Ok(StatedModes { old: mode(patch.old_mode)?, new: mode(patch.new_mode)? })
}

/// The text that a patch of this file changes.
fn read_content(reader: &mut ObjectReader<'_>, mode: Mode, id: &ObjectId) -> Result<Vec<u8>, Declined> {
    if mode == Mode::Submodule {
        return Ok([SUBMODULE_START, id.to_string().as_bytes(), b"\n"].concat());
    }
    Ok(reader.read_kind(id, Kind::Blob)?.to_vec())
}

fn write_content(reader: &mut ObjectReader<'_>, mode: Mode, content: Vec<u8>) -> Result<ObjectId, Declined> {
    if mode != Mode::Submodule {
        return reader.add(Kind::Blob, content);
    }
    let hex = content.strip_prefix(SUBMODULE_START).and_then(|rest| rest.strip_suffix(b"\n"));
    let id = hex.and_then(|hex| ObjectId::parse(hex, reader.algorithm()));
    id.filter(|id| !id.is_null()).ok_or(Declined("an unusual submodule"))
}
