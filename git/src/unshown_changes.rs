//! Compares what git did with what a diff shows: the files it changes, and how many lines each of them gains.
//!
//! Git and the parser of diffs may read a strange diff differently. A reviewer sees the parser's reading, so a diff is
//! refused if git changes another file, or joins two lines where the diff shows only context.

use std::collections::{BTreeSet, HashMap};

use domain::diff::{ApplyPart, Patch};

use crate::GitError;
use crate::repository::Session;

/// Lines gained by each file, by git's count.
type Gains = HashMap<Vec<u8>, i64>;

impl Session<'_> {
    /// What `tree`, the result of a diff on `base`, has that the diff does not show. `None` if they agree.
    pub(crate) async fn find_unshown_change(
        &mut self,
        base: Option<&str>,
        part: &ApplyPart<'_>,
        tree: &str,
    ) -> Result<Option<String>, GitError> {
        let empty = self.empty_tree().await?;
        let changed = self.count_gains(base.unwrap_or(&empty), tree, None).await?;
        let mut before = Gains::new();
        for path in list_moved(part) {
            before.extend(self.count_gains(&empty, base.unwrap_or(&empty), Some(&path)).await?);
        }
        let shown = list_shown(part, &before);
        let hidden = changed.iter().find(|(path, gained)| match shown.get(*path) {
            None => true,
            Some(None) => false,
            Some(Some(expected)) => expected != *gained,
        });
        Ok(hidden.map(|(path, _)| {
            let path = String::from_utf8_lossy(path);
            format!("error: git would change {path} in another way than the diff shows")
        }))
    }

    async fn empty_tree(&mut self) -> Result<String, GitError> {
        let git = self.scratch("comparing the files").args(["hash-object", "-t", "tree", "--stdin"]);
        Ok(self.run(git, &[]).await?.text())
    }

    async fn count_gains(&mut self, from: &str, to: &str, path: Option<&[u8]>) -> Result<Gains, GitError> {
        use std::os::unix::ffi::OsStrExt as _;
        let git = self.scratch("comparing the files").stdout_limit(usize::MAX);
        let options = ["--literal-pathspecs", "diff-tree", "-r", "-z", "--numstat", "--text", "--no-renames"];
        let git = git.args(options).args(["--ignore-submodules=none", from, to, "--"]);
        let output = self.run(git.args(path.map(std::ffi::OsStr::from_bytes)), &[]).await?;
        let mut gains = Gains::new();
        for record in output.stdout().split(|&byte| byte == 0).filter(|record| !record.is_empty()) {
            let mut fields = record.splitn(3, |&byte| byte == b'\t');
            let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<i64>().ok();
            let (added, removed) = (number().unwrap_or_default(), number().unwrap_or_default());
            let path = fields.next().unwrap_or_default().to_vec();
            *gains.entry(path).or_default() += added - removed;
        }
        Ok(gains)
    }
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
fn list_shown(part: &ApplyPart<'_>, before: &Gains) -> HashMap<Vec<u8>, Option<i64>> {
    let lines = |path: &Vec<u8>| before.get(path).copied().unwrap_or_default();
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
