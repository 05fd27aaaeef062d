//! Accepting and rejecting a reviewer's counter-patch. The response is the review's status.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Arguments of accept_counter_patch and reject_counter_patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterPatchRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
    /// The persona whose counter-patch is meant. Needed if several seats have offered one.
    pub persona: Option<String>,
}
