//! A verdict on its way to its review: the same checks for whoever gives it.

use crate::{
    Context,
    error::BrokerError,
    gateway::{CommandPayload, GatewayMessage},
    requests::VerdictRequest,
    submission::unreadable,
};
use domain::{
    content::digest,
    ids::ReviewId,
    review::{Check, Command, GiveVerdict, OfferedFindings, OfferedPatch, Refusal, Review, Seat, check_needed},
};
use std::sync::Arc;

impl Context {
    /// `expected`: the version that the review must have, if that matters.
    pub(crate) async fn give_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected: Option<u64>,
    ) -> Result<Arc<Review>, BrokerError> {
        self.settings.limits.verdict(&request)?;
        self.refuse_secrets(&request.texts()).await?;
        if let Some(patch) = &request.counter_patch {
            self.refuse_flagged_patch(patch).await?;
        }
        match self.try_verdict(id, request.clone(), expected).await {
            // The findings were looked up in a content that is no longer the active one.
            Err(BrokerError::Refused(Refusal::ContentMoved)) if !request.findings.is_empty() => {
                self.try_verdict(id, request, expected).await
            }
            answer => answer,
        }
    }

    async fn try_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected: Option<u64>,
    ) -> Result<Arc<Review>, BrokerError> {
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
            let given = format!("{:?}", request.findings);
            let digest = Some(digest(&[&given]));
            verdict.findings.digest.clone_from(&digest);
            let unknown = || BrokerError::UnknownReview { given: id.to_string() };
            let review = self.reader.find_review(id).await.map_err(unreadable)?.ok_or_else(unknown)?;
            // What will be refused anyway costs no look at the files.
            let asked = Command::GiveVerdict(verdict.clone());
            check_needed(&review, &asked, self.clock.now()).map_err(BrokerError::Refused)?;
            let looking = Box::pin(self.look_up(&review, seat_of(&review, &verdict), request.findings));
            verdict.findings = OfferedFindings { digest, ..self.while_open(looking).await? };
        }
        let (command, attached) =
            (Box::new(Command::GiveVerdict(verdict)), CommandPayload { content: None, patch, expected });
        Ok(self.ask(|reply| GatewayMessage::Apply { id, command, attached, reply }).await?.review)
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
