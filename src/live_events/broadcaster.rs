//! Reads the event log once for all subscribers. Each event is encoded once and put into the bounded queue of every
//! subscriber that wants it, so neither their number nor the slowest of them delays the store's writer.

use super::{EncodedEvent, EventFilter, encode::EventTags};
use actors::Broker;
use prometheus_client::metrics::counter::Counter;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

const PAGE_SIZE: u32 = 500;

/// What reading the log once, and sending events to one subscriber once, cost about. Events that are committed in this time
/// after others are read and sent together; after a quiet time an event is sent at once.
const READ_TIME: Duration = Duration::from_millis(1);
const SEND_TIME: Duration = Duration::from_micros(20);

/// Most recent events kept in memory, for subscribers that reconnect or have nearly caught up.
const MAX_RECENT: usize = 512;

/// Pages read concurrently for subscribers that catch up. The database has other readers.
const MAX_CATCH_UP_READS: usize = 2;

pub(super) struct Broadcaster {
    broker: Broker,
    queue_size: usize,
    state: Mutex<State>,
    catch_up_reads: Semaphore,
    /// Counts the subscribers that were dropped because they did not read.
    pub(super) dropped: Counter,
}

#[derive(Default)]
struct State {
    /// The last event that was handed out.
    last: u64,
    /// The last events that were handed out, without gaps.
    recent: VecDeque<Arc<EncodedEvent>>,
    subscribers: HashMap<u64, Subscriber>,
    next_id: u64,
}

struct Subscriber {
    /// It has every event up to this one.
    after: u64,
    filter: Arc<EventFilter>,
    queue: mpsc::Sender<Arc<EncodedEvent>>,
    overflowed: CancellationToken,
}

/// The queue of a live subscriber. Dropping it unsubscribes.
pub(super) struct Subscription {
    broadcaster: Arc<Broadcaster>,
    id: u64,
    pub(super) queue: mpsc::Receiver<Arc<EncodedEvent>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.broadcaster.lock().subscribers.remove(&self.id);
    }
}

impl Broadcaster {
    pub(super) fn new(broker: Broker, queue_size: usize) -> Self {
        let last = *broker.feed().committed.borrow();
        let state = Mutex::new(State { last, ..State::default() });
        let catch_up_reads = Semaphore::new(MAX_CATCH_UP_READS);
        Self { broker, queue_size, state, catch_up_reads, dropped: Counter::default() }
    }

    /// Follows the log until the broker ends.
    pub(super) async fn run(self: Arc<Self>) {
        let closing = self.broker.closing();
        let start = self.lock().last;
        let mut log = self.broker.follow_log(start, PAGE_SIZE);
        let follow = async {
            while let Some(head) = log.wait().await {
                if self.skip_if_idle(head) {
                    log.skip_to(head);
                    continue;
                }
                let page = log.read().await;
                let subscribers =
                    self.hand_out(page.iter().map(|record| Arc::new(EncodedEvent::new(record))).collect(), head);
                // Also lets subscribers read before the next page fills their queues.
                tokio::time::sleep(READ_TIME + SEND_TIME * subscribers).await;
            }
        };
        tokio::select! {
            () = follow => {}
            () = closing.cancelled() => {}
        }
    }

    /// Without subscribers nothing is read: a new subscriber reads the log itself.
    fn skip_if_idle(&self, head: u64) -> bool {
        let mut state = self.lock();
        if !state.subscribers.is_empty() {
            return false;
        }
        state.last = head;
        state.recent.clear();
        true
    }

    /// Returns the number of subscribers that got an event.
    fn hand_out(&self, page: Vec<Arc<EncodedEvent>>, head: u64) -> u32 {
        let mut state = self.lock();
        state.last = page.last().map_or(head, |last| last.seq);
        let mut reached = 0;
        let mut is_full = |subscriber: &Subscriber| {
            let mut events = page
                .iter()
                .filter(|event| event.seq > subscriber.after && subscriber.filter.matches(&event.tags))
                .peekable();
            reached += u32::from(events.peek().is_some());
            events.any(|event| subscriber.queue.try_send(Arc::clone(event)).is_err())
        };
        let full: Vec<_> =
            state.subscribers.iter().filter(|(_, subscriber)| is_full(subscriber)).map(|(id, _)| *id).collect();
        for subscriber in full.iter().filter_map(|id| state.subscribers.remove(id)) {
            // A closed queue means that the subscriber left by itself.
            if !subscriber.queue.is_closed() {
                self.dropped.inc();
                subscriber.overflowed.cancel();
            }
        }
        state.recent.extend(page);
        let extra = state.recent.len().saturating_sub(MAX_RECENT);
        state.recent.drain(..extra);
        reached
    }

    /// Subscribes a caller that has every event up to `after`, without a gap or a duplicate. `None` if events that are no
    /// longer in memory lie in between: the caller reads them from the log first.
    pub(super) fn join(
        self: &Arc<Self>,
        after: u64,
        filter: &Arc<EventFilter>,
        overflowed: &CancellationToken,
    ) -> Option<Subscription> {
        let mut state = self.lock();
        let first_recent = state.recent.front().map_or(state.last + 1, |first| first.seq);
        if after + 1 < first_recent {
            return None;
        }
        let (sender, queue) = mpsc::channel(self.queue_size.max(MAX_RECENT));
        for event in state.recent.iter().filter(|event| event.seq > after && filter.matches(&event.tags)) {
            // The queue is at least as long as `recent`, so this succeeds.
            let _ = sender.try_send(Arc::clone(event));
        }
        let id = state.next_id;
        state.next_id += 1;
        let (filter, overflowed) = (Arc::clone(filter), overflowed.clone());
        // Neither the events just queued nor those the caller read beyond them are sent again.
        let after = after.max(state.last);
        state.subscribers.insert(id, Subscriber { after, filter, queue: sender, overflowed });
        Some(Subscription { broadcaster: Arc::clone(self), id, queue })
    }

    /// Reads the page after `after` for a subscriber that is not live yet: the events it wants, and where the page ends.
    pub(super) async fn catch_up(&self, after: u64, filter: &EventFilter) -> Option<(Vec<Arc<EncodedEvent>>, u64)> {
        let _permit = self.catch_up_reads.acquire().await.ok()?;
        let head = *self.broker.feed().committed.borrow();
        let page = match self.broker.reader().list_events(after, filter.review, PAGE_SIZE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "cannot read the event log for a subscriber");
                return None;
            }
        };
        // Only an empty page means that there are no more events up to `head`: pages of long events are short.
        let end = page.last().map_or(after.max(head), |last| last.seq);
        // Tested before they are encoded: most of a long log is often not wanted.
        let wanted = page.iter().filter(|record| filter.matches(&EventTags::new(record)));
        Some((wanted.map(|record| Arc::new(EncodedEvent::new(record))).collect(), end))
    }

    pub(super) fn subscribers(&self) -> usize {
        self.lock().subscribers.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
