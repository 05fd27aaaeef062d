//! `/metrics`: what operators watch, as Prometheus reads it. Counters live where they are raised; what can be asked for
//! is asked for when somebody scrapes. Every label is a word of ours or the name of a registered project.

use super::{answer::problem, events::Events};
use crate::{telemetry::traces, webhooks::Webhooks};
use actors::{Broker, BrokerError, introspection::Kind, pool::LiveReviewer};
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::ConstCounter, family::Family, gauge::ConstGauge, gauge::Gauge, info::Info},
    registry::{Registry, Unit},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The queue is counted in the database, but not for every scraper anew.
const QUEUE_GOOD_FOR: Duration = Duration::from_secs(2);

/// What stands for reviews without a project: no project can be called that.
const NO_PROJECT: &str = "";

type Queue = Vec<(Option<String>, domain::priority::Priority, u64)>;

#[derive(Clone)]
pub(super) struct Metrics(Arc<Inner>);

struct Inner {
    broker: Broker,
    events: Events,
    webhooks: Webhooks,
    started: Instant,
    /// What is counted where it happens.
    counted: Registry,
    queue: Mutex<Option<(Instant, Queue)>>,
}

impl Metrics {
    pub(super) fn new(broker: &Broker, events: &Events, webhooks: &Webhooks) -> Self {
        let mut counted = Registry::with_prefix("countersign");
        let metrics = broker.metrics();
        counted.register("calls", "Tool calls by how they ended", metrics.calls.clone());
        let times = [
            ("commit_sync", "Time of COMMIT, which waits for the disk", broker.sync_times()),
            ("git_check", "Time git took to try a diff", metrics.git_check_seconds.clone()),
        ];
        counted.register_with_unit("call", "Time from call to answer", Unit::Seconds, metrics.call_seconds.clone());
        for (name, help, histogram) in times {
            counted.register_with_unit(name, help, Unit::Seconds, histogram);
        }
        counted.register("reviewer_spawns", "Reviewer processes started", metrics.spawns.clone());
        counted.register("reviewer_crashes", "Reviewer processes that ended badly", metrics.crashes.clone());
        counted.register("actor_restarts", "Actors that were started again after a failure", metrics.restarts.clone());
        counted.register("event_drops", "Event subscribers dropped because they did not read", events.dropped());
        if !webhooks.is_empty() {
            let help = "Webhooks by what became of them; failed are single attempts";
            counted.register("webhook_deliveries", help, webhooks.deliveries());
        }
        if let Some(dropped) = traces::dropped() {
            counted.register("trace_spans_dropped", "Spans that the collector did not get", dropped);
        }
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        counted.register("build", "The running program", build);
        Self(Arc::new(Inner {
            broker: broker.clone(),
            events: events.clone(),
            webhooks: webhooks.clone(),
            started: Instant::now(),
            counted,
            queue: Mutex::new(None),
        }))
    }

    async fn write(&self) -> Result<String, BrokerError> {
        let asked = self.ask().await?;
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode_registry(&mut text, &self.0.counted);
        let _ = encode_registry(&mut text, &asked);
        let _ = encode_eof(&mut text);
        Ok(text)
    }

    /// What is only known now.
    async fn ask(&self) -> Result<Registry, BrokerError> {
        let Inner { broker, events, started, .. } = &*self.0;
        let mut asked = Registry::with_prefix("countersign");
        let census = broker.census().await?;
        let (commits, changes) = (ConstCounter::new(census.store.commits), ConstCounter::new(census.store.changes));
        asked.register("commits", "Transactions of the writer", commits);
        asked.register("changes", "Changes in them; their ratio is what group commit saves", changes);
        let mut gauge = |name: &str, help: &str, value: u64| {
            asked.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
        };
        gauge("changes_waiting", "Changes that wait for a transaction", census.store.waiting);
        gauge("calls_in_flight", "Calls that are being worked on", census.calls.in_flight as u64);
        gauge("calls_waiting", "Calls that wait for a change", census.calls.waiting as u64);
        gauge("event_streams", "Open event streams", events.open_streams() as u64);
        gauge("event_subscribers", "Those of them that have caught up", events.live_subscribers() as u64);
        asked.register_with_unit(
            "uptime",
            "Since the start",
            Unit::Seconds,
            ConstGauge::new(started.elapsed().as_secs_f64()),
        );
        self.ask_queue(&mut asked).await?;
        self.ask_webhooks(&mut asked).await?;
        let reviewers = self.ask_reviewers(&mut asked).await;
        show_actors(&mut asked, census.kinds.into_iter().chain(reviewers));
        Ok(asked)
    }

    async fn ask_queue(&self, asked: &mut Registry) -> Result<(), BrokerError> {
        let depth = Family::<[(&'static str, String); 2], Gauge>::default();
        let mut kept = self.0.queue.lock().await;
        let queue = match &*kept {
            Some((at, queue)) if at.elapsed() < QUEUE_GOOD_FOR => queue.clone(),
            _ => kept.insert((Instant::now(), self.0.broker.queue().await?)).1.clone(),
        };
        for (project, priority, reviews) in queue {
            let project = project.unwrap_or_else(|| NO_PROJECT.into());
            let labels = [("priority", priority.to_string()), ("project", project)];
            depth.get_or_create(&labels).set(i64::try_from(reviews).unwrap_or(i64::MAX));
        }
        asked.register("queue_depth", "Reviews that can be claimed", depth);
        Ok(())
    }

    async fn ask_webhooks(&self, asked: &mut Registry) -> Result<(), BrokerError> {
        if self.0.webhooks.is_empty() {
            return Ok(());
        }
        let (lag, dead) = (Family::<[(&'static str, String); 1], Gauge>::default(), Family::<_, Gauge>::default());
        for hook in self.0.webhooks.list().await?.into_iter().filter(|hook| hook.configured) {
            let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let label = [("hook", hook.name)];
            lag.get_or_create(&label).set(whole(hook.lag));
            dead.get_or_create(&label).set(whole(hook.dead));
        }
        asked.register("webhook_lag", "Events in the log that a webhook has not come to yet", lag);
        asked.register("webhook_dead", "Events that a webhook could not be told", dead);
        Ok(())
    }

    /// Without a pool there are none, and that is no reason to show nothing else.
    async fn ask_reviewers(&self, asked: &mut Registry) -> Option<Kind> {
        let reviewers = Family::<[(&'static str, &'static str); 1], Gauge>::default();
        for state in domain::pool::ReviewerState::ALL {
            reviewers.get_or_create(&[("state", state.as_str())]).set(0);
        }
        let pool = self.0.broker.live_reviewers().await.ok();
        let live = pool.as_ref().map(|pool| pool.live.as_slice()).unwrap_or_default();
        for reviewer in live {
            reviewers.get_or_create(&[("state", reviewer.state.as_str())]).inc();
        }
        asked.register("reviewers", "Live reviewer processes by what they do", reviewers);
        let mailbox = live.iter().map(LiveReviewer::mailbox).sum();
        (!live.is_empty()).then_some(Kind { name: "reviewer", live: live.len() as u64, mailbox })
    }
}

/// Summed up by kind: reviews come and go, and a label for each would never end.
fn show_actors(asked: &mut Registry, kinds: impl Iterator<Item = Kind>) {
    type Label = [(&'static str, &'static str); 1];
    let (live, mailbox) = (Family::<Label, Gauge>::default(), Family::<Label, Gauge>::default());
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for kind in kinds {
        live.get_or_create(&[("kind", kind.name)]).set(whole(kind.live));
        mailbox.get_or_create(&[("kind", kind.name)]).set(whole(kind.mailbox));
    }
    asked.register("actors", "Live actors", live);
    asked.register("mailbox_depth", "Messages that wait in their mailboxes", mailbox);
}

pub(super) async fn show(State(metrics): State<Metrics>) -> Response {
    match metrics.write().await {
        Ok(text) => {
            let mut response = Response::new(text.into());
            let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Err(error) => problem(StatusCode::SERVICE_UNAVAILABLE, error.code(), &error.to_string()),
    }
}
