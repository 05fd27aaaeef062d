//! Reviewers that the broker starts itself.

pub mod prompt;
pub mod runtime;
pub mod usage;
