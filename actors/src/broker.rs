//! The interface of the actors: one typed method per operation.

mod authentication;
mod event_log;
mod findings;
mod history;
mod long_poll;
mod pool;
mod review_list;
mod round_diff;
mod webhooks;

pub use round_diff::{Bases, Changes};

use crate::{
    Context, Credentials,
    actor_stats::Mailbox,
    error::BrokerError,
    gateway::CommandPayload,
    introspection::{CallStats, Census, Tree, WriterStats},
    limits::{Limits, Text},
    queue_cache::SharedLists,
    requests::{MessageRequest, MessageResult, NewProposal, RecordedAs, Revision, Submitted, VerdictRequest},
    review::{CommandOutcome, Snapshot},
    submission::{PreparedDraft, front_matter, panel, review_id, unreadable},
    supervisor::SupervisorMessage,
};
use domain::{
    content::{Content, ContentHash},
    credential::Scope,
    default_panel::ChosenPanel,
    ids::{ReviewId, ReviewNumber},
    persona::Persona,
    priority::Priority,
    review::{
        AcceptCounterPatch, AddMessage, ClaimSeat, Command, Proposal, Proposer, Refusal, Reply, Review, Revise, Role,
    },
};
use std::sync::Arc;
use store::{CounterPatchRow, Feed, MessageRow, Page, ReviewCost, ReviewMatch, RoundRow, VerdictRow};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot, watch};
use uuid::Uuid;

/// Statistics calls that may run or wait.
const STATS_QUEUED: usize = 8;

type Answer<T> = Result<T, BrokerError>;

/// A running broker. Cheap to clone. The second field is set by [`Broker::expecting`].
#[derive(Clone)]
pub struct Broker(Arc<Inner>, Option<u64>);

struct Inner {
    context: Context,
    supervisor: Mailbox<SupervisorMessage>,
    feed: Feed,
    calls: Semaphore,
    waiters: Semaphore,
    lists: SharedLists,
    stats_queue: Semaphore,
    stats_turn: Semaphore,
}

impl Broker {
    pub(crate) fn new(context: Context, supervisor: Mailbox<SupervisorMessage>, feed: Feed) -> Self {
        let calls = Semaphore::new(context.settings.limits.calls_in_flight);
        let waiters = Semaphore::new(context.settings.limits.waiters);
        let (stats_queue, stats_turn) = (Semaphore::new(STATS_QUEUED), Semaphore::new(1));
        let lists = SharedLists::default();
        Self(Arc::new(Inner { context, supervisor, feed, calls, waiters, lists, stats_queue, stats_turn }), None)
    }

    /// A broker for a caller that has seen this version of a review: it refuses changes to any other version.
    #[must_use]
    pub fn expecting(&self, version: u64) -> Self {
        Self(Arc::clone(&self.0), Some(version))
    }

    /// The credentials of the reviewers of this run.
    pub fn credentials(&self) -> &Credentials {
        &self.0.context.credentials
    }

    /// The configured persona of this name. A seat may have a name without one, for a person.
    pub fn persona(&self, name: &str) -> Option<&Arc<Persona>> {
        self.0.context.settings.personas.get(name)
    }

    /// Finds a review by its id, its number (`R-12`) or a unique prefix of its id.
    pub async fn resolve(&self, given: &str) -> Answer<ReviewId> {
        self.resolve_within(given, &Scope::All).await
    }

    /// Like [`Self::resolve`], but prefixes match only reviews that the caller may see.
    pub async fn resolve_within(&self, given: &str, scope: &Scope) -> Answer<ReviewId> {
        let given = given.trim();
        let unknown = || BrokerError::UnknownReview { given: domain::text::truncate(given, 80).to_owned() };
        if let Ok(id) = Uuid::try_parse(given) {
            return Ok(ReviewId(id));
        }
        let reader = &self.0.context.reader;
        if let Some(number) = ReviewNumber::parse(given) {
            return reader.find_id_by_number(number).await.map_err(unreadable)?.ok_or_else(unknown);
        }
        let prefix = given.to_ascii_lowercase();
        if !(4..36).contains(&prefix.len()) || !prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Err(unknown());
        }
        let project = match scope {
            Scope::All => None,
            Scope::Project(project) => Some(project.as_deref()),
        };
        match reader.find_id_by_prefix(&prefix, project).await.map_err(unreadable)? {
            ReviewMatch::None => Err(unknown()),
            ReviewMatch::One(id) => Ok(id),
            ReviewMatch::Several(ids) => Err(BrokerError::AmbiguousReview {
                given: given.into(),
                candidates: ids.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    pub async fn create(&self, proposal: NewProposal) -> Answer<Submitted> {
        let _call = self.admit()?;
        let context = &self.0.context;
        context.check_texts(&proposal.texts()).await?;
        match self.try_create(proposal.clone()).await {
            // Another call with this key created the review in the meantime.
            Err(BrokerError::Refused(Refusal::ContentMoved)) => self.try_create(proposal).await,
            answer => answer,
        }
    }

    async fn try_create(&self, proposal: NewProposal) -> Answer<Submitted> {
        let context = &self.0.context;
        let NewProposal { proposer, client_repo, category, priority, draft, personas, policy } = proposal;
        let named = panel::named(personas)?;
        let project = context.projects.name_for(proposer.project.as_deref(), client_repo.as_ref())?;
        let preparing = Box::pin(context.prepare_proposal(project.as_deref(), draft));
        let PreparedDraft { content, draft, first_content } = context.until_shutdown(preparing).await?;
        let ChosenPanel { personas, reasons } = match named {
            Some(personas) => ChosenPanel { personas, reasons: Vec::new() },
            None => context.settings.panel.choose(category, &content.files),
        };
        let policy = panel::policy(policy, personas.len(), context.settings.max_rounds)?;
        let id = review_id(project.as_deref(), draft.request_key.as_deref());
        let priority = priority.unwrap_or_else(|| Priority::infer(&proposer));
        let command = Command::Propose(Box::new(Proposal {
            id,
            number: context.numbers.next_review(),
            proposer: Proposer { project, ..proposer },
            category,
            priority,
            personas,
            policy,
            draft,
            first_content,
        }));
        let payload = CommandPayload { content: Some(Arc::clone(&content)), ..CommandPayload::default() };
        let outcome = context.apply(id, command, payload).await?;
        // A repeat keeps the panel of the first call, even if the settings have changed.
        let panel_because = if outcome.changed { reasons } else { Vec::new() };
        Ok(Submitted { panel_because, ..self.submitted(outcome, content).await? })
    }

    pub async fn revise(&self, id: ReviewId, revision: Revision) -> Answer<Submitted> {
        let _call = self.admit()?;
        self.0.context.check_texts(&revision.texts()).await?;
        match self.try_revise(id, revision.clone()).await {
            // The active content changed while the revision was completed from it.
            Err(BrokerError::Refused(Refusal::ContentMoved)) => self.try_revise(id, revision).await,
            answer => answer,
        }
    }

    async fn try_revise(&self, id: ReviewId, revision: Revision) -> Answer<Submitted> {
        let (context, review) = (&self.0.context, self.review(id).await?);
        let preparing = Box::pin(context.prepare_revision(&review, revision.draft));
        let PreparedDraft { content, draft, .. } = context.until_shutdown(preparing).await?;
        let command = Command::Revise(Revise {
            proposer_id: revision.proposer_id,
            completes: review.round.content_hash.clone(),
            draft,
            anchors: context.until_shutdown(context.reanchor_findings(&review, &content)).await?,
        });
        let payload = CommandPayload { content: Some(Arc::clone(&content)), ..CommandPayload::default() };
        let outcome = self.apply(id, command, payload).await?;
        self.submitted(outcome, content).await
    }

    /// Claims a seat. If the diff does not apply, the reply is [`Reply::AutoRejected`](domain::review::Reply).
    pub async fn claim(&self, id: ReviewId, reviewer_id: String, persona: Option<String>) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        Limits::check_reviewer(&reviewer_id)?;
        let texts = [Text::name("reviewer_id", Some(&reviewer_id)), Text::name("persona", persona.as_deref())];
        self.0.context.check_texts(&texts).await?;
        let claim = ClaimSeat { by: reviewer_id, persona, check: None };
        self.apply(id, Command::Claim(claim), CommandPayload::default()).await
    }

    pub async fn add_message(&self, id: ReviewId, message: MessageRequest) -> Answer<MessageResult> {
        let _call = self.admit()?;
        let metadata = message.metadata.as_ref().map(ToString::to_string);
        self.0.context.check_texts(&message.texts(metadata.as_deref())).await?;
        if let Some(request) = self.verdict_in(id, &message).await? {
            let verdict = request.verdict;
            let review = self.give_verdict(id, request).await?.review;
            return Ok(MessageResult { review, recorded_as: RecordedAs::Verdict(verdict) });
        }
        let command = Command::AddMessage(AddMessage {
            role: message.role,
            by: message.caller_id,
            persona: message.persona,
            body: message.body,
            metadata: message.metadata,
        });
        let outcome = self.apply(id, command, CommandPayload::default()).await?;
        let message = if let Reply::MessageAdded { id, .. } = outcome.reply { id } else { 0 };
        Ok(MessageResult { review: outcome.review, recorded_as: RecordedAs::Message(message) })
    }

    /// The verdict in the front matter of a message, if the persona's settings allow it. The sender must hold the seat
    /// under its own name.
    async fn verdict_in(&self, id: ReviewId, message: &MessageRequest) -> Answer<Option<VerdictRequest>> {
        let personas = &self.0.context.settings.personas;
        let (Role::Reviewer, Some(caller)) = (message.role, &message.caller_id) else { return Ok(None) };
        if !personas.values().any(|persona| persona.front_matter) {
            return Ok(None);
        }
        let review = self.review(id).await?;
        let Some(seat) = review.seats.iter().find(|seat| seat.is_held_by(caller)) else { return Ok(None) };
        let wanted = message.persona.as_ref().is_none_or(|persona| *persona == seat.persona);
        if !wanted || !personas.get(&seat.persona).is_some_and(|persona| persona.front_matter) {
            return Ok(None);
        }
        let problem = |problem| BrokerError::Invalid { field: "body", problem: format!("front matter: {problem}") };
        front_matter::verdict_in(&message.body, &review, seat).transpose().map_err(problem)
    }

    pub async fn accept_counter_patch(
        &self,
        id: ReviewId,
        by: Option<String>,
        persona: Option<String>,
    ) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        self.check_name("persona", persona.as_deref())?;
        self.decide(id, Command::AcceptCounterPatch(AcceptCounterPatch { by, persona, patched: None })).await
    }

    pub async fn reject_counter_patch(
        &self,
        id: ReviewId,
        by: Option<String>,
        persona: Option<String>,
    ) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        self.check_name("persona", persona.as_deref())?;
        self.decide(id, Command::RejectCounterPatch { by, persona }).await
    }

    pub async fn cancel(&self, id: ReviewId, by: Option<String>, reason: String) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        let texts = [Text::required_prose("reason", Some(&reason)), Text::name("caller_id", by.as_deref())];
        self.0.context.check_texts(&texts).await?;
        self.decide(id, Command::Cancel { by, reason }).await
    }

    pub async fn close(&self, id: ReviewId, by: Role, identity: Option<String>) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        self.decide(id, Command::Close { by, identity }).await
    }

    pub async fn content(&self, hash: &ContentHash) -> Answer<Arc<Content>> {
        self.0.context.find_content(hash).await
    }

    /// All rounds, oldest first.
    pub async fn rounds(&self, id: ReviewId) -> Answer<Vec<RoundRow>> {
        let review = self.review(id).await?;
        self.0.context.reader.list_rounds(review.number).await.map_err(unreadable)
    }

    /// Messages, oldest first; `after` is a message id.
    pub async fn discussion(
        &self,
        id: ReviewId,
        round: Option<u32>,
        after: Option<u64>,
        limit: u32,
    ) -> Answer<Page<MessageRow>> {
        let review = self.review(id).await?;
        self.known_round(&review, round)?;
        let messages = self.0.context.reader.list_messages(review.number, round, after.unwrap_or(0), limit);
        messages.await.map_err(unreadable)
    }

    /// Verdicts of a round, newest first, at most `limit`.
    pub async fn iterations(&self, id: ReviewId, round: u32, limit: u32) -> Answer<Vec<VerdictRow>> {
        let review = self.review(id).await?;
        self.known_round(&review, Some(round))?;
        self.0.context.reader.list_verdicts(review.number, round, limit).await.map_err(unreadable)
    }

    /// The cost of the verdicts, by round and reviewer.
    pub async fn efforts(&self, id: ReviewId) -> Answer<Vec<ReviewCost>> {
        let review = self.review(id).await?;
        self.0.context.reader.list_review_costs(review.number).await.map_err(unreadable)
    }

    /// The last vote of a round, without comments.
    pub async fn last_vote(&self, id: ReviewId, round: u32) -> Answer<Option<VerdictRow>> {
        let review = self.review(id).await?;
        self.known_round(&review, Some(round))?;
        self.0.context.reader.find_last_vote(review.number, round).await.map_err(unreadable)
    }

    /// The last counter-patch of a round, of all seats or of one.
    pub async fn last_counter_patch(
        &self,
        id: ReviewId,
        round: u32,
        persona: Option<&str>,
    ) -> Answer<Option<CounterPatchRow>> {
        self.check_name("persona", persona)?;
        let review = self.review(id).await?;
        self.known_round(&review, Some(round))?;
        if let Some(persona) = persona
            && review.seats.iter().all(|seat| seat.persona != persona)
        {
            let (persona, seats) = (persona.to_owned(), review.personas().join(", "));
            return Err(Refusal::NoSuchSeat { number: review.number, persona, seats }.into());
        }
        self.0.context.reader.find_last_counter_patch(review.number, round, persona).await.map_err(unreadable)
    }

    /// The actor tree, for operators.
    pub async fn actors(&self) -> Answer<Tree> {
        let (reply, answer) = oneshot::channel();
        self.tell_supervisor(SupervisorMessage::DrawTree { reply: reply.into() })?;
        let (mut root, more_reviews) = answer.await.map_err(|_| BrokerError::Restarted)?;
        // Asked here and not by the supervisor, which must not wait for another actor.
        if let (Ok(view), Some(node)) =
            (self.show_pool().await, root.children.iter_mut().find(|node| node.kind == "pool"))
        {
            view.describe(node);
        }
        Ok(Tree { root, store: self.store_vitals(), calls: self.call_vitals(), more_reviews })
    }

    /// The actor tree in numbers, for frequent calls. Reviewers are not included.
    pub async fn census(&self) -> Answer<Census> {
        let (reply, answer) = oneshot::channel();
        self.tell_supervisor(SupervisorMessage::Count { reply: reply.into() })?;
        let kinds = answer.await.map_err(|_| BrokerError::Restarted)?;
        Ok(Census { kinds, store: self.store_vitals(), calls: self.call_vitals() })
    }

    fn store_vitals(&self) -> WriterStats {
        let (commits, changes) = self.0.feed.totals();
        WriterStats { commits, changes, waiting: self.0.feed.waiting() }
    }

    fn call_vitals(&self) -> CallStats {
        let limits = &self.0.context.settings.limits;
        let taken = |limit: usize, places: &Semaphore| limit.saturating_sub(places.available_permits());
        CallStats {
            in_flight: taken(limits.calls_in_flight, &self.0.calls),
            waiting: taken(limits.waiters, &self.0.waiters),
        }
    }

    /// The writer accepts changes, and the broker is not shutting down.
    pub fn is_ready(&self) -> bool {
        !self.0.context.closing.is_cancelled() && self.0.feed.committed.has_changed().is_ok()
    }

    /// Resolves when nothing can be written any more.
    pub(crate) async fn writer_ended(&self) {
        self.0.feed.ended().await;
    }

    /// Fires when the broker begins to shut down.
    pub fn closing(&self) -> tokio_util::sync::CancellationToken {
        self.0.context.closing.clone()
    }

    /// Counts a call against `limits.calls_in_flight`, or refuses it.
    fn admit(&self) -> Answer<SemaphorePermit<'_>> {
        if self.0.context.closing.is_cancelled() {
            return Err(BrokerError::ShuttingDown);
        }
        self.0.calls.try_acquire().map_err(|_| BrokerError::Busy { what: "too many calls are in flight" })
    }

    fn check_name(&self, field: &'static str, name: Option<&str>) -> Answer<()> {
        self.0.context.settings.limits.check(&[Text::name(field, name)])
    }

    async fn decide(&self, id: ReviewId, command: Command) -> Answer<Arc<Review>> {
        Ok(self.apply(id, command, CommandPayload::default()).await?.review)
    }

    async fn apply(&self, id: ReviewId, command: Command, payload: CommandPayload) -> Answer<CommandOutcome> {
        self.0.context.apply(id, command, CommandPayload { expected_version: self.1, ..payload }).await
    }

    fn tell_supervisor(&self, message: SupervisorMessage) -> Answer<()> {
        if self.0.supervisor.send(message) { Ok(()) } else { Err(BrokerError::ShuttingDown) }
    }

    async fn watch(&self, id: ReviewId, start: bool) -> Answer<Option<watch::Receiver<Snapshot>>> {
        let (reply, answer) = oneshot::channel();
        self.tell_supervisor(SupervisorMessage::Watch { id, start, reply: reply.into() })?;
        answer.await.map_err(|_| BrokerError::ShuttingDown)
    }

    /// The response to a submission. A repeat gets the active content.
    async fn submitted(&self, applied: CommandOutcome, content: Arc<Content>) -> Answer<Submitted> {
        let content = if applied.changed { content } else { self.content(&applied.review.round.content_hash).await? };
        Ok(Submitted { review: applied.review, content, panel_because: Vec::new() })
    }

    fn known_round(&self, review: &Review, round: Option<u32>) -> Answer<()> {
        match round {
            Some(round) if round == 0 || round > review.round.number => {
                Err(BrokerError::NoSuchRound { number: review.number, round, last: review.round.number })
            }
            _ => Ok(()),
        }
    }
}
