//! Request and response types for reading a proposal, page by page.

pub use domain::query_types::{Iteration, ReviewerEffort};

use crate::{
    diffs::{DiffState, Files, Target},
    issues::Issue,
    reviews::{ReviewHead, ReviewState},
};
use domain::{
    content::{Content, ContentHash},
    finding::FindingStatus,
    ids::VALIDATOR,
    review::{Review, ReviewTarget},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Arguments of get_proposal and of the routes that return a diff or a patch.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProposalRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// An earlier round. Default: the current round.
    #[schemars(range(min = 1))]
    pub round: Option<u32>,
    /// Only this file's part of the diff.
    pub file: Option<String>,
    /// "submitted": the content before a counter-patch was accepted. Default "active".
    pub content: Option<ContentChoice>,
    /// Only what changed since this earlier round.
    #[schemars(range(min = 1))]
    pub since_round: Option<u32>,
    /// Refuse (stale_content) if the content has another hash.
    pub content_hash: Option<ContentHash>,
    /// The seat whose counter-patch to show. Default: the latest.
    pub persona: Option<String>,
    /// Only the whole reason of this verdict: its version in get_review_timeline.
    pub verdict: Option<u64>,
    /// The next_cursor of the previous page, with unchanged other arguments.
    pub cursor: Option<String>,
    /// The review as it was after this event: its version in get_review_timeline. Default: as it is now.
    #[schemars(range(min = 1))]
    pub at: Option<u64>,
    /// Leave out this many of affected_files: the next_files_from of the previous response.
    pub files_from: Option<usize>,
    /// Your own id. Optional.
    pub caller_id: Option<String>,
}

/// Which content of a round. The two differ after a counter-patch was accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentChoice {
    #[default]
    Active,
    Submitted,
}

/// Response of get_proposal: one page of description, diff, counter-patch and verdict reason, in this order. Each text
/// continues where the previous page ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProposalResponse {
    #[serde(flatten)]
    pub head: ReviewHead,
    /// The round of this content.
    pub round: u32,
    /// The hash of this content. Pass it to submit_verdict.
    pub content_hash: ContentHash,
    /// The content that the round was submitted with, if an accepted counter-patch replaced it. content="submitted"
    /// returns it.
    pub submitted_content_hash: Option<ContentHash>,
    #[serde(flatten)]
    pub details: Option<ProposalDetails>,
    /// The round that diff starts from. description is then present only if it changed.
    pub since_round: Option<u32>,
    /// A remark about that diff.
    pub since_note: Option<String>,
    /// The path, if only one file was requested.
    pub file: Option<String>,
    /// This page's part of the description.
    pub description: Option<String>,
    /// This page's part of the diff.
    pub diff: Option<String>,
    /// This page's part of the latest counter-patch of the round, or of the requested persona's.
    pub counter_patch: Option<String>,
    /// pending, accepted, rejected or dropped.
    pub counter_patch_status: Option<String>,
    pub counter_patch_by: Option<String>,
    /// The seat that offered it. Name it in accept_counter_patch if several seats offered one.
    pub counter_patch_persona: Option<String>,
    /// This page's part of the reason of the last verdict, or of the requested one.
    pub verdict_reason: Option<String>,
    /// Characters of all pages together.
    pub total: usize,
    /// Pass it as `cursor` for the next page. Absent on the last page.
    pub next_cursor: Option<String>,
}

/// What the first page of a proposal says beside its texts.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProposalDetails {
    #[serde(flatten)]
    pub state: ReviewState,
    #[serde(flatten)]
    pub files: Files,
    /// The affected files that the persona of your seat does not review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_files: Vec<String>,
    /// Effort of all verdicts of the review, as far as reviewers report it.
    pub effort: Option<Effort>,
    /// The verdicts of this round, newest first.
    pub iterations: Vec<Iteration>,
    /// Open issues and suggestions, the most severe first, as many as fit. list_issues returns all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_issues: Vec<Issue>,
}

impl ProposalDetails {
    /// Describes `content` of `round`. `verdict` is the last verdict of that round and who gave it. If the content is
    /// not the active one, git's facts, which belong to the active content, are left out.
    pub fn new(
        review: &Review,
        round: u32,
        hash: &ContentHash,
        content: &Content,
        verdict: Option<(Verdict, &str)>,
        target: Option<&ReviewTarget>,
    ) -> Self {
        let is_current = round == review.round.number;
        let open = review.findings.iter().map(AsRef::as_ref).filter(|f| f.status == FindingStatus::Open);
        let diff = if is_current && *hash == review.round.content_hash {
            DiffState::new(review, 0)
        } else {
            DiffState { base_commit: content.base_commit.clone(), ..DiffState::default() }
        };
        let target = target.map(|target| Target::with_commits(target, usize::MAX));
        Self {
            state: ReviewState {
                intent: content.intent.clone(),
                verdict: verdict.map(|(verdict, _)| verdict),
                approved_hash: review.approved_hash.clone().filter(|_| is_current),
                diff: DiffState { has_diff: content.diff.is_some(), target, ..diff },
                auto_rejected: verdict.is_some_and(|(_, by)| by == VALIDATOR)
                    && (review.auto_rejected() || !is_current),
                ..review.into()
            },
            files: content.into(),
            ignored_files: Vec::new(),
            effort: None,
            iterations: Vec::new(),
            open_issues: Issue::most_severe(review, open),
        }
    }
}

/// Effort of a review, in total and by reviewer and round.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Effort {
    pub verdicts: u64,
    pub duration_ms: u64,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The latest rows if there are very many.
    pub by_reviewer: Vec<ReviewerEffort>,
}

impl Effort {
    /// The sum of `rows`, with the latest of them. `None` without rows.
    pub fn total(rows: Vec<ReviewerEffort>) -> Option<Self> {
        const MAX_ROWS: usize = 50;
        if rows.is_empty() {
            return None;
        }
        let sum = |count: fn(&ReviewerEffort) -> u64| rows.iter().map(count).fold(0, u64::saturating_add);
        let older = rows.len().saturating_sub(MAX_ROWS);
        Some(Self {
            verdicts: sum(|row| row.verdicts),
            duration_ms: sum(|row| row.duration_ms),
            cost_usd: rows.iter().map(|row| row.cost_usd).sum(),
            input_tokens: sum(|row| row.input_tokens),
            output_tokens: sum(|row| row.output_tokens),
            by_reviewer: rows.into_iter().skip(older).collect(),
        })
    }
}
