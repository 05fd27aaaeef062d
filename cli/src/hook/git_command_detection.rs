//! Finds the git commands that stage, commit or push in a shell command line, and the folder each of them works in.

mod command_tables;

use super::shell_parser::{Connector, Item, SimpleCommand, Word, parse};
use command_tables::{
    ProgramKind, UnwrappedCommand, assignment, git_effect, is_harmless_setting, join, program_kind, redirects_git,
    resolve_path,
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Levels of shells within shells. A deeper script is only searched for suspicious words.
const MAX_DEPTH: usize = 8;

/// A git command that can change what lands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitAction {
    pub dir: PathBuf,
    pub kind: ActionKind,
    /// The words after the subcommand.
    pub args: Vec<Word>,
    pub prior_effect: PriorEffect,
}

/// What earlier commands of the line may change before a git command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PriorEffect {
    None,
    /// Branches and tags.
    Refs,
    /// Files, but not the index.
    Files,
    /// The index or the checked out branch.
    Index,
    /// The folder: the command may work in any repository.
    Directory,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionKind {
    /// `add` or `rm`: adds to a later commit.
    Stage(&'static str),
    Commit,
    Push,
    /// Makes a commit or moves a branch, past the hooks of git.
    PlumbingCommit,
    /// Pushes, past the hooks of git.
    PlumbingPush,
    /// Not a subcommand of git, so possibly an alias.
    Unknown(String),
}

/// All git actions in the order of execution.
///
/// If the line cannot be parsed to its end, or passes text to an unknown program, that text is searched for
/// `git commit` and `git push`. When in doubt, it counts as an action.
pub(super) fn git_actions(line: &str, dir: &Path) -> Vec<GitAction> {
    let mut analyzer = Analyzer {
        actions: Vec::new(),
        at: WorkingDir { dir: dir.to_owned(), uncertain: false },
        previous_dirs: Vec::new(),
        prior_effect: PriorEffect::None,
        defines_aliases: false,
        variables: HashMap::new(),
        passed_texts: Vec::new(),
        depth: 0,
    };
    analyzer.script(line);
    analyzer.search_passed_texts();
    analyzer.actions
}

#[derive(Clone)]
struct WorkingDir {
    dir: PathBuf,
    /// The folder is only a guess.
    uncertain: bool,
}

struct Analyzer {
    actions: Vec<GitAction>,
    at: WorkingDir,
    /// Earlier folders, for `cd -` and `popd`.
    previous_dirs: Vec<WorkingDir>,
    prior_effect: PriorEffect,
    /// The line defines git aliases.
    defines_aliases: bool,
    /// Variables that the line assigns.
    variables: HashMap<String, String>,
    /// Texts passed to programs that may run them as commands.
    passed_texts: Vec<String>,
    depth: usize,
}

impl Analyzer {
    fn script(&mut self, text: &str) {
        if self.depth == MAX_DEPTH {
            return self.search(text);
        }
        self.depth += 1;
        let script = parse(text);
        let mut outer = Vec::new();
        for (at, item) in script.items.iter().enumerate() {
            match item {
                Item::SubshellStart => outer.push(self.at.clone()),
                Item::SubshellEnd => self.at = outer.pop().unwrap_or_else(|| self.at.clone()),
                Item::Command(command) => {
                    let next = script.items[at + 1..].iter().find_map(|item| match item {
                        Item::Command(next) => Some(next.connector),
                        Item::SubshellStart | Item::SubshellEnd => None,
                    });
                    self.command(command, next.unwrap_or_default(), text);
                }
            }
        }
        if script.broken {
            self.search(text);
        }
        self.depth -= 1;
    }

    fn raise(&mut self, effect: PriorEffect) {
        self.prior_effect = self.prior_effect.max(effect);
    }

    /// Searches a text that cannot be parsed for `git commit` and `git push`.
    fn search(&mut self, text: &str) {
        let found = |word: &str| text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|part| part == word);
        for (word, kind) in [("commit", ActionKind::Commit), ("push", ActionKind::Push)] {
            if found("git") && found(word) {
                self.add_suspected(kind);
            }
        }
    }

    fn add_suspected(&mut self, kind: ActionKind) {
        if self.actions.iter().all(|action| action.kind != kind) {
            let prior_effect =
                if self.at.uncertain { PriorEffect::Directory } else { self.prior_effect.max(PriorEffect::Index) };
            self.actions.push(GitAction { dir: self.at.dir.clone(), kind, args: Vec::new(), prior_effect });
        }
    }

    /// If no commit or push was found, searches the texts that unknown programs receive.
    fn search_passed_texts(&mut self) {
        if self.actions.iter().any(|action| matches!(action.kind, ActionKind::Commit | ActionKind::Push)) {
            return;
        }
        for text in std::mem::take(&mut self.passed_texts) {
            let is_separator = |c: char| c.is_whitespace() || "'\"`;|&(),[]{}=".contains(c);
            let mut words = text.split(is_separator).filter(|word| !word.is_empty());
            let git = words.any(|word| word.rsplit('/').next() == Some("git"));
            for word in words.filter(|_| git) {
                match word {
                    "commit" => self.add_suspected(ActionKind::Commit),
                    "push" => self.add_suspected(ActionKind::Push),
                    _ => {}
                }
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand, next: Connector, line: &str) {
        if command.writes {
            self.raise(PriorEffect::Files);
        }
        let unwrapped = UnwrappedCommand::parse(&command.words);
        if let Some(script) = &unwrapped.script {
            self.nested(script);
        }
        let Some((program, args)) = unwrapped.words.split_first() else {
            if unwrapped.redirects_git {
                self.raise(PriorEffect::Directory);
            }
            return self.variables.extend(unwrapped.assigned);
        };
        let name = program.text.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        match name {
            "cd" | "pushd" | "popd" => self.change_dir(name, args, is_certain(command.connector, next)),
            "eval" => self.script(&join(args)),
            "trap" => args.iter().take(1).for_each(|word| self.nested(&word.text)),
            "export" | "declare" | "typeset" | "readonly" | "local" => self.export(args),
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => self.shell(args, command, line),
            "git" => self.git(args, &unwrapped),
            // `$GIT commit`
            _ if program.uncertain && args.first().is_some_and(|word| matches!(&*word.text, "commit" | "push")) => {
                self.git(args, &unwrapped);
            }
            _ if program.uncertain => self.expanded(program, args),
            other => match program_kind(other) {
                ProgramKind::Harmless => {}
                ProgramKind::TextTool => self.raise(PriorEffect::Files),
                ProgramKind::Unknown => {
                    self.raise(PriorEffect::Files);
                    self.passed_texts.push(join(&unwrapped.words));
                    self.passed_texts.extend(command.input.clone());
                }
            },
        }
    }

    /// `$COMMAND`
    fn expanded(&mut self, program: &Word, args: &[Word]) {
        let name = program.text.trim_start_matches(['$', '{']).trim_end_matches('}');
        match self.variables.get(name).cloned() {
            Some(value) if self.depth < MAX_DEPTH => self.script(&format!("{value} {}", join(args))),
            Some(_) | None => {
                self.raise(PriorEffect::Files);
                self.passed_texts.push(join(args));
                self.passed_texts.extend(self.variables.values().cloned());
            }
        }
    }

    fn export(&mut self, args: &[Word]) {
        for (name, value) in args.iter().filter_map(|word| assignment(&word.text)) {
            if redirects_git(name) {
                self.raise(PriorEffect::Directory);
            }
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    fn change_dir(&mut self, how: &str, args: &[Word], certain: bool) {
        let target = args.iter().find(|word| word.text == "-" || !word.text.starts_with('-'));
        let here = self.at.clone();
        let to = match (how, target) {
            ("popd", _) => self.previous_dirs.pop(),
            ("cd", Some(word)) if word.text == "-" => self.previous_dirs.pop(),
            ("pushd", None) => self.previous_dirs.pop(),
            (_, None) => Some(self.resolve_dir(&here, &Word { text: "~".into(), uncertain: true, quoted: false })),
            (_, Some(word)) => Some(self.resolve_dir(&here, word)),
        };
        if how != "popd" {
            self.previous_dirs.push(here.clone());
        }
        self.at = to.unwrap_or(WorkingDir { uncertain: true, ..here });
        self.at.uncertain |= !certain;
    }

    /// The folder that a word names. If it contains an expansion, the result is a guess.
    fn resolve_dir(&self, from: &WorkingDir, word: &Word) -> WorkingDir {
        match resolve_path(&from.dir, word) {
            Some(dir) => WorkingDir { uncertain: from.uncertain && dir.starts_with(&from.dir), dir },
            None => {
                let name = word.text.trim_start_matches(['$', '{']).trim_end_matches('}');
                let dir = self.variables.get(name).map_or_else(|| from.dir.clone(), |value| from.dir.join(value));
                WorkingDir { dir, uncertain: true }
            }
        }
    }

    fn shell(&mut self, args: &[Word], command: &SimpleCommand, line: &str) {
        const LONG: &[&str] = &["--rcfile", "--init-file"];
        let (mut commands, mut input) = (false, false);
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match word.text.strip_prefix(['-', '+']) {
                Some(_) if LONG.contains(&word.text.as_str()) => {
                    words.next();
                }
                Some(flags) if !flags.starts_with('-') => {
                    commands |= flags.contains('c');
                    input |= flags.contains('s');
                    if flags.ends_with(['o', 'O']) {
                        words.next();
                    }
                }
                Some(_) => {}
                None if commands => return self.inline_script(word),
                None if input => break,
                // A script file, whose content is not known.
                None => return self.raise(PriorEffect::Files),
            }
        }
        match &command.input {
            Some(input) => self.nested(input),
            // The commands come from another program.
            None => {
                self.raise(PriorEffect::Files);
                if command.connector == Connector::Pipe {
                    self.search(line);
                }
            }
        }
    }

    /// `sh -c SCRIPT`
    fn inline_script(&mut self, script: &Word) {
        self.nested(&script.text);
        if script.uncertain {
            self.raise(PriorEffect::Files);
            self.passed_texts.extend(self.variables.values().cloned());
        }
    }

    fn nested(&mut self, text: &str) {
        let at = self.at.clone();
        self.script(text);
        self.at = at;
    }

    fn git(&mut self, args: &[Word], unwrapped: &UnwrappedCommand) {
        let mut at = self.at.clone();
        if let Some(dir) = &unwrapped.dir {
            at = self.resolve_dir(&at, dir);
        }
        let mut elsewhere = unwrapped.redirects_git;
        let mut words = args.iter();
        let sub = loop {
            let Some(word) = words.next() else { return };
            match word.text.as_str() {
                "-C" | "--work-tree" => at = words.next().map_or(at.clone(), |to| self.resolve_dir(&at, to)),
                "-c" | "--config-env" => {
                    let setting = words.next();
                    self.defines_aliases |= setting.is_some_and(defines_alias);
                    elsewhere |= setting.is_some_and(|setting| !is_harmless_setting(&setting.text));
                }
                text if text.starts_with("--config-env=") => elsewhere = true,
                "--bare" => elsewhere = true,
                "--git-dir" => {
                    elsewhere = true;
                    words.next();
                }
                "--namespace" | "--super-prefix" | "--attr-source" => {
                    words.next();
                }
                text if text.starts_with("--git-dir=") => elsewhere = true,
                text if text.starts_with("--work-tree=") => {
                    let to = text.trim_start_matches("--work-tree=").to_owned();
                    at = self.resolve_dir(&at, &Word { text: to, ..word.clone() });
                }
                "--help" | "--version" | "-h" | "-v" => return,
                text if text.starts_with('-') => {}
                _ => break word,
            }
        };
        let args: Vec<_> = words.cloned().collect();
        let Some(kind) = self.action_kind(sub, &args) else { return };
        let prior_effect = if at.uncertain || elsewhere { PriorEffect::Directory } else { self.prior_effect };
        // `git add "$FILE"`
        if matches!(kind, ActionKind::Stage(_)) && args.iter().any(|word| word.uncertain) {
            self.raise(PriorEffect::Files);
        }
        self.actions.push(GitAction { dir: at.dir, kind, args, prior_effect });
    }

    /// The action of a subcommand. A subcommand that is not an action changes the prior effect.
    fn action_kind(&mut self, sub: &Word, args: &[Word]) -> Option<ActionKind> {
        let changes = match sub.text.as_str() {
            // `git $WHAT`
            _ if sub.uncertain => return Some(ActionKind::Commit),
            "commit" => return Some(ActionKind::Commit),
            "push" => return Some(ActionKind::Push),
            "send-pack" | "http-push" => return Some(ActionKind::PlumbingPush),
            "subtree" if args.iter().any(|word| word.text == "push") => return Some(ActionKind::PlumbingPush),
            "svn" if args.iter().any(|word| word.text == "dcommit") => return Some(ActionKind::PlumbingPush),
            "commit-tree" | "fast-import" => return Some(ActionKind::PlumbingCommit),
            "update-ref" if moves_ref(args) => return Some(ActionKind::PlumbingCommit),
            "add" | "stage" => return Some(ActionKind::Stage("add")),
            "rm" => return Some(ActionKind::Stage("rm")),
            "branch" | "tag" if is_listing(args) => PriorEffect::None,
            "branch" | "tag" => PriorEffect::Refs,
            "checkout" | "switch" if is_new_branch(args) => PriorEffect::Refs,
            other => match git_effect(other) {
                Some(effect) => {
                    self.defines_aliases |= other == "config" && args.iter().any(defines_alias);
                    effect
                }
                None if self.defines_aliases => {
                    self.raise(PriorEffect::Index);
                    return Some(ActionKind::Commit);
                }
                None => return Some(ActionKind::Unknown(other.to_owned())),
            },
        };
        self.raise(changes);
        None
    }
}

/// Whether a `cd` between these operators certainly took effect before the next command runs.
fn is_certain(connector: Connector, next: Connector) -> bool {
    match connector {
        Connector::Sequence | Connector::Background => matches!(next, Connector::Sequence | Connector::And),
        Connector::And => next == Connector::And,
        Connector::Or | Connector::Pipe => false,
    }
}

fn defines_alias(setting: &Word) -> bool {
    let text = setting.text.to_ascii_lowercase();
    setting.uncertain || text.starts_with("alias.") || text.starts_with("include")
}

/// Whether `update-ref` sets a ref, not only deletes one.
fn moves_ref(args: &[Word]) -> bool {
    let deletes = args.iter().any(|word| word.text == "-d");
    !deletes || args.iter().any(|word| word.uncertain || word.text == "--stdin")
}

fn is_listing(args: &[Word]) -> bool {
    let lists = |word: &Word| matches!(word.text.as_str(), "-l" | "--list" | "--show-current");
    args.iter().any(lists) || args.iter().all(|word| word.text.starts_with('-') && !word.uncertain)
}

/// `checkout -b NAME` only creates a branch.
fn is_new_branch(args: &[Word]) -> bool {
    matches!(args, [option, name] if matches!(option.text.as_str(), "-b" | "-B" | "-c" | "-C" | "--create")
        && !name.uncertain)
}

#[cfg(test)]
#[path = "git_command_detection_tests.rs"]
mod tests;
