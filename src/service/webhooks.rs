//! Operations that list webhooks, and redeliver or drop deliveries that failed for good.

use super::{Call, error::CallError};
use actors::{BrokerError, credentials::Scope};
use api::{
    ErrorBody, ErrorCode,
    decode::Malformed,
    operation::NoArguments,
    webhooks::{
        DeadDeliveriesRequest, DeadDeliveriesResponse, ListDeadDeliveriesRequest, ListDeadDeliveriesResponse,
        ListWebhooksResponse,
    },
};
use store::DeliverySelector;

const DEFAULT_ROWS: u32 = 50;
const MAX_ROWS: u32 = 200;
const MAX_SEQS: usize = 1000;

/// A token that is limited to one project sees only that project's webhooks.
pub(super) async fn list(call: &Call<'_>, _: NoArguments) -> Result<ListWebhooksResponse, CallError> {
    let mut webhooks = call.service.webhooks.list().await?;
    if let Some(scope @ Scope::Project(_)) = call.authz.scope() {
        webhooks.retain(|webhook| webhook.project.is_some() && scope.allows(webhook.project.as_deref()));
    }
    Ok(ListWebhooksResponse { webhooks })
}

pub(super) async fn list_dead(
    call: &Call<'_>,
    request: ListDeadDeliveriesRequest,
) -> Result<ListDeadDeliveriesResponse, CallError> {
    let after = match request.cursor {
        Some(cursor) => cursor.parse().map_err(|_| BrokerError::BadCursor)?,
        None => 0,
    };
    let limit = request.limit.unwrap_or(DEFAULT_ROWS);
    if !(1..=MAX_ROWS).contains(&limit) {
        return Err(Malformed::new("limit", format!("expected 1 to {MAX_ROWS}")).into());
    }
    check_webhook(call, &request.webhook).await?;
    let mut rows = call.broker.reader().list_dead_deliveries(&request.webhook, after, limit + 1).await?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor = rows.last().filter(|_| has_more).map(|last| last.seq.to_string());
    Ok(ListDeadDeliveriesResponse { dead: rows, next_cursor })
}

pub(super) async fn redeliver(
    call: &Call<'_>,
    request: DeadDeliveriesRequest,
) -> Result<DeadDeliveriesResponse, CallError> {
    let selected = selection(&request)?;
    if !check_webhook(call, &request.webhook).await? {
        let error =
            format!("{:?} is no longer configured; drop its dead deliveries, or configure it again", request.webhook);
        return Err(ErrorBody::invalid("webhook", &error).into());
    }
    let count = call.service.webhooks.redeliver(&request.webhook, selected).await?;
    Ok(DeadDeliveriesResponse { webhook: request.webhook, count })
}

pub(super) async fn drop_dead(
    call: &Call<'_>,
    request: DeadDeliveriesRequest,
) -> Result<DeadDeliveriesResponse, CallError> {
    let selected = selection(&request)?;
    check_webhook(call, &request.webhook).await?;
    let count = call.service.webhooks.drop_dead(&request.webhook, selected).await?;
    Ok(DeadDeliveriesResponse { webhook: request.webhook, count })
}

/// Whether the webhook is configured. Refused if it does not exist or the caller may not see it.
async fn check_webhook(call: &Call<'_>, name: &str) -> Result<bool, CallError> {
    let is_limited = matches!(call.authz.scope(), Some(Scope::Project(_)));
    if let Some(project) = call.service.webhooks.project_of(name) {
        // A webhook for all projects shows events of other projects, too.
        return match (is_limited, project) {
            (true, None) => Err(unknown(name, &[]).into()),
            (true, project) => Ok(call.authz.check_project(project.as_deref()).map(|()| true)?),
            (false, _) => Ok(true),
        };
    }
    let known: Vec<_> = call.service.webhooks.list().await?.into_iter().map(|webhook| webhook.name).collect();
    match !is_limited && known.iter().any(|other| other == name) {
        true => Ok(false),
        false => Err(unknown(name, if is_limited { &[] } else { &known }).into()),
    }
}

fn unknown(name: &str, known: &[String]) -> ErrorBody {
    let name: String = name.chars().take(80).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    ErrorBody::new(ErrorCode::UnknownWebhook, format!("unknown webhook {name:?}; known: {known}"))
}

/// The dead deliveries that are meant. The caller has to choose, so that leaving something out never drops all.
fn selection(request: &DeadDeliveriesRequest) -> Result<DeliverySelector, Malformed> {
    match (&request.seqs, request.all) {
        (Some(_), Some(_)) => Err(Malformed::new("seqs", "give either seqs or all, not both")),
        (None, None) => Err(Malformed::missing("seqs", "give seqs, or all = true")),
        (None, Some(true)) => Ok(DeliverySelector::All),
        (None, Some(false)) => Err(Malformed::new("all", "expected true, or seqs instead")),
        (Some(seqs), None) => {
            // Numbers above i64::MAX cannot be stored.
            let is_valid = (1..=MAX_SEQS).contains(&seqs.len()) && seqs.iter().all(|seq| i64::try_from(*seq).is_ok());
            if !is_valid {
                let problem = format!("expected a list of 1 to {MAX_SEQS} sequence numbers, such as [12, 15]");
                return Err(Malformed::new("seqs", problem));
            }
            Ok(DeliverySelector::Seqs(seqs.clone()))
        }
    }
}
