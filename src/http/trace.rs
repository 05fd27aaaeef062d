//! Every request has a trace id: the caller's own, where it sends a valid `traceparent`, or one that is made here. It
//! stands in the log line of the call, in `x-trace-id` of the answer and in the body of refusals by the door. Where
//! traces are sent somewhere, the request is a span of it.

use crate::telemetry::traces::{self, Kind, Span, Started};
use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method},
    middleware::Next,
    response::Response,
};
use std::{fmt, num::NonZeroU64};
use uuid::Uuid;

const PARENT: &str = "traceparent";
const TRACE: HeaderName = HeaderName::from_static("x-trace-id");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId {
    id: u128,
    /// The request itself, where somebody is told of it.
    span: Option<NonZeroU64>,
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.id)
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

    /// A span of this request that ends now, to be filled and [recorded](traces::record). `None`: nobody wants it.
    pub(crate) fn child(self, name: &'static str, started: impl FnOnce() -> Started) -> Option<Span> {
        let parent = self.span?;
        Some(Span::ended(self.id, traces::next_span()?, Some(parent), name, Kind::Internal, started()))
    }
}

/// What a request brings along.
#[derive(Debug, Clone, Copy)]
struct Parent {
    trace: u128,
    span: Option<NonZeroU64>,
    is_sampled: bool,
}

/// The outermost layer.
pub(super) async fn pass(mut request: Request, next: Next) -> Response {
    let parent = sent(request.headers());
    let id = parent.map_or_else(|| Uuid::new_v4().as_u128(), |parent| parent.trace);
    // Whoever has asked not to be traced is not.
    let span = if parent.is_none_or(|parent| parent.is_sampled) { traces::next_span() } else { None };
    let trace = TraceId { id, span };
    let asked = span.map(|span| Asked::of(span, &request));
    request.extensions_mut().insert(trace);
    let mut response = CURRENT.scope(trace, next.run(request)).await;
    if let Some(asked) = asked {
        asked.answered(id, parent.and_then(|parent| parent.span), &response);
    }
    if let Ok(value) = HeaderValue::try_from(trace.to_string()) {
        response.headers_mut().insert(TRACE, value);
    }
    response
}

/// What a span says of a request.
struct Asked {
    span: NonZeroU64,
    method: &'static str,
    route: Option<MatchedPath>,
    started: Started,
}

impl Asked {
    fn of(span: NonZeroU64, request: &Request) -> Self {
        let known =
            [Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE, Method::PUT, Method::OPTIONS];
        let words = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"];
        let known = known.iter().zip(words).find(|(method, _)| *method == request.method());
        let method = known.map_or("_OTHER", |(_, word)| word);
        Self { span, method, route: request.extensions().get().cloned(), started: Started::now() }
    }

    fn answered(self, trace: u128, parent: Option<NonZeroU64>, response: &Response) {
        let Self { span, method, route, started } = self;
        let route = route.as_ref().map(MatchedPath::as_str);
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let status = response.status();
        let span = Span::ended(trace, span, parent, name, Kind::Server, started)
            .with("http.request.method", method)
            .with("http.response.status_code", status.as_u16())
            .failed(status.is_server_error());
        traces::record(match route {
            Some(route) => span.with("http.route", route),
            None => span,
        });
    }
}

/// W3C Trace Context: version, trace id, parent id and flags in lowercase hex.
fn sent(headers: &HeaderMap) -> Option<Parent> {
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
    Some(Parent {
        trace: u128::from_str_radix(trace, 16).ok()?,
        span: u64::from_str_radix(span, 16).ok().and_then(NonZeroU64::new),
        is_sampled: u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1),
    })
}

#[cfg(test)]
mod tests {
    use super::sent;
    use axum::http::{HeaderMap, HeaderValue};

    fn read(values: &[&'static str]) -> Option<String> {
        let headers: HeaderMap =
            values.iter().map(|value| (super::PARENT.parse().unwrap(), HeaderValue::from_static(value))).collect();
        sent(&headers).map(|parent| format!("{:032x}", parent.trace))
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
