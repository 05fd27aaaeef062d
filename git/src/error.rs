//! The error type of git operations.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, thiserror::Error)]
pub enum GitError {
    #[error("{} is not in a git repository", dir.display())]
    NotARepository { dir: PathBuf },
    /// The repository does not have the commit, or its objects are missing.
    #[error("no commit {base}: {message}")]
    UnknownBase { base: String, message: String },
    /// The name is malformed and was not passed to git.
    #[error("bad base {base:?}: {why}")]
    BadBase { base: String, why: &'static str },
    /// The branch, commit or range is malformed or cannot be resolved.
    #[error("bad target {target:?}: {why}")]
    BadTarget { target: String, why: String },
    /// Git works, but it cannot apply the diff to its base.
    #[error("the diff does not apply: {message}")]
    DoesNotApply { message: String },
    #[error("the diff has {bytes} bytes; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("git took longer than {} ms", after.as_millis())]
    TimedOut { after: Duration },
    #[error("cannot run {}: program not found; is git installed?", program.display())]
    Missing { program: PathBuf },
    /// Git or the machine failed; another attempt may succeed.
    #[error("{task} failed: {message}")]
    Failed { task: Cow<'static, str>, message: String },
}

impl GitError {
    pub(crate) fn failed(task: impl Into<Cow<'static, str>>, error: impl Display) -> Self {
        GitError::Failed { task: task.into(), message: error.to_string() }
    }

    pub(crate) fn bad_target(target: &str, why: &str) -> Self {
        GitError::BadTarget { target: target.to_owned(), why: why.to_owned() }
    }
}
