//! REST handlers that return diffs and patches as plain text. Large ones stay in memory until the client has read them,
//! so their number and duration are limited.

use super::{Api, ApiRequest, response};
use crate::{
    http::{connections::Connection, problem_details::with_text},
    service::{CallError, FullDiff},
};
use api::{ErrorBody, ErrorCode};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures::{StreamExt as _, stream::unfold};
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

const DIFF: &str = "text/x-diff; charset=utf-8";
const PATCH: &str = "text/x-patch; charset=utf-8";

/// The hash of the content that a diff belongs to.
const CONTENT_HASH: HeaderName = HeaderName::from_static("content-hash");

const SUBJECT_CHARS: usize = 200;

/// With the largest allowed diff this is a few hundred megabytes.
const MAX_BODIES: usize = 8;

const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Bodies above this size are large. The connection buffers smaller ones at once.
const LARGE_BYTES: usize = 64 << 10;

/// A client that reads a large body more slowly than this is disconnected, after a grace period.
const MIN_BYTES_PER_SECOND: u64 = 32 << 10;
const READ_GRACE: Duration = Duration::from_secs(30);

impl Api {
    /// Pages of JSON, or the whole diff if the caller accepts text. A text that is requested by its hash never changes.
    pub(super) async fn diff(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let mut response = if accepts_text(&request.parts.headers) {
            self.full_diff(request, DIFF, |_| Bytes::new()).await?
        } else {
            response::success(request, self.call(request).await?)
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    }

    /// The whole counter-patch of a seat.
    pub(super) async fn counter_patch(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let permit = self.large_bodies.permit().await?;
        let found = self.service.counter_patch(request.arguments.clone(), request.context()).await?;
        let etag = response::version_etag(found.version);
        let is_known = etag.as_ref().is_some_and(|etag| response::is_known(&request.parts.headers, etag));
        let mut response = if is_known {
            response::with_status(StatusCode::NOT_MODIFIED)
        } else {
            let body = body([Bytes::new(), found.diff.into()], permit, request.parts.extensions.get());
            with_text(StatusCode::OK, DIFF, body)
        };
        let headers = response.headers_mut();
        response::set_no_cache(headers);
        headers.insert(header::ETAG, weak_etag(found.version)?);
        Ok(response)
    }

    /// A mail for `git am`. It holds only the diff and one line of the proposer's text: a description could contain a
    /// second diff, which git would apply although it was not reviewed.
    pub(super) async fn patch(&self, request: &ApiRequest) -> Result<Response, CallError> {
        self.full_diff(request, PATCH, |diff| mail_header(diff).into()).await
    }

    async fn full_diff(
        &self,
        request: &ApiRequest,
        content_type: &'static str,
        prefix: impl FnOnce(&FullDiff) -> Bytes,
    ) -> Result<Response, CallError> {
        let permit = self.large_bodies.permit().await?;
        let found = self.service.full_diff(request.arguments.clone(), request.context()).await?;
        let diff = found.diff()?;
        let etag = response::version_etag(found.version);
        let mut response = match etag.filter(|etag| response::is_known(&request.parts.headers, etag)) {
            Some(_) => response::with_status(StatusCode::NOT_MODIFIED),
            None => {
                let connection = request.parts.extensions.get();
                let body = body([prefix(&found), diff], permit, connection);
                with_text(StatusCode::OK, content_type, body)
            }
        };
        let headers = response.headers_mut();
        response::set_caching(headers, found.never_changes);
        headers.insert(header::ETAG, weak_etag(found.version)?);
        headers.insert(CONTENT_HASH, HeaderValue::try_from(&found.hash.0).map_err(|_| CallError::Internal)?);
        if content_type == PATCH {
            let name = format!("attachment; filename=\"{}-round-{}.patch\"", found.number, found.round);
            let name = HeaderValue::try_from(name).map_err(|_| CallError::Internal)?;
            headers.insert(header::CONTENT_DISPOSITION, name);
        }
        Ok(response)
    }
}

/// Weak, because the JSON page has the strong ETag of this version.
fn weak_etag(version: u64) -> Result<HeaderValue, CallError> {
    HeaderValue::try_from(format!("W/\"{version}\"")).map_err(|_| CallError::Internal)
}

fn mail_header(diff: &FullDiff) -> String {
    let FullDiff { number, round, hash, .. } = diff;
    format!(
        "From {} Mon Sep 17 00:00:00 2001\nFrom: {} <countersign@localhost>\nSubject: [PATCH] {}\n\n\
         Review: {number}, round {round}\nContent-Hash: {hash}\n---\n",
        "0".repeat(40),
        sender_name(&diff.agent_type),
        one_line(diff.intent()),
    )
}

fn accepts_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    let first = types.find(|kind| matches!(kind.trim(), "text/x-diff" | "text/plain" | "application/json"));
    first.is_some_and(|kind| kind.trim() != "application/json")
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SUBJECT_CHARS).collect()
}

/// Drops characters with a meaning in a mail header.
fn sender_name(text: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || " ._-".contains(*c);
    text.chars().filter(is_plain).take(SUBJECT_CHARS).collect()
}

pub(super) struct LargeBodies(Arc<Semaphore>);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BODIES)))
    }
}

impl LargeBodies {
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let busy = || {
            let error =
                format!("{MAX_BODIES} large responses are being sent, which is the limit; try again in a moment");
            CallError::Refused(ErrorBody::new(ErrorCode::Busy, error))
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
fn body(parts: [Bytes; 2], permit: OwnedSemaphorePermit, connection: Option<&Connection>) -> Body {
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
    let stream = unfold(sending, async |mut sending| {
        let next = sending.parts.front_mut()?;
        let part = next.split_to(next.len().min(LARGE_BYTES));
        if next.is_empty() {
            sending.parts.pop_front();
        }
        Some((Ok::<_, Infallible>(part), sending))
    });
    // Compression polls it once more after its end.
    Body::from_stream(stream.fuse())
}
