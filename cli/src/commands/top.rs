//! `countersign top`: shows a live view of the queue, the reviewers, the events and the actors in the terminal, with
//! keys to act on them.
//!
//! [`app`] holds the state and handles keys, [`view`] draws it, and this module talks to the broker.

mod app;
#[cfg(test)]
mod fixtures;
mod view;

use crate::{
    CliError,
    client::{Client, event_stream::EventQuery},
    commands::{respond, review_actions, show},
    identity_args::{Caller, IdentityArgs},
    review_args::OPEN,
    terminal,
    text_draft::Draft,
    text_input::without_comments,
};
use anyhow::anyhow;
use api::{
    ErrorBody, ErrorCode,
    operation::{AddMessage, KillReviewer, ListReviewers, ListReviews},
    review_lists::{ListReviewsRequest, ListReviewsResponse, ReviewRow},
    reviewer_pool::{KillReviewerRequest, ListReviewersRequest, ListReviewersResponse},
    verdicts::VerdictRequest,
};
use app::{Action, App, Mode, Purpose, ShownContent};
use config::DataDir;
use crossterm::event::{Event, EventStream};
use domain::verdict::Verdict;
use futures::{FutureExt as _, StreamExt as _};
use ratatui::DefaultTerminal;
use serde::Serialize;
use serde_json::json;
use std::time::Duration;
use tokio::time::interval;

/// Ages, reviewers and actors change without an event, so they are refreshed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) async fn run(identity: IdentityArgs) -> Result<(), CliError> {
    let caller = identity.connect().await?;
    let state = fetch_state(&caller.client).await?;
    if caller.client.json {
        return terminal::write_pretty_json(&state);
    }
    if !terminal::is_interactive() {
        let message = "top needs a terminal; use `countersign top --json` or `countersign list --watch`";
        return Err(CliError::usage(anyhow!(message)));
    }
    // Restores the terminal after a panic too.
    let mut terminal = ratatui::init();
    let (data_dir, signs_votes) = (identity.broker.data_dir()?, identity.broker.signs_votes()?);
    let mut screen = Screen { app: App::new(state), draft: None, data_dir, signs_votes };
    let result = screen.watch(&caller, &mut terminal).await;
    ratatui::restore();
    // The screen ended while a text was written.
    if let Mode::Compose { text, .. } = std::mem::take(&mut screen.app.mode)
        && let Some(note) = screen.keep(&text)?
    {
        terminal::remark(&note);
    }
    result
}

struct Screen {
    app: App,
    /// Where the text that is being written is kept.
    draft: Option<Draft>,
    data_dir: DataDir,
    /// Votes must be signed, for which there may be a question to the user.
    signs_votes: bool,
}

impl Screen {
    async fn watch(&mut self, caller: &Caller, terminal: &mut DefaultTerminal) -> Result<(), CliError> {
        let mut events = caller.client.events(EventQuery { follow: true, ..EventQuery::default() }).await?;
        let (mut keys, mut tick) = (EventStream::new(), interval(REFRESH_INTERVAL));
        loop {
            terminal.draw(|frame| view::draw(&self.app, frame))?;
            let action = tokio::select! {
                key = keys.next() => match key {
                    Some(Ok(Event::Key(key))) => self.app.on_key(key),
                    Some(Ok(_)) => None,
                    Some(Err(_)) | None => return Ok(()),
                },
                event = events.next() => {
                    self.app.add_events(event?.map(|received| received.event));
                    // Draw once for all events that have arrived.
                    while let Some(event) = events.next().now_or_never() {
                        self.app.add_events(event?.map(|received| received.event));
                    }
                    Some(Action::Refresh)
                }
                _ = tick.tick() => Some(Action::Refresh),
            };
            match action {
                None => {}
                Some(Action::Quit) => return Ok(()),
                Some(action) => {
                    let done = self.perform(action, caller).await;
                    self.app.show_result(done);
                }
            }
        }
    }

    /// Performs an action and fetches the new state.
    async fn perform(&mut self, action: Action, caller: &Caller) -> Result<Option<String>, CliError> {
        let done = match action {
            Action::Quit | Action::Refresh => None,
            Action::Open(review) => {
                let show::ReviewInFull { text, content_hash } = show::in_full(caller, &review).await?;
                self.app.open(ShownContent { review, content_hash }, &text);
                return Ok(None);
            }
            Action::Approve(shown) => {
                self.give_verdict(caller, &shown, VerdictRequest::new("", Verdict::Approved)).await?;
                Some(format!("approved {}", shown.review))
            }
            Action::Send(purpose, text) => {
                if let Err(failure) = self.send(caller, &purpose, text.clone()).await {
                    let note = self.keep(&text)?.unwrap_or_default();
                    return Err(CliError { error: anyhow!("{:#}; {note}", failure.error), ..failure });
                }
                self.draft.iter().for_each(Draft::discard);
                Some(match &purpose {
                    Purpose::Comment(review) => format!("commented on {review}"),
                    Purpose::RequestChanges(shown) => format!("requested changes to {}", shown.review),
                })
            }
            Action::Compose(purpose) => {
                let kind = match &purpose {
                    Purpose::Comment(_) => "comment",
                    Purpose::RequestChanges(_) => "request-changes",
                };
                let draft = Draft::new(&self.data_dir, kind, &caller.review(purpose.review().to_owned()).await?.head);
                let text = draft.read().map(|text| without_comments(&text).trim().to_owned()).unwrap_or_default();
                self.draft = Some(draft);
                self.app.mode = Mode::Compose { purpose, text };
                return Ok(None);
            }
            Action::Keep(text) => self.keep(&text)?,
            Action::Kill(reviewer) => {
                let request = KillReviewerRequest { reviewer_id: reviewer.clone(), ..KillReviewerRequest::default() };
                caller.client.execute::<KillReviewer>(&request).await?;
                Some(format!("stopping {reviewer}"))
            }
        };
        self.app.update(fetch_state(&caller.client).await?);
        Ok(done)
    }

    async fn send(&self, caller: &Caller, purpose: &Purpose, text: String) -> Result<(), CliError> {
        match purpose {
            Purpose::Comment(id) => {
                let request = review_actions::message(caller, &caller.review(id.clone()).await?, text)?;
                caller.client.execute::<AddMessage>(&request).await?;
            }
            Purpose::RequestChanges(shown) => {
                let verdict = VerdictRequest::new("", Verdict::ChangesRequested);
                self.give_verdict(caller, shown, VerdictRequest { reason: Some(text), ..verdict }).await?;
            }
        }
        Ok(())
    }

    /// Gives a verdict about the content that the user has seen. The broker refuses it if that is not the content any more.
    async fn give_verdict(
        &self,
        caller: &Caller,
        shown: &ShownContent,
        verdict: VerdictRequest,
    ) -> Result<(), CliError> {
        if self.signs_votes {
            let problem = "a vote must be signed (gate.sign_votes), which needs a terminal of its own; run";
            return Err(
                anyhow!("{problem} `countersign respond {} --approve` or `--request-changes`", shown.review).into()
            );
        }
        let review = caller.review(shown.review.clone()).await?;
        let verdict = VerdictRequest { content_hash: Some(shown.content_hash.clone()), ..verdict };
        let refused = match respond::submit(caller, &review, None, verdict, None).await {
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        match refused.error.downcast_ref::<ErrorBody>() {
            Some(body) if body.code == ErrorCode::StaleContent => {
                Err(anyhow!("{} has changed since it was shown; open it again (stale_content)", shown.review).into())
            }
            Some(_) | None => Err(refused),
        }
    }

    /// Keeps a text that was not sent and says where it is.
    fn keep(&self, text: &str) -> Result<Option<String>, CliError> {
        let Some(draft) = self.draft.as_ref().filter(|_| !text.trim().is_empty()) else { return Ok(None) };
        draft.write(text)?;
        Ok(Some(draft.note()))
    }
}

/// Reviews per status, more than fit on a screen.
const ROWS: u32 = 50;

/// A snapshot of the broker.
#[derive(Debug, Default, Serialize)]
struct BrokerState {
    pub reviews: Vec<ReviewRow>,
    /// Absent for a caller who is not an operator.
    pub pool: Option<ListReviewersResponse>,
    /// The actor tree, line by line. Empty for a caller who is not an operator.
    pub actors: Vec<String>,
}

async fn fetch_state(client: &Client) -> Result<BrokerState, CliError> {
    let mut reviews = Vec::new();
    for status in OPEN {
        let request = ListReviewsRequest { status: Some(status), limit: Some(ROWS), ..Default::default() };
        let page = client.execute_quietly::<ListReviews, ListReviewsResponse>(&request).await?;
        reviews.extend(page.reviews.into_iter().filter(|review| review.head.status == status));
    }
    let pool = optional(client.execute_quietly::<ListReviewers, _>(&ListReviewersRequest::default()).await)?;
    let actors = optional(client.get("/debug/actors", &json!({ "format": "text" })).await)?.unwrap_or_default();
    Ok(BrokerState { reviews, pool, actors: actors.lines().map(str::to_owned).collect() })
}

/// The result of a call that only operators may make.
fn optional<T>(result: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match result {
        Ok(response) => Ok(Some(response)),
        Err(failure) if failure.is_retryable() => Err(failure),
        Err(_) => Ok(None),
    }
}
