//! Claims a seat for one of the broker's own reviewers, prepares its copy of the project, watches its spending limit,
//! and releases the seat. One-shot and dedicated reviewers work on such seats.

use super::reviewer_actor::{Exit, Runner};
use crate::{credentials::ReviewerCredential, error::BrokerError, reviewer_workspaces, submission::Submissions};
use domain::{
    ids::ReviewId,
    persona::Persona,
    review::{ClaimSeat, Command, ReleaseSeat, Review},
    runtime::RuntimeSettings,
    text,
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// How often a call is repeated that may succeed later, for example while another reviewer claims.
const MAX_TRIES: u32 = 300;
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How often git is asked whether a diff applies, if it cannot tell.
const MAX_CHECK_TRIES: u32 = 3;

/// The longest reason for a released seat.
const MAX_DETAIL_CHARS: usize = 1000;

/// A seat, and what it takes to review it.
pub(crate) struct AssignedSeat {
    pub(crate) persona: Arc<Persona>,
    pub(crate) review: ReviewId,
    pub(crate) runtime: RuntimeSettings,
    /// The client's program.
    pub(crate) program: PathBuf,
    /// The working folder if the project cannot be copied.
    pub(crate) folder: PathBuf,
    pub(crate) credential: Arc<ReviewerCredential>,
}

/// The seat after the broker has claimed it.
pub(crate) struct ClaimedSeat {
    pub(crate) review: Arc<Review>,
    pub(crate) generation: u32,
    pub(crate) since: Instant,
    /// Before the lease ends, with enough time left to release the seat.
    pub(crate) deadline: Instant,
}

impl AssignedSeat {
    /// Claims the seat for the reviewer `id`. `Err` if it cannot be claimed, or if git found that the diff does not apply.
    pub(crate) async fn claim(&self, submissions: &Submissions, id: &str) -> Result<ClaimedSeat, Exit> {
        let (shared, _claiming) = (&submissions.shared, self.credential.claim());
        let since = Instant::now();
        let claimed = retry_transient(|| {
            let persona = Some(self.persona.name.clone());
            let claim =
                ClaimSeat { by: id.to_owned(), persona, takes_over: None, check: None, pool_personas: Vec::new() };
            submissions.reviews.decide(self.review, Command::Claim(claim))
        });
        let review = match claimed.await {
            Ok(outcome) => outcome.review,
            Err(BrokerError::Refused(refusal)) => return Err(Exit::clean(format!("not needed: {refusal}"))),
            Err(error) => return Err(Exit::failed(format!("could not claim: {error}"))),
        };
        let claim = review.seats.iter().filter(|seat| seat.is_held_by(id)).find_map(|seat| seat.claim.as_ref());
        let Some(claim) = claim else { return Err(Exit::clean("not needed: the diff does not apply".to_owned())) };
        let lease_ends = claim.lease_ends.map(|tick| shared.clock.instant_of(tick));
        let left = lease_ends.map_or(self.persona.time_limit, |ends| ends.saturating_duration_since(since));
        let reserve = (shared.settings.pool.stop_grace + Duration::from_secs(5)).min(left / 2);
        let (generation, deadline) = (claim.generation, since + left.saturating_sub(reserve));
        Ok(ClaimedSeat { review, generation, since, deadline })
    }

    /// Copies the project with the change applied. `None` if the project cannot be copied.
    pub(crate) async fn copy_project(&self, submissions: &Submissions, review: &Review, id: &str) -> Option<PathBuf> {
        Box::pin(submissions.check_out(review, id)).await.unwrap_or_else(|error| {
            tracing::warn!(review.id = %review.id, reviewer.id = id, %error, "cannot copy the project for a reviewer");
            None
        })
    }

    /// The part of the budget that is left for the next run; `Err` with a message if it is spent.
    pub(crate) async fn budget_left(&self, runner: &Runner) -> Result<Option<f64>, String> {
        let (Some(budget), Some(seat)) = (self.persona.budget_usd, &runner.row.seat) else { return Ok(None) };
        let recorded = runner.shared.reader.sum_seat_cost(seat).await.map_err(|error| error.to_string())?;
        // The recorded cost includes this reviewer's own row, which may lag behind.
        let own = runner.work().cost_usd.unwrap_or_default();
        let own_recorded = runner.row.work.cost_usd.unwrap_or_default();
        let spent = recorded - own_recorded + own;
        if spent < budget {
            return Ok(Some(budget - spent));
        }
        Err(format!("its budget of {budget} USD for this review is spent ({spent:.4} USD)"))
    }

    /// Releases the seat with the reason and hands the review to an operator. A refusal means that the reviewer no longer
    /// holds the seat.
    pub(crate) async fn give_up(
        &self,
        runner: &Runner,
        generation: u32,
        message: String,
        last_words: Vec<String>,
    ) -> Exit {
        let detail = with_last_words(&message, &last_words);
        let (by, generation) = (Some(runner.row.id.clone()), Some(generation));
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
        Exit { last_words, ..Exit::failed(format!("could not review: {detail}")) }
    }

    pub(crate) fn reviewer_folder(&self, runner: &Runner) -> PathBuf {
        reviewer_workspaces::reviewer_folder(&runner.shared.settings.pool.work_dir, &runner.row.id)
    }
}

impl Runner {
    /// The counts of the row, with what the client has reported so far.
    pub(crate) fn work(&self) -> store::ReviewerWork {
        let mut work = self.row.work.clone();
        self.progress.lock().usage.add_to(&mut work);
        work
    }
}

/// Why a seat was given up, with the last line that the client printed for people.
pub(crate) fn with_last_words(message: &str, last_words: &[String]) -> String {
    let detail = match last_words.iter().rfind(|line| !line.starts_with('{')) {
        Some(last) if !message.contains(last.as_str()) => format!("{message}; last words: {last}"),
        Some(_) | None => message.to_owned(),
    };
    text::truncate(&detail, MAX_DETAIL_CHARS).to_owned()
}

/// Repeats a call while it fails with an error that may go away.
pub(crate) async fn retry_transient<T, A>(mut call: impl FnMut() -> A) -> Result<T, BrokerError>
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
