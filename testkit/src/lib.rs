//! Test fixtures that several packages share: temporary git repositories, and sample proposals, verdicts and findings.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod diff_parser_against_git;
mod repo;
mod samples;

pub use diff_parser_against_git::DiffReading;
pub use repo::{Repo, git, git_command};
pub use samples::{RULES, approval, content, issue, persona, proposal, proposer, round};
