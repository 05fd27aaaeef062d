//! Limits on open event streams: a total, and a share of it for each token, so that one token cannot take all.

use crate::service::CallError;
use api::{ErrorBody, ErrorCode};
use domain::credential::SecretHash;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};

/// The part of `total` that one token may have.
pub(super) const fn token_share(total: usize) -> usize {
    let share = total / 4;
    if share == 0 { 1 } else { share }
}

type OpenByToken = Arc<Mutex<HashMap<SecretHash, usize>>>;

pub(super) struct StreamLimits {
    max: usize,
    permits: Arc<Semaphore>,
    open_by_token: OpenByToken,
}

/// Allows one open stream. Dropping it releases the permit.
pub(super) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    token: Option<(SecretHash, OpenByToken)>,
}

impl StreamLimits {
    pub(super) fn new(max: usize) -> Self {
        Self { max, permits: Arc::new(Semaphore::new(max)), open_by_token: Arc::default() }
    }

    /// Callers without a token share the total: the broker cannot distinguish them.
    pub(super) fn acquire(&self, token: Option<&SecretHash>) -> Result<StreamPermit, CallError> {
        let busy = |message: &str, limit: usize| {
            let body = ErrorBody::new(ErrorCode::Busy, format!("{message} {limit}"));
            CallError::Refused(ErrorBody { retryable: true, ..body })
        };
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| busy("too many open event streams; events.max_streams allows", self.max))?;
        let Some(token) = token else { return Ok(StreamPermit { _permit: permit, token: None }) };
        let mut open_by_token = self.open_by_token.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open_by_token.entry(token.clone()).or_default();
        if *open >= token_share(self.max) {
            return Err(busy("too many open event streams for this token; allowed", token_share(self.max)));
        }
        *open += 1;
        Ok(StreamPermit { _permit: permit, token: Some((token.clone(), Arc::clone(&self.open_by_token))) })
    }

    pub(super) fn open(&self) -> usize {
        self.max.saturating_sub(self.permits.available_permits())
    }

    /// Waits until no stream is open. `false` after `timeout`.
    pub(super) async fn all_released(&self, timeout: Duration) -> bool {
        let all = u32::try_from(self.max).unwrap_or(u32::MAX);
        time::timeout(timeout, self.permits.acquire_many(all)).await.is_ok()
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some((token, open_by_token)) = self.token.take() else { return };
        let mut open_by_token = open_by_token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open_by_token.get_mut(&token) {
            *open -= 1;
            if *open == 0 {
                open_by_token.remove(&token);
            }
        }
    }
}
