//! Live events: one feed over the log, carried by server-sent events and by WebSocket.

mod filter;
mod hub;
mod present;
pub(super) mod sse;
mod stream;
pub(super) mod ticket;
pub(super) mod ws;

pub(crate) use filter::Filter;
pub(crate) use present::Told;
pub use ticket::Tickets;

use super::answer::problem;
use actors::{Broker, Caller, passes::SecretHash};
use axum::{http::StatusCode, response::Response};
use filter::Wanted;
use hub::Hub;
use prometheus_client::metrics::counter::Counter;
use std::{sync::Arc, time::Duration};
use stream::Stream;
use tokio::{sync::Semaphore, time::timeout};
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
    settings: Settings,
    places: Arc<Semaphore>,
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
            settings,
            places: Arc::new(Semaphore::new(settings.max_streams)),
            tickets: Tickets::default(),
            closing: broker.closing(),
        }))
    }

    pub fn tickets(&self) -> Tickets {
        self.0.tickets.clone()
    }

    /// Waits, at most so long, until every stream has said its last words. They begin when the broker does to end.
    pub async fn ended(&self, patience: Duration) {
        let all = u32::try_from(self.0.settings.max_streams).unwrap_or(u32::MAX);
        if timeout(patience, self.0.places.acquire_many(all)).await.is_err() {
            tracing::warn!("event streams were still open when the grace ended");
        }
    }

    pub(super) fn open_streams(&self) -> usize {
        self.0.settings.max_streams.saturating_sub(self.0.places.available_permits())
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
    ) -> Result<Stream, Response> {
        let Inner { broker, settings, places, closing, .. } = &*self.0;
        if closing.is_cancelled() {
            return Err(problem(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the broker is stopping"));
        }
        let place = Arc::clone(places).try_acquire_owned().map_err(|_| {
            let error =
                format!("there are as many event streams as events.max_streams allows: {}", settings.max_streams);
            problem(StatusCode::SERVICE_UNAVAILABLE, "busy", &error)
        })?;
        let filter = Filter::of(broker, wanted, caller).await?;
        let head = *broker.committed().borrow();
        let since = wanted.since.unwrap_or(head);
        if since > head {
            let error = format!("since: {since} is not in the log yet, which ends at {head}");
            return Err(problem(StatusCode::BAD_REQUEST, "invalid_argument", &error));
        }
        let until = (wanted.follow == Some(false)).then_some(head);
        Ok(Stream::new(self, filter, since, until, secret, place))
    }
}
