//! The HTTP client of webhooks. It sends POST requests to the configured addresses only: it follows no redirects and uses
//! no proxy. The time of a request and the bytes read of a response are bounded.

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use domain::text::truncate;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider};
use std::{error::Error, io, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Most bytes read of a response, so that its connection can be reused. After more, the connection is closed.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// How long reading the response may take. After that the connection is closed.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Most characters of an error message.
const MAX_ERROR_CHARS: usize = 300;

/// How long an idle connection is kept: longer than the pauses between deliveries, shorter than most servers keep it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

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
