//! What other users of the machine, reviewers and greedy callers cannot do.

mod other_users;
mod quotas;
mod reviewer_sandbox;
mod revoked_tokens;
mod writable_copies;
