//! A review's version as its ETag, and what callers say of those they know.

use crate::mcp::{Failure, Refused};
use axum::http::{HeaderMap, HeaderValue, header};

pub(super) fn of(version: u64) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{version}\"")).ok()
}

/// The version that `If-Match` wants; any, if it says `*` or nothing.
pub(super) fn expected(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
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
    let problem = "expected one ETag of this review as it was answered, such as \"7\", or *";
    let bad = || Failure::Refused(Refused::invalid("If-Match", problem));
    version.and_then(|version| version.parse().ok()).map(Some).ok_or_else(bad)
}

/// Whether `If-None-Match` names what would be answered.
pub(super) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let given = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::{expected, is_known, of};
    use axum::http::{HeaderMap, HeaderValue, header};

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_version_is_read_from_its_tag() {
        assert_eq!(expected(&HeaderMap::new()).ok(), Some(None));
        assert_eq!(expected(&headers(header::IF_MATCH, "\"7\"")).ok(), Some(Some(7)));
        assert_eq!(expected(&headers(header::IF_MATCH, "*")).ok(), Some(None));
        for bad in ["7", "W/\"7\"", "\"x\"", "\"7\", \"8\"", "", "\"-1\""] {
            assert!(expected(&headers(header::IF_MATCH, bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_caller_knows_is_compared_weakly() {
        let tag = of(7).expect("a tag");
        for known in ["\"7\"", "W/\"7\"", "\"6\", \"7\"", "*"] {
            assert!(is_known(&headers(header::IF_NONE_MATCH, known), &tag), "{known}");
        }
        for other in ["\"6\"", "7", ""] {
            assert!(!is_known(&headers(header::IF_NONE_MATCH, other), &tag), "{other}");
        }
    }
}
