//! Traces over OTLP, off unless `telemetry.otlp_endpoint` says where to: a span per request and one per call of a tool.
//! Like the log there is one exporter per process.
//!
//! Spans go into a bounded queue and from there in batches to the collector, as JSON over HTTP. What does not fit, or
//! is not taken, is dropped and counted: a collector can neither slow a call down nor fail it
//! (docs/adr/0018-traces-by-a-small-exporter.md).

use crate::outbound::Outbound;
use anyhow::Context as _;
use axum::http::{HeaderValue, Request, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use prometheus_client::metrics::counter::Counter;
use std::{num::NonZeroU64, sync::OnceLock, time::Duration};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

mod span;

pub(crate) use span::{Kind, Span, Started};

/// Spans that may wait.
const QUEUE: usize = 4096;

/// Spans in one POST.
const BATCH: usize = 512;

/// How long the first of a batch waits for others.
const GATHER: Duration = Duration::from_millis(500);

/// What the collector is given to take a batch.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same for all that is left when the broker ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

static EXPORTER: OnceLock<Exporter> = OnceLock::new();

struct Exporter {
    queue: mpsc::Sender<Span>,
    dropped: Counter,
}

/// The task that sends, to be ended with the broker.
pub struct Sending {
    ending: CancellationToken,
    task: JoinHandle<()>,
}

/// Starts to send to this collector; `None` where there is none.
pub fn start(endpoint: &str) -> anyhow::Result<Option<Sending>> {
    if endpoint.is_empty() {
        return Ok(None);
    }
    let url = address(endpoint).context("telemetry.otlp_endpoint")?;
    let outbound = Outbound::new(url.scheme_str() == Some("https")).context("the system's certificates")?;
    let (queue, waiting) = mpsc::channel(QUEUE);
    let (dropped, ending) = (Counter::default(), CancellationToken::new());
    let collector = Collector { url, outbound, dropped: dropped.clone(), is_well: true };
    let task = tokio::spawn(collector.feed(waiting, ending.clone()));
    anyhow::ensure!(EXPORTER.set(Exporter { queue, dropped }).is_ok(), "traces are already set up");
    Ok(Some(Sending { ending, task }))
}

/// The collector's address for traces, from the one that all signals share.
fn address(endpoint: &str) -> Result<Uri, axum::http::uri::InvalidUri> {
    let base = endpoint.trim_end_matches('/');
    if base.ends_with("/v1/traces") { base.parse() } else { format!("{base}/v1/traces").parse() }
}

impl Sending {
    /// Sends what waits, within a short limit.
    pub async fn end(self) {
        self.ending.cancel();
        let _ = self.task.await;
    }
}

/// A span id, where spans are made at all.
pub(crate) fn next_span() -> Option<NonZeroU64> {
    EXPORTER.get()?;
    // Two bits of it are fixed, and the rest is random enough.
    let (_, random) = Uuid::new_v4().as_u64_pair();
    NonZeroU64::new(random)
}

/// Hands a span over, or drops it.
pub(crate) fn record(span: Span) {
    if let Some(Exporter { queue, dropped }) = EXPORTER.get()
        && queue.try_send(span).is_err()
    {
        dropped.inc();
    }
}

/// Spans that never got to the collector.
pub(crate) fn dropped() -> Option<Counter> {
    EXPORTER.get().map(|exporter| exporter.dropped.clone())
}

struct Collector {
    url: Uri,
    outbound: Outbound,
    dropped: Counter,
    is_well: bool,
}

impl Collector {
    async fn feed(mut self, mut waiting: mpsc::Receiver<Span>, ending: CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                biased;
                () = ending.cancelled() => break,
                count = waiting.recv_many(&mut batch, BATCH) => if count == 0 { return },
            }
            gather(&mut batch, &mut waiting, &ending).await;
            tokio::select! {
                () = self.send(&batch, PATIENCE) => {}
                // It may have them already, and then has them twice, which it can tell by their ids.
                () = ending.cancelled() => break,
            }
            batch.clear();
        }
        waiting.close();
        let rest = async {
            loop {
                while batch.len() < BATCH
                    && let Ok(span) = waiting.try_recv()
                {
                    batch.push(span);
                }
                if batch.is_empty() {
                    return;
                }
                self.send(&batch, LAST_WORDS).await;
                batch.clear();
            }
        };
        if timeout(LAST_WORDS, rest).await.is_err() {
            tracing::warn!("some traces were not sent before the end");
        }
    }

    async fn send(&mut self, batch: &[Span], patience: Duration) {
        let error = match self.request(batch) {
            Some(request) => match self.outbound.post(request, patience).await {
                Ok(status) if status.is_success() => None,
                Ok(status) => Some(status.to_string()),
                Err(error) => Some(error),
            },
            None => Some("the request cannot be written".to_owned()),
        };
        // One line when it begins to fail, and not one for every batch.
        match &error {
            Some(error) if self.is_well => tracing::warn!(%error, "the collector takes no traces; they are dropped"),
            None if !self.is_well => tracing::info!("the collector takes traces again"),
            Some(_) | None => {}
        }
        self.is_well = error.is_none();
        if error.is_some() {
            self.dropped.inc_by(batch.len() as u64);
        }
    }

    fn request(&self, batch: &[Span]) -> Option<Request<Full<Bytes>>> {
        Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::new(span::export(batch).to_string().into()))
            .ok()
    }
}

/// Waits a moment for others, so that a crowd of calls costs one POST.
async fn gather(batch: &mut Vec<Span>, waiting: &mut mpsc::Receiver<Span>, ending: &CancellationToken) {
    let more = async {
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            if waiting.recv_many(batch, room).await == 0 {
                return;
            }
        }
    };
    tokio::select! {
        _ = timeout(GATHER, more) => {}
        () = ending.cancelled() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_of_all_signals_is_made_that_of_traces() {
        for endpoint in ["http://c:4318", "http://c:4318/", "http://c:4318/v1/traces"] {
            assert_eq!(address(endpoint).unwrap().to_string(), "http://c:4318/v1/traces");
        }
        assert_eq!(address("https://c/otlp/").unwrap().to_string(), "https://c/otlp/v1/traces");
    }
}
