//! Places for streams: so many for all, and of those a share for each token, so that none takes everybody's.

use crate::service::CallError;
use actors::credentials::SecretHash;
use api::{ErrorBody, ErrorCode};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// What one token may have of all there is.
pub(super) const fn share(all: usize) -> usize {
    let share = all / 4;
    if share == 0 { 1 } else { share }
}

type Taken = Arc<Mutex<HashMap<SecretHash, usize>>>;

pub(super) struct Places {
    max: usize,
    free: Arc<Semaphore>,
    by_token: Taken,
}

/// One of them, which is free again with it.
pub(super) struct Place {
    _free: OwnedSemaphorePermit,
    of: Option<(SecretHash, Taken)>,
}

impl Places {
    pub(super) fn new(max: usize) -> Self {
        Self { max, free: Arc::new(Semaphore::new(max)), by_token: Arc::default() }
    }

    /// Without a token nobody can be told from another.
    pub(super) fn take(&self, token: Option<&SecretHash>) -> Result<Place, CallError> {
        let full = |words: &str, most: usize| {
            let refused = ErrorBody::new(ErrorCode::Busy, format!("{words}: {most}"));
            CallError::Refused(ErrorBody { retryable: true, ..refused })
        };
        let free = Arc::clone(&self.free).try_acquire_owned();
        let free = free.map_err(|_| full("there are as many event streams as events.max_streams allows", self.max))?;
        let Some(token) = token else { return Ok(Place { _free: free, of: None }) };
        let mut by_token = self.by_token.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = by_token.entry(token.clone()).or_default();
        if *taken >= share(self.max) {
            return Err(full("your token has as many event streams as one may have", share(self.max)));
        }
        *taken += 1;
        Ok(Place { _free: free, of: Some((token.clone(), Arc::clone(&self.by_token))) })
    }

    pub(super) fn taken(&self) -> usize {
        self.max.saturating_sub(self.free.available_permits())
    }

    /// Waits for that, at most so long.
    pub(super) async fn all_free(&self, patience: Duration) -> bool {
        let all = u32::try_from(self.max).unwrap_or(u32::MAX);
        timeout(patience, self.free.acquire_many(all)).await.is_ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((token, by_token)) = self.of.take() else { return };
        let mut by_token = by_token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = by_token.get_mut(&token) {
            *taken -= 1;
            if *taken == 0 {
                by_token.remove(&token);
            }
        }
    }
}
