//! One subscription, whatever carries it: first what the log has, then what comes, without a gap or a double.

use super::{
    Events,
    filter::Filter,
    hub::{Hub, Seat},
    place::Place,
    present::Told,
};
use actors::{Broker, credentials::SecretHash};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// A sign of life, also for what stands between us and the subscriber.
pub(super) const BEAT: Duration = Duration::from_secs(15);

/// Handed over at once, so that a crowd of small events costs one write.
const BATCH: usize = 64;

pub(super) struct Stream {
    broker: Broker,
    source: Source,
    secret: Option<SecretHash>,
    closing: CancellationToken,
    beat: Interval,
    /// The beat has struck, and what goes with it is not done.
    is_due: bool,
    _place: Place,
}

/// Where the events come from: the log, and then the hub.
struct Source {
    hub: Arc<Hub>,
    filter: Arc<Filter>,
    /// The subscriber has everything up to here that it wants.
    seq: u64,
    /// Where it ends, if it does not follow.
    until: Option<u64>,
    seat: Option<Seat>,
    overflowed: CancellationToken,
}

/// What to do next.
pub(super) enum Turn {
    Tell(Vec<Arc<Told>>),
    Beat,
    End(End),
}

/// Why a stream ends, where it is not its subscriber that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All that was asked for is told.
    Complete,
    Slow,
    Closing,
    Revoked,
    Unreadable,
}

impl End {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Slow => "slow",
            Self::Closing => "closing",
            Self::Revoked => "token_revoked",
            Self::Unreadable => "unreadable",
        }
    }

    /// As JSON, with where to go on from.
    pub(super) fn notice(self, seq: u64) -> String {
        json!({ "type": "dropped", "reason": self.as_str(), "seq": seq }).to_string()
    }
}

impl Stream {
    pub(super) fn new(
        events: &Events,
        filter: Filter,
        since: u64,
        until: Option<u64>,
        secret: Option<SecretHash>,
        place: Place,
    ) -> Self {
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let source = Source {
            hub: Arc::clone(&events.0.hub),
            filter: Arc::new(filter),
            seq: since,
            until,
            seat: None,
            overflowed: CancellationToken::new(),
        };
        Self {
            broker: events.0.broker.clone(),
            source,
            secret,
            closing: events.0.broker.closing(),
            beat,
            is_due: false,
            _place: place,
        }
    }

    pub(super) const fn seq(&self) -> u64 {
        self.source.seq
    }

    /// Fires when it has fallen too far behind.
    pub(super) fn overflowed(&self) -> CancellationToken {
        self.source.overflowed.clone()
    }

    /// Said first, so that a subscriber knows where to resume before anything has happened.
    pub(super) fn greeting(&self) -> String {
        json!({ "type": "ready", "seq": self.source.seq }).to_string()
    }

    /// Dropping the future loses nothing.
    pub(super) async fn turn(&mut self) -> Turn {
        let closing = self.closing.clone();
        if !self.is_due {
            tokio::select! {
                biased;
                () = closing.cancelled() => return Turn::End(End::Closing),
                _ = self.beat.tick() => self.is_due = true,
                next = self.source.next() => return next,
            }
        }
        let is_revoked = match &self.secret {
            Some(secret) => matches!(self.broker.is_still_known(secret).await, Ok(false)),
            None => false,
        };
        self.is_due = false;
        if is_revoked { Turn::End(End::Revoked) } else { Turn::Beat }
    }
}

impl Source {
    /// Dropping the future loses nothing.
    async fn next(&mut self) -> Turn {
        loop {
            if self.until.is_some_and(|until| self.seq >= until) {
                return Turn::End(End::Complete);
            }
            if let Some(seat) = &mut self.seat {
                let mut told = Vec::with_capacity(BATCH);
                if seat.queue.recv_many(&mut told, BATCH).await == 0 {
                    return Turn::End(End::Slow);
                }
                self.seq = told.last().map_or(self.seq, |last| last.seq);
                return Turn::Tell(told);
            }
            if self.until.is_none() {
                self.seat = self.hub.join(self.seq, &self.filter, &self.overflowed);
                if self.seat.is_some() {
                    continue;
                }
            }
            let page = self.hub.catch_up(self.seq, &self.filter).await;
            let Some((mut told, end)) = page else { return Turn::End(End::Unreadable) };
            self.seq = end;
            if let Some(until) = self.until {
                told.retain(|told| told.seq <= until);
            }
            if !told.is_empty() {
                return Turn::Tell(told);
            }
        }
    }
}
