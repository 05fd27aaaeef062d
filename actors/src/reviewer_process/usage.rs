//! What a review cost and what went wrong, read from what a client prints on stdout.
//!
//! Codex tells of each turn, Claude Code of the whole run; a command may print either form. Everything else on
//! stdout is passed over: what a model says stands inside of JSON strings, so it cannot pass for a report.

use serde::Deserialize;

/// An error is quoted to operators, and may hold whatever a server answered.
const MAX_ERROR_CHARS: usize = 500;

const MAX_MODEL_BYTES: usize = 100;

/// Summed over all turns that were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// All that the model read, also what it had in its cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` where the client does not say: Codex never does.
    pub cost_usd: Option<f64>,
    /// What the client last failed with. Clients report a bad model or login here, not on stderr. A turn that
    /// went well takes it back.
    pub last_error: Option<String>,
    /// As Claude Code says at its start.
    pub model: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "turn.completed")]
    TurnCompleted { usage: Tokens },
    #[serde(rename = "turn.failed")]
    TurnFailed { error: Words },
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "result")]
    Result(Outcome),
    #[serde(rename = "system")]
    System { model: Option<String> },
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    is_error: bool,
    result: Option<String>,
    subtype: Option<String>,
    total_cost_usd: Option<f64>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Words {
    message: String,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    // Claude Code counts these beside input_tokens, Codex has names of its own for what is part of them.
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
}

impl Usage {
    /// Takes in one line; what is malformed changes nothing.
    pub fn read_line(&mut self, line: &str) {
        // Most lines are none of these, and some are long.
        let line = line.trim();
        if !line.starts_with('{') {
            return;
        }
        match serde_json::from_str(line) {
            Ok(Line::TurnCompleted { usage }) => {
                self.add(&usage);
                self.last_error = None;
            }
            Ok(Line::TurnFailed { error: Words { message } } | Line::Error { message }) => self.failed(&message),
            Ok(Line::Result(outcome)) => self.ended(outcome),
            Ok(Line::System { model }) => {
                self.model = model.filter(|model| model.len() <= MAX_MODEL_BYTES).or(self.model.take());
            }
            Err(_) => {}
        }
    }

    fn ended(&mut self, outcome: Outcome) {
        if let Some(usage) = &outcome.usage {
            self.add(usage);
        }
        if let Some(cost) = outcome.total_cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
        match outcome {
            Outcome { is_error: false, .. } => self.last_error = None,
            // The subtype alone says nothing: it is "success" also for a model that does not exist.
            Outcome { result, subtype, .. } => {
                self.failed(&result.or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
        }
    }

    fn add(&mut self, tokens: &Tokens) {
        let Tokens { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = *tokens;
        for read in [input_tokens, cache_creation_input_tokens, cache_read_input_tokens] {
            self.input_tokens = self.input_tokens.saturating_add(read);
        }
        self.output_tokens = self.output_tokens.saturating_add(output_tokens);
    }

    fn failed(&mut self, message: &str) {
        self.last_error = Some(domain::text::truncate(message, MAX_ERROR_CHARS).to_owned());
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
