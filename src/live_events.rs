//! Live events: manages the subscriptions of clients that receive events as they happen. `http::sse` and `http::ws`
//! send them.

mod broadcaster;
mod encode;
mod filter;
mod stream;
mod stream_limits;

pub(crate) use encode::{EncodedEvent, encode_frame, to_event};
pub(crate) use filter::{EventFilter, EventsQuery};
pub(crate) use stream::{EventStream, HEARTBEAT_INTERVAL, StreamItem, end_notice};

use crate::{broker_info::BrokerIdentity, one_time_code::OneTimeCodes, service::CallError};
use actors::{Broker, BrokerError, Caller, credentials::ShownSecret};
use api::ErrorBody;
use broadcaster::Broadcaster;
use prometheus_client::metrics::counter::Counter;
use std::{sync::Arc, time::Duration};
use stream_limits::StreamLimits;
use tokio_util::sync::CancellationToken;

/// All subscriptions of one broker. Cheap to clone.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    broker: Broker,
    broadcaster: Arc<Broadcaster>,
    limits: StreamLimits,
    tickets: OneTimeCodes,
    identity: Arc<BrokerIdentity>,
    closing: CancellationToken,
}

impl Events {
    /// Starts the broadcaster, which ends with the broker.
    pub fn start(broker: &Broker, settings: &config::Events, identity: Arc<BrokerIdentity>) -> Self {
        let broadcaster = Arc::new(Broadcaster::new(broker.clone(), settings.queue));
        tokio::spawn(Arc::clone(&broadcaster).run());
        Self(Arc::new(Inner {
            broker: broker.clone(),
            broadcaster,
            limits: StreamLimits::new(settings.max_streams),
            tickets: OneTimeCodes::default(),
            identity,
            closing: broker.closing(),
        }))
    }

    /// Tickets with which a page opens a WebSocket.
    pub fn tickets(&self) -> OneTimeCodes {
        self.0.tickets.clone()
    }

    /// Waits until every stream has ended, at most `timeout`. Streams begin to end when the broker does.
    pub async fn ended(&self, timeout: Duration) {
        if !self.0.limits.all_released(timeout).await {
            tracing::warn!("event streams were still open at the end of the shutdown grace period");
        }
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.0.limits.open()
    }

    pub(crate) fn live_subscribers(&self) -> usize {
        self.0.broadcaster.subscribers()
    }

    /// Counts the subscribers that were dropped because they did not read.
    pub(crate) fn dropped(&self) -> Counter {
        self.0.broadcaster.dropped.clone()
    }

    /// Is cancelled when the broker ends.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    /// Opens a stream for a caller. `secret` is what it has shown.
    pub(crate) async fn open(
        &self,
        query: &EventsQuery,
        caller: Option<&Caller>,
        secret: Option<ShownSecret>,
    ) -> Result<EventStream, CallError> {
        let Inner { broker, limits, closing, .. } = &*self.0;
        if closing.is_cancelled() {
            return Err(BrokerError::ShuttingDown.into());
        }
        let permit = limits.acquire(secret.as_ref().map(ShownSecret::token))?;
        let filter = EventFilter::for_caller(broker, query, caller).await?;
        let head = *broker.feed().committed.borrow();
        let since = query.since.unwrap_or(head);
        if since > head {
            let problem = format!("{since} is not in the log yet, which ends at {head}");
            return Err(ErrorBody::invalid("since", &problem).into());
        }
        let until = (query.follow == Some(false)).then_some(head);
        Ok(EventStream::new(self, filter, since, until, secret, permit))
    }
}
