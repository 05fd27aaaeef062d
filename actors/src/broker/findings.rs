//! Giving verdicts; listing and updating findings.

use super::{Answer, Broker};
use crate::{
    error::BrokerError,
    limits::Text,
    requests::{FindingQuery, VerdictRequest},
    review::CommandOutcome,
    submission::unreadable,
};
use domain::{
    ids::ReviewId,
    review::{Command, Review, UpdateFinding},
};
use std::sync::Arc;
use store::{FindingFilter, ListedFinding, Page};

impl Broker {
    pub async fn give_verdict(&self, id: ReviewId, request: VerdictRequest) -> Answer<CommandOutcome> {
        let _call = self.admit()?;
        self.0.context.give_verdict(id, request, self.1).await
    }

    /// Updates a finding and returns its review.
    pub async fn update_finding(&self, id: ReviewId, update: UpdateFinding) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        let texts = [Text::name("caller_id", update.by.as_deref()), Text::prose("note", update.note.as_deref())];
        self.0.context.check_texts(&texts).await?;
        self.decide(id, Command::UpdateFinding(update)).await
    }

    /// Findings of one review or of all, newest first.
    pub async fn findings(&self, query: FindingQuery) -> Answer<Page<ListedFinding>> {
        let limit = self.0.context.settings.limits.page(query.limit)?;
        let filter = &query.filter;
        let texts = [Text::name("persona", filter.persona.as_deref()), Text::path("file", filter.file.as_deref())];
        self.0.context.settings.limits.check(&texts)?;
        let before = query.cursor.map(|cursor| cursor.parse().map_err(|_| BrokerError::BadCursor)).transpose()?;
        let review = match query.review {
            Some(id) => Some(self.review(id).await?.number),
            None => None,
        };
        let filter = FindingFilter { review, ..query.filter };
        self.0.context.reader.list_findings(&filter, before, limit).await.map_err(unreadable)
    }
}
