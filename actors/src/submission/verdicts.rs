//! Verdicts: checks the request, grounds its findings in the files and sends the command to the review.

use crate::{
    Context, error::BrokerError, gateway::CommandPayload, limits::Limits, requests::VerdictRequest,
    review::CommandOutcome, submission::unreadable,
};
use domain::{
    content::digest_json,
    ids::ReviewId,
    review::{Command, GiveVerdict, OfferedPatch, Refusal, check_needed},
};
use std::sync::Arc;

impl Context {
    /// `expected_version`: the version that the review must have, if any.
    pub(crate) async fn give_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let limits = &self.settings.limits;
        self.check_texts(&request.texts(limits)).await?;
        limits.check_findings(&request.findings)?;
        Limits::check_metrics(request.metrics.as_ref())?;
        if let Some(patch) = &request.counter_patch {
            self.refuse_flagged_patch(patch).await?;
        }
        match self.try_verdict(id, request.clone(), expected_version).await {
            // The findings were checked against a content that is no longer active.
            Err(BrokerError::Refused(Refusal::ContentMoved)) if !request.findings.is_empty() => {
                self.try_verdict(id, request, expected_version).await
            }
            outcome => outcome,
        }
    }

    async fn try_verdict(
        &self,
        id: ReviewId,
        request: VerdictRequest,
        expected_version: Option<u64>,
    ) -> Result<CommandOutcome, BrokerError> {
        let digest = request.digest();
        let patch: Option<Arc<str>> = request.counter_patch.map(Into::into);
        let mut verdict = GiveVerdict {
            by: request.reviewer_id,
            generation: request.claim_generation,
            content_hash: request.content_hash,
            verdict: request.verdict,
            reason: request.reason,
            summary: request.summary,
            metrics: request.metrics,
            patch: patch.as_ref().map(|_| OfferedPatch { check: None }),
            findings: None,
            digest,
        };
        if !request.findings.is_empty() {
            let unknown = || BrokerError::UnknownReview { given: id.to_string() };
            let review = self.reader.find_review(id).await.map_err(unreadable)?.ok_or_else(unknown)?;
            // A verdict that will be refused does not need its files read.
            let command = Command::GiveVerdict(verdict.clone());
            check_needed(&review, &command, self.clock.now()).map_err(BrokerError::Refused)?;
            let seat = review.claimed_seat(verdict.by.as_deref(), verdict.generation).map(|(_, seat, _)| seat);
            let grounding = Box::pin(self.ground_findings(&review, seat, request.findings));
            verdict.findings = Some(self.until_shutdown(grounding).await?);
        }
        let payload = CommandPayload { content: None, patch, expected_version };
        self.apply(id, Command::GiveVerdict(verdict), payload).await
    }
}

impl VerdictRequest {
    /// Fingerprint by which a repeated verdict is recognised: everything the reviewer says, without its name, its claim
    /// and its metrics.
    fn digest(&self) -> String {
        let Self { verdict, reason, summary, content_hash, counter_patch, findings, .. } = self;
        digest_json(&(verdict, reason, summary, content_hash, counter_patch, findings))
    }
}
