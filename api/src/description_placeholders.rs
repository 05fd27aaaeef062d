//! Replaces placeholders in the descriptions of MCP tools with configured values, so that agents see the actual limits.

use serde_json::{Map, Value};
use std::time::Duration;

/// The texts that replace the placeholders.
#[derive(Debug, Clone)]
pub struct Placeholders([(&'static str, String); 4]);

impl Placeholders {
    /// With the values of the settings.
    pub fn with_values(page_chars: usize, wait_default: Duration, wait_max: Duration, claim_lease: Duration) -> Self {
        Self::new(
            page_chars.to_string(),
            wait_default.as_secs().to_string(),
            wait_max.as_secs().to_string(),
            format_duration(claim_lease),
        )
    }

    /// With the names of the settings, for descriptions that are not about one running broker.
    pub fn with_names() -> Self {
        Self::new("limits.page_chars".into(), "wait.default".into(), "wait.max".into(), "claims.lease".into())
    }

    fn new(page_chars: String, wait_default: String, wait_max: String, claim_lease: String) -> Self {
        Self([
            ("{page_chars}", page_chars),
            ("{wait_default}", wait_default),
            ("{wait_max}", wait_max),
            ("{claim_lease}", claim_lease),
        ])
    }

    pub fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value))
    }

    /// Fills the descriptions of a schema.
    pub fn fill_schema(&self, schema: &mut Map<String, Value>) {
        for (key, value) in schema {
            match value {
                Value::String(text) if key == "description" => *text = self.fill(text),
                Value::Object(object) => self.fill_schema(object),
                Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
}

fn format_duration(duration: Duration) -> String {
    let (count, unit) = match duration.as_secs() {
        seconds if seconds >= 60 && seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::Placeholders;
    use std::time::Duration;

    #[test]
    fn texts_have_the_numbers_of_the_settings() {
        let seconds = Duration::from_secs;
        let filled = |lease| Placeholders::with_values(9, seconds(2), seconds(5), seconds(lease));
        assert_eq!(filled(60).fill("{page_chars} {wait_max} {claim_lease} {branch}"), "9 5 1 minute {branch}");
        assert_eq!(filled(90).fill("{claim_lease}"), "90 seconds");
        assert_eq!(filled(1200).fill("{claim_lease}"), "20 minutes");
    }
}
