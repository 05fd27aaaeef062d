//! Limits how many event streams are open: a total, and a share of it for each token, so that one token cannot take
//! all.

use crate::service::CallError;
use api::{ErrorBody, ErrorCode};
use domain::credential::SecretHash;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
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

pub(super) struct StreamLimits {
    max: usize,
    permits: Arc<Semaphore>,
    /// The shares of tokens that have open streams.
    shares: Mutex<HashMap<SecretHash, Weak<Semaphore>>>,
}

/// Allows one open stream, of the total and of its token's share, until it is dropped.
pub(super) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    _share: Option<OwnedSemaphorePermit>,
}

impl StreamLimits {
    pub(super) fn new(max: usize) -> Self {
        Self { max, permits: Arc::new(Semaphore::new(max)), shares: Mutex::default() }
    }

    /// Callers without a token share the total: the broker cannot distinguish them.
    pub(super) fn acquire(&self, token: Option<&SecretHash>) -> Result<StreamPermit, CallError> {
        let busy = |message: &str, limit: usize| {
            let body = ErrorBody::new(ErrorCode::Busy, format!("{message} {limit}"));
            CallError::Refused(ErrorBody { retryable: true, ..body })
        };
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| busy("too many open event streams; events.max_streams allows", self.max))?;
        let share = token.map(|token| {
            let limit = token_share(self.max);
            let permit = self.share(token, limit).try_acquire_owned();
            permit.map_err(|_| busy("too many open event streams for this token; allowed", limit))
        });
        Ok(StreamPermit { _permit: permit, _share: share.transpose()? })
    }

    fn share(&self, token: &SecretHash, limit: usize) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        let share = shares.get(token).and_then(Weak::upgrade).unwrap_or_else(|| Arc::new(Semaphore::new(limit)));
        shares.insert(token.clone(), Arc::downgrade(&share));
        share
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
