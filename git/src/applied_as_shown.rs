//! Compares what git did with what a diff shows: the files it changes, their modes, and how many lines each of them gains.
//!
//! Git and the parser of diffs may read a strange diff differently. A reviewer sees the parser's reading, so a diff is
//! refused if git changes another file or mode, or joins two lines where the diff shows only context.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::diff::{ApplyPart, Patch};

use crate::GitError;
use crate::repository::Session;

/// A file that differs between two trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Difference {
    /// The modes before and after; 0 if the file does not exist.
    modes: (u32, u32),
    /// Lines gained, by git's count.
    gained: i64,
}

type Differences = HashMap<Vec<u8>, Difference>;

impl Session<'_> {
    /// What `tree`, the result of a diff on `base`, has that the diff does not show. `None` if they agree.
    pub(crate) async fn find_unshown_change(
        &mut self,
        base: Option<&str>,
        part: &ApplyPart<'_>,
        tree: &str,
    ) -> Result<Option<String>, GitError> {
        let empty = self.empty_tree().await?;
        let changed = self.find_differences(base.unwrap_or(&empty), tree, None).await?;
        let mut before = Differences::new();
        for path in list_moved(part) {
            before.extend(self.find_differences(&empty, base.unwrap_or(&empty), Some(&path)).await?);
        }
        let shown = list_shown(part, &before);
        let hidden = changed.iter().find(|(path, difference)| match shown.get(*path) {
            None => true,
            Some(None) => false,
            Some(Some(expected)) => *expected != difference.gained,
        });
        let hidden = hidden.map(|(path, _)| path.as_slice());
        let hidden = hidden
            .or_else(|| find_unshown_mode(part, &changed, &before))
            .or_else(|| find_kept(part, &changed))
            .or_else(|| find_written_twice(part));
        Ok(hidden.map(|path| {
            let path = String::from_utf8_lossy(path);
            format!("error: git would change {path} in another way than the diff shows")
        }))
    }

    async fn empty_tree(&mut self) -> Result<String, GitError> {
        let git = self.scratch("comparing the files").args(["hash-object", "-t", "tree", "--stdin"]);
        Ok(self.run(git, &[]).await?.text())
    }

    async fn find_differences(&mut self, from: &str, to: &str, path: Option<&[u8]>) -> Result<Differences, GitError> {
        use std::os::unix::ffi::OsStrExt as _;
        let git = self.scratch("comparing the files").stdout_limit(usize::MAX);
        let options = ["--literal-pathspecs", "diff-tree", "-r", "-z", "--raw", "--numstat", "--text", "--no-renames"];
        let git = git.args(options).args(["--ignore-submodules=none", from, to, "--"]);
        let output = self.run(git.args(path.map(std::ffi::OsStr::from_bytes)), &[]).await?;
        Ok(parse_differences(output.stdout()))
    }
}

/// Reads `--raw --numstat -z`: `:OLD-MODE NEW-MODE …`, NUL and path for each file, then `ADDED\tREMOVED\tPATH`.
fn parse_differences(output: &[u8]) -> Differences {
    let mut differences = Differences::new();
    let mut records = output.split(|&byte| byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        if let Some(columns) = record.strip_prefix(b":") {
            let mut modes = columns.split(|&byte| byte == b' ').map(|mode| number(mode, 8).unwrap_or_default());
            let modes = (modes.next().unwrap_or_default(), modes.next().unwrap_or_default());
            let path = records.next().unwrap_or_default().to_vec();
            differences.entry(path).or_default().modes = modes;
        } else {
            let mut fields = record.splitn(3, |&byte| byte == b'\t');
            let mut count = || i64::from(fields.next().and_then(|field| number(field, 10)).unwrap_or_default());
            let gained = count() - count();
            differences.entry(fields.next().unwrap_or_default().to_vec()).or_default().gained += gained;
        }
    }
    differences
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// A file that the diff creates or deletes, and that git leaves as it was.
fn find_kept<'p>(part: &'p ApplyPart<'_>, changed: &Differences) -> Option<&'p [u8]> {
    let patches = || part.patches.iter().flatten();
    let names =
        |patch: &Patch<'_>, path: &[u8]| [&patch.old, &patch.new].into_iter().flatten().any(|name| name == path);
    let ends = patches().filter(|patch| patch.created || patch.deleted);
    let mut paths = ends.filter_map(|patch| patch.new.as_deref().or(patch.old.as_deref()));
    paths.find(|path| !changed.contains_key(*path) && patches().filter(|patch| names(patch, path)).count() == 1)
}

/// A file that a patch creates, or writes as the target of a rename or copy, after another patch has written it. Git uses
/// only the last one.
fn find_written_twice<'p>(part: &'p ApplyPart<'_>) -> Option<&'p [u8]> {
    let mut written = HashSet::new();
    let targets = part.patches.iter().flatten().filter_map(|patch| Some((patch.new.as_deref()?, patch)));
    targets
        .into_iter()
        .find(|(path, patch)| !written.insert(*path) && (patch.created || moved(patch).is_some()))
        .map(|(path, _)| path)
}

/// A file whose mode the diff does not show: it changes and the diff does not say so, the diff says so and it does not
/// change, or it is a symlink or submodule and the diff looks like that of a text.
fn find_unshown_mode<'p>(part: &'p ApplyPart<'_>, changed: &Differences, before: &Differences) -> Option<&'p [u8]> {
    let mut last: HashMap<&[u8], &Patch<'_>> = HashMap::new();
    for patch in part.patches.iter().flatten() {
        last.extend(patch.new.as_deref().map(|new| (new, patch)));
    }
    let is_unshown = |path: &[u8], patch: &Patch<'_>| {
        let modes = changed.get(path).map(|file| file.modes);
        let stored = match moved(patch) {
            Some((old, _)) => before.get(old).map(|file| file.modes.1),
            None => modes.map(|(stored, _)| stored),
        };
        let exists = |mode: &u32| *mode != 0;
        !patch.shows_modes(stored.filter(exists), modes.map(|(_, result)| result).filter(exists))
    };
    last.into_iter().find(|(path, patch)| is_unshown(path, patch)).map(|(path, _)| path)
}

/// Whether the patch renames or copies a file, and from where to where.
fn moved<'p>(patch: &'p Patch<'_>) -> Option<(&'p Vec<u8>, &'p Vec<u8>)> {
    patch.old.as_ref().zip(patch.new.as_ref()).filter(|(old, new)| old != new)
}

/// The names of all files that the diff renames or copies, old and new.
fn list_moved(part: &ApplyPart<'_>) -> BTreeSet<Vec<u8>> {
    let moved = part.patches.iter().flatten().filter_map(moved);
    moved.flat_map(|(old, new)| [old.clone(), new.clone()]).collect()
}

/// The lines that each file gains by the diff, or `None` if its content is not shown: that of a binary patch.
///
/// `before` has the lines of the files that are renamed or copied. Like git, this removes all old names before it writes
/// the new ones.
fn list_shown(part: &ApplyPart<'_>, before: &Differences) -> HashMap<Vec<u8>, Option<i64>> {
    let lines = |path: &Vec<u8>| before.get(path).map(|file| file.gained).unwrap_or_default();
    let gain = |patch: &Patch<'_>| {
        let (added, removed) = patch.line_counts();
        (!patch.binary).then_some(i64::from(added) - i64::from(removed))
    };
    let patches = || part.patches.iter().flatten();
    let mut shown = HashMap::new();
    for (old, _) in patches().filter(|patch| !patch.copied).filter_map(moved) {
        shown.insert(old.clone(), Some(-lines(old)));
    }
    for (patch, (old, new)) in patches().filter_map(|patch| Some((patch, moved(patch)?))) {
        shown.insert(new.clone(), gain(patch).map(|gain| lines(old) + gain - lines(new)));
    }
    let is_replaced = |path: &Vec<u8>| patches().filter_map(moved).any(|(_, new)| new == path);
    for patch in patches().filter(|patch| moved(patch).is_none()) {
        if let Some(path) = patch.new.as_ref().or(patch.old.as_ref())
            && !(patch.deleted && is_replaced(path))
        {
            let earlier = shown.entry(path.clone()).or_insert(Some(0));
            *earlier = earlier.zip(gain(patch)).map(|(earlier, gain)| earlier + gain);
        }
    }
    shown
}
