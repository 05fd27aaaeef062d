//! Accepts HTTP connections, limits how many are open, and closes them gracefully at shutdown.

use super::peer_user::{self, PeerUser};
use actors::reviewer_process::SocketHolder;
use axum::Router;
use hyper::{Request, body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    io,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;
use tracing::{debug, info, warn};

const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Refused connections that are answered at the same time; the rest are closed without a response.
const MAX_REFUSALS: usize = 64;

/// Problem details as `problem` renders them, but without the middleware.
const TOO_MANY_CONNECTIONS: &str = r#"{"type":"urn:countersign:problem:busy","title":"busy","status":503,"code":"busy","retryable":true,"detail":"the broker has as many connections as server.max_connections allows","error":"the broker has as many connections as server.max_connections allows"}"#;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_connections: usize,
    /// Time to receive the headers of a request, including its first byte: an idle connection is closed after it.
    pub header_timeout: Duration,
    /// Time in which a client must read some of its response. Unread data is held in memory.
    pub write_timeout: Duration,
    /// Time for open requests to end when the broker stops.
    pub grace: Duration,
}

/// How many connections are open, and since when none is.
#[derive(Debug)]
pub struct Activity(Mutex<(usize, Instant)>);

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }
}

impl Activity {
    /// How long no connection has been open.
    pub(crate) fn unused_for(&self) -> Duration {
        let (open, since) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open == 0 { since.elapsed() } else { Duration::ZERO }
    }

    /// A connection is open until the guard is dropped.
    fn begin(self: &Arc<Self>) -> InUse {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
        InUse(Arc::clone(self))
    }
}

struct InUse(Arc<Activity>);

impl Drop for InUse {
    fn drop(&mut self) {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (state.0.saturating_sub(1), Instant::now());
    }
}

/// The connection of a request, available as a request extension.
#[derive(Clone)]
pub(super) struct Connection {
    /// The process at the other end.
    pub(super) peer: Arc<Peer>,
    abort: CancellationToken,
    /// Held until the connection ends, also after it became a WebSocket.
    _permit: Arc<(OwnedSemaphorePermit, InUse)>,
}

/// What is known about the other end of a connection. Found once per connection.
pub(super) struct Peer {
    pub(super) user: PeerUser,
    /// The process that holds the socket, found when it is first needed.
    pub(super) holder: OnceCell<SocketHolder>,
}

impl Peer {
    fn of(stream: &TcpStream) -> Self {
        let user = match (stream.local_addr(), stream.peer_addr()) {
            (Ok(own), Ok(remote)) => peer_user::find(own, remote),
            (Err(_), _) | (_, Err(_)) => PeerUser::Unseen,
        };
        // If the connection is gone, another one may have its addresses.
        let user = if stream.peer_addr().is_ok() { user } else { PeerUser::Unseen };
        Self { user, holder: OnceCell::new() }
    }
}

impl Connection {
    /// Closes the connection although a response is not sent completely.
    pub(super) fn abort(&self) {
        self.abort.cancel();
    }
}

/// Serves until `shutdown`, then waits for open requests. The broker ends the long polls among them; a request that is
/// still open after the grace period is aborted.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    activity: Arc<Activity>,
    shutdown: CancellationToken,
) {
    let (connections, refusals) =
        (Arc::new(Semaphore::new(limits.max_connections)), Arc::new(Semaphore::new(MAX_REFUSALS)));
    let (tasks, cut) = (TaskTracker::new(), CancellationToken::new());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(MAX_HEADER_BYTES);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    pause_after(&error).await;
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
        let peer = Arc::new(Peer::of(&stream));
        // Responses are small and each has a waiting client.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.write_timeout));
        let permit = Arc::new((permit, activity.begin()));
        let connection = Connection { peer, abort: CancellationToken::new(), _permit: permit };
        let abort = connection.abort.clone();
        let app = app.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(connection.clone());
            request
        });
        let connection =
            http.serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(app)).with_upgrades();
        let (shutdown, cut) = (shutdown.clone(), cut.clone());
        tasks.spawn(async move {
            let mut connection = pin!(connection);
            let served = async {
                tokio::select! {
                    ended = connection.as_mut() => return ended,
                    () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
                }
                connection.await
            };
            tokio::select! {
                ended = served => if let Err(error) = ended {
                    debug!(%error, "connection ended");
                },
                () = cut.cancelled() => {}
                () = abort.cancelled() => debug!("connection aborted"),
            }
        });
    }
    drop(listener);
    tasks.close();
    info!("no longer listening");
    if timeout(limits.grace, tasks.wait()).await.is_err() {
        warn!(grace = ?limits.grace, "requests were still open at the end of the grace period");
    }
    cut.cancel();
    tasks.wait().await;
}

/// Waits after an error such as too many open files, which would otherwise repeat at once.
async fn pause_after(error: &io::Error) {
    let concerns_one_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !concerns_one_client {
        warn!(%error, "cannot accept");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Responds with 503, then reads until the client closes: closing first would reset the connection, and the client
/// would not see the response.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\nconnection: close";
    let response = format!("{head}\r\ncontent-length: {}\r\n\r\n{TOO_MANY_CONNECTIONS}", TOO_MANY_CONNECTIONS.len());
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await?;
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}
