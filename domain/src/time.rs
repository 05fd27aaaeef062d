//! Two clocks, both handed in: one for people, one for deadlines.

use serde::{Deserialize, Serialize};

/// Wall-clock milliseconds since 1970, for showing. It may jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// Milliseconds on a timeline that only moves forward, also across restarts of the broker and of
/// the machine. Deadlines are ticks, so setting the wall clock moves none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tick(pub i64);

impl Tick {
    #[must_use]
    pub fn plus(self, span: std::time::Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// The moment a command is decided at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    pub at: Timestamp,
    pub tick: Tick,
}
