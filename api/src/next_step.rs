//! Computes the `next` field of responses: the tools that the proposer or the reviewers can call now.

use crate::reviews::has_counter_patch;
use domain::review::{Review, Status};
use std::borrow::Cow;

/// One sentence about the next call, which is what a model needs most.
pub fn next_step(review: &Review) -> Cow<'static, str> {
    let several = review.seats.len() > 1;
    Cow::Borrowed(match review.status {
        Status::Pending if several && review.returned => {
            "Back in the queue. Each seat is for a different reviewer, who takes it with claim_review. The proposer can wait with get_review_status(wait=true) or revise."
        }
        Status::Pending if several => {
            "In the queue. Each seat is for a different reviewer, who takes it with claim_review. The proposer can wait with get_review_status(wait=true)."
        }
        Status::InReview if review.free_seats().next().is_some() => {
            "Under review, with a free seat: a reviewer without a seat can call claim_review. A reviewer with a seat reads with get_proposal and answers with submit_verdict. The proposer waits with get_review_status(wait=true)."
        }
        Status::InReview => {
            "Under review. Reviewers who have not voted read with get_proposal and answer with submit_verdict. The proposer waits with get_review_status(wait=true)."
        }
        Status::ChangesRequested if several && !review.auto_rejected() => {
            "The proposer reads what each reviewer wants (iterations in get_proposal), then revises with create_review(review_id=...), decides a counter-patch with accept_counter_patch or reject_counter_patch, or asks one of them with add_message(persona=...)."
        }
        Status::Pending if review.returned => {
            "Back in the queue: a reviewer can call claim_review. The proposer can wait with get_review_status(wait=true) or revise."
        }
        Status::Pending => {
            "In the queue: a reviewer can call claim_review. The proposer can wait with get_review_status(wait=true)."
        }
        Status::Claimed => {
            "Under review. The reviewer reads with get_proposal and answers with submit_verdict. The proposer waits with get_review_status(wait=true)."
        }
        Status::ChangesRequested if has_counter_patch(review) => {
            "The proposer can call accept_counter_patch or reject_counter_patch, revise with create_review(review_id=...), or ask with add_message."
        }
        Status::ChangesRequested => {
            "The proposer reads verdict_reason, then revises with create_review(review_id=...) or asks with add_message."
        }
        Status::Approved => "Approved. The proposer lands exactly this content, then calls close_review.",
        Status::Rejected => "Rejected as a whole. The proposer calls close_review and tries another approach.",
        Status::Cancelled => "Cancelled. The only call left is close_review.",
        Status::Closed => "Closed. A further change needs a new proposal with create_review.",
    })
}
