//! Compares git trees in the scratch repository: which files differ, and whether applying a diff produces exactly a
//! certain tree. The gate's decision rests on the latter.

use std::fs;

use domain::diff::{self, apply_parts};

use crate::apply::with_final_newline;
use crate::engine::Engine;
use crate::process::Output;
use crate::repository::Session;
use crate::{GitError, Repository};

const OPTIONS: [&str; 8] =
    ["-r", "-p", "--binary", "--full-index", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];

/// Limits the list of differing file names.
const MAX_NAMES_BYTES: usize = 256 * 1024;

impl Repository {
    /// The diff between the files of two contents, each given as a base and a diff.
    pub async fn diff_contents(
        &self,
        from: (Option<&str>, Option<&str>),
        to: (Option<&str>, Option<&str>),
    ) -> Result<String, GitError> {
        for diff in [from.1, to.1].into_iter().flatten() {
            self.0.check_size(diff)?;
        }
        let mut session = self.session_with_index().await?;
        let from = session.content_tree(from.0, from.1).await?;
        let to = session.content_tree(to.0, to.1).await?;
        session.diff_trees(Some(&from), &to).await
    }

    /// Applies `diff` to the commit `base` (`None`: the empty tree) and lists the files in which the result differs
    /// from `tree`. An empty list means that the trees are identical, including all modes.
    ///
    /// A diff that does not apply is [`GitError::DoesNotApply`].
    pub async fn differing_files(&self, base: Option<&str>, diff: &str, tree: &str) -> Result<Vec<String>, GitError> {
        self.0.check_size(diff)?;
        self.0.check_id(base)?;
        self.0.check_id(Some(tree))?;
        let (from, to, text) = (base.map(str::to_owned), tree.to_owned(), with_final_newline(diff));
        let engine = move |engine: &Engine| engine.differing_files(from.as_deref(), &text, &to);
        self.0.ask("differing files", engine, self.differing_files_with_git(base, diff, tree)).await
    }

    async fn differing_files_with_git(
        &self,
        base: Option<&str>,
        diff: &str,
        tree: &str,
    ) -> Result<Vec<String>, GitError> {
        let mut session = self.session_with_index().await?;
        let text = with_final_newline(diff);
        let parts = apply_parts(&text);
        let result = match session.apply_as_shown(base, &parts).await {
            Ok(Ok(tree)) => Ok(tree),
            Ok(Err(rejection)) => Err(GitError::DoesNotApply { message: rejection.message }),
            Err(error) => Err(error),
        };
        let result = result?;
        if result == tree {
            return Ok(Vec::new());
        }
        let git = session.scratch("comparing the files").stdout_limit(MAX_NAMES_BYTES);
        let options = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--ignore-submodules=none"];
        let output = session.run(git.args(options).args([result.as_str(), tree, "--"]), &[]).await?;
        let names = output.stdout().split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The tree of a merge of two commits that git resolves without conflicts, otherwise `None`. Merge drivers of the
    /// repository do not run.
    pub async fn merged_tree(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        self.0.check_id(Some(one))?;
        self.0.check_id(Some(other))?;
        let mut session = self.session_with_index().await?;
        let git = session.scratch("merging two commits").stdout_limit(MAX_NAMES_BYTES);
        let git = git.args(["merge-tree", "--write-tree", "--no-messages", one, other]);
        let output = session.try_run(git, &[]).await?;
        Ok(output.success.then(|| output.text()))
    }

    /// The patch id of the diff between the commit `base` (`None`: the empty tree) and `tree`.
    pub async fn patch_id_between(&self, base: Option<&str>, tree: &str) -> Result<Option<String>, GitError> {
        let diff = self.session_with_index().await?.diff_trees(base, tree).await?;
        self.patch_id(&diff).await
    }
}

impl Session<'_> {
    async fn content_tree(&mut self, base: Option<&str>, diff: Option<&str>) -> Result<String, GitError> {
        self.fill_index(base, diff).await?;
        self.write_tree().await
    }

    /// The diff between two trees or commits, given by id; `None` is the empty tree. It applies to the first and produces
    /// the second.
    ///
    /// The broker handles diffs as UTF-8, so a text file in another encoding becomes a binary patch.
    pub(crate) async fn diff_trees(&mut self, from: Option<&str>, to: &str) -> Result<String, GitError> {
        let from = match from {
            Some(from) => from.to_owned(),
            None => self.content_tree(None, None).await?,
        };
        let output = self.run_diff(&[], &from, to).await?;
        let attributes = match String::from_utf8(output.stdout().to_vec()) {
            Ok(text) => return Ok(text),
            Err(error) => binary_attributes(error.as_bytes()),
        };
        let file = self.folder().join("attributes");
        fs::write(&file, attributes).map_err(|error| GitError::failed("comparing the files", error))?;
        let setting = format!("core.attributesFile={}", file.display());
        let output = self.run_diff(&["-c", &setting], &from, to).await?;
        let text = String::from_utf8(output.stdout().to_vec());
        text.map_err(|_| GitError::failed("comparing the files", "a changed file is not UTF-8"))
    }

    async fn run_diff(&mut self, config: &[&str], from: &str, to: &str) -> Result<Output, GitError> {
        let limit = self.repo.settings.max_diff_bytes;
        let git = self.scratch("comparing the files").stdout_limit(limit).args(config);
        let git = git.args(["diff-tree"]).args(OPTIONS).args([from, to, "--"]);
        let output = self.run(git, &[]).await?;
        match output.overflow() {
            Some(bytes) => Err(GitError::TooLarge { bytes, limit }),
            None => Ok(output),
        }
    }
}

/// Attributes that mark the files whose part of the diff is not UTF-8 as binary. If such a part cannot be parsed, all
/// files are marked. File names are not affected: git escapes those that are not ASCII.
fn binary_attributes(diff: &[u8]) -> String {
    let mut lines = String::new();
    for part in split_files(diff).filter(|part| std::str::from_utf8(part).is_err()) {
        let files = diff::summarize(&String::from_utf8_lossy(part)).files;
        let [file] = files.as_slice() else { return "* -diff\n".to_owned() };
        for path in [Some(&file.path), file.old_path.as_ref()].into_iter().flatten() {
            lines.push_str(&attribute_line(path));
        }
    }
    lines
}

/// Splits before each file header. A hunk cannot contain such a line, because all its lines start with a sign.
fn split_files(diff: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([diff.len()]).collect();
    starts.into_iter().zip(ends).filter_map(|(start, end)| diff.get(start..end))
}

/// The path as a quoted pattern that matches only this file.
fn attribute_line(path: &str) -> String {
    let mut line = String::from("\"/");
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => line.extend(['\\', '\\', c]),
            '\\' => line.push_str(r"\\\\"),
            '"' => line.push_str("\\\""),
            '\n' => line.push_str("\\n"),
            _ => line.push(c),
        }
    }
    line.push_str("\" -diff\n");
    line
}
