//! What a command line means to do with git: stage, commit, push, and where.

use super::shell::{Item, Simple, Word, read};
use std::path::{Path, PathBuf};

/// Shells within shells; deeper is no honest command line.
const MAX_DEPTH: usize = 8;

/// A git command that matters to a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Act {
    pub dir: PathBuf,
    pub what: What,
    /// Behind the subcommand.
    pub args: Vec<Word>,
    /// Something that may change files runs before it in the same line, so that what they will hold is not known yet.
    pub unseen: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Stages, so that a later commit takes more: `add` or `rm`.
    Stage(&'static str),
    Commit,
    Push,
    /// May be an alias of anything.
    Unknown(String),
}

/// Everything in the order in which it would run. A line that cannot be read to its end is searched for the words.
pub(super) fn acts(line: &str, dir: &Path) -> Vec<Act> {
    let mut walk = Walk { acts: Vec::new(), dir: dir.to_owned(), unseen: false, depth: 0 };
    walk.script(line);
    walk.acts
}

struct Walk {
    acts: Vec<Act>,
    dir: PathBuf,
    unseen: bool,
    depth: usize,
}

impl Walk {
    fn script(&mut self, text: &str) {
        if self.depth == MAX_DEPTH {
            return self.suspect(text);
        }
        self.depth += 1;
        let script = read(text);
        let mut outer = Vec::new();
        for item in script.items {
            match item {
                Item::Open => outer.push(self.dir.clone()),
                Item::Close => self.dir = outer.pop().unwrap_or_else(|| self.dir.clone()),
                Item::Command(command) => self.command(&command),
            }
        }
        if script.broken {
            self.suspect(text);
        }
        self.depth -= 1;
    }

    /// When in doubt, it is a commit.
    fn suspect(&mut self, text: &str) {
        let found = |word: &str| text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|part| part == word);
        for (word, what) in [("commit", What::Commit), ("push", What::Push)] {
            let new = self.acts.iter().all(|act| act.what != what);
            if found("git") && found(word) && new {
                self.acts.push(Act { dir: self.dir.clone(), what, args: Vec::new(), unseen: true });
            }
        }
    }

    fn command(&mut self, command: &Simple) {
        self.unseen |= command.writes;
        let mut dir = None;
        let words = unwrapped(&command.words, &mut dir);
        let Some((program, args)) = words.split_first() else { return };
        let name = program.text.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        match name {
            "cd" | "pushd" => self.change_dir(args),
            "eval" => self.script(&args.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")),
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => self.shell(args, command.input.as_deref()),
            "git" => self.git(args, dir.as_deref()),
            // `$GIT commit`
            _ if program.uncertain && args.first().is_some_and(|word| matches!(&*word.text, "commit" | "push")) => {
                self.git(args, dir.as_deref());
            }
            harmless if HARMLESS.contains(&harmless) => {}
            _ => self.unseen = true,
        }
    }

    fn change_dir(&mut self, args: &[Word]) {
        let target = args.iter().find(|word| !word.text.starts_with('-'));
        if let Some(target) = target
            && let Some(dir) = folder(&self.dir, target)
        {
            self.dir = dir;
        }
    }

    fn shell(&mut self, args: &[Word], input: Option<&str>) {
        let mut commands = false;
        for word in args {
            match word.text.strip_prefix('-') {
                Some(flags) if !flags.starts_with('-') => commands |= flags.contains('c'),
                Some(_) => {}
                None if commands => return self.nested(&word.text),
                // A file with commands, which nobody has read.
                None => return self.unseen = true,
            }
        }
        if let Some(input) = input {
            self.nested(input);
        }
    }

    fn nested(&mut self, text: &str) {
        let dir = self.dir.clone();
        self.script(text);
        self.dir = dir;
    }

    fn git(&mut self, args: &[Word], dir: Option<&Path>) {
        let mut dir = dir.map_or_else(|| self.dir.clone(), |dir| self.dir.join(dir));
        let mut words = args.iter();
        let mut sub = None;
        while let Some(word) = words.next() {
            match word.text.as_str() {
                "-C" => dir = words.next().and_then(|to| folder(&dir, to)).unwrap_or(dir),
                "-c" | "--git-dir" | "--namespace" | "--super-prefix" | "--config-env" | "--attr-source" => {
                    words.next();
                }
                "--work-tree" => dir = words.next().and_then(|to| folder(&dir, to)).unwrap_or(dir),
                text if text.starts_with("--work-tree=") => {
                    dir = dir.join(text.trim_start_matches("--work-tree="));
                }
                "--help" | "--version" | "-h" | "-v" => return,
                text if text.starts_with('-') => {}
                _ => {
                    sub = Some(word);
                    break;
                }
            }
        }
        let Some(sub) = sub else { return };
        let what = match sub.text.as_str() {
            // `git $WHAT`
            _ if sub.uncertain => What::Commit,
            "commit" => What::Commit,
            "push" => What::Push,
            "add" | "stage" => What::Stage("add"),
            "rm" => What::Stage("rm"),
            known if READING.contains(&known) => return,
            known if KNOWN.contains(&known) => return self.unseen = true,
            other => What::Unknown(other.to_owned()),
        };
        let (args, unseen): (Vec<_>, _) = (words.cloned().collect(), self.unseen);
        // `git add "$FILE"`
        self.unseen |= matches!(what, What::Stage(_)) && args.iter().any(|word| word.uncertain);
        self.acts.push(Act { dir, what, args, unseen });
    }
}

/// Without what stands in front of a program: assignments, reserved words, programs that start others.
fn unwrapped<'a>(words: &'a [Word], dir: &mut Option<PathBuf>) -> &'a [Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let reserved = !first.quoted && RESERVED.contains(&first.text.as_str());
        if reserved || is_assignment(&first.text) {
            rest = after;
            continue;
        }
        let name = first.text.rsplit('/').next().unwrap_or_default();
        let Some((_, with_value)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else { break };
        rest = without_options(after, with_value, dir);
        if name == "timeout" {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

fn without_options<'a>(words: &'a [Word], with_value: &[&str], dir: &mut Option<PathBuf>) -> &'a [Word] {
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
        if matches!(text, "-C" | "--chdir")
            && takes
            && let [to, ..] = after
        {
            *dir = Some(to.text.clone().into());
        }
        rest = if takes { after.get(1..).unwrap_or_default() } else { after };
    }
    rest
}

fn is_assignment(text: &str) -> bool {
    let name = text.split_once('=').map(|(name, _)| name.strip_suffix('+').unwrap_or(name));
    name.is_some_and(|name| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Where a word leads from `dir`; `None` if nobody can know. The user's own folder is known.
fn folder(dir: &Path, word: &Word) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let text = word.text.as_str();
    match (word.uncertain, text) {
        (false, _) => Some(dir.join(text)),
        (true, "~" | "$HOME" | "${HOME}") => home(),
        (true, _) => {
            let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| text.strip_prefix(start))?;
            (!below.contains('$')).then(|| Some(home()?.join(below)))?
        }
    }
}

const RESERVED: &[&str] =
    &["!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "{", "}", "time", "coproc"];

/// Programs that start another, and which of their options take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("env", &["-u", "--unset", "-C", "--chdir"]),
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
];

/// Programs that change no file of a repository.
const HARMLESS: &[&str] = &[
    ":", "[", "[[", "cat", "date", "echo", "exit", "export", "false", "grep", "head", "ls", "popd", "printf", "pwd",
    "rg", "set", "sleep", "tail", "test", "true", "unset", "wc", "which",
];

/// Subcommands of git that change nothing.
const READING: &[&str] = &[
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
    "symbolic-ref",
    "tag",
    "verify-commit",
    "version",
    "whatchanged",
];

/// Subcommands of git that neither commit what is staged nor push, and that no alias can replace.
const KNOWN: &[&str] = &[
    "am",
    "apply",
    "archive",
    "bisect",
    "bundle",
    "checkout",
    "checkout-index",
    "cherry-pick",
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
    "merge",
    "merge-tree",
    "mv",
    "notes",
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
    "update-index",
    "update-ref",
    "worktree",
    "write-tree",
];

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
