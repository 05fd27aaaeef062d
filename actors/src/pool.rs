//! Reviewers that the broker starts itself.

pub mod runtime;
