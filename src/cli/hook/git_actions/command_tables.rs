//! ActionKind stands in front of a program, and what is known of programs and subcommands.

use crate::cli::hook::shell::Word;
use std::path::{Path, PathBuf};

/// A program and its words, without what stands in front: assignments, reserved words, programs that start others.
#[derive(Default)]
pub(super) struct UnwrappedCommand {
    pub words: Vec<Word>,
    /// Where `env -C` and the like start it.
    pub dir: Option<Word>,
    /// Its surroundings say which repository git works in.
    pub redirected: bool,
    /// ActionKind the words in front are to be run as, as with `env -S` and `flock FILE -c`.
    pub script: Option<String>,
    /// `NAME=VALUE`
    pub assigned: Vec<(String, String)>,
}

impl UnwrappedCommand {
    pub(super) fn of(words: &[Word]) -> Self {
        let mut bare = Self::default();
        let mut rest = words;
        let mut more = false;
        while let Some((first, after)) = rest.split_first() {
            if let Some((name, value)) = assignment(&first.text) {
                bare.redirected |= redirects(name);
                bare.assigned.push((name.to_owned(), value.to_owned()));
                rest = after;
                continue;
            }
            if !first.quoted && first.text == "function" {
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            if !first.quoted && RESERVED.contains(&first.text.as_str()) {
                rest = after;
                continue;
            }
            let name = first.text.rsplit('/').next().unwrap_or_default();
            let Some((_, with_value)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else { break };
            rest = bare.without_options(after, with_value);
            more |= name == "xargs";
            if matches!(name, "timeout" | "flock") {
                rest = rest.get(1..).unwrap_or_default();
            }
            if let ("flock", [option, script, ..]) = (name, rest)
                && matches!(option.text.as_str(), "-c" | "--command")
            {
                bare.script = Some(script.text.clone());
            }
        }
        bare.words = rest.to_vec();
        if more {
            bare.words.push(Word { uncertain: true, ..Word::default() });
        }
        bare
    }

    fn without_options<'a>(&mut self, words: &'a [Word], with_value: &[&str]) -> &'a [Word] {
        let mut rest = words;
        while let [first, after @ ..] = rest {
            let text = first.text.as_str();
            if text == "--" {
                return after;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            let takes = with_value.contains(&text);
            match (text, after) {
                ("-C" | "-D" | "--chdir", [to, ..]) if takes => self.dir = Some(to.clone()),
                ("-S" | "--split-string", _) if takes => self.script = Some(joined(after)),
                _ => {}
            }
            let stuck = text.strip_prefix("--split-string=");
            let stuck = stuck.or_else(|| text.strip_prefix("-S").filter(|_| with_value.contains(&"-S")));
            if let Some(start) = stuck.filter(|start| !start.is_empty()) {
                self.script = Some(format!("{start} {}", joined(after)));
            }
            if let Some(to) = text.strip_prefix("--chdir=") {
                self.dir = Some(Word { text: to.to_owned(), ..first.clone() });
            }
            rest = if takes { after.get(1..).unwrap_or_default() } else { after };
        }
        rest
    }
}

pub(super) fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

pub(super) fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let fits = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    fits.then_some((name, value))
}

/// Variables with which git works elsewhere, or takes subcommands for others.
pub(super) fn redirects(name: &str) -> bool {
    const NAMES: &[&str] = &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];
    NAMES.contains(&name) || name.starts_with("GIT_CONFIG")
}

/// Where a word leads from `dir`; `None` if nobody can know. The user's own folder is known.
pub(super) fn folder(dir: &Path, word: &Word) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let text = word.text.as_str();
    match (word.uncertain, text) {
        (false, _) => Some(dir.join(text)),
        (true, "~" | "$HOME" | "${HOME}") => home(),
        (true, "$PWD" | "${PWD}") => Some(dir.to_owned()),
        (true, _) => {
            let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| text.strip_prefix(start))?;
            (!below.contains('$')).then(|| Some(home()?.join(below)))?
        }
    }
}

const RESERVED: &[&str] =
    &["!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "{", "}", "coproc"];

/// Programs that start another, and which of their options take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("env", &["-u", "--unset", "-C", "--chdir", "-S", "--split-string"]),
    ("command", &[]),
    ("builtin", &[]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("sudo", &["-u", "--user", "-g", "--group", "-C", "-D", "--chdir", "-p", "-h", "-T"]),
    ("doas", &["-u", "-C"]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("timeout", &["-k", "--kill-after", "-s", "--signal"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"]),
    ("time", &["-f", "-o"]),
    ("flock", &["-w", "--timeout", "--wait", "-E", "--conflict-exit-code"]),
];

/// Programs that change no file of a repository.
pub(super) const HARMLESS: &[&str] = &[
    ":", "[", "[[", "cat", "date", "echo", "exit", "export", "false", "grep", "head", "ls", "printf", "pwd", "rg",
    "set", "sleep", "tail", "test", "true", "unset", "wc", "which",
];

/// Programs that may change files, and whose words are no commands.
pub(super) const TALKING: &[&str] = &[
    "awk",
    "countersign",
    "cut",
    "diff",
    "egrep",
    "fgrep",
    "gh",
    "jq",
    "less",
    "man",
    "sed",
    "sort",
    "tee",
    "tr",
    "uniq",
];

/// Subcommands of git that change nothing that a commit takes.
pub(super) const READING: &[&str] = &[
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "patch-id",
    "range-diff",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "tag",
    "verify-commit",
    "version",
    "whatchanged",
];

/// Subcommands of git that leave the index and what is checked out alone. No alias can replace them.
pub(super) const KNOWN: &[&str] = &[
    "archive",
    "bundle",
    "checkout-index",
    "clean",
    "clone",
    "commit-tree",
    "config",
    "format-patch",
    "fsck",
    "gc",
    "hash-object",
    "init",
    "maintenance",
    "merge-tree",
    "notes",
    "worktree",
    "write-tree",
];

/// Subcommands of git that change the index or HEAD, and neither commit what is staged nor push.
pub(super) const MOVING: &[&str] = &[
    "am",
    "apply",
    "bisect",
    "checkout",
    "cherry-pick",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
    "symbolic-ref",
    "update-index",
    "update-ref",
];
