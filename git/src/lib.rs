//! Runs git and reads repositories.
//!
//! - [`Repository`] answers the broker's questions about a registered repository: whether a diff applies, which commit
//!   a branch points to, what a file contains. `engine` answers the first two without starting git when it can. Git
//!   works in a scratch repository that borrows the objects of the registered one. Hooks, filters, drivers and the
//!   fsmonitor of the registered repository never run.
//! - [`UserRepo`] runs git in the working tree of the user, with the user's environment and configuration.
//! - [`RepoLocation`] and [`ClientRepo`] locate a repository by its files, without running git.
//!
//! Every git process starts in `process`.

mod applied_as_shown;
mod apply;
mod commit_to_branch;
mod diff_check_cache;
mod discovery;
mod engine;
mod engine_with_git_fallback;
mod error;
mod file_reader;
mod history;
mod notes;
mod process;
mod repository;
mod scratch_repo;
mod targets;
mod tree_diff;
mod user_working_tree;
mod working_copy;

pub use apply::SubmittedDiff;
pub use commit_to_branch::{BranchUpdate, NewCommit, Person};
pub use discovery::{ClientRepo, RepoLocation};
pub use engine_with_git_fallback::{AnswerCounts, EngineState};
pub use error::GitError;
pub use file_reader::{FileContent, FileVersions};
pub use history::{CommitRecord, RemoteRefs, Revisions, Walk};
pub use notes::Note;
pub use process::Output;
pub use repository::{GitSettings, Repository};
pub use user_working_tree::UserRepo;
pub use working_copy::CopyKind;

#[cfg(test)]
mod tests;
