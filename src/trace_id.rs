//! Assigns a trace id to every request: the caller's own if it sends a valid `traceparent` header (W3C Trace Context),
//! otherwise a new one. The id appears in the log line of the call, in the `x-trace-id` header and in error bodies.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use std::fmt;
use uuid::Uuid;

const TRACEPARENT: &str = "traceparent";
const X_TRACE_ID: HeaderName = HeaderName::from_static("x-trace-id");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(u128);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

tokio::task_local! {
    static CURRENT: TraceId;
}

impl TraceId {
    /// The trace id of the request that this task handles.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(|trace| *trace).ok()
    }

    /// Parses `traceparent`: version, trace id, parent id and flags in lowercase hex.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let parts: Vec<_> = value.to_str().ok()?.split('-').collect();
        let [version, trace, parent, flags, rest @ ..] = parts.as_slice() else { return None };
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let is_known = *version != "ff" && (*version != "00" || rest.is_empty());
        if !is_known || !is_hex(version, 2) || !is_hex(trace, 32) || !is_hex(parent, 16) || !is_hex(flags, 2) {
            return None;
        }
        let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
        if is_zero(trace) || is_zero(parent) {
            return None;
        }
        u128::from_str_radix(trace, 16).ok().map(Self)
    }
}

/// The outermost middleware.
pub(crate) async fn assign(mut request: Request, next: Next) -> Response {
    let trace = TraceId::from_headers(request.headers()).unwrap_or_else(|| TraceId(Uuid::new_v4().as_u128()));
    request.extensions_mut().insert(trace);
    let mut response = CURRENT.scope(trace, next.run(request)).await;
    if let Ok(value) = HeaderValue::try_from(trace.to_string()) {
        response.headers_mut().insert(X_TRACE_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::{TRACEPARENT, TraceId};
    use axum::http::{HeaderMap, HeaderValue};

    fn parse(values: &[&'static str]) -> Option<String> {
        let headers: HeaderMap =
            values.iter().map(|value| (TRACEPARENT.parse().unwrap(), HeaderValue::from_static(value))).collect();
        TraceId::from_headers(&headers).map(|trace| trace.to_string())
    }

    #[test]
    fn a_valid_traceparent_is_used() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(parse(&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]).as_deref(), Some(trace));
        assert_eq!(parse(&["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later"]).as_deref(), Some(trace));
    }

    #[test]
    fn a_malformed_traceparent_is_ignored() {
        for value in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(parse(&[value]), None, "{value}");
        }
        let twice = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(parse(&[twice, twice]), None);
        assert_eq!(parse(&[]), None);
    }
}
