//! Encodes the response of an operation as an HTTP response, with an ETag and a link to the next page. The ETag of a
//! review is its version, so callers can make conditional requests (`If-Match`).

use super::ApiRequest;
use crate::{
    http::problem_details::with_text,
    service::{CallError, JsonText},
};
use api::{ErrorBody, OperationId};
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::Response,
};
use domain::text::short_commit;
use serde::Deserialize;

/// The fields of a response that become headers.
#[derive(Default, Deserialize)]
struct HeaderFields {
    version: Option<u64>,
    next_cursor: Option<String>,
    review_id: Option<String>,
    branch_head: Option<String>,
}

pub(super) fn success(request: &ApiRequest, response: JsonText) -> Response {
    let (route, parts) = (request.route, &request.parts);
    let fields: HeaderFields = serde_json::from_str(&response.0).unwrap_or_default();
    let version = fields.version.filter(|_| route.is_about_a_review());
    let etag = version.and_then(|version| match &fields.branch_head {
        Some(head) => moving_etag(version, head),
        None => version_etag(version),
    });
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let is_known = etag.as_ref().is_some_and(|etag| reads && is_known(&parts.headers, etag));
    let mut response = if is_known {
        with_status(StatusCode::NOT_MODIFIED)
    } else {
        let status = if route.creates() { StatusCode::CREATED } else { StatusCode::OK };
        with_text(status, "application/json", response.0)
    };
    let headers = response.headers_mut();
    // A file of a content that the caller names by its hash stays the same.
    let never_changes = route.operation == OperationId::GetFile && request.arguments.contains_key("content_hash");
    set_caching(headers, never_changes);
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

pub(in crate::http) fn with_status(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

pub(super) fn set_caching(headers: &mut HeaderMap, never_changes: bool) {
    if never_changes {
        let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, forever);
    } else {
        set_no_cache(headers);
    }
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

pub(super) fn version_etag(version: u64) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{version}\"")).ok()
}

/// The ETag of a response that also says where a branch is, which moves without a change of the review.
fn moving_etag(version: u64, branch_head: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{version}-{}\"", short_commit(branch_head))).ok()
}

/// The version that `If-Match` requires; `None` for any version.
pub(super) fn expected_version(headers: &HeaderMap) -> Result<Option<u64>, CallError> {
    let mut given = headers.get_all(header::IF_MATCH).iter();
    let value = match (given.next(), given.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().unwrap_or_default().trim(),
        (Some(_), Some(_)) => "",
    };
    if value == "*" {
        return Ok(None);
    }
    let tag = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let version = tag.map(|tag| tag.split_once('-').map_or(tag, |(version, _)| version));
    let invalid = || {
        let problem = "expected one ETag of this review from a response, such as \"7\", or *";
        CallError::Refused(ErrorBody::invalid("If-Match", problem))
    };
    version.and_then(|version| version.parse().ok()).map(Some).ok_or_else(invalid)
}

/// Whether `If-None-Match` names this ETag.
pub(in crate::http) fn is_known(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

#[cfg(test)]
mod tests {
    use super::{expected_version, is_known, version_etag, with_cursor};
    use axum::http::{HeaderMap, HeaderValue, Uri, header};

    #[test]
    fn the_link_to_the_next_page_keeps_the_filters() {
        let next = |uri: &'static str| with_cursor(&Uri::from_static(uri), "a+b");
        assert_eq!(next("/api/v1/reviews"), "/api/v1/reviews?cursor=a%2Bb");
        assert_eq!(next("/api/v1/reviews?cursor=x&status=pending"), "/api/v1/reviews?status=pending&cursor=a%2Bb");
    }

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn if_match_names_a_version() {
        assert_eq!(expected_version(&HeaderMap::new()).ok(), Some(None));
        assert_eq!(expected_version(&headers(header::IF_MATCH, "\"7\"")).ok(), Some(Some(7)));
        assert_eq!(expected_version(&headers(header::IF_MATCH, "\"7-1a2b\"")).ok(), Some(Some(7)));
        assert_eq!(expected_version(&headers(header::IF_MATCH, "*")).ok(), Some(None));
        for bad in ["7", "W/\"7\"", "\"x\"", "\"7\", \"8\"", "", "\"-1\""] {
            assert!(expected_version(&headers(header::IF_MATCH, bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn if_none_match_is_compared_weakly() {
        let etag = version_etag(7).expect("an ETag");
        for known in ["\"7\"", "W/\"7\"", "\"6\", \"7\"", "*"] {
            assert!(is_known(&headers(header::IF_NONE_MATCH, known), &etag), "{known}");
        }
        for other in ["\"6\"", "7", ""] {
            assert!(!is_known(&headers(header::IF_NONE_MATCH, other), &etag), "{other}");
        }
    }
}
