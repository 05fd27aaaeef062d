//! One-shot reviewers: the broker claims a seat, runs a client once, and gives the verdict in its name.
//!
//! ```text
//! shim started and recorded ─► claim ─► copy ─► prompt ─► run ─► response ─► verdict
//!                                                ▲                │ unusable: run once more, then release
//!                                                └────────────────┘ the seat as could_not_review
//! ```
//!
//! The shim starts first, so that the next broker knows whose the claim was if this one is killed. Every failure is
//! recorded with a message and leaves a seat that other reviewers may take.

mod outcome;
mod prompt;
mod response;
mod run;
mod stdout;

use super::{
    reviewer_actor::spawned_event,
    runner::{Exit, Interruption, Runner, kill_shim},
};
use crate::{Context, credentials::ReviewerCredential, error::BrokerError, reviewer_process::Process};
use domain::{
    ids::ReviewId,
    persona::Persona,
    pool::PoolEvent,
    review::{ClaimSeat, Command, Review},
    runtime::RuntimeSettings,
};
use outcome::retry_transient;
use prompt::PromptContext;
use run::{Attempt, AttemptError, AttemptResult};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How often a client is run for one seat in one round.
const MAX_ATTEMPTS: u32 = 2;

/// A seat, and what it takes to review it.
pub(crate) struct OneShot {
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
    review: Arc<Review>,
    generation: u32,
    since: Instant,
    /// Before the lease ends, with enough time left to release the seat.
    deadline: Instant,
}

pub(crate) async fn run(mut runner: Runner, one_shot: OneShot) -> Exit {
    let process = match runner.start_shim(spawned_event(&runner.row)).await {
        Ok(process) => process,
        Err(exit) => return exit,
    };
    let context = Arc::clone(&runner.context);
    let id = runner.row.id.clone();
    let seat = match runner.unless_stopped(one_shot.claim(&context, &id)).await {
        Ok(Ok(seat)) => seat,
        Ok(Err(exit)) => {
            kill_shim(process).await;
            return exit;
        }
        Err(_) => {
            kill_shim(process).await;
            return Exit::clean("stopped before it claimed its seat".to_owned());
        }
    };
    let preparing = one_shot.prepare(&context, &id, &seat.review);
    let message = match runner.unless_stopped(preparing).await {
        Ok(Ok((prompt, folder))) => return one_shot.review(runner, process, &seat, &prompt, folder).await,
        Ok(Err(message)) => message,
        Err(Interruption::Stopped) => "it was stopped".to_owned(),
        Err(Interruption::Killed | Interruption::TimedOut) => {
            kill_shim(process).await;
            return Exit::failed("killed before it started".to_owned());
        }
    };
    kill_shim(process).await;
    one_shot.release(&runner, &seat, message, Vec::new()).await
}

impl OneShot {
    /// Claims the seat. `Err` if it cannot be claimed, or if git found that the diff does not apply.
    async fn claim(&self, context: &Context, id: &str) -> Result<ClaimedSeat, Exit> {
        let _claiming = self.credential.claim();
        let since = Instant::now();
        let claimed = retry_transient(|| {
            let persona = Some(self.persona.name.clone());
            let claim = ClaimSeat { by: id.to_owned(), persona, check: None };
            context.decide(self.review, Command::Claim(claim))
        });
        let review = match claimed.await {
            Ok(outcome) => outcome.review,
            Err(BrokerError::Refused(refusal)) => return Err(Exit::clean(format!("not needed: {refusal}"))),
            Err(error) => return Err(Exit::failed(format!("could not claim: {error}"))),
        };
        let claim = review.seats.iter().filter(|seat| seat.is_held_by(id)).find_map(|seat| seat.claim.as_ref());
        let Some(claim) = claim else { return Err(Exit::clean("not needed: the diff does not apply".to_owned())) };
        let lease_ends = claim.lease_ends.map(|tick| context.clock.instant_of(tick));
        let left = lease_ends.map_or(self.persona.time_limit, |ends| ends.saturating_duration_since(since));
        let reserve = (context.settings.pool.stop_grace + Duration::from_secs(5)).min(left / 2);
        let (generation, deadline) = (claim.generation, since + left.saturating_sub(reserve));
        Ok(ClaimedSeat { review, generation, since, deadline })
    }

    /// Reads what the prompt needs and prepares the working folder. `Err` with a message if the proposal cannot be read.
    async fn prepare(&self, context: &Context, id: &str, review: &Review) -> Result<(PromptContext, PathBuf), String> {
        let copy = Box::pin(context.check_out(review, id)).await.unwrap_or_else(|error| {
            tracing::warn!(review.id = %review.id, reviewer.id = id, %error, "cannot copy the project for a reviewer");
            None
        });
        let prompt = PromptContext::load(context, review, &self.persona.name).await;
        let mut prompt = prompt.map_err(|error| format!("the proposal cannot be read: {error}"))?;
        prompt.has_copy = copy.is_some();
        Ok((prompt, copy.unwrap_or_else(|| self.folder.clone())))
    }

    /// Runs the client until it gives a usable response, at most [`MAX_ATTEMPTS`] times, and gives the verdict.
    async fn review(
        &self,
        mut runner: Runner,
        process: Process,
        seat: &ClaimedSeat,
        prompt: &PromptContext,
        folder: PathBuf,
    ) -> Exit {
        let mut shim = Some(process);
        let mut failure = AttemptError::retryable("its lease left it no time".to_owned());
        for attempt in 0..MAX_ATTEMPTS {
            if !failure.may_retry || seat.deadline <= Instant::now() {
                break;
            }
            let earlier = (attempt > 0).then_some(failure.message.as_str());
            match self.attempt(&mut runner, &mut shim, Attempt { seat, prompt, folder: &folder, earlier }).await {
                Ok(exit) => return exit,
                Err(next) => failure = next,
            }
        }
        if let Some(process) = shim {
            kill_shim(process).await;
        }
        self.release(&runner, seat, failure.message, failure.last_words).await
    }

    async fn attempt(
        &self,
        runner: &mut Runner,
        shim: &mut Option<Process>,
        attempt: Attempt<'_>,
    ) -> Result<Exit, AttemptError> {
        let budget_usd = self.budget_left(runner).await.map_err(|message| match attempt.earlier {
            Some(earlier) => AttemptError::last(format!("{earlier}; {message}")),
            None => AttemptError::last(message),
        })?;
        let process = match shim.take() {
            Some(process) => process,
            None => {
                runner.row.work = self.work(runner);
                let why = attempt.earlier.unwrap_or_default().to_owned();
                let event = PoolEvent::ReviewerRetried { reviewer: runner.row.id.clone(), why };
                runner.start_shim(event).await.map_err(|exit| AttemptError::last(exit.summary))?
            }
        };
        match self.run_client(runner, process, &attempt, budget_usd).await {
            AttemptResult::Response(response) => match self.submit(runner, attempt.seat, response).await {
                Ok(summary) => Ok(Exit::clean(summary)),
                Err(message) => Err(AttemptError::retryable(message)),
            },
            AttemptResult::Failed(error) => Err(error),
            // The broker shuts down. The next one releases the seat and starts another reviewer for it.
            AttemptResult::Killed(exit) => Ok(Exit { summary: exit.to_string(), clean: false, last_words: Vec::new() }),
        }
    }
}
