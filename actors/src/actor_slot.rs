//! A shared slot with an actor's current address. After a restart it holds the new one, so its users notice nothing.

use crate::actor_stats::Mailbox;
use ractor::Message;
use std::sync::{Arc, PoisonError, RwLock};

pub(crate) struct ActorSlot<M: Message>(Arc<RwLock<Option<Mailbox<M>>>>);

impl<M: Message> Default for ActorSlot<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M: Message> Clone for ActorSlot<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
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
            actor.kill();
        }
    }
}
