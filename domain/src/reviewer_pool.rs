//! Rules of the reviewer pool: when reviewers are started and stopped, and the events this writes to the log.

pub mod circuit_breaker;
pub mod event;
pub mod scaling;

pub use event::PoolEvent;

crate::string_enum! {
    /// Whether the pool can start reviewers.
    PoolState {
        Disabled = "disabled",
        /// It still cleans up after an earlier run.
        Starting = "starting",
        Ready = "ready",
        /// Reviewers have just failed; the next one starts after a delay.
        BackingOff = "backing_off",
        /// Too many reviewers failed in a row; none is started until an operator asks for one.
        CrashLoop = "crash_loop",
        /// No reviewer can be started, for example because the program is missing. The pool tries again regularly.
        Unavailable = "unavailable",
    }
}

crate::string_enum! {
    /// The state of a live reviewer process.
    ReviewerState {
        Starting = "starting",
        Idle = "idle",
        Busy = "busy",
        /// It finishes the review it holds and gets no other.
        Draining = "draining",
        Stopping = "stopping",
    }
}
