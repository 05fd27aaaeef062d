//! What becomes of a seat once there is an answer, or none.

use super::{Held, OneShot, response::Answer};
use crate::{
    error::BrokerError,
    pool::{reviewer_actor::Ended, runner::Runner},
    requests::VerdictRequest,
};
use domain::{
    credential::Authority,
    finding::{FindingNumber, RequestedStatus},
    review::{Command, ReleaseSeat, UpdateFinding},
    verdict::ReviewMetrics,
};
use std::{sync::PoisonError, time::Duration};
use tokio::time::sleep;

/// How often, and after which pause, a call is made again that may succeed later: while somebody else claims, say.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// While git cannot say whether a diff applies there is no use in asking it a hundred times.
const CHECK_TRIES: u32 = 3;

/// Of what is said of a failure.
const DETAIL_CHARS: usize = 1000;

impl OneShot {
    /// What the next run may cost; `Err` where nothing is left of it.
    pub(super) async fn budget_left(&self, runner: &Runner) -> Result<Option<f64>, String> {
        let (Some(budget), Some(seat)) = (self.persona.budget_usd, &runner.row.seat) else { return Ok(None) };
        let before = runner.context.reader.sum_seat_cost(seat).await.map_err(|error| error.to_string())?;
        // Its own row may be a moment behind.
        let own = self.work(runner).cost_usd.unwrap_or_default();
        let noted = runner.row.work.cost_usd.unwrap_or_default();
        let spent = before - noted + own;
        if spent < budget {
            return Ok(Some(budget - spent));
        }
        Err(format!("its budget of {budget} USD for this review is spent ({spent:.4} USD)"))
    }

    /// The row's counts, with what its client has reported so far.
    pub(super) fn work(&self, runner: &Runner) -> store::ReviewerWork {
        let usage = runner.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let told = usage.input_tokens > 0 || usage.output_tokens > 0;
        store::ReviewerWork {
            input_tokens: told.then_some(usage.input_tokens),
            output_tokens: told.then_some(usage.output_tokens),
            cost_usd: usage.cost_usd,
            ..runner.row.work.clone()
        }
    }

    /// Gives the verdict, with the claim and the content it is about, so that one that comes too late changes nothing.
    /// `Err`: the answer cannot be taken as it is.
    pub(super) async fn submit(&self, runner: &Runner, held: &Held, answer: Answer) -> Result<String, String> {
        let work = self.work(runner);
        let told = runner.usage.lock().unwrap_or_else(PoisonError::into_inner).model.clone();
        let metrics = ReviewMetrics {
            files_reviewed: answer.files_reviewed,
            lines_analyzed: answer.lines_analyzed,
            duration_ms: u64::try_from(held.since.elapsed().as_millis()).ok(),
            cost_usd: work.cost_usd,
            input_tokens: work.input_tokens,
            output_tokens: work.output_tokens,
            model: told.or_else(|| self.runtime.model.clone()),
        };
        let request = VerdictRequest {
            reviewer_id: Some(runner.row.id.clone()),
            claim_generation: Some(held.generation),
            content_hash: Some(held.review.round.content_hash.0.clone()),
            verdict: answer.verdict,
            reason: answer.reason,
            summary: answer.summary,
            metrics: Some(metrics),
            counter_patch: None,
            findings: answer.findings,
        };
        self.settle(runner, &answer.settled).await;
        match persistently(|| runner.context.give_verdict(self.review, request.clone(), None)).await {
            Ok(_) => Ok("exit code 0".to_owned()),
            // The review has gone on without it, and what it says is about what no longer is.
            Err(BrokerError::Refused(refusal)) if !self.still_holds(runner, held).await => {
                Ok(format!("its verdict came too late: {refusal}"))
            }
            Err(error) => Err(format!("the answer was not accepted: {error}")),
        }
    }

    /// Says what has become of its persona's earlier findings. One that it may not settle stays as it is.
    async fn settle(&self, runner: &Runner, settled: &[(FindingNumber, RequestedStatus)]) {
        for (number, wish) in settled {
            let by = Some(runner.row.id.clone());
            let (role, duplicate_of, note) = (Authority::Reviewer, None, None);
            let update = UpdateFinding { number: *number, role, by, wish: *wish, duplicate_of, note };
            let told = persistently(|| runner.context.decide(self.review, Command::UpdateFinding(update.clone())));
            if let Err(error) = told.await {
                tracing::warn!(review.id = %self.review, issue = %number, %error, "a finding is not settled");
            }
        }
    }

    /// Whether the claim and the content are those of the question.
    async fn still_holds(&self, runner: &Runner, held: &Held) -> bool {
        let now = runner.context.reader.find_review(self.review).await.ok().flatten();
        now.is_some_and(|now| {
            let claims = now.seats.iter().filter_map(|seat| seat.claim.as_ref());
            now.status.is_open()
                && now.round.content_hash == held.review.round.content_hash
                && claims.into_iter().any(|claim| claim.generation == held.generation)
        })
    }

    /// Gives the seat back, and says why. If it is no longer ours to give, that says enough.
    pub(super) async fn give_up(&self, runner: &Runner, held: &Held, words: String, last_words: Vec<String>) -> Ended {
        let detail = match last_words.last() {
            Some(last) if !words.contains(last.as_str()) => format!("{words}; last words: {last}"),
            Some(_) | None => words.clone(),
        };
        let detail = domain::text::truncate(&detail, DETAIL_CHARS).to_owned();
        let (by, generation) = (Some(runner.row.id.clone()), Some(held.generation));
        let released = persistently(|| {
            let reason = Some(detail.clone());
            let release = ReleaseSeat { by: by.clone(), generation, reason, gave_up: true };
            runner.context.decide(self.review, Command::Release(release))
        });
        match released.await {
            Ok(_) | Err(BrokerError::Refused(_)) => {}
            Err(error) => tracing::error!(review.id = %self.review, %error, "a seat is not given back"),
        }
        let last_words = last_words.into_iter().chain([words]).collect();
        Ended { exit: format!("could not review: {detail}"), cleanly: false, last_words }
    }
}

/// Asks again while the answer may still be another.
pub(super) async fn persistently<T, A>(mut ask: impl FnMut() -> A) -> Result<T, BrokerError>
where
    A: Future<Output = Result<T, BrokerError>>,
{
    let (mut tries, mut checks) = (1..TRIES, 1..CHECK_TRIES);
    loop {
        match ask().await {
            Err(BrokerError::ShuttingDown) => return Err(BrokerError::ShuttingDown),
            Err(error @ BrokerError::CheckFailed { .. }) if checks.next().is_none() => return Err(error),
            Err(error) if error.is_retryable() && tries.next().is_some() => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}
