//! One type per thing that has a name. Nothing is minted here: that needs randomness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// Names a review everywhere, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReviewId(pub Uuid);

impl fmt::Display for ReviewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The short number people say: `R-128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReviewNumber(pub i64);

impl fmt::Display for ReviewNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R-{}", self.0)
    }
}

impl ReviewNumber {
    /// Reads `R-128` or `r-128`; a bare number could be the start of a UUID and is not taken.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("R-").or_else(|| text.strip_prefix("r-"))?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse().ok().map(Self) } else { None }
    }
}

/// The identity the broker itself acts under when a diff does not apply.
pub const VALIDATOR: &str = "broker-validator";

/// The seat a review has when nobody asked for more.
pub const DEFAULT_PERSONA: &str = "general";
