//! `countersign top`: a live view of the queue, the reviewers, the events and the actors, with keys to act on them.
//!
//! [`app`] holds the state and handles keys, [`view`] draws it, and [`data`] fetches from the broker.

mod app;
mod data;
#[cfg(test)]
mod fixtures;
mod view;

use crate::{
    CliError,
    commands::comment,
    commands::respond,
    commands::show,
    identity::{Caller, IdentityArgs},
    render::print,
};
use anyhow::anyhow;
use api::{operation::KillReviewer, reviewers::KillReviewerRequest};
use app::{Action, App};
use crossterm::event::{Event, EventStream};
use futures::StreamExt as _;
use ratatui::DefaultTerminal;
use serde_json::json;
use std::{
    io::{self, IsTerminal as _},
    pin::pin,
    time::Duration,
};
use tokio::{sync::mpsc, time::interval};

/// Ages, reviewers and actors change without an event, so they are refreshed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: IdentityArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let caller = args.by.begin().await?;
    let state = data::fetch(&caller).await?;
    if args.by.at.json {
        return print(true, &state, |_| String::new());
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let message = "top needs a terminal; use `countersign top --json` or `countersign list --watch`";
        return Err(CliError::usage(anyhow!(message)));
    }
    // Restores the terminal after a panic too.
    let mut terminal = ratatui::init();
    let result = watch(&args.by, caller, App::new(state), &mut terminal).await;
    ratatui::restore();
    result
}

async fn watch(
    by: &IdentityArgs,
    mut caller: Caller,
    mut app: App,
    terminal: &mut DefaultTerminal,
) -> Result<(), CliError> {
    let (events, mut received) = mpsc::channel(256);
    let mut feed = pin!(data::follow_events(&by.at, events));
    let (mut keys, mut tick) = (EventStream::new(), interval(REFRESH_INTERVAL));
    loop {
        terminal.draw(|frame| view::draw(&app, frame))?;
        let action = tokio::select! {
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) => app.on_key(key),
                Some(Ok(Event::Resize(..))) => None,
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return Ok(()),
            },
            event = received.recv() => {
                app.add_events(event.into_iter());
                // Draw once for all events that are queued.
                app.add_events(std::iter::from_fn(|| received.try_recv().ok()));
                Some(Action::Refresh)
            }
            _ = tick.tick() => Some(Action::Refresh),
            () = &mut feed => return Ok(()),
        };
        match action {
            None => {}
            Some(Action::Quit) => return Ok(()),
            Some(action) => {
                // A restarted broker may use another address.
                if app.is_disconnected()
                    && let Ok(found) = by.begin().await
                {
                    caller = found;
                }
                let done = perform(action, &caller, &mut app).await;
                app.show_result(done);
            }
        }
    }
}

/// Performs an action and fetches the new state.
async fn perform(action: Action, caller: &Caller, app: &mut App) -> Result<Option<String>, CliError> {
    let done = match action {
        Action::Quit | Action::Refresh => None,
        Action::Open(review) => {
            app.open(&review, &show::text_of(caller, &review).await?);
            return Ok(None);
        }
        Action::Approve(id) => {
            let review = caller.call("get_review_status", json!({ "review_id": id })).await?;
            let verdict = [("verdict".to_owned(), json!("approved"))].into_iter().collect();
            respond::give(caller, &review, None, verdict).await?;
            Some(format!("approved {id}"))
        }
        Action::Comment(id, text) => {
            let review = caller.call("get_review_status", json!({ "review_id": id })).await?;
            comment::say(caller, &review, None, None, text).await?;
            Some(format!("commented on {id}"))
        }
        Action::Kill(reviewer) => {
            let request = KillReviewerRequest { reviewer_id: reviewer.clone(), force: None };
            caller.remote.execute::<KillReviewer>(&request).await?;
            Some(format!("stopping {reviewer}"))
        }
    };
    app.update(data::fetch(caller).await?);
    Ok(done)
}
