//! Time types: wall-clock timestamps for people, and ticks for deadlines. The rules get both as arguments.

use serde::{Deserialize, Serialize};

/// Wall-clock milliseconds since 1970, for display. It may jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        jiff::Timestamp::from(*self).fmt(f)
    }
}

/// The type of times in the API, which is written as RFC 3339 in UTC.
impl From<Timestamp> for jiff::Timestamp {
    fn from(at: Timestamp) -> Self {
        Self::from_millisecond(at.0).unwrap_or_default()
    }
}

/// Milliseconds on a timeline that only moves forward, across restarts of the broker and the machine. Deadlines are
/// ticks, so setting the wall clock does not move them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tick(pub i64);

impl Tick {
    #[must_use]
    pub fn plus(self, span: std::time::Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// The moment at which a command is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    pub at: Timestamp,
    pub tick: Tick,
}
