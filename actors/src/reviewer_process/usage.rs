//! Parses token usage, cost and errors from the stdout of a client (Codex, Claude Code).
//!
//! Codex reports each turn, Claude Code the whole run; a custom command may print either form. All other lines are
//! ignored. Text of the model is inside JSON strings, so it cannot be mistaken for a report.

use serde::Deserialize;

/// An error is shown to operators and may contain any text from a server.
const MAX_ERROR_CHARS: usize = 500;

const MAX_MODEL_BYTES: usize = 100;

/// The sum of all reported turns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// All tokens the model read, including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` if the client does not report it; Codex never does.
    pub cost_usd: Option<f64>,
    /// The client's last error, until a turn succeeds. Clients report an unknown model or a missing login here, not on
    /// stderr.
    pub last_error: Option<String>,
    /// The model, which Claude Code reports at its start.
    pub model: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "turn.completed")]
    TurnCompleted { usage: Tokens },
    #[serde(rename = "turn.failed")]
    TurnFailed { error: ErrorMessage },
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "result")]
    Result(RunReport),
    #[serde(rename = "system")]
    System { model: Option<String> },
}

#[derive(Deserialize)]
struct RunReport {
    #[serde(default)]
    is_error: bool,
    result: Option<String>,
    subtype: Option<String>,
    total_cost_usd: Option<f64>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct ErrorMessage {
    message: String,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    // Claude Code counts these in addition to input_tokens. Codex reports cached tokens under other names, as part of
    // input_tokens.
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
}

impl Usage {
    /// Reads one line of stdout. A malformed line changes nothing.
    pub fn read_line(&mut self, line: &str) {
        // Most lines are not reports, and some are long.
        let line = line.trim();
        if !line.starts_with('{') {
            return;
        }
        match serde_json::from_str(line) {
            Ok(Line::TurnCompleted { usage }) => {
                self.add(&usage);
                self.last_error = None;
            }
            Ok(Line::TurnFailed { error: ErrorMessage { message } } | Line::Error { message }) => {
                self.set_error(&message)
            }
            Ok(Line::Result(report)) => self.add_run(report),
            Ok(Line::System { model }) => {
                self.model = model.filter(|model| model.len() <= MAX_MODEL_BYTES).or(self.model.take());
            }
            Err(_) => {}
        }
    }

    fn add_run(&mut self, report: RunReport) {
        if let Some(usage) = &report.usage {
            self.add(usage);
        }
        if let Some(cost) = report.total_cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
        match report {
            RunReport { is_error: false, .. } => self.last_error = None,
            // The subtype alone is not enough: it is "success" even if the model does not exist.
            RunReport { result, subtype, .. } => {
                self.set_error(&result.or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
        }
    }

    /// Updates the tokens and cost of a reviewer's row, as far as the client has reported any.
    pub(crate) fn add_to(&self, work: &mut store::ReviewerWork) {
        if self.input_tokens > 0 || self.output_tokens > 0 {
            work.input_tokens = Some(self.input_tokens);
            work.output_tokens = Some(self.output_tokens);
        }
        work.cost_usd = self.cost_usd.or(work.cost_usd);
    }

    fn add(&mut self, tokens: &Tokens) {
        let Tokens { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = *tokens;
        for read in [input_tokens, cache_creation_input_tokens, cache_read_input_tokens] {
            self.input_tokens = self.input_tokens.saturating_add(read);
        }
        self.output_tokens = self.output_tokens.saturating_add(output_tokens);
    }

    fn set_error(&mut self, message: &str) {
        self.last_error = Some(domain::text::truncate(message, MAX_ERROR_CHARS).to_owned());
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
