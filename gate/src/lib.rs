//! Decides whether a commit may land.
//!
//! A [`Candidate`] is a commit, or the staged changes. It is approved if the diff of an approved review, applied to the
//! candidate's parent, produces exactly the candidate's tree. Patch ids and file names only find reviews to compare
//! with (docs/adr/0019).
//!
//! The [`Gate`] takes a repository, the database and a [`Policy`], and returns a [`Decision`] for each candidate. It
//! reads nothing else: neither variables nor the configuration of the repository (docs/adr/0030). An error is the third
//! answer: the gate could not tell.

mod candidate;
mod commit_approvals;
mod commit_ranges;
mod decision;
mod error;
mod landed_commits;
mod near_misses;
mod policy;
mod pushes;
mod receipt;

pub use candidate::Candidate;
pub use commit_approvals::{Evidence, VerifiedCommit, default_range};
pub use commit_ranges::{CommitRange, MAX_COMMITS};
pub use decision::{Approval, Decision, Difference, Exemption, Gate, Outcome, RefusalReason, SkipReason};
pub use error::GateError;
pub use landed_commits::RecentHistory;
pub use near_misses::NearMiss;
pub use policy::{Policy, RegisteredProject, Workflow};
pub use pushes::{PushUpdate, Remote};
pub use receipt::{Receipt, ReceiptReviewer};
pub use store::read_only_database::ReviewedContent;
