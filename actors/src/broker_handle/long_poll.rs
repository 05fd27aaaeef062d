//! Reads a review or a list of reviews, and on request waits until the result changes. A read does not go through the
//! mailbox of the review, and a caller that disconnects ends its wait.

use super::{Answer, Broker};
use crate::{error::BrokerError, input_validation, review::Snapshot, supervisor::SupervisorMessage};
use domain::{
    credential::Authority,
    ids::ReviewId,
    review::{Category, Review, Status},
    waiting_on::{Asker, waiting_on},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::{Page, Reader, ReviewCounts, ReviewFilter, ReviewSearch, StoreError};
use tokio::{
    sync::{OnceCell, SemaphorePermit, oneshot, watch},
    time::Instant,
};

/// Reviews that a count of turns reads at once.
const TURNS_PER_PAGE: u32 = 200;

/// How long a wait for a turn gathers changes before it looks again.
const TURN_DELAY: Duration = Duration::from_millis(20);

/// Filters of a list of reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ListQuery {
    pub status: Option<Status>,
    /// Several statuses, newest first; empty: only `status` matters.
    pub statuses: Vec<Status>,
    pub branch: Option<String>,
    /// Only reviews that this identity proposed or holds a seat of.
    pub participant: Option<String>,
    pub proposer: Option<String>,
    /// Only reviews with a seat of this persona.
    pub persona: Option<String>,
    /// Part of the intent, or a number.
    pub search: Option<String>,
    pub category: Option<Category>,
    /// Empty: all projects.
    pub projects: Vec<String>,
    /// Only reviews that have no project; not together with `projects`.
    pub without_project: bool,
    /// The caller, for a list of pending reviews: hides reviews reserved for another reviewer, and adds reviews in
    /// progress with a seat free for the caller.
    pub caller_id: Option<String>,
    /// Personas whose free seats the caller cannot claim, because they belong to reviewers of the pool.
    pub kept_for_pool: Vec<String>,
    /// In the order of the queue, whatever the status.
    pub by_priority: bool,
    /// Also hides the caller's own proposals, which it cannot claim.
    pub for_work: bool,
    /// Only reviews in which it is the caller's turn.
    pub my_turn: bool,
    /// The role that the caller acts in, if it is known.
    pub role: Option<Authority>,
    pub limit: Option<u32>,
    pub cursor: Option<String>,
}

/// A page of the list and the position in the log to wait from.
#[derive(Debug, Clone)]
pub struct Listing {
    pub page: Arc<Page<Review>>,
    /// The sequence number of the last event this page knows of.
    pub seq: u64,
    pub timed_out: bool,
}

/// How long a call may wait, and for changes after which version. Dropping the future ends the wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    pub since: Option<u64>,
    /// `None`: the configured default.
    pub timeout: Option<Duration>,
}

/// A review, and whether the wait ended without a change.
#[derive(Debug, Clone)]
pub struct WaitResult {
    pub review: Arc<Review>,
    pub timed_out: bool,
}

impl Broker {
    /// The review as last committed.
    pub async fn review(&self, id: ReviewId) -> Answer<Arc<Review>> {
        if let Some(review) = self.0.shared.live_snapshots.read(id) {
            return Ok(review);
        }
        if let Some(mut snapshot) = self.watch(id, false).await?
            && let Some(review) = loaded(&mut snapshot, id).await?
        {
            return Ok(review);
        }
        self.0.shared.find_review(id).await
    }

    async fn watch(&self, id: ReviewId, start: bool) -> Answer<Option<watch::Receiver<Snapshot>>> {
        let (reply, answer) = oneshot::channel();
        self.tell_supervisor(SupervisorMessage::Watch { id, start, reply: reply.into() })?;
        answer.await.map_err(|_| BrokerError::ShuttingDown)
    }

    /// Returns at once if it is the caller's turn, if the review's version is not `since`, or if the review is closed;
    /// else at the next change. A caller that is not known and gives no `since` counts as the proposer.
    pub async fn wait_review(&self, id: ReviewId, wait: Wait, asker: Asker<'_>) -> Answer<WaitResult> {
        let review = self.review(id).await?;
        let is_known = asker.name.is_some() || asker.role.is_some();
        let since = match wait.since {
            Some(since) => since,
            None if is_known || awaits_others(&review) => review.version,
            None => return Ok(WaitResult { review, timed_out: false }),
        };
        if review.version != since || review.is_final() || asker.must_act(&review) {
            return Ok(WaitResult { review, timed_out: false });
        }
        let _waiter = self.admit_waiter()?;
        let deadline = self.wait_until(wait);
        loop {
            let Some(mut snapshot) = self.watch(id, true).await? else {
                return Err(BrokerError::Busy { what: "as many reviews are awake as reviews.max_live allows" });
            };
            tokio::select! {
                changed = newer(&mut snapshot, since) => match changed {
                    Some(review) => return Ok(WaitResult { review, timed_out: false }),
                    // Its actor was replaced, or the review is closed: read it again.
                    None => {
                        let review = self.review(id).await?;
                        if review.version > since || review.is_final() {
                            return Ok(WaitResult { review, timed_out: false });
                        }
                    }
                },
                () = tokio::time::sleep_until(deadline) => break,
                () = self.0.shared.closing.cancelled() => break,
            }
        }
        let review = self.review(id).await?;
        let timed_out = review.version == since;
        Ok(WaitResult { review, timed_out })
    }

    pub async fn list(&self, query: ListQuery) -> Answer<Listing> {
        let limit = input_validation::page(&self.0.shared.settings.limits, query.limit)?;
        let filters = self.filters(&query)?;
        let known = *self.0.feed.committed.borrow();
        if query.my_turn {
            let page = self.list_turns(&query, &filters, limit).await?;
            return Ok(Listing { page: Arc::new(page), seq: known, timed_out: false });
        }
        let (page, last_queued) = self.reader().list_reviews(&filters, query.cursor.as_deref(), limit).await?;
        // A caller that has seen the event of a row has seen all earlier ones.
        Ok(Listing { page: Arc::new(page), seq: known.max(last_queued), timed_out: false })
    }

    /// The reviews of a list in which it is the caller's turn. A page may be short although more pages follow.
    async fn list_turns(&self, query: &ListQuery, filters: &[ReviewFilter], limit: u32) -> Answer<Page<Review>> {
        let asker = Asker { name: query.caller_id.as_deref(), role: query.role };
        let mut cursor = query.cursor.clone();
        loop {
            let (mut page, _) = self.reader().list_reviews(filters, cursor.as_deref(), limit).await?;
            page.items.retain(|review| asker.must_act(review));
            if !page.items.is_empty() || page.next_cursor.is_none() {
                return Ok(page);
            }
            cursor = page.next_cursor;
        }
    }

    /// Counts the reviews of a list by status, and those that wait for an operator.
    pub async fn count(&self, query: &ListQuery) -> Answer<ReviewCounts> {
        let _call = self.admit()?;
        Ok(self.reader().count_reviews(&self.filters(query)?).await?)
    }

    /// Counts the reviews of a list. `None` if only reading them could count them: reviews in which it is the caller's
    /// turn, or which it can claim.
    pub async fn count_listed(&self, query: &ListQuery) -> Answer<Option<u64>> {
        let is_for_caller = query.caller_id.is_some() && query.status == Some(Status::Pending);
        if query.my_turn || query.for_work || is_for_caller {
            return Ok(None);
        }
        let any_status = ListQuery { status: None, statuses: Vec::new(), ..query.clone() };
        let is_listed = |status: &Status| match query.status {
            Some(only) => *status == only,
            None => query.statuses.is_empty() || query.statuses.contains(status),
        };
        let counts = self.count(&any_status).await?.by_status;
        Ok(Some(counts.iter().filter(|(status, _)| is_listed(status)).map(|(_, count)| count).sum()))
    }

    /// Counts the reviews of a list in which it is the caller's turn, up to `limit`.
    pub async fn count_turns(&self, query: &ListQuery, limit: usize) -> Answer<usize> {
        let _call = self.admit()?;
        let query = ListQuery { my_turn: true, ..query.clone() };
        let filters = self.filters(&query)?;
        let asker = Asker { name: query.caller_id.as_deref(), role: query.role };
        let (mut turns, mut cursor) = (0, None);
        loop {
            let (page, _) = self.reader().list_reviews(&filters, cursor.as_deref(), TURNS_PER_PAGE).await?;
            turns += page.items.iter().filter(|review| asker.must_act(review)).count();
            cursor = page.next_cursor;
            if cursor.is_none() || turns >= limit {
                return Ok(turns.min(limit));
            }
        }
    }

    /// Like [`Self::list`] with `my_turn`, but waits until there is such a review.
    pub async fn wait_turn(&self, query: ListQuery, wait: Wait) -> Answer<Listing> {
        let _waiter = self.admit_waiter()?;
        let deadline = self.wait_until(wait);
        let mut committed = self.0.feed.committed.clone();
        loop {
            committed.borrow_and_update();
            let listing = self.list(query.clone()).await?;
            let timed_out = |listing| Ok(Listing { timed_out: true, ..listing });
            if !listing.page.items.is_empty() {
                return Ok(listing);
            }
            tokio::select! {
                // Many changes that are committed together are looked at once.
                changed = async { committed.changed().await?; tokio::time::sleep(TURN_DELAY).await; Ok::<_, watch::error::RecvError>(()) } => {
                    if changed.is_err() { return timed_out(listing) }
                }
                () = tokio::time::sleep_until(deadline) => return timed_out(listing),
                () = self.0.shared.closing.cancelled() => return timed_out(listing),
            }
        }
    }

    /// Like [`Self::list`] for pending reviews, but waits until there is one that the caller may claim and that `since`
    /// does not cover.
    pub async fn wait_list(&self, query: ListQuery, wait: Wait) -> Answer<Listing> {
        let limit = input_validation::page(&self.0.shared.settings.limits, query.limit)?;
        let query = ListQuery { status: Some(Status::Pending), cursor: None, for_work: true, ..query };
        let filters = self.filters(&query)?;
        let _waiter = self.admit_waiter()?;
        let deadline = self.wait_until(wait);
        let mut queued = self.0.feed.queued.clone();
        loop {
            queued.borrow_and_update();
            let known = *self.0.feed.committed.borrow();
            let (page, last_queued) = self.0.lists.first_page(self.reader(), filters.clone(), limit, known).await?;
            let listing = |timed_out| Listing { page: Arc::clone(&page), seq: known.max(last_queued), timed_out };
            let news = match wait.since {
                None => !page.items.is_empty(),
                Some(since) if last_queued > since => true,
                // A full page may hide newer reviews on later pages.
                Some(since) if page.next_cursor.is_some() => self.any_queued_after(&filters, since).await?,
                Some(_) => false,
            };
            if news {
                return Ok(listing(false));
            }
            tokio::select! {
                changed = queued.changed() => if changed.is_err() { return Ok(listing(true)) },
                () = tokio::time::sleep_until(deadline) => return Ok(listing(true)),
                () = self.0.shared.closing.cancelled() => return Ok(listing(true)),
            }
        }
    }

    async fn any_queued_after(&self, filters: &[ReviewFilter], since: u64) -> Answer<bool> {
        for filter in filters {
            let newer = ReviewFilter { queued_after: Some(since), ..filter.clone() };
            if self.reader().has_reviews(&newer).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One filter per project and status.
    fn filters(&self, query: &ListQuery) -> Answer<Vec<ReviewFilter>> {
        self.check_name("caller_id", query.caller_id.as_ref())?;
        self.check_name("participant", query.participant.as_ref())?;
        self.check_name("branch", query.branch.as_ref())?;
        self.check_name("proposer", query.proposer.as_ref())?;
        self.check_name("persona", query.persona.as_ref())?;
        self.check_name("q", query.search.as_ref())?;
        query.projects.iter().try_for_each(|project| self.known_project(project))?;
        let pending = query.status == Some(Status::Pending);
        let filter = |project: Option<String>, status: Option<Status>| ReviewFilter {
            status,
            newest_first: !query.statuses.is_empty() || query.my_turn,
            by_priority: query.by_priority,
            turn_of: query.caller_id.clone().filter(|_| query.my_turn),
            branch: query.branch.clone(),
            participant: query.participant.clone(),
            proposer: query.proposer.clone(),
            persona: query.persona.clone(),
            search: query.search.as_deref().map(ReviewSearch::new),
            category: query.category,
            project,
            without_project: query.without_project,
            open_to: query.caller_id.clone().filter(|_| pending && !query.my_turn),
            kept_for_pool: query.kept_for_pool.clone(),
            not_by: query.caller_id.clone().filter(|_| query.for_work && !query.my_turn),
            queued_after: None,
        };
        let mut projects: BTreeSet<_> = query.projects.iter().cloned().map(Some).collect();
        if projects.is_empty() {
            projects.insert(None);
        }
        let mut statuses: BTreeSet<_> = query.statuses.iter().copied().map(Some).collect();
        if statuses.is_empty() && query.status.is_none() && query.my_turn {
            statuses.extend(Status::ALL.iter().filter(|status| **status != Status::Closed).map(|status| Some(*status)));
        } else if statuses.is_empty() {
            statuses.insert(query.status);
        }
        let pairs = projects.iter().flat_map(|project| statuses.iter().map(move |status| (project.clone(), *status)));
        Ok(pairs.map(|(project, status)| filter(project, status)).collect())
    }

    fn admit_waiter(&self) -> Answer<SemaphorePermit<'_>> {
        self.0.waiters.try_acquire().map_err(|_| BrokerError::Busy { what: "too many calls are waiting" })
    }

    fn wait_until(&self, wait: Wait) -> Instant {
        let settings = &self.0.shared.settings;
        Instant::now() + wait.timeout.unwrap_or(settings.default_wait).min(settings.max_wait)
    }
}

/// Only reviewers or operators are expected to act, so a proposer has to wait.
fn awaits_others(review: &Review) -> bool {
    waiting_on(review).iter().all(|turn| turn.who != Authority::Proposer)
}

/// The snapshot of a live review after loading; `None` if the actor stopped before.
async fn loaded(snapshot: &mut watch::Receiver<Snapshot>, id: ReviewId) -> Answer<Option<Arc<Review>>> {
    let Ok(snapshot) = snapshot.wait_for(|snapshot| !matches!(snapshot, Snapshot::Loading)).await else {
        return Ok(None);
    };
    match &*snapshot {
        Snapshot::Ready(review) => Ok(Some(Arc::clone(review))),
        Snapshot::Unreadable(why) => Err(BrokerError::Unreadable { why: why.to_string() }),
        Snapshot::Missing => Err(BrokerError::UnknownReview { given: id.to_string() }),
        Snapshot::Loading => Ok(None),
    }
}

async fn newer(snapshot: &mut watch::Receiver<Snapshot>, since: u64) -> Option<Arc<Review>> {
    let is_newer = |snapshot: &Snapshot| matches!(snapshot, Snapshot::Ready(review) if review.version > since);
    match &*snapshot.wait_for(is_newer).await.ok()? {
        Snapshot::Ready(review) => Some(Arc::clone(review)),
        Snapshot::Loading | Snapshot::Missing | Snapshot::Unreadable(_) => None,
    }
}

/// A page, and the highest queue event of its rows.
type SharedPage = (Arc<Page<Review>>, u64);

/// The most different pages kept at once. A caller that waits for a dropped page still gets it.
const MAX_PAGES: usize = 256;

/// Shares list pages between waiting calls: when the queue changes, one of them reads the page for all.
#[derive(Default)]
pub(super) struct SharedLists(Mutex<CurrentPages>);

#[derive(Default)]
struct CurrentPages {
    seq: u64,
    pages: HashMap<(Vec<ReviewFilter>, u32), Arc<OnceCell<SharedPage>>>,
}

impl SharedLists {
    /// The first page as of event `seq` or later.
    async fn first_page(
        &self,
        reader: &Reader,
        filters: Vec<ReviewFilter>,
        limit: u32,
        seq: u64,
    ) -> Result<SharedPage, StoreError> {
        debug_assert!(filters.iter().all(|filter| filter.status == Some(Status::Pending)));
        let cell = {
            let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Pages are shared only until the next event, and the map must not grow without limit.
            if current.seq != seq || current.pages.len() >= MAX_PAGES {
                current.seq = seq;
                current.pages.clear();
            }
            Arc::clone(current.pages.entry((filters.clone(), limit)).or_default())
        };
        let read = || async {
            let (page, last_queued) = reader.list_reviews(&filters, None, limit).await?;
            Ok((Arc::new(page), last_queued))
        };
        cell.get_or_try_init(read).await.cloned()
    }
}
