//! Decides whether a commit may land.
//!
//! A [`Candidate`] is a commit, or the staged changes. It is approved if the diff of an approved review, applied to the
//! candidate's parent, produces exactly the candidate's tree. Patch ids and file names only find reviews to compare
//! with (docs/adr/0019).
//!
//! The [`Gate`] takes a repository, a source of approvals and a [`Policy`], and returns a [`Decision`] for each candidate.
//! The approvals come from the database, from a broker, or from signed receipts (docs/receipts.md). The gate reads nothing
//! else: neither variables nor the configuration of the repository (docs/adr/0030). An error is the third answer: the gate
//! could not tell.

mod approval_search;
mod approval_source;
mod candidate;
mod commit_approvals;
mod commit_ranges;
mod decision;
mod error;
mod landed_commits;
mod landing_decision;
mod near_misses;
mod policy;
mod public_key;
mod push_decision;
mod receipt;
mod receipt_push_decision;
mod review_source;
mod signed_votes;
mod signers_file;
mod signing_keys;
mod ssh_signatures;

pub use approval_source::{ApprovalSource, SignedReceipts};
pub use candidate::Candidate;
pub use commit_approvals::{Standing, VerifiedCommit, default_range};
pub use commit_ranges::{CommitRange, MAX_COMMITS};
pub use decision::{Approval, Decision, Difference, Exemption, Gate, Outcome, RefusalReason, SkipReason};
pub use domain::approvals::ReviewedContent;
pub use error::GateError;
pub use landed_commits::RecentHistory;
pub use landing_decision::{Landing, LandingOutcome, LandingRefusal};
pub use near_misses::NearMiss;
pub use policy::{Policy, RegisteredProject, Workflow};
pub use public_key::PublicKey;
pub use push_decision::{PushUpdate, Remote};
pub use receipt::{
    ApprovalPolicy, ApprovedReview, Envelope, Predicate, Receipt, ReceiptFault, ReceiptSigner, SeatVote, Signature,
    SignedContent, Statement, Subject, Trailer, list_receipts,
};
pub use review_source::{Answer, ReviewSource};
pub use signers_file::{SIGNERS_FILE, SignerKey, Signers, SshKey};
pub use signing_keys::{KeyRecord, SigningKeys};
