//! What is proposed, as much of it as one answer may hold.

use super::{
    DiffState, EffortTotals, IterationRow, SeatRow, TargetRow,
    findings::{FindingRow, Totals, some_of},
    moment, next,
};
use crate::mcp::schema;
use domain::{
    content::{Content, ContentHash},
    diff::{AffectedFile, Flag},
    finding::FindingStatus,
    ids::{ReviewId, VALIDATOR},
    priority::Priority,
    review::{Category, Decision, Review, ReviewTarget, Status},
    verdict::Verdict,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use store::VerdictRow;

const MAX_FILES: usize = 100;
const MAX_FLAGS: usize = 50;
const MAX_FILES_CHARS: usize = 12_000;
const MAX_FLAGS_CHARS: usize = 6_000;

/// What the diff touches.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Files<'a> {
    /// The first of them, where there are very many.
    #[schemars(schema_with = "affected_files")]
    pub affected_files: Vec<&'a AffectedFile>,
    /// How many files there are in all.
    pub affected_files_total: usize,
    /// What a reviewer should look at twice: symlinks, mode changes, agent or CI config, hidden characters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "flags")]
    pub flags: Vec<&'a Flag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags_total: Option<usize>,
    /// Why affected_files is empty although there is a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_note: Option<&'a str>,
}

impl<'a> Files<'a> {
    pub(in crate::mcp) fn of(content: &'a Content) -> Self {
        let flags = bounded(&content.flags, MAX_FLAGS, MAX_FLAGS_CHARS);
        Self {
            affected_files: bounded(&content.files, MAX_FILES, MAX_FILES_CHARS),
            affected_files_total: content.files.len(),
            flags_total: (flags.len() < content.flags.len()).then_some(content.flags.len()),
            flags,
            diff_note: content.diff_note.as_deref(),
        }
    }
}

/// As many of `items` as fit.
pub(super) fn bounded<T: Serialize>(items: &[T], max_items: usize, max_chars: usize) -> Vec<&T> {
    let mut room = max_chars;
    items
        .iter()
        .take(max_items)
        .take_while(|item| {
            let size = serde_json::to_string(item).map_or(usize::MAX, |text| text.len());
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .collect()
}

fn affected_files(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "old_path": { "type": "string" },
                "operation": { "type": "string", "description": "create, modify, delete, rename, copy or mode" },
                "added": { "type": "integer" },
                "removed": { "type": "integer" },
                "binary": { "type": "boolean" },
            },
            "required": ["path"],
        },
    })
}

fn flags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "kind": { "type": "string" },
                "path": { "type": "string" },
                "detail": { "type": "string" },
            },
        },
    })
}

/// What was said last of a round.
#[derive(Debug, Clone, Copy)]
pub(in crate::mcp) struct Ending<'a> {
    pub verdict: Verdict,
    pub reason: Option<&'a str>,
    by: &'a str,
}

impl<'a> Ending<'a> {
    /// Of the current round.
    pub(in crate::mcp) fn of_decision(decision: &'a Decision) -> Self {
        Self { verdict: decision.verdict, reason: decision.reason.as_deref(), by: &decision.by }
    }

    /// Of an earlier round.
    pub(in crate::mcp) fn of_vote(vote: &'a VerdictRow) -> Self {
        Self { verdict: vote.verdict, reason: vote.reason.as_deref(), by: &vote.by }
    }
}

/// What the first page of a proposal says beside the texts.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct About<'a> {
    pub intent: &'a str,
    pub agent_type: &'a str,
    pub agent_role: &'a str,
    pub phase: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::category")]
    pub category: Option<Category>,
    #[schemars(schema_with = "schema::priority")]
    pub priority: Priority,
    pub has_diff: bool,
    #[serde(flatten)]
    pub diff: DiffState<'a>,
    /// The branch, commit or range the diff was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow<'a>>,
    #[serde(flatten)]
    pub files: Files<'a>,
    /// Those of affected_files that the persona whose seat you hold does not look at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_files: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<&'a str>,
    pub claim_generation: u32,
    pub seats: Vec<SeatRow<'a>>,
    /// The last verdict on this round; its reason is verdict_reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::verdict")]
    pub verdict: Option<Verdict>,
    /// What all verdicts of the review took, as far as reviewers say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortTotals<'a>>,
    /// The verdicts of this round, newest first.
    pub iterations: Vec<IterationRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approved_hash: Option<&'a ContentHash>,
    pub auto_rejected: bool,
    pub escalate: bool,
    /// Open issues and suggestions, the gravest first, as many as fit; list_issues has all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_issues: Vec<FindingRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Totals>,
    pub created_at: String,
    pub updated_at: String,
    pub next: &'static str,
}

impl<'a> About<'a> {
    /// The content may be another than the active one: then git's facts, which are of that, are left out.
    pub(in crate::mcp) fn of(
        review: &'a Review,
        round: u32,
        hash: &ContentHash,
        content: &'a Content,
        ending: Option<Ending<'a>>,
        iterations: Vec<IterationRow<'a>>,
    ) -> Self {
        let proposer = &review.proposer;
        let is_current = round == review.round.number;
        let open = review.findings.iter().map(AsRef::as_ref).filter(|f| f.status == FindingStatus::Open);
        let diff = if is_current && *hash == review.round.content_hash {
            DiffState::of(review)
        } else {
            DiffState { base_commit: content.base_commit.as_deref(), ..DiffState::default() }
        };
        Self {
            intent: &content.intent,
            agent_type: &proposer.agent_type,
            agent_role: &proposer.agent_role,
            phase: &proposer.phase,
            plan: proposer.plan.as_deref(),
            task: proposer.task.as_deref(),
            project: proposer.project.as_deref(),
            proposer_id: proposer.proposer_id.as_deref(),
            category: review.category,
            priority: review.priority,
            has_diff: content.diff.is_some(),
            diff,
            target: None,
            files: Files::of(content),
            ignored_files: Vec::new(),
            claimed_by: review.claimed_by(),
            claim_generation: review.claim_generation,
            seats: review.seats.iter().map(SeatRow::of).collect(),
            verdict: ending.map(|ending| ending.verdict),
            effort: None,
            iterations,
            approved_hash: review.approved_hash.as_ref().filter(|_| is_current),
            auto_rejected: ending.is_some_and(|ending| ending.by == VALIDATOR)
                && (review.auto_rejected() || !is_current),
            escalate: review.escalated.is_some(),
            open_issues: some_of(review, open),
            issues: Totals::of(review),
            created_at: moment(review.created_at),
            updated_at: moment(review.updated_at),
            next: next(review),
        }
    }

    /// What the content shown was taken from.
    pub(in crate::mcp) fn with_target(self, target: Option<&'a ReviewTarget>) -> Self {
        Self { target: target.map(TargetRow::of), ..self }
    }
}

/// The answer of get_proposal: one page of description, diff, counter-patch and reason, in this
/// order, each text going on where the page before ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Proposal<'a> {
    #[schemars(with = "String")]
    pub review_id: ReviewId,
    /// The short number, R-12.
    pub number: String,
    #[schemars(schema_with = "schema::status")]
    pub status: Status,
    pub version: u64,
    /// The round shown here.
    pub round: u32,
    pub current_round: u32,
    /// The hash of the content shown here; give it back in submit_verdict.
    pub content_hash: &'a str,
    /// What the round was submitted with, where an accepted counter-patch has replaced it; content="submitted" shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_content_hash: Option<&'a str>,
    #[serde(flatten)]
    pub about: Option<About<'a>>,
    /// The round from which diff leads here; description is then given only where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_round: Option<u32>,
    /// What to know about that diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_note: Option<&'a str>,
    /// The path, where only one file was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
    /// This page's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    /// This page's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<&'a str>,
    /// The latest counter-patch of this round, or of the persona asked for, this page's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_patch: Option<&'a str>,
    /// pending, accepted, rejected or dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_patch_status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_patch_by: Option<&'a str>,
    /// The seat it was offered from; name it in accept_counter_patch where several have offered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_patch_persona: Option<&'a str>,
    /// Why the last verdict was given, this page's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict_reason: Option<&'a str>,
    /// Characters of all pages together.
    pub total: usize,
    /// Give it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
