//! One POST: what is sent, and whether it was taken.

use super::{secret::Secret, signature::signature};
use crate::{events::EncodedEvent, outbound::Outbound};
use axum::http::{HeaderValue, Request, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use std::{sync::Arc, time::Duration};

const AGENT: &str = concat!("countersign/", env!("CARGO_PKG_VERSION"));

/// Where to, and signed with what.
pub(super) struct Target {
    pub(super) url: Uri,
    pub(super) secret: Secret,
    pub(super) outbound: Arc<Outbound>,
    pub(super) timeout: Duration,
}

impl Target {
    /// `id` is the same for every attempt, the time and with it the signature are not.
    pub(super) async fn send(&self, id: &str, told: &EncodedEvent, now_ms: i64) -> Result<(), String> {
        let request = self.request(id, told, now_ms / 1000).ok_or("the request cannot be written")?;
        let status = self.outbound.post(request, self.timeout).await?;
        match status {
            _ if status.is_success() => Ok(()),
            _ if status.is_redirection() => Err(format!("{status}; redirects are not followed")),
            _ => Err(status.to_string()),
        }
    }

    fn request(&self, id: &str, told: &EncodedEvent, timestamp: i64) -> Option<Request<Full<Bytes>>> {
        let body = Bytes::from(told.json.clone());
        let signed = signature(self.secret.bytes(), id, timestamp, &body)?;
        Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(header::USER_AGENT, HeaderValue::from_static(AGENT))
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signed)
            .body(Full::new(body))
            .ok()
    }
}
