//! Request and response types for listing webhooks and handling their failed deliveries, for operators.

pub use domain::query_types::DeadDelivery;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListWebhooksResponse {
    pub webhooks: Vec<Webhook>,
}

/// A webhook and the state of its deliveries.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    pub name: String,
    /// Without its path, which may be a secret. Absent if the webhook is no longer configured.
    pub url: Option<String>,
    /// Subscribed kinds and types of events. Empty: all.
    pub events: Vec<String>,
    pub project: Option<String>,
    pub configured: bool,
    /// All its events up to this sequence number are delivered or dead.
    pub cursor: u64,
    /// Number of events in the log after the cursor, for this webhook or not.
    pub lag: u64,
    /// Number of events that could not be delivered.
    pub dead: u64,
    /// Time of the last delivery since the broker started.
    pub last_delivery: Option<String>,
    /// The last error since the broker started.
    pub last_error: Option<String>,
    /// The event that is being retried.
    pub failing: Option<FailingDelivery>,
}

/// An event that the receiver does not accept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FailingDelivery {
    pub seq: u64,
    /// Attempts so far; webhooks.attempts is the limit.
    pub attempts: u32,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListDeadDeliveriesRequest {
    /// The webhook's name.
    pub webhook: String,
    /// Maximum number of rows. Default 50.
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
}

/// Response of list_dead_deliveries: events that a webhook did not accept.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListDeadDeliveriesResponse {
    pub dead: Vec<DeadDelivery>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

/// Arguments of redeliver and drop_dead_deliveries: either seqs or all.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeadDeliveriesRequest {
    /// The webhook's name.
    pub webhook: String,
    /// Sequence numbers from list_dead_deliveries.
    #[schemars(length(min = 1, max = 1000), inner(range(min = 1)))]
    pub seqs: Option<Vec<u64>>,
    /// All dead deliveries of this webhook.
    #[schemars(extend("const" = true))]
    pub all: Option<bool>,
}

/// Response of redeliver and drop_dead_deliveries.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeadDeliveriesResponse {
    pub webhook: String,
    /// Number of dead deliveries concerned.
    pub count: u64,
}
