//! Which of all that a client prints is its answer.

use super::response::{MAX_BYTES, too_long};
use crate::reviewer_process::runtime::Runtime;
use serde::Deserialize;

/// Takes in stdout, line by line, and keeps no more of it than an answer may be long.
#[derive(Debug)]
pub(super) struct Listener {
    runtime: Runtime,
    /// The last that was said, if it was short enough.
    said: Said,
    /// Of a `command`: all of it, as long as it may still be the answer.
    whole: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Said {
    #[default]
    Nothing,
    Text(String),
    TooMuch,
    /// The client itself says that it failed.
    Failed(String),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "item.completed")]
    CodexItem { item: CodexItem },
    #[serde(rename = "result")]
    ClaudeResult {
        #[serde(default)]
        is_error: bool,
        result: Option<String>,
        subtype: Option<String>,
        structured_output: Option<serde_json::Value>,
    },
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum CodexItem {
    #[serde(rename = "agent_message")]
    AgentMessage { text: String },
    #[serde(other)]
    Other,
}

impl Listener {
    pub(super) fn to(runtime: Runtime) -> Self {
        Self { runtime, said: Said::Nothing, whole: Some(String::new()) }
    }

    /// `None`: a line that was too long to be passed on.
    pub(super) fn hear(&mut self, line: Option<&str>) {
        let Some(line) = line else {
            (self.said, self.whole) = (Said::TooMuch, None);
            return;
        };
        match self.runtime {
            Runtime::Command => self.hear_command(line),
            Runtime::Codex | Runtime::Claude => self.hear_client(line),
        }
    }

    fn hear_command(&mut self, line: &str) {
        self.whole =
            self.whole.take().filter(|whole| whole.len() + line.len() < MAX_BYTES).map(|whole| whole + line + "\n");
        if !line.trim().is_empty() {
            self.said = said(line.to_owned());
        }
    }

    fn hear_client(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Line::CodexItem { item: CodexItem::AgentMessage { text } }) => self.said = said(text),
            Ok(Line::ClaudeResult { is_error: true, result, subtype, .. }) => {
                self.said = Said::Failed(result.or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
            Ok(Line::ClaudeResult { structured_output: Some(answer), .. }) => self.said = said(answer.to_string()),
            Ok(Line::ClaudeResult { result, .. }) => self.said = said(result.unwrap_or_default()),
            Ok(Line::CodexItem { item: CodexItem::Other }) | Err(_) => {}
        }
    }

    /// The answer as it was given; else why there is none.
    pub(super) fn answer(self) -> Result<String, String> {
        // A command may print its object over several lines, or a line of it after other things.
        if let (Runtime::Command, Some(whole)) = (self.runtime, &self.whole)
            && serde_json::from_str::<serde::de::IgnoredAny>(whole).is_ok()
        {
            return Ok(whole.clone());
        }
        match (self.said, self.whole) {
            (Said::Text(text), whole) => {
                let last_line_is_json = text.trim_start().starts_with('{');
                Ok(whole.filter(|_| self.runtime == Runtime::Command && !last_line_is_json).unwrap_or(text))
            }
            (Said::Nothing, _) => Ok(String::new()),
            (Said::TooMuch, _) => Err(too_long()),
            (Said::Failed(words), _) => Err(format!("the client failed: {words}")),
        }
    }
}

fn said(text: String) -> Said {
    if text.len() > MAX_BYTES { Said::TooMuch } else { Said::Text(text) }
}

#[cfg(test)]
#[path = "stdout_tests.rs"]
mod tests;
