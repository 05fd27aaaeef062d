//! Runs one-shot reviewers: the broker claims a seat, runs a client once, and submits the verdict in the reviewer's
//! name.
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

use super::{
    assigned_seat::{AssignedSeat, ClaimedSeat},
    review_for_prompt::PromptContext,
    reviewer_actor::{Exit, Interruption, ProcessOutcome, Runner, kill_shim, spawned_event},
};
use crate::{
    reviewer_process::{
        Process, ProcessExit, ProcessSpec,
        output::Caps,
        runtime::{Launch, RunMode},
    },
    reviewer_workspaces,
    submission::Submissions,
};
use domain::{review::Review, reviewer_pool::PoolEvent};
use response::{ResponseReader, ReviewerResponse};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How often a client is run for one seat in one round.
const MAX_ATTEMPTS: u32 = 2;

/// The longest line that is parsed. It holds a response, which some clients print twice.
const MAX_LINE_BYTES: usize = 3 * response::MAX_BYTES;

/// The assignment of a one-shot reviewer.
pub(crate) struct OneShot {
    pub(crate) seat: AssignedSeat,
}

/// The content of the prompt, and the folder that the client runs in.
struct ReviewTask {
    prompt: PromptContext,
    folder: PathBuf,
}

/// Why an attempt has no usable response.
struct AttemptError {
    message: String,
    last_words: Vec<String>,
    then: AfterFailure,
}

enum AfterFailure {
    Retry,
    /// Another attempt would fail too.
    Release,
    /// The broker shuts down. The next one releases the seat and starts another reviewer for it.
    Exit,
}

impl AttemptError {
    fn new(message: String, then: AfterFailure) -> Self {
        Self { message, last_words: Vec::new(), then }
    }
}

pub(crate) async fn run(mut runner: Runner, one_shot: OneShot) -> Exit {
    let process = match runner.start_shim(spawned_event(&runner.row)).await {
        Ok(process) => process,
        Err(exit) => return exit,
    };
    let (submissions, id) = (Arc::clone(&runner.submissions), runner.row.id.clone());
    let seat = match runner.unless_stopped(one_shot.seat.claim(&submissions, &id)).await {
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
    let preparing = one_shot.prepare(&submissions, &id, &seat.review);
    let message = match runner.unless_stopped(preparing).await {
        Ok(Ok(task)) => return one_shot.review(runner, process, &seat, &task).await,
        Ok(Err(message)) => message,
        Err(Interruption::Stopped) => "it was stopped".to_owned(),
        Err(Interruption::Killed | Interruption::TimedOut | Interruption::Aborted) => {
            kill_shim(process).await;
            return Exit::failed("killed before it started".to_owned());
        }
    };
    kill_shim(process).await;
    one_shot.seat.give_up(&runner, seat.generation, message, Vec::new()).await
}

impl OneShot {
    /// Reads what the prompt needs and prepares the working folder. `Err` with a message if the proposal cannot be
    /// read, or is longer than a prompt.
    async fn prepare(&self, submissions: &Submissions, id: &str, review: &Review) -> Result<ReviewTask, String> {
        let copy = self.seat.copy_project(submissions, review, id).await;
        let prompt = PromptContext::load(submissions, review, &self.seat.persona.name).await;
        let mut prompt = prompt.map_err(|error| format!("the proposal cannot be read: {error}"))?;
        if let Some(message) = prompt::find_cut(&prompt) {
            return Err(message);
        }
        prompt.has_copy = copy.is_some();
        Ok(ReviewTask { prompt, folder: copy.unwrap_or_else(|| self.seat.folder.clone()) })
    }

    /// Runs the client until it gives a usable response, at most [`MAX_ATTEMPTS`] times, and gives the verdict.
    async fn review(&self, mut runner: Runner, process: Process, seat: &ClaimedSeat, task: &ReviewTask) -> Exit {
        let mut shim = Some(process);
        let mut failure = AttemptError::new("its lease left it no time".to_owned(), AfterFailure::Retry);
        for attempt in 0..MAX_ATTEMPTS {
            if seat.deadline <= Instant::now() {
                break;
            }
            let earlier = (attempt > 0).then_some(failure.message.as_str());
            failure = match self.attempt(&mut runner, &mut shim, seat, task, earlier).await {
                Ok(summary) => return Exit::clean(summary),
                Err(failure) => failure,
            };
            match failure.then {
                AfterFailure::Retry => {}
                AfterFailure::Release => break,
                AfterFailure::Exit => {
                    return Exit { clean: false, ..Exit::clean(failure.message) };
                }
            }
        }
        if let Some(process) = shim {
            kill_shim(process).await;
        }
        self.seat.give_up(&runner, seat.generation, failure.message, failure.last_words).await
    }

    /// Runs the client once and gives the verdict. `earlier` says why the attempt before failed.
    async fn attempt(
        &self,
        runner: &mut Runner,
        shim: &mut Option<Process>,
        seat: &ClaimedSeat,
        task: &ReviewTask,
        earlier: Option<&str>,
    ) -> Result<String, AttemptError> {
        let last = |message| AttemptError::new(message, AfterFailure::Release);
        let budget_usd = self.seat.budget_left(runner).await.map_err(|message| match earlier {
            Some(earlier) => last(format!("{earlier}; {message}")),
            None => last(message),
        })?;
        let process = match shim.take() {
            Some(process) => process,
            None => {
                runner.row.work = runner.work();
                let (reviewer, why) = (runner.row.id.clone(), earlier.unwrap_or_default().to_owned());
                let event = PoolEvent::ReviewerRetried { reviewer, why, pid: None };
                runner.start_shim(event).await.map_err(|exit| last(exit.summary))?
            }
        };
        let spec = match self.spec(runner, task, earlier, budget_usd) {
            Ok(spec) => spec,
            Err(message) => {
                kill_shim(process).await;
                return Err(last(message));
            }
        };
        let response = self.run_client(runner, process, &spec, seat.deadline).await?;
        let submitted = self.submit(runner, seat, response).await;
        submitted.map_err(|message| AttemptError::new(message, AfterFailure::Retry))
    }

    async fn run_client(
        &self,
        runner: &mut Runner,
        process: Process,
        spec: &ProcessSpec,
        deadline: Instant,
    ) -> Result<ReviewerResponse, AttemptError> {
        let reader = Arc::new(Mutex::new(ResponseReader::new(self.seat.runtime.runtime)));
        let line_reader = Arc::clone(&reader);
        let on_line = move |line: Option<&str>| {
            line_reader.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
        };
        let caps = Caps { stdout_line: MAX_LINE_BYTES, ..Caps::default() };
        let deadline = (Instant::now() + self.seat.persona.time_limit).min(deadline);
        let ProcessOutcome { exit, last_words, interruption } =
            runner.run(process, spec, None, caps, on_line, Some(deadline), &CancellationToken::new()).await;
        let (message, then) = match (interruption, &exit) {
            (Some(Interruption::Killed | Interruption::Aborted), _) => (exit.to_string(), AfterFailure::Exit),
            (Some(Interruption::Stopped), _) => ("it was stopped".to_owned(), AfterFailure::Release),
            (Some(Interruption::TimedOut), _) => {
                let message = format!("it did not respond within its time limit and was stopped: {exit}");
                (message, AfterFailure::Retry)
            }
            (None, ProcessExit::Code(0)) => {
                let text = reader.lock().unwrap_or_else(PoisonError::into_inner).response();
                match text.and_then(|text| response::parse(&text)) {
                    Ok(response) => return Ok(response),
                    Err(message) => (message, AfterFailure::Retry),
                }
            }
            (None, ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::Lost(_)) => {
                (format!("it failed: {exit}"), AfterFailure::Retry)
            }
        };
        Err(AttemptError { message, last_words, then })
    }

    fn spec(
        &self,
        runner: &Runner,
        task: &ReviewTask,
        earlier: Option<&str>,
        budget_usd: Option<f64>,
    ) -> Result<ProcessSpec, String> {
        let folder = self.seat.reviewer_folder(runner);
        let (schema, schema_file) = (response::schema().to_string(), folder.join("answer.schema.json"));
        let written = reviewer_workspaces::create(&folder).and_then(|()| std::fs::write(&schema_file, &schema));
        written.map_err(|error| format!("{}: {error}", schema_file.display()))?;
        let mark = Uuid::new_v4().simple().to_string();
        let launch = Launch {
            reviewer_id: &runner.row.id,
            program: Some(&self.seat.program),
            workspace: &task.folder,
            mode: RunMode::OneShot { schema: &schema, schema_file: &schema_file, budget_usd },
            prompt: prompt::render(&self.seat.persona, &task.prompt, earlier, &mark),
        };
        let spec = launch.process_spec(&self.seat.runtime, |name: &str| std::env::var(name).ok());
        runner.shared.settings.pool.confine(spec, &self.seat.runtime, &runner.row)
    }
}
