//! The first and the last message of a live event stream. Between them each message is an [`Event`].

use crate::events::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message of `/ws`, and the data of a message of `/api/v1/events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LiveFrame {
    Ready(LiveReady),
    Dropped(LiveDropped),
    Event(Box<Event>),
}

/// The first message: the stream has sent everything up to `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveReady {
    #[serde(rename = "type")]
    pub kind: ReadyType,
    /// Continue with `since` equal to it if the connection is lost before the first event.
    pub seq: u64,
    /// Identifies the files of the page. Another value than before means that the broker was updated: reload the page.
    pub build: String,
    /// Identifies the database. Another value means that another broker answers at this address.
    pub database_id: String,
}

/// The last message: why the broker ends the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveDropped {
    #[serde(rename = "type")]
    pub kind: DroppedType,
    pub reason: EndReason,
    /// Continue with `since` equal to it.
    pub seq: u64,
}

/// The `type` of [`LiveReady`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ReadyType {
    #[default]
    Ready,
}

/// The `type` of [`LiveDropped`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DroppedType {
    #[default]
    Dropped,
}

/// Why the broker ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Every requested event was sent.
    Complete,
    /// The subscriber's queue overflowed.
    Slow,
    /// The broker is stopping.
    Closing,
    /// The token is no longer valid.
    TokenRevoked,
    /// The log could not be read.
    Unreadable,
}
