//! Serves reviews as MCP resources: `review://queue` and `review://{id}`.

use crate::service::{CallError, Service};
use actors::{Caller, ListQuery};
use api::{ErrorBody, ErrorCode};
use rmcp::{
    ErrorData,
    model::{
        CacheScope, ListResourcesResult, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate,
    },
};
use serde_json::json;

const SCHEME: &str = "review://";
const QUEUE: &str = "review://queue";
const MIME: &str = "application/json";

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new("review://{id}", "review")
        .with_title("A review")
        .with_description("One review as get_proposal returns it: its state and the first page of its content. The id is a review_id, a number (R-12) or a unique prefix.")
        .with_mime_type(MIME)
}

/// The queue first, then the reviews, one page at a time.
pub(super) async fn list(
    service: &Service,
    caller: Option<&Caller>,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let is_first = cursor.is_none();
    let query = service.authorize(caller).limit_list(ListQuery { cursor, ..ListQuery::default() }).map_err(refused)?;
    let listing = service.broker().list(query).await.map_err(|error| failed(error.into()))?;
    let queue = Resource::new(QUEUE, "queue")
        .with_title("The queue")
        .with_description("Reviews that wait for a reviewer.")
        .with_mime_type(MIME);
    let reviews = listing.page.items.iter().map(|row| {
        let title: String = row.round.intent.chars().take(80).collect();
        Resource::new(format!("{SCHEME}{}", row.id), row.number.to_string())
            .with_title(format!("{} ({}) {title}", row.number, row.status))
            .with_mime_type(MIME)
    });
    let resources = is_first.then_some(queue).into_iter().chain(reviews).collect();
    let mut result =
        ListResourcesResult::with_all_items(resources).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = listing.page.next_cursor.clone();
    Ok(result)
}

pub(super) async fn read(
    service: &Service,
    caller: Option<&Caller>,
    uri: &str,
) -> Result<ReadResourceResponse, ErrorData> {
    let unknown = || {
        let shown: String = uri.chars().take(120).collect();
        let message = format!("unknown resource {shown:?}; known: review://queue and review://{{id}}");
        ErrorData::resource_not_found(message, Some(json!({ "uri": shown })))
    };
    let authz = service.authorize(caller);
    let response = match uri.strip_prefix(SCHEME) {
        _ if uri == QUEUE => service.queue(authz).await,
        Some(given) => service.review(given, authz).await,
        None => return Err(unknown()),
    };
    let is_unknown = |body: &ErrorBody| matches!(body.code, ErrorCode::UnknownReview | ErrorCode::AmbiguousReview);
    let response = response.map_err(|error| match &error {
        CallError::Refused(body) if is_unknown(body) => unknown(),
        CallError::Refused(_) | CallError::Malformed(_) | CallError::Internal | CallError::ClientLeft => failed(error),
    })?;
    let contents = ResourceContents::text(response.0, uri).with_mime_type(MIME);
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
}

fn failed(error: CallError) -> ErrorData {
    match error {
        CallError::Refused(body) if matches!(body.code, ErrorCode::InvalidArgument | ErrorCode::BadCursor) => {
            ErrorData::invalid_params(body.error.clone(), Some(json!(body)))
        }
        CallError::Refused(body) => refused(body),
        CallError::Malformed(malformed) => {
            let body = ErrorBody::from(malformed);
            ErrorData::invalid_params(body.error.clone(), Some(json!(body)))
        }
        CallError::Internal | CallError::ClientLeft => super::internal(None),
    }
}

fn refused(body: ErrorBody) -> ErrorData {
    ErrorData::internal_error(body.error.clone(), Some(json!(body)))
}
