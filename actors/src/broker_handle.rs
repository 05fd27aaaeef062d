//! [`Broker`], the handle through which the rest of the program uses the actors. It sends a change of a review as a
//! command, and reads through the store's reader.

mod browser_sessions;
mod long_poll;

pub use long_poll::{ListQuery, Listing, Wait, WaitResult};

use crate::{
    Credentials, Projects, Shared,
    actor_tree_report::{CallStats, Tree, WriterStats},
    clock::WallOffset,
    credentials::{Caller, SecretHash},
    error::BrokerError,
    gateway::CommandPayload,
    input_validation::{self, PATH, Text, TextKind::Name, command_texts},
    log_indexer::LogIndexer,
    mailbox::{ActorSlot, Mailbox},
    metrics::Metrics,
    past_reviews::PastReviews,
    review::CommandOutcome,
    reviewer_pool::{LiveReviewer, PoolControl, PoolMessage, PoolStatus},
    submission::{Changes, Submissions, check_persona_or_person, check_seat_name, verdict_in_message},
    supervisor::SupervisorMessage,
};
use domain::{
    content::{Content, ContentHash, CreateReviewRequest},
    credential::{Authority, Scope},
    default_panel::DefaultPanel,
    diff::AffectedFile,
    finding::NewFinding,
    ids::{ReviewId, ReviewNumber},
    persona::{Mode, Persona},
    query_types::{ConventionsFile, EventOrder, FindingGroupBy, GroupBy},
    review::{AddMessage, Command, DiffSide, PastReview, Proposer, Review, Seat, transition},
    stats::{DailyStats, Stats},
    time::Timestamp,
    verdict::VerdictRequest,
};
use git::{AnswerCounts, ClientRepo, FileContent};
use long_poll::SharedLists;
use std::{path::PathBuf, str::FromStr, sync::Arc};
use store::{
    EventFilter, EventRecord, Feed, FindingFilter, FindingGroups, FoundText, ListedFinding, LogFollower, Page, Reader,
    StatsPeriod, TextQuery, WebhookChange, WebhookStep,
};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use uuid::Uuid;

/// Statistics calls that may run or wait.
const STATS_QUEUED: usize = 8;

type Answer<T> = Result<T, BrokerError>;

/// A running broker. Cheap to clone. The second field is set by [`Broker::expecting`].
#[derive(Clone)]
pub struct Broker(Arc<Inner>, Option<u64>);

struct Inner {
    shared: Arc<Shared>,
    submissions: Arc<Submissions>,
    supervisor: Mailbox<SupervisorMessage>,
    pool: Arc<ActorSlot<PoolMessage>>,
    feed: Feed,
    indexer: Arc<LogIndexer>,
    calls: Semaphore,
    waiters: Semaphore,
    lists: SharedLists,
    past_reviews: PastReviews,
    stats_queue: Semaphore,
    stats_turn: Semaphore,
    wall_offset: WallOffset,
}

impl Broker {
    pub(crate) fn new(
        submissions: Arc<Submissions>,
        supervisor: Mailbox<SupervisorMessage>,
        pool: Arc<ActorSlot<PoolMessage>>,
        feed: Feed,
        indexer: Arc<LogIndexer>,
    ) -> Self {
        let shared = Arc::clone(&submissions.shared);
        let limits = &shared.settings.limits;
        let inner = Inner {
            calls: Semaphore::new(limits.calls_in_flight),
            waiters: Semaphore::new(limits.waiters),
            lists: SharedLists::default(),
            past_reviews: PastReviews::default(),
            stats_queue: Semaphore::new(STATS_QUEUED),
            stats_turn: Semaphore::new(1),
            wall_offset: WallOffset::default(),
            shared,
            submissions,
            supervisor,
            pool,
            feed,
            indexer,
        };
        Self(Arc::new(inner), None)
    }

    /// A broker for a caller that has seen this version of a review: it refuses changes to any other version.
    #[must_use]
    pub fn expecting(&self, version: u64) -> Self {
        Self(Arc::clone(&self.0), Some(version))
    }

    /// Counts a call against `limits.calls_in_flight`, or refuses it.
    pub fn admit(&self) -> Answer<SemaphorePermit<'_>> {
        if self.0.shared.closing.is_cancelled() {
            return Err(BrokerError::ShuttingDown);
        }
        self.0.calls.try_acquire().map_err(|_| BrokerError::Busy { what: "too many calls are in flight" })
    }

    pub async fn create(
        &self,
        proposer: &Proposer,
        client_repo: Option<&ClientRepo>,
        request: &CreateReviewRequest,
    ) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        self.0.submissions.create(proposer, client_repo, request).await
    }

    pub async fn revise(&self, id: ReviewId, request: &CreateReviewRequest) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        self.0.submissions.revise(id, request, self.1).await
    }

    pub async fn give_verdict(
        &self,
        id: ReviewId,
        request: &VerdictRequest,
        findings: &[NewFinding],
    ) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        self.0.submissions.give_verdict(id, request, findings, self.1).await
    }

    /// Checks the texts of a command and sends it to its review. A claim is answered with
    /// [`Reply::AutoRejected`](domain::review::Reply) if the diff does not apply. A message may hold a verdict in its
    /// front matter; the answer is then that of the verdict.
    pub async fn execute(&self, id: ReviewId, command: Command) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        if let Command::Claim(claim) = &command {
            input_validation::check_reviewer(&claim.by)?;
        }
        if let Command::AddSeat(add) = &command {
            check_seat_name("reviewer", &add.persona, true)?;
            check_persona_or_person("reviewer", &add.persona, &self.0.shared.settings.personas)?;
        }
        self.0.shared.check_texts(&command_texts(&command)).await?;
        if let Command::AddMessage(message) = &command
            && let Some((request, findings)) = self.verdict_in(id, message).await?
        {
            return self.give_verdict(id, &request, &findings).await;
        }
        let payload = CommandPayload { expected_version: self.1, ..CommandPayload::default() };
        self.0.submissions.reviews.apply(id, command, payload).await
    }

    /// Renews the claim of `name` on a review that it reads, if less than half of the lease is left.
    pub async fn renew_claim(&self, review: &Review, name: &str) -> Answer<()> {
        let command = Command::Renew { by: name.to_owned() };
        let is_due = || {
            let renewed =
                transition(Some(review), command.clone(), self.0.shared.clock.now(), &self.0.shared.settings.rules);
            renewed.is_ok_and(|renewed| !renewed.events.is_empty())
        };
        if review.holders().any(|holder| holder == name) && is_due() {
            self.0.submissions.reviews.apply(review.id, command, CommandPayload::default()).await?;
        }
        Ok(())
    }

    /// The verdict in the front matter of a message, if the persona's settings allow it. The sender must hold the seat
    /// under its own name.
    async fn verdict_in(
        &self,
        id: ReviewId,
        message: &AddMessage,
    ) -> Answer<Option<(VerdictRequest, Vec<NewFinding>)>> {
        let personas = &self.0.shared.settings.personas;
        let (Authority::Reviewer, Some(caller)) = (message.role, &message.by) else { return Ok(None) };
        if !personas.values().any(|persona| persona.front_matter) {
            return Ok(None);
        }
        let review = self.review(id).await?;
        let Some(seat) = review.seats.iter().find(|seat| seat.is_held_by(caller)) else { return Ok(None) };
        let wanted = message.persona.as_ref().is_none_or(|persona| *persona == seat.persona);
        if !wanted || !personas.get(&seat.persona).is_some_and(|persona| persona.front_matter) {
            return Ok(None);
        }
        let problem =
            |problem| BrokerError::InvalidArgument { field: "body", problem: format!("front matter: {problem}") };
        verdict_in_message::verdict_in(&message.body, &review, seat).transpose().map_err(problem)
    }

    /// Reads everything that is committed.
    pub fn reader(&self) -> &Reader {
        &self.0.shared.reader
    }

    /// What was committed last, and how long it took.
    pub fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// Follows the log behind the event `after`.
    pub fn follow_log(&self, after: u64, page_size: u32) -> LogFollower {
        LogFollower::new(self.reader().clone(), &self.0.feed, after, page_size)
    }

    /// Finds a review by its id, its number (`R-12`) or a unique prefix of its id. Prefixes match only reviews in
    /// `scope`.
    pub async fn resolve(&self, given: &str, scope: &Scope) -> Answer<ReviewId> {
        let given = given.trim();
        let unknown = || BrokerError::UnknownReview { given: domain::text::truncate(given, 80).to_owned() };
        if let Ok(id) = Uuid::try_parse(given) {
            return Ok(ReviewId(id));
        }
        if let Some(number) = ReviewNumber::parse(given) {
            return self.reader().find_id_by_number(number).await?.ok_or_else(unknown);
        }
        let prefix = given.to_ascii_lowercase();
        if !(4..36).contains(&prefix.len()) || !prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Err(unknown());
        }
        let project = match scope {
            Scope::All => None,
            Scope::Project(project) | Scope::Review { project, .. } => Some(project.as_deref()),
        };
        match self.reader().list_ids_by_prefix(&prefix, project).await?.as_slice() {
            [] => Err(unknown()),
            [id] => Ok(*id),
            ids => Err(BrokerError::AmbiguousReview {
                given: given.into(),
                candidates: ids.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    /// The review as it was after its event `at`, one of those that `review` has.
    pub async fn past_review(&self, review: &Review, at: u64) -> Answer<PastReview> {
        let _call = self.admit()?;
        let past = match (1..=review.version).contains(&at) {
            true => self.0.past_reviews.find(self.reader(), review.number, at).await?,
            false => None,
        };
        let refused = || {
            let problem = format!(
                "is {at}, but {} has the events 1 to {}: give the version of one in get_review_timeline",
                review.number, review.version
            );
            BrokerError::InvalidArgument { field: "at", problem }
        };
        past.ok_or_else(refused)
    }

    pub async fn content(&self, hash: &ContentHash) -> Answer<Arc<Content>> {
        self.0.shared.find_content(hash).await
    }

    /// What changed from one content of a review to another.
    pub async fn changes(&self, review: &Review, from: &Content, to: &Content) -> Answer<Changes> {
        let _call = self.admit()?;
        self.0.submissions.changes(review, from, to).await
    }

    /// A file that `content` of a review changes, before or after the change.
    pub async fn read_file(
        &self,
        review: &Review,
        content: &Content,
        file: &AffectedFile,
        side: DiffSide,
    ) -> Answer<FileContent> {
        let _call = self.admit()?;
        self.0.submissions.read_file(review, content, file, side).await
    }

    /// The commit that the branch of the review's target points at now. `None` without a branch, and if it is unknown.
    pub async fn branch_head(&self, review: &Review) -> Option<String> {
        let branch = review.round.target.as_ref()?.branch()?;
        let repository = self.0.submissions.projects.repository(review.proposer.project.as_deref()).ok()?;
        repository.branch_head(branch).await
    }

    /// Waits until the indexes of findings and texts contain every event. `false`: that takes too long.
    pub async fn catch_up_indexes(&self) -> Answer<bool> {
        let _call = self.admit()?;
        self.0.indexer.catch_up().await
    }

    /// Findings of one review or of all. A filter that needs the index finds what the index contains.
    pub async fn findings(
        &self,
        filter: &FindingFilter,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<ListedFinding>> {
        if !filter.needs_index() {
            let (before, limit) = self.findings_page(filter, cursor, limit)?;
            return Ok(self.reader().list_findings(filter, before, limit).await?);
        }
        let limit = input_validation::page(&self.0.shared.settings.limits, limit)?;
        self.check_finding_filter(filter)?;
        let _call = self.admit()?;
        self.reader().list_indexed_findings(filter, cursor, limit).await?.ok_or(BrokerError::BadCursor)
    }

    /// Counts the findings that the index contains, by group.
    pub async fn count_findings(&self, filter: &FindingFilter, by: FindingGroupBy) -> Answer<FindingGroups> {
        let _call = self.admit()?;
        self.check_finding_filter(filter)?;
        Ok(self.reader().count_findings(filter, by).await?)
    }

    /// The numbers of the findings that the query finds, as far as they are indexed.
    pub async fn search_findings(&self, query: &TextQuery) -> Answer<Vec<i64>> {
        let _call = self.admit()?;
        Ok(self.reader().search_findings(query).await?)
    }

    /// Texts that contain these words. Also says whether the index contains every event.
    pub async fn search(
        &self,
        query: &TextQuery,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<(Page<FoundText>, bool)> {
        let _call = self.admit()?;
        let limit = input_validation::page(&self.0.shared.settings.limits, limit)?;
        let is_complete = self.0.indexer.catch_up().await?;
        let page = self.reader().search_texts(query, cursor, limit).await?;
        Ok((page.ok_or(BrokerError::BadCursor)?, is_complete))
    }

    /// Checks the arguments of a page of findings: the finding before which it starts, and its length.
    pub fn findings_page(
        &self,
        filter: &FindingFilter,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<(Option<i64>, u32)> {
        let limit = input_validation::page(&self.0.shared.settings.limits, limit)?;
        self.check_finding_filter(filter)?;
        Ok((parse_cursor(cursor)?, limit))
    }

    fn check_finding_filter(&self, filter: &FindingFilter) -> Answer<()> {
        let texts = [
            Text::new("persona", Name, filter.persona.as_ref()),
            Text::new("reviewer", Name, filter.reviewer.as_ref()),
            Text::new("file", PATH, filter.file.as_ref()),
        ];
        input_validation::check(&self.0.shared.settings.limits, &texts)
    }

    /// Events of the log by filter. A page may be short or empty although more pages follow.
    pub async fn history(
        &self,
        filter: &EventFilter,
        order: EventOrder,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<EventRecord>> {
        let _call = self.admit()?;
        let limit = input_validation::page(&self.0.shared.settings.limits, limit)?;
        self.check_name("actor", filter.actor.as_ref())?;
        Ok(self.reader().list_events_by(filter, order, parse_cursor(cursor)?, limit).await?)
    }

    /// Statistics run one at a time: they may read all reviews of two days, and all other reads share the same few
    /// connections.
    pub async fn stats(&self, period: &StatsPeriod, by: GroupBy) -> Answer<Stats> {
        let _call = self.admit()?;
        let _turn = self.begin_stats().await?;
        Ok(self.reader().count_stats(period, by).await?)
    }

    /// The statistics of each day. They wait for their turn as [`Self::stats`] do.
    pub async fn daily_stats(&self, period: &StatsPeriod, by_persona: bool) -> Answer<DailyStats> {
        let _call = self.admit()?;
        let _turn = self.begin_stats().await?;
        Ok(self.reader().count_daily_stats(period, by_persona).await?)
    }

    /// Waits for the turn to read statistics, and adds what is not in their tables yet.
    async fn begin_stats(&self) -> Answer<[SemaphorePermit<'_>; 2]> {
        let busy = |_| BrokerError::Busy { what: "too many statistics are being made" };
        let queued = self.0.stats_queue.try_acquire().map_err(busy)?;
        let turn = self.0.stats_turn.acquire().await.map_err(|_| BrokerError::ShuttingDown)?;
        self.0.submissions.reviews.write_figures().await?;
        Ok([turn, queued])
    }

    /// Checks that a name is allowed: not empty, one line, not too long.
    pub fn check_name(&self, field: &'static str, name: Option<&String>) -> Answer<()> {
        input_validation::check(&self.0.shared.settings.limits, &[Text::new(field, Name, name)])
    }

    /// Refuses a project that is not registered.
    pub fn known_project(&self, given: &String) -> Answer<()> {
        self.check_name("project", Some(given))?;
        let known = self.0.submissions.projects.names();
        if known.contains(given) { Ok(()) } else { Err(BrokerError::UnknownProject { given: given.clone(), known }) }
    }

    /// The registered repositories.
    pub fn projects(&self) -> &Projects {
        &self.0.submissions.projects
    }

    /// The registered project of this name; default: the broker's own.
    pub fn project_for(&self, given: Option<&str>) -> Answer<Option<String>> {
        self.0.submissions.projects.name_for(given, None)
    }

    /// The project of proposals that do not name one.
    pub fn own_project(&self) -> Option<String> {
        self.0.submissions.projects.own().map(|(name, _)| name)
    }

    /// The configured persona of this name. A seat may have a name without one, for a person.
    pub fn persona(&self, name: &str) -> Option<&Arc<Persona>> {
        self.0.shared.settings.personas.get(name)
    }

    /// The personas whose seats belong to one-shot reviewers or to agents that are bound to them, as long as the pool
    /// starts those. Without the persona `bound_to`, whose agent asks.
    pub fn personas_kept_from(&self, bound_to: Option<&str>) -> Vec<String> {
        let settings = &self.0.shared.settings;
        let has_reviewers = |persona: &&Arc<Persona>| persona.mode == Mode::OneShot || persona.has_own_agents();
        let personas = settings.personas.values().filter(|_| settings.pool.enabled).filter(has_reviewers);
        personas.map(|persona| persona.name.clone()).filter(|name| Some(name.as_str()) != bound_to).collect()
    }

    /// Chooses the personas of a proposal that names none.
    pub fn default_panel(&self) -> &DefaultPanel {
        &self.0.shared.settings.panel
    }

    /// The credentials of the reviewers of this run.
    pub fn credentials(&self) -> &Credentials {
        &self.0.shared.credentials
    }

    /// The caller whose token or credential has this hash, if it is valid. Looked up for every call, so that a revoked
    /// token stops working at once.
    pub async fn identify(&self, hash: &SecretHash) -> Answer<Option<Caller>> {
        if let Some(caller) = self.credentials().find_hashed(hash) {
            return Ok(Some(caller));
        }
        Ok(self.reader().find_live_token(hash).await?.map(Caller::from))
    }

    /// Copies the project with the change into the folder of a pool reviewer; `None` if that fails.
    pub async fn check_out(&self, review: &Review, reviewer: &str) -> Option<PathBuf> {
        let copying = self.0.submissions.check_out(review, reviewer);
        Box::pin(self.0.shared.until_shutdown(copying)).await.unwrap_or_else(|error| {
            tracing::warn!(review.id = %review.id, reviewer.id = reviewer, %error, "no copy for the reviewer");
            None
        })
    }

    /// The conventions of the project that a change is to be judged by.
    pub async fn conventions(&self, review: &Review, content: &Content) -> Vec<ConventionsFile> {
        self.0.submissions.conventions(review, content).await
    }

    /// Starts a reviewer for a registered project, within the pool's limits; with a persona only for its seats.
    pub async fn spawn_reviewer(
        &self,
        project: Option<String>,
        persona: Option<String>,
        by: Option<String>,
    ) -> Answer<LiveReviewer> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::Spawn { project, persona, by, reply }).await
    }

    /// Stops every live reviewer, at once or after its current review.
    pub async fn stop_all_reviewers(&self, at_once: bool, by: Option<String>) -> Answer<Vec<LiveReviewer>> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::StopAll { at_once, by, reply }).await
    }

    /// Pauses or resumes the pool, or changes how many reviewers it runs at once.
    pub async fn control_pool(&self, change: PoolControl, by: Option<String>) -> Answer<PoolStatus> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::Control { change, by, reply }).await
    }

    /// Stops a live reviewer, at once or after its current review.
    pub async fn stop_reviewer(&self, id: String, at_once: bool, by: Option<String>) -> Answer<LiveReviewer> {
        let _call = self.admit()?;
        self.ask_pool(|reply| PoolMessage::Stop { id, at_once, by, reply }).await
    }

    /// The state of the pool and its live reviewers, from memory.
    pub async fn pool_status(&self) -> Answer<PoolStatus> {
        self.ask_pool(|reply| PoolMessage::Status { reply }).await
    }

    async fn ask_pool<T>(&self, message: impl FnOnce(oneshot::Sender<Answer<T>>) -> PoolMessage) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        self.0.pool.send(message(reply));
        answer.await.unwrap_or_else(|_| Err(self.0.shared.dropped_reply()))
    }

    /// Writes a step of a webhook and returns the number of rows that changed.
    pub async fn update_webhook(&self, webhook: &str, step: WebhookStep) -> Answer<u64> {
        self.0.submissions.reviews.update_webhook(WebhookChange { webhook: webhook.to_owned(), step }).await
    }

    /// The actor tree, for operators. At most `max_reviews` live reviews are listed.
    pub async fn actors(&self, max_reviews: usize) -> Answer<Tree> {
        let (reply, answer) = oneshot::channel();
        self.tell_supervisor(SupervisorMessage::Inspect { max_reviews, reply: reply.into() })?;
        let (mut root, reviews) = answer.await.map_err(|_| BrokerError::Restarted)?;
        // Asked here and not by the supervisor, which must not wait for another actor.
        if let (Ok(pool), Some(node)) =
            (self.pool_status().await, root.children.iter_mut().find(|node| node.kind == "pool"))
        {
            pool.describe(node);
        }
        let (commits, changes) = self.0.feed.totals();
        let limits = &self.0.shared.settings.limits;
        let taken = |limit: usize, permits: &Semaphore| limit.saturating_sub(permits.available_permits());
        Ok(Tree {
            root,
            store: WriterStats { commits, changes, waiting: self.0.feed.waiting() },
            calls: CallStats {
                in_flight: taken(limits.calls_in_flight, &self.0.calls),
                waiting: taken(limits.waiters, &self.0.waiters),
            },
            more_reviews: reviews.live.saturating_sub(max_reviews),
            reviews,
        })
    }

    fn tell_supervisor(&self, message: SupervisorMessage) -> Answer<()> {
        if self.0.supervisor.send(message) { Ok(()) } else { Err(BrokerError::ShuttingDown) }
    }

    pub fn metrics(&self) -> &Metrics {
        &self.0.shared.metrics
    }

    /// How questions to git were answered: in this process, by git, or from memory.
    pub fn git_answers(&self) -> AnswerCounts {
        self.0.submissions.projects.answer_counts()
    }

    pub fn wall_clock(&self) -> Timestamp {
        self.0.shared.clock.now().at
    }

    /// When the wall clock will show the end of a seat's lease. The same for every call, until the wall clock is set.
    pub fn lease_ends_at(&self, seat: &Seat) -> Option<Timestamp> {
        let ends = seat.claim.as_ref()?.lease_ends?;
        Some(Timestamp(ends.0.saturating_add(self.0.wall_offset.get(self.0.shared.clock.now()))))
    }

    /// The writer accepts changes, and the broker is not shutting down.
    pub fn is_ready(&self) -> bool {
        !self.0.shared.closing.is_cancelled() && self.0.feed.committed.has_changed().is_ok()
    }

    /// Fires when the broker begins to shut down.
    pub fn closing(&self) -> tokio_util::sync::CancellationToken {
        self.0.shared.closing.clone()
    }
}

fn parse_cursor<T: FromStr>(cursor: Option<&str>) -> Answer<Option<T>> {
    cursor.map(|cursor| cursor.parse().map_err(|_| BrokerError::BadCursor)).transpose()
}

#[cfg(test)]
#[path = "broker_handle_tests.rs"]
mod tests;
