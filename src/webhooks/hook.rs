//! One receiver: follows the log, tells what is for it in order, and notes how far it came.

use super::{
    Deliveries,
    attempt::Target,
    live::Live,
    notes::{RETRY, SAVE_EVERY},
    pace::Pace,
    secret::Secret,
};
use crate::{
    events::{EncodedEvent, EventFilter},
    outbound::Outbound,
};
use actors::Broker;
use anyhow::Context as _;
use api::webhooks::FailingDelivery;
use config::Receiver;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use store::{DeliverySelector, WebhookStep};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Read at once. One that waits for its receiver keeps no more than this.
const PAGE: u32 = 50;

/// What a receiver that is being told when the broker ends is given to answer.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) struct Hook {
    pub(super) broker: Broker,
    pub(super) name: String,
    pub(super) origin: String,
    pub(super) project: Option<String>,
    pub(super) events: Vec<String>,
    filter: EventFilter,
    target: Target,
    pace: Pace,
    live: Mutex<Live>,
    wake: Notify,
    /// Somebody may have asked for a dead one.
    may_try_dead: AtomicBool,
    pub(super) closing: CancellationToken,
    deliveries: Deliveries,
}

impl Hook {
    pub(super) fn new(
        broker: Broker,
        receiver: &Receiver,
        filter: EventFilter,
        secret: Secret,
        outbound: Arc<Outbound>,
        pace: Pace,
        deliveries: Deliveries,
    ) -> anyhow::Result<Self> {
        let url = receiver.url.parse().context("webhooks: the address")?;
        let closing = broker.closing();
        // Whoever calls once the broker listens is heard, also by a hook that is new.
        let cursor = *broker.committed().borrow();
        Ok(Self {
            broker,
            name: receiver.name.clone(),
            origin: receiver.origin(),
            project: receiver.project.clone(),
            events: receiver.events.clone(),
            filter,
            target: Target { url, secret, outbound, timeout: pace.timeout },
            pace,
            live: Mutex::new(Live { cursor, ..Live::default() }),
            wake: Notify::new(),
            may_try_dead: AtomicBool::new(true),
            closing,
            deliveries,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// There is something to try again.
    pub(super) fn wake(&self) {
        self.may_try_dead.store(true, Relaxed);
        self.wake.notify_one();
    }

    /// Delivers until the broker ends.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut committed = self.broker.committed();
        if !self.begin().await {
            return;
        }
        loop {
            self.try_the_dead().await;
            let head = *committed.borrow_and_update();
            if self.cursor() < head && self.tell_page().await {
                continue;
            }
            if self.may_try_dead.load(Relaxed) && !self.closing.is_cancelled() {
                continue;
            }
            self.save_if_due().await;
            let due = self.lock().unsaved.map(|since| since + SAVE_EVERY);
            tokio::select! {
                changed = committed.changed() => if changed.is_err() { return },
                () = self.wake.notified() => {}
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                () = self.closing.cancelled() => break,
            }
        }
        self.save().await;
    }

    /// Tells what comes next in the log. `false`: not now.
    async fn tell_page(&self) -> bool {
        if self.closing.is_cancelled() {
            return false;
        }
        let page = match self.broker.list_events(self.cursor(), None, PAGE).await {
            Ok(page) if page.is_empty() => return false,
            Ok(page) => page,
            Err(error) => {
                tracing::error!(hook = self.name, %error, "the log cannot be read for a webhook; trying again");
                return self.paused(RETRY).await;
            }
        };
        let page: Vec<_> = page.into_iter().map(EncodedEvent::new).collect();
        for told in page {
            if self.filter.matches(&told) {
                if !self.tell(&told).await {
                    return false;
                }
            } else {
                self.lock().cursor = told.seq;
            }
            self.save_if_due().await;
        }
        true
    }

    /// Tells of one event, as often as it takes. What is not taken then is dead. `false`: the broker ends first.
    async fn tell(&self, told: &EncodedEvent) -> bool {
        for attempts in 1..=self.pace.attempts {
            match self.attempt(told).await {
                None => return false,
                Some(Ok(())) => {
                    let mut live = self.lock();
                    live.cursor = told.seq;
                    live.failing = None;
                    live.unsaved.get_or_insert_with(Instant::now);
                    return true;
                }
                Some(Err(error)) => {
                    self.lock().failing = Some(FailingDelivery { seq: told.seq, attempts });
                    if attempts == self.pace.attempts {
                        return self.bury(told.seq, attempts, error).await;
                    }
                }
            }
            tokio::select! {
                () = sleep(self.pace.pause(attempts)) => {}
                // Whoever asks for the dead expects that the receiver is well again.
                () = self.wake.notified() => self.try_the_dead().await,
                () = self.closing.cancelled() => return false,
            }
        }
        false
    }

    /// One try for each of the dead for which somebody has asked. After one that fails, what is new comes first.
    async fn try_the_dead(&self) {
        while self.may_try_dead.swap(false, Relaxed) {
            let told = match self.broker.dead_to_try(&self.name).await {
                Ok(Some(news)) => EncodedEvent::new(news),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(hook = self.name, %error, "the dead list cannot be read; trying again");
                    self.may_try_dead.store(self.paused(RETRY).await, Relaxed);
                    return;
                }
            };
            let (is_told, goes_on) = match self.attempt(&told).await {
                None => (false, false),
                Some(Ok(())) => {
                    (true, self.note(WebhookStep::RemoveDead(DeliverySelector::Seqs(vec![told.seq]))).await)
                }
                Some(Err(error)) => (false, self.bury(told.seq, 1, error).await),
            };
            self.may_try_dead.fetch_or(goes_on, Relaxed);
            if !is_told {
                return;
            }
        }
    }

    /// `None`: the broker ends, and nobody knows whether it was taken.
    async fn attempt(&self, told: &EncodedEvent) -> Option<Result<(), String>> {
        let at = self.broker.wall_clock();
        let id = format!("msg_{}_{}", self.lock().source, told.seq);
        let sent = tokio::select! {
            sent = self.target.send(&id, told, at.0) => sent,
            () = self.last_words() => return None,
        };
        match &sent {
            Ok(()) => {
                self.count("delivered");
                self.lock().delivered_at = Some(api::timestamp(at).to_string());
            }
            Err(error) => {
                self.count("failed");
                tracing::info!(hook = self.name, seq = told.seq, %error, "a webhook was not delivered");
                self.lock().last_error = Some(error.clone());
            }
        }
        Some(sent)
    }

    async fn last_words(&self) {
        self.closing.cancelled().await;
        sleep(LAST_WORDS).await;
    }

    async fn bury(&self, seq: u64, attempts: u32, error: String) -> bool {
        tracing::warn!(hook = self.name, seq, attempts, error, "an event is on the dead list of a webhook");
        let at = self.broker.wall_clock();
        if !self.note(WebhookStep::AddDead { seq, attempts, error, at }).await {
            return false;
        }
        self.count("dead");
        let mut live = self.lock();
        live.failing = None;
        live.cursor = live.cursor.max(seq);
        live.saved = live.saved.max(seq);
        true
    }

    fn count(&self, outcome: &'static str) {
        self.deliveries.get_or_create(&[("hook", self.name.clone()), ("outcome", outcome.to_owned())]).inc();
    }

    pub(super) fn cursor(&self) -> u64 {
        self.lock().cursor
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
