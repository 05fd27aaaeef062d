//! Computes which tree a `git commit` would create, by repeating it in a copy of the index.

use super::shell_parser::Word;
use gate::{Candidate, Gate};
use git::UserRepo;
use std::path::Path;
use tempfile::TempDir;

/// The options and paths of a `git commit`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommitOptions {
    pub all: bool,
    pub amend: bool,
    pub include: bool,
    pub allow_empty: bool,
    /// A word is an expansion or an unknown option, or git asks interactively: the content cannot be predicted.
    pub is_uncertain: bool,
    /// `--dry-run`, `--help` and similar.
    pub commits_nothing: bool,
    pub paths: Vec<String>,
}

/// How an option of `git commit` affects the content.
enum OptionKind {
    Neutral,
    /// Neutral, and takes a value.
    WithValue,
    /// Nothing is committed.
    NoCommit,
    Unknown,
}

fn option_kind(name: &str) -> OptionKind {
    match name {
        "--branch" | "--edit" | "--gpg-sign" | "--no-edit" | "--no-gpg-sign" | "--no-post-rewrite" | "--no-signoff"
        | "--no-status" | "--no-verify" | "--only" | "--quiet" | "--reset-author" | "--signoff" | "--status"
        | "--untracked-files" | "--verbose" | "--verify" => OptionKind::Neutral,
        "--message" | "--file" | "--author" | "--date" | "--template" | "--reuse-message" | "--reedit-message"
        | "--fixup" | "--squash" | "--cleanup" | "--trailer" => OptionKind::WithValue,
        "--dry-run" | "--short" | "--porcelain" | "--long" | "--help" | "-h" => OptionKind::NoCommit,
        _ => OptionKind::Unknown,
    }
}

impl CommitOptions {
    pub(super) fn parse(words: &[Word]) -> Self {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            options.is_uncertain |= is_open(word);
            match word.text.as_str() {
                "--" => {
                    for word in words.by_ref() {
                        options.is_uncertain |= word.uncertain;
                        options.paths.push(word.text.clone());
                    }
                }
                "--allow-empty" => options.allow_empty = true,
                "--allow-empty-message" => {}
                "--all" => options.all = true,
                "--amend" => options.amend = true,
                "--include" => options.include = true,
                text if text.starts_with("--") || text == "-h" => {
                    let name = text.split('=').next().unwrap_or_default();
                    match option_kind(name) {
                        OptionKind::NoCommit if name == text => options.commits_nothing = true,
                        OptionKind::WithValue if name == text => {
                            options.is_uncertain |= words.next().is_some_and(is_open);
                        }
                        OptionKind::Neutral | OptionKind::WithValue => {}
                        OptionKind::NoCommit | OptionKind::Unknown => options.is_uncertain = true,
                    }
                }
                text if text.len() > 1 && text.starts_with('-') => {
                    if options.parse_short(&text[1..]) {
                        options.is_uncertain |= words.next().is_some_and(is_open);
                    }
                }
                text => {
                    options.is_uncertain |= word.uncertain;
                    options.paths.push(text.to_owned());
                }
            }
        }
        options
    }

    /// Short options such as `-am`. Returns whether the next word is the value of the last one.
    fn parse_short(&mut self, letters: &str) -> bool {
        for (at, letter) in letters.char_indices() {
            match letter {
                'a' => self.all = true,
                'i' => self.include = true,
                'm' | 'F' | 'C' | 'c' | 't' => return at + 1 == letters.len(),
                // The rest of the word is the value.
                'S' | 'u' => return false,
                'e' | 'n' | 'o' | 'q' | 's' | 'v' => {}
                _ => self.is_uncertain = true,
            }
        }
        false
    }
}

/// An unquoted expansion, which can become any number of words.
fn is_open(word: &Word) -> bool {
    word.uncertain && !word.quoted
}

/// A copy of the user's index, to which the `git add` and `git rm` of a command line are applied.
pub(super) struct IndexSimulation {
    repo: UserRepo,
    user: UserRepo,
    folder: TempDir,
    /// Whether the command line stages anything.
    pub has_staged: bool,
    /// Whether it stages something that cannot be predicted.
    pub is_uncertain: bool,
}

impl IndexSimulation {
    pub(super) async fn new(user: &UserRepo) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("countersign-hook-").tempdir()?;
        let repo = user.with_copied_index(&folder.path().join("index")).await?;
        Ok(Self { repo, user: user.clone(), folder, has_staged: false, is_uncertain: false })
    }

    /// Applies a `git add` or `git rm`. If the effect cannot be predicted, nothing is applied and the index is uncertain.
    pub(super) async fn stage(&mut self, dir: &Path, how: &str, words: &[Word]) -> anyhow::Result<()> {
        self.has_staged = true;
        if !words.iter().all(|word| is_predictable(how, word)) || !dir.is_dir() {
            self.is_uncertain = true;
            return Ok(());
        }
        let mut args = vec![how];
        if how == "rm" {
            // Do not delete the user's files.
            args.push("--cached");
        }
        args.extend(words.iter().map(|word| word.text.as_str()));
        self.repo.in_folder(dir).try_git(args).await?;
        Ok(())
    }

    /// The commit that git would make.
    pub(super) async fn commit(&self, gate: &Gate, dir: &Path, options: &CommitOptions) -> anyhow::Result<Candidate> {
        let root = self.repo.root();
        let (own, of_head) = (self.folder.path().join("index"), self.folder.path().join("head-index"));
        let index = match (options.all, options.paths.is_empty()) {
            (true, _) => {
                self.repo.git(["add", "--update", "--", ":/"]).await?;
                own
            }
            (false, true) => own,
            (false, false) => {
                let from = if dir.is_dir() { dir } else { root };
                let args = ["ls-files", "--full-name", "-z", "--"].into_iter();
                let there = self.repo.in_folder(from);
                let tracked = there.try_git(args.chain(options.paths.iter().map(String::as_str))).await?;
                let (repo, index) = if options.include {
                    (self.repo.clone(), own)
                } else {
                    (self.index_of_head(&of_head).await?, of_head)
                };
                let update = ["update-index", "--add", "--remove", "-z", "--stdin"];
                repo.git_with_input(update, tracked.stdout()).await?;
                index
            }
        };
        let staged = gate.staged(Some(&index)).await?;
        Ok(if options.amend { gate.as_amendment(&staged).await?.unwrap_or(staged) } else { staged })
    }

    /// An index with the content of HEAD: `git commit PATH` starts from it.
    async fn index_of_head(&self, file: &Path) -> anyhow::Result<UserRepo> {
        let repo = self.user.with_index(file);
        match self.user.resolve_commit("HEAD").await? {
            Some(head) => repo.git(["read-tree", &head]).await?,
            None => repo.git(["read-tree", "--empty"]).await?,
        };
        Ok(repo)
    }
}

/// A path, or an option that has the same effect on a copied index.
fn is_predictable(how: &str, word: &Word) -> bool {
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
    use super::{CommitOptions, is_predictable};
    use crate::hook::shell_parser::Word;

    fn parse(line: &str) -> CommitOptions {
        let word = |text: &str| Word { text: text.into(), ..Word::default() };
        CommitOptions::parse(&line.split(' ').map(word).collect::<Vec<_>>())
    }

    #[test]
    fn an_unknown_staging_option_makes_the_index_unpredictable() {
        let fits = |how: &str, text: &str| is_predictable(how, &Word { text: text.into(), ..Word::default() });
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
    fn commit_options_are_parsed_as_git_parses_them() {
        let plain = CommitOptions::default;
        assert_eq!(parse("-m text"), plain());
        assert_eq!(parse("-am text"), CommitOptions { all: true, ..plain() });
        assert_eq!(parse("-mall -S --amend"), CommitOptions { amend: true, ..plain() });
        assert_eq!(parse("--message text a b"), CommitOptions { paths: vec!["a".into(), "b".into()], ..plain() });
        assert_eq!(parse("-i a -m x -- -b").paths, ["a", "-b"]);
        for line in
            ["-p -m x", "-pm x", "--patch", "--interactive", "--pathspec-from-file=- -m x", "--unheard", "--inter"]
        {
            assert!(parse(line).is_uncertain, "{line}");
        }
        for line in ["-sqm x", "--no-verify --message=x --fixup=HEAD", "-nvS", "-uno -o a"] {
            assert!(!parse(line).is_uncertain, "{line}");
        }
        assert!(parse("-i a").include && parse("--dry-run").commits_nothing && !parse("-uall").all);
    }
}
