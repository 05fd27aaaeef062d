//! What the pool is told at its start.

use crate::reviewer_process::runtime::RuntimeSettings;
use domain::pool::scaling::Limits;
use std::{path::PathBuf, time::Duration};

#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// Without it nothing is ever spawned; what an earlier run left behind is still seen to.
    pub enabled: bool,
    pub runtime: RuntimeSettings,
    /// The template, which has been checked.
    pub prompt: String,
    /// Where reviewers work, if not in their project's repository.
    pub workspace: Option<PathBuf>,
    pub limits: Limits,
    /// As many that come to nothing in a row end the attempts.
    pub max_failures: u32,
    /// The longest time between two looks at the queue.
    pub check_every: Duration,
    /// Between SIGTERM and SIGKILL.
    pub stop_grace: Duration,
    /// For the reviewers' logs, and for those that have no project to work in.
    pub folder: PathBuf,
    /// Where reviewers reach the broker.
    pub mcp_url: String,
    /// The program that stands between broker and reviewer, see [`crate::reviewer_process::shim`].
    pub shim: PathBuf,
}
