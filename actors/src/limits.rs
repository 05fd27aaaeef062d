//! Limits on what a caller may send, checked before anything else looks at it.

use crate::error::BrokerError;
use domain::{finding::NewFinding, ids::VALIDATOR, text::is_hidden, verdict::ReviewMetrics};

/// The most findings of one verdict.
const MAX_FINDINGS: usize = 100;
const MAX_TITLE_CHARS: usize = 300;
const MAX_PATH_CHARS: usize = 1000;
/// More than a review costs, and small enough to be added up.
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

/// A text of a request: the argument it came in, and what is allowed in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) field: &'static str,
    pub(crate) value: Option<&'a str>,
    kind: TextKind,
}

#[derive(Debug, Clone, Copy)]
enum TextKind {
    /// A short name: one line, no control or invisible characters.
    Name,
    Intent,
    /// May be empty.
    Prose,
    RequiredProse,
    Diff,
    Metadata,
    /// One line within a finding.
    Line {
        what: &'static str,
        max_chars: usize,
    },
    /// Has no limit of its own.
    Unlimited,
}

impl<'a> Text<'a> {
    pub(crate) const fn name(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Name }
    }

    pub(crate) const fn intent(value: &'a str) -> Self {
        Self { field: "intent", value: Some(value), kind: TextKind::Intent }
    }

    pub(crate) const fn prose(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Prose }
    }

    pub(crate) const fn required_prose(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::RequiredProse }
    }

    pub(crate) const fn diff(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Diff }
    }

    pub(crate) const fn metadata(value: Option<&'a str>) -> Self {
        Self { field: "metadata", value, kind: TextKind::Metadata }
    }

    pub(crate) const fn unlimited(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Unlimited }
    }

    pub(crate) const fn path(field: &'static str, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Line { what: "path", max_chars: MAX_PATH_CHARS } }
    }

    const fn line(field: &'static str, what: &'static str, max_chars: usize, value: Option<&'a str>) -> Self {
        Self { field, value, kind: TextKind::Line { what, max_chars } }
    }

    /// The texts of a finding.
    pub(crate) fn of_finding(finding: &'a NewFinding, limits: &Limits) -> [Self; 6] {
        let field = if finding.is_issue { "issues" } else { "suggestions" };
        let file = finding.location.as_ref().map(|location| location.file.as_str());
        [
            Self::line(field, "title", MAX_TITLE_CHARS, Some(&finding.title)),
            Self::line(field, "rule_ref", limits.id_chars, finding.rule_ref.as_deref()),
            Self::line(field, "file", MAX_PATH_CHARS, file),
            Self::unlimited("issues", finding.description.as_deref()),
            Self::unlimited("issues", finding.code_snippet.as_deref()),
            Self::unlimited("issues", finding.suggestion.as_deref()),
        ]
    }
}

type Checked = Result<(), BrokerError>;

impl Limits {
    /// Checks every text against its limit.
    pub(crate) fn check(&self, texts: &[Text<'_>]) -> Checked {
        texts
            .iter()
            .try_for_each(|text| text.value.map_or(Ok(()), |value| self.check_text(text.field, text.kind, value)))
    }

    fn check_text(&self, field: &'static str, kind: TextKind, text: &str) -> Checked {
        let is_blank = text.trim().is_empty();
        let chars = || text.chars().count();
        match kind {
            TextKind::Name | TextKind::Intent | TextKind::RequiredProse if is_blank => {
                Err(invalid(field, "must not be empty".into()))
            }
            TextKind::Name if text.chars().any(|c| c.is_control() || is_hidden(c)) => {
                Err(invalid(field, "contains control or invisible characters".into()))
            }
            TextKind::Name if text.trim() != text => Err(invalid(field, "starts or ends with a blank".into())),
            TextKind::Name => within(field, chars(), self.id_chars, "characters"),
            TextKind::Intent => within(field, chars(), self.intent_chars, "characters"),
            TextKind::Prose | TextKind::RequiredProse => within(field, chars(), self.text_chars, "characters"),
            TextKind::Diff if is_blank => Err(invalid(field, "is empty; leave it out if there is no diff".into())),
            TextKind::Diff => within(field, text.len(), self.diff_bytes, "bytes"),
            TextKind::Metadata => within(field, text.len(), self.metadata_bytes, "bytes"),
            TextKind::Line { what, .. } if is_blank => Err(invalid(field, format!("the {what} must not be empty"))),
            TextKind::Line { what, .. } if text.chars().any(char::is_control) => {
                Err(invalid(field, format!("the {what} contains control characters")))
            }
            TextKind::Line { max_chars, .. } => within(field, chars(), max_chars, "characters in a line"),
            TextKind::Unlimited => Ok(()),
        }
    }

    /// Refuses the broker's own name.
    pub(crate) fn check_reviewer(id: &str) -> Checked {
        if id == VALIDATOR { Err(invalid("reviewer_id", "is reserved for the broker".into())) } else { Ok(()) }
    }

    /// Checks how many findings there are and how long they are together.
    pub(crate) fn check_findings(&self, findings: &[NewFinding]) -> Checked {
        within("issues", findings.len(), MAX_FINDINGS, "items, suggestions included")?;
        let chars: usize = findings.iter().map(finding_chars).sum();
        within("issues", chars, self.text_chars, "characters in all")
    }

    pub(crate) fn check_metrics(metrics: Option<&ReviewMetrics>) -> Checked {
        match metrics.and_then(|metrics| metrics.cost_usd) {
            Some(cost) if !(0.0..=MAX_COST_USD).contains(&cost) => {
                Err(invalid("metrics.cost_usd", format!("is {cost}; allowed: 0 to {MAX_COST_USD}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The number of rows on a page, given the requested one.
    pub(crate) fn page(&self, requested: Option<u32>) -> Result<u32, BrokerError> {
        match requested {
            None => Ok(self.page_items),
            Some(requested) if (1..=self.max_page_items).contains(&requested) => Ok(requested),
            Some(requested) => Err(invalid("limit", format!("is {requested}; allowed: 1 to {}", self.max_page_items))),
        }
    }
}

fn finding_chars(finding: &NewFinding) -> usize {
    let optional = [&finding.description, &finding.code_snippet, &finding.suggestion];
    let texts = optional.into_iter().flatten().chain([&finding.title]);
    texts.map(|text| text.chars().count()).sum()
}

fn invalid(field: &'static str, problem: String) -> BrokerError {
    BrokerError::Invalid { field, problem }
}

fn within(field: &'static str, actual: usize, limit: usize, unit: &'static str) -> Checked {
    if actual > limit { Err(BrokerError::TooLong { field, actual, limit, unit }) } else { Ok(()) }
}
