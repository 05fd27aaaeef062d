//! A review's story, round by round.

use super::moment;
use crate::mcp::{page::cut, schema};
use domain::{
    finding::{FindingStatus, Severity},
    ids::ReviewId,
    review::{ClaimEndReason, Event, FindingRaised, FindingResolved, FindingUpdated, Review, Role, Status},
    verdict::{ReviewMetrics, Verdict},
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{LogEntry, TimelineRecord};

const TEXT_CHARS: usize = 2_000;
const MAX_FINDINGS: usize = 30;

/// The answer of get_review_timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Timeline<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub current_round: u32,
    pub created_at: String,
    pub updated_at: String,
    /// From the submission to the last that happened.
    pub took_ms: u64,
    /// Oldest first; a round that began on an earlier page goes on here.
    pub rounds: Vec<TimelineRound<'a>>,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct TimelineRound<'a> {
    pub round: u32,
    /// Oldest first.
    pub events: Vec<TimelineStep<'a>>,
}

impl<'a> Timeline<'a> {
    /// `all`: nothing comes after these steps.
    pub(in crate::mcp) fn of(review: &Review, steps: Vec<TimelineStep<'a>>, all: bool) -> Self {
        let last = steps.last().map(|step| step.version);
        let mut rounds = Vec::<TimelineRound<'a>>::new();
        for step in steps {
            match rounds.last_mut() {
                Some(round) if round.round == step.round => round.events.push(step),
                Some(_) | None => rounds.push(TimelineRound { round: step.round, events: vec![step] }),
            }
        }
        Self {
            review_id: review.id,
            number: review.number.to_string(),
            status: review.status,
            current_round: review.round.number,
            created_at: moment(review.created_at),
            updated_at: moment(review.updated_at),
            took_ms: between(review.created_at.0, review.updated_at.0),
            rounds,
            next_cursor: last.filter(|_| !all).map(|version| version.to_string()),
        }
    }
}

/// One event. What it has not to do with is absent.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(in crate::mcp) struct TimelineStep<'a> {
    /// The review's version after it.
    pub version: u64,
    pub at: String,
    /// Since the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    #[schemars(schema_with = "schema::log_kind")]
    pub kind: &'static str,
    /// Who made it happen; absent where the broker did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<&'a str>,
    /// The review's status after it.
    #[schemars(schema_with = "schema::status")]
    pub status: &'static str,
    #[serde(skip)]
    round: u32,
    /// Whose seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_generation: Option<u32>,
    /// From the claim to this verdict, or to its end without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// Why a claim ended without a vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::reclaimed")]
    pub ended: Option<ClaimEndReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
    /// Of a verdict, a cancellation or the end of a claim; git's words where the diff did not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it took, as far as the reviewer said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metrics: Option<&'a ReviewMetrics>,
    /// Offered, accepted or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_patch: Option<&'static str>,
    /// A person is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::role")]
    pub sender_role: Option<Role>,
    /// A message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Issues and suggestions that came with a verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedRow<'a>>,
    /// Issues that this settled or opened again, and what was said of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettledRow>,
    /// What was said of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct RaisedRow<'a> {
    /// I-41.
    pub issue_id: String,
    #[schemars(schema_with = "schema::severity")]
    pub severity: Severity,
    pub title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_start: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_suggestion: Option<bool>,
    /// It had been said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct SettledRow {
    pub issue_id: String,
    /// What became of it; absent where its reviewer has yet to agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::finding_status")]
    pub status: Option<FindingStatus>,
    /// What was said of it: open, fixed, wont_fix, duplicate or disputed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<&'static str>,
}

impl<'a> TimelineStep<'a> {
    pub(in crate::mcp) fn of(record: &'a TimelineRecord) -> Self {
        let event = &record.event;
        let head = Self {
            version: event.review().map_or(0, |(.., version)| version),
            at: moment(event.at),
            after_ms: record.previous_at.map(|previous| between(previous.0, event.at.0)),
            kind: event.kind().as_str(),
            actor: event.actor.as_deref(),
            status: event.status.map_or("", |status| status.as_str()),
            round: event.round.unwrap_or_default(),
            held_ms: record.claimed_at.map(|claimed| between(claimed.0, event.at.0)),
            ..Self::default()
        };
        match &event.entry {
            LogEntry::Review { recorded, .. } => head.with(&recorded.event),
            LogEntry::Pool(_) => head,
        }
    }

    fn with(self, event: &'a Event) -> Self {
        match event {
            Event::Proposed(proposed) => self.submitted(&proposed.round),
            Event::Revised { round, .. } => self.submitted(round),
            Event::Claimed { persona, generation, .. } => {
                Self { persona: Some(persona), claim_generation: Some(*generation), ..self }
            }
            Event::AutoRejected { words, .. } => Self { reason: Some(text(words)), ..self },
            Event::ClaimEnded { persona, reason, detail, .. } => {
                Self { persona: Some(persona), ended: Some(*reason), reason: detail.as_deref().map(text), ..self }
            }
            Event::ReservationEnded { persona, .. } => Self { persona: Some(persona), ..self },
            Event::VerdictGiven { .. } => self.voted(event),
            Event::FindingUpdated(updated) => {
                Self { settled: vec![SettledRow::said(updated)], note: updated.note.as_deref().map(text), ..self }
            }
            Event::MessageAdded { persona, role, body, .. } => {
                Self { persona: Some(persona), sender_role: Some(*role), body: Some(text(body)), ..self }
            }
            Event::CounterPatchAccepted { persona, content_hash, .. } => {
                let content_hash = Some(content_hash.0.as_str());
                Self { persona: Some(persona), counter_patch: Some("accepted"), content_hash, ..self }
            }
            Event::CounterPatchRejected { persona, .. } => {
                Self { persona: Some(persona), counter_patch: Some("rejected"), ..self }
            }
            Event::Cancelled { reason, .. } => Self { reason: Some(text(reason)), ..self },
            Event::Closed { .. } => self,
        }
    }

    fn submitted(self, round: &'a domain::review::Round) -> Self {
        Self { intent: Some(text(&round.intent)), content_hash: Some(&round.content_hash.0), ..self }
    }

    fn voted(self, event: &'a Event) -> Self {
        let Event::VerdictGiven { persona, generation, verdict, reason, summary, metrics, findings, settles, .. } =
            event
        else {
            return self;
        };
        let Event::VerdictGiven { offers_patch, escalate, .. } = event else { return self };
        Self {
            persona: Some(persona),
            claim_generation: Some(*generation),
            verdict: Some(*verdict),
            reason: reason.as_deref().map(text),
            summary: summary.as_deref().map(text),
            metrics: metrics.as_ref(),
            counter_patch: offers_patch.then_some("offered"),
            escalate: escalate.then_some(true),
            raised: findings.iter().take(MAX_FINDINGS).map(RaisedRow::of).collect(),
            settled: settles.iter().map(SettledRow::of).collect(),
            ..self
        }
    }
}

impl<'a> RaisedRow<'a> {
    fn of(raised: &'a FindingRaised) -> Self {
        let place = raised.found.place.as_ref();
        Self {
            issue_id: raised.number.to_string(),
            severity: raised.found.severity,
            title: &raised.found.title,
            file: place.map(|place| place.file.as_str()),
            line_start: place.and_then(|place| place.lines).map(|lines| lines.start),
            is_suggestion: (!raised.found.is_issue).then_some(true),
            duplicate_of: raised.double.map(|double| double.of.to_string()),
        }
    }
}

impl SettledRow {
    fn of(settled: &FindingResolved) -> Self {
        Self { issue_id: settled.number.to_string(), status: Some(settled.status), said: None }
    }

    fn said(updated: &FindingUpdated) -> Self {
        let status = FindingStatus::parse(updated.wish.as_str()).filter(|_| updated.settles);
        Self { issue_id: updated.number.to_string(), status, said: Some(updated.wish.as_str()) }
    }
}

fn text(full: &str) -> String {
    match cut(full, TEXT_CHARS) {
        (all, None) => all.to_owned(),
        (start, Some(total)) => format!("{start}… [{TEXT_CHARS} of {total} characters]"),
    }
}

fn between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
