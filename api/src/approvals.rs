//! Request and response types for gates that ask the broker which reviews approved a change.

pub use domain::approvals::{ApprovalVote, ReviewFiles, ReviewedContent};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListApprovalsRequest {
    /// Only reviews of this project.
    pub project: Option<String>,
    /// Only approved reviews of a diff with this patch id, or of one that led to tree_id.
    pub patch_id: Option<String>,
    /// Only approved reviews of a diff that led to this tree, or of one with patch_id.
    pub tree_id: Option<String>,
    /// Only reviews that had this content in some round.
    pub content_hash: Option<String>,
    /// Only approved reviews that are not closed, in the order in which they should land. Default false.
    pub waiting: Option<bool>,
    /// The maximum number of rows, from 1 to 100. Default 50. Not used with patch_id, tree_id, content_hash and waiting,
    /// which return one page.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page, with unchanged filters.
    pub cursor: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListApprovalsResponse {
    /// Reviews with a diff, approved or not, newest first.
    pub reviews: Vec<ReviewFiles>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// The review: its id, its number, or a unique prefix of the id.
    pub review_id: String,
}
