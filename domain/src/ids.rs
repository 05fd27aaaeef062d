//! Types for the id of a review (a UUID) and its short number. Other packages create the ids, because that needs
//! randomness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// The permanent id of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReviewId(pub Uuid);

impl fmt::Display for ReviewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The short number, for example R-12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ReviewNumber(pub i64);

impl From<ReviewNumber> for String {
    fn from(number: ReviewNumber) -> Self {
        number.to_string()
    }
}

impl TryFrom<String> for ReviewNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not the number of a review"))
    }
}

impl fmt::Display for ReviewNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("R-{}", self.0))
    }
}

impl ReviewNumber {
    /// Parses `R-128` or `r-128`. A bare number could be the start of a UUID and is refused.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("R-").or_else(|| text.strip_prefix("r-"))?;
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse().ok().map(Self) } else { None }
    }
}

/// The identity of the broker when it rejects a diff that does not apply.
pub const VALIDATOR: &str = "broker-validator";

/// The persona of a review that names none.
pub const DEFAULT_PERSONA: &str = "general";
