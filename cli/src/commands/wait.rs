//! `countersign wait`: blocks until a review is decided. The exit code is the result. It uses long polls and survives
//! restarts of the broker.

use crate::{
    CliError, NO_BROKER,
    client::rest::{BrokerArgs, Remote},
    commands::status,
    identity::{IdentityArgs, Side},
    progress,
    render::{print, text},
    review_arg::ReviewArg,
    terminal,
};
use anyhow::anyhow;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const CHANGES_REQUESTED: u8 = 10;
pub(crate) const REJECTED: u8 = 11;
pub(crate) const WITHOUT_APPROVAL: u8 = 12;
pub(crate) const UNDECIDED: u8 = 13;

pub(crate) const EXIT_CODES: &str = "Exit codes: 0 approved, 10 changes requested, 11 rejected, 12 cancelled or closed \
                                     without an approval, 13 not decided within the time";

/// Longest wait of one call.
const POLL: Duration = Duration::from_secs(50);
/// Delay between attempts to reach a restarting broker.
const PAUSE: Duration = Duration::from_millis(500);

/// Added to the wait of a call before it times out.
const GRACE: Duration = Duration::from_secs(5);

/// How long an unreachable broker is retried.
const SILENCE: Duration = Duration::from_secs(120);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: ReviewArg,
    /// Longest wait: 30s, 10m, 2h [default: unlimited]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Stop at any change, also a message or a claim
    #[arg(long)]
    any: bool,
    #[command(flatten)]
    by: IdentityArgs,
}

/// `--wait [DURATION]` of `request` and `resubmit`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct For {
    /// Wait until it is decided, optionally at most DURATION; the exit code is the result (see `wait`)
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "forever")]
    wait: Option<String>,
}

impl For {
    pub(crate) fn waits(&self) -> bool {
        self.wait.is_some()
    }

    fn timeout(&self) -> Result<Option<Duration>, CliError> {
        match self.wait.as_deref() {
            None | Some("forever") => Ok(None),
            Some(given) => {
                duration(given).map(Some).map_err(|error| CliError::usage(anyhow::anyhow!("--wait: {error}")))
            }
        }
    }
}

fn duration(given: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = given.parse().map_err(|_| "expected for example 30s, 10m or 2h".to_owned())?;
    Duration::try_from(span).map_err(|_| "expected more than nothing".to_owned())
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let which = args.which.find(&caller, Side::Proposer).await?;
    let ends = if args.any { Ends::AtAnyChange } else { Ends::WhenDecided };
    follow(&args.by.at, &which, None, args.timeout, ends).await
}

/// Waits for a new review.
pub(crate) async fn until_decided(
    at: &BrokerArgs,
    review: &str,
    since: Option<u64>,
    waiting: &For,
) -> Result<(), CliError> {
    follow(at, review, since, waiting.timeout()?, Ends::WhenDecided).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    WhenDecided,
    AtAnyChange,
}

async fn follow(
    at: &BrokerArgs,
    review: &str,
    mut since: Option<u64>,
    limit: Option<Duration>,
    ends: Ends,
) -> Result<(), CliError> {
    let until = limit.map(|limit| Instant::now() + limit);
    let mut last = None;
    let (mut heard, mut asked) = (Instant::now(), false);
    loop {
        let left = until.map_or(POLL, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() && asked {
            return undecided(at, last);
        }
        asked = true;
        let left = left.min(POLL);
        // A hanging broker keeps its connections open.
        let silent = || CliError::new(NO_BROKER, anyhow!("the broker does not answer"));
        match timeout(left + GRACE, poll(at, review, since, left)).await.unwrap_or_else(|_| Err(silent())) {
            Ok(status) => {
                heard = Instant::now();
                let is_new = since.is_some_and(|since| status["version"].as_u64() > Some(since));
                let outcome = outcome(&status);
                since = status["version"].as_u64();
                if outcome.is_some() || is_new && ends == Ends::AtAnyChange {
                    return end(at, &status, outcome);
                }
                last = Some(status);
            }
            // The broker answered before, so it is probably restarting. Retry for a limited time.
            Err(failure) if failure.is_retryable() && (since.is_some() || failure.code != NO_BROKER) => {
                if heard.elapsed() > SILENCE {
                    return Err(failure);
                }
                sleep(PAUSE).await
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// One call. The first one has no version and returns at once.
async fn poll(at: &BrokerArgs, review: &str, since: Option<u64>, left: Duration) -> Result<Value, CliError> {
    let remote = Remote::find(at.clone()).await?;
    let Some(since) = since else { return remote.call("get_review_status", json!({ "review_id": review })).await };
    let seconds = left.as_secs_f64().ceil().max(1.0) as u64;
    let arguments = json!({ "review_id": review, "wait": true, "since": since, "timeout_seconds": seconds });
    progress::during(&format!("waiting for {review}"), remote.call_quietly("get_review_status", arguments)).await
}

/// The exit code for a decided review.
fn outcome(status: &Value) -> Option<u8> {
    match status["status"].as_str() {
        Some("approved") => Some(0),
        Some("changes_requested") => Some(CHANGES_REQUESTED),
        Some("rejected") => Some(REJECTED),
        Some("closed") if status["approved_hash"].is_string() => Some(0),
        Some("cancelled" | "closed") => Some(WITHOUT_APPROVAL),
        _ => None,
    }
}

fn end(at: &BrokerArgs, status: &Value, outcome: Option<u8>) -> Result<(), CliError> {
    print(at.json, status, |status| status::shown(status) + &reason(status))?;
    match outcome.unwrap_or(UNDECIDED) {
        0 => Ok(()),
        code => Err(CliError::answer(code)),
    }
}

/// The reason of the last verdict.
fn reason(status: &Value) -> String {
    match status["verdict_reason"].as_str() {
        Some(words) => {
            let title = crate::render::review::part(&format!("{} says", text(status, "verdict_by")));
            title + &crate::render::indented(words, 2)
        }
        None => String::new(),
    }
}

fn undecided(at: &BrokerArgs, last: Option<Value>) -> Result<(), CliError> {
    if let Some(status) = last {
        print(at.json, &status, status::shown)?;
    }
    terminal::remark("not decided within the time");
    Err(CliError::answer(UNDECIDED))
}
