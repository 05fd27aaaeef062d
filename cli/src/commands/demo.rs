//! `countersign demo`: plays a complete review in a few seconds. Broker, repository and git are real; proposer and
//! reviewer are scripted. It needs no API key and no network, does not touch the user's files, and removes its own.

mod sandbox;
mod scenario;

use crate::{CliError, Signals, client::Client, terminal};
use anyhow::anyhow;
use sandbox::Sandbox;
use scenario::Scenario;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Pause after each step on a terminal.
const STEP_PAUSE: Duration = Duration::from_millis(600);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not pause between the steps
    #[arg(long)]
    fast: bool,
    /// Print one JSON object per step instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let pause = if args.fast || !terminal::is_terminal() { Duration::ZERO } else { STEP_PAUSE };
    let narrator = Narrator { began: Instant::now(), json: args.json, pause };
    // Remove the sandbox (a temporary folder and a broker) in every case.
    let mut signals = Signals::catch()?;
    let stopped = |name| Err(anyhow!("stopped by {name}; everything was removed").into());
    let mut sandbox = tokio::select! {
        created = Sandbox::create() => created?,
        name = signals.next() => return stopped(name),
    };
    let result = tokio::select! {
        result = play(&sandbox, &narrator) => result,
        name = signals.next() => stopped(name),
    };
    sandbox.remove().await;
    result
}

async fn play(sandbox: &Sandbox, narrator: &Narrator) -> Result<(), CliError> {
    narrator.opening(sandbox)?;
    Scenario { sandbox, narrator, broker: Client::at(&sandbox.url)? }.play().await?;
    narrator.closing()
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
            "A complete review: a real broker, a real repository, a scripted proposer and reviewer. Your files are not touched.

  broker      {}
  repository  {}

",
            sandbox.url,
            sandbox.repo.root().display(),
        ))
    }

    fn closing(&self) -> Result<(), CliError> {
        self.text(
            "
The demo's broker and repository were removed. To have your own agents reviewed:
  countersign init          connect Claude Code, Codex and Gemini in the current repository
  countersign request       request a review of your branch
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
        let mut text = format!("{:5.1}s  {who:<12} {did}\n", at.as_secs_f64());
        for line in lines {
            text.push_str(&format!("        {:12} {line}\n", ""));
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
