//! The stream of events of one subscriber: first the events that the log already has, then those that follow, without a
//! gap or a duplicate.

use super::{
    EncodedEvent, EventFilter, Events,
    broadcaster::{Broadcaster, Subscription},
    stream_limits::StreamPermit,
};
use crate::broker_info::BrokerIdentity;
use actors::{Broker, Revocations, credentials::ShownSecret};
use api::live_frames::{DroppedType, EndReason, LiveDropped, LiveReady, ReadyType};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// Time between two heartbeats. They also keep proxies from closing an idle connection.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// Most events handed over at once, so that many small events cost one write.
const MAX_BATCH: usize = 64;

pub(crate) struct EventStream {
    broker: Broker,
    source: EventSource,
    secret: Option<ShownSecret>,
    /// Only if there is a secret.
    revocations: Option<Revocations>,
    identity: Arc<BrokerIdentity>,
    closing: CancellationToken,
    heartbeat: Interval,
    /// The heartbeat is due and was not sent yet.
    is_heartbeat_due: bool,
    _permit: StreamPermit,
}

/// Takes events from the log until it has caught up, then from the broadcaster.
struct EventSource {
    broadcaster: Arc<Broadcaster>,
    filter: Arc<EventFilter>,
    /// The subscriber has every wanted event up to this one.
    seq: u64,
    /// Where the stream ends, if it does not follow the log.
    until: Option<u64>,
    subscription: Option<Subscription>,
    overflowed: CancellationToken,
}

/// What the carrier of a stream sends next.
pub(crate) enum StreamItem {
    Events(Vec<Arc<EncodedEvent>>),
    Heartbeat,
    End(EndReason),
}

/// The last message of a stream. `seq` is where the subscriber can resume.
pub(crate) fn end_notice(reason: EndReason, seq: u64) -> String {
    let dropped = LiveDropped { kind: DroppedType::Dropped, reason, seq };
    serde_json::to_string(&dropped).unwrap_or_default()
}

impl EventStream {
    pub(super) fn new(
        events: &Events,
        filter: EventFilter,
        since: u64,
        until: Option<u64>,
        secret: Option<ShownSecret>,
        permit: StreamPermit,
    ) -> Self {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT_INTERVAL, HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let source = EventSource {
            broadcaster: Arc::clone(&events.0.broadcaster),
            filter: Arc::new(filter),
            seq: since,
            until,
            subscription: None,
            overflowed: CancellationToken::new(),
        };
        Self {
            broker: events.0.broker.clone(),
            source,
            revocations: secret.as_ref().map(|_| events.0.broker.revocations()),
            secret,
            identity: Arc::clone(&events.0.identity),
            closing: events.0.closing.clone(),
            heartbeat,
            is_heartbeat_due: false,
            _permit: permit,
        }
    }

    pub(crate) const fn seq(&self) -> u64 {
        self.source.seq
    }

    /// Is cancelled when the subscriber's queue overflows.
    pub(crate) fn overflowed(&self) -> CancellationToken {
        self.source.overflowed.clone()
    }

    /// The first message of a stream. It says where to resume before any event has arrived.
    pub(crate) fn greeting(&self) -> String {
        let BrokerIdentity { build, database_id, .. } = &*self.identity;
        let ready = LiveReady {
            kind: ReadyType::Ready,
            seq: self.source.seq,
            build: (*build).to_owned(),
            database_id: database_id.clone(),
        };
        serde_json::to_string(&ready).unwrap_or_default()
    }

    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> StreamItem {
        let closing = self.closing.clone();
        if !self.is_heartbeat_due {
            let revoked = async {
                match (&self.secret, &mut self.revocations) {
                    (Some(secret), Some(revocations)) => revocations.revoked(secret).await,
                    (None, _) | (_, None) => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = closing.cancelled() => return StreamItem::End(EndReason::Closing),
                () = revoked => return StreamItem::End(EndReason::TokenRevoked),
                _ = self.heartbeat.tick() => self.is_heartbeat_due = true,
                next = self.source.next() => return next,
            }
        }
        let is_revoked = match &self.secret {
            Some(secret) => matches!(self.broker.is_still_valid(secret).await, Ok(false)),
            None => false,
        };
        self.is_heartbeat_due = false;
        if is_revoked { StreamItem::End(EndReason::TokenRevoked) } else { StreamItem::Heartbeat }
    }
}

impl EventSource {
    /// Cancel safe.
    async fn next(&mut self) -> StreamItem {
        loop {
            if self.until.is_some_and(|until| self.seq >= until) {
                return StreamItem::End(EndReason::Complete);
            }
            if let Some(subscription) = &mut self.subscription {
                let mut events = Vec::with_capacity(MAX_BATCH);
                if subscription.queue.recv_many(&mut events, MAX_BATCH).await == 0 {
                    return StreamItem::End(EndReason::Slow);
                }
                self.seq = events.last().map_or(self.seq, |last| last.seq);
                return StreamItem::Events(events);
            }
            if self.until.is_none() {
                self.subscription = self.broadcaster.join(self.seq, &self.filter, &self.overflowed);
                if self.subscription.is_some() {
                    continue;
                }
            }
            let page = self.broadcaster.catch_up(self.seq, &self.filter).await;
            let Some((mut events, end)) = page else { return StreamItem::End(EndReason::Unreadable) };
            self.seq = end;
            if let Some(until) = self.until {
                events.retain(|event| event.seq <= until);
            }
            if !events.is_empty() {
                return StreamItem::Events(events);
            }
        }
    }
}
