//! The diff between two trees, made by plumbing in the scratch repository.

use std::fs;

use domain::diff;

use crate::process::{Git, Job, Output};
use crate::{GitError, Repository};

const OPTIONS: [&str; 8] =
    ["-r", "-p", "--binary", "--full-index", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];

impl Repository {
    /// The diff between two trees or commits, by their ids. It applies to the first and leads to the second.
    ///
    /// A diff is handled as UTF-8 everywhere, so a text file in another encoding comes as a binary patch.
    pub(crate) async fn diff_trees(&self, job: &mut Job, from: &str, to: &str) -> Result<String, GitError> {
        let plain = self.run_diff(job, &[], from, to).await?;
        let foreign = match String::from_utf8(plain.printed().to_vec()) {
            Ok(text) => return Ok(text),
            Err(error) => foreign_files(error.as_bytes()),
        };
        let file = job.folder().join("attributes");
        fs::write(&file, foreign).map_err(|error| GitError::failed("comparing the files", error))?;
        let setting = format!("core.attributesFile={}", file.display());
        let whole = self.run_diff(job, &["-c", &setting], from, to).await?;
        let text = String::from_utf8(whole.printed().to_vec());
        text.map_err(|_| GitError::failed("comparing the files", "a changed file is not UTF-8"))
    }

    async fn run_diff(&self, job: &mut Job, config: &[&str], from: &str, to: &str) -> Result<Output, GitError> {
        let limit = self.0.settings.max_diff_bytes;
        let git = Git::new("comparing the files", &self.0.scratch).keep(limit).args(config.iter().copied());
        let compared = job.run(git.args(["diff-tree"]).args(OPTIONS).args([from, to, "--"]), &[]).await?;
        if !compared.success {
            return Err(GitError::failed("comparing the files", compared.words()));
        }
        match compared.overflow() {
            Some(bytes) => Err(GitError::TooLarge { bytes, limit }),
            None => Ok(compared),
        }
    }
}

/// Attributes that make binary files of those whose part of the diff is not UTF-8; of all, should a part not be
/// readable by itself. Names are safe from this: git writes foreign ones with escapes.
fn foreign_files(printed: &[u8]) -> String {
    let mut lines = String::new();
    for part in parts(printed).filter(|part| std::str::from_utf8(part).is_err()) {
        let files = diff::summarize(&String::from_utf8_lossy(part)).files;
        let [file] = files.as_slice() else { return "* -diff\n".to_owned() };
        for path in [Some(&file.path), file.old_path.as_ref()].into_iter().flatten() {
            lines.push_str(&attribute_line(path));
        }
    }
    lines
}

/// The diff, cut before each file. Within a file no line begins like this: all have a sign in front.
fn parts(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in printed.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([printed.len()]).collect();
    starts.into_iter().zip(ends).filter_map(|(start, end)| printed.get(start..end))
}

/// The path as a pattern that matches nothing else, in the quotes git reads at the start of a line.
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
