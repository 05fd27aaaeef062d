//! Parses a verdict from the front matter (YAML block at the start) of a message, for clients that can write messages
//! but not call tools. Off by default, because a text that a reviewer is made to repeat could then act as its verdict.

use domain::identity::is_same_identity;
use domain::{
    finding::{NewFinding, RawFinding, validate_findings},
    review::{Review, Seat},
    verdict::{Verdict, VerdictRequest},
};
use serde::Deserialize;

/// A longer block is not treated as front matter.
const MAX_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
struct Block {
    review_id: String,
    decision: String,
    /// The round that the reviewer has read.
    iteration: Option<u32>,
    /// A persona or a reviewer_id; it must be the sender's own.
    reviewer: Option<String>,
    summary: Option<String>,
    #[serde(default)]
    issues: Listed,
    #[serde(default)]
    suggestions: Listed,
}

/// The findings, or only their number, as an older protocol writes it.
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

impl Listed {
    fn findings(self) -> Option<Vec<RawFinding>> {
        match self {
            Self::Findings(findings) => Some(findings),
            Self::Count(_) => None,
        }
    }
}

/// The verdict in a message of the reviewer that holds `seat`; `None` for an ordinary message. A block that has a
/// `decision` but is invalid is an error, because it was meant as a verdict.
pub(crate) fn verdict_in(
    body: &str,
    review: &Review,
    seat: &Seat,
) -> Option<Result<(VerdictRequest, Vec<NewFinding>), String>> {
    let claim = seat.claim.as_ref()?;
    let (block, rest) = split(body)?;
    if !block.lines().any(|line| line.starts_with("decision:")) {
        return None;
    }
    let read = || {
        let block: Block = serde_saphyr::from_str(block).map_err(|error| short(&error.to_string()))?;
        check(&block, review, seat)?;
        let findings = validate_findings(block.issues.findings(), block.suggestions.findings());
        let findings = findings.map_err(|bad| bad.to_string())?;
        let verdict = Verdict::parse(&block.decision).ok_or_else(|| {
            let allowed: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
            format!("decision {:?} is not known; allowed: {}", short(&block.decision), allowed.join(", "))
        })?;
        let said = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(Into::into);
        let request = VerdictRequest {
            reviewer_id: Some(claim.by.clone()),
            claim_generation: Some(claim.generation),
            content_hash: Some(review.round.content_hash.0.clone()),
            reason: said.or_else(|| block.summary.clone().filter(|_| verdict.needs_reason())),
            summary: block.summary,
            ..VerdictRequest::new(review.id.to_string(), verdict)
        };
        Ok((request, findings))
    };
    Some(read())
}

/// The block between a first line `---` and the next line `---`, and the rest.
fn split(body: &str) -> Option<(&str, &str)> {
    let after = body.strip_prefix("---\n").or_else(|| body.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in after.split_inclusive('\n') {
        if line.trim_end_matches(['\r', '\n']) == "---" {
            return Some((&after[..at], &after[at + line.len()..]));
        }
        at += line.len();
        if at > MAX_BYTES {
            return None;
        }
    }
    None
}

/// Checks that the block names this review, round and reviewer.
fn check(block: &Block, review: &Review, seat: &Seat) -> Result<(), String> {
    let named = block.review_id.trim();
    if !named.eq_ignore_ascii_case(&review.id.to_string()) && !named.eq_ignore_ascii_case(&review.number.to_string()) {
        return Err(format!("review_id is {:?}; this is {}", short(named), review.number));
    }
    if let Some(iteration) = block.iteration.filter(|iteration| *iteration != review.round.number) {
        return Err(format!("iteration is {iteration}; the current round is {}", review.round.number));
    }
    let holder = seat.claim.as_ref().map(|claim| claim.by.as_str());
    if let Some(other) = block
        .reviewer
        .as_deref()
        .filter(|name| *name != seat.persona && !holder.is_some_and(|holder| is_same_identity(holder, name)))
    {
        return Err(format!("reviewer is {:?}; you hold the seat {}", short(other), seat.persona));
    }
    Ok(())
}

fn short(text: &str) -> String {
    domain::text::truncate(text, 200).to_owned()
}

#[cfg(test)]
#[path = "verdict_in_message_tests.rs"]
mod tests;
