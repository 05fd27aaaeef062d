//! An HTTP server that records the webhooks it receives.

use super::broker::TIMEOUT;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
    serve::Listener,
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How it responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Behavior {
    Status(u16),
    /// Refuses only bodies that contain this text.
    RefuseWith(&'static str),
    RedirectTo(String),
    /// Never responds.
    Hang,
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn seq(&self) -> u64 {
        self.json()["seq"].as_u64().unwrap()
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).to_str().unwrap()
    }
}

#[derive(Clone)]
struct Shared {
    behavior: Arc<Mutex<Behavior>>,
    got: UnboundedSender<Got>,
}

/// Listens on a free port until it is dropped.
pub(crate) struct Receiver {
    base: String,
    behavior: Arc<Mutex<Behavior>>,
    got: UnboundedReceiver<Got>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self::on(listener, format!("http://{address}"))
    }

    /// With TLS and a self-signed certificate, which is returned as PEM.
    pub(crate) async fn start_with_tls() -> (Self, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            config.unwrap().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = Tls(listener, TlsAcceptor::from(Arc::new(config)));
        (Self::on(listener, format!("https://localhost:{port}")), made.cert.pem())
    }

    fn on<L: Listener<Addr = SocketAddr>>(listener: L, base: String) -> Self {
        let (sender, got) = unbounded_channel();
        let behavior = Arc::new(Mutex::new(Behavior::Status(204)));
        let app = Router::new().fallback(take).with_state(Shared { behavior: Arc::clone(&behavior), got: sender });
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { base, behavior, got, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(crate) fn now(&self, behavior: Behavior) {
        *self.behavior.lock().unwrap() = behavior;
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Got {
        timeout(TIMEOUT, self.got.recv()).await.expect("in vain: a POST").unwrap()
    }

    /// Requests that were not read yet.
    pub(crate) fn rest(&mut self) -> Vec<Got> {
        std::iter::from_fn(|| self.got.try_recv().ok()).collect()
    }

    /// The settings of a webhook to this receiver.
    pub(crate) fn setting(&self, name: &str, more: &str) -> String {
        format!(
            "[[webhooks.receivers]]\nname = \"{name}\"\nurl = \"{}\"\n{more}\n",
            self.url("/hook/hunter2?key=sesame")
        )
    }
}

/// Accepts TLS connections and drops others.
struct Tls(TcpListener, TlsAcceptor);

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

async fn take(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let behavior = shared.behavior.lock().unwrap().clone();
    let is_refused = matches!(behavior, Behavior::RefuseWith(word) if String::from_utf8_lossy(&body).contains(word));
    let _ = shared.got.send(Got { path: uri.path().to_owned(), headers, body });
    match behavior {
        Behavior::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Behavior::RefuseWith(_) if is_refused => (StatusCode::SERVICE_UNAVAILABLE, "not now").into_response(),
        Behavior::RefuseWith(_) => StatusCode::NO_CONTENT.into_response(),
        Behavior::RedirectTo(location) => (StatusCode::TEMPORARY_REDIRECT, [("location", location)]).into_response(),
        Behavior::Hang => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            StatusCode::NO_CONTENT.into_response()
        }
    }
}
