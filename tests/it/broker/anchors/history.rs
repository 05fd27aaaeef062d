//! A git history, with what is needed to compute the expected anchors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub(super) struct History {
    folder: PathBuf,
    texts: HashMap<(String, String), Option<Rc<str>>>,
    changes: HashMap<(String, String), Rc<[Change]>>,
}

/// One file of an older commit, and where a later one has it.
pub(super) struct Change {
    pub(super) old: String,
    pub(super) new: Option<String>,
}

/// Which line of the older commit a line of the later one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) file: String,
    pub(super) line: u32,
}

/// Lines of the older file that others replace: first line and number of them, on both sides.
pub(super) struct Replaced {
    pub(super) old: (u32, u32),
    pub(super) new_count: u32,
}

impl History {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), texts: HashMap::new(), changes: HashMap::new() }
    }

    /// Oldest first, along one line of parents.
    pub(super) fn commits(&self) -> Vec<String> {
        self.lines(&["rev-list", "--first-parent", "--reverse", "HEAD"])
    }

    /// The files that both commits have and that differ, and those that only the older has.
    pub(super) fn changes(&mut self, from: &str, to: &str) -> Rc<[Change]> {
        let key = (from.to_owned(), to.to_owned());
        if let Some(known) = self.changes.get(&key) {
            return Rc::clone(known);
        }
        let found: Rc<[Change]> = self.find_changes(from, to).into();
        self.changes.insert(key, Rc::clone(&found));
        found
    }

    fn find_changes(&self, from: &str, to: &str) -> Vec<Change> {
        let names = self.git(&["diff", "--find-renames", "--name-status", "-z", from, to]);
        let mut words = names.split('\0');
        let mut changes = Vec::new();
        while let Some(kind) = words.next().filter(|kind| !kind.is_empty()) {
            let mut next = || words.next().unwrap().to_owned();
            match kind.as_bytes()[0] {
                b'A' => drop(next()),
                b'D' => changes.push(Change { old: next(), new: None }),
                b'R' => changes.push(Change { old: next(), new: Some(next()) }),
                _ => {
                    let file = next();
                    changes.push(Change { old: file.clone(), new: Some(file) });
                }
            }
        }
        changes
    }

    /// `None` if the file does not exist or is not text.
    pub(super) fn text(&mut self, commit: &str, file: &str) -> Option<Rc<str>> {
        let key = (commit.to_owned(), file.to_owned());
        if let Some(known) = self.texts.get(&key) {
            return known.clone();
        }
        let text = self.try_git(&["show", &format!("{commit}:{file}")]);
        let text: Option<Rc<str>> = text.filter(|text| !text.contains('\0')).map(Into::into);
        self.texts.insert(key, text.clone());
        text
    }

    /// For each line of a file of `to`: which line of `from` it is, or `None` if it was written since.
    pub(super) fn blame(&self, from: &str, to: &str, file: &str, moves: bool) -> Vec<Option<Origin>> {
        let range = format!("{from}..{to}");
        let how = if moves { "-M" } else { "--no-progress" };
        let blame = self.git(&["blame", "--line-porcelain", how, &range, "--", file]);
        let mut lines = Vec::new();
        let mut head = None;
        for line in blame.lines() {
            let words: Vec<_> = line.split(' ').collect();
            if line.starts_with('\t') {
                lines.push(head.take());
            } else if words.len() >= 3 && words[0].len() == 40 {
                let line = words[1].parse().unwrap();
                head = (words[0] == from).then(|| Origin { file: String::new(), line });
            } else if let (Some(name), Some(head)) = (line.strip_prefix("filename "), &mut head) {
                name.clone_into(&mut head.file);
            }
        }
        lines
    }

    pub(super) fn replaced(&self, from: &str, to: &str, change: &Change) -> Vec<Replaced> {
        let new = change.new.as_deref().unwrap_or(&change.old);
        let diff = self.git(&["diff", "--unified=0", "--find-renames", from, to, "--", &change.old, new]);
        let heads = diff.lines().filter_map(|line| line.strip_prefix("@@ -"));
        let pair = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            (start.parse().unwrap(), count.parse().unwrap())
        };
        let read = |head: &str| {
            let mut words = head.split(' ');
            let old = pair(words.next().unwrap());
            let (_, new_count) = pair(words.next().unwrap().trim_start_matches('+'));
            Replaced { old, new_count }
        };
        heads.map(read).collect()
    }

    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        self.git(arguments).lines().map(str::to_owned).collect()
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.try_git(arguments).unwrap_or_else(|| panic!("git {arguments:?} failed in {}", self.folder.display()))
    }

    #[expect(clippy::disallowed_methods, reason = "tests have nothing else to do while git runs")]
    fn try_git(&self, arguments: &[&str]) -> Option<String> {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "core.quotePath=false", "-c", "diff.algorithm=default"]).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.current_dir(&self.folder).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
