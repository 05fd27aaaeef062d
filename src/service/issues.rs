//! Operations that list findings (issues and suggestions) and update their status.

use super::{
    Call, error::CallError, event_history::project, pagination::rows_that_fit, review_view::ReviewView,
    search::parse_words,
};
use actors::credentials::Scope;
use api::{
    ErrorBody,
    decode::Malformed,
    issues::{
        CountIssuesRequest, CountIssuesResponse, Issue, IssueGroup, IssueOrder, ListIssuesRequest, ListIssuesResponse,
        UpdateIssueRequest, UpdateIssueResponse,
    },
};
use domain::{
    finding::FindingNumber,
    ids::ReviewNumber,
    query_types::FindingGroupBy,
    review::{Command, UpdateFinding},
    text::truncate,
};
use store::{FindingFilter, FindingOrder, ListedFinding, MAX_SEARCHED_FINDINGS, TextQuery};

/// Characters of an intent in a row.
const INTENT_CHARS: usize = 160;

pub(super) async fn list(call: &Call<'_>, request: ListIssuesRequest) -> Result<ListIssuesResponse, CallError> {
    let (view, filter, is_complete) = filter(call, &request).await?;
    let is_past = view.as_ref().is_some_and(ReviewView::is_past);
    if is_past && (filter.blocks.is_some() || filter.open_reviews || filter.order == FindingOrder::Blocking) {
        let error = "not allowed with blocks, open_reviews and order, which are about the reviews as they are now";
        return Err(ErrorBody::invalid("at", error).into());
    }
    let mut limit = request.limit;
    loop {
        let cursor = request.cursor.as_deref();
        let page = match &view {
            Some(view) => view.findings(&filter, cursor, limit).await?,
            None => call.broker.findings(&filter, cursor, limit).await?,
        };
        let response = ListIssuesResponse {
            issues: page.items.iter().map(row).collect(),
            next_cursor: page.next_cursor,
            indexing: (!is_complete).then_some(true),
        };
        match rows_that_fit(page.items.len(), &response, call.service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => limit = u32::try_from(rows).ok(),
        }
    }
}

fn row(listed: &ListedFinding) -> Issue {
    let issue = Issue::with_review(&listed.finding, listed.review, listed.number);
    match &listed.details {
        None => issue,
        Some(details) => Issue {
            review_status: Some(details.review_status),
            review_intent: Some(truncate(&details.review_intent, INTENT_CHARS).to_owned()),
            blocks: details.blocks.then_some(true),
            ..issue
        },
    }
}

/// Counts the issues that list_issues lists, by group.
pub(super) async fn count(call: &Call<'_>, request: CountIssuesRequest) -> Result<CountIssuesResponse, CallError> {
    let ((_, filter, is_searched), by) = (filter(call, &request.filter).await?, request.group_by);
    let is_complete = is_searched && call.broker.catch_up_indexes().await?;
    let is_cut = filter.among.as_ref().is_some_and(|among| among.len() >= MAX_SEARCHED_FINDINGS);
    let counted = call.broker.count_findings(&filter, by).await?;
    let mut groups = Vec::with_capacity(counted.groups.len());
    for group in counted.groups {
        let counts = (group.issues, group.open, group.blocking);
        groups.push(IssueGroup::new(group.name, counts, &group.open_by_severity));
    }
    if by == FindingGroupBy::Review {
        let numbers: Vec<_> = groups.iter().filter_map(|group| group.group.parse().ok().map(ReviewNumber)).collect();
        let intents = call.broker.reader().list_intents(&numbers).await?;
        for (group, number) in groups.iter_mut().zip(numbers) {
            group.intent = intents.get(&number).map(|intent| truncate(intent, INTENT_CHARS).to_owned());
            group.group = number.to_string();
        }
    }
    let mut response = CountIssuesResponse {
        group_by: by,
        groups,
        more_groups: Some(counted.left_out).filter(|left_out| *left_out > 0),
        partial: (counted.is_partial || is_cut).then_some(true),
        indexing: (!is_complete).then_some(true),
    };
    let max_chars = call.service.settings.page_chars;
    while let Some(kept) = rows_that_fit(response.groups.len(), &response, max_chars)? {
        let left_out = response.groups.len() - kept;
        response.groups.truncate(kept);
        response.more_groups = Some(response.more_groups.unwrap_or(0) + left_out);
    }
    Ok(response)
}

/// The review that the request names, its filter, and whether the indexes that the filter needs contain every event.
async fn filter(
    call: &Call<'_>,
    request: &ListIssuesRequest,
) -> Result<(Option<ReviewView>, FindingFilter, bool), CallError> {
    let name = call.authz.identity_for("caller_id", request.caller_id.clone())?;
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
    let review = view.as_ref().map(|view| view.number).or_else(only_review);
    let project = project(call, request.project.clone())?;
    let mut is_complete = true;
    let among = match &request.q {
        None => None,
        Some(text) => Some(match parse_words(text)? {
            Some(words) => {
                is_complete = call.broker.catch_up_indexes().await?;
                let query = TextQuery { words, kinds: Vec::new(), project: project.clone(), review };
                call.broker.search_findings(&query).await?
            }
            None => Vec::new(),
        }),
    };
    let filter = FindingFilter {
        review,
        number: request.issue_id.as_deref().map(|given| parse_number("issue_id", given)).transpose()?,
        statuses: one_or_several("statuses", "status", request.status, request.statuses.as_ref())?,
        severities: one_or_several("severities", "severity", request.severity, request.severities.as_ref())?,
        kind: request.kind,
        blocks: request.blocks,
        open_reviews: request.open_reviews.unwrap_or(false),
        file: request.file.clone(),
        without_file: request.without_file.unwrap_or(false),
        persona: request.persona.clone(),
        reviewer: request.reviewer.clone(),
        among,
        suggestions: request.include_suggestions.unwrap_or(false),
        project,
        order: match request.order {
            None | Some(IssueOrder::Newest) => FindingOrder::Newest,
            Some(IssueOrder::Blocking) => FindingOrder::Blocking,
        },
    };
    if filter.needs_index() && is_complete {
        is_complete = call.broker.catch_up_indexes().await?;
    }
    Ok((view, filter, is_complete))
}

fn one_or_several<T: Copy>(
    field: &str,
    single: &str,
    one: Option<T>,
    several: Option<&Vec<T>>,
) -> Result<Vec<T>, ErrorBody> {
    match (one, several) {
        (Some(_), Some(_)) => Err(ErrorBody::invalid(field, &format!("not allowed with {single}"))),
        (Some(one), None) => Ok(vec![one]),
        (None, several) => Ok(several.cloned().unwrap_or_default()),
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
