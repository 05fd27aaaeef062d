//! `countersign top`: the queue, the reviewers, what happens and the actor tree on one screen, live, with keys to act.
//!
//! [`app`] is what is on the screen and what a key means, decided on paper; [`view`] draws it; [`data`] asks the broker.

mod app;
mod data;
mod view;

use super::{
    Failure, acts,
    caller::{By, Caller},
    render::print,
    respond, show,
};
use anyhow::anyhow;
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

/// Ages, reviewers and actors change without an event.
const TICK: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    by: By,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let caller = args.by.begin().await?;
    let seen = data::fetch(&caller).await?;
    if args.by.at.json {
        return print(true, &seen.told(), |_| String::new());
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let words = "top needs a terminal; `countersign top --json` and `countersign list --watch` do not";
        return Err(Failure::usage(anyhow!(words)));
    }
    // Puts the terminal back, also when something panics.
    let mut terminal = ratatui::init();
    let ended = watch(&args.by, caller, App::new(seen), &mut terminal).await;
    ratatui::restore();
    ended
}

async fn watch(by: &By, mut caller: Caller, mut app: App, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
    let (told, mut heard) = mpsc::channel(256);
    let mut feed = pin!(data::follow_events(&by.at, told));
    let (mut keys, mut tick) = (EventStream::new(), interval(TICK));
    loop {
        terminal.draw(|frame| view::draw(&app, frame))?;
        let act = tokio::select! {
            key = keys.next() => match key {
                Some(Ok(Event::Key(key))) => app.on_key(key),
                Some(Ok(Event::Resize(..))) => None,
                Some(Ok(_)) => None,
                Some(Err(_)) | None => return Ok(()),
            },
            event = heard.recv() => {
                app.hear(event.into_iter());
                // What comes in one go is shown in one go.
                app.hear(std::iter::from_fn(|| heard.try_recv().ok()));
                Some(Action::Refresh)
            }
            _ = tick.tick() => Some(Action::Refresh),
            () = &mut feed => return Ok(()),
        };
        match act {
            None => {}
            Some(Action::Quit) => return Ok(()),
            Some(act) => {
                // A broker that was started again may listen elsewhere.
                if app.is_cut_off()
                    && let Ok(found) = by.begin().await
                {
                    caller = found;
                }
                let done = perform(act, &caller, &mut app).await;
                app.note(done);
            }
        }
    }
}

/// Does it, and looks at what came of it.
async fn perform(act: Action, caller: &Caller, app: &mut App) -> Result<Option<String>, Failure> {
    let done = match act {
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
            acts::say(caller, &review, None, None, text).await?;
            Some(format!("said so in {id}"))
        }
        Action::Kill(reviewer) => {
            caller.call("kill_reviewer", json!({ "reviewer_id": reviewer })).await?;
            Some(format!("told {reviewer} to end"))
        }
    };
    app.take(data::fetch(caller).await?);
    Ok(done)
}
