//! Findings as answers show them.

use super::{consensus::Consensus, excerpt, moment, next};
use crate::mcp::schema;
use domain::{
    credential::Authority,
    finding::{
        AnchorState, Finding, FindingKind, FindingNumber, FindingStatus, Grounding, Location, ProposerResponse,
        Severity,
    },
    ids::ReviewId,
    review::{Review, Status},
};
use schemars::JsonSchema;
use serde::Serialize;
use store::ListedFinding;

/// Rows of a list inside an answer that is about something else.
const MAX_ROWS: usize = 30;
const MAX_CHARS: usize = 8_000;

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct FindingRow<'a> {
    /// I-41: for update_issue.
    pub issue_id: String,
    /// Where rows of several reviews are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub review_id: Option<ReviewId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// A suggestion, which never blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_suggestion: Option<bool>,
    #[serde(rename = "type")]
    #[schemars(schema_with = "schema::finding_kind")]
    pub kind: FindingKind,
    #[schemars(schema_with = "schema::severity")]
    pub severity: Severity,
    #[schemars(schema_with = "schema::finding_status")]
    pub status: FindingStatus,
    pub title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it stands in the current content, or was raised where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_start: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_end: Option<u32>,
    /// What became of its lines since it was raised: exact (as they were), moved, modified, gone; absent where nobody
    /// can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anchor")]
    pub anchor: Option<AnchorState>,
    /// Where it was raised, if that is not where it stands now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<String>,
    /// Its lines were changed the way it suggests: its reviewer is asked whether that settles it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely_fixed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_snippet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_ref: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// "grounded", "ungrounded" (what it speaks of is not there) or "unchecked".
    pub grounding: &'static str,
    /// What is not there, or what was put right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grounding_note: Option<&'a str>,
    pub persona: &'a str,
    pub reviewer_id: &'a str,
    pub round: u32,
    pub created_at: String,
    /// While it is so, approvals are not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// How often it was said again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<u32>,
    /// Raised in a later round on lines that had not changed, so no reason to hold the change up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<bool>,
    /// It was fixed and came back, or asks to undo what another issue asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oscillating: Option<bool>,
    /// The proposer's word on it, which its reviewer has not answered yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer_says: Option<ReplyRow<'a>>,
    /// Who last decided what becomes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<ResolutionRow<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ReplyRow<'a> {
    #[schemars(schema_with = "schema::says")]
    pub says: ProposerResponse,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub by: &'a str,
    pub round: u32,
    pub at: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ResolutionRow<'a> {
    pub by: &'a str,
    #[schemars(schema_with = "schema::authority")]
    pub role: Authority,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub round: u32,
    pub at: String,
}

impl<'a> FindingRow<'a> {
    /// Of some review, which is named.
    pub(in crate::mcp) fn of_any(found: &'a ListedFinding) -> Self {
        let (review_id, number) = (Some(found.review), Some(found.number.to_string()));
        Self { review_id, number, ..Self::of(&found.finding) }
    }

    fn in_review(review: &Review, finding: &'a Finding) -> Self {
        Self { blocks: finding.blocks(&review.policy).then_some(true), ..Self::of(finding) }
    }

    pub(super) fn of(finding: &'a Finding) -> Self {
        let found = &finding.found;
        let place = finding.place().or(found.place.as_ref());
        let lines = place.and_then(|place| place.lines);
        let raised = found.place.as_ref().filter(|raised| place != Some(raised));
        let anchor = finding.anchor.as_ref();
        let (grounding, grounding_note) = match &finding.grounding {
            Grounding::Grounded { note } => ("grounded", note.as_deref()),
            Grounding::Ungrounded { why } => ("ungrounded", Some(why.as_str())),
            Grounding::Unchecked { why } => ("unchecked", Some(why.as_str())),
        };
        let text = |text: &Option<String>| text.as_deref().map(excerpt);
        Self {
            issue_id: finding.number.to_string(),
            review_id: None,
            number: None,
            is_suggestion: (!found.is_issue).then_some(true),
            kind: found.kind,
            severity: found.severity,
            status: finding.status,
            title: &found.title,
            description: text(&found.description),
            file: place.map(|place| place.file.as_str()),
            line_start: lines.map(|lines| lines.start),
            line_end: lines.map(|lines| lines.end),
            anchor: anchor.map(|anchor| anchor.state),
            raised_at: raised.map(shown),
            likely_fixed: anchor.and_then(|anchor| anchor.likely_fixed.then_some(true)),
            code_snippet: text(&found.code_snippet),
            suggestion: text(&found.suggestion),
            rule_ref: found.rule_ref.as_deref(),
            confidence: found.confidence.map(|percent| f64::from(percent) / 100.0),
            grounding,
            grounding_note,
            persona: &finding.persona,
            reviewer_id: &finding.by,
            round: finding.round,
            created_at: moment(finding.at),
            blocks: None,
            duplicate_of: finding.duplicate_of.map(|first| first.to_string()),
            repeated: (finding.repeated > 0).then_some(finding.repeated),
            late: finding.late.then_some(true),
            oscillating: finding.oscillating.then_some(true),
            proposer_says: finding.reply.as_ref().map(|reply| ReplyRow {
                says: reply.says,
                note: text(&reply.note),
                by: &reply.by,
                round: reply.round,
                at: moment(reply.at),
            }),
            resolution: finding.resolution.as_ref().map(|last| ResolutionRow {
                by: &last.by,
                role: last.role,
                note: text(&last.note),
                round: last.round,
                at: moment(last.at),
            }),
        }
    }
}

fn shown(place: &Location) -> String {
    match place.lines {
        Some(lines) if lines.start == lines.end => format!("{}:{}", place.file, lines.start),
        Some(lines) => format!("{}:{}-{}", place.file, lines.start, lines.end),
        None => place.file.clone(),
    }
}

/// Rows inside an answer about something else, as many as fit, the gravest first.
pub(super) fn some_of<'a>(review: &Review, findings: impl Iterator<Item = &'a Finding>) -> Vec<FindingRow<'a>> {
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|finding| (!finding.blocks(&review.policy), std::cmp::Reverse(finding.found.severity)));
    let mut room = MAX_CHARS;
    let fits = |row: &FindingRow<'_>| {
        let size = serde_json::to_string(row).map_or(usize::MAX, |text| text.len());
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    findings.into_iter().take(MAX_ROWS).map(|finding| FindingRow::in_review(review, finding)).take_while(fits).collect()
}

/// How many there are of each kind. Doubles are counted once; what was raised too late is not held against anybody.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Totals {
    pub open: BySeverity,
    pub fixed: usize,
    pub wont_fix: usize,
    pub duplicate: usize,
    /// Suggestions and late findings that are open.
    pub suggestions: usize,
    /// Open issues that keep approvals from being enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<String>,
    /// Open issues that the proposer has answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct BySeverity {
    pub critical: usize,
    pub high: usize,
    pub medium: usize,
    pub low: usize,
}

impl Totals {
    /// `None` where nothing was found: most answers need not say so.
    pub(super) fn of(review: &Review) -> Option<Self> {
        if review.findings.is_empty() {
            return None;
        }
        let all = || review.findings.iter().map(AsRef::as_ref);
        let is = |status| move |finding: &&Finding| finding.found.is_issue && finding.status == status;
        let open = |severity| all().filter(|f| f.is_open_issue() && f.found.severity == severity).count();
        let ids = |findings: &mut dyn Iterator<Item = &Finding>| findings.map(|f| f.number.to_string()).collect();
        Some(Self {
            open: BySeverity {
                critical: open(Severity::Critical),
                high: open(Severity::High),
                medium: open(Severity::Medium),
                low: open(Severity::Low),
            },
            fixed: all().filter(is(FindingStatus::Fixed)).count(),
            wont_fix: all().filter(is(FindingStatus::WontFix)).count(),
            duplicate: all().filter(is(FindingStatus::Duplicate)).count(),
            suggestions: all().filter(|f| f.status == FindingStatus::Open && !f.is_open_issue()).count(),
            blocking: ids(&mut review.blocking()),
            answered: ids(&mut all().filter(|f| f.is_open_issue() && f.reply.is_some())),
        })
    }
}

/// The answer of list_issues.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Issues<'a> {
    /// Newest first.
    pub issues: Vec<FindingRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<&'a str>,
}

/// The answer of update_issue.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct IssueUpdated<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<FindingRow<'a>>,
    /// Of the review, which settling an issue may change.
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub version: u64,
    pub consensus: Consensus<'a>,
    pub next: &'static str,
}

impl<'a> IssueUpdated<'a> {
    pub(in crate::mcp) fn of(review: &'a Review, number: FindingNumber) -> Self {
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            issue: review.finding(number).map(|finding| FindingRow::in_review(review, finding)),
            status: review.status,
            version: review.version,
            consensus: Consensus::of(review),
            next: next(review),
        }
    }
}

/// What a reviewer that looks again should know: it is not asked to read everything anew.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct ReReview<'a> {
    /// The round this persona last voted in: get_proposal(since_round=...) shows what changed since.
    pub since_round: u32,
    /// What it has found before and is still open, with where that stands now. Say of each with update_issue whether it
    /// is fixed, wont_fix or still open.
    pub issues: Vec<FindingRow<'a>>,
    pub hint: &'static str,
}

impl<'a> ReReview<'a> {
    pub(super) fn of(review: &'a Review, persona: &str) -> Option<Self> {
        let seat = review.seats.iter().find(|seat| seat.persona == persona)?;
        let reviewed = seat.reviewed.as_ref().filter(|reviewed| reviewed.round < review.round.number)?;
        let own = review.findings.iter().map(AsRef::as_ref);
        let own = own.filter(|finding| finding.persona == persona && finding.status == FindingStatus::Open);
        Some(Self {
            since_round: reviewed.round,
            issues: some_of(review, own),
            hint: "Read what changed with get_proposal(since_round=...) and the messages with get_discussion; check each of these issues; raise new ones only on lines that changed since, unless they are critical.",
        })
    }
}
