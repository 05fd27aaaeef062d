//! Sends one event to a webhook: builds and signs the request of [Standard Webhooks](https://www.standardwebhooks.com),
//! sends it over HTTP, and decides when it is retried.

use super::signing_secret::Secret;
use crate::live_events::EncodedEvent;
use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use domain::text::truncate;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider};
use sha2::Sha256;
use std::{error::Error, io, sync::Arc, time::Duration};
use tokio::time::timeout;
use uuid::Uuid;

const USER_AGENT: &str = concat!("countersign/", env!("CARGO_PKG_VERSION"));

/// Longer delays would only let the log run ahead.
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);

/// Most bytes read of a response, so that its connection can be reused. After more, the connection is closed.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// How long reading the response may take. After that the connection is closed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Most characters of an error message.
const MAX_ERROR_CHARS: usize = 300;

/// How long an idle connection is kept: longer than the pauses between deliveries, shorter than most servers keep it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Where a webhook's requests go, and the secret that signs them.
pub(super) struct Endpoint {
    pub(super) url: Uri,
    pub(super) secret: Secret,
    pub(super) client: Arc<HttpClient>,
    pub(super) timeout: Duration,
}

impl Endpoint {
    /// Sends one event. All attempts share the `id`; each has its own time and signature.
    pub(super) async fn send(&self, id: &str, event: &EncodedEvent, now_ms: i64) -> Result<(), String> {
        let request = self.request(id, event, now_ms / 1000).ok_or("the request cannot be built")?;
        let status = self.client.post(request, self.timeout).await?;
        match status {
            _ if status.is_success() => Ok(()),
            _ if status.is_redirection() => Err(format!("{status}; redirects are not followed")),
            _ => Err(status.to_string()),
        }
    }

    fn request(&self, id: &str, event: &EncodedEvent, timestamp: i64) -> Option<Request<Full<Bytes>>> {
        let body = Bytes::from(event.json.clone());
        let signature = sign(self.secret.bytes(), id, timestamp, &body)?;
        Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(header::USER_AGENT, HeaderValue::from_static(USER_AGENT))
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(Full::new(body))
            .ok()
    }
}

/// The value of the header `webhook-signature`.
fn sign(secret: &[u8], id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    // HMAC accepts keys of any length, so this does not fail.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
}

/// How often a delivery is attempted, and the delays between attempts.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    pub(super) max_attempts: u32,
    pub(super) first_delay: Duration,
}

impl RetryPolicy {
    /// The delay after `failures` failures: doubled each time, with a jitter of up to half, so that webhooks that failed
    /// together do not retry together.
    pub(super) fn delay(&self, failures: u32) -> Duration {
        let doubled = self.first_delay.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        let longest = doubled.min(MAX_DELAY.max(self.first_delay));
        // The lowest bits of a version 4 UUID are random.
        let (_, random) = Uuid::new_v4().as_u64_pair();
        let fraction = (random & 0xffff_ffff) as f64 / f64::from(u32::MAX);
        longest.mul_f64(0.5 + fraction / 2.0)
    }
}

/// Sends POST requests to the configured addresses only: it follows no redirects and uses no proxy. The time of a request
/// and the bytes read of a response are bounded.
pub(super) struct HttpClient(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl HttpClient {
    /// Loads the system's certificates only if `tls` is set.
    pub(super) fn new(tls: bool) -> io::Result<Self> {
        let connector = if tls {
            HttpsConnectorBuilder::new().with_provider_and_native_roots(default_provider())?
        } else {
            let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth();
            HttpsConnectorBuilder::new().with_tls_config(config)
        };
        let connector = connector.https_or_http().enable_http1().build();
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT).pool_max_idle_per_host(1);
        Ok(Self(client.build(connector)))
    }

    /// Sends a request and returns the status of the response.
    pub(super) async fn post(&self, request: Request<Full<Bytes>>, limit: Duration) -> Result<StatusCode, String> {
        let ms = limit.as_millis();
        let response =
            timeout(limit, self.0.request(request)).await.map_err(|_| format!("no response within {ms} ms"))?;
        let response = response.map_err(|error| error_chain(&error))?;
        let status = response.status();
        // Only the status counts, even if the body never ends.
        let _ = timeout(RESPONSE_TIMEOUT, drain(response.into_body())).await;
        Ok(status)
    }
}

async fn drain(mut body: Incoming) {
    let mut left = MAX_RESPONSE_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(length) else { return };
        left = rest;
    }
}

/// The error and its causes.
fn error_chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    truncate(&message, MAX_ERROR_CHARS).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{MAX_DELAY, RetryPolicy, sign};
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use std::time::Duration;

    /// The example that the libraries of Standard Webhooks are tested with.
    #[test]
    fn a_known_message_has_the_known_signature() {
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn delays_double_up_to_a_maximum() {
        let retry = RetryPolicy { max_attempts: 10, first_delay: Duration::from_secs(1) };
        for (failures, most) in [(1, 1), (2, 2), (5, 16), (9, 256), (10, 300), (100, 300)] {
            let most = Duration::from_secs(most);
            for _ in 0..20 {
                let delay = retry.delay(failures);
                assert!(delay >= most / 2 && delay <= most, "{failures}: {delay:?}");
            }
        }
        assert_eq!(MAX_DELAY, Duration::from_secs(300));
    }
}
