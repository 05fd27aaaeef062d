//! The reviewer's calls.

use super::{Call, Done, non_empty};
use crate::mcp::{
    args::{ClaimReview, ReleaseClaim, SubmitVerdict},
    present::{Answer, Claimed, VerdictTaken},
    refusal::Refused,
};
use actors::request::{Release, VerdictRequest};
use domain::verdict::Verdict;

pub(super) async fn claim(args: ClaimReview, call: &Call<'_>) -> Done {
    non_empty("reviewer_id", &args.reviewer_id)?;
    let id = call.resolve(&args.review_id).await?;
    let broker = &call.server.broker;
    let review = broker.claim(id, args.reviewer_id.clone(), args.persona).await?;
    let content = broker.content(&review.round.content_hash).await?;
    Ok(Answer::of(&Claimed::of(&review, &content, &args.reviewer_id))?)
}

pub(super) async fn release(args: ReleaseClaim, call: &Call<'_>) -> Done {
    let id = call.resolve(&args.review_id).await?;
    let release =
        Release { reviewer_id: args.reviewer_id, claim_generation: args.claim_generation, reason: args.reason };
    super::propose::status(call.server.broker.release(id, release).await?)
}

pub(super) async fn give_verdict(args: SubmitVerdict, call: &Call<'_>) -> Done {
    let verdict = Verdict::parse(&args.verdict).ok_or_else(|| {
        let allowed: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
        Refused::unknown_word("unknown_verdict", "verdict", &args.verdict, &allowed)
    })?;
    let id = call.resolve(&args.review_id).await?;
    let request = VerdictRequest {
        reviewer_id: args.reviewer_id,
        claim_generation: args.claim_generation,
        content_hash: args.content_hash,
        verdict,
        reason: args.reason,
        summary: args.summary,
        metrics: args.metrics.map(Into::into),
        counter_patch: args.counter_patch,
    };
    let review = call.server.broker.give_verdict(id, request).await?;
    Ok(Answer::of(&VerdictTaken::of(&review, verdict))?)
}
