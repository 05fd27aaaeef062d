//! Submits the verdict of a one-shot review, and updates the findings that it settles.

use super::{OneShot, response::ReviewerResponse};
use crate::{
    error::BrokerError,
    reviewer_pool::{
        assigned_seat::{ClaimedSeat, retry_transient},
        reviewer_actor::Runner,
    },
};
use domain::{
    credential::Authority,
    finding::{FindingNumber, RequestedStatus},
    review::{Command, UpdateFinding},
    verdict::{ReviewMetrics, VerdictRequest},
};

impl OneShot {
    /// Gives the verdict for the claim and content of `seat`, so that a late verdict changes nothing. Returns the summary
    /// of the exit; `Err` with a message if the response cannot be accepted.
    pub(super) async fn submit(
        &self,
        runner: &Runner,
        seat: &ClaimedSeat,
        response: ReviewerResponse,
    ) -> Result<String, String> {
        let work = runner.work();
        let reported_model = runner.progress.lock().usage.model.clone();
        let metrics = ReviewMetrics {
            files_reviewed: response.files_reviewed,
            lines_analyzed: response.lines_analyzed,
            duration_ms: u64::try_from(seat.since.elapsed().as_millis()).ok(),
            cost_usd: work.cost_usd,
            input_tokens: work.input_tokens,
            output_tokens: work.output_tokens,
            model: reported_model.or_else(|| self.seat.runtime.model.clone()),
        };
        let request = VerdictRequest {
            reviewer_id: Some(runner.row.id.clone()),
            claim_generation: Some(seat.generation),
            content_hash: Some(seat.review.round.content_hash.0.clone()),
            reason: response.reason,
            summary: response.summary,
            metrics: Some(metrics),
            ..VerdictRequest::new(self.seat.review.to_string(), response.verdict)
        };
        self.update_findings(runner, &response.settled).await;
        let give = || runner.submissions.give_verdict(self.seat.review, &request, &response.findings, None);
        match retry_transient(give).await {
            Ok(_) => Ok("exit code 0".to_owned()),
            // The review has changed since, so the verdict no longer applies to it.
            Err(BrokerError::Refused(refusal)) if !self.still_holds(runner, seat).await => {
                Ok(format!("its verdict came too late: {refusal}"))
            }
            Err(error) => Err(format!("the response was not accepted: {error}")),
        }
    }

    /// Updates earlier findings of this persona. A finding that it may not update stays as it is.
    async fn update_findings(&self, runner: &Runner, settled: &[(FindingNumber, RequestedStatus)]) {
        for (number, requested) in settled {
            let by = Some(runner.row.id.clone());
            let (role, duplicate_of, note) = (Authority::Reviewer, None, None);
            let update = UpdateFinding { number: *number, role, by, requested: *requested, duplicate_of, note };
            let updated = retry_transient(|| {
                runner.submissions.reviews.decide(self.seat.review, Command::UpdateFinding(update.clone()))
            });
            if let Err(error) = updated.await {
                tracing::warn!(review.id = %self.seat.review, issue = %number, %error, "cannot update a finding");
            }
        }
    }

    /// Whether the review still has the content and the claim that the client judged.
    async fn still_holds(&self, runner: &Runner, seat: &ClaimedSeat) -> bool {
        let now = runner.shared.reader.find_review(self.seat.review).await.ok().flatten();
        now.is_some_and(|now| {
            let claims = now.seats.iter().filter_map(|seat| seat.claim.as_ref());
            now.status.is_open()
                && now.round.content_hash == seat.review.round.content_hash
                && claims.into_iter().any(|claim| claim.generation == seat.generation)
        })
    }
}
