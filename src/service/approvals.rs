//! Operations for gates that ask the broker which reviews approved a change.

use super::{Call, error::CallError};
use api::{
    ErrorBody, ErrorCode,
    approvals::{ApprovalRequest, ListApprovalsRequest, ListApprovalsResponse, ReviewedContent},
};
use domain::{approvals::ApprovalFilter, ids::ReviewNumber};

const DEFAULT_ROWS: u32 = 50;
const MAX_ROWS: u32 = 100;

pub(super) async fn list(call: &Call<'_>, request: ListApprovalsRequest) -> Result<ListApprovalsResponse, CallError> {
    let before = request.cursor.as_deref().map(|cursor| ReviewNumber::parse(cursor).ok_or(()));
    let before = before.transpose().map_err(|()| ErrorBody::bad_cursor("list of approvals"))?;
    if request.limit == Some(0) {
        return Err(ErrorBody::invalid("limit", "expected 1 or more").into());
    }
    let waiting = request.waiting.unwrap_or(false);
    let is_selected =
        waiting || request.patch_id.is_some() || request.tree_id.is_some() || request.content_hash.is_some();
    let filter = ApprovalFilter {
        project: readable_project(call, request.project)?,
        patch_id: request.patch_id,
        tree_id: request.tree_id,
        content_hash: request.content_hash,
        open: waiting,
        before,
    };
    let limit = request.limit.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS);
    let reviews = call.broker.reader().list_approvals(&filter, i64::from(limit)).await?;
    let is_full = !is_selected && reviews.len() >= limit as usize;
    let next_cursor = reviews.last().filter(|_| is_full).map(|review| review.number.to_string());
    Ok(ListApprovalsResponse { reviews, next_cursor })
}

/// The project that a list is limited to. A token for one project sees no other.
fn readable_project(call: &Call<'_>, given: Option<String>) -> Result<Option<String>, ErrorBody> {
    match (given, call.authz.only_project()) {
        (Some(given), _) => call.authz.check_readable_project(&given).map(|()| Some(given)),
        (None, Some(Some(own))) => Ok(Some(own)),
        (None, None) => Ok(None),
        (None, Some(None)) => {
            let error = "your token is valid only for reviews without a project, which a gate cannot ask for";
            Err(ErrorBody::new(ErrorCode::WrongProject, error))
        }
    }
}

pub(super) async fn get(call: &Call<'_>, request: ApprovalRequest) -> Result<ReviewedContent, CallError> {
    let id = call.resolve(&request.review_id).await?;
    let number = call.broker.review(id).await?.number;
    let content = call.broker.reader().find_reviewed_content(number).await?;
    content.ok_or_else(|| ErrorBody::new(ErrorCode::UnknownReview, format!("no review {number}")).into())
}
