//! The gate, the hooks that ask it, and the proofs it leaves.

mod adversarial;
mod client_hooks;
mod decisions;
mod git_processes;
mod installed_guards;
mod revert;
mod tandem_workflow;
mod unshown_diffs;
mod verify;
