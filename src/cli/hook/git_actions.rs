//! ActionKind a command line means to do with git: stage, commit, push, and where.

mod command_tables;

use super::shell::{Connector, Item, SimpleCommand, Word, read};
use command_tables::{
    HARMLESS, KNOWN, MOVING, READING, TALKING, UnwrappedCommand, assignment, folder, joined, redirects,
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Shells within shells; deeper is no honest command line.
const MAX_DEPTH: usize = 8;

/// A git command that matters to a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitAction {
    pub dir: PathBuf,
    pub what: ActionKind,
    /// Behind the subcommand.
    pub args: Vec<Word>,
    pub before: PriorEffect,
}

/// ActionKind runs before it in the same line may change, so that nobody knows yet how it will be then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PriorEffect {
    None,
    /// Branches and tags.
    Refs,
    /// Files, but not what is staged.
    Files,
    /// ActionKind is staged, or what is checked out.
    Index,
    /// The folder, so that it may be any repository.
    Directory,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActionKind {
    /// Stages, so that a later commit takes more: `add` or `rm`.
    Stage(&'static str),
    Commit,
    Push,
    /// May be an alias of anything.
    Unknown(String),
}

/// Everything in the order in which it would run. A line that cannot be read to its end is searched for the words, and so
/// is what unknown programs are given.
pub(super) fn git_actions(line: &str, dir: &Path) -> Vec<GitAction> {
    let mut walk = Analyzer {
        acts: Vec::new(),
        at: WorkingDir { dir: dir.to_owned(), lost: false },
        earlier: Vec::new(),
        before: PriorEffect::None,
        aliases: false,
        values: HashMap::new(),
        loose: Vec::new(),
        depth: 0,
    };
    walk.script(line);
    walk.last_net();
    walk.acts
}

#[derive(Clone)]
struct WorkingDir {
    dir: PathBuf,
    /// It may be another.
    lost: bool,
}

struct Analyzer {
    acts: Vec<GitAction>,
    at: WorkingDir,
    /// Where it was, for `cd -` and `popd`.
    earlier: Vec<WorkingDir>,
    before: PriorEffect,
    /// The line makes aliases of its own.
    aliases: bool,
    /// ActionKind variables of the line stand for.
    values: HashMap<String, String>,
    /// Words that programs get which may run them.
    loose: Vec<String>,
    depth: usize,
}

impl Analyzer {
    fn script(&mut self, text: &str) {
        if self.depth == MAX_DEPTH {
            return self.suspect(text);
        }
        self.depth += 1;
        let script = read(text);
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
            self.suspect(text);
        }
        self.depth -= 1;
    }

    fn raise(&mut self, before: PriorEffect) {
        self.before = self.before.max(before);
    }

    /// When in doubt, it is a commit.
    fn suspect(&mut self, text: &str) {
        let found = |word: &str| text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|part| part == word);
        for (word, what) in [("commit", ActionKind::Commit), ("push", ActionKind::Push)] {
            if found("git") && found(word) {
                self.suspected(what);
            }
        }
    }

    fn suspected(&mut self, what: ActionKind) {
        if self.acts.iter().all(|act| act.what != what) {
            let before = if self.at.lost { PriorEffect::Directory } else { self.before.max(PriorEffect::Index) };
            self.acts.push(GitAction { dir: self.at.dir.clone(), what, args: Vec::new(), before });
        }
    }

    /// No act was found: do words that an unknown program gets look like one?
    fn last_net(&mut self) {
        if self.acts.iter().any(|act| matches!(act.what, ActionKind::Commit | ActionKind::Push)) {
            return;
        }
        for text in std::mem::take(&mut self.loose) {
            let apart = |c: char| c.is_whitespace() || "'\"`;|&(),[]{}=".contains(c);
            let mut words = text.split(apart).filter(|word| !word.is_empty());
            let git = words.any(|word| word.rsplit('/').next() == Some("git"));
            for word in words.filter(|_| git) {
                match word {
                    "commit" => self.suspected(ActionKind::Commit),
                    "push" => self.suspected(ActionKind::Push),
                    _ => {}
                }
            }
        }
    }

    fn command(&mut self, command: &SimpleCommand, next: Connector, line: &str) {
        if command.writes {
            self.raise(PriorEffect::Files);
        }
        let bare = UnwrappedCommand::of(&command.words);
        if let Some(script) = &bare.script {
            self.nested(script);
        }
        let Some((program, args)) = bare.words.split_first() else {
            if bare.redirected {
                self.raise(PriorEffect::Directory);
            }
            return self.values.extend(bare.assigned);
        };
        let name = program.text.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        match name {
            "cd" | "pushd" | "popd" => self.change_dir(name, args, is_certain(command.connector, next)),
            "eval" => self.script(&joined(args)),
            "trap" => args.iter().take(1).for_each(|word| self.nested(&word.text)),
            "export" | "declare" | "typeset" | "readonly" | "local" => self.export(args),
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => self.shell(args, command, line),
            "git" => self.git(args, &bare),
            // `$GIT commit`
            _ if program.uncertain && args.first().is_some_and(|word| matches!(&*word.text, "commit" | "push")) => {
                self.git(args, &bare);
            }
            _ if program.uncertain => self.expanded(program, args),
            harmless if HARMLESS.contains(&harmless) => {}
            talking => {
                self.raise(PriorEffect::Files);
                if !TALKING.contains(&talking) {
                    self.loose.push(joined(&bare.words));
                    self.loose.extend(command.input.clone());
                }
            }
        }
    }

    /// `$COMMAND`
    fn expanded(&mut self, program: &Word, args: &[Word]) {
        let name = program.text.trim_start_matches(['$', '{']).trim_end_matches('}');
        match self.values.get(name).cloned() {
            Some(value) if self.depth < MAX_DEPTH => self.script(&format!("{value} {}", joined(args))),
            Some(_) | None => {
                self.raise(PriorEffect::Files);
                self.loose.push(joined(args));
                self.loose.extend(self.values.values().cloned());
            }
        }
    }

    fn export(&mut self, args: &[Word]) {
        for (name, value) in args.iter().filter_map(|word| assignment(&word.text)) {
            if redirects(name) {
                self.raise(PriorEffect::Directory);
            }
            self.values.insert(name.to_owned(), value.to_owned());
        }
    }

    fn change_dir(&mut self, how: &str, args: &[Word], certain: bool) {
        let target = args.iter().find(|word| word.text == "-" || !word.text.starts_with('-'));
        let here = self.at.clone();
        let to = match (how, target) {
            ("popd", _) => self.earlier.pop(),
            ("cd", Some(word)) if word.text == "-" => self.earlier.pop(),
            ("pushd", None) => self.earlier.pop(),
            (_, None) => Some(self.spot(&here, &Word { text: "~".into(), uncertain: true, quoted: false })),
            (_, Some(word)) => Some(self.spot(&here, word)),
        };
        if how != "popd" {
            self.earlier.push(here.clone());
        }
        self.at = to.unwrap_or(WorkingDir { lost: true, ..here });
        self.at.lost |= !certain;
    }

    /// Where a word leads. One that nobody can know is guessed at.
    fn spot(&self, from: &WorkingDir, word: &Word) -> WorkingDir {
        match folder(&from.dir, word) {
            Some(dir) => WorkingDir { lost: from.lost && dir.starts_with(&from.dir), dir },
            None => {
                let name = word.text.trim_start_matches(['$', '{']).trim_end_matches('}');
                let dir = self.values.get(name).map_or_else(|| from.dir.clone(), |value| from.dir.join(value));
                WorkingDir { dir, lost: true }
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
                None if commands => return self.given(word),
                None if input => break,
                // A file with commands, which nobody has read.
                None => return self.raise(PriorEffect::Files),
            }
        }
        match &command.input {
            Some(input) => self.nested(input),
            // ActionKind it is told to do, another program says.
            None => {
                self.raise(PriorEffect::Files);
                if command.connector == Connector::Pipe {
                    self.suspect(line);
                }
            }
        }
    }

    /// `sh -c SCRIPT`
    fn given(&mut self, script: &Word) {
        self.nested(&script.text);
        if script.uncertain {
            self.raise(PriorEffect::Files);
            self.loose.extend(self.values.values().cloned());
        }
    }

    fn nested(&mut self, text: &str) {
        let at = self.at.clone();
        self.script(text);
        self.at = at;
    }

    fn git(&mut self, args: &[Word], bare: &UnwrappedCommand) {
        let mut at = self.at.clone();
        if let Some(dir) = &bare.dir {
            at = self.spot(&at, dir);
        }
        let mut elsewhere = bare.redirected;
        let mut words = args.iter();
        let sub = loop {
            let Some(word) = words.next() else { return };
            match word.text.as_str() {
                "-C" | "--work-tree" => at = words.next().map_or(at.clone(), |to| self.spot(&at, to)),
                "-c" | "--config-env" => {
                    self.aliases |= words.next().is_some_and(makes_alias);
                }
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
                    at = self.spot(&at, &Word { text: to, ..word.clone() });
                }
                "--help" | "--version" | "-h" | "-v" => return,
                text if text.starts_with('-') => {}
                _ => break word,
            }
        };
        let args: Vec<_> = words.cloned().collect();
        let Some(what) = self.meant(sub, &args) else { return };
        let before = if at.lost || elsewhere { PriorEffect::Directory } else { self.before };
        // `git add "$FILE"`
        if matches!(what, ActionKind::Stage(_)) && args.iter().any(|word| word.uncertain) {
            self.raise(PriorEffect::Files);
        }
        self.acts.push(GitAction { dir: at.dir, what, args, before });
    }

    fn meant(&mut self, sub: &Word, args: &[Word]) -> Option<ActionKind> {
        let changes = match sub.text.as_str() {
            // `git $WHAT`
            _ if sub.uncertain => return Some(ActionKind::Commit),
            "commit" => return Some(ActionKind::Commit),
            "push" => return Some(ActionKind::Push),
            "add" | "stage" => return Some(ActionKind::Stage("add")),
            "rm" => return Some(ActionKind::Stage("rm")),
            "branch" | "tag" if is_listing(args) => PriorEffect::None,
            "branch" | "tag" => PriorEffect::Refs,
            "checkout" | "switch" if is_new_branch(args) => PriorEffect::Refs,
            known if READING.contains(&known) => PriorEffect::None,
            known if MOVING.contains(&known) => PriorEffect::Index,
            known if KNOWN.contains(&known) => {
                self.aliases |= known == "config" && args.iter().any(makes_alias);
                PriorEffect::Files
            }
            _ if self.aliases => {
                self.raise(PriorEffect::Index);
                return Some(ActionKind::Commit);
            }
            other => return Some(ActionKind::Unknown(other.to_owned())),
        };
        self.raise(changes);
        None
    }
}

/// Whether a `cd` between these has surely been run, in the same shell, when the next command is.
fn is_certain(connector: Connector, next: Connector) -> bool {
    match (connector, next) {
        (Connector::Sequence, Connector::Sequence | Connector::And) | (Connector::And, Connector::And) => true,
        (_, Connector::Or | Connector::Pipe | Connector::Background)
        | (Connector::Or | Connector::Pipe, _)
        | (Connector::And, Connector::Sequence) => false,
        (Connector::Background, Connector::Sequence | Connector::And) => true,
    }
}

fn makes_alias(setting: &Word) -> bool {
    let text = setting.text.to_ascii_lowercase();
    setting.uncertain || text.starts_with("alias.") || text.starts_with("include")
}

fn is_listing(args: &[Word]) -> bool {
    let lists = |word: &Word| matches!(word.text.as_str(), "-l" | "--list" | "--show-current");
    args.iter().any(lists) || args.iter().all(|word| word.text.starts_with('-') && !word.uncertain)
}

/// `checkout -b NAME`: nothing but the name changes.
fn is_new_branch(args: &[Word]) -> bool {
    matches!(args, [option, name] if matches!(option.text.as_str(), "-b" | "-B" | "-c" | "-C" | "--create")
        && !name.uncertain)
}

#[cfg(test)]
#[path = "git_actions_tests.rs"]
mod tests;
