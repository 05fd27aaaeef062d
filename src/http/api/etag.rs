//! ETags: a review's version, and the conditions that callers set on it.

use crate::service::CallError;
use api::ErrorBody;
use axum::http::{HeaderMap, HeaderValue, header};

pub(super) fn from_version(version: u64) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{version}\"")).ok()
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
    let version = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let invalid = || {
        let problem = "expected one ETag of this review from a response, such as \"7\", or *";
        CallError::Refused(ErrorBody::invalid("If-Match", problem))
    };
    version.and_then(|version| version.parse().ok()).map(Some).ok_or_else(invalid)
}

/// Whether `If-None-Match` names this ETag.
pub(super) fn is_known(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

#[cfg(test)]
mod tests {
    use super::{expected_version, from_version, is_known};
    use axum::http::{HeaderMap, HeaderValue, header};

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn if_match_names_a_version() {
        assert_eq!(expected_version(&HeaderMap::new()).ok(), Some(None));
        assert_eq!(expected_version(&headers(header::IF_MATCH, "\"7\"")).ok(), Some(Some(7)));
        assert_eq!(expected_version(&headers(header::IF_MATCH, "*")).ok(), Some(None));
        for bad in ["7", "W/\"7\"", "\"x\"", "\"7\", \"8\"", "", "\"-1\""] {
            assert!(expected_version(&headers(header::IF_MATCH, bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn if_none_match_is_compared_weakly() {
        let etag = from_version(7).expect("an ETag");
        for known in ["\"7\"", "W/\"7\"", "\"6\", \"7\"", "*"] {
            assert!(is_known(&headers(header::IF_NONE_MATCH, known), &etag), "{known}");
        }
        for other in ["\"6\"", "7", ""] {
            assert!(!is_known(&headers(header::IF_NONE_MATCH, other), &etag), "{other}");
        }
    }
}
