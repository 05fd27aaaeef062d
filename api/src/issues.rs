//! Request and response types for listing and updating the findings of reviews (issues and suggestions).

use crate::{
    consensus::Consensus,
    next_step::next_step,
    reviews::ReviewHead,
    truncation::{excerpt, fitting},
};
use domain::{
    credential::Authority,
    finding::{
        AnchorState, Finding, FindingKind, FindingNumber, FindingStatus, Grounding, Lines, LocatedText, Location,
        ProposerReply, RequestedStatus, Resolution, Severity,
    },
    ids::{ReviewId, ReviewNumber},
    query_types::FindingGroupBy,
    review::{AnchoredText, DiffSide, Review, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::{borrow::Cow, cmp::Reverse};

/// Limits of a list of issues inside a response about something else.
const MAX_ROWS: usize = 30;
const MAX_BYTES: usize = 8_000;

#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListIssuesRequest {
    /// Only issues of this review. Default: of all reviews.
    pub review_id: Option<String>,
    /// Only this issue, for example I-41.
    pub issue_id: Option<String>,
    /// Only issues with this status. Default: all.
    pub status: Option<FindingStatus>,
    /// Only issues of this severity.
    pub severity: Option<Severity>,
    /// Only issues on this file, by the path they were raised on.
    pub file: Option<String>,
    /// Only issues of this persona.
    pub persona: Option<String>,
    /// Include suggestions. Default false.
    pub include_suggestions: Option<bool>,
    /// Only issues with one of these statuses. Not allowed with status.
    pub statuses: Option<Vec<FindingStatus>>,
    /// Only issues of one of these severities. Not allowed with severity.
    pub severities: Option<Vec<Severity>>,
    /// Only issues of this type.
    #[serde(rename = "type")]
    pub kind: Option<FindingKind>,
    /// Whether it blocks an approval.
    pub blocks: Option<bool>,
    /// Only issues of reviews that are neither cancelled nor closed. Default false.
    pub open_reviews: Option<bool>,
    /// Only issues that name no file. Default false.
    pub without_file: Option<bool>,
    /// Only issues of this project.
    pub project: Option<String>,
    /// Only issues that this reviewer has raised.
    pub reviewer: Option<String>,
    /// Only issues that contain all these words; the last may be the beginning of one. The newest 1,000 are looked at.
    pub q: Option<String>,
    /// "blocking": open ones of open reviews first, then those that block, then by severity. Default "newest".
    pub order: Option<IssueOrder>,
    /// Maximum number of rows. Default 50.
    #[schemars(range(min = 1))]
    pub limit: Option<u32>,
    /// The next_cursor of the previous page.
    pub cursor: Option<String>,
    /// Your own id. With review_id it renews your claim of that review.
    pub caller_id: Option<String>,
    /// With review_id: the issues as they were after this event of the review, its version in get_review_timeline.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
}

/// The order of a list of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueOrder {
    Newest,
    Blocking,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CountIssuesRequest {
    /// What the issues of a group have in common.
    pub group_by: FindingGroupBy,
    #[serde(flatten)]
    pub filter: ListIssuesRequest,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CountIssuesResponse {
    pub group_by: FindingGroupBy,
    /// The groups with the most blocking, then the most severe open issues first.
    pub groups: Vec<IssueGroup>,
    /// Groups that are left out.
    pub more_groups: Option<usize>,
    /// True if there are so many issues that only the first 10,000 were counted, or with q the newest 1,000.
    pub partial: Option<bool>,
    /// True while the broker still indexes its log after an update, so that the newest issues may be missing.
    pub indexing: Option<bool>,
}

/// The counts of a group of issues.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IssueGroup {
    /// The file, severity, persona, reviewer, review, status, type or project. Empty: none.
    pub group: String,
    /// The start of the intent, if the group is a review.
    pub intent: Option<String>,
    pub issues: u64,
    pub open: u64,
    /// Open issues that block an approval.
    pub blocking: u64,
    pub open_by_severity: OpenBySeverity,
}

impl IssueGroup {
    /// `open` are the open issues of each severity.
    pub fn new(group: String, (issues, open, blocking): (u64, u64, u64), by_severity: &[(Severity, u64)]) -> Self {
        let of = |wanted| {
            let found = by_severity.iter().find(|(severity, _)| *severity == wanted);
            found.and_then(|(_, count)| usize::try_from(*count).ok()).unwrap_or_default()
        };
        let open_by_severity = OpenBySeverity {
            critical: of(Severity::Critical),
            high: of(Severity::High),
            medium: of(Severity::Medium),
            low: of(Severity::Low),
        };
        Self { group, intent: None, issues, open, blocking, open_by_severity }
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListIssuesResponse {
    /// Newest first, or in the order that was asked for.
    pub issues: Vec<Issue>,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
    /// True while the broker still indexes an older database: with q, blocks, open_reviews, type, reviewer or an order,
    /// issues may be missing.
    pub indexing: Option<bool>,
}

/// An issue or a suggestion.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    /// The id for update_issue, for example I-41.
    pub issue_id: String,
    /// The review, in a list over several reviews.
    pub review_id: Option<ReviewId>,
    /// The number of the review, in a list over several reviews.
    pub number: Option<ReviewNumber>,
    /// The status of the review, in a list in the order "blocking".
    pub review_status: Option<Status>,
    /// The start of the review's intent, likewise.
    pub review_intent: Option<String>,
    /// True for a suggestion, which never blocks.
    pub is_suggestion: Option<bool>,
    #[serde(rename = "type")]
    pub kind: FindingKind,
    pub severity: Severity,
    pub status: FindingStatus,
    pub title: String,
    pub description: Option<String>,
    /// The location in the current content, or where the issue was raised if that is unknown.
    pub file: Option<String>,
    /// "old" if the lines are counted in the file before the change. Absent for the file after it.
    pub side: Option<DiffSide>,
    /// "description" if the lines are counted in the description. Absent for a file.
    #[serde(rename = "in")]
    pub text: Option<AnchoredText>,
    pub line_start: Option<u32>,
    pub line_end: Option<u32>,
    /// What became of its lines since it was raised: exact (unchanged), moved, modified or gone. Absent if unknown.
    pub anchor: Option<AnchorState>,
    /// Where it was raised, if that differs from where it is now.
    pub raised_at: Option<String>,
    /// Its lines were changed as it suggests; its reviewer has to confirm that it is fixed.
    pub likely_fixed: Option<bool>,
    pub code_snippet: Option<String>,
    pub suggestion: Option<String>,
    pub rule_ref: Option<String>,
    pub confidence: Option<f64>,
    /// "grounded", "ungrounded" (the file, lines or quote were not found) or "unchecked".
    pub grounding: Cow<'static, str>,
    /// What was not found, or what the broker corrected.
    pub grounding_note: Option<String>,
    pub persona: String,
    pub reviewer_id: String,
    /// The verdict that raised it. It is verdict_id of one of the review's iterations.
    pub verdict_id: u64,
    pub round: u32,
    pub created_at: jiff::Timestamp,
    /// True if it blocks approval.
    pub blocks: Option<bool>,
    pub duplicate_of: Option<String>,
    /// How often it was raised again.
    pub repeated: Option<u32>,
    /// Raised in a later round on lines that had not changed, so it does not hold the change up.
    pub late: Option<bool>,
    /// It was fixed and came back, or it asks to undo what another issue asked for.
    pub oscillating: Option<bool>,
    /// The proposer's response, which its reviewer has not answered yet.
    pub proposer_says: Option<ProposerReply>,
    /// Who last changed its status.
    pub resolution: Option<Resolution>,
}

impl Issue {
    /// For a list over several reviews.
    pub fn with_review(finding: &Finding, review_id: ReviewId, number: ReviewNumber) -> Self {
        Self { review_id: Some(review_id), number: Some(number), ..Self::from(finding) }
    }

    pub fn in_review(review: &Review, finding: &Finding) -> Self {
        Self { blocks: finding.blocks(&review.policy).then_some(true), ..Self::from(finding) }
    }

    /// `None` if it is about the whole proposal.
    pub fn location(&self) -> Option<Location> {
        let text = match (self.text.unwrap_or_default(), &self.file) {
            (AnchoredText::Description, _) => LocatedText::Description,
            (AnchoredText::Diff, Some(file)) => {
                LocatedText::File { path: file.clone(), side: self.side.unwrap_or_default() }
            }
            (AnchoredText::Diff, None) => return None,
        };
        let lines = self.line_start.map(|start| Lines { start, end: self.line_end.unwrap_or(start) });
        Some(Location { text, lines })
    }

    /// As many `findings` as fit into a response about something else, the most severe first.
    pub(crate) fn most_severe<'a>(review: &Review, findings: impl Iterator<Item = &'a Finding>) -> Vec<Self> {
        let mut findings: Vec<_> = findings.collect();
        findings.sort_by_key(|finding| (!finding.blocks(&review.policy), Reverse(finding.found.severity)));
        fitting(findings.into_iter().map(|finding| Self::in_review(review, finding)), MAX_ROWS, MAX_BYTES)
    }
}

impl From<&Finding> for Issue {
    fn from(finding: &Finding) -> Self {
        let found = &finding.found;
        let location = finding.location().or(found.location.as_ref());
        let lines = location.and_then(|location| location.lines);
        let raised = found.location.as_ref().filter(|raised| location != Some(raised));
        let anchor = finding.anchor.as_ref();
        let (grounding, grounding_note) = match &finding.grounding {
            Grounding::Grounded { note } => ("grounded", note.clone()),
            Grounding::Ungrounded { why } => ("ungrounded", Some(why.clone())),
            Grounding::Unchecked { why } => ("unchecked", Some(why.clone())),
        };
        let text = |text: &Option<String>| text.as_deref().map(excerpt);
        Self {
            issue_id: finding.number.to_string(),
            review_id: None,
            number: None,
            review_status: None,
            review_intent: None,
            is_suggestion: (!found.is_issue).then_some(true),
            kind: found.kind,
            severity: found.severity,
            status: finding.status,
            title: found.title.clone(),
            description: text(&found.description),
            file: location.and_then(Location::file).map(str::to_owned),
            side: location.and_then(Location::old_side),
            text: location.and_then(Location::other_text),
            line_start: lines.map(|lines| lines.start),
            line_end: lines.map(|lines| lines.end),
            anchor: anchor.map(|anchor| anchor.state),
            raised_at: raised.map(ToString::to_string),
            likely_fixed: anchor.and_then(|anchor| anchor.likely_fixed.then_some(true)),
            code_snippet: text(&found.code_snippet),
            suggestion: text(&found.suggestion),
            rule_ref: found.rule_ref.clone(),
            confidence: found.confidence.map(|percent| f64::from(percent) / 100.0),
            grounding: grounding.into(),
            grounding_note,
            persona: finding.persona.clone(),
            reviewer_id: finding.by.clone(),
            verdict_id: finding.verdict_id,
            round: finding.round,
            created_at: finding.at.into(),
            blocks: None,
            duplicate_of: finding.duplicate_of.map(|first| first.to_string()),
            repeated: (finding.repeated > 0).then_some(finding.repeated),
            late: finding.late.then_some(true),
            oscillating: finding.oscillating.then_some(true),
            proposer_says: finding.reply.clone().map(|reply| ProposerReply { note: text(&reply.note), ..reply }),
            resolution: finding.resolution.clone().map(|last| Resolution { note: text(&last.note), ..last }),
        }
    }
}

/// Counts of a review's issues. Duplicates are counted once; late findings count as suggestions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IssueTotals {
    pub open: OpenBySeverity,
    pub fixed: usize,
    pub wont_fix: usize,
    pub duplicate: usize,
    /// Open suggestions and late findings.
    pub suggestions: usize,
    /// Open issues that block approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocking: Vec<String>,
    /// Open issues that the proposer has responded to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
}

/// Counts of open issues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenBySeverity {
    pub critical: usize,
    pub high: usize,
    pub medium: usize,
    pub low: usize,
}

impl IssueTotals {
    /// `None` without any findings.
    pub fn of_review(review: &Review) -> Option<Self> {
        if review.findings.is_empty() {
            return None;
        }
        let all = || review.findings.iter().map(AsRef::as_ref);
        let is = |status| move |finding: &&Finding| finding.found.is_issue && finding.status == status;
        let open = |severity| all().filter(|f| f.is_open_issue() && f.found.severity == severity).count();
        let ids = |findings: &mut dyn Iterator<Item = &Finding>| findings.map(|f| f.number.to_string()).collect();
        Some(Self {
            open: OpenBySeverity {
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

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UpdateIssueRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// The issue, for example I-41.
    pub issue_id: String,
    /// Its reviewer, or an operator: open (confirm or reopen), fixed, wont_fix (withdraw) or duplicate. Proposer: fixed,
    /// wont_fix or disputed.
    pub status: RequestedStatus,
    /// The reason. A proposer must give one for "disputed" and "wont_fix".
    pub note: Option<String>,
    /// With "duplicate": the issue of this review that it repeats.
    pub duplicate_of: Option<String>,
    /// The role you act in.
    pub role: Option<Authority>,
    /// Your own id. A reviewer gives the id that holds the seat.
    pub caller_id: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UpdateIssueResponse {
    /// The review, whose status and turns an issue may change.
    #[serde(flatten)]
    pub head: ReviewHead,
    pub issue: Option<Issue>,
    pub consensus: Consensus,
    /// What to do next.
    pub next: Cow<'static, str>,
}

impl UpdateIssueResponse {
    pub fn new(review: &Review, number: FindingNumber) -> Self {
        Self {
            head: review.into(),
            issue: review.finding(number).map(|finding| Issue::in_review(review, finding)),
            consensus: review.into(),
            next: next_step(review),
        }
    }
}
