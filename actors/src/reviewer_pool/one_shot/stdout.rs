//! Finds the response of a client in what it prints on stdout.

use super::response::{MAX_BYTES, too_long};
use domain::runtime::Runtime;
use serde::Deserialize;

/// Reads stdout line by line. Keeps no more bytes than a response may have.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    runtime: Runtime,
    last: LastMessage,
    /// The whole output of a `command`, as long as it may be the response.
    output: Option<String>,
}

/// The last message that may be the response.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastMessage {
    #[default]
    None,
    Text(String),
    TooLong,
    /// The client reported an error.
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

impl ResponseReader {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, last: LastMessage::None, output: Some(String::new()) }
    }

    /// `None` stands for a line that was too long.
    pub(crate) fn read_line(&mut self, line: Option<&str>) {
        let Some(line) = line else {
            (self.last, self.output) = (LastMessage::TooLong, None);
            return;
        };
        match self.runtime {
            Runtime::Command => self.read_command_line(line),
            Runtime::Codex | Runtime::Claude => self.read_client_line(line),
        }
    }

    fn read_command_line(&mut self, line: &str) {
        let fits = |output: &String| output.len() + line.len() < MAX_BYTES;
        self.output = self.output.take().filter(fits).map(|output| output + line + "\n");
        if !line.trim().is_empty() {
            self.last = bounded(line.to_owned());
        }
    }

    fn read_client_line(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Line::CodexItem { item: CodexItem::AgentMessage { text } }) => self.last = bounded(text),
            Ok(Line::ClaudeResult { is_error: true, result, subtype, .. }) => {
                self.last = LastMessage::Failed(result.or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
            Ok(Line::ClaudeResult { structured_output: Some(output), .. }) => self.last = bounded(output.to_string()),
            Ok(Line::ClaudeResult { result, .. }) => self.last = bounded(result.unwrap_or_default()),
            Ok(Line::CodexItem { item: CodexItem::Other }) | Err(_) => {}
        }
    }

    /// Returns the response, or a message if the client printed none. Empties the reader.
    pub(crate) fn response(&mut self) -> Result<String, String> {
        let (last, output) = (std::mem::take(&mut self.last), self.output.take());
        // A command may print its object over several lines, or in the last line after other output.
        if let (Runtime::Command, Some(output)) = (self.runtime, &output)
            && serde_json::from_str::<serde::de::IgnoredAny>(output).is_ok()
        {
            return Ok(output.clone());
        }
        match (last, output) {
            (LastMessage::Text(text), output) => {
                let last_line_is_json = text.trim_start().starts_with('{');
                Ok(output.filter(|_| self.runtime == Runtime::Command && !last_line_is_json).unwrap_or(text))
            }
            (LastMessage::None, _) => Ok(String::new()),
            (LastMessage::TooLong, _) => Err(too_long()),
            (LastMessage::Failed(error), _) => Err(format!("the client failed: {error}")),
        }
    }
}

fn bounded(text: String) -> LastMessage {
    if text.len() > MAX_BYTES { LastMessage::TooLong } else { LastMessage::Text(text) }
}

#[cfg(test)]
#[path = "stdout_tests.rs"]
mod tests;
