//! One reader of the log for all subscribers. Each page is read and written once and handed to everybody's own
//! bounded queue, so neither their number nor the slowest of them costs the writer anything.

use super::{filter::Filter, present::Told};
use actors::Broker;
use prometheus_client::metrics::counter::Counter;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

const PAGE: u32 = 500;

/// Kept for those who come back after a moment, and for those who have nearly caught up.
const RECENT: usize = 512;

/// Before the log is read again when that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Pages that are read at once for those who catch up: the database has other readers.
const CATCHING_UP: usize = 2;

pub(super) struct Hub {
    broker: Broker,
    queue: usize,
    state: Mutex<State>,
    catching_up: Semaphore,
    /// Subscribers that were dropped because they did not read.
    pub(super) dropped: Counter,
}

#[derive(Default)]
struct State {
    /// What has been handed out.
    last: u64,
    /// The end of what has been handed out, without gaps.
    recent: VecDeque<Arc<Told>>,
    live: HashMap<u64, Live>,
    next_id: u64,
}

struct Live {
    /// It has everything up to here.
    after: u64,
    filter: Arc<Filter>,
    queue: mpsc::Sender<Arc<Told>>,
    overflowed: CancellationToken,
}

/// A place among the live subscribers, which ends with it.
pub(super) struct Seat {
    hub: Arc<Hub>,
    id: u64,
    pub(super) queue: mpsc::Receiver<Arc<Told>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.lock().live.remove(&self.id);
    }
}

impl Hub {
    pub(super) fn new(broker: Broker, queue: usize) -> Self {
        let last = *broker.committed().borrow();
        let state = Mutex::new(State { last, ..State::default() });
        Self { broker, queue, state, catching_up: Semaphore::new(CATCHING_UP), dropped: Counter::default() }
    }

    /// Follows the log until the broker ends.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut committed = self.broker.committed();
        let closing = self.broker.closing();
        loop {
            let target = *committed.borrow_and_update();
            while let Some(after) = self.behind(target) {
                match self.broker.news(after, None, PAGE).await {
                    Ok(page) => self.hand_out(page.into_iter().map(|news| Arc::new(Told::of(news))).collect(), target),
                    Err(error) => {
                        tracing::error!(%error, "the log cannot be read for subscribers; trying again");
                        tokio::time::sleep(RETRY).await;
                    }
                }
                // Whoever reads should come to it before the next page fills its queue.
                tokio::task::yield_now().await;
            }
            tokio::select! {
                changed = committed.changed() => if changed.is_err() { return },
                () = closing.cancelled() => return,
            }
        }
    }

    /// Where to read on from. With nobody there nothing is read: whoever comes reads the log itself.
    fn behind(&self, target: u64) -> Option<u64> {
        let mut state = self.lock();
        if state.live.is_empty() && state.last < target {
            state.last = target;
            state.recent.clear();
        }
        (state.last < target).then_some(state.last)
    }

    fn hand_out(&self, page: Vec<Arc<Told>>, target: u64) {
        let mut state = self.lock();
        state.last = page.last().map_or(target, |last| last.seq);
        let full = |live: &Live| {
            let mut news = page.iter().filter(|told| told.seq > live.after && live.filter.takes(told));
            news.any(|told| live.queue.try_send(Arc::clone(told)).is_err())
        };
        let dropped: Vec<_> = state.live.iter().filter(|(_, live)| full(live)).map(|(id, _)| *id).collect();
        for live in dropped.iter().filter_map(|id| state.live.remove(id)) {
            // Closed means that it has left by itself.
            if !live.queue.is_closed() {
                self.dropped.inc();
                live.overflowed.cancel();
            }
        }
        state.recent.extend(page);
        let extra = state.recent.len().saturating_sub(RECENT);
        state.recent.drain(..extra);
    }

    /// Joins whoever has everything up to `after`, if nothing lies between that and what comes next.
    pub(super) fn join(
        self: &Arc<Self>,
        after: u64,
        filter: &Arc<Filter>,
        overflowed: &CancellationToken,
    ) -> Option<Seat> {
        let mut state = self.lock();
        let first_kept = state.recent.front().map_or(state.last + 1, |first| first.seq);
        if after + 1 < first_kept {
            return None;
        }
        let (sender, queue) = mpsc::channel(self.queue.max(RECENT));
        for told in state.recent.iter().filter(|told| told.seq > after && filter.takes(told)) {
            // It fits, since no more than that is kept.
            let _ = sender.try_send(Arc::clone(told));
        }
        let id = state.next_id;
        state.next_id += 1;
        let (filter, overflowed) = (Arc::clone(filter), overflowed.clone());
        // What was just queued is not to come again, nor what it has from the log beyond that.
        let after = after.max(state.last);
        state.live.insert(id, Live { after, filter, queue: sender, overflowed });
        Some(Seat { hub: Arc::clone(self), id, queue })
    }

    /// What comes after `after`, for one who is not live yet: the part it wants, and where the page ends.
    pub(super) async fn catch_up(&self, after: u64, filter: &Filter) -> Option<(Vec<Arc<Told>>, u64)> {
        let _turn = self.catching_up.acquire().await.ok()?;
        let head = *self.broker.committed().borrow();
        let page = match self.broker.news(after, filter.review, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "the log cannot be read for a subscriber");
                return None;
            }
        };
        // Only an empty one says that there is nothing more of this up to where the log stood: pages end early where
        // events are long.
        let end = page.last().map_or(after.max(head), |last| last.seq);
        let wanted = page.into_iter().filter(|news| filter.takes_news(news));
        let told = wanted.map(|news| Arc::new(Told::of(news))).collect();
        Some((told, end))
    }

    pub(super) fn subscribers(&self) -> usize {
        self.lock().live.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
