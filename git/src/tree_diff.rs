//! The diff between two trees, computed in the scratch repository.

use std::fs;

use domain::diff;

use crate::process::Output;
use crate::session::Session;
use crate::{GitError, Repository};

const OPTIONS: [&str; 8] =
    ["-r", "-p", "--binary", "--full-index", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];

impl Repository {
    /// The diff between the files of two contents, each given as a base and a diff.
    pub async fn diff_contents(
        &self,
        from: (Option<&str>, Option<&str>),
        to: (Option<&str>, Option<&str>),
    ) -> Result<String, GitError> {
        let mut session = self.session_with_index().await?;
        let from = self.content_tree(&mut session, from).await?;
        let to = self.content_tree(&mut session, to).await?;
        self.diff_trees(&mut session, &from, &to).await
    }

    async fn content_tree(
        &self,
        session: &mut Session,
        (base, diff): (Option<&str>, Option<&str>),
    ) -> Result<String, GitError> {
        self.fill_index(session, base, diff).await?;
        self.write_tree(session).await
    }

    /// The diff between two trees or commits, given by id. It applies to the first and produces the second.
    ///
    /// The broker handles diffs as UTF-8, so a text file in another encoding becomes a binary patch.
    pub(crate) async fn diff_trees(&self, session: &mut Session, from: &str, to: &str) -> Result<String, GitError> {
        let output = self.run_diff(session, &[], from, to).await?;
        let attributes = match String::from_utf8(output.stdout().to_vec()) {
            Ok(text) => return Ok(text),
            Err(error) => binary_attributes(error.as_bytes()),
        };
        let file = session.folder().join("attributes");
        fs::write(&file, attributes).map_err(|error| GitError::failed("comparing the files", error))?;
        let setting = format!("core.attributesFile={}", file.display());
        let output = self.run_diff(session, &["-c", &setting], from, to).await?;
        let text = String::from_utf8(output.stdout().to_vec());
        text.map_err(|_| GitError::failed("comparing the files", "a changed file is not UTF-8"))
    }

    async fn run_diff(&self, session: &mut Session, config: &[&str], from: &str, to: &str) -> Result<Output, GitError> {
        let limit = self.0.settings.max_diff_bytes;
        let git = self.scratch("comparing the files").stdout_limit(limit).args(config);
        let git = git.args(["diff-tree"]).args(OPTIONS).args([from, to, "--"]);
        let output = session.run(git, &[]).await?;
        if !output.success {
            return Err(GitError::failed("comparing the files", output.stderr()));
        }
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
