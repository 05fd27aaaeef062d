//! The review that a call reads: as it is, or with `at` as it was after one of its events. This is the one place that
//! chooses between the two.

use super::{Call, error::CallError};
use actors::Broker;
use api::{ErrorBody, messages::Message, proposals::Iteration};
use domain::{
    content::ContentHash,
    finding::Finding,
    ids::ReviewId,
    query_types::ReviewerEffort,
    review::{PastReview, PatchStatus, Review, ReviewTarget},
};
use std::{ops::Deref, sync::Arc};
use store::{CounterPatchRow, FindingFilter, ListedFinding, Page, RoundRow, StoreError};

/// What became of a counter-patch whose seat was vacated or got another one, as the database says it.
const DROPPED: &str = "dropped";

pub(super) struct ReviewView {
    review: Arc<Review>,
    past: Option<PastReview>,
    broker: Broker,
}

/// The contents of one round.
pub(super) struct RoundContents {
    pub(super) active: ContentHash,
    pub(super) submitted: Option<ContentHash>,
    pub(super) target: Option<Box<ReviewTarget>>,
}

impl Call<'_> {
    /// Finds the review that the caller names, as it is now or was after its event `at`. A past review is only read: it
    /// renews no claim.
    pub(super) async fn view(&self, given: &str, at: Option<u64>, name: Option<&str>) -> Result<ReviewView, CallError> {
        let id = self.resolve(given).await?;
        let view = ReviewView::load(&self.broker, id, at).await?;
        if !view.is_past() {
            self.touch(&view, name).await;
        }
        Ok(view)
    }
}

impl ReviewView {
    pub(super) async fn load(broker: &Broker, id: ReviewId, at: Option<u64>) -> Result<Self, CallError> {
        let review = broker.review(id).await?;
        let broker = broker.clone();
        let Some(at) = at else { return Ok(Self { review, past: None, broker }) };
        let past = broker.past_review(&review, at).await?;
        Ok(Self { review: Arc::clone(&past.review), past: Some(past), broker })
    }

    pub(super) fn is_past(&self) -> bool {
        self.past.is_some()
    }

    pub(super) async fn verdicts(&self, round: u32, limit: u32) -> Result<Vec<Iteration>, StoreError> {
        self.broker.reader().list_verdicts(self.at_version(), round, limit).await
    }

    pub(super) async fn last_vote(&self, round: u32) -> Result<Option<Iteration>, StoreError> {
        self.broker.reader().find_last_vote(self.at_version(), round).await
    }

    pub(super) async fn costs(&self) -> Result<Vec<ReviewerEffort>, StoreError> {
        self.broker.reader().list_review_costs(self.at_version()).await
    }

    pub(super) async fn messages(
        &self,
        round: Option<u32>,
        after: u64,
        limit: u32,
    ) -> Result<Page<Message>, StoreError> {
        self.broker.reader().list_messages(self.at_version(), round, after, limit).await
    }

    /// The last counter-patch offered in a round, from any seat or from one.
    pub(super) async fn last_counter_patch(
        &self,
        round: u32,
        persona: Option<&str>,
    ) -> Result<Option<CounterPatchRow>, StoreError> {
        let found = self.broker.reader().find_last_counter_patch(self.at_version(), round, persona).await?;
        let (Some(row), Some(past)) = (found.as_ref(), &self.past) else { return Ok(found) };
        let status = past.patches.get(&row.id).copied().flatten().map_or(DROPPED, PatchStatus::as_str);
        Ok(found.map(|row| CounterPatchRow { status: status.to_owned(), ..row }))
    }

    /// The contents of a round; `None` if the review does not have it.
    pub(super) async fn round_contents(&self, number: u32) -> Result<Option<RoundContents>, StoreError> {
        let found = match &self.past {
            Some(past) => past.rounds.iter().find(|round| round.number == number).map(|round| RoundContents {
                active: round.content_hash.clone(),
                submitted: round.submitted_hash.clone(),
                target: round.target.clone(),
            }),
            None => {
                let rounds = self.broker.reader().list_rounds(self.number).await?;
                rounds.into_iter().find(|round| round.number == number).map(RoundContents::from)
            }
        };
        // A round of the table may be newer than the review that was read before.
        let current = (number == self.round.number).then(|| self.round.content_hash.clone());
        Ok(found.map(|round| RoundContents { active: current.unwrap_or(round.active), ..round }))
    }

    /// One page of the findings, newest first. The cursor is the number of the last one.
    pub(super) async fn findings(
        &self,
        filter: &FindingFilter,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page<ListedFinding>, CallError> {
        if !self.is_past() {
            return Ok(self.broker.findings(filter, cursor, limit).await?);
        }
        let (before, limit) = self.broker.findings_page(filter, cursor, limit)?;
        let wanted =
            |finding: &&Arc<Finding>| filter.matches(finding) && before.is_none_or(|before| finding.number.0 < before);
        let mut found: Vec<_> = self.review.findings.iter().filter(wanted).collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.number));
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let row = |finding: &&Arc<Finding>| ListedFinding {
            review: self.id,
            number: self.number,
            finding: Finding::clone(finding),
            details: None,
        };
        let next = found.last().filter(|_| more).map(|last| last.number.0.to_string());
        Ok(Page { items: found.iter().map(row).collect(), next_cursor: next })
    }
}

impl Deref for ReviewView {
    type Target = Review;

    fn deref(&self) -> &Review {
        &self.review
    }
}

impl From<RoundRow> for RoundContents {
    fn from(row: RoundRow) -> Self {
        let submitted = row.submitted_hash.map(ContentHash);
        Self { active: ContentHash(row.content_hash), submitted, target: row.target }
    }
}

/// Refuses an argument that makes no sense for a past review.
pub(super) fn refuse_with_at(at: Option<u64>, others: &[(&str, bool)]) -> Result<(), ErrorBody> {
    match others.iter().find(|(_, given)| at.is_some() && *given) {
        Some((name, _)) => Err(ErrorBody::invalid(name, "not allowed with at, which reads the past")),
        None => Ok(()),
    }
}
