//! The gate, the hooks that ask it, and the proofs it leaves.

mod adversarial;
mod client_hooks;
mod decisions;
mod installed_guards;
mod receipts;
mod revert;
mod tandem_workflow;
mod verify;
