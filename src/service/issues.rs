//! Operations that list findings (issues and suggestions) and update their status.

use super::{Call, error::CallError, pagination::rows_that_fit};
use actors::credentials::Scope;
use api::{
    ErrorBody,
    decode::Malformed,
    issues::{Issue, ListIssuesRequest, ListIssuesResponse, UpdateIssueRequest, UpdateIssueResponse},
};
use domain::{
    finding::FindingNumber,
    review::{Command, UpdateFinding},
};
use store::FindingFilter;

pub(super) async fn list(call: &Call<'_>, request: ListIssuesRequest) -> Result<ListIssuesResponse, CallError> {
    let name = call.authz.identity_for("caller_id", request.caller_id)?;
    let view = match &request.review_id {
        Some(given) => Some(call.view(given, request.at, name.as_deref()).await?),
        None if request.at.is_some() => {
            return Err(
                Malformed::missing("review_id", "required with at, the version of an event of one review").into()
            );
        }
        None => None,
    };
    let only_review = || call.authz.scope().and_then(Scope::only_review);
    let filter = FindingFilter {
        review: view.as_ref().map(|view| view.number).or_else(only_review),
        number: request.issue_id.as_deref().map(|given| parse_number("issue_id", given)).transpose()?,
        status: request.status,
        severity: request.severity,
        file: request.file,
        persona: request.persona,
        suggestions: request.include_suggestions.unwrap_or(false),
        project: call.authz.only_project(),
    };
    let mut limit = request.limit;
    loop {
        let cursor = request.cursor.as_deref();
        let page = match &view {
            Some(view) => view.findings(&filter, cursor, limit).await?,
            None => call.broker.findings(&filter, cursor, limit).await?,
        };
        let issues = page.items.iter().map(|row| Issue::with_review(&row.finding, row.review, row.number)).collect();
        let response = ListIssuesResponse { issues, next_cursor: page.next_cursor };
        match rows_that_fit(page.items.len(), &response, call.service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => limit = u32::try_from(rows).ok(),
        }
    }
}

pub(super) async fn update(call: &Call<'_>, request: UpdateIssueRequest) -> Result<UpdateIssueResponse, CallError> {
    let number = parse_number("issue_id", &request.issue_id)?;
    let duplicate_of = request.duplicate_of.as_deref().map(|given| parse_number("duplicate_of", given)).transpose()?;
    let role = call.acting_role("role", request.role)?;
    let by = call.acting_name(role, request.caller_id)?;
    let id = call.resolve(&request.review_id).await?;
    let update = UpdateFinding { number, role, by, requested: request.status, duplicate_of, note: request.note };
    let holder = update.by.clone();
    let outcome = call.broker.execute(id, Command::UpdateFinding(update)).await?;
    call.touch(&outcome.review, holder.as_deref()).await;
    Ok(UpdateIssueResponse::new(&outcome.review, number))
}

fn parse_number(field: &str, given: &str) -> Result<FindingNumber, ErrorBody> {
    FindingNumber::parse(given.trim()).ok_or_else(|| {
        let given: String = given.chars().take(40).collect();
        ErrorBody::invalid(field, &format!("{given:?} is not an issue id; expected for example I-41"))
    })
}
