//! Request and response types for reading a file as it is before or after a change.

use crate::proposals::ContentChoice;
use domain::{content::ContentHash, review::DiffSide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The file, by its path in affected_files.
    pub path: String,
    /// "old": the file before the change. "new": the file after it.
    pub side: DiffSide,
    /// An earlier round. Default: the current round.
    #[schemars(range(min = 1))]
    pub round: Option<u32>,
    /// Which content of the round: "active" (the default) or, after an accepted counter-patch, "submitted".
    pub content: Option<ContentChoice>,
    /// Only this content: if the requested content has another hash, the call is refused as stale_content.
    pub content_hash: Option<ContentHash>,
    /// The review as it was after this event: its version in get_review_timeline. Default: as it is now.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
}

/// Response of get_file.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileResponse {
    pub path: String,
    pub side: DiffSide,
    /// The content that the file belongs to.
    pub content_hash: ContentHash,
    /// False if the change creates the file (side "old") or deletes it (side "new").
    pub exists: bool,
    /// The file is not text, so `text` is absent.
    pub binary: bool,
    /// The text. Of a file of more than 2 MiB only its first lines, and of one of more than 4 MiB nothing.
    pub text: Option<String>,
    /// The number of lines of the whole file. Absent if it was not read.
    pub lines_total: Option<u64>,
    /// The file is larger than the limit, so `text` does not have all of it.
    pub truncated: bool,
}
