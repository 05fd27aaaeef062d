//! Answers that are long, and live in memory until they are taken: only a few at once, and none for ever.

use crate::{
    http::server::Connection,
    mcp::{Failure, Refused},
};
use axum::body::Body;
use bytes::Bytes;
use futures::stream::unfold;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// With the largest diff that is proposed, some hundred megabytes.
const AT_ONCE: usize = 8;

/// For a place to become free.
const PATIENCE: Duration = Duration::from_secs(2);

/// An answer from here on is long. What is shorter, the connection takes over at once.
const LONG_BYTES: usize = 64 << 10;

/// Whoever takes a long one more slowly than that, after a start, is cut off.
const BYTES_A_SECOND: u64 = 32 << 10;
const START: Duration = Duration::from_secs(30);

pub(super) struct Long(Arc<Semaphore>);

impl Default for Long {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Long {
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let busy = || {
            let error = format!("{AT_ONCE} whole diffs are being sent, and no more at once; try again in a moment");
            Failure::Refused(Refused { retryable: true, ..Refused::new("busy", error) })
        };
        let place = timeout(PATIENCE, Arc::clone(&self.0).acquire_owned()).await;
        place.ok().and_then(Result::ok).ok_or_else(busy)
    }
}

struct Sent {
    rest: VecDeque<Bytes>,
    _place: OwnedSemaphorePermit,
    _taken: DropGuard,
}

/// A body of these, one after the other, which keeps its place until it is taken.
pub(super) fn body(parts: [Bytes; 2], place: OwnedSemaphorePermit, line: Option<&Connection>) -> Body {
    let length: usize = parts.iter().map(Bytes::len).sum();
    if length <= LONG_BYTES {
        return parts.concat().into();
    }
    let taken = CancellationToken::new();
    if let Some(line) = line.cloned() {
        let (taken, patience) = (taken.clone(), START + Duration::from_secs(length as u64 / BYTES_A_SECOND));
        tokio::spawn(async move {
            tokio::select! {
                () = taken.cancelled() => {}
                () = sleep(patience) => line.abort(),
            }
        });
    }
    let sent = Sent { rest: parts.into(), _place: place, _taken: taken.drop_guard() };
    Body::from_stream(unfold(sent, async |mut sent| {
        let next = sent.rest.front_mut()?;
        let part = next.split_to(next.len().min(LONG_BYTES));
        if next.is_empty() {
            sent.rest.pop_front();
        }
        Some((Ok::<_, Infallible>(part), sent))
    }))
}
