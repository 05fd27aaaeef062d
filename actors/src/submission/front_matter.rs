//! A reviewer's message that begins with its decision, for clients that can write messages but call no verdict tool.
//! Off unless a persona's settings turn it on: whoever can make a reviewer repeat a text could speak through it.

use crate::requests::VerdictRequest;
use domain::{
    finding::{NewFinding, RawFinding},
    review::{Review, Seat},
    verdict::Verdict,
};
use serde::Deserialize;

/// A longer block is no front matter but somebody's attempt at something else.
const MAX_BYTES: usize = 64 << 10;

/// The block at the very beginning of a message, and what follows it.
struct Parts<'a> {
    block: &'a str,
    rest: &'a str,
}

#[derive(Deserialize)]
struct Block {
    review_id: String,
    decision: String,
    /// The round that was read.
    iteration: Option<u32>,
    /// A persona or a reviewer_id; either must be the speaker's own.
    reviewer: Option<String>,
    summary: Option<String>,
    #[serde(default)]
    issues: Listed,
    #[serde(default)]
    suggestions: Listed,
}

/// The findings, or, as an older protocol has it, only how many there are.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Findings(Vec<RawFinding>),
    Count(#[expect(dead_code, reason = "it only has to be read")] u64),
}

impl Default for Listed {
    fn default() -> Self {
        Self::Findings(Vec::new())
    }
}

/// The verdict that a message of whoever holds `seat` stands for; `None` where it is a message like any other. What
/// begins like a decision and is none is told, because it was meant as one.
pub(crate) fn verdict_in(body: &str, review: &Review, seat: &Seat) -> Option<Result<VerdictRequest, String>> {
    let claim = seat.claim.as_ref()?;
    let Parts { block, rest } = parts(body)?;
    if !block.lines().any(|line| line.starts_with("decision:")) {
        return None;
    }
    let read = || {
        let block: Block = serde_saphyr::from_str(block).map_err(|error| short(&error.to_string()))?;
        let findings = checked(&block, review, seat)?;
        let verdict = Verdict::parse(&block.decision).ok_or_else(|| {
            let allowed: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
            format!("decision {:?} is not known; allowed: {}", short(&block.decision), allowed.join(", "))
        })?;
        let said = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(Into::into);
        Ok(VerdictRequest {
            reviewer_id: Some(claim.by.clone()),
            claim_generation: Some(claim.generation),
            content_hash: Some(review.round.content_hash.0.clone()),
            verdict,
            reason: said.or_else(|| block.summary.clone().filter(|_| verdict.needs_reason())),
            summary: block.summary,
            metrics: None,
            counter_patch: None,
            findings,
        })
    };
    Some(read())
}

/// Splits off the block: `---` as the very first line, and the next line that is nothing else ends it.
fn parts(body: &str) -> Option<Parts<'_>> {
    let after = body.strip_prefix("---\n").or_else(|| body.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in after.split_inclusive('\n') {
        if line.trim_end_matches(['\r', '\n']) == "---" {
            return Some(Parts { block: &after[..at], rest: &after[at + line.len()..] });
        }
        at += line.len();
        if at > MAX_BYTES {
            return None;
        }
    }
    None
}

/// That it is about this review, this round and this reviewer; and what was found.
fn checked(block: &Block, review: &Review, seat: &Seat) -> Result<Vec<NewFinding>, String> {
    let named = block.review_id.trim();
    if !named.eq_ignore_ascii_case(&review.id.to_string()) && !named.eq_ignore_ascii_case(&review.number.to_string()) {
        return Err(format!("review_id is {:?}; this is {}", short(named), review.number));
    }
    if let Some(iteration) = block.iteration.filter(|iteration| *iteration != review.round.number) {
        return Err(format!("iteration is {iteration}; the current round is {}", review.round.number));
    }
    let holder = seat.claim.as_ref().map(|claim| claim.by.as_str());
    if let Some(other) = block.reviewer.as_deref().filter(|name| *name != seat.persona && Some(*name) != holder) {
        return Err(format!("reviewer is {:?}; you hold the seat {}", short(other), seat.persona));
    }
    let issues = findings("issues", &block.issues, true)?;
    Ok(issues.into_iter().chain(findings("suggestions", &block.suggestions, false)?).collect())
}

fn findings(list: &str, listed: &Listed, is_issue: bool) -> Result<Vec<NewFinding>, String> {
    let Listed::Findings(told) = listed else { return Ok(Vec::new()) };
    let read =
        |(n, told): (usize, &RawFinding)| told.clone().read(is_issue).map_err(|bad| format!("{list}[{n}].{bad}"));
    told.iter().enumerate().map(read).collect()
}

fn short(text: &str) -> String {
    domain::text::truncate(text, 200).to_owned()
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
