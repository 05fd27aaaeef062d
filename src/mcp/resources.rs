//! Reviews as resources: `review://queue` and `review://{id}`.

use super::{
    Server,
    present::Answer,
    refusal::Refused,
    tools::{self, Asked, Stop},
    who::Who,
};
use actors::{BrokerError, credentials::Scope, requests::ListQuery};
use domain::ids::ReviewId;
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
        .with_description("One review as get_proposal shows it: its state and the first page of its content. The id is a review_id, a number (R-12) or a unique prefix.")
        .with_mime_type(MIME)
}

/// The queue first, then the reviews, a page at a time.
pub(super) async fn list(
    server: &Server,
    who: Who<'_>,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let first = cursor.is_none();
    let query = who.confine(ListQuery { cursor, ..ListQuery::default() }).map_err(refused)?;
    let listing = server.broker.list(query).await.map_err(|error| failed(&error))?;
    let queue = Resource::new(QUEUE, "queue")
        .with_title("The queue")
        .with_description("Reviews that wait for a reviewer.")
        .with_mime_type(MIME);
    let reviews = listing.page.items.iter().map(|row| {
        let title = domain::text::truncate(&row.intent, 80);
        Resource::new(format!("{SCHEME}{}", row.id), row.number.to_string())
            .with_title(format!("{} ({}) {title}", row.number, row.status))
            .with_mime_type(MIME)
    });
    let resources = first.then_some(queue).into_iter().chain(reviews).collect();
    let mut result =
        ListResourcesResult::with_all_items(resources).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = listing.page.next_cursor.clone();
    Ok(result)
}

pub(super) async fn read(server: &Server, who: Who<'_>, uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let unknown = || {
        let shown = domain::text::truncate(&uri, 120);
        let message = format!("no resource {shown:?}; there are review://queue and review://{{id}}");
        ErrorData::resource_not_found(message, Some(json!({ "uri": shown })))
    };
    let done = match uri.strip_prefix(SCHEME) {
        _ if uri == QUEUE => tools::queue(server, who).await,
        Some(given) => match server.broker.resolve_within(given, who.scope().unwrap_or(&Scope::All)).await {
            Ok(id) => show(server, who, id).await,
            Err(BrokerError::UnknownReview { .. } | BrokerError::AmbiguousReview { .. }) => return Err(unknown()),
            Err(error) => Err(error.into()),
        },
        None => return Err(unknown()),
    };
    let answer = done.map_err(|stop| match stop {
        Stop::Refused(no) => refused(no),
        Stop::Malformed(malformed) => malformed.into_error("resources/read"),
        Stop::Unwritable(error) => ErrorData::internal_error(error.to_string(), None),
    })?;
    let contents = ResourceContents::text(answer.text, uri).with_mime_type(MIME);
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
}

async fn show(server: &Server, who: Who<'_>, id: ReviewId) -> Result<Answer, Stop> {
    if who.is_bounded() {
        who.may_touch(&*server.broker.review(id).await?, None)?;
    }
    tools::show(id, Asked::default(), server).await
}

fn refused(refused: Refused) -> ErrorData {
    ErrorData::internal_error(refused.error.clone(), Some(refused.into_value()))
}

fn failed(error: &BrokerError) -> ErrorData {
    let data = json!({ "code": error.code(), "retryable": error.is_retryable() });
    match error {
        BrokerError::Invalid { .. } | BrokerError::BadCursor => {
            ErrorData::invalid_params(error.to_string(), Some(data))
        }
        BrokerError::Refused(_)
        | BrokerError::UnknownReview { .. }
        | BrokerError::AmbiguousReview { .. }
        | BrokerError::UnknownProject { .. }
        | BrokerError::OtherRepository { .. }
        | BrokerError::TooLong { .. }
        | BrokerError::VersionMismatch { .. }
        | BrokerError::NoRepository
        | BrokerError::BadBase { .. }
        | BrokerError::BadTarget { .. }
        | BrokerError::FlaggedDiff { .. }
        | BrokerError::CheckFailed { .. }
        | BrokerError::Busy { .. }
        | BrokerError::NotSaved { .. }
        | BrokerError::Unreadable { .. }
        | BrokerError::Restarted
        | BrokerError::ShuttingDown
        | BrokerError::PoolDisabled
        | BrokerError::PoolFull { .. }
        | BrokerError::CoolingDown { .. }
        | BrokerError::PoolUnavailable { .. }
        | BrokerError::UnknownReviewer { .. }
        | BrokerError::OfThePool { .. }
        | BrokerError::ContainsSecret { .. }
        | BrokerError::NoSuchRound { .. } => ErrorData::internal_error(error.to_string(), Some(data)),
    }
}
