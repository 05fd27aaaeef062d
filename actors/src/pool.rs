//! Reviewers that the broker starts itself.

pub mod prompt;
pub mod runtime;
pub mod usage;
//! Reviewers as processes: how one is started, drained, ended, and what is left of it found again.

pub mod output;
pub mod process;
mod procfs;
pub mod shim;
pub mod sweep;
