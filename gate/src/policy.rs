//! The policy of a gate, as the operator sets it: which files need no approval. Some files, such as the gate's own
//! settings, always need one.

use std::path::PathBuf;

use domain::glob::Globs;
use git::GitSettings;

/// What the operator decides about a gate. Nothing in it may come from the repository.
#[derive(Debug, Default)]
pub struct Policy {
    /// Files whose changes need no approval.
    pub exempt: Globs,
    pub git: GitSettings,
    /// Where git works; a folder that does not exist is skipped.
    pub scratch: Vec<PathBuf>,
    /// The repositories of the broker, by which a review belongs to this repository or to another one.
    pub projects: Vec<RegisteredProject>,
    /// The project of this repository, if it is a clone that is not registered.
    pub project: Option<String>,
    pub workflow: Option<Workflow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredProject {
    pub name: String,
    /// The object folder of its repository.
    pub objects: PathBuf,
}

/// The file in which a project says at which points it requires approvals.
#[derive(Debug, Clone, Copy)]
pub struct Workflow {
    pub file: &'static str,
    /// Whether a push needs an approval, by the content of the file.
    pub requires_push: fn(&str) -> bool,
}

/// Files that decide about the gate itself. A change of them always needs an approval.
pub(crate) fn is_protected(path: &str) -> bool {
    let path = path.to_lowercase();
    path == ".planning/config.json" || path == ".countersign" || path.starts_with(".countersign/")
}
