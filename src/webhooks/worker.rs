//! The task of one webhook: follows the event log, delivers matching events in order, and saves its position in the
//! log.

use super::{
    Deliveries,
    delivery::{Endpoint, RetryPolicy},
};
use crate::live_events::{EncodedEvent, EventFilter};
use actors::Broker;
use api::webhooks::{FailingDelivery, Webhook};
use config::Receiver;
use std::{
    fmt::Display,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use store::{DeliverySelector, EventRecord, StoreError, WebhookStep};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Events read at once, and so the most that wait in memory for a slow receiver.
const PAGE_SIZE: u32 = 50;

/// How long a delivery may still take when the broker ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the cursor is saved. Saving it for every event would cost a disk sync each. After a crash, the events
/// delivered since the last save are delivered again.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// Most events that the cursor may pass without a delivery before it is saved.
const MAX_UNSAVED_EVENTS: u64 = 1000;

/// How long to wait after a failed read or write of the database.
const RETRY_DELAY: Duration = Duration::from_secs(1);

pub(super) struct Worker {
    name: String,
    broker: Broker,
    filter: EventFilter,
    endpoint: Endpoint,
    retry: RetryPolicy,
    status: Mutex<WorkerStatus>,
    wake: Notify,
    /// A retry of dead deliveries may have been requested.
    retry_requested: AtomicBool,
    closing: CancellationToken,
    deliveries: Deliveries,
}

#[derive(Default)]
struct WorkerStatus {
    /// What operators see, without what is worked out when they look: `lag` and `dead`.
    webhook: Webhook,
    /// Part of every message id. Empty until the worker is registered.
    source: String,
    saved_cursor: u64,
    /// When the first delivery was made after the cursor was last saved.
    unsaved_since: Option<Instant>,
}

impl Worker {
    pub(super) fn new(
        broker: Broker,
        receiver: &Receiver,
        endpoint: Endpoint,
        retry: RetryPolicy,
        deliveries: Deliveries,
    ) -> Self {
        let closing = broker.closing();
        let Receiver { name, events, project, .. } = receiver.clone();
        let filter = EventFilter::for_webhook(project.clone(), events.clone());
        // A new webhook starts here, so that it misses no call made after the broker began to listen.
        let cursor = *broker.feed().committed.borrow();
        let url = Some(receiver.origin());
        let webhook = Webhook { name, url, events, project, configured: true, cursor, ..Webhook::default() };
        Self {
            name: receiver.name.clone(),
            broker,
            filter,
            endpoint,
            retry,
            status: Mutex::new(WorkerStatus { webhook, ..WorkerStatus::default() }),
            wake: Notify::new(),
            retry_requested: AtomicBool::new(true),
            closing,
            deliveries,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The webhook as operators see it. `head` is the last event of the log.
    pub(super) fn webhook(&self, dead: u64, head: u64) -> Webhook {
        let WorkerStatus { webhook, source, .. } = &*self.status();
        let lag = if source.is_empty() { 0 } else { head.saturating_sub(webhook.cursor) };
        Webhook { lag, dead, ..webhook.clone() }
    }

    /// Tells the worker that another attempt was requested for dead deliveries.
    pub(super) fn request_retry(&self) {
        self.retry_requested.store(true, Relaxed);
        self.wake.notify_one();
    }

    /// Delivers until the broker ends.
    pub(super) async fn run(self: Arc<Self>) {
        if !self.register().await {
            return;
        }
        let mut log = self.broker.follow_log(self.status().webhook.cursor, PAGE_SIZE);
        loop {
            self.retry_dead().await;
            if self.closing.is_cancelled() {
                break;
            }
            if log.has_more() {
                let page = tokio::select! {
                    page = log.read() => page,
                    () = self.closing.cancelled() => break,
                };
                if !self.deliver_page(page).await {
                    break;
                }
                continue;
            }
            if self.retry_requested.load(Relaxed) {
                continue;
            }
            self.save_if_due().await;
            let save_at = self.status().unsaved_since.map(|since| since + SAVE_INTERVAL);
            tokio::select! {
                head = log.wait() => if head.is_none() { return },
                () = self.wake.notified() => {}
                () = sleep_until(save_at.unwrap_or_else(Instant::now)), if save_at.is_some() => {}
                () = self.closing.cancelled() => break,
            }
        }
        self.save().await;
    }

    /// Delivers the matching events of a page. Returns `false` if the broker ends first.
    async fn deliver_page(&self, page: Vec<EventRecord>) -> bool {
        for record in page {
            let event = EncodedEvent::new(&record);
            if self.filter.matches(&event.tags) {
                if !self.deliver(&event).await {
                    return false;
                }
            } else {
                self.status().webhook.cursor = event.seq;
            }
            self.save_if_due().await;
        }
        true
    }

    /// Delivers one event, with retries. After the last attempt the event is dead. Returns `false` if the broker ends
    /// first.
    async fn deliver(&self, event: &EncodedEvent) -> bool {
        for attempts in 1..=self.retry.max_attempts {
            match self.attempt(event).await {
                None => return false,
                Some(Ok(())) => {
                    let mut status = self.status();
                    status.webhook.cursor = event.seq;
                    status.webhook.failing = None;
                    status.unsaved_since.get_or_insert_with(Instant::now);
                    return true;
                }
                Some(Err(error)) => {
                    self.status().webhook.failing = Some(FailingDelivery { seq: event.seq, attempts });
                    if attempts == self.retry.max_attempts {
                        return self.add_dead(event.seq, attempts, error).await;
                    }
                }
            }
            tokio::select! {
                () = sleep(self.retry.delay(attempts)) => {}
                // An operator who asks for dead deliveries expects that the receiver works again.
                () = self.wake.notified() => self.retry_dead().await,
                () = self.closing.cancelled() => return false,
            }
        }
        false
    }

    /// The first dead delivery for which another attempt was requested.
    async fn find_delivery_to_retry(&self) -> Result<Option<EventRecord>, StoreError> {
        let reader = self.broker.reader();
        let Some(seq) = reader.find_delivery_to_retry(&self.name).await? else { return Ok(None) };
        let page = reader.list_events(seq.saturating_sub(1), None, 1).await?;
        Ok(page.into_iter().find(|record| record.seq == seq))
    }

    /// Makes one attempt for each dead delivery for which a retry was requested. After a failure, new events go first.
    async fn retry_dead(&self) {
        while self.retry_requested.swap(false, Relaxed) {
            let event = match self.find_delivery_to_retry().await {
                Ok(Some(record)) => EncodedEvent::new(&record),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(webhook = self.name, %error, "cannot read the dead deliveries; retrying");
                    self.retry_requested.store(self.pause().await, Relaxed);
                    return;
                }
            };
            let (is_delivered, continues) = match self.attempt(&event).await {
                None => (false, false),
                Some(Ok(())) => {
                    let selector = DeliverySelector::Seqs(vec![event.seq]);
                    (true, self.update(WebhookStep::RemoveDead(selector)).await)
                }
                Some(Err(error)) => (false, self.add_dead(event.seq, 1, error).await),
            };
            self.retry_requested.fetch_or(continues, Relaxed);
            if !is_delivered {
                return;
            }
        }
    }

    /// Makes one attempt. `None` if the broker ends and the outcome is unknown.
    async fn attempt(&self, event: &EncodedEvent) -> Option<Result<(), String>> {
        let at = self.broker.wall_clock();
        let id = format!("msg_{}_{}", self.status().source, event.seq);
        let shutdown = async {
            self.closing.cancelled().await;
            sleep(SHUTDOWN_TIMEOUT).await;
        };
        let result = tokio::select! {
            result = self.endpoint.send(&id, event, at.0) => result,
            () = shutdown => return None,
        };
        match &result {
            Ok(()) => {
                self.count("delivered");
                self.status().webhook.last_delivery = Some(at.to_string());
            }
            Err(error) => {
                self.count("failed");
                tracing::info!(webhook = self.name, seq = event.seq, %error, "webhook delivery failed");
                self.status().webhook.last_error = Some(error.clone());
            }
        }
        Some(result)
    }

    async fn add_dead(&self, seq: u64, attempts: u32, error: String) -> bool {
        tracing::warn!(webhook = self.name, seq, attempts, error, "webhook delivery given up");
        let at = self.broker.wall_clock();
        if !self.update(WebhookStep::AddDead { seq, attempts, error, at }).await {
            return false;
        }
        self.count("dead");
        let mut status = self.status();
        status.webhook.failing = None;
        status.webhook.cursor = status.webhook.cursor.max(seq);
        status.saved_cursor = status.saved_cursor.max(seq);
        true
    }

    /// Loads the stored cursor, or registers a new webhook. Returns `false` if the broker ends first.
    async fn register(&self) -> bool {
        let cursor = self.status().webhook.cursor;
        let source = Uuid::new_v4().simple().to_string();
        if !self.update(WebhookStep::Register { source, cursor }).await {
            return false;
        }
        let Some(rows) = self.retry("read the webhook's cursor", || self.broker.reader().list_webhooks()).await else {
            return false;
        };
        let Some(row) = rows.into_iter().find(|row| row.name == self.name) else { return false };
        let mut status = self.status();
        (status.source, status.webhook.cursor, status.saved_cursor) = (row.source, row.cursor, row.cursor);
        true
    }

    async fn save_if_due(&self) {
        let is_due = {
            let status = self.status();
            let is_far = status.webhook.cursor.saturating_sub(status.saved_cursor) >= MAX_UNSAVED_EVENTS;
            status.unsaved_since.map_or(is_far, |since| since.elapsed() >= SAVE_INTERVAL)
        };
        if is_due {
            self.save().await;
        }
    }

    async fn save(&self) {
        let cursor = {
            let mut status = self.status();
            // A dead delivery has already saved the cursor.
            if status.webhook.cursor == status.saved_cursor {
                status.unsaved_since = None;
                return;
            }
            status.webhook.cursor
        };
        let saved = self.broker.update_webhook(&self.name, WebhookStep::Advance { cursor }).await;
        let mut status = self.status();
        match saved {
            Ok(_) => (status.saved_cursor, status.unsaved_since) = (cursor, None),
            Err(error) => {
                tracing::warn!(webhook = self.name, %error, "cannot save the webhook's cursor");
                // Tries again after SAVE_INTERVAL.
                status.unsaved_since = Some(Instant::now());
            }
        }
    }

    /// Writes a step, with retries. Returns `false` if the broker ends first.
    async fn update(&self, step: WebhookStep) -> bool {
        self.retry("write webhook state", || self.broker.update_webhook(&self.name, step.clone())).await.is_some()
    }

    /// Repeats until it succeeds. `None` if the broker ends first.
    async fn retry<T, E: Display, F: Future<Output = Result<T, E>>>(
        &self,
        action: &str,
        attempt: impl Fn() -> F,
    ) -> Option<T> {
        loop {
            match attempt().await {
                Ok(done) => return Some(done),
                Err(error) => tracing::error!(webhook = self.name, %error, "cannot {action}; retrying"),
            }
            if !self.pause().await {
                return None;
            }
        }
    }

    /// Waits for [`RETRY_DELAY`]. Returns `false` if the broker ends first.
    async fn pause(&self) -> bool {
        tokio::select! {
            () = sleep(RETRY_DELAY) => true,
            () = self.closing.cancelled() => false,
        }
    }

    fn count(&self, outcome: &'static str) {
        self.deliveries.get_or_create(&[("hook", self.name.clone()), ("outcome", outcome.to_owned())]).inc();
    }

    fn status(&self) -> MutexGuard<'_, WorkerStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
