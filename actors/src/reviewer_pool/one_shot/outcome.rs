//! Ends a one-shot review: submits the reviewer's verdict, or releases the seat if there is none.

use super::{ClaimedSeat, OneShot, response::ReviewerResponse};
use crate::{
    error::BrokerError,
    reviewer_pool::reviewer_actor::{Exit, Runner},
};
use domain::{
    credential::Authority,
    finding::{FindingNumber, RequestedStatus},
    review::{Command, ReleaseSeat, UpdateFinding},
    text,
    verdict::{ReviewMetrics, VerdictRequest},
};
use std::{sync::PoisonError, time::Duration};
use tokio::time::sleep;

/// How often a call is repeated that may succeed later, for example while another reviewer claims.
const MAX_TRIES: u32 = 300;
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How often git is asked whether a diff applies, if it cannot tell.
const MAX_CHECK_TRIES: u32 = 3;

/// The longest reason for a released seat.
const MAX_DETAIL_CHARS: usize = 1000;

impl OneShot {
    /// The part of the budget that is left for the next run; `Err` with a message if it is spent.
    pub(super) async fn budget_left(&self, runner: &Runner) -> Result<Option<f64>, String> {
        let (Some(budget), Some(seat)) = (self.persona.budget_usd, &runner.row.seat) else { return Ok(None) };
        let recorded = runner.shared.reader.sum_seat_cost(seat).await.map_err(|error| error.to_string())?;
        // The recorded cost includes this reviewer's own row, which may lag behind.
        let own = self.work(runner).cost_usd.unwrap_or_default();
        let own_recorded = runner.row.work.cost_usd.unwrap_or_default();
        let spent = recorded - own_recorded + own;
        if spent < budget {
            return Ok(Some(budget - spent));
        }
        Err(format!("its budget of {budget} USD for this review is spent ({spent:.4} USD)"))
    }

    /// The counts of the row, with what the client has reported so far.
    pub(super) fn work(&self, runner: &Runner) -> store::ReviewerWork {
        let mut work = runner.row.work.clone();
        runner.usage.lock().unwrap_or_else(PoisonError::into_inner).add_to(&mut work);
        work
    }

    /// Gives the verdict for the claim and content of `seat`, so that a late verdict changes nothing. Returns the summary
    /// of the exit; `Err` with a message if the response cannot be accepted.
    pub(super) async fn submit(
        &self,
        runner: &Runner,
        seat: &ClaimedSeat,
        response: ReviewerResponse,
    ) -> Result<String, String> {
        let work = self.work(runner);
        let reported_model = runner.usage.lock().unwrap_or_else(PoisonError::into_inner).model.clone();
        let metrics = ReviewMetrics {
            files_reviewed: response.files_reviewed,
            lines_analyzed: response.lines_analyzed,
            duration_ms: u64::try_from(seat.since.elapsed().as_millis()).ok(),
            cost_usd: work.cost_usd,
            input_tokens: work.input_tokens,
            output_tokens: work.output_tokens,
            model: reported_model.or_else(|| self.runtime.model.clone()),
        };
        let request = VerdictRequest {
            reviewer_id: Some(runner.row.id.clone()),
            claim_generation: Some(seat.generation),
            content_hash: Some(seat.review.round.content_hash.0.clone()),
            reason: response.reason,
            summary: response.summary,
            metrics: Some(metrics),
            ..VerdictRequest::new(self.review.to_string(), response.verdict)
        };
        self.update_findings(runner, &response.settled).await;
        let give = || runner.submissions.give_verdict(self.review, &request, &response.findings, None);
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
                runner.submissions.reviews.decide(self.review, Command::UpdateFinding(update.clone()))
            });
            if let Err(error) = updated.await {
                tracing::warn!(review.id = %self.review, issue = %number, %error, "cannot update a finding");
            }
        }
    }

    /// Whether the review still has the content and the claim that the client judged.
    async fn still_holds(&self, runner: &Runner, seat: &ClaimedSeat) -> bool {
        let now = runner.shared.reader.find_review(self.review).await.ok().flatten();
        now.is_some_and(|now| {
            let claims = now.seats.iter().filter_map(|seat| seat.claim.as_ref());
            now.status.is_open()
                && now.round.content_hash == seat.review.round.content_hash
                && claims.into_iter().any(|claim| claim.generation == seat.generation)
        })
    }

    /// Releases the seat with the reason. A refusal means that the reviewer no longer holds it.
    pub(super) async fn release(
        &self,
        runner: &Runner,
        seat: &ClaimedSeat,
        message: String,
        last_words: Vec<String>,
    ) -> Exit {
        let detail = match last_words.last() {
            Some(last) if !message.contains(last.as_str()) => format!("{message}; last words: {last}"),
            Some(_) | None => message.clone(),
        };
        let detail = text::truncate(&detail, MAX_DETAIL_CHARS).to_owned();
        let (by, generation) = (Some(runner.row.id.clone()), Some(seat.generation));
        let released = retry_transient(|| {
            let reason = Some(detail.clone());
            let release = ReleaseSeat { by: by.clone(), generation, reason, gave_up: true };
            runner.submissions.reviews.decide(self.review, Command::Release(release))
        });
        match released.await {
            Ok(_) | Err(BrokerError::Refused(_)) => {}
            Err(error) => tracing::error!(review.id = %self.review, %error, "cannot release a seat"),
        }
        let last_words = last_words.into_iter().chain([message]).collect();
        Exit { summary: format!("could not review: {detail}"), clean: false, last_words }
    }
}

/// Repeats a call while it fails with an error that may go away.
pub(super) async fn retry_transient<T, A>(mut call: impl FnMut() -> A) -> Result<T, BrokerError>
where
    A: Future<Output = Result<T, BrokerError>>,
{
    let (mut tries, mut checks) = (1..MAX_TRIES, 1..MAX_CHECK_TRIES);
    loop {
        match call().await {
            Err(BrokerError::ShuttingDown) => return Err(BrokerError::ShuttingDown),
            Err(error @ BrokerError::CheckFailed { .. }) if checks.next().is_none() => return Err(error),
            Err(error) if error.is_retryable() && tries.next().is_some() => sleep(RETRY_DELAY).await,
            result => return result,
        }
    }
}
