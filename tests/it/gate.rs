//! The gate, the hooks that ask it, and the proofs it leaves.

mod adversarial;
mod broker_source;
mod client_hooks;
mod decisions;
mod git_processes;
pub(crate) mod installed_guards;
mod landing;
mod receipts;
mod revert;
mod signed_votes;
mod tandem_workflow;
mod unshown_diffs;
mod verify;
