//! The operation that submits a verdict.

use super::{Call, error::CallError};
use actors::CommandOutcome;
use api::{
    ErrorBody, ErrorCode,
    verdicts::{VerdictRequest, VerdictResponse},
};
use domain::{finding::BadFinding, review::Reply};

pub(super) async fn submit(call: &Call<'_>, mut request: VerdictRequest) -> Result<VerdictResponse, CallError> {
    let (given, generation) = (request.reviewer_id.take(), request.claim_generation);
    let (reviewer_id, id) = call.identify_claim(&request.review_id, given, generation).await?;
    request.reviewer_id = reviewer_id;
    let findings = request.take_findings().map_err(refuse_finding)?;
    let CommandOutcome { review, reply, .. } = call.broker.give_verdict(id, &request, &findings).await?;
    let raised = if let Reply::VerdictTaken { findings, .. } = reply { findings } else { Vec::new() };
    Ok(VerdictResponse::new(&review, request.verdict, &raised))
}

fn refuse_finding(bad: BadFinding) -> ErrorBody {
    let code = ErrorCode::parse(bad.code).unwrap_or(ErrorCode::InvalidArgument);
    let body = ErrorBody::new(code, bad.to_string()).with("field", bad.field);
    if bad.allowed.is_empty() { body } else { body.with("allowed", bad.allowed) }
}
