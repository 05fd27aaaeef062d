//! Large response bodies. They stay in memory until the client has read them, so their number and duration are limited.

use crate::{http::server::Connection, service::CallError};
use api::{ErrorBody, ErrorCode};
use axum::body::Body;
use bytes::Bytes;
use futures::stream::unfold;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// With the largest allowed diff this is a few hundred megabytes.
const MAX_BODIES: usize = 8;

const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Bodies above this size are large. The connection buffers smaller ones at once.
const LARGE_BYTES: usize = 64 << 10;

/// A client that reads a large body more slowly than this is disconnected, after a grace period.
const MIN_BYTES_PER_SECOND: u64 = 32 << 10;
const READ_GRACE: Duration = Duration::from_secs(30);

pub(super) struct LargeBodies(Arc<Semaphore>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BODIES)))
    }
}

impl LargeBodies {
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let busy = || {
            let error = format!("{MAX_BODIES} diffs are being sent, which is the limit; try again in a moment");
            CallError::Refused(ErrorBody { retryable: true, ..ErrorBody::new(ErrorCode::Busy, error) })
        };
        let permit = timeout(PERMIT_TIMEOUT, Arc::clone(&self.0).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(busy)
    }
}

struct Sending {
    parts: VecDeque<Bytes>,
    _permit: OwnedSemaphorePermit,
    _sent: DropGuard,
}

/// A body of `parts`, one after the other. It holds its permit until the client has read it.
pub(super) fn body(parts: [Bytes; 2], permit: OwnedSemaphorePermit, connection: Option<&Connection>) -> Body {
    let length: usize = parts.iter().map(Bytes::len).sum();
    if length <= LARGE_BYTES {
        return parts.concat().into();
    }
    let sent = CancellationToken::new();
    if let Some(connection) = connection.cloned() {
        let (sent, limit) = (sent.clone(), READ_GRACE + Duration::from_secs(length as u64 / MIN_BYTES_PER_SECOND));
        tokio::spawn(async move {
            tokio::select! {
                () = sent.cancelled() => {}
                () = sleep(limit) => connection.abort(),
            }
        });
    }
    let sending = Sending { parts: parts.into(), _permit: permit, _sent: sent.drop_guard() };
    Body::from_stream(unfold(sending, async |mut sending| {
        let next = sending.parts.front_mut()?;
        let part = next.split_to(next.len().min(LARGE_BYTES));
        if next.is_empty() {
            sending.parts.pop_front();
        }
        Some((Ok::<_, Infallible>(part), sending))
    }))
}
