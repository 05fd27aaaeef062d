//! Live events: one feed over the log, carried by server-sent events and by WebSocket.

mod filter;
mod hub;
mod place;
mod present;
pub(super) mod sse;
mod stream;
pub(super) mod ticket;
pub(super) mod ws;

pub(crate) use filter::Filter;
pub(crate) use present::Told;
pub use ticket::Tickets;

use crate::service::CallError;
use actors::{Broker, BrokerError, Caller, credentials::SecretHash};
use api::ErrorBody;
use filter::Wanted;
use hub::Hub;
use place::Places;
use prometheus_client::metrics::counter::Counter;
use std::{sync::Arc, time::Duration};
use stream::Stream;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Streams at once.
    pub max_streams: usize,
    /// Events that may wait for one subscriber.
    pub queue: usize,
}

/// All subscriptions of one broker. Cheap to clone.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    broker: Broker,
    hub: Arc<Hub>,
    places: Places,
    tickets: Tickets,
    closing: CancellationToken,
}

impl Events {
    /// Starts the one reader of the log, which ends with the broker.
    pub fn start(broker: &Broker, settings: Settings) -> Self {
        let hub = Arc::new(Hub::new(broker.clone(), settings.queue));
        tokio::spawn(Arc::clone(&hub).follow());
        Self(Arc::new(Inner {
            broker: broker.clone(),
            hub,
            places: Places::new(settings.max_streams),
            tickets: Tickets::default(),
            closing: broker.closing(),
        }))
    }

    pub fn tickets(&self) -> Tickets {
        self.0.tickets.clone()
    }

    /// Waits, at most so long, until every stream has said its last words. They begin when the broker does to end.
    pub async fn ended(&self, patience: Duration) {
        if !self.0.places.all_free(patience).await {
            tracing::warn!("event streams were still open when the grace ended");
        }
    }

    pub(super) fn open_streams(&self) -> usize {
        self.0.places.taken()
    }

    pub(super) fn live_subscribers(&self) -> usize {
        self.0.hub.subscribers()
    }

    /// Subscribers that were dropped because they did not read.
    pub(super) fn dropped(&self) -> Counter {
        self.0.hub.dropped.clone()
    }

    async fn open(
        &self,
        wanted: &Wanted,
        caller: Option<&Caller>,
        secret: Option<SecretHash>,
    ) -> Result<Stream, CallError> {
        let Inner { broker, places, closing, .. } = &*self.0;
        if closing.is_cancelled() {
            return Err(BrokerError::ShuttingDown.into());
        }
        let place = places.take(secret.as_ref())?;
        let filter = Filter::of(broker, wanted, caller).await?;
        let head = *broker.committed().borrow();
        let since = wanted.since.unwrap_or(head);
        if since > head {
            let problem = format!("{since} is not in the log yet, which ends at {head}");
            return Err(CallError::Refused(ErrorBody::invalid("since", &problem)));
        }
        let until = (wanted.follow == Some(false)).then_some(head);
        Ok(Stream::new(self, filter, since, until, secret, place))
    }
}
