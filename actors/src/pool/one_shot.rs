//! A review in one run: the broker claims the seat, has a client answer once, and gives the verdict in its name.
//!
//! ```text
//! shim started and noted ─► claim ─► copy ─► prompt ─► run ─► answer ─► verdict
//!                                              ▲                │ of no use: once more, then the seat is
//!                                              └────────────────┘ given back as could_not_review
//! ```
//!
//! The shim comes first, so that the next broker knows whose the claim was should this one be killed. Whatever goes
//! wrong ends in words for the record and a seat that others may take.

mod context;
mod outcome;
mod prompt;
mod response;
mod run;
mod stdout;

use super::{
    reviewer_actor::{Ended, spawned},
    runner::{CutShort, Runner, end},
    spawn::Program,
};
use crate::reviewer_process::Process;
use crate::reviewer_process::runtime::RuntimeSettings;
use crate::{Context, credentials::ReviewerCredential, error::BrokerError};
use domain::persona::Persona;
use domain::{
    ids::ReviewId,
    pool::PoolEvent,
    review::{Check, ClaimSeat, Command, Review},
};
use outcome::persistently;
use prompt::Matter;
use run::{Asked, Question, Wrong};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How often a client is asked about one seat in one round.
const ATTEMPTS: u32 = 2;

/// A seat, and what it takes to have it reviewed.
pub(super) struct OneShot {
    pub(super) persona: Arc<Persona>,
    pub(super) review: ReviewId,
    pub(super) runtime: RuntimeSettings,
    pub(super) program: Program,
    /// Where it works if there is nothing to copy.
    pub(super) folder: PathBuf,
    pub(super) credential: Arc<ReviewerCredential>,
}

/// A claim of ours.
struct Held {
    review: Arc<Review>,
    generation: u32,
    since: Instant,
    /// Before its lease ends, with time to give up in good order.
    until: Instant,
}

pub(super) async fn run(mut runner: Runner, one_shot: OneShot) -> Ended {
    let process = match runner.ready(spawned(&runner.row)).await {
        Ok(process) => process,
        Err(ended) => return ended,
    };
    let context = Arc::clone(&runner.context);
    let id = runner.row.id.clone();
    let held = match runner.unless_told(one_shot.claim(&context, &id)).await {
        Ok(Ok(held)) => held,
        Ok(Err(ended)) => {
            end(process).await;
            return ended;
        }
        Err(_) => {
            end(process).await;
            return Ended { exit: "ended before it began".to_owned(), cleanly: true, last_words: Vec::new() };
        }
    };
    let preparing = one_shot.prepare(&context, &id, &held.review);
    let words = match runner.unless_told(preparing).await {
        Ok(Ok(about)) => return one_shot.review(runner, process, &held, about).await,
        Ok(Err(words)) => words,
        Err(CutShort::Stopped) => "it was stopped".to_owned(),
        Err(CutShort::Killed | CutShort::TimedOut) => {
            end(process).await;
            return Ended::failed("killed before it began".to_owned());
        }
    };
    end(process).await;
    one_shot.give_up(&runner, &held, words, Vec::new()).await
}

impl OneShot {
    /// Takes the seat. `Err`: it is not to be had, or git found that the diff does not apply; either way it is done.
    async fn claim(&self, context: &Context, id: &str) -> Result<Held, Ended> {
        let _claiming = self.credential.claim();
        let since = Instant::now();
        let claimed = persistently(|| {
            let persona = Some(self.persona.name.clone());
            let claim = ClaimSeat { by: id.to_owned(), persona, checked: None, check: Check::NotNeeded };
            context.decide(self.review, Command::Claim(claim))
        });
        let done = |exit: String| Ended { exit, cleanly: true, last_words: Vec::new() };
        let review = match claimed.await {
            Ok(applied) => applied.review,
            Err(BrokerError::Refused(refusal)) => return Err(done(format!("not needed: {refusal}"))),
            Err(error) => return Err(Ended::failed(format!("could not claim: {error}"))),
        };
        let claim = review.seats.iter().filter(|seat| seat.is_held_by(id)).find_map(|seat| seat.claim.as_ref());
        let Some(claim) = claim else { return Err(done("not needed: the diff does not apply".to_owned())) };
        let ends = claim.lease_ends.map(|tick| context.clock.instant_of(tick));
        let left = ends.map_or(self.persona.time_limit, |ends| ends.saturating_duration_since(since));
        let spare = (context.settings.pool.stop_grace + Duration::from_secs(5)).min(left / 2);
        let (generation, until) = (claim.generation, since + left.saturating_sub(spare));
        Ok(Held { review, generation, since, until })
    }

    /// What it is asked about, and the folder to ask it in; else why that cannot be had.
    async fn prepare(&self, context: &Context, id: &str, review: &Review) -> Result<(Matter, PathBuf), String> {
        let copy = Box::pin(context.check_out(review, id)).await.unwrap_or_else(|error| {
            tracing::warn!(review.id = %review.id, reviewer.id = id, %error, "no copy for the reviewer");
            None
        });
        let matter = context::gather(context, review, &self.persona.name).await;
        let mut matter = matter.map_err(|error| format!("the proposal cannot be read: {error}"))?;
        matter.has_copy = copy.is_some();
        Ok((matter, copy.unwrap_or_else(|| self.folder.clone())))
    }

    /// Asks, at most twice, and gives the verdict.
    async fn review(&self, mut runner: Runner, process: Process, held: &Held, about: (Matter, PathBuf)) -> Ended {
        let mut ready = Some(process);
        let mut wrong = Wrong { words: "its lease left it no time".to_owned(), last_words: Vec::new(), again: true };
        for attempt in 0..ATTEMPTS {
            if !wrong.again || held.until <= Instant::now() {
                break;
            }
            let before = (attempt > 0).then_some(wrong.words.as_str());
            match self.attempt(&mut runner, &mut ready, held, &about, before).await {
                Ok(ended) => return ended,
                Err(next) => wrong = next,
            }
        }
        if let Some(process) = ready {
            end(process).await;
        }
        self.give_up(&runner, held, wrong.words, wrong.last_words).await
    }

    async fn attempt(
        &self,
        runner: &mut Runner,
        ready: &mut Option<Process>,
        held: &Held,
        (matter, folder): &(Matter, PathBuf),
        wrong: Option<&str>,
    ) -> Result<Ended, Wrong> {
        let for_good = |words: String| Wrong { words, last_words: Vec::new(), again: false };
        let budget_usd = self.budget_left(runner).await.map_err(|words| match wrong {
            Some(wrong) => for_good(format!("{wrong}; {words}")),
            None => for_good(words),
        })?;
        let process = match ready.take() {
            Some(process) => process,
            None => {
                runner.row.work = self.work(runner);
                let why = wrong.unwrap_or_default().to_owned();
                let retried = PoolEvent::ReviewerRetried { reviewer: runner.row.id.clone(), why };
                runner.ready(retried).await.map_err(|ended| for_good(ended.exit))?
            }
        };
        match self.ask(runner, process, Question { held, matter, folder, wrong, budget_usd }).await {
            Asked::Answered(answer) => match self.submit(runner, held, answer).await {
                Ok(exit) => Ok(Ended { exit, cleanly: true, last_words: Vec::new() }),
                Err(words) => Err(Wrong { words, last_words: Vec::new(), again: true }),
            },
            Asked::InVain(wrong) => Err(wrong),
            // The broker ends: the next one gives the seat back, and it is tried anew.
            Asked::Killed(exit) => Ok(Ended { exit: exit.to_string(), cleanly: false, last_words: Vec::new() }),
        }
    }
}
