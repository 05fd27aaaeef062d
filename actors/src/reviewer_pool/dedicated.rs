//! Dedicated reviewers: each has one seat of one review and stays with it until the review ends. A turn is one run of its
//! client, which continues the reviewer's own session.
//!
//! ```text
//! shim started and recorded ─► is it its turn? ─► claim ─► copy ─► message ─► run ─► has it acted? ─► the seat is kept
//!                                                                    ▲         │ session lost: begin a new one
//!                                                                    └─────────┤ failed: run once more
//!                                                                              ▼ failed again: hand over to an operator
//! ```
//!
//! No process runs between two turns. The pool starts at most one process per reviewer, so a session is never continued
//! twice at the same time.

mod session_monitor;
mod turn_message;

use super::{
    assigned_seat::{AssignedSeat, retry_transient, with_last_words},
    review_for_prompt::PromptContext,
    reviewer_actor::{Exit, Interruption, ProcessOutcome, Runner, kill_shim, spawned_event},
};
use crate::{
    Shared,
    gateway::Reviews,
    reviewer_process::{
        Process, ProcessExit, ProcessSpec,
        output::Caps,
        runtime::{Launch, RunMode, Runtime, SessionLaunch},
        session_home, session_output,
    },
};
use domain::{
    credential::Authority,
    review::{AddMessage, ClaimEndReason, Command, Review, Seat},
    reviewer_pool::PoolEvent,
    text,
    waiting_on::{Turn, TurnReason, TurnTool, waiting_on},
};
use session_monitor::{SessionFollower, SessionProblem};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use store::SessionTotals;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use turn_message::TurnMessage;
use uuid::Uuid;

/// How often a client is run in one turn before an operator is asked. A new session is not counted.
const MAX_ATTEMPTS: u32 = 2;

/// The longest reason that is kept.
const MAX_REASON_CHARS: usize = 500;

/// The assignment of a dedicated reviewer.
pub(crate) struct Dedicated {
    pub(crate) seat: AssignedSeat,
    /// The token of this turn.
    pub(crate) secret: String,
    /// The client's folder, see [`session_home`].
    pub(crate) home: PathBuf,
    /// What went wrong in an earlier turn, if the reviewer has to know it.
    pub(crate) earlier: Option<String>,
}

/// A turn that has begun: the reviewer holds its seat.
struct ActiveTurn {
    /// The review at the start of the turn.
    review: Arc<Review>,
    generation: u32,
    why: TurnReason,
    owes_vote: bool,
    context: PromptContext,
    folder: PathBuf,
}

/// How a run of the client ended without a result.
enum RunFailure {
    /// The session cannot be continued, so another one can help.
    SessionLost(String),
    Failed {
        message: String,
        last_words: Vec<String>,
    },
    Interrupted {
        message: String,
        by: Interruption,
    },
}

pub(crate) async fn run(mut runner: Runner, dedicated: Dedicated) -> Exit {
    let process = match runner.start_shim(spawned_event(&runner.row)).await {
        Ok(process) => process,
        Err(exit) => return exit,
    };
    let exit = dedicated.take_turn(&mut runner, process).await;
    // Without its actor the pool or the broker is gone. The next one ends the claim, and may already have claimed again.
    if !runner.shared.closing.is_cancelled() && !runner.orders.is_closed() {
        dedicated.end_turn(&runner.submissions.reviews, &runner.row.id).await;
    }
    exit
}

impl Dedicated {
    async fn take_turn(&self, runner: &mut Runner, process: Process) -> Exit {
        let (submissions, id) = (Arc::clone(&runner.submissions), runner.row.id.clone());
        let begun = match runner.unless_stopped(self.begin(&submissions, &id)).await {
            Ok(begun) => begun,
            Err(_) => Err(Exit::clean("stopped before its turn began".to_owned())),
        };
        let turn = match begun {
            Ok(turn) => turn,
            Err(exit) => {
                kill_shim(process).await;
                end_properly(runner);
                return exit;
            }
        };
        if let Err(message) = self.check_limits(runner).await {
            kill_shim(process).await;
            // This says nothing about the client.
            return Exit { clean: true, ..self.give_up(runner, &turn, message, Vec::new()).await };
        }
        self.run_client(runner, process, &turn).await
    }

    /// Claims the seat, unless the reviewer holds it since an earlier turn, and reads what the message needs. `Err` if it
    /// is not its turn.
    async fn begin(&self, submissions: &crate::submission::Submissions, id: &str) -> Result<ActiveTurn, Exit> {
        let read_failed =
            |error: crate::error::BrokerError| Exit::failed(format!("the review cannot be read: {error}"));
        let review = submissions.shared.find_review(self.seat.review).await.map_err(read_failed)?;
        let Some(turn) = find_turn(&review, &self.seat.persona.name, id) else {
            return Err(Exit::clean("not needed: it is not its turn".to_owned()));
        };
        let (review, generation) = match turn.tool {
            TurnTool::ClaimReview => {
                let claimed = self.seat.claim(submissions, id).await?;
                (claimed.review, claimed.generation)
            }
            TurnTool::SubmitVerdict
            | TurnTool::AddMessage
            | TurnTool::UpdateIssue
            | TurnTool::CreateReview
            | TurnTool::AcceptCounterPatch
            | TurnTool::CloseReview => {
                let generation =
                    held_seat(&review, id).and_then(|seat| seat.claim.as_ref()).map(|claim| claim.generation);
                (review, generation.unwrap_or_default())
            }
        };
        let owes_vote = held_seat(&review, id).is_some_and(|seat| seat.vote.is_none());
        let copy = self.seat.copy_project(submissions, &review, id).await;
        let mut context =
            PromptContext::load(submissions, &review, &self.seat.persona.name).await.map_err(read_failed)?;
        context.has_copy = copy.is_some();
        let folder = copy.unwrap_or_else(|| self.seat.folder.clone());
        Ok(ActiveTurn { review, generation, why: turn.why, owes_vote, context, folder })
    }

    /// The limits of the seat over all of its turns. `Err` with a message if one is reached.
    async fn check_limits(&self, runner: &Runner) -> Result<(), String> {
        let (persona, work) = (&self.seat.persona, runner.work());
        let turns = runner.progress.lock().session.as_ref().map_or(0, |session| session.turns);
        if turns > persona.max_turns {
            return Err(format!("its {} turns for this review are used up (max_turns)", persona.max_turns));
        }
        let tokens = work.input_tokens.unwrap_or_default() + work.output_tokens.unwrap_or_default();
        match persona.max_tokens.filter(|limit| tokens >= *limit) {
            Some(limit) => Err(format!("its {limit} tokens for this review are used up (max_tokens; {tokens} used)")),
            None => self.seat.budget_left(runner).await.map(|_| ()),
        }
    }

    async fn run_client(&self, runner: &mut Runner, process: Process, turn: &ActiveTurn) -> Exit {
        let mut shim = Some(process);
        // What went wrong in this turn so far.
        let (mut failures, mut is_renewed, mut earlier) = (0, false, self.earlier.clone());
        let (message, last_words) = loop {
            let process = match shim.take() {
                Some(process) => process,
                None => match self.restart(runner, earlier.as_deref().unwrap_or_default()).await {
                    Ok(process) => process,
                    Err(exit) => break (exit.summary, exit.last_words),
                },
            };
            match self.attempt(runner, process, turn, earlier.as_deref()).await {
                Ok(()) => {
                    let turns = runner.progress.lock().session.as_ref().map_or(0, |session| session.turns);
                    return Exit { handled: true, ..Exit::clean(format!("turn {turns} ended")) };
                }
                Err(RunFailure::Interrupted { message, by: Interruption::Killed | Interruption::Stopped }) => {
                    return Exit { clean: false, ..Exit::clean(message) };
                }
                Err(RunFailure::SessionLost(why)) if !is_renewed => {
                    is_renewed = true;
                    if let Some(session) = &mut runner.progress.lock().session {
                        (session.resumable, session.id) = (false, None);
                        session.fresh_starts += 1;
                    }
                    earlier = Some(session_lost(&why));
                }
                Err(
                    RunFailure::SessionLost(message)
                    | RunFailure::Interrupted { message, by: Interruption::TimedOut | Interruption::Aborted },
                ) => {
                    failures += 1;
                    if failures == MAX_ATTEMPTS {
                        break (message, Vec::new());
                    }
                    earlier = Some(message);
                }
                Err(RunFailure::Failed { message, last_words }) => {
                    failures += 1;
                    if failures == MAX_ATTEMPTS {
                        break (message, last_words);
                    }
                    earlier = Some(message);
                }
            }
        };
        self.give_up(runner, turn, message, last_words).await
    }

    /// Starts another shim and records why.
    async fn restart(&self, runner: &mut Runner, why: &str) -> Result<Process, Exit> {
        let (reviewer, why) = (runner.row.id.clone(), text::truncate(why, MAX_REASON_CHARS).to_owned());
        runner.start_shim(PoolEvent::ReviewerRetried { reviewer, why, pid: None }).await
    }

    /// Runs the client once. `Ok` if the reviewer has done what its turn asks for.
    async fn attempt(
        &self,
        runner: &mut Runner,
        process: Process,
        turn: &ActiveTurn,
        earlier: Option<&str>,
    ) -> Result<(), RunFailure> {
        let failed = |message| RunFailure::Failed { message, last_words: Vec::new() };
        let prepared = match self.seat.budget_left(runner).await {
            Ok(budget_usd) => self.process_spec(runner, turn, earlier, budget_usd),
            Err(message) => Err(message),
        };
        let (spec, resumed) = match prepared {
            Ok(prepared) => prepared,
            Err(message) => {
                kill_shim(process).await;
                return Err(failed(message));
            }
        };
        let abort = CancellationToken::new();
        let problem: Arc<Mutex<Option<SessionProblem>>> = Arc::default();
        let follower = SessionFollower {
            reviews: runner.submissions.reviews.clone(),
            row: runner.row.clone(),
            progress: runner.progress.clone(),
            resumed: resumed.clone(),
            problem: Arc::clone(&problem),
            abort: abort.clone(),
        };
        let deadline = Instant::now() + self.seat.persona.time_limit;
        let on_line = move |line: Option<&str>| line.into_iter().for_each(|line| follower.read_line(line));
        let secret = Some(self.secret.clone());
        let ProcessOutcome { exit, last_words, interruption } =
            runner.run(process, &spec, secret, Caps::default(), on_line, Some(deadline), &abort).await;
        runner.row.work = runner.work();
        if self.has_acted(runner, turn).await {
            if let Some(session) = &mut runner.progress.lock().session {
                session.resumable = session.id.is_some();
            }
            end_properly(runner);
            return Ok(());
        }
        let problem = problem.lock().unwrap_or_else(PoisonError::into_inner).take();
        let last_error = runner.progress.lock().usage.last_error.clone();
        let texts = last_error.iter().chain(&last_words).map(String::as_str);
        let lost = session_output::find_lost_session(texts).filter(|_| resumed.is_some()).map(str::to_owned);
        Err(match (problem, lost, interruption) {
            // The order to stop stands, whatever else went wrong.
            (_, _, Some(by @ (Interruption::Stopped | Interruption::Killed))) => {
                RunFailure::Interrupted { message: "it was stopped".to_owned(), by }
            }
            (Some(SessionProblem::WrongSession), _, _) => {
                RunFailure::SessionLost("the client began another session".to_owned())
            }
            (_, Some(why), _) => RunFailure::SessionLost(why),
            (Some(SessionProblem::Disconnected), None, _) => {
                failed("its client could not connect to the broker".to_owned())
            }
            (None, None, Some(by @ Interruption::TimedOut)) => {
                let message = format!("it did not end its turn within its time limit and was stopped: {exit}");
                RunFailure::Interrupted { message, by }
            }
            (None, None, Some(by)) => RunFailure::Interrupted { message: "it was stopped".to_owned(), by },
            (None, None, None) => {
                let message = match exit {
                    ProcessExit::Code(0) => "it ended its turn without a verdict or a message".to_owned(),
                    ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::Lost(_) => {
                        format!("it failed: {exit}")
                    }
                };
                let message = last_error.map_or(message.clone(), |error| format!("{message}; {error}"));
                RunFailure::Failed { message, last_words }
            }
        })
    }

    /// The process to run, and the session that it continues.
    fn process_spec(
        &self,
        runner: &Runner,
        turn: &ActiveTurn,
        earlier: Option<&str>,
        budget_usd: Option<f64>,
    ) -> Result<(ProcessSpec, Option<String>), String> {
        let runtime = self.seat.runtime.runtime;
        let own_env = |name: &str| std::env::var(name).ok();
        let not_created = |error: std::io::Error| format!("{}: {error}", self.home.display());
        let (id, resumes, number) = {
            let mut progress = runner.progress.lock();
            let resumes = progress.session.as_ref().is_some_and(|session| session.resumable && session.id.is_some());
            if !resumes {
                session_home::create(&self.home).map_err(not_created)?;
                progress.usage.session = progress.usage.session.map(|_| SessionTotals::default());
            }
            let session = progress.session.get_or_insert_default();
            if !resumes {
                // Codex chooses the id itself.
                session.id = (runtime != Runtime::Codex).then(|| Uuid::new_v4().to_string());
                session.resumable = false;
            }
            (session.id.clone(), resumes, session.turns)
        };
        session_home::link_login(&self.home, runtime, own_env).map_err(not_created)?;
        let label = if resumes { "resumed" } else { "new" };
        runner.shared.metrics.turns.get_or_create(&[("session", label)]).inc();
        let session = SessionLaunch { home: &self.home, id: id.as_deref(), resumes, turn: number };
        let mark = Uuid::new_v4().simple().to_string();
        let message = TurnMessage {
            persona: &self.seat.persona,
            reviewer: &runner.row.id,
            review: &turn.review,
            context: &turn.context,
            why: turn.why,
            owes_vote: turn.owes_vote,
            generation: turn.generation,
            resumes,
            turn: number,
            earlier,
        };
        let launch = Launch {
            reviewer_id: &runner.row.id,
            program: Some(&self.seat.program),
            workspace: &turn.folder,
            mode: RunMode::Dedicated {
                token: &self.secret,
                mcp_url: &runner.shared.settings.pool.mcp_url,
                session,
                budget_usd,
            },
            prompt: message.render(&mark),
        };
        let spec = launch.process_spec(&self.seat.runtime, own_env);
        let spec = runner.shared.settings.pool.confine(spec, &self.seat.runtime, &runner.row)?;
        Ok((spec, id.filter(|_| resumes)))
    }

    /// Whether the review no longer waits for the reviewer, or does so again: the reviewer has written or voted, and was
    /// asked or lost its claim since. A comment that leaves the review waiting for the verdict is not enough.
    async fn has_acted(&self, runner: &Runner, turn: &ActiveTurn) -> bool {
        let Ok(now) = runner.shared.find_review(self.seat.review).await else { return false };
        let Some(seat) = now.seats.iter().find(|seat| seat.persona == self.seat.persona.name) else { return true };
        let is_same_round = now.round.number == turn.review.round.number;
        let wrote = seat.last_act.is_some_and(|version| version > turn.review.version);
        let is_asked_again = seat.asked_reviewer.is_some()
            || seat.claim.as_ref().is_none_or(|claim| claim.generation != turn.generation);
        (is_same_round && wrote && is_asked_again) || find_turn(&now, &self.seat.persona.name, &runner.row.id).is_none()
    }

    /// Hands the review to an operator, because the reviewer cannot do what it is asked.
    async fn give_up(&self, runner: &Runner, turn: &ActiveTurn, message: String, last_words: Vec<String>) -> Exit {
        let detail = with_last_words(&message, &last_words);
        end_properly(runner);
        if let Some(session) = &mut runner.progress.lock().session {
            session.failure = Some(detail.clone());
        }
        if turn.owes_vote {
            return self.seat.give_up(runner, turn.generation, message, last_words).await;
        }
        // A vote stands, so the seat cannot be released; a message says why there is no answer.
        let message = AddMessage {
            role: Authority::Reviewer,
            by: Some(runner.row.id.clone()),
            persona: Some(self.seat.persona.name.clone()),
            to: None,
            body: format!("This reviewer cannot answer: {detail}"),
            anchor: None,
            metadata: None,
            gives_up: true,
        };
        let reviews = &runner.submissions.reviews;
        let written = retry_transient(|| reviews.decide(self.seat.review, Command::AddMessage(message.clone())));
        if let Err(error) = written.await {
            tracing::error!(review.id = %self.seat.review, %error, "cannot hand a review to an operator");
        }
        let last_words = last_words.into_iter().chain([detail.clone()]).collect();
        Exit { last_words, ..Exit::failed(format!("could not answer: {detail}")) }
    }

    /// Ends the claim, if the reviewer still holds one without a vote. The seat is kept for it.
    async fn end_turn(&self, reviews: &Reviews, id: &str) {
        let keep_seat = Some(self.seat.persona.keep_seat);
        let ended = retry_transient(|| {
            let (reviewer, why, detail) = (id.to_owned(), ClaimEndReason::TurnEnded, None);
            reviews.decide(self.seat.review, Command::ReviewerGone { reviewer, why, detail, keep_seat })
        });
        if let Err(error) = ended.await {
            // The claim ends with its lease.
            tracing::error!(review.id = %self.seat.review, reviewer.id = id, %error, "cannot end a turn");
        }
    }
}

/// Why a reviewer begins another session.
pub(crate) fn session_lost(why: &str) -> String {
    format!("its session could not be continued ({why}); it begins a new one")
}

/// Notes that the turn was not cut short.
fn end_properly(runner: &Runner) {
    if let Some(session) = &mut runner.progress.lock().session {
        (session.cut_short, session.failure) = (false, None);
    }
}

/// The turn of the seat's reviewer `id`, if the review waits for it.
fn find_turn(review: &Review, persona: &str, id: &str) -> Option<Turn> {
    let is_own = |turn: &Turn| {
        turn.who == Authority::Reviewer
            && turn.seat.as_deref() == Some(persona)
            && turn.name.as_deref().is_none_or(|name| name == id)
    };
    waiting_on(review).into_iter().find(is_own)
}

fn held_seat<'a>(review: &'a Review, id: &str) -> Option<&'a Seat> {
    review.seats.iter().find(|seat| seat.is_held_by(id))
}

/// How long the seat of a reviewer is kept for it after its process has ended. `None` for reviewers that do not come back.
pub(crate) async fn keep_seat(shared: &Shared, reviewer: &str) -> Option<std::time::Duration> {
    let row = shared.reader.find_reviewer(reviewer).await.ok().flatten()?;
    let persona = shared.settings.personas.get(&row.seat.as_ref()?.persona)?;
    (shared.settings.pool.enabled && row.is_coming_back() && persona.mode == domain::persona::Mode::Dedicated)
        .then_some(persona.keep_seat)
}
