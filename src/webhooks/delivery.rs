//! One delivery: the signed request of [Standard Webhooks](https://www.standardwebhooks.com), and when it is retried.

use super::{http_client::HttpClient, secret::Secret};
use crate::events::EncodedEvent;
use axum::http::{HeaderValue, Request, Uri, header};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use sha2::Sha256;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

const USER_AGENT: &str = concat!("countersign/", env!("CARGO_PKG_VERSION"));

/// Longer delays would only let the log run ahead.
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);

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
