//! Arguments that cannot be read end here, with the field's name, what came and what is allowed.

use rmcp::{ErrorData, model::JsonObject};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Serde quotes what it found, and a caller may send megabytes where a flag belongs.
const MAX_PROBLEM_CHARS: usize = 400;
const MAX_FIELD_CHARS: usize = 100;

#[derive(Debug)]
pub(crate) struct Malformed {
    /// `metrics.cost_usd`
    pub field: String,
    pub problem: String,
}

impl Malformed {
    pub(in crate::mcp) fn missing(field: &str, why: &str) -> Self {
        Self { field: field.into(), problem: format!("missing; {why}") }
    }

    pub(in crate::mcp) fn into_error(self, tool: &str) -> ErrorData {
        let Self { field, problem } = self;
        let message = format!("{tool}: argument {field}: {problem}");
        ErrorData::invalid_params(
            message,
            Some(json!({ "code": "invalid_params", "tool": tool, "field": field, "problem": problem })),
        )
    }
}

pub(in crate::mcp) fn parse<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, Malformed> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        let problem = domain::text::truncate(&message, MAX_PROBLEM_CHARS).to_owned();
        let mut field = if path == "." { String::new() } else { path };
        // Serde finds missing and unknown fields at the object that should, or should not, have them.
        for found in ["missing field `", "unknown field `"] {
            if let Some(name) = problem.strip_prefix(found).and_then(|rest| rest.split('`').next()) {
                let known = field.ends_with(name);
                match (known, field.is_empty()) {
                    (true, _) => {}
                    (false, true) => field = name.to_owned(),
                    (false, false) => field = format!("{field}.{name}"),
                }
            }
        }
        Malformed { field: domain::text::truncate(&field, MAX_FIELD_CHARS).to_owned(), problem }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{CreateReview, SubmitVerdict};
    use super::{Malformed, parse};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Malformed> {
        parse(arguments.as_object().cloned())
    }

    #[track_caller]
    fn check<T: DeserializeOwned>(arguments: Value, field: &str, problem: &str) {
        let malformed = read::<T>(arguments).err().expect("refused");
        assert_eq!(malformed.field, field);
        assert!(malformed.problem.contains(problem), "{}", malformed.problem);
    }

    #[test]
    fn what_is_wrong_is_named() {
        check::<CreateReview>(json!({}), "intent", "missing field");
        check::<CreateReview>(json!({ "intent": 3 }), "intent", "expected a string");
        check::<CreateReview>(json!({ "intent": "a", "colour": "red" }), "colour", "expected one of");
        check::<CreateReview>(
            json!({ "intent": "a", "skip_diff_validation": "maybe" }),
            "skip_diff_validation",
            "true or false",
        );
        let verdict = |metrics: Value| json!({ "review_id": "R-1", "verdict": "approved", "metrics": metrics });
        check::<SubmitVerdict>(verdict(json!({ "cost_usd": [] })), "metrics.cost_usd", "expected a number");
        check::<SubmitVerdict>(verdict(json!({ "speed": 1 })), "metrics.speed", "unknown field");
        check::<SubmitVerdict>(
            json!({ "review_id": "R-1", "verdict": "approved", "claim_generation": -1 }),
            "claim_generation",
            "number -1 came",
        );
    }

    #[test]
    fn harmless_slips_are_taken() {
        let verdict: SubmitVerdict = read(json!({
            "review_id": "R-1", "verdict": "approved", "reason": null, "claim_generation": "3", "summary": "",
            "metrics": { "cost_usd": "0.5", "input_tokens": 12.0 },
        }))
        .expect("accepted");
        assert_eq!((verdict.claim_generation, verdict.reason, verdict.summary), (Some(3), None, None));
        let metrics = verdict.metrics.expect("given");
        assert_eq!((metrics.cost_usd, metrics.input_tokens), (Some(0.5), Some(12)));
    }
}
