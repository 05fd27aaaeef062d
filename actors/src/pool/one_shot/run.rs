//! Asking a client once: what it is started with, and what it said.

use super::{
    Held, OneShot,
    prompt::{self, Matter},
    response::{self, Answer},
    stdout::Listener,
};
use crate::reviewer_process::output::{Caps, Log};
use crate::reviewer_process::runtime::{Errand, Launch};
use crate::reviewer_process::{Exit, Plan, Process};
use crate::{
    pool::{
        runner::{CutShort, Run, Runner, end},
        spawn,
    },
    workspace,
};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;
use uuid::Uuid;

/// A line with an answer in it, which some clients give twice.
const LINE: usize = 3 * response::MAX_BYTES;

pub(super) struct Question<'a> {
    pub(super) held: &'a Held,
    pub(super) matter: &'a Matter,
    pub(super) folder: &'a Path,
    /// With the last answer.
    pub(super) wrong: Option<&'a str>,
    pub(super) budget_usd: Option<f64>,
}

/// Why there is no answer that can be used.
pub(super) struct Wrong {
    pub(super) words: String,
    pub(super) last_words: Vec<String>,
    /// Whether it may be asked once more.
    pub(super) again: bool,
}

/// What came of asking once.
pub(super) enum Asked {
    Answered(Answer),
    InVain(Wrong),
    Killed(Exit),
}

impl OneShot {
    pub(super) async fn ask(&self, runner: &mut Runner, process: Process, question: Question<'_>) -> Asked {
        let plan = match self.plan(runner, &question) {
            Ok(plan) => plan,
            Err(words) => {
                end(process).await;
                return Asked::InVain(Wrong { words, last_words: Vec::new(), again: false });
            }
        };
        let listener = Arc::new(Mutex::new(Listener::to(self.runtime.runtime)));
        let (heard_by, usage) = (Arc::clone(&listener), Arc::clone(&runner.usage));
        let heard = move |line: Option<&str>| {
            if let Some(line) = line {
                usage.lock().unwrap_or_else(PoisonError::into_inner).read_line(line);
            }
            heard_by.lock().unwrap_or_else(PoisonError::into_inner).hear(line);
        };
        let log = Log { path: runner.log.clone(), secret: None, caps: Caps { heard: LINE, ..Caps::default() } };
        let until = (Instant::now() + self.persona.time_limit).min(question.held.until);
        let grace = runner.context.settings.pool.stop_grace;
        let Run { exit, last_words, cut_short } = runner.run(process, &plan, log, heard, Some((until, grace))).await;
        let in_vain = |words: String, again| Asked::InVain(Wrong { words, last_words, again });
        match (cut_short, &exit) {
            (Some(CutShort::Killed), _) => Asked::Killed(exit),
            (Some(CutShort::Stopped), _) => in_vain("it was stopped".to_owned(), false),
            (Some(CutShort::TimedOut), _) => {
                in_vain(format!("it gave no answer in its time, and was ended: {exit}"), true)
            }
            (None, Exit::Code(0)) => {
                let said = std::mem::replace(
                    &mut *listener.lock().unwrap_or_else(PoisonError::into_inner),
                    Listener::to(self.runtime.runtime),
                );
                match said.answer().and_then(|said| response::read(&said)) {
                    Ok(answer) => Asked::Answered(answer),
                    Err(words) => in_vain(words, true),
                }
            }
            (None, Exit::Code(_) | Exit::Signal(_) | Exit::Lost(_)) => in_vain(format!("it failed: {exit}"), true),
        }
    }

    fn plan(&self, runner: &Runner, question: &Question<'_>) -> Result<Plan, String> {
        let Question { matter, folder, wrong, budget_usd, .. } = *question;
        let home = workspace::home(&runner.context.settings.pool.folder, &runner.row.id);
        let (schema, schema_file) = (response::schema().to_string(), home.join("answer.schema.json"));
        let written = workspace::make(&home).and_then(|()| std::fs::write(&schema_file, &schema));
        written.map_err(|error| format!("{}: {error}", schema_file.display()))?;
        let errand = Errand::OneShot { schema: &schema, schema_file: &schema_file, budget_usd };
        let launch = Launch { reviewer_id: &runner.row.id, workspace: folder, errand };
        let invocation = spawn::invoke(&self.runtime, &self.program, &launch);
        let mark = Uuid::new_v4().simple().to_string();
        let prompt = prompt::write(&self.persona, matter, wrong, &mark);
        Ok(Plan { argv: invocation.argv, env: invocation.env, cwd: folder.to_owned(), prompt })
    }
}
