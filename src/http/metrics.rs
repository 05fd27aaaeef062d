//! Serves `/metrics`: metrics in the OpenMetrics text format. Counters live where they are incremented; gauges are read
//! when the page is requested. A label value is either a constant or the name of a registered project.

use super::problem_details::{problem, unavailable, with_text};
use crate::{live_events::Events, webhooks::Webhooks};
use actors::{
    Broker, BrokerError,
    actor_tree_report::{Node, Tree},
};
use axum::{extract::State, http::StatusCode, response::Response};
use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::ConstGauge,
        gauge::Gauge,
        info::Info,
    },
    registry::{Registry, Unit},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// The queue is counters in the database, so the result is cached for this long.
const QUEUE_CACHE_TTL: Duration = Duration::from_secs(2);

/// The label of reviews without a project. A project name is never empty.
const NO_PROJECT: &str = "";

type Queue = Vec<(Option<String>, domain::priority::Priority, u64)>;

#[derive(Clone)]
pub(super) struct Metrics(Arc<Inner>);

struct Inner {
    broker: Broker,
    events: Events,
    webhooks: Webhooks,
    started: Instant,
    /// Counters and histograms that live elsewhere.
    counters: Registry,
    queue: Mutex<Option<(Instant, Queue)>>,
}

impl Metrics {
    pub(super) fn new(broker: &Broker, events: &Events, webhooks: &Webhooks) -> Self {
        let mut counters = Registry::with_prefix("countersign");
        let metrics = broker.metrics();
        counters.register("calls", "Tool calls by outcome", metrics.calls.clone());
        let times = [
            ("commit_sync", "Duration of COMMIT, which waits for the disk", broker.feed().sync_times()),
            ("git_check", "Duration of the check of a diff", metrics.git_check_seconds.clone()),
        ];
        counters.register_with_unit("call", "Duration of a call", Unit::Seconds, metrics.call_seconds.clone());
        for (name, help, histogram) in times {
            counters.register_with_unit(name, help, Unit::Seconds, histogram);
        }
        counters.register("reviewer_spawns", "Reviewer processes started", metrics.spawns.clone());
        counters.register("reviewer_crashes", "Reviewer processes that failed", metrics.crashes.clone());
        counters.register("reviewer_turns", "Turns of dedicated reviewers", metrics.turns.clone());
        counters.register("actor_restarts", "Actors restarted after a failure", metrics.restarts.clone());
        counters.register("event_drops", "Event subscribers dropped because they did not read", events.dropped());
        if !webhooks.is_empty() {
            let help = "Webhook deliveries by outcome; failed counts single attempts";
            counters.register("webhook_deliveries", help, webhooks.deliveries());
        }
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        counters.register("build", "The running program", build);
        Self(Arc::new(Inner {
            broker: broker.clone(),
            events: events.clone(),
            webhooks: webhooks.clone(),
            started: Instant::now(),
            counters,
            queue: Mutex::new(None),
        }))
    }

    async fn render(&self) -> Result<String, BrokerError> {
        let gauges = self.gauges().await?;
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut text, &self.0.counters);
        let _ = encode_registry(&mut text, &gauges);
        let _ = encode_eof(&mut text);
        Ok(text)
    }

    /// The metrics that are read at each request.
    async fn gauges(&self) -> Result<Registry, BrokerError> {
        let Inner { broker, events, started, .. } = &*self.0;
        let mut gauges = Registry::with_prefix("countersign");
        let tree = broker.actors(0).await?;
        let (commits, changes) = (ConstCounter::new(tree.store.commits), ConstCounter::new(tree.store.changes));
        gauges.register("commits", "Transactions committed by the writer", commits);
        gauges.register("changes", "Changes committed by these transactions", changes);
        let mut gauge = |name: &str, help: &str, value: u64| {
            gauges.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
        };
        gauge("changes_waiting", "Changes waiting for a transaction", tree.store.waiting);
        gauge("calls_in_flight", "Calls in progress", tree.calls.in_flight as u64);
        gauge("calls_waiting", "Calls waiting for a change", tree.calls.waiting as u64);
        gauge("event_streams", "Open event streams", events.open_streams() as u64);
        gauge("event_subscribers", "Open event streams that have caught up", events.live_subscribers() as u64);
        gauges.register_with_unit(
            "uptime",
            "Time since the start",
            Unit::Seconds,
            ConstGauge::new(started.elapsed().as_secs_f64()),
        );
        self.add_queue(&mut gauges).await?;
        add_git_answers(&mut gauges, broker.git_answers());
        self.add_webhooks(&mut gauges).await?;
        self.add_reviewers(&mut gauges).await;
        add_actors(&mut gauges, &tree);
        Ok(gauges)
    }

    async fn add_queue(&self, gauges: &mut Registry) -> Result<(), BrokerError> {
        let depth = Family::<[(&'static str, String); 2], Gauge>::default();
        let mut cached = self.0.queue.lock().await;
        let queue = match &*cached {
            Some((at, queue)) if at.elapsed() < QUEUE_CACHE_TTL => queue.clone(),
            _ => cached.insert((Instant::now(), self.0.broker.reader().count_queue().await?)).1.clone(),
        };
        for (project, priority, reviews) in queue {
            let project = project.unwrap_or_else(|| NO_PROJECT.into());
            let labels = [("priority", priority.to_string()), ("project", project)];
            depth.get_or_create(&labels).set(i64::try_from(reviews).unwrap_or(i64::MAX));
        }
        gauges.register("queue_depth", "Reviews that can be claimed", depth);
        Ok(())
    }

    async fn add_webhooks(&self, gauges: &mut Registry) -> Result<(), BrokerError> {
        if self.0.webhooks.is_empty() {
            return Ok(());
        }
        let (lag, dead) = (Family::<[(&'static str, String); 1], Gauge>::default(), Family::<_, Gauge>::default());
        for hook in self.0.webhooks.list().await?.into_iter().filter(|hook| hook.configured) {
            let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let label = [("hook", hook.name)];
            lag.get_or_create(&label).set(signed(hook.lag));
            dead.get_or_create(&label).set(signed(hook.dead));
        }
        gauges.register("webhook_lag", "Events that a webhook has not processed yet", lag);
        gauges.register("webhook_dead", "Events that a webhook could not deliver", dead);
        Ok(())
    }

    /// Without a pool there are no reviewers; the other metrics are still shown.
    async fn add_reviewers(&self, gauges: &mut Registry) {
        let reviewers = Family::<[(&'static str, &'static str); 1], Gauge>::default();
        for state in domain::reviewer_pool::ReviewerState::ALL {
            reviewers.get_or_create(&[("state", state.as_str())]).set(0);
        }
        let pool = self.0.broker.pool_status().await.ok();
        let live = pool.as_ref().map(|pool| pool.live.as_slice()).unwrap_or_default();
        for reviewer in live {
            reviewers.get_or_create(&[("state", reviewer.state.as_str())]).inc();
        }
        gauges.register("reviewers", "Live reviewer processes by state", reviewers);
    }
}

fn add_git_answers(gauges: &mut Registry, counts: git::AnswerCounts) {
    let answers = Family::<[(&'static str, &'static str); 1], Counter>::default();
    for (by, count) in [("engine", counts.by_engine), ("git", counts.by_git), ("memory", counts.remembered)] {
        answers.get_or_create(&[("by", by)]).inc_by(count);
    }
    gauges.register("git_answers", "Names, checks and patch ids by who answered", answers);
    let differences = ConstCounter::new(counts.differences);
    gauges.register("git_engine_differences", "Answers of the engine that git did not give", differences);
}

/// Sums by kind of actor: a label for each review would grow without bound.
fn add_actors(gauges: &mut Registry, tree: &Tree) {
    type Label = [(&'static str, &'static str); 1];
    let (live, mailbox) = (Family::<Label, Gauge>::default(), Family::<Label, Gauge>::default());
    let add = |kind, count: u64, messages: u64| {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        live.get_or_create(&[("kind", kind)]).inc_by(signed(count));
        mailbox.get_or_create(&[("kind", kind)]).inc_by(signed(messages));
    };
    let mut nodes: Vec<&Node> = vec![&tree.root];
    while let Some(node) = nodes.pop() {
        add(node.kind, 1, node.mailbox);
        nodes.extend(&node.children);
    }
    add("review", tree.reviews.live as u64, tree.reviews.mailbox);
    gauges.register("actors", "Live actors", live);
    gauges.register("mailbox_depth", "Messages waiting in the mailboxes", mailbox);
}

pub(super) async fn show(State(metrics): State<Metrics>) -> Response {
    match metrics.render().await {
        Ok(text) => with_text(StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text),
        Err(error) => problem(unavailable(&error)),
    }
}
