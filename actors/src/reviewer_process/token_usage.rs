//! Parses token usage, cost and errors from the stdout of a client (Codex, Claude Code).
//!
//! Codex prints a report after each turn, Claude Code one at the end of a run; a custom command may print either form. When a
//! session is continued, the tokens that Codex reports and the cost that Claude Code reports include the earlier runs, so
//! only what was added counts. All other lines are ignored. Text of the model is inside JSON strings, so it cannot be mistaken
//! for a report.

use serde::Deserialize;
use store::{ReviewerWork, SessionTotals};

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
    /// What the client has reported for its session so far. `None`: its reports are sums of one run.
    pub session: Option<SessionTotals>,
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
    #[serde(default)]
    errors: Vec<String>,
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
    /// Continues the counts of a reviewer. `session` are the totals of the session it continues, if its client reports
    /// such totals.
    pub fn continued(work: &ReviewerWork, session: Option<SessionTotals>) -> Self {
        Self {
            input_tokens: work.input_tokens.unwrap_or_default(),
            output_tokens: work.output_tokens.unwrap_or_default(),
            cost_usd: work.cost_usd,
            session,
            ..Self::default()
        }
    }

    /// Reads one line of stdout. A malformed line changes nothing.
    pub fn read_line(&mut self, line: &str) {
        // Most lines are not reports, and some are long.
        let line = line.trim();
        if !line.starts_with('{') {
            return;
        }
        match serde_json::from_str(line) {
            Ok(Line::TurnCompleted { mut usage }) => {
                if let Some(session) = &mut self.session {
                    let (input, output) = (usage.input_tokens, usage.output_tokens);
                    usage.input_tokens = increase(input, session.input_tokens);
                    usage.output_tokens = increase(output, session.output_tokens);
                    (session.input_tokens, session.output_tokens) = (input, output);
                }
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
        if let Some(total) = report.total_cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            let mut cost = total;
            if let Some(session) = &mut self.session {
                // A run that was killed is missing in the total, so the total may be lower than before.
                cost = if total < session.cost_usd { total } else { total - session.cost_usd };
                session.cost_usd = total;
            }
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
        match report {
            RunReport { is_error: false, .. } => self.last_error = None,
            // The subtype alone is not enough: it is "success" even if the model does not exist.
            RunReport { result, subtype, errors, .. } => {
                let first = errors.into_iter().next();
                self.set_error(&result.or(first).or(subtype).unwrap_or_else(|| "no reason given".to_owned()));
            }
        }
    }

    /// Updates the tokens and cost of a reviewer's row, as far as the client has reported any.
    pub(crate) fn add_to(&self, work: &mut ReviewerWork) {
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

/// What a total has grown by. A total that has fallen was counted anew.
fn increase(total: u64, before: u64) -> u64 {
    total.checked_sub(before).unwrap_or(total)
}

#[cfg(test)]
#[path = "token_usage_tests.rs"]
mod tests;
