//! Tables of programs, git subcommands and wrappers such as `env` and `sudo`: classifies a command, and strips the
//! wrappers from it.

use super::PriorEffect;
use crate::hook::shell_parser::Word;
use std::path::{Path, PathBuf};

/// A program and its arguments without leading assignments, reserved words and wrapper programs.
#[derive(Default)]
pub(super) struct UnwrappedCommand {
    pub words: Vec<Word>,
    /// The folder that `env -C` and similar options start it in.
    pub dir: Option<Word>,
    /// An assignment changes which repository git works in.
    pub redirects_git: bool,
    /// A script in an argument of a wrapper: `env -S` and `flock FILE -c`.
    pub script: Option<String>,
    /// `NAME=VALUE`
    pub assigned: Vec<(String, String)>,
}

impl UnwrappedCommand {
    pub(super) fn parse(words: &[Word]) -> Self {
        let mut unwrapped = Self::default();
        let mut rest = words;
        let mut has_unknown_args = false;
        while let Some((first, after)) = rest.split_first() {
            if let Some((name, value)) = assignment(&first.text) {
                unwrapped.redirects_git |= redirects_git(name);
                unwrapped.assigned.push((name.to_owned(), value.to_owned()));
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
            rest = unwrapped.skip_options(after, with_value);
            has_unknown_args |= name == "xargs";
            if matches!(name, "timeout" | "flock") {
                rest = rest.get(1..).unwrap_or_default();
            }
            if let ("flock", [option, script, ..]) = (name, rest)
                && matches!(option.text.as_str(), "-c" | "--command")
            {
                unwrapped.script = Some(script.text.clone());
            }
        }
        unwrapped.words = rest.to_vec();
        if has_unknown_args {
            unwrapped.words.push(Word { uncertain: true, ..Word::default() });
        }
        unwrapped
    }

    fn skip_options<'a>(&mut self, words: &'a [Word], with_value: &[&str]) -> &'a [Word] {
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
                ("-S" | "--split-string", _) if takes => self.script = Some(join(after)),
                _ => {}
            }
            let attached = text.strip_prefix("--split-string=");
            let attached = attached.or_else(|| text.strip_prefix("-S").filter(|_| with_value.contains(&"-S")));
            if let Some(start) = attached.filter(|start| !start.is_empty()) {
                self.script = Some(format!("{start} {}", join(after)));
            }
            if let Some(to) = text.strip_prefix("--chdir=") {
                self.dir = Some(Word { text: to.to_owned(), ..first.clone() });
            }
            rest = if takes { after.get(1..).unwrap_or_default() } else { after };
        }
        rest
    }
}

pub(super) fn join(words: &[Word]) -> String {
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

/// Variables that make git use another repository, other settings or other content. Those that only name people or
/// programs for the terminal do not.
pub(super) fn redirects_git(name: &str) -> bool {
    const HARMLESS: &[&str] = &[
        "GIT_ASKPASS",
        "GIT_EDITOR",
        "GIT_MERGE_AUTOEDIT",
        "GIT_OPTIONAL_LOCKS",
        "GIT_PAGER",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_TERMINAL_PROMPT",
    ];
    const PREFIXES: &[&str] = &["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TRACE"];
    let is_harmless = HARMLESS.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (name.starts_with("GIT_") && !is_harmless) || matches!(name, "HOME" | "XDG_CONFIG_HOME")
}

/// Settings after `-c` that change neither what is committed nor where it is pushed.
pub(super) fn is_harmless_setting(setting: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "advice.",
        "author.",
        "color.",
        "column.",
        "commit.",
        "committer.",
        "core.editor",
        "core.pager",
        "core.quotepath",
        "core.sshcommand",
        "credential.",
        "format.",
        "gpg.",
        "http.",
        "init.",
        "log.",
        "pager.",
        "protocol.",
        "tag.",
        "user.",
    ];
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    // An alias is looked up by itself.
    key.starts_with("alias.") || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// The path that a word names, relative to `dir`. `None` if it contains an expansion other than the home folder or the
/// current folder.
pub(super) fn resolve_path(dir: &Path, word: &Word) -> Option<PathBuf> {
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

/// Programs that run another program, and those of their options that take a value.
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

/// What a program other than git may do.
pub(super) enum ProgramKind {
    /// Changes no files.
    Harmless,
    /// May change files, but does not run its arguments as commands.
    TextTool,
    Unknown,
}

pub(super) fn program_kind(program: &str) -> ProgramKind {
    match program {
        ":" | "[" | "[[" | "cat" | "date" | "echo" | "exit" | "export" | "false" | "grep" | "head" | "ls"
        | "printf" | "pwd" | "rg" | "set" | "sleep" | "tail" | "test" | "true" | "unset" | "wc" | "which" => {
            ProgramKind::Harmless
        }
        "awk" | "countersign" | "cut" | "diff" | "egrep" | "fgrep" | "gh" | "jq" | "less" | "man" | "sed" | "sort"
        | "tee" | "tr" | "uniq" => ProgramKind::TextTool,
        _ => ProgramKind::Unknown,
    }
}

/// What a git subcommand other than `add`, `rm`, `commit` and `push` changes. `None` if it is not a subcommand of git.
pub(super) fn git_effect(subcommand: &str) -> Option<PriorEffect> {
    Some(match subcommand {
        "blame" | "branch" | "cat-file" | "check-ignore" | "cherry" | "count-objects" | "describe" | "diff"
        | "diff-index" | "diff-tree" | "fetch" | "for-each-ref" | "grep" | "help" | "log" | "ls-files"
        | "ls-remote" | "ls-tree" | "merge-base" | "name-rev" | "patch-id" | "range-diff" | "reflog" | "remote"
        | "rev-list" | "rev-parse" | "shortlog" | "show" | "show-ref" | "status" | "tag" | "verify-commit"
        | "version" | "whatchanged" => PriorEffect::None,
        // Files or settings, but neither the index nor HEAD.
        "archive" | "bundle" | "checkout-index" | "clean" | "clone" | "commit-tree" | "config" | "format-patch"
        | "fsck" | "gc" | "hash-object" | "init" | "maintenance" | "merge-tree" | "notes" | "worktree"
        | "write-tree" => PriorEffect::Files,
        "am" | "apply" | "bisect" | "checkout" | "cherry-pick" | "merge" | "mv" | "pull" | "read-tree" | "rebase"
        | "reset" | "restore" | "revert" | "sparse-checkout" | "stash" | "submodule" | "switch" | "symbolic-ref"
        | "update-index" | "update-ref" => PriorEffect::Index,
        _ => return None,
    })
}
