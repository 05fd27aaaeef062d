//! How a client's run ended.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::{Client, claude, codex};

#[derive(Debug)]
pub(crate) struct ClientOutcome {
    pub(crate) client: Client,
    /// `None` if a signal ended it, such as at the time limit.
    pub(crate) exit: Option<i32>,
    /// The script's `SCRIPT-OK …` or `SCRIPT-FAILED …`, or what the client says went wrong.
    pub(crate) final_text: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Tokens as the client counted them; null if it did not get that far.
    pub(crate) usage: Value,
    pub(crate) took: Duration,
}

impl ClientOutcome {
    pub(super) fn read(client: Client, exit: Option<i32>, stdout: String, stderr: String, took: Duration) -> Self {
        let events: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut outcome = Self { client, exit, final_text: String::new(), stdout, stderr, usage: Value::Null, took };
        for event in &events {
            match client {
                Client::Codex | Client::CodexToolSearch | Client::CodexCodeMode => {
                    codex::read_event(event, &mut outcome)
                }
                Client::Claude => claude::read_event(event, &mut outcome),
            }
        }
        outcome
    }

    /// The client ended well and the script ran to its end. Neither alone says so: clients exit
    /// with 0 although tools failed.
    #[track_caller]
    pub(crate) fn assert_ok(&self) {
        assert!(self.exit == Some(0) && self.final_text.starts_with("SCRIPT-OK"), "{self}");
    }
}

impl fmt::Display for ClientOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, exit, final_text, stdout, stderr, took, .. } = self;
        writeln!(f, "{client:?} ended with {exit:?} after {took:.1?}: {final_text}")?;
        writeln!(f, "--- stderr\n{}", end_of(stderr))?;
        writeln!(f, "--- stdout\n{}", end_of(stdout))
    }
}

fn end_of(text: &str) -> &str {
    let cut = text.len().saturating_sub(4000);
    &text[text.ceil_char_boundary(cut)..]
}
