//! Rules of the reviewer pool: when reviewers are started and stopped, and the events this writes to the log.

pub mod circuit_breaker;
pub mod event;
pub mod scaling;

pub use event::{PoolEvent, ReviewerState};
