//! Diffs and patches as text, for programs.

use super::{Api, ApiRequest, etag, large_body, response};
use crate::{
    http::problem::with_text,
    service::{CallError, FullDiff},
};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;

const DIFF: &str = "text/x-diff; charset=utf-8";
const PATCH: &str = "text/x-patch; charset=utf-8";

const SUBJECT_CHARS: usize = 200;

impl Api {
    /// Pages of JSON, or the whole diff if the caller accepts text.
    pub(super) async fn diff(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let mut response = if accepts_text(&request.parts.headers) {
            self.full_diff(request, DIFF, |_| Bytes::new()).await?
        } else {
            response::success(request, self.call(request).await?)
        };
        response::set_no_cache(response.headers_mut());
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    }

    /// A mail for `git am`. It holds only the diff and one line of the proposer's text: a description could contain a
    /// second diff, which git would apply although it was not reviewed.
    pub(super) async fn patch(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let mut response = self.full_diff(request, PATCH, |diff| mail_header(diff).into()).await?;
        response::set_no_cache(response.headers_mut());
        Ok(response)
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
        let etag = etag::from_version(found.version);
        let mut response = match etag.filter(|etag| etag::is_known(&request.parts.headers, etag)) {
            Some(_) => response::with_status(StatusCode::NOT_MODIFIED),
            None => {
                let connection = request.parts.extensions.get();
                let body = large_body::body([prefix(&found), diff], permit, connection);
                with_text(StatusCode::OK, content_type, body)
            }
        };
        // Weak, because the JSON page has the strong ETag of this version.
        let etag = HeaderValue::try_from(format!("W/\"{}\"", found.version)).map_err(|_| CallError::Internal)?;
        response.headers_mut().insert(header::ETAG, etag);
        if content_type == PATCH {
            let name = format!("attachment; filename=\"{}-round-{}.patch\"", found.number, found.round);
            let name = HeaderValue::try_from(name).map_err(|_| CallError::Internal)?;
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        }
        Ok(response)
    }
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
