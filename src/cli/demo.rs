//! `countersign demo`: a whole review in a few seconds. Broker, repository and git are real; only the two minds
//! are scripted. No key, no network, nothing of the user's is read or touched, and nothing is left behind.

mod sandbox;
mod scenario;

use super::{Failure, signals::Signals, terminal};
use anyhow::anyhow;
use sandbox::Sandbox;
use scenario::Scenario;
use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// Between two steps where somebody watches, so that each can be read.
const READING_TIME: Duration = Duration::from_millis(600);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Do not pause between the steps
    #[arg(long)]
    fast: bool,
    /// One JSON object for each step instead of text
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let pause = if args.fast || !io::stdout().is_terminal() { Duration::ZERO } else { READING_TIME };
    let narrator = Narrator { began: Instant::now(), json: args.json, pause };
    // Whatever ends it, the sandbox is cleared: a temporary folder, and a broker.
    let mut signals = Signals::catch()?;
    let stopped = |name| Err(anyhow!("{name}: stopped; nothing is left behind").into());
    let mut sandbox = tokio::select! {
        built = Sandbox::build() => built?,
        name = signals.next() => return stopped(name),
    };
    let played = tokio::select! {
        played = play(&sandbox, &narrator) => played,
        name = signals.next() => stopped(name),
    };
    sandbox.clear().await;
    played
}

async fn play(sandbox: &Sandbox, narrator: &Narrator) -> Result<(), Failure> {
    narrator.opening(sandbox)?;
    Scenario { sandbox, narrator }.play().await?;
    narrator.closing()
}

/// What the audience hears.
struct Narrator {
    began: Instant,
    json: bool,
    pause: Duration,
}

impl Narrator {
    fn opening(&self, sandbox: &Sandbox) -> Result<(), Failure> {
        self.text(&format!(
            "A review from end to end: a real broker, a real repository, two scripted minds. Nothing of yours is touched.

  broker      {}
  repository  {}

",
            sandbox.url(),
            sandbox.repo().root().display(),
        ))
    }

    fn closing(&self) -> Result<(), Failure> {
        self.text(
            "
Broker and repository are gone again. To have your own agents reviewed like this:
  countersign init          connects Claude Code, Codex and Gemini, in the repository you are in
  countersign request       asks for a review of your branch
",
        )
    }

    /// One thing that has happened, and what belongs to it.
    async fn step(&self, who: &str, did: &str, lines: &[String]) -> Result<(), Failure> {
        let at = self.began.elapsed();
        if self.json {
            let step = serde_json::json!({ "at_ms": at.as_millis() as u64, "who": who, "did": did, "lines": lines });
            return put(&format!("{step}\n"));
        }
        let mut text = format!("{:5.1}s  {who:<12} {did}\n", at.as_secs_f64());
        for line in lines {
            text.push_str(&format!("        {:12} {line}\n", ""));
        }
        put(&text)?;
        sleep(self.pause).await;
        Ok(())
    }

    fn text(&self, text: &str) -> Result<(), Failure> {
        if self.json { Ok(()) } else { put(text) }
    }
}

fn put(text: &str) -> Result<(), Failure> {
    terminal::write_raw(text.as_bytes())
}
