//! Computes the `next` field of responses from [`waiting_on`]: what each party that must act can call now.

use domain::{
    credential::Authority,
    review::{Review, Status},
    waiting_on::{Turn, TurnReason, TurnTool, waiting_on},
};
use std::borrow::Cow;

/// A sentence for each party that must act, which is what a model needs most.
pub fn next_step(review: &Review) -> Cow<'static, str> {
    let turns = waiting_on(review);
    let mut sentences: Vec<&'static str> = Vec::new();
    for sentence in turns.iter().map(|turn| sentence(review, turn)) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let waits_for_proposer = turns.iter().any(|turn| turn.who == Authority::Proposer);
    if turns.is_empty() {
        sentences.push("Closed. A further change needs a new proposal with create_review.");
    } else if !waits_for_proposer {
        sentences.push("The proposer waits with get_review_status(wait=true).");
    }
    match sentences.as_slice() {
        [only] => Cow::Borrowed(only),
        several => Cow::Owned(several.join(" ")),
    }
}

fn sentence(review: &Review, turn: &Turn) -> &'static str {
    let is_panel = review.seats.len() > 1;
    match (turn.who, turn.tool) {
        (Authority::Operator, _) => {
            "Escalated (escalate_why): an operator looks at the review and writes with add_message(sender_role=\"operator\"), takes a seat with take_over, or cancels it. Until then, proposer and reviewers wait."
        }
        (_, TurnTool::ClaimReview) if turn.name.is_some() => {
            "The reviewer that the seat is reserved for takes it with claim_review."
        }
        (_, TurnTool::ClaimReview) if is_panel => {
            "In the queue: each free seat is for a different reviewer, who takes it with claim_review."
        }
        (_, TurnTool::ClaimReview) => "In the queue: a reviewer takes it with claim_review.",
        (_, TurnTool::SubmitVerdict) if turn.why == TurnReason::Message => {
            "The reviewer reads the new message with get_discussion and answers with submit_verdict, or with add_message."
        }
        (_, TurnTool::SubmitVerdict) if turn.why == TurnReason::CounterPatchAccepted => {
            "The counter-patch was accepted: the reviewer reads the content with get_proposal and answers with submit_verdict."
        }
        (_, TurnTool::SubmitVerdict) if turn.why == TurnReason::CounterPatchRejected => {
            "The counter-patch was rejected: the reviewer answers with submit_verdict."
        }
        (_, TurnTool::SubmitVerdict) => {
            "Under review: the reviewer reads with get_proposal and answers with submit_verdict."
        }
        (_, TurnTool::UpdateIssue) => {
            "The proposer answered an issue: its reviewer decides with update_issue, and may vote again with submit_verdict."
        }
        (Authority::Proposer, TurnTool::AddMessage) => {
            "The proposer reads the question with get_discussion and answers with add_message, or revises with create_review(review_id=...)."
        }
        (_, TurnTool::AddMessage) => {
            "The reviewer reads the question with get_discussion and answers with add_message."
        }
        (_, TurnTool::AcceptCounterPatch) => {
            "The proposer reads the counter-patch with get_proposal and calls accept_counter_patch or reject_counter_patch, revises with create_review(review_id=...), or asks with add_message."
        }
        (_, TurnTool::CreateReview) if review.auto_rejected() => {
            "The diff does not apply (verdict_reason): the proposer revises it with create_review(review_id=...)."
        }
        (_, TurnTool::CreateReview) if is_panel => {
            "The proposer reads what each reviewer wants (iterations in get_proposal), then revises with create_review(review_id=...), answers an issue with update_issue, or asks one of them with add_message(persona=...)."
        }
        (_, TurnTool::CreateReview) => {
            "The proposer reads verdict_reason, then revises with create_review(review_id=...), answers an issue with update_issue, or asks with add_message."
        }
        (_, TurnTool::CloseReview) if review.status == Status::Rejected => {
            "Rejected as a whole. The proposer calls close_review and tries another approach."
        }
        (_, TurnTool::CloseReview) if review.status == Status::Cancelled => {
            "Cancelled. The proposer calls close_review."
        }
        (_, TurnTool::CloseReview) => "Approved. The proposer lands exactly this content, then calls close_review.",
    }
}
