//! The operation that searches texts.

use super::{
    Call,
    error::{CallError, error_body},
    event_history::project,
    pagination::rows_that_fit,
};
use actors::{BrokerError, credentials::Scope};
use api::{
    ErrorBody,
    search::{SearchRequest, SearchResponse, SearchResult},
};
use domain::{
    finding::FindingNumber,
    search::{SearchKind, SearchWords},
    text::truncate,
};
use store::{FoundText, TextQuery};

const MAX_QUERY_CHARS: usize = 500;
const SNIPPET_CHARS: usize = 240;
const TITLE_CHARS: usize = 160;

pub(super) async fn search(call: &Call<'_>, request: SearchRequest) -> Result<SearchResponse, CallError> {
    let project = project(call, request.project)?;
    let Some(words) = parse_words(&request.q)? else {
        return Ok(SearchResponse { results: Vec::new(), next_cursor: None, indexing: None });
    };
    let review = call.authz.scope().and_then(Scope::only_review);
    let query = TextQuery { words, kinds: request.kinds.unwrap_or_default(), project, review };
    let mut limit = request.limit;
    loop {
        let (page, is_complete) = call.broker.search(&query, request.cursor.as_deref(), limit).await?;
        let results = page.items.iter().map(|found| result(found, &query.words)).collect();
        let indexing = (!is_complete).then_some(true);
        let response = SearchResponse { results, next_cursor: page.next_cursor, indexing };
        match rows_that_fit(page.items.len(), &response, call.service.settings.page_chars)? {
            None => return Ok(response),
            Some(rows) => limit = u32::try_from(rows).ok(),
        }
    }
}

/// The words of a query; `None` if it has none.
pub(super) fn parse_words(given: &str) -> Result<Option<SearchWords>, ErrorBody> {
    let chars = given.chars().count();
    if chars > MAX_QUERY_CHARS {
        let error = BrokerError::TooLong { field: "q", actual: chars, limit: MAX_QUERY_CHARS, unit: "characters" };
        return Err(error_body(&error));
    }
    Ok(SearchWords::parse(given))
}

fn result(found: &FoundText, words: &SearchWords) -> SearchResult {
    let reference = |kind| (found.kind == kind).then_some(found.reference);
    let issue = reference(SearchKind::Finding).and_then(|number| i64::try_from(number).ok());
    SearchResult {
        kind: found.kind,
        review_id: found.review,
        number: found.number,
        status: found.status,
        intent: truncate(&found.intent, TITLE_CHARS).to_owned(),
        title: found.title.as_deref().map(|title| words.snippet(title, TITLE_CHARS)),
        snippet: words.snippet(found.body.trim(), SNIPPET_CHARS),
        issue_id: issue.map(|number| FindingNumber(number).to_string()),
        message_id: reference(SearchKind::Message),
        verdict_id: reference(SearchKind::Verdict),
        by: found.by.clone(),
        persona: found.persona.clone(),
        round: found.round,
        at: found.at.into(),
    }
}
