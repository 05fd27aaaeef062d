//! Handles for sending messages to an actor, and the counters that the broker keeps per actor and shows to operators.
//! Counting costs a few atomic additions per message.

use crate::actor_tree_report::Node;
use ractor::{ActorId, ActorRef, Message};
use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

/// The address of an actor. It counts the messages sent to it.
pub(crate) struct Mailbox<M: Message> {
    pub(crate) actor: ActorRef<M>,
    pub(crate) stats: Arc<ActorStats>,
}

impl<M: Message> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Self { actor: self.actor.clone(), stats: Arc::clone(&self.stats) }
    }
}

impl<M: Message> Mailbox<M> {
    pub(crate) fn new(actor: ActorRef<M>, stats: Arc<ActorStats>) -> Self {
        Self { actor, stats }
    }

    /// `false` if the actor is gone. The message is then dropped, and its reply channel with it.
    pub(crate) fn send(&self, message: M) -> bool {
        self.stats.sent();
        self.actor.send_message(message).is_ok()
    }

    pub(crate) fn id(&self) -> ActorId {
        self.actor.get_id()
    }
}

/// A shared slot with an actor's current address. After a restart it holds the new one, so its users notice nothing.
pub(crate) struct ActorSlot<M: Message>(RwLock<Option<Mailbox<M>>>);

impl<M: Message> Default for ActorSlot<M> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<M: Message> ActorSlot<M> {
    pub(crate) fn set(&self, actor: Mailbox<M>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(actor);
    }

    /// Drops the message, and with it its reply channel, while the actor is not running.
    pub(crate) fn send(&self, message: M) {
        if let Some(actor) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            actor.send(message);
        }
    }

    /// Kills the actor in the middle of its work, as a fault would.
    #[cfg(test)]
    pub(crate) fn kill(&self) {
        if let Some(actor) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            actor.actor.kill();
        }
    }
}

/// Marks an actor as busy until it is dropped.
pub(crate) struct Working(Arc<ActorStats>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, SeqCst);
    }
}

#[derive(Debug)]
pub(crate) struct ActorStats {
    started: Instant,
    mailbox: AtomicU64,
    /// Messages that were taken from the mailbox and are not done yet.
    working: AtomicU64,
    handled: AtomicU64,
    /// Time of the last message, in milliseconds after `started`.
    touched: AtomicU64,
    last_error: Mutex<Option<Box<str>>>,
}

impl ActorStats {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            mailbox: AtomicU64::new(0),
            working: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            touched: AtomicU64::new(0),
            last_error: Mutex::new(None),
        }
    }

    fn sent(&self) {
        self.mailbox.fetch_add(1, SeqCst);
        self.touch();
    }

    pub(crate) fn taken(&self) {
        let _ = self.mailbox.fetch_update(SeqCst, SeqCst, |depth| depth.checked_sub(1));
        self.handled.fetch_add(1, Relaxed);
    }

    /// The actor is busy until the guard is dropped. Call it before [`Self::taken`], so that the actor never looks idle in
    /// between.
    pub(crate) fn work(self: &Arc<Self>) -> Working {
        self.working.fetch_add(1, SeqCst);
        Working(Arc::clone(self))
    }

    /// Whether a message waits or is in progress, also outside the mailbox.
    pub(crate) fn is_busy(&self) -> bool {
        self.mailbox.load(SeqCst) > 0 || self.working.load(SeqCst) > 0
    }

    pub(crate) fn touch(&self) {
        let after = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.touched.store(after, Relaxed);
    }

    pub(crate) fn failed(&self, error: &str) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
    }

    pub(crate) fn mailbox(&self) -> u64 {
        self.mailbox.load(Relaxed)
    }

    pub(crate) fn idle(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.touched.load(Relaxed)))
    }

    /// The actor in the tree for operators, without children.
    pub(crate) fn node(&self, kind: &'static str, id: String, state: String, restarts: u64) -> Node {
        Node {
            kind,
            id,
            state,
            mailbox: self.mailbox(),
            handled: self.handled.load(Relaxed),
            restarts,
            uptime_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).as_deref().map(Into::into),
            children: Vec::new(),
        }
    }
}
