//! Request and response types for full-text search.

pub use domain::search::{SearchKind, SnippetPart};

use domain::{
    ids::{ReviewId, ReviewNumber},
    review::Status,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SearchRequest {
    /// The words, at most 500 characters. Any text is allowed; only its letters and digits count.
    pub q: String,
    /// Only texts of these kinds. Default: all.
    pub kinds: Option<Vec<SearchKind>>,
    /// Only this project.
    pub project: Option<String>,
    /// Maximum number of rows. Default 50.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SearchResponse {
    /// Those with the words in their title first, then the newest.
    pub results: Vec<SearchResult>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
    /// True while the broker still indexes its log after an update, so that the newest texts may be missing.
    pub indexing: Option<bool>,
}

/// A text that contains the words.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    pub kind: SearchKind,
    pub review_id: ReviewId,
    pub number: ReviewNumber,
    pub status: Status,
    /// The start of the review's intent.
    pub intent: String,
    /// The intent of a review or the title of an issue, with the words marked.
    pub title: Option<Vec<SnippetPart>>,
    /// The part of the text with the words, on one line.
    pub snippet: Vec<SnippetPart>,
    /// If it is an issue, for example I-41.
    pub issue_id: Option<String>,
    /// If it is a message.
    pub message_id: Option<u64>,
    /// If it is a verdict.
    pub verdict_id: Option<u64>,
    /// Who wrote it.
    pub by: Option<String>,
    pub persona: Option<String>,
    pub round: Option<u32>,
    pub at: jiff::Timestamp,
}
