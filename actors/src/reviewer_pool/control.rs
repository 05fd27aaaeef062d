//! What operators change about the whole pool: whether it starts reviewers, how many run at once, and the end of all of
//! them.

use super::{LiveReviewer, PoolMessage, PoolStatus, ReviewerPool, State};
use crate::error::BrokerError;
use domain::{
    persona::Mode,
    reviewer_pool::{PoolEvent, scaling::Limits},
    text::truncate,
    time::Now,
};
use ractor::ActorRef;
use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use store::{PoolPause, Reader};
use tokio::time::sleep;

/// No reviewer starts until it is known whether the pool is paused.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A change of the pool. What is `None` stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolControl {
    pub paused: Option<bool>,
    pub max_size: Option<usize>,
}

/// The most reviewers at once, if an operator has changed it since the broker started.
#[derive(Debug, Default)]
pub(crate) struct PoolLimit(AtomicUsize);

impl PoolLimit {
    fn get(&self) -> Option<usize> {
        Some(self.0.load(Relaxed)).filter(|limit| *limit > 0)
    }
}

/// The pause that an operator has made, in this run of the broker or an earlier one.
pub(crate) async fn find_pause(reader: &Reader) -> Option<PoolPause> {
    loop {
        match reader.find_pool_pause().await {
            Ok(pause) => return pause,
            Err(error) => tracing::error!(%error, "cannot read whether the pool is paused; retrying"),
        }
        sleep(RETRY_DELAY).await;
    }
}

/// What a paused pool says. `failure`: what it would say otherwise.
pub(crate) fn describe_pause(pause: &PoolPause, failure: Option<String>) -> String {
    let by = pause.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    let failure = failure.map_or(String::new(), |failure| format!(". Before: {failure}"));
    format!(
        "paused{by} since {}: no reviewer starts, running ones continue; `countersign reviewer resume` ends the \
         pause{failure}",
        pause.at
    )
}

impl ReviewerPool {
    pub(crate) fn max_size(&self) -> usize {
        self.shared.pool_limit.get().unwrap_or(self.settings().limits.max_size)
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { max_size: self.max_size(), ..self.settings().limits }
    }

    pub(crate) async fn control(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        change: PoolControl,
        by: Option<String>,
    ) -> Result<PoolStatus, BrokerError> {
        if !self.settings().enabled {
            return Err(BrokerError::PoolDisabled);
        }
        if state.stopping {
            return Err(BrokerError::ShuttingDown);
        }
        let now = self.shared.clock.now();
        if let Some(paused) = change.paused.filter(|paused| *paused != state.pause.is_some()) {
            let event = match paused {
                true => PoolEvent::PoolPaused { by: by.clone() },
                false => PoolEvent::PoolResumed { by: by.clone() },
            };
            self.commit(now, event).await?;
            state.pause = paused.then(|| PoolPause { at: now.at, by: by.clone() });
            tracing::info!(paused, by, "the pool was paused or resumed");
        }
        if let Some(max_size) = change.max_size.filter(|max_size| *max_size != self.max_size()) {
            self.commit(now, PoolEvent::PoolLimitChanged { max_size, by: by.clone() }).await?;
            let is_configured = max_size == self.settings().limits.max_size;
            self.shared.pool_limit.0.store(if is_configured { 0 } else { max_size }, Relaxed);
            tracing::info!(max_size, by, "the limit of the pool was changed");
        }
        self.rescale_soon(myself, state).await;
        Ok(self.status(state))
    }

    async fn commit(&self, now: Now, event: PoolEvent) -> Result<(), BrokerError> {
        let saved = self.reviews().record(now, None, Some(event)).await;
        saved.map_err(|error| BrokerError::NotSaved { why: error.to_string() })
    }

    /// Reviewers that exit meanwhile are left out.
    pub(crate) async fn stop_all_for_operator(
        &self,
        myself: &ActorRef<PoolMessage>,
        state: &mut State,
        at_once: bool,
        by: Option<String>,
    ) -> Result<Vec<LiveReviewer>, BrokerError> {
        let ids: Vec<_> = state.live().map(|reviewer| reviewer.row.id.clone()).collect();
        let (mut stopped, mut failure) = (Vec::new(), None);
        for id in ids {
            match self.stop_for_operator(myself, state, &id, at_once, by.clone()).await {
                Ok(reviewer) => stopped.push(reviewer),
                Err(BrokerError::UnknownReviewer { .. }) => {}
                // The others are stopped all the same.
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(stopped), Err)
    }

    /// Whether an operator may start an agent that takes only the seats of this persona.
    pub(crate) fn check_spawnable(&self, given: &str) -> Result<(), BrokerError> {
        let personas = &self.shared.settings.personas;
        let Some(persona) = personas.get(given) else {
            let known = personas.values().map(|persona| persona.name.clone()).collect();
            return Err(BrokerError::UnknownPersona { field: "persona", given: truncate(given, 80).into(), known });
        };
        let name = &persona.name;
        let why = match persona.mode {
            Mode::Agent if persona.has_own_agents() => return Ok(()),
            Mode::Agent => format!("any agent of the pool takes the seats of {name}; start one without a persona"),
            Mode::OneShot => format!("the broker itself starts a reviewer for each free seat of {name} (one_shot)"),
            Mode::Dedicated => format!(
                "a reviewer of {name} belongs to one review (dedicated) and starts when it is its turn; ask for a seat \
                 with add_seat"
            ),
        };
        let allowed = self.personas_with_agents().into_iter().map(str::to_owned).collect();
        Err(BrokerError::NotSpawnable { why, allowed })
    }
}
