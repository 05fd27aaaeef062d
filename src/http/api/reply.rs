//! What a tool says, dressed as HTTP.

use super::{Asked, status, tags};
use crate::{
    http::problem::{problem_with, with_text},
    mcp::{Answer, Failure, Malformed, Refused},
};
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

pub(super) fn answered(asked: &Asked, answer: Answer) -> Response {
    let said = answer.structured;
    let tag = said["version"].as_u64().filter(|_| asked.operation.is_of_a_review()).and_then(tags::of);
    let reads = asked.parts.method == Method::GET || asked.parts.method == Method::HEAD;
    let known = tag.as_ref().is_some_and(|tag| reads && tags::is_known(&asked.parts.headers, tag));
    let mut response = if known {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let status = if asked.operation.creates() { StatusCode::CREATED } else { StatusCode::OK };
        with_text(status, "application/json", answer.text)
    };
    let headers = response.headers_mut();
    unstored(headers);
    set(headers, header::ETAG, tag);
    if let Some(cursor) = said["next_cursor"].as_str() {
        let link = format!("<{}>; rel=\"next\"", with_cursor(&asked.parts.uri, cursor));
        set(headers, header::LINK, HeaderValue::try_from(link).ok());
    }
    if let Some(id) = said["review_id"].as_str().filter(|_| asked.operation.creates()) {
        set(headers, header::LOCATION, HeaderValue::try_from(format!("/api/v1/reviews/{id}")).ok());
    }
    response
}

/// Whoever keeps an answer must ask whether it is still so.
pub(super) fn unstored(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// The same address, for the page after this one.
fn with_cursor(uri: &Uri, cursor: &str) -> String {
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| !pair.is_empty() && pair.split('=').next() != Some("cursor"));
    let own = format!("cursor={}", percent(cursor));
    let query: Vec<_> = others.chain([own.as_str()]).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

fn percent(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

pub(in crate::http) fn problem(failure: Failure) -> Response {
    match failure {
        Failure::Refused(refused) => refusal(refused),
        Failure::Malformed(Malformed { field, problem }) => {
            let more = object(json!({ "retryable": false, "field": field, "problem": problem }));
            problem_with(StatusCode::BAD_REQUEST, "invalid_params", &format!("{field}: {problem}"), more)
        }
        Failure::Internal | Failure::Left => {
            let detail = "the broker failed inside; repeating the call is safe, and its log says more";
            let more = object(json!({ "retryable": true }));
            problem_with(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail, more)
        }
    }
}

fn refusal(refused: Refused) -> Response {
    let Refused { code, error, retryable, mut details } = refused;
    let status = status::of(code);
    let wait_ms = details.get("retry_after_ms").and_then(Value::as_u64);
    details.insert("retryable".into(), retryable.into());
    let mut response = problem_with(status, code, &error, details);
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
        let seconds = wait_ms.map_or(1, |ms| ms.div_ceil(1000).max(1));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_cursor;
    use axum::http::Uri;

    #[test]
    fn the_next_page_has_the_same_filters() {
        let next = |uri: &'static str| with_cursor(&Uri::from_static(uri), "a+b");
        assert_eq!(next("/api/v1/reviews"), "/api/v1/reviews?cursor=a%2Bb");
        assert_eq!(next("/api/v1/reviews?cursor=x&status=pending"), "/api/v1/reviews?status=pending&cursor=a%2Bb");
    }
}
