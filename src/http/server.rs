//! Accepts connections, bounds them, and ends them in order.

use super::patience::Patient;
use axum::Router;
use hyper::{Request, body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{io, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Refusals written at once; beyond them a connection is simply closed.
const REFUSALS: usize = 64;

/// A problem like any other, written without the layers that make those.
const TOO_MANY: &str = r#"{"type":"urn:countersign:problem:busy","title":"busy","status":503,"code":"busy","retryable":true,"detail":"the broker has as many connections as server.max_connections allows","error":"the broker has as many connections as server.max_connections allows"}"#;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_connections: usize,
    /// For the first byte of a request as well: an idle connection is closed after it.
    pub header_timeout: Duration,
    /// For a client to take some more of its answer.
    pub write_timeout: Duration,
    /// What requests under way are given when the broker stops.
    pub grace: Duration,
}

/// The connection that a request came on, put beside it.
#[derive(Clone)]
pub(super) struct Line {
    hang_up: CancellationToken,
    /// A connection that became a WebSocket keeps its place with this.
    _place: Arc<OwnedSemaphorePermit>,
}

impl Line {
    /// Cuts it: for answers that nobody takes.
    pub(super) fn hang_up(&self) {
        self.hang_up.cancel();
    }
}

/// Serves until `shutdown`, then lets requests under way end. Who waits inside a call must be woken
/// by the broker; only what is still open after the grace is cut.
pub async fn serve(listener: TcpListener, app: Router, limits: Limits, shutdown: CancellationToken) {
    let (connections, refusals) =
        (Arc::new(Semaphore::new(limits.max_connections)), Arc::new(Semaphore::new(REFUSALS)));
    let (tasks, cut) = (TaskTracker::new(), CancellationToken::new());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(MAX_HEADER_BYTES);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    rest_after(&error).await;
                    continue;
                }
            },
            () = shutdown.cancelled() => break,
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            if let Ok(permit) = refusals.clone().try_acquire_owned() {
                tasks.spawn(async move {
                    let _ = timeout(Duration::from_secs(2), refuse(stream)).await;
                    drop(permit);
                });
            }
            continue;
        };
        // Answers are small and somebody waits for each of them.
        let _ = stream.set_nodelay(true);
        let stream = Patient::new(stream, limits.write_timeout);
        let line = Line { hang_up: CancellationToken::new(), _place: Arc::new(permit) };
        let hang_up = line.hang_up.clone();
        let app = app.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(line.clone());
            request
        });
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app)).with_upgrades();
        let (shutdown, cut) = (shutdown.clone(), cut.clone());
        tasks.spawn(async move {
            let mut connection = pin!(connection);
            let last_answer = async {
                tokio::select! {
                    ended = connection.as_mut() => return ended,
                    () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
                }
                connection.await
            };
            tokio::select! {
                ended = last_answer => if let Err(error) = ended {
                    debug!(%error, "connection ended");
                },
                () = cut.cancelled() => {}
                () = hang_up.cancelled() => debug!("connection cut"),
            }
        });
    }
    drop(listener);
    tasks.close();
    info!("no longer listening");
    if timeout(limits.grace, tasks.wait()).await.is_err() {
        warn!(grace = ?limits.grace, "requests were still open when the grace ended");
    }
    cut.cancel();
    tasks.wait().await;
}

/// Out of file descriptors, say: trying again at once would only burn the processor.
async fn rest_after(error: &io::Error) {
    let of_one_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !of_one_client {
        warn!(%error, "cannot accept");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Reads what the client sends until it has read the answer: closing before that would reset the
/// connection and take the answer with it.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{TOO_MANY}", TOO_MANY.len());
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}
