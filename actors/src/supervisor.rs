//! The supervisor: starts and restarts the other actors and routes messages to live reviews.
//!
//! Every message to a review goes through this one mailbox. That makes it safe to stop an idle review: the supervisor
//! forgets it and asks it to stop in one step, so no message can still be on its way.

use crate::{
    Shared,
    actor_tree_report::{Node, ReviewTotals},
    error::BrokerError,
    gateway::{Gateway, GatewayMessage},
    lease_wakeups::DeadlineWatermark,
    mailbox::{ActorSlot, ActorStats, Mailbox},
    review::{ReviewActor, ReviewMessage, Snapshot, SnapshotSender},
    reviewer_pool::{PoolMessage, ReviewerPool},
    submission::Submissions,
};
use domain::{ids::ReviewId, review::Review, time::Tick};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use store::{Feed, Writer};
use tokio::{sync::watch, task::JoinHandle};

/// How long the pool may take to end its processes.
const POOL_STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Messages handled by the [`Supervisor`].
pub(crate) enum SupervisorMessage {
    /// Delivers a message to a review's actor, and starts the actor if it is not live.
    Deliver { id: ReviewId, fresh: bool, message: Box<ReviewMessage> },
    /// Subscribes to a review's snapshot. `None` if the review is not live and `start` is false, or if `reviews.max_live`
    /// is reached.
    Watch { id: ReviewId, start: bool, reply: RpcReplyPort<Option<watch::Receiver<Snapshot>>> },
    /// A review's actor has nothing left to do.
    Idle { id: ReviewId, actor: ActorId },
    /// Stops the actors of idle reviews.
    Sweep,
    /// Returns this actor with all below it. At most `max_reviews` reviews are listed; the totals count all.
    Inspect { max_reviews: usize, reply: RpcReplyPort<(Node, ReviewTotals)> },
    /// Lets all actors finish, then stops.
    Shutdown,
}

pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    submissions: Arc<Submissions>,
    pool: Arc<ActorSlot<PoolMessage>>,
    /// Deadlines of the reviews that it stops.
    deadlines: Arc<DeadlineWatermark>,
    writer: Writer,
    feed: Feed,
    stats: Arc<ActorStats>,
}

struct Live {
    mailbox: Mailbox<ReviewMessage>,
    snapshot: SnapshotSender,
}

/// The states of live reviews, for reads: they need not wait for the supervisor. Only the supervisor changes which
/// reviews are in it.
#[derive(Default)]
pub(crate) struct LiveSnapshots(RwLock<HashMap<ReviewId, (Arc<ActorStats>, SnapshotSender)>>);

impl LiveSnapshots {
    /// The committed state of a review that is live and loaded.
    pub(crate) fn read(&self, id: ReviewId) -> Option<Arc<Review>> {
        let live = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (stats, snapshot) = live.get(&id)?;
        match &*snapshot.borrow() {
            Snapshot::Ready(review) => {
                stats.touch();
                Some(Arc::clone(review))
            }
            Snapshot::Loading | Snapshot::Missing | Snapshot::Unreadable(_) => None,
        }
    }

    fn add(&self, id: ReviewId, live: &Live) {
        let entry = (Arc::clone(&live.mailbox.stats), Arc::clone(&live.snapshot));
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, entry);
    }

    fn remove(&self, id: ReviewId) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

pub(crate) struct State {
    mailbox: Mailbox<SupervisorMessage>,
    live: HashMap<ReviewId, Live>,
    gateway: Mailbox<GatewayMessage>,
    gateway_restarts: u64,
    pool: Mailbox<PoolMessage>,
    pool_restarts: u64,
    /// How often a review's actor failed, and the last error.
    failures: HashMap<ReviewId, (u64, String)>,
    stopping: bool,
}

/// Starts the actors. The handle resolves when the supervisor stops.
pub(crate) async fn start(
    submissions: Arc<Submissions>,
    pool: Arc<ActorSlot<PoolMessage>>,
    deadlines: Arc<DeadlineWatermark>,
    writer: Writer,
    feed: Feed,
) -> Result<(Mailbox<SupervisorMessage>, JoinHandle<()>), SpawnErr> {
    let (shared, stats) = (Arc::clone(&submissions.shared), Arc::new(ActorStats::new()));
    let supervisor = Supervisor { shared, submissions, pool, deadlines, writer, feed, stats: Arc::clone(&stats) };
    let (actor, ended) = Actor::spawn(None, supervisor, ()).await?;
    Ok((Mailbox::new(actor, stats), ended))
}

type Handled = Result<(), ActorProcessingErr>;

impl Actor for Supervisor {
    type Msg = SupervisorMessage;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<State, ActorProcessingErr> {
        let mailbox = Mailbox::new(myself, Arc::clone(&self.stats));
        let gateway = self.start_gateway(&mailbox).await?;
        let pool = self.start_pool(&mailbox, Duration::ZERO).await?;
        let pause = (self.shared.settings.idle_after / 4).clamp(Duration::from_millis(50), Duration::from_secs(60));
        let (sweeping, closing) = (mailbox.clone(), self.shared.closing.clone());
        tokio::spawn(closing.run_until_cancelled_owned(async move {
            loop {
                tokio::time::sleep(pause).await;
                sweeping.send(SupervisorMessage::Sweep);
            }
        }));
        Ok(State {
            mailbox,
            live: HashMap::new(),
            gateway,
            gateway_restarts: 0,
            pool,
            pool_restarts: 0,
            failures: HashMap::new(),
            stopping: false,
        })
    }

    async fn handle(&self, _: ActorRef<Self::Msg>, message: Self::Msg, state: &mut State) -> Handled {
        self.stats.taken();
        match message {
            SupervisorMessage::Deliver { id, fresh, message } => self.deliver(state, id, fresh, *message).await?,
            SupervisorMessage::Watch { id, start, reply } => {
                if !state.live.contains_key(&id) && start && self.has_room(state) {
                    Box::pin(self.wake(state, id, false)).await?;
                }
                let snapshot = state.live.get(&id).map(|live| {
                    live.mailbox.stats.touch();
                    live.snapshot.subscribe()
                });
                let _ = reply.send(snapshot);
            }
            SupervisorMessage::Idle { id, actor } => {
                if state.live.get(&id).is_some_and(|live| live.mailbox.id() == actor) {
                    self.rest(state, id);
                }
            }
            SupervisorMessage::Sweep => self.sweep(state),
            SupervisorMessage::Inspect { max_reviews, reply } => {
                let _ = reply.send(self.inspect(state, max_reviews));
            }
            SupervisorMessage::Shutdown => Box::pin(self.shut_down(state)).await,
        }
        Ok(())
    }

    /// Ractor's default would stop the supervisor together with any of its children.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Handled {
        let (actor, failure) = match event {
            SupervisionEvent::ActorFailed(actor, error) => (actor, Some(error.to_string())),
            SupervisionEvent::ActorTerminated(actor, _, _) => (actor, None),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        if actor.get_id() == state.gateway.id() {
            if !state.stopping {
                tracing::error!(error = failure.as_deref().unwrap_or("it stopped"), "gateway restarted");
                state.gateway = Box::pin(self.start_gateway(&state.mailbox)).await?;
                state.gateway_restarts += 1;
                self.shared.metrics.restarted("gateway");
            }
            return Ok(());
        }
        if actor.get_id() == state.pool.id() {
            if !state.stopping && !self.shared.closing.is_cancelled() {
                tracing::error!(error = failure.as_deref().unwrap_or("it stopped"), "reviewer pool restarted");
                state.pool_restarts += 1;
                self.shared.metrics.restarted("pool");
                state.pool = self.start_pool(&state.mailbox, restart_delay(state.pool_restarts)).await?;
            }
            return Ok(());
        }
        let Some(error) = failure else { return Ok(()) };
        // The next message starts another actor from the database.
        let id = state.live.iter().find(|(_, live)| live.mailbox.id() == actor.get_id()).map(|(id, _)| *id);
        if let Some(id) = id {
            tracing::warn!(review.id = %id, %error, "review actor failed; it restarts from its snapshot");
            let Some(live) = state.live.remove(&id) else { return Ok(()) };
            self.shared.live_snapshots.remove(id);
            // A proposal that could not be saved has no review, so it is not restarted.
            if !matches!(&*live.snapshot.borrow(), Snapshot::Missing) {
                let count = state.failures.get(&id).map_or(0, |(count, _)| *count);
                state.failures.insert(id, (count + 1, error));
                self.shared.metrics.restarted("review");
                if state.failures.len() > self.shared.settings.max_live {
                    state.failures.retain(|failed, _| *failed == id || state.live.contains_key(failed));
                }
            }
            let needed = live.snapshot.receiver_count() > 0 || deadline(&live).is_some();
            if needed && !state.stopping {
                Box::pin(self.wake(state, id, false)).await?;
            } else if matches!(&*live.snapshot.borrow(), Snapshot::Unreadable(_)) && !state.stopping {
                // It was started for a reason, such as a deadline, so it is tried again.
                let failures = state.failures.get(&id).map_or(1, |(count, _)| *count);
                self.expire_later(state.mailbox.clone(), id, restart_delay(failures));
            }
        }
        Ok(())
    }
}

impl Supervisor {
    fn expire_later(&self, mailbox: Mailbox<SupervisorMessage>, id: ReviewId, pause: Duration) {
        tokio::spawn(self.shared.closing.clone().run_until_cancelled_owned(async move {
            tokio::time::sleep(pause).await;
            let message = Box::new(ReviewMessage::Expire);
            mailbox.send(SupervisorMessage::Deliver { id, fresh: false, message });
        }));
    }

    async fn shut_down(&self, state: &mut State) {
        state.stopping = true;
        // The pool ends its reviewers; their last changes go through the gateway.
        let _ = state.pool.actor.wait(Some(POOL_STOP_TIMEOUT)).await;
        for id in state.live.keys().copied().collect::<Vec<_>>() {
            self.rest(state, id);
        }
        // Reviews stop first, because their last commits go through the gateway.
        let (myself, gateway, timeout) = (&state.mailbox.actor, state.gateway.id(), Some(Duration::from_secs(10)));
        for review in myself.get_children().into_iter().filter(|child| child.get_id() != gateway) {
            let _ = review.drain_and_wait(timeout).await;
        }
        myself.drain_children_and_wait(timeout).await;
        myself.stop(None);
    }

    async fn start_gateway(&self, parent: &Mailbox<SupervisorMessage>) -> Result<Mailbox<GatewayMessage>, SpawnErr> {
        let stats = Arc::new(ActorStats::new());
        let gateway = Gateway { supervisor: parent.clone(), writer: self.writer.clone(), stats: Arc::clone(&stats) };
        let (actor, _) = Actor::spawn_linked(None, gateway, (), parent.actor.get_cell()).await?;
        let gateway = Mailbox::new(actor, stats);
        self.submissions.reviews.gateway.set(gateway.clone());
        Ok(gateway)
    }

    /// Starts a pool. If a pool fails, its reviewers end with it, and the next one releases their claims.
    async fn start_pool(
        &self,
        parent: &Mailbox<SupervisorMessage>,
        start_delay: Duration,
    ) -> Result<Mailbox<PoolMessage>, SpawnErr> {
        let stats = Arc::new(ActorStats::new());
        let (shared, submissions) = (Arc::clone(&self.shared), Arc::clone(&self.submissions));
        let feed = self.feed.clone();
        let pool = ReviewerPool { shared, submissions, feed, stats: Arc::clone(&stats), start_delay };
        let (actor, _) = Actor::spawn_linked(None, pool, (), parent.actor.get_cell()).await?;
        let pool = Mailbox::new(actor, stats);
        self.pool.set(pool.clone());
        Ok(pool)
    }

    async fn deliver(
        &self,
        state: &mut State,
        id: ReviewId,
        fresh: bool,
        message: ReviewMessage,
    ) -> Result<(), SpawnErr> {
        if state.stopping {
            message.refuse(BrokerError::ShuttingDown);
            return Ok(());
        }
        // A command that git worked for and an expired lease are always delivered.
        if !state.live.contains_key(&id) && !self.has_room(state) && message.is_call() {
            message.refuse(BrokerError::Busy { what: "as many reviews are awake as reviews.max_live allows" });
            return Ok(());
        }
        let live = match state.live.get(&id) {
            Some(live) => live,
            // Boxed, so that messages to live reviews do not carry room for this future.
            None => Box::pin(self.wake(state, id, fresh)).await?,
        };
        if message.is_call() && live.mailbox.stats.mailbox() >= self.shared.settings.limits.calls_per_review {
            message.refuse(BrokerError::Busy { what: "too many calls wait for this review" });
            return Ok(());
        }
        // An actor that has failed but is not removed yet drops the message; its caller gets `Restarted`.
        live.mailbox.send(message);
        Ok(())
    }

    async fn wake<'a>(&self, state: &'a mut State, id: ReviewId, fresh: bool) -> Result<&'a Live, SpawnErr> {
        let snapshot: SnapshotSender = Arc::new(watch::Sender::new(Snapshot::Loading));
        let stats = Arc::new(ActorStats::new());
        let review = ReviewActor {
            id,
            fresh,
            restart_delay: restart_delay(state.failures.get(&id).map_or(0, |(count, _)| *count)),
            shared: Arc::clone(&self.shared),
            submissions: Arc::clone(&self.submissions),
            supervisor: state.mailbox.clone(),
            snapshot: Arc::clone(&snapshot),
            stats: Arc::clone(&stats),
        };
        let (actor, _) = Actor::spawn_linked(None, review, (), state.mailbox.actor.get_cell()).await?;
        let live = state.live.entry(id).or_insert(Live { mailbox: Mailbox::new(actor, stats), snapshot });
        self.shared.live_snapshots.add(id, live);
        Ok(live)
    }

    fn sweep(&self, state: &mut State) {
        let idle_after = self.shared.settings.idle_after;
        let idle: Vec<_> = state
            .live
            .iter()
            .filter(|(_, live)| live.mailbox.stats.idle() >= idle_after && may_rest(live))
            .map(|(id, _)| *id)
            .collect();
        for id in idle {
            self.rest(state, id);
        }
    }

    /// Whether one more review may be live. If not, the tenth that was idle longest is stopped, so that this happens
    /// rarely.
    fn has_room(&self, state: &mut State) -> bool {
        let max_live = self.shared.settings.max_live;
        if state.live.len() < max_live {
            return true;
        }
        let mut resting: Vec<_> = state
            .live
            .iter()
            .filter(|(_, live)| may_rest(live))
            .map(|(id, live)| (live.mailbox.stats.idle(), *id))
            .collect();
        resting.sort_unstable_by(|a, b| b.cmp(a));
        for (_, id) in resting.into_iter().take(max_live / 10 + 1) {
            self.rest(state, id);
        }
        state.live.len() < max_live
    }

    /// Removes a review and stops its actor, which still handles the messages in its mailbox.
    fn rest(&self, state: &mut State, id: ReviewId) {
        if let Some(live) = state.live.remove(&id) {
            self.shared.live_snapshots.remove(id);
            if let Some(deadline) = deadline(&live) {
                self.deadlines.add(deadline);
            }
            state.failures.remove(&id);
            live.mailbox.send(ReviewMessage::Rest);
        }
    }

    fn inspect(&self, state: &State, max_reviews: usize) -> (Node, ReviewTotals) {
        let (gateway, pool) = (&state.gateway, &state.pool);
        let mut children = vec![
            gateway.stats.node("gateway", gateway.id().to_string(), "running".into(), state.gateway_restarts),
            pool.stats.node("pool", pool.id().to_string(), "running".into(), state.pool_restarts),
        ];
        if max_reviews > 0 {
            children.extend(inspect_reviews(state, max_reviews));
        }
        let mailbox = state.live.values().map(|live| live.mailbox.stats.mailbox()).sum();
        let status = format!("running, {} live reviews", state.live.len());
        let root = self.stats.node("supervisor", state.mailbox.id().to_string(), status, 0);
        (Node { children, ..root }, ReviewTotals { live: state.live.len(), mailbox })
    }
}

/// The first live reviews by number.
fn inspect_reviews(state: &State, max_reviews: usize) -> Vec<Node> {
    let describe = |(id, live): (&ReviewId, &Live)| match &*live.snapshot.borrow() {
        Snapshot::Ready(review) => (review.number.0, format!("{} {id}", review.number), review.status.to_string(), *id),
        Snapshot::Loading => (i64::MAX, id.to_string(), "loading".into(), *id),
        Snapshot::Missing => (i64::MAX, id.to_string(), "missing".into(), *id),
        Snapshot::Unreadable(_) => (i64::MAX, id.to_string(), "unreadable".into(), *id),
    };
    let mut reviews: Vec<_> = state.live.iter().map(describe).collect();
    reviews.sort_unstable();
    let node = |(_, name, status, id): (_, String, String, ReviewId)| {
        let live = state.live.get(&id)?;
        let (restarts, error) = state.failures.get(&id).map_or((0, None), |(n, error)| (*n, Some(error.clone())));
        let node = live.mailbox.stats.node("review", name, status, restarts);
        Some(Node { last_error: error.or(node.last_error), ..node })
    };
    reviews.into_iter().take(max_reviews).filter_map(node).collect()
}

/// A review that is busy or watched stays live. `lease_wakeups` keeps the deadlines of the others.
fn may_rest(live: &Live) -> bool {
    let loading = matches!(&*live.snapshot.borrow(), Snapshot::Loading);
    !loading && !live.mailbox.stats.is_busy() && live.snapshot.receiver_count() == 0
}

/// When its next lease or reservation ends.
fn deadline(live: &Live) -> Option<Tick> {
    match &*live.snapshot.borrow() {
        Snapshot::Ready(review) => review.next_deadline(),
        Snapshot::Loading | Snapshot::Missing | Snapshot::Unreadable(_) => None,
    }
}

/// How long a restarted review waits before it repeats a failed step by itself. Calls do not wait for it.
fn restart_delay(failures: u64) -> Duration {
    Duration::from_secs(failures.min(30))
}
