//! Settings of the pool.

use crate::reviewer_process::runtime::RuntimeSettings;
use domain::pool::scaling::Limits;
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// If false, no reviewer is started. The pool still cleans up after an earlier run.
    pub enabled: bool,
    pub runtime: RuntimeSettings,
    /// The prompt template of agents, already checked.
    pub prompt: String,
    /// The working folder of all reviewers; `None` gives each its own folder with copies of the project.
    pub workspace: Option<PathBuf>,
    pub limits: Limits,
    /// After this many failures in a row no more reviewers are started.
    pub max_failures: u32,
    /// The longest time between two decisions about the number of reviewers.
    pub check_every: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub stop_grace: Duration,
    /// Holds the reviewers' logs and folders.
    pub folder: PathBuf,
    /// Where reviewers reach the broker.
    pub mcp_url: String,
    /// The program that runs between broker and reviewer, see [`crate::reviewer_process::shim`].
    pub shim: PathBuf,
}
