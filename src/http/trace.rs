//! Every request has a trace id: the caller's own, where it sends a valid `traceparent`, or one that is made here. It
//! stands in the log line of the call, in `x-trace-id` of the answer and in the body of refusals by the door.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use std::fmt;
use uuid::Uuid;

const PARENT: &str = "traceparent";
const TRACE: HeaderName = HeaderName::from_static("x-trace-id");

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
    /// That of the request which this task answers.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(|trace| *trace).ok()
    }
}

/// The outermost layer.
pub(super) async fn pass(mut request: Request, next: Next) -> Response {
    let trace = sent(request.headers()).unwrap_or_else(|| TraceId(Uuid::new_v4().as_u128()));
    request.extensions_mut().insert(trace);
    let mut response = CURRENT.scope(trace, next.run(request)).await;
    if let Ok(value) = HeaderValue::try_from(trace.to_string()) {
        response.headers_mut().insert(TRACE, value);
    }
    response
}

/// W3C Trace Context: version, trace id, parent id and flags in lowercase hex.
fn sent(headers: &HeaderMap) -> Option<TraceId> {
    let mut all = headers.get_all(PARENT).iter();
    let (Some(parent), None) = (all.next(), all.next()) else { return None };
    let parts: Vec<_> = parent.to_str().ok()?.split('-').collect();
    let [version, trace, span, flags, rest @ ..] = parts.as_slice() else { return None };
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let is_known = *version != "ff" && (*version != "00" || rest.is_empty());
    if !is_known || !is_hex(version, 2) || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
        return None;
    }
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    let trace = (!is_zero(trace) && !is_zero(span)).then_some(trace)?;
    u128::from_str_radix(trace, 16).ok().map(TraceId)
}

#[cfg(test)]
mod tests {
    use super::sent;
    use axum::http::{HeaderMap, HeaderValue};

    fn read(values: &[&'static str]) -> Option<String> {
        let headers: HeaderMap =
            values.iter().map(|value| (super::PARENT.parse().unwrap(), HeaderValue::from_static(value))).collect();
        sent(&headers).map(|trace| trace.to_string())
    }

    #[test]
    fn a_valid_parent_is_taken_over() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(read(&["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]).as_deref(), Some(trace));
        assert_eq!(read(&["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later"]).as_deref(), Some(trace));
    }

    #[test]
    fn anything_else_is_not() {
        for parent in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(read(&[parent]), None, "{parent}");
        }
        let twice = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(read(&[twice, twice]), None);
        assert_eq!(read(&[]), None);
    }
}
