//! Encodes a response or an error of an operation as an HTTP response.

use super::{ApiRequest, etag};
use crate::{
    http::problem::{problem_with, with_text},
    service::{CallError, JsonText},
};
use api::{ErrorBody, decode::Malformed};
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The fields of a response that become headers.
#[derive(Default, Deserialize)]
struct HeaderFields {
    version: Option<u64>,
    next_cursor: Option<String>,
    review_id: Option<String>,
}

pub(super) fn success(request: &ApiRequest, response: JsonText) -> Response {
    let (route, parts) = (request.route, &request.parts);
    let fields: HeaderFields = serde_json::from_str(&response.0).unwrap_or_default();
    let etag = fields.version.filter(|_| route.is_about_a_review()).and_then(etag::from_version);
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let is_known = etag.as_ref().is_some_and(|etag| reads && etag::is_known(&parts.headers, etag));
    let mut response = if is_known {
        with_status(StatusCode::NOT_MODIFIED)
    } else {
        let status = if route.creates() { StatusCode::CREATED } else { StatusCode::OK };
        with_text(status, "application/json", response.0)
    };
    let headers = response.headers_mut();
    set_no_cache(headers);
    set(headers, header::ETAG, etag);
    if let Some(cursor) = fields.next_cursor {
        let link = format!("<{}>; rel=\"next\"", with_cursor(&parts.uri, &cursor));
        set(headers, header::LINK, HeaderValue::try_from(link).ok());
    }
    if let Some(id) = fields.review_id.filter(|_| route.creates()) {
        set(headers, header::LOCATION, HeaderValue::try_from(format!("/api/v1/reviews/{id}")).ok());
    }
    response
}

pub(super) fn with_status(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// A client that stores a response must revalidate it before use.
pub(super) fn set_no_cache(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// The address of the next page.
fn with_cursor(uri: &Uri, cursor: &str) -> String {
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| !pair.is_empty() && pair.split('=').next() != Some("cursor"));
    let own = format!("cursor={}", api::route::percent_encode(cursor));
    let query: Vec<_> = others.chain([own.as_str()]).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

pub(in crate::http) fn problem(error: CallError) -> Response {
    match error {
        CallError::Refused(body) => refusal(body),
        CallError::Malformed(Malformed { field, problem }) => {
            let details = object(json!({ "retryable": false, "field": field, "problem": problem }));
            problem_with(StatusCode::BAD_REQUEST, "invalid_params", &format!("{field}: {problem}"), details)
        }
        CallError::Internal | CallError::ClientLeft => {
            let detail = "internal error of the broker; repeating the call is safe, and the broker's log has the cause";
            let details = object(json!({ "retryable": true }));
            problem_with(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail, details)
        }
    }
}

fn refusal(body: ErrorBody) -> Response {
    let ErrorBody { code, error, retryable, mut details } = body;
    let status = StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    let wait_ms = details.get("retry_after_ms").and_then(Value::as_u64);
    details.insert("retryable".into(), retryable.into());
    let mut response = problem_with(status, code.as_str(), &error, details);
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
        let seconds = wait_ms.map_or(1, |ms| ms.div_ceil(1000).max(1));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_cursor;
    use axum::http::Uri;

    #[test]
    fn the_link_to_the_next_page_keeps_the_filters() {
        let next = |uri: &'static str| with_cursor(&Uri::from_static(uri), "a+b");
        assert_eq!(next("/api/v1/reviews"), "/api/v1/reviews?cursor=a%2Bb");
        assert_eq!(next("/api/v1/reviews?cursor=x&status=pending"), "/api/v1/reviews?status=pending&cursor=a%2Bb");
    }
}
