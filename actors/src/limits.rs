//! How much a caller may send, checked before anything else looks at it.

use crate::{
    error::BrokerError,
    requests::{MessageRequest, NewProposal, RequestKey, Revision, TargetRequest, VerdictRequest},
};
use domain::{finding::NewFinding, ids::VALIDATOR, text::is_hidden, verdict::ReviewMetrics};

/// Findings of one verdict. Who has more to say has not sorted them.
const MAX_FINDINGS: usize = 100;
const MAX_TITLE: usize = 300;
const MAX_PATH: usize = 1000;
/// More than any review costs, and little enough to be added up.
const MAX_COST_USD: f64 = 1e6;

#[derive(Debug, Clone)]
pub struct Limits {
    pub diff_bytes: usize,
    pub intent_chars: usize,
    /// Descriptions, reasons, summaries, messages.
    pub text_chars: usize,
    /// Names and ids of all kinds.
    pub id_chars: usize,
    pub metadata_bytes: usize,
    pub page_items: u32,
    pub max_page_items: u32,
    pub calls_in_flight: usize,
    pub calls_per_review: u64,
    pub waiters: usize,
}

type Checked = Result<(), BrokerError>;

impl Limits {
    pub(crate) fn proposal(&self, proposal: &NewProposal) -> Checked {
        let proposer = &proposal.proposer;
        self.intent(&proposal.intent)?;
        self.required_name("agent_type", &proposer.agent_type)?;
        self.required_name("agent_role", &proposer.agent_role)?;
        self.required_name("phase", &proposer.phase)?;
        self.name("plan", proposer.plan.as_deref())?;
        self.name("task", proposer.task.as_deref())?;
        self.name("project", proposer.project.as_deref())?;
        self.name("proposer_id", proposer.proposer_id.as_deref())?;
        self.name("base", proposal.base.as_deref())?;
        self.target(proposal.target.as_ref())?;
        self.key(proposal.key.as_ref())?;
        self.text("description", proposal.description.as_deref())?;
        self.diff("diff", proposal.diff.as_deref())
    }

    pub(crate) fn revision(&self, revision: &Revision) -> Checked {
        self.intent(&revision.intent)?;
        self.name("proposer_id", revision.proposer_id.as_deref())?;
        self.name("base", revision.base.as_deref())?;
        self.target(revision.target.as_ref())?;
        self.key(revision.key.as_ref())?;
        self.text("description", revision.description.as_deref())?;
        self.diff("diff", revision.diff.as_deref())
    }

    pub(crate) fn reviewer(&self, id: &str, persona: Option<&str>) -> Checked {
        self.required_name("reviewer_id", id)?;
        if id == VALIDATOR {
            return Err(BrokerError::Invalid { field: "reviewer_id", problem: "is the broker's own name".into() });
        }
        self.name("persona", persona)
    }

    pub(crate) fn verdict(&self, verdict: &VerdictRequest) -> Checked {
        self.name("reviewer_id", verdict.reviewer_id.as_deref())?;
        self.name("content_hash", verdict.content_hash.as_deref())?;
        self.name("metrics.model", verdict.metrics.as_ref().and_then(|metrics| metrics.model.as_deref()))?;
        self.text("reason", verdict.reason.as_deref())?;
        self.text("summary", verdict.summary.as_deref())?;
        verdict.metrics.as_ref().map_or(Ok(()), metrics)?;
        self.findings(&verdict.findings)?;
        self.diff("counter_patch", verdict.counter_patch.as_deref())
    }

    fn findings(&self, findings: &[NewFinding]) -> Checked {
        within("issues", findings.len(), MAX_FINDINGS, "items, suggestions included")?;
        findings.iter().try_for_each(|finding| self.finding(finding))?;
        let chars: usize = findings.iter().map(chars_of).sum();
        within("issues", chars, self.text_chars, "characters in all")
    }

    fn finding(&self, finding: &NewFinding) -> Checked {
        let list = if finding.is_issue { "issues" } else { "suggestions" };
        line(list, "title", &finding.title, MAX_TITLE)?;
        line(list, "rule_ref", finding.rule_ref.as_deref().unwrap_or("none"), self.id_chars)?;
        line(list, "file", finding.place.as_ref().map_or("none", |place| &place.file), MAX_PATH)
    }

    pub(crate) fn path(&self, field: &'static str, path: Option<&str>) -> Checked {
        line(field, "path", path.unwrap_or("none"), MAX_PATH)
    }

    pub(crate) fn note(&self, note: Option<&str>) -> Checked {
        self.text("note", note)
    }

    pub(crate) fn message(&self, message: &MessageRequest) -> Checked {
        self.name("caller_id", message.caller_id.as_deref())?;
        self.name("persona", message.persona.as_deref())?;
        if message.body.trim().is_empty() {
            return Err(empty("body"));
        }
        self.text("body", Some(&message.body))?;
        let bytes = message.metadata.as_ref().map_or(0, |metadata| metadata.to_string().len());
        within("metadata", bytes, self.metadata_bytes, "bytes")
    }

    pub(crate) fn reason(&self, reason: &str) -> Checked {
        if reason.trim().is_empty() {
            return Err(empty("reason"));
        }
        self.text("reason", Some(reason))
    }

    /// How many rows a page may have, given what was asked for.
    pub(crate) fn page(&self, asked: Option<u32>) -> Result<u32, BrokerError> {
        match asked {
            None => Ok(self.page_items),
            Some(asked) if (1..=self.max_page_items).contains(&asked) => Ok(asked),
            Some(asked) => Err(BrokerError::Invalid {
                field: "limit",
                problem: format!("is {asked}; allowed is 1 to {}", self.max_page_items),
            }),
        }
    }

    /// A short name, if there is one: not empty, one line, nothing invisible.
    pub(crate) fn name(&self, field: &'static str, name: Option<&str>) -> Checked {
        name.map_or(Ok(()), |name| self.required_name(field, name))
    }

    fn target(&self, target: Option<&TargetRequest>) -> Checked {
        let Some(target) = target else { return Ok(()) };
        self.required_name(target.field(), &target.name)?;
        self.name("target.base", target.base.as_deref())
    }

    fn key(&self, key: Option<&RequestKey>) -> Checked {
        match key {
            Some(RequestKey::Given(key)) => self.required_name("idempotency_key", key),
            Some(RequestKey::OfClient(_)) | None => Ok(()),
        }
    }

    fn required_name(&self, field: &'static str, name: &str) -> Checked {
        if name.trim().is_empty() {
            return Err(empty(field));
        }
        if name.contains(is_hidden) {
            let problem = "holds control or invisible characters".into();
            return Err(BrokerError::Invalid { field, problem });
        }
        if name.trim() != name {
            return Err(BrokerError::Invalid { field, problem: "begins or ends with a blank".into() });
        }
        within(field, name.chars().count(), self.id_chars, "characters")
    }

    fn intent(&self, intent: &str) -> Checked {
        if intent.trim().is_empty() {
            return Err(empty("intent"));
        }
        within("intent", intent.chars().count(), self.intent_chars, "characters")
    }

    fn text(&self, field: &'static str, text: Option<&str>) -> Checked {
        within(field, text.map_or(0, |text| text.chars().count()), self.text_chars, "characters")
    }

    fn diff(&self, field: &'static str, diff: Option<&str>) -> Checked {
        if diff.is_some_and(|diff| diff.trim().is_empty()) {
            return Err(BrokerError::Invalid { field, problem: "is empty; leave it out where there is none".into() });
        }
        within(field, diff.map_or(0, str::len), self.diff_bytes, "bytes")
    }
}

/// One line that says something.
fn line(field: &'static str, what: &str, text: &str, limit: usize) -> Checked {
    if text.trim().is_empty() {
        return Err(BrokerError::Invalid { field, problem: format!("the {what} must not be empty") });
    }
    if text.chars().any(char::is_control) {
        return Err(BrokerError::Invalid { field, problem: format!("a {what} holds control characters") });
    }
    within(field, text.chars().count(), limit, "characters in a line")
}

fn metrics(metrics: &ReviewMetrics) -> Checked {
    match metrics.cost_usd {
        Some(cost) if !(0.0..=MAX_COST_USD).contains(&cost) => {
            let problem = format!("is {cost}; allowed is 0 to {MAX_COST_USD}");
            Err(BrokerError::Invalid { field: "metrics.cost_usd", problem })
        }
        Some(_) | None => Ok(()),
    }
}

fn chars_of(finding: &NewFinding) -> usize {
    let optional = [&finding.description, &finding.code_snippet, &finding.suggestion];
    let texts = optional.into_iter().flatten().chain([&finding.title]);
    texts.map(|text| text.chars().count()).sum()
}

fn empty(field: &'static str) -> BrokerError {
    BrokerError::Invalid { field, problem: "must not be empty".into() }
}

fn within(field: &'static str, actual: usize, limit: usize, unit: &'static str) -> Checked {
    if actual > limit { Err(BrokerError::TooLong { field, actual, limit, unit }) } else { Ok(()) }
}
