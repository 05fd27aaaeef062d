//! Encodes JSON responses, and errors as problem details (RFC 9457).

use crate::{service::CallError, trace_id::TraceId};
use actors::BrokerError;
use api::{ErrorBody, ErrorCode};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

pub(super) fn with_json(status: StatusCode, body: &Value) -> Response {
    with_text(status, "application/json", body.to_string())
}

pub(super) fn with_text(status: StatusCode, kind: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl IntoResponse for CallError {
    fn into_response(self) -> Response {
        problem(match self {
            Self::Refused(body) => body,
            Self::Malformed(malformed) => malformed.into(),
            Self::Internal | Self::ClientLeft => {
                let error =
                    "internal error of the broker; repeating the call is safe, and the broker's log has the cause";
                ErrorBody { retryable: true, ..ErrorBody::new(ErrorCode::Internal, error) }
            }
        })
    }
}

/// A page that the broker cannot serve now.
pub(super) fn unavailable(error: &BrokerError) -> ErrorBody {
    ErrorBody::new(ErrorCode::parse(error.code()).unwrap_or(ErrorCode::Unknown), error.to_string())
}

/// Problem details with the fields of an error body. MCP clients and the command line read the message from `error`.
pub(super) fn problem(body: ErrorBody) -> Response {
    let ErrorBody { code, error, retryable, mut details } = body;
    let status = StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    let wait_ms = details.get("retry_after_ms").and_then(Value::as_u64);
    // In problem details `status` is the HTTP status.
    if let Some(status) = details.remove("status") {
        details.insert("current_status".into(), status);
    }
    let mut body = json!({
        "type": format!("urn:countersign:problem:{}", code.as_str()),
        "title": code.as_str().replace('_', " "),
        "status": status.as_u16(),
        "detail": error,
        "error": error,
        "code": code,
        "retryable": retryable,
    });
    if let Some(trace) = TraceId::current() {
        body["trace_id"] = trace.to_string().into();
    }
    if let Value::Object(body) = &mut body {
        body.extend(details);
    }
    let mut response = with_text(status, "application/problem+json", body.to_string());
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
        let seconds = wait_ms.map_or(1, |ms| ms.div_ceil(1000).max(1));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
