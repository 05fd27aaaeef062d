//! What the broker sends out: POSTs to addresses from its settings. No redirect is followed and no proxy is asked, so
//! nothing goes anywhere else; how long it takes and how much is read of the answer is bounded.

use axum::http::{Request, StatusCode};
use bytes::Bytes;
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

/// Read of an answer, so that the connection can be used again. What says more is cut off.
const ANSWER_BYTES: usize = 64 << 10;

/// How long it may take; else the connection is given up.
const REST: Duration = Duration::from_secs(1);

/// Of what went wrong, for people.
const ERROR_CHARS: usize = 300;

/// Longer than the pauses of a busy receiver, shorter than most of them keep a silent connection.
const IDLE: Duration = Duration::from_secs(20);

pub(crate) struct Outbound(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Outbound {
    /// The system's certificates are read only where `tls` says that somebody needs them.
    pub(crate) fn new(tls: bool) -> io::Result<Self> {
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
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).pool_max_idle_per_host(1);
        Ok(Self(client.build(connector)))
    }

    /// What the other side said, or in words why it did not.
    pub(crate) async fn post(&self, request: Request<Full<Bytes>>, patience: Duration) -> Result<StatusCode, String> {
        let ms = patience.as_millis();
        let answer =
            timeout(patience, self.0.request(request)).await.map_err(|_| format!("no answer within {ms} ms"))?;
        let answer = answer.map_err(|error| in_words(&error))?;
        let status = answer.status();
        // What comes after the status changes nothing any more, also when it never ends.
        let _ = timeout(REST, drain(answer.into_body())).await;
        Ok(status)
    }
}

async fn drain(mut body: Incoming) {
    let mut left = ANSWER_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(less) = left.checked_sub(length) else { return };
        left = less;
    }
}

/// With its causes, which say more than it does.
fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    domain::text::truncate(&words, ERROR_CHARS).to_owned()
}
