//! One receiver: follows the log, tells what is for it in order, and notes how far it came.

use super::{Deliveries, attempt::Target, pace::Pace, secret::Secret};
use crate::{
    config::Receiver,
    http::events::{Filter, Told},
    mcp::moment,
    outbound::Outbound,
};
use actors::Broker;
use anyhow::Context as _;
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use store::{HookRow, HookStep, Which};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Read at once. One that waits for its receiver keeps no more than this.
const PAGE: u32 = 50;

/// How far a hook came is written this often and not for every event: each is a sync of the disk. What was delivered
/// since is delivered again after a crash.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// So far it may come without a delivery before that is written.
const SAVE_AFTER: u64 = 1000;

/// Before the database is asked again when that failed.
const RETRY: Duration = Duration::from_secs(1);

/// What a receiver that is being told when the broker ends is given to answer.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) struct Hook {
    broker: Broker,
    name: String,
    origin: String,
    project: Option<String>,
    events: Vec<String>,
    filter: Filter,
    target: Target,
    pace: Pace,
    live: Mutex<Live>,
    wake: Notify,
    /// Somebody may have asked for a dead one.
    may_try_dead: AtomicBool,
    closing: CancellationToken,
    deliveries: Deliveries,
}

#[derive(Default)]
struct Live {
    /// Part of the ids of messages; empty until it is known.
    source: String,
    cursor: u64,
    saved: u64,
    /// When the first delivery was made that is not written yet.
    unsaved: Option<Instant>,
    delivered_at: Option<String>,
    failing: Option<Failing>,
    last_error: Option<String>,
}

/// An event that the receiver does not take.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Failing {
    seq: u64,
    /// Of webhooks.attempts.
    attempts: u32,
}

/// A webhook as operators see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookView {
    pub(crate) name: String,
    /// Without its path, which may be a secret. Left out of one that is not configured any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Kinds and types; empty: all.
    events: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
    pub(crate) configured: bool,
    /// It has been told all that is for it up to this place in the log.
    cursor: u64,
    /// Events in the log after that, whether they are for it or not.
    pub(crate) lag: u64,
    /// Events it could not be told.
    pub(crate) dead: u64,
    /// When it last took one, in this run of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delivery: Option<String>,
    /// Why it last did not, in this run of the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// What it is being told over and over.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing: Option<Failing>,
}

impl HookView {
    /// Of one that is not configured any more.
    pub(super) fn of_left(row: HookRow, head: u64) -> Self {
        Self {
            name: row.name,
            url: None,
            events: Vec::new(),
            project: None,
            configured: false,
            cursor: row.cursor,
            lag: head.saturating_sub(row.cursor),
            dead: row.dead,
            last_delivery: None,
            last_error: None,
            failing: None,
        }
    }
}

impl Hook {
    pub(super) fn new(
        broker: Broker,
        receiver: &Receiver,
        filter: Filter,
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

    pub(super) fn view(&self, row: Option<HookRow>, head: u64) -> HookView {
        let live = self.lock();
        let begun = !live.source.is_empty();
        HookView {
            name: self.name.clone(),
            url: Some(self.origin.clone()),
            events: self.events.clone(),
            project: self.project.clone(),
            configured: true,
            cursor: live.cursor,
            lag: if begun { head.saturating_sub(live.cursor) } else { 0 },
            dead: row.map_or(0, |row| row.dead),
            last_delivery: live.delivered_at.clone(),
            last_error: live.last_error.clone(),
            failing: live.failing.clone(),
        }
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

    /// Finds its place, or begins here. `false`: the broker ends.
    async fn begin(&self) -> bool {
        let step = HookStep::Begin { source: Uuid::new_v4().simple().to_string(), cursor: self.cursor() };
        if !self.note(step).await {
            return false;
        }
        loop {
            match self.broker.hooks().await {
                Ok(rows) => {
                    let Some(row) = rows.into_iter().find(|row| row.name == self.name) else { return false };
                    let mut live = self.lock();
                    (live.source, live.cursor, live.saved) = (row.source, row.cursor, row.cursor);
                    return true;
                }
                Err(error) => tracing::error!(hook = self.name, %error, "the place of a webhook cannot be read"),
            }
            if !self.paused(RETRY).await {
                return false;
            }
        }
    }

    /// Tells what comes next in the log. `false`: not now.
    async fn tell_page(&self) -> bool {
        if self.closing.is_cancelled() {
            return false;
        }
        let page = match self.broker.news(self.cursor(), None, PAGE).await {
            Ok(page) if page.is_empty() => return false,
            Ok(page) => page,
            Err(error) => {
                tracing::error!(hook = self.name, %error, "the log cannot be read for a webhook; trying again");
                return self.paused(RETRY).await;
            }
        };
        let page: Vec<_> = page.into_iter().map(Told::of).collect();
        for told in page {
            if self.filter.takes(&told) {
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
    async fn tell(&self, told: &Told) -> bool {
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
                    self.lock().failing = Some(Failing { seq: told.seq, attempts });
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

    /// One try for each of the dead for which somebody has asked for it.
    async fn try_the_dead(&self) {
        while self.may_try_dead.swap(false, Relaxed) {
            let told = match self.broker.dead_to_try(&self.name).await {
                Ok(Some(news)) => Told::of(news),
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(hook = self.name, %error, "the dead list cannot be read");
                    self.may_try_dead.store(true, Relaxed);
                    return;
                }
            };
            let went_on = match self.attempt(&told).await {
                None => false,
                Some(Ok(())) => self.note(HookStep::Forget(Which::These(vec![told.seq]))).await,
                Some(Err(error)) => self.bury(told.seq, 1, error).await,
            };
            self.may_try_dead.fetch_or(went_on, Relaxed);
        }
    }

    /// `None`: the broker ends, and nobody knows whether it was taken.
    async fn attempt(&self, told: &Told) -> Option<Result<(), String>> {
        let at = self.broker.wall_clock();
        let id = format!("msg_{}_{}", self.lock().source, told.seq);
        let sent = tokio::select! {
            sent = self.target.send(&id, told, at.0) => sent,
            () = self.last_words() => return None,
        };
        match &sent {
            Ok(()) => {
                self.count("delivered");
                self.lock().delivered_at = Some(moment(at));
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
        if !self.note(HookStep::Bury { seq, attempts, error, at }).await {
            return false;
        }
        self.count("dead");
        let mut live = self.lock();
        live.failing = None;
        live.cursor = live.cursor.max(seq);
        live.saved = live.saved.max(seq);
        true
    }

    async fn save_if_due(&self) {
        let is_due = {
            let live = self.lock();
            live.unsaved.is_some_and(|since| since.elapsed() >= SAVE_EVERY) || live.cursor - live.saved >= SAVE_AFTER
        };
        if is_due {
            self.save().await;
        }
    }

    async fn save(&self) {
        let cursor = self.cursor();
        if cursor == self.lock().saved {
            return;
        }
        let noted = self.broker.note_hook(&self.name, HookStep::Advance { cursor }).await;
        let mut live = self.lock();
        match noted {
            Ok(_) => (live.saved, live.unsaved) = (cursor, None),
            Err(error) => {
                tracing::warn!(hook = self.name, %error, "how far a webhook came is not noted");
                // Later, and not at once.
                live.unsaved = live.unsaved.map(|_| Instant::now());
            }
        }
    }

    /// Writes a step that must not be lost. `false`: the broker ends first.
    async fn note(&self, step: HookStep) -> bool {
        loop {
            match self.broker.note_hook(&self.name, step.clone()).await {
                Ok(_) => return true,
                Err(error) => {
                    tracing::error!(hook = self.name, %error, "a step of a webhook is not noted; trying again")
                }
            }
            if !self.paused(RETRY).await {
                return false;
            }
        }
    }

    /// `false`: the broker ends.
    async fn paused(&self, pause: Duration) -> bool {
        tokio::select! {
            () = sleep(pause) => true,
            () = self.closing.cancelled() => false,
        }
    }

    fn count(&self, outcome: &'static str) {
        self.deliveries.get_or_create(&[("hook", self.name.clone()), ("outcome", outcome.to_owned())]).inc();
    }

    fn cursor(&self) -> u64 {
        self.lock().cursor
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
