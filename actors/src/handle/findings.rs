//! Verdicts with what they found, and what becomes of it.

use super::{Answer, Attached, Broker};
use crate::{
    error::BrokerError,
    prepare::unreadable,
    request::{FindingQuery, FindingUpdate, VerdictRequest},
};
use domain::{
    content::digest,
    ids::ReviewId,
    review::{
        Check, Command, GiveVerdict, OfferedFindings, OfferedPatch, Refusal, Review, Seat, UpdateFinding, check_needed,
    },
};
use std::sync::Arc;
use store::{FindingFilter, FoundIn, view::Page};

impl Broker {
    pub async fn give_verdict(&self, id: ReviewId, request: VerdictRequest) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        self.0.context.settings.limits.verdict(&request)?;
        self.0.context.refuse_secrets(&request.texts()).await?;
        if let Some(patch) = &request.counter_patch {
            self.0.context.refuse_flagged_patch(patch).await?;
        }
        match self.try_verdict(id, request.clone()).await {
            // The findings were looked up in a content that is no longer the active one.
            Err(BrokerError::Refused(Refusal::ContentMoved)) if !request.findings.is_empty() => {
                self.try_verdict(id, request).await
            }
            answer => answer,
        }
    }

    async fn try_verdict(&self, id: ReviewId, request: VerdictRequest) -> Answer<Arc<Review>> {
        let patch: Option<Arc<str>> = request.counter_patch.map(Into::into);
        let mut verdict = GiveVerdict {
            by: request.reviewer_id,
            generation: request.claim_generation,
            content_hash: request.content_hash,
            verdict: request.verdict,
            reason: request.reason,
            summary: request.summary,
            metrics: request.metrics,
            patch: patch.as_ref().map(|text| OfferedPatch { digest: digest(&[text]), check: Check::NotNeeded }),
            findings: OfferedFindings::default(),
        };
        if !request.findings.is_empty() {
            let review = self.review(id).await?;
            // What will be refused anyway costs no look at the files.
            let asked = Command::GiveVerdict(verdict.clone());
            check_needed(&review, &asked, self.0.context.clock.now()).map_err(BrokerError::Refused)?;
            let looking = Box::pin(self.0.context.look_up(&review, seat_of(&review, &verdict), request.findings));
            verdict.findings = self.0.context.while_open(looking).await?;
        }
        Ok(self.apply(id, Command::GiveVerdict(verdict), Attached { content: None, patch }).await?.review)
    }

    /// The review after somebody has said what is to become of a finding.
    pub async fn update_finding(&self, id: ReviewId, update: FindingUpdate) -> Answer<Arc<Review>> {
        let _call = self.admit()?;
        let limits = &self.0.context.settings.limits;
        limits.name("caller_id", update.by.as_deref())?;
        limits.note(update.note.as_deref())?;
        self.0.context.refuse_secrets(&[("note", update.note.as_deref())]).await?;
        let FindingUpdate { number, role, by, wish, duplicate_of, note } = update;
        let command = UpdateFinding { number, role, by, wish, duplicate_of, note };
        self.decide(id, Command::UpdateFinding(command)).await
    }

    /// Findings of one review or of all, newest first.
    pub async fn findings(&self, query: FindingQuery) -> Answer<Page<FoundIn>> {
        let limit = self.0.context.settings.limits.page(query.limit)?;
        self.0.context.settings.limits.name("persona", query.filter.persona.as_deref())?;
        self.0.context.settings.limits.path("file", query.filter.file.as_deref())?;
        let before = query.cursor.map(|cursor| cursor.parse().map_err(|_| BrokerError::BadCursor)).transpose()?;
        let review = match query.review {
            Some(id) => Some(self.review(id).await?.number),
            None => None,
        };
        let filter = FindingFilter { review, ..query.filter };
        self.0.context.reader.list_findings(&filter, before, limit).await.map_err(unreadable)
    }
}

/// The seat that a verdict speaks for, as far as it can be told.
fn seat_of<'a>(review: &'a Review, verdict: &GiveVerdict) -> Option<&'a Seat> {
    review.seats.iter().find(|seat| {
        seat.claim.as_ref().is_some_and(|claim| match (verdict.generation, &verdict.by) {
            (Some(generation), _) => claim.generation == generation,
            (None, Some(by)) => claim.by == *by,
            (None, None) => false,
        })
    })
}
