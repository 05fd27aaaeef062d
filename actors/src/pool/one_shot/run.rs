//! Runs a client such as `claude -p` once, as a child process, and reads the review it prints.

use super::{
    ClaimedSeat, OneShot,
    prompt::{self, PromptContext},
    response::{self, ReviewerResponse},
    stdout::ResponseReader,
};
use crate::{
    pool::runner::{Interruption, ProcessOutcome, Runner, kill_shim},
    reviewer_process::{
        Process, ProcessExit, ProcessSpec,
        output::{Caps, Log},
        runtime::{Launch, RunMode},
    },
    workspace,
};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;
use uuid::Uuid;

/// The longest line that is parsed. It holds a response, which some clients print twice.
const MAX_LINE_BYTES: usize = 3 * response::MAX_BYTES;

/// What a client is run for.
pub(crate) struct Attempt<'a> {
    pub(crate) seat: &'a ClaimedSeat,
    pub(crate) prompt: &'a PromptContext,
    pub(crate) folder: &'a Path,
    /// Why the earlier attempt failed.
    pub(crate) earlier: Option<&'a str>,
}

/// Why there is no usable response.
pub(crate) struct AttemptError {
    pub(crate) message: String,
    pub(crate) last_words: Vec<String>,
    pub(crate) may_retry: bool,
}

impl AttemptError {
    pub(crate) fn retryable(message: String) -> Self {
        Self { message, last_words: Vec::new(), may_retry: true }
    }

    pub(crate) fn last(message: String) -> Self {
        Self { message, last_words: Vec::new(), may_retry: false }
    }
}

pub(crate) enum AttemptResult {
    Response(ReviewerResponse),
    Failed(AttemptError),
    Killed(ProcessExit),
}

impl OneShot {
    pub(crate) async fn run_client(
        &self,
        runner: &mut Runner,
        process: Process,
        attempt: &Attempt<'_>,
        budget_usd: Option<f64>,
    ) -> AttemptResult {
        let spec = match self.spec(runner, attempt, budget_usd) {
            Ok(spec) => spec,
            Err(message) => {
                kill_shim(process).await;
                return AttemptResult::Failed(AttemptError::last(message));
            }
        };
        let reader = Arc::new(Mutex::new(ResponseReader::new(self.runtime.runtime)));
        let (line_reader, usage) = (Arc::clone(&reader), Arc::clone(&runner.usage));
        let on_line = move |line: Option<&str>| {
            if let Some(line) = line {
                usage.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
            }
            line_reader.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
        };
        let caps = Caps { stdout_line: MAX_LINE_BYTES, ..Caps::default() };
        let log = Log { path: runner.log_file(), secret: None, caps };
        let deadline = (Instant::now() + self.persona.time_limit).min(attempt.seat.deadline);
        let grace = runner.context.settings.pool.stop_grace;
        let ProcessOutcome { exit, last_words, interruption } =
            runner.run(process, &spec, log, on_line, Some((deadline, grace))).await;
        let failed =
            |message: String, may_retry| AttemptResult::Failed(AttemptError { message, last_words, may_retry });
        match (interruption, &exit) {
            (Some(Interruption::Killed), _) => AttemptResult::Killed(exit),
            (Some(Interruption::Stopped), _) => failed("it was stopped".to_owned(), false),
            (Some(Interruption::TimedOut), _) => {
                failed(format!("it did not respond within its time limit and was stopped: {exit}"), true)
            }
            (None, ProcessExit::Code(0)) => {
                let text = reader.lock().unwrap_or_else(PoisonError::into_inner).response();
                match text.and_then(|text| response::parse(&text)) {
                    Ok(response) => AttemptResult::Response(response),
                    Err(message) => failed(message, true),
                }
            }
            (None, ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::Lost(_)) => {
                failed(format!("it failed: {exit}"), true)
            }
        }
    }

    fn spec(&self, runner: &Runner, attempt: &Attempt<'_>, budget_usd: Option<f64>) -> Result<ProcessSpec, String> {
        let folder = workspace::reviewer_folder(&runner.context.settings.pool.folder, &runner.row.id);
        let (schema, schema_file) = (response::schema().to_string(), folder.join("answer.schema.json"));
        let written = workspace::create(&folder).and_then(|()| std::fs::write(&schema_file, &schema));
        written.map_err(|error| format!("{}: {error}", schema_file.display()))?;
        let launch = Launch {
            reviewer_id: &runner.row.id,
            program: Some(&self.program),
            workspace: attempt.folder,
            mode: RunMode::OneShot { schema: &schema, schema_file: &schema_file, budget_usd },
            prompt: prompt::render(
                &self.persona,
                attempt.prompt,
                attempt.earlier,
                &Uuid::new_v4().simple().to_string(),
            ),
        };
        Ok(launch.process_spec(&self.runtime, |name: &str| std::env::var(name).ok()))
    }
}
