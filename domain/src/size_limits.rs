//! The type for the size limits of requests and responses: the `limits` section of the settings.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub diff_bytes: usize,
    pub intent_chars: usize,
    /// Descriptions, reasons, summaries, messages.
    pub text_chars: usize,
    /// Names and ids of all kinds.
    pub id_chars: usize,
    pub metadata_bytes: usize,
    pub page_chars: usize,
    pub page_items: u32,
    pub max_page_items: u32,
    pub calls_in_flight: usize,
    pub calls_per_review: u64,
    pub waiters: usize,
    /// What one caller may send within a minute.
    pub caller_bytes: u64,
}
