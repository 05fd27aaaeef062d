//! `countersign demo`: plays a complete review in a few seconds. Broker, repository and git are real; proposer and
//! reviewer are scripted. It needs no API key and no network, does not touch the user's files, and removes its own.
//!
//! With `--serve` it plays more reviews while a browser shows them, and the broker runs until Ctrl-C.

mod agents;
mod demo_environment;
mod demo_steps;
mod sample_reviews;

use super::open::browser;
use crate::{CliError, Signals, client::Client, render::hanging, terminal};
use anyhow::anyhow;
use demo_environment::Sandbox;
use demo_steps::Scenario;
use sample_reviews::Scenes;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Pause after each step on a terminal.
const STEP_PAUSE: Duration = Duration::from_millis(600);

/// The same with a page, where each step is also seen.
const SERVED_STEP_PAUSE: Duration = Duration::from_millis(1500);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not pause between the steps
    #[arg(long)]
    fast: bool,
    /// Print one JSON object per step instead of text
    #[arg(long)]
    json: bool,
    /// Open the page in a browser, play more reviews and keep the broker running until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// Print the link of the page without opening it
    #[arg(long, requires = "serve")]
    print: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let step_pause = if args.serve { SERVED_STEP_PAUSE } else { STEP_PAUSE };
    let pause = if args.fast || !terminal::is_terminal() { Duration::ZERO } else { step_pause };
    let narrator = Narrator { began: Instant::now(), json: args.json, pause };
    // Remove the sandbox (a temporary folder and a broker) in every case.
    let mut signals = Signals::catch()?;
    let stopped = |name| match args.serve {
        // There is no other way to end it.
        true => narrator.text("\nThe demo's broker and repository were removed.\n"),
        false => Err(anyhow!("stopped by {name}; everything was removed").into()),
    };
    let mut sandbox = tokio::select! {
        created = Sandbox::create() => created?,
        name = signals.next() => return stopped(name),
    };
    let result = tokio::select! {
        result = play(&sandbox, &narrator, &args) => result.map(|()| None),
        name = signals.next() => Ok(Some(name)),
    };
    sandbox.remove().await;
    match result? {
        None => Ok(()),
        Some(name) => stopped(name),
    }
}

async fn play(sandbox: &Sandbox, narrator: &Narrator, args: &Args) -> Result<(), CliError> {
    narrator.opening(sandbox)?;
    let broker = &Client::at(&sandbox.url, None)?;
    if !args.serve {
        Scenario { sandbox, narrator, broker }.play().await?;
        return narrator.closing();
    }
    narrator.link(&sandbox.url)?;
    let opened = async {
        let is_shown = !args.print && terminal::is_terminal();
        if is_shown && browser::open(&broker.page_url("/")).await.is_err() {
            terminal::remark("no browser could be opened; open the link of the page in yours");
        }
        Ok(())
    };
    let played = async {
        Scenario { sandbox, narrator, broker }.play().await?;
        Scenes { sandbox, narrator, broker }.play().await?;
        narrator.waiting(&sandbox.url)
    };
    tokio::try_join!(opened, played)?;
    std::future::pending().await
}

/// Prints the steps.
struct Narrator {
    began: Instant,
    json: bool,
    pause: Duration,
}

impl Narrator {
    fn opening(&self, sandbox: &Sandbox) -> Result<(), CliError> {
        self.text(&format!(
            "\
A complete review: a real broker, a real repository, a scripted proposer and
reviewer. Your files are not touched.

  broker      {}
  repository  {}

",
            sandbox.url,
            sandbox.repo.root().display(),
        ))
    }

    fn link(&self, url: &str) -> Result<(), CliError> {
        if self.json {
            return write(&format!("{}\n", serde_json::json!({ "url": url })));
        }
        write(&format!("  page        {url}/\n\n"))
    }

    /// All reviews are there.
    fn waiting(&self, url: &str) -> Result<(), CliError> {
        if self.json {
            return write(&format!("{}\n", serde_json::json!({ "url": url, "waits_for": "SIGINT" })));
        }
        write(&format!(
            "
All reviews are at {url}/. You can take seats, comment and vote there.
Ctrl-C stops the broker and removes everything.
"
        ))
    }

    fn closing(&self) -> Result<(), CliError> {
        self.text(
            "
The demo's broker and repository were removed. To have your own agents reviewed:
  countersign init      connect Claude Code, Codex and Gemini in this repository
  countersign request   request a review of your branch
",
        )
    }

    /// Prints one step with its details.
    async fn step(&self, who: &str, did: &str, lines: &[String]) -> Result<(), CliError> {
        let at = self.began.elapsed();
        if self.json {
            let step = serde_json::json!({ "at_ms": at.as_millis() as u64, "who": who, "did": did, "lines": lines });
            return write(&format!("{step}\n"));
        }
        let indent = " ".repeat(21);
        let mut text = hanging(&format!("{:5.1}s  {who:<12} ", at.as_secs_f64()), &format!("{indent}  "), did);
        for line in lines {
            text.push_str(&hanging(&indent, &format!("{indent}  "), line));
        }
        write(&text)?;
        sleep(self.pause).await;
        Ok(())
    }

    fn text(&self, text: &str) -> Result<(), CliError> {
        if self.json { Ok(()) } else { write(text) }
    }
}

fn write(text: &str) -> Result<(), CliError> {
    terminal::write_raw(text.as_bytes())
}
