//! `countersign wait`: blocks until a review is decided or waits for its proposer. The exit code is the result. It uses
//! long polls and survives restarts of the broker.

use crate::{
    CliError, NO_BROKER,
    client::{Client, event_stream::RECONNECT_DELAY},
    render::{indented, print, review, style},
    review_args::ReviewArgs,
    terminal,
};
use anyhow::anyhow;
use api::{
    operation::GetReviewStatus,
    reviews::{ReviewStatusRequest, ReviewStatusResponse},
};
use domain::{
    credential::Authority,
    review::{Role, Status},
    text::escape,
};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const CHANGES_REQUESTED: u8 = 10;
pub(crate) const REJECTED: u8 = 11;
pub(crate) const WITHOUT_APPROVAL: u8 = 12;
pub(crate) const UNDECIDED: u8 = 13;
pub(crate) const YOUR_TURN: u8 = 14;
pub(crate) const ESCALATED: u8 = 15;

pub(crate) const EXIT_CODES: &str = "Exit codes: 0 approved, 10 changes requested, 11 rejected, 12 cancelled or closed \
                                     without an approval, 13 not decided within the time, 14 a question or a \
                                     counter-patch waits for the proposer, 15 it was escalated to an operator";

pub(crate) const SUBMIT_EXIT_CODES: &str = "Exit codes: 0 submitted, whether or not the diff applies; with --wait, 0 \
                                            approved, and the others of `countersign wait`: 10 changes requested, 11 \
                                            rejected, 12 cancelled or closed without an approval, 13 not decided within \
                                            the time, 14 a question or a counter-patch waits for the proposer, 15 it was \
                                            escalated to an operator";

/// Longest wait of one call.
const POLL_TIMEOUT: Duration = Duration::from_secs(50);

/// Added to the wait of a call before it times out.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an unreachable broker is retried.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Longest wait: 30s, 10m, 2h [default: unlimited]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Stop at any change, also a message or a claim
    #[arg(long)]
    any: bool,
    #[command(flatten)]
    review: ReviewArgs,
}

/// The option `--wait` of `request` and `resubmit`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WaitArgs {
    /// Wait until it is decided, optionally at most DURATION; the exit code is the result (see `wait`)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) wait: Option<Option<Duration>>,
}

fn parse_duration(given: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = given.parse().map_err(|_| "expected for example 30s, 10m or 2h".to_owned())?;
    Duration::try_from(span).map_err(|_| "expected more than nothing".to_owned())
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let (caller, review_id) = args.review.find(Some(Role::Proposer)).await?;
    wait(&caller.client, &review_id, None, args.timeout, args.any).await
}

/// Waits until the review is decided or, with `any_change`, until it changes after version `since`.
pub(crate) async fn wait(
    client: &Client,
    review_id: &str,
    mut since: Option<u64>,
    limit: Option<Duration>,
    any_change: bool,
) -> Result<(), CliError> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    let mut last: Option<ReviewStatusResponse> = None;
    let (mut last_answer, mut was_asked) = (Instant::now(), false);
    loop {
        let left = deadline.map_or(POLL_TIMEOUT, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() && was_asked {
            return undecided(client.json, last);
        }
        was_asked = true;
        let left = left.min(POLL_TIMEOUT);
        // A hanging broker keeps its connections open.
        let silent = || CliError::new(NO_BROKER, anyhow!("the broker does not answer"));
        let polled = timeout(left + ANSWER_TIMEOUT, poll(client, review_id, since, left)).await;
        match polled.unwrap_or_else(|_| Err(silent())) {
            Ok(review) => {
                last_answer = Instant::now();
                let has_changed = since.is_some_and(|since| review.head.version > since);
                // The broker answers at once if it is the turn of the token's holder, and would do so again.
                let is_own_turn = review.timed_out == Some(false) && since == Some(review.head.version);
                since = Some(review.head.version);
                let outcome = outcome(&review);
                if outcome.is_some() || has_changed && any_change {
                    return end(client.json, &review, outcome.unwrap_or(UNDECIDED));
                }
                if is_own_turn {
                    let code = if review.state.escalate { ESCALATED } else { YOUR_TURN };
                    return end(client.json, &review, code);
                }
                // A caller that waits for the operator knows of the escalation.
                match last.as_ref().map(|last| last.state.escalate) {
                    Some(false) if review.state.escalate => return end(client.json, &review, ESCALATED),
                    None if review.state.escalate => terminal::remark(&escalated(&review)),
                    Some(_) | None => {}
                }
                last = Some(review);
            }
            // The broker answered before, so it is probably restarting. Retry for a limited time.
            Err(failure) if failure.is_retryable() && (since.is_some() || failure.code != NO_BROKER) => {
                if last_answer.elapsed() > RECONNECT_TIMEOUT {
                    return Err(failure);
                }
                sleep(RECONNECT_DELAY).await
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// One call. The first one has no version and returns at once.
async fn poll(
    client: &Client,
    review_id: &str,
    since: Option<u64>,
    left: Duration,
) -> Result<ReviewStatusResponse, CliError> {
    let request = ReviewStatusRequest { review_id: review_id.to_owned(), ..Default::default() };
    if since.is_none() {
        return client.execute::<GetReviewStatus>(&request).await;
    }
    let timeout_seconds = Some(left.as_secs_f64().ceil().max(1.0) as u64);
    let request = ReviewStatusRequest { wait: Some(true), since, timeout_seconds, ..request };
    let call = client.execute_quietly::<GetReviewStatus, _>(&request);
    terminal::show_progress(&format!("waiting for {review_id}"), call).await
}

/// The exit code for a review that is decided or waits for its proposer.
fn outcome(review: &ReviewStatusResponse) -> Option<u8> {
    match review.head.status {
        Status::Approved => Some(0),
        Status::ChangesRequested => Some(CHANGES_REQUESTED),
        Status::Rejected => Some(REJECTED),
        Status::Closed if review.state.approved_hash.is_some() => Some(0),
        Status::Cancelled | Status::Closed => Some(WITHOUT_APPROVAL),
        Status::Pending | Status::Claimed | Status::InReview => {
            review.head.waiting_on.iter().any(|turn| turn.who == Authority::Proposer).then_some(YOUR_TURN)
        }
    }
}

fn end(json: bool, review: &ReviewStatusResponse, code: u8) -> Result<(), CliError> {
    print(json, review, |review| review::status(review) + &reason(review))?;
    if code == 0 { Ok(()) } else { Err(CliError::answer(code)) }
}

/// Says that the wait lasts until a person acts, who may be the one that reads this.
fn escalated(review: &ReviewStatusResponse) -> String {
    let number = review.head.number;
    let why = review.escalate_why.map(|why| format!(" ({})", style::spaced(why.as_str()))).unwrap_or_default();
    format!("{number} waits for an operator{why}; `countersign comment {number} --role operator` answers it")
}

/// The reason of the last verdict.
fn reason(review: &ReviewStatusResponse) -> String {
    let Some(reason) = &review.verdict_reason else { return String::new() };
    let reviewer = escape(review.verdict_by.as_deref().unwrap_or_default());
    review::heading(&format!("{reviewer} says")) + &indented(reason, 2)
}

fn undecided(json: bool, last: Option<ReviewStatusResponse>) -> Result<(), CliError> {
    if let Some(review) = last {
        print(json, &review, review::status)?;
    }
    terminal::remark("not decided within the time");
    Err(CliError::answer(UNDECIDED))
}
