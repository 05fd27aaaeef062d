//! The reviewer's calls.

use super::{Call, Done, Stop, findings, non_empty, proposal::room};
use crate::mcp::{
    args::{ClaimReview, Malformed, ReleaseClaim, SubmitVerdict},
    present::{Answer, Claimed, PersonaRow, VerdictTaken, ignored},
    refusal::Refused,
};
use actors::{
    ReviewerCredential,
    requests::{Release, VerdictRequest},
};
use domain::{ids::ReviewId, verdict::Verdict};

pub(super) async fn claim(args: ClaimReview, call: &Call<'_>) -> Done {
    let reviewer_id = call.who.speaks_as("reviewer_id", args.reviewer_id)?;
    let missing = || Malformed::missing("reviewer_id", "needed unless a token says who you are");
    let reviewer_id = reviewer_id.ok_or_else(missing)?;
    non_empty("reviewer_id", &reviewer_id)?;
    let id = call.resolve(&args.review_id).await?;
    let broker = &call.server.broker;
    let _claiming = call.who.credential().map(ReviewerCredential::claim);
    // What it holds already it may claim again: it has lost the answer.
    if call.who.credential().is_some_and(ReviewerCredential::is_draining)
        && !broker.review(id).await?.holders().any(|by| by == reviewer_id)
    {
        return Err(Refused::new("draining", "the broker ends this reviewer: no new claims; end now").into());
    }
    let review = broker.claim(id, reviewer_id.clone(), args.persona).await?;
    let content = broker.content(&review.round.content_hash).await?;
    let workspace = match call.who.credential() {
        Some(credential) if !review.auto_rejected() => broker.check_out(&review, credential.identity()).await,
        Some(_) | None => None,
    };
    let workspace = workspace.map(|folder| folder.display().to_string());
    let mut claimed = Claimed { workspace, ..Claimed::of(&review, &content, &reviewer_id) };
    if let Some(persona) = claimed.seat.and_then(|seat| broker.persona(seat)) {
        claimed.ignored_files = ignored(persona, &claimed.files);
        claimed.persona = Some(PersonaRow::of(persona, room(Some(&claimed), call.server)?));
    }
    Ok(Answer::of(&claimed)?)
}

pub(super) async fn release(args: ReleaseClaim, call: &Call<'_>) -> Done {
    let (reviewer_id, id) = fence(call, &args.review_id, args.reviewer_id, args.claim_generation).await?;
    let release = Release { reviewer_id, claim_generation: args.claim_generation, reason: args.reason };
    super::propose::status(call.server.broker.release(id, release).await?)
}

pub(super) async fn give_verdict(args: SubmitVerdict, call: &Call<'_>) -> Done {
    let verdict = Verdict::parse(&args.verdict).ok_or_else(|| {
        let allowed: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
        Refused::unknown_word("unknown_verdict", "verdict", &args.verdict, &allowed)
    })?;
    let (reviewer_id, id) = fence(call, &args.review_id, args.reviewer_id, args.claim_generation).await?;
    let request = VerdictRequest {
        reviewer_id,
        claim_generation: args.claim_generation,
        content_hash: args.content_hash,
        verdict,
        reason: args.reason,
        summary: args.summary,
        metrics: args.metrics.map(Into::into),
        counter_patch: args.counter_patch,
        findings: findings::read(args.issues, args.suggestions)?,
    };
    let speaker = (request.reviewer_id.clone(), request.claim_generation);
    let review = call.server.broker.give_verdict(id, request).await?;
    Ok(Answer::of(&VerdictTaken::of(&review, verdict, (speaker.0.as_deref(), speaker.1)))?)
}

/// Who speaks for a claim, and in which review: proven by the claim's generation, or by name.
async fn fence(
    call: &Call<'_>,
    review: &str,
    reviewer_id: Option<String>,
    generation: Option<u32>,
) -> Result<(Option<String>, ReviewId), Stop> {
    let reviewer_id = call.who.speaks_as("reviewer_id", reviewer_id)?;
    if call.who.credential().is_some() && generation.is_none() {
        return Err(generation_needed());
    }
    let id = call.resolve(review).await?;
    Ok((reviewer_id, id))
}

/// A pool reviewer may have been replaced without knowing it, so its name alone proves nothing.
fn generation_needed() -> Stop {
    let error = "claim_generation: a reviewer of the pool must give that of its claim_review";
    Refused::new("generation_needed", error).with("field", "claim_generation").into()
}
