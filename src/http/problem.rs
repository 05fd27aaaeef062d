//! JSON responses, and errors as problem details (RFC 9457).

use super::TraceId;
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::{Map, Value, json};

pub(super) fn with_json(status: StatusCode, body: &Value) -> Response {
    with_text(status, "application/json", body.to_string())
}

pub(super) fn with_text(status: StatusCode, kind: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An error of the request guard or of a page. A 503 is marked as retryable.
pub(super) fn problem(status: StatusCode, code: &str, error: &str) -> Response {
    let retryable = status == StatusCode::SERVICE_UNAVAILABLE;
    let more = Map::from_iter([("retryable".to_owned(), retryable.into())]);
    let mut response = problem_with(status, code, error, more);
    if retryable {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Problem details with a `code` for programs and the fields in `more`. MCP clients and the command line read the message
/// from `error`.
pub(super) fn problem_with(status: StatusCode, code: &str, detail: &str, mut more: Map<String, Value>) -> Response {
    // In problem details `status` is the HTTP status.
    if let Some(status) = more.remove("status") {
        more.insert("current_status".into(), status);
    }
    let mut body = json!({
        "type": format!("urn:countersign:problem:{code}"),
        "title": code.replace('_', " "),
        "status": status.as_u16(),
        "detail": detail,
        "error": detail,
        "code": code,
    });
    if let Some(trace) = TraceId::current() {
        body["trace_id"] = trace.to_string().into();
    }
    if let Value::Object(body) = &mut body {
        body.extend(more);
    }
    with_text(status, "application/problem+json", body.to_string())
}
