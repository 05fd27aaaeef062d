//! The operation that submits a verdict.

use super::{Call, claims::identify_claim, error::CallError};
use actors::{CommandOutcome, requests};
use api::{
    ErrorBody, ErrorCode,
    verdicts::{VerdictRequest, VerdictResponse},
};
use domain::{
    finding::{BadFinding, NewFinding, RawFinding},
    review::Reply,
};

pub(super) async fn submit(call: &Call<'_>, request: VerdictRequest) -> Result<VerdictResponse, CallError> {
    let (reviewer_id, id) =
        identify_claim(call, &request.review_id, request.reviewer_id, request.claim_generation).await?;
    let verdict = request.verdict;
    let issues = parse_findings("issues", request.issues, true);
    let findings = issues.chain(parse_findings("suggestions", request.suggestions, false)).collect::<Result<_, _>>()?;
    let given = requests::VerdictRequest {
        reviewer_id,
        claim_generation: request.claim_generation,
        content_hash: request.content_hash,
        verdict,
        reason: request.reason,
        summary: request.summary,
        metrics: request.metrics,
        counter_patch: request.counter_patch,
        findings,
    };
    let CommandOutcome { review, reply, .. } = call.broker.give_verdict(id, given).await?;
    let raised = if let Reply::VerdictTaken { findings, .. } = reply { findings } else { Vec::new() };
    Ok(VerdictResponse::new(&review, verdict, &raised))
}

fn parse_findings(
    list: &'static str,
    findings: Option<Vec<RawFinding>>,
    are_issues: bool,
) -> impl Iterator<Item = Result<NewFinding, ErrorBody>> {
    findings.unwrap_or_default().into_iter().enumerate().map(move |(n, finding)| {
        finding.validate(are_issues).map_err(|bad: BadFinding| {
            let field = format!("{list}[{n}].{}", bad.field);
            let code = ErrorCode::parse(bad.code).unwrap_or(ErrorCode::InvalidArgument);
            let body = ErrorBody::new(code, format!("{field}: {}", bad.problem)).with("field", field);
            if bad.allowed.is_empty() { body } else { body.with("allowed", bad.allowed) }
        })
    })
}
