//! Reads the past: the filtered event log, the timeline of a review, and statistics.

use super::{Answer, Broker};
use crate::{error::BrokerError, limits::Text, requests::HistoryQuery, submission::unreadable};
use domain::{ids::ReviewId, query::GroupBy, stats::Stats};
use store::{EventFilter, EventRecord, Page, StatsPeriod, TimelineRecord};

impl Broker {
    /// Events of the log by filter. A page may be short or empty although more pages follow.
    pub async fn history(&self, query: HistoryQuery) -> Answer<Page<EventRecord>> {
        let _call = self.admit()?;
        let limits = &self.0.context.settings.limits;
        let limit = limits.page(query.limit)?;
        limits.check(&[Text::name("actor", query.filter.actor.as_deref())])?;
        let cursor = query.cursor.map(|cursor| cursor.parse().map_err(|_| BrokerError::BadCursor)).transpose()?;
        let review = match query.review {
            Some(id) => Some(self.review(id).await?.number),
            None => None,
        };
        let filter = EventFilter { review, ..query.filter };
        self.0.context.reader.list_events_by(&filter, query.order, cursor, limit).await.map_err(unreadable)
    }

    /// The events of a review after version `after`, oldest first.
    pub async fn timeline(&self, id: ReviewId, after: u64, limit: u32) -> Answer<Vec<TimelineRecord>> {
        let _call = self.admit()?;
        let review = self.review(id).await?;
        self.0.context.reader.list_timeline(review.number, after, limit).await.map_err(unreadable)
    }

    /// Statistics run one at a time: they read every review, and all other reads share the same few connections.
    pub async fn stats(&self, period: StatsPeriod, by: GroupBy) -> Answer<Stats> {
        let _call = self.admit()?;
        let busy = |_| BrokerError::Busy { what: "too many statistics are being made" };
        let _queued = self.0.stats_queue.try_acquire().map_err(busy)?;
        let _turn = self.0.stats_turn.acquire().await.map_err(|_| BrokerError::ShuttingDown)?;
        self.0.context.reader.count_stats(&period, by).await.map_err(unreadable)
    }

    /// Refuses a project that is not registered.
    pub fn known_project(&self, given: &str) -> Answer<()> {
        self.check_name("project", Some(given))?;
        let known = self.0.context.projects.names();
        if known.iter().any(|name| name == given) {
            return Ok(());
        }
        Err(BrokerError::UnknownProject { given: given.into(), known })
    }
}
