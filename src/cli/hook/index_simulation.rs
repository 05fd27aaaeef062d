//! ActionKind a `git commit` would take, worked out in an index of our own.

use super::shell::Word;
use crate::cli::gate::Landing;
use anyhow::Context as _;
use git::UserRepo;
use std::{fs, path::Path};
use tempfile::TempDir;

/// ActionKind the words behind `git commit` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommitOptions {
    pub all: bool,
    pub amend: bool,
    pub include: bool,
    pub allow_empty: bool,
    /// Some word is an expansion, or one that we do not know, or has git ask for more: nobody knows what it takes.
    pub unsure: bool,
    /// Commits nothing: `--dry-run`, `--help` and the like.
    pub nothing: bool,
    pub paths: Vec<String>,
}

const WITH_VALUE: &[&str] = &[
    "--message",
    "--file",
    "--author",
    "--date",
    "--template",
    "--reuse-message",
    "--reedit-message",
    "--fixup",
    "--squash",
    "--cleanup",
    "--trailer",
];
/// Change nothing of what is taken.
const PLAIN: &[&str] = &[
    "--allow-empty-message",
    "--branch",
    "--edit",
    "--gpg-sign",
    "--no-edit",
    "--no-gpg-sign",
    "--no-post-rewrite",
    "--no-signoff",
    "--no-status",
    "--no-verify",
    "--only",
    "--quiet",
    "--reset-author",
    "--signoff",
    "--status",
    "--untracked-files",
    "--verbose",
    "--verify",
];
const IDLE: &[&str] = &["--dry-run", "--short", "--porcelain", "--long", "--help", "-h"];

impl CommitOptions {
    pub(super) fn read(words: &[Word]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            read.unsure |= is_open(word);
            match word.text.as_str() {
                "--" => {
                    for word in words.by_ref() {
                        read.unsure |= word.uncertain;
                        read.paths.push(word.text.clone());
                    }
                }
                "--allow-empty" => read.allow_empty = true,
                "--all" => read.all = true,
                "--amend" => read.amend = true,
                "--include" => read.include = true,
                text if IDLE.contains(&text) => read.nothing = true,
                text if WITH_VALUE.contains(&text) => read.unsure |= words.next().is_some_and(is_open),
                text if text.starts_with("--") => {
                    let name = text.split('=').next().unwrap_or_default();
                    read.unsure |= !PLAIN.contains(&name) && !WITH_VALUE.contains(&name);
                }
                text if text.len() > 1 && text.starts_with('-') => {
                    if read.letters(&text[1..]) {
                        read.unsure |= words.next().is_some_and(is_open);
                    }
                }
                text => {
                    read.unsure |= word.uncertain;
                    read.paths.push(text.to_owned());
                }
            }
        }
        read
    }

    /// `-am`; whether the last one takes the next word.
    fn letters(&mut self, letters: &str) -> bool {
        for (at, letter) in letters.char_indices() {
            match letter {
                'a' => self.all = true,
                'i' => self.include = true,
                'm' | 'F' | 'C' | 'c' | 't' => return at + 1 == letters.len(),
                // The rest is its value.
                'S' | 'u' => return false,
                'e' | 'n' | 'o' | 'q' | 's' | 'v' => {}
                _ => self.unsure = true,
            }
        }
        false
    }
}

/// May become several words, and any.
fn is_open(word: &Word) -> bool {
    word.uncertain && !word.quoted
}

/// A copy of the user's index, in which what a command line stages is staged.
pub(super) struct IndexSimulation {
    repo: UserRepo,
    user: UserRepo,
    folder: TempDir,
    staged: bool,
    unsure: bool,
}

impl IndexSimulation {
    pub(super) async fn new(user: &UserRepo) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-hook-").tempdir()?;
        let index = folder.path().join("index");
        let real = user.root().join(user.git(["rev-parse", "--git-path", "index"]).await?);
        if real.exists() {
            fs::copy(&real, &index).context("cannot copy the index")?;
        }
        Ok(Self { repo: user.with_index(&index), user: user.clone(), folder, staged: false, unsure: false })
    }

    /// `git add` and `git rm` of the same line. ActionKind cannot be told is left out, and remembered.
    pub(super) async fn stage(&mut self, dir: &Path, how: &str, words: &[Word]) -> anyhow::Result<()> {
        self.staged = true;
        if !words.iter().all(|word| is_read(how, word)) || !dir.is_dir() {
            self.unsure = true;
            return Ok(());
        }
        let mut args = vec![how];
        if how == "rm" {
            // The files themselves are the user's.
            args.push("--cached");
        }
        args.extend(words.iter().map(|word| word.text.as_str()));
        self.repo.in_folder(dir).try_git(args).await?;
        Ok(())
    }

    /// The same line stages something that nobody can tell.
    pub(super) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// The same line stages files as they are then.
    pub(super) fn has_staged(&self) -> bool {
        self.staged
    }

    /// ActionKind would be committed, and on top of what.
    pub(super) async fn commit(&self, dir: &Path, words: &CommitOptions) -> anyhow::Result<Landing> {
        let root = self.repo.root();
        let repo = match (words.all, words.paths.is_empty()) {
            (true, _) => {
                self.repo.git(["add", "--update", "--", ":/"]).await?;
                self.repo.clone()
            }
            (false, true) => self.repo.clone(),
            (false, false) => {
                let from = if dir.is_dir() { dir } else { root };
                let args = ["ls-files", "--full-name", "-z", "--"].into_iter();
                let there = self.repo.in_folder(from);
                let tracked = there.try_git(args.chain(words.paths.iter().map(String::as_str))).await?;
                let repo = if words.include { self.repo.clone() } else { self.fresh().await? };
                let update = ["update-index", "--add", "--remove", "-z", "--stdin"];
                repo.git_with_input(update, tracked.stdout()).await?;
                repo
            }
        };
        let staged = Landing::staged(&repo).await?;
        Ok(if words.amend { staged.amending(&self.user).await?.unwrap_or(staged) } else { staged })
    }

    /// An index as the last commit left it: that is what `git commit PATH` begins with.
    async fn fresh(&self) -> anyhow::Result<UserRepo> {
        let repo = self.user.with_index(&self.folder.path().join("fresh"));
        match crate::cli::gate::head(&self.user).await? {
            Some(head) => repo.git(["read-tree", &head]).await?,
            None => repo.git(["read-tree", "--empty"]).await?,
        };
        Ok(repo)
    }
}

/// A path, or an option that does the same in an index of our own.
fn is_read(how: &str, word: &Word) -> bool {
    const LONG: &[&str] = &["--", "--all", "--update", "--force", "--quiet", "--verbose", "--cached"];
    let letters = if how == "rm" { "rfq" } else { "Aufv" };
    let fits = match word.text.strip_prefix('-') {
        None => true,
        Some(rest) if rest.starts_with('-') => LONG.contains(&word.text.as_str()),
        Some(rest) => !rest.is_empty() && rest.chars().all(|letter| letters.contains(letter)),
    };
    fits && !word.uncertain
}

#[cfg(test)]
mod tests {
    use super::{CommitOptions, is_read};
    use crate::cli::hook::shell::Word;

    fn read(line: &str) -> CommitOptions {
        let word = |text: &str| Word { text: text.into(), ..Word::default() };
        CommitOptions::read(&line.split(' ').map(word).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_staging_are_read_in_clusters_or_not_at_all() {
        let fits = |how: &str, text: &str| is_read(how, &Word { text: text.into(), ..Word::default() });
        for (how, text) in [("add", "-Av"), ("add", "--all"), ("rm", "-rf"), ("add", "a"), ("rm", "--cached")] {
            assert!(fits(how, text), "{how} {text}");
        }
        for (how, text) in
            [("add", "-p"), ("add", "--chmod=+x"), ("add", "--ignore-errors"), ("rm", "-n"), ("add", "-N")]
        {
            assert!(!fits(how, text), "{how} {text}");
        }
    }

    #[test]
    fn the_words_of_a_commit_are_read_as_git_does() {
        let plain = CommitOptions::default;
        assert_eq!(read("-m text"), plain());
        assert_eq!(read("-am text"), CommitOptions { all: true, ..plain() });
        assert_eq!(read("-mall -S --amend"), CommitOptions { amend: true, ..plain() });
        assert_eq!(read("--message text a b"), CommitOptions { paths: vec!["a".into(), "b".into()], ..plain() });
        assert_eq!(read("-i a -m x -- -b").paths, ["a", "-b"]);
        for line in
            ["-p -m x", "-pm x", "--patch", "--interactive", "--pathspec-from-file=- -m x", "--unheard", "--inter"]
        {
            assert!(read(line).unsure, "{line}");
        }
        for line in ["-sqm x", "--no-verify --message=x --fixup=HEAD", "-nvS", "-uno -o a"] {
            assert!(!read(line).unsure, "{line}");
        }
        assert!(read("-i a").include && read("--dry-run").nothing && !read("-uall").all);
    }
}
