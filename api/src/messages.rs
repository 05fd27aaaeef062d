//! Request and response types for reading and writing messages in the discussion between proposer and reviewers.

pub use domain::query_types::Message;

use crate::reviews::ReviewHead;
use domain::{
    credential::Authority,
    ids::{ReviewId, ReviewNumber},
    review::{MessageAnchor, Recipient},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use std::borrow::Cow;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct MessageRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The role you act in. An operator is a person who writes without a seat and out of turn.
    pub sender_role: Option<Authority>,
    /// The message.
    pub body: String,
    /// What it refers to: an issue, a file with lines, or lines of the description.
    pub anchor: Option<MessageAnchor>,
    /// A JSON object to store with the message.
    pub metadata: Option<Map<String, Value>>,
    /// The seat whose discussion is meant, if the review has several seats.
    pub persona: Option<String>,
    /// Instead of persona: a proposer can write to all "reviewers", an operator to any of these. Default "everyone".
    pub to: Option<Recipient>,
    /// Your own id. Required for an operator without a token.
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MessageResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    pub message_id: Option<u64>,
    /// The message started with a decision and was recorded as this verdict (front matter, if the persona allows it).
    pub verdict: Option<Verdict>,
    pub sender_role: Authority,
    /// What to do next.
    pub next: Cow<'static, str>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiscussionRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// Only messages of this round. Default: all rounds.
    #[schemars(range(min = 1))]
    pub round: Option<u32>,
    /// The next_cursor of the previous page, with an unchanged round.
    pub cursor: Option<String>,
    /// The review as it was after this event: its version in get_review_timeline. Default: as it is now.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
    /// Your own id. Reading renews your claim. Optional.
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiscussionResponse {
    pub review_id: ReviewId,
    pub number: ReviewNumber,
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}
