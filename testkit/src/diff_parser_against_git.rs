//! Compares what the parser of diffs says about a diff with what git does with it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use domain::diff::{AffectedFile, ApplyPart, FileOperation, FlagKind, ZeroContext, apply_parts, summarize};
use tempfile::TempDir;

use crate::git_command;

const EXECUTABLE: u32 = 0o100_755;
const SYMLINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;
/// The object of an empty file, with SHA-1 and SHA-256.
const EMPTY_FILES: [&str; 2] =
    ["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

/// The mode and the object of a file.
type Entry = (u32, String);
type Files = BTreeMap<String, Entry>;

/// Applies diffs with git to the trees of one repository, in which it writes nothing.
#[derive(Debug)]
pub struct DiffReading {
    project: PathBuf,
    objects: PathBuf,
    folder: TempDir,
    trees: BTreeMap<String, Files>,
}

impl DiffReading {
    pub fn new(project: &Path) -> Self {
        let objects = crate::git(project, &["rev-parse", "--git-path", "objects"]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("objects")).unwrap();
        Self { project: project.to_owned(), objects: project.join(objects), folder, trees: BTreeMap::new() }
    }

    /// Says in what the reading of `diff`, which leads from the commit `base` to `tree`, differs from what git does:
    /// files, operations, old names, modes, kinds of content and numbers of lines.
    ///
    /// Every mail is read by itself, as git applies one after the other.
    pub fn compare(&mut self, base: Option<&str>, diff: &str, tree: &str) -> Result<(), String> {
        let mut before = match base {
            Some(base) => self.git(&["rev-parse", &format!("{base}^{{tree}}")], ""),
            None => self.git(&["hash-object", "-t", "tree", "-w", "--stdin"], ""),
        };
        for part in apply_parts(diff) {
            let after = self.apply(&before, &part)?;
            self.compare_part(&before, &after, &part)?;
            before = after;
        }
        if before == tree { Ok(()) } else { Err(format!("git produces {before}, and not {tree}")) }
    }

    fn compare_part(&mut self, before: &str, after: &str, part: &ApplyPart<'_>) -> Result<(), String> {
        let summary = summarize(part.text);
        if let Some(note) = summary.note {
            return Err(format!("git applies it, and it cannot be read: {note}"));
        }
        let (old, new) = (self.list(before), self.list(after));
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let changed: Vec<&String> = paths.into_iter().filter(|path| old.get(*path) != new.get(*path)).collect();
        for path in &changed {
            check_changed(path, &old, &new, &summary.files)?;
        }
        for file in &summary.files {
            check_shown(file, &old, &new, &summary.files)?;
        }
        let flagged = |kind: FlagKind, path: &str| {
            summary.flags.iter().any(|flag| flag.kind == kind && flag.path.as_deref() == Some(path))
        };
        for path in &changed {
            let writers = || summary.files.iter().filter(|file| file.path == **path);
            let source = writers().find_map(|file| file.old_path.as_ref()).unwrap_or(path);
            let is_moved = writers().any(|file| matches!(file.operation, FileOperation::Rename | FileOperation::Copy));
            let only_moved = is_moved && old.get(source) == new.get(*path);
            let mode = |files: &Files, path: &String| files.get(path).map(|(mode, _)| *mode);
            let (from, to) = (mode(&old, source), mode(&new, path));
            let is_flagged = match to {
                None => true,
                _ if only_moved => true,
                Some(SYMLINK) => flagged(FlagKind::Symlink, path),
                Some(SUBMODULE) => flagged(FlagKind::Gitlink, path),
                Some(EXECUTABLE) if from != to => {
                    flagged(FlagKind::Executable, path) || flagged(FlagKind::ModeChange, path)
                }
                // A change of type is the deletion of one file and the creation of another.
                Some(to) if from.is_some_and(|from| from != to && from >> 12 == to >> 12) => {
                    flagged(FlagKind::ModeChange, path)
                        || writers().any(|file| file.operation == FileOperation::Modify) && from >= Some(SYMLINK)
                }
                Some(_) => true,
            };
            if !is_flagged {
                return Err(format!("{path}: {from:?} becomes {to:?} without a flag: {:?}", summary.flags));
            }
        }
        for flag in summary.flags.iter().filter(|flag| flag.kind == FlagKind::ModeChange) {
            let path = flag.path.as_ref().unwrap();
            let source = summary.files.iter().find(|file| file.path == *path).and_then(|file| file.old_path.as_ref());
            let modes = (old.get(source.unwrap_or(path)).map(|file| file.0), new.get(path).map(|file| file.0));
            if modes.0 == modes.1 {
                return Err(format!("{path}: flagged as {}, and its mode stays {:?}", flag.detail, modes.0));
            }
        }
        self.compare_counts(part, &summary.files)
    }

    /// Compares the numbers of lines with those that `git apply --numstat` counts.
    fn compare_counts(&self, part: &ApplyPart<'_>, files: &[AffectedFile]) -> Result<(), String> {
        let output = self.run(&["apply", "--numstat", "-z", strip(part), "-"], part.text);
        let mut by_git: BTreeMap<String, (u32, u32, bool)> = BTreeMap::new();
        let records = output.stdout.split(|&byte| byte == 0).filter(|record| !record.is_empty());
        for record in records.map(String::from_utf8_lossy) {
            let mut columns = record.splitn(3, '\t');
            let mut number = || columns.next().unwrap_or_default().parse::<u32>().ok();
            let (added, removed) = (number(), number());
            let count = by_git.entry(columns.next().unwrap_or_default().to_owned()).or_default();
            count.0 += added.unwrap_or_default();
            count.1 += removed.unwrap_or_default();
            count.2 |= added.is_none();
        }
        let mut shown: BTreeMap<String, (u32, u32, bool)> = BTreeMap::new();
        for file in files {
            let count = shown.entry(file.path.clone()).or_default();
            *count = (count.0 + file.added, count.1 + file.removed, count.2 || file.binary);
        }
        if shown == by_git { Ok(()) } else { Err(format!("lines: shown {shown:?}, by git {by_git:?}")) }
    }

    fn apply(&self, before: &str, part: &ApplyPart<'_>) -> Result<String, String> {
        let modes: &[&str] = match part.zero_context {
            ZeroContext::No => &["--no-unidiff-zero"],
            ZeroContext::Possible => &["--no-unidiff-zero", "--unidiff-zero"],
            ZeroContext::Certain => &["--unidiff-zero"],
        };
        let mut message = String::new();
        for mode in modes {
            self.git(&["read-tree", before], "");
            let output = self.run(&["apply", "--cached", "--whitespace=nowarn", strip(part), mode, "-"], part.text);
            message = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() && !message.contains("error: ") {
                return Ok(self.git(&["write-tree"], ""));
            }
        }
        Err(format!("git does not apply it: {message}"))
    }

    fn list(&mut self, tree: &str) -> Files {
        if let Some(files) = self.trees.get(tree) {
            return files.clone();
        }
        let output = self.run(&["ls-tree", "-r", "-z", "--full-tree", tree], "");
        let records = output.stdout.split(|&byte| byte == 0).filter(|record| !record.is_empty());
        let files: Files = records
            .map(|record| {
                let text = String::from_utf8_lossy(record);
                let (head, path) = text.split_once('\t').unwrap();
                let columns: Vec<&str> = head.split(' ').collect();
                (path.to_owned(), (u32::from_str_radix(columns[0], 8).unwrap(), columns[2].to_owned()))
            })
            .collect();
        // Many diffs have the same base.
        if self.trees.len() < 64 {
            self.trees.insert(tree.to_owned(), files.clone());
        }
        files
    }

    fn git(&self, args: &[&str], input: &str) -> String {
        let output = self.run(args, input);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn run(&self, args: &[&str], input: &str) -> Output {
        let mut git = git_command(&self.project);
        git.env("GIT_INDEX_FILE", self.folder.path().join("index"));
        git.env("GIT_OBJECT_DIRECTORY", self.folder.path().join("objects"));
        git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects);
        git.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut git = git.spawn().unwrap();
        // Git may stop before it has read everything.
        let _ = git.stdin.take().unwrap().write_all(input.as_bytes());
        git.wait_with_output().unwrap()
    }
}

fn strip(part: &ApplyPart<'_>) -> &'static str {
    if part.strip == 0 { "-p0" } else { "-p1" }
}

/// A file in which the trees differ must be shown with what happens to it.
fn check_changed(path: &String, old: &Files, new: &Files, files: &[AffectedFile]) -> Result<(), String> {
    use FileOperation::{Copy, Create, Delete, Mode, Modify, Rename};
    let writes: Vec<FileOperation> =
        files.iter().filter(|file| file.path == *path).map(|file| file.operation).collect();
    let is_source = files.iter().any(|file| file.operation == Rename && file.old_path.as_ref() == Some(path));
    let shows = |operations: &[FileOperation]| writes.iter().any(|operation| operations.contains(operation));
    let fits = match (old.get(path), new.get(path)) {
        (None, _) => shows(&[Create, Rename, Copy]),
        // The diff renames the file and creates another one in its place.
        (Some(_), Some(_)) if is_source && shows(&[Create]) => true,
        (_, None) => shows(&[Delete]) || is_source,
        (Some((_, old)), Some(_)) if EMPTY_FILES.contains(&old.as_str()) && shows(&[Create]) => true,
        (Some((_, old)), Some((_, new))) if old == new => shows(&[Mode, Modify, Rename, Copy]),
        (Some(_), Some(_)) => shows(&[Modify, Rename, Copy]),
    };
    let (old, new) = (old.get(path), new.get(path));
    if fits { Ok(()) } else { Err(format!("{path}: {old:?} becomes {new:?}, shown as {writes:?}")) }
}

/// A file that is shown must change in this way.
fn check_shown(file: &AffectedFile, old: &Files, new: &Files, files: &[AffectedFile]) -> Result<(), String> {
    let AffectedFile { path, old_path, operation, added, removed, binary } = file;
    let (before, after) = (old.get(path), new.get(path));
    let source = old_path.as_ref().and_then(|path| old.get(path));
    // A patch may replace lines by equal ones.
    let may_be_equal = *binary || added == removed;
    let is_moved_whole = *added == 0 && *removed == 0 && !binary;
    let earlier = files.iter().filter(|other| other.path == *path || other.old_path.as_ref() == Some(path)).count() > 1;
    let fits = match operation {
        // A diff that does not create a file expressly looks the same for an empty file.
        FileOperation::Create => before.is_none_or(|file| EMPTY_FILES.contains(&file.1.as_str())) && after.is_some(),
        FileOperation::Delete => before.is_some() && after.is_none(),
        FileOperation::Modify => before.is_some() && after.is_some() && (before != after || may_be_equal),
        FileOperation::Mode => before.zip(after).is_some_and(|(before, after)| before.0 != after.0),
        FileOperation::Rename | FileOperation::Copy => {
            let stays = *operation == FileOperation::Copy || old_path.as_ref() == Some(path);
            let is_gone = || {
                old_path
                    .as_ref()
                    .is_none_or(|old| !new.contains_key(old) || files.iter().any(|other| other.path == *old))
            };
            source.is_some()
                && after.is_some()
                && (stays || is_gone())
                && (!is_moved_whole || source.map(|file| &file.1) == after.map(|file| &file.1))
        }
    };
    // Two patches of one path: each shows only a part.
    if fits || earlier { Ok(()) } else { Err(format!("{file:?}: {before:?} becomes {after:?}")) }
}
