use super::{BROKER_PID_HEADER, ErrorCode, RequestGuard, bearer_secret};
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header::HOST};
use std::time::Duration;

#[track_caller]
fn check(method: Method, headers: &[(&str, &str)], expected: Result<(), ErrorCode>) {
    check_path("/mcp", method, headers, expected);
}

#[track_caller]
fn check_path(path: &'static str, method: Method, headers: &[(&str, &str)], expected: Result<(), ErrorCode>) {
    let guard = RequestGuard::new(8321, 1, Duration::from_secs(1));
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            axum::http::HeaderName::try_from(*name).expect("a name"),
            HeaderValue::try_from(*value).expect("a value"),
        );
    }
    let checked = guard.check_headers(&method, &Uri::from_static(path), &map).map_err(|body| body.code);
    assert_eq!(checked, expected, "{method} {path} {headers:?}");
}

#[test]
fn only_a_host_of_the_broker_is_allowed() {
    for host in ["127.0.0.1:8321", "localhost:8321", "LOCALHOST:8321", "[::1]:8321", "127.9.9.9:8321"] {
        check(Method::GET, &[("host", host)], Ok(()));
    }
    for host in [
        "evil.example:8321",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost.evil.example:8321",
        "user@127.0.0.1:8321",
        "10.0.0.1:8321",
        "",
        "127.0.0.1:8321, evil.example",
    ] {
        check(Method::GET, &[("host", host)], Err(ErrorCode::HostNotAllowed));
    }
    check(Method::GET, &[], Err(ErrorCode::HostMissing));
    check(Method::GET, &[("host", "127.0.0.1:8321"), ("host", "127.0.0.1:8321")], Err(ErrorCode::HostNotAllowed));
}

#[test]
fn configured_host_names_are_allowed() {
    let host = |guard: &RequestGuard, host: &'static str| {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
        guard.check_headers(&Method::GET, &Uri::from_static("/mcp"), &headers).map_err(|body| body.code)
    };
    let names = ["Review.example".to_owned(), "fd00:0::1".to_owned()];
    let guard = |address: &str, port| {
        RequestGuard::new(port, 1, Duration::from_secs(1)).with_hosts(address.parse().expect("an address"), &names)
    };
    let any = guard("0.0.0.0", 8321);
    for name in ["127.0.0.1:8321", "localhost:8321", "review.EXAMPLE:8321", "[fd00::1]:8321"] {
        assert_eq!(host(&any, name), Ok(()), "{name}");
    }
    for name in ["0.0.0.0:8321", "192.168.0.9:8321", "review.example", "review.example:80", "x.review.example:8321"] {
        assert_eq!(host(&any, name), Err(ErrorCode::HostNotAllowed), "{name}");
    }
    assert_eq!(host(&guard("192.168.0.9", 8321), "192.168.0.9:8321"), Ok(()));
    assert_eq!(host(&guard("192.168.0.9", 80), "review.example"), Ok(()));
}

#[test]
fn a_bearer_secret_is_parsed() {
    let parse = |text: &'static str| bearer_secret(&HeaderValue::from_static(text)).map(str::to_owned);
    assert_eq!(parse("Bearer cs_1"), Some("cs_1".into()));
    assert_eq!(parse("bearer  cs_1"), Some("cs_1".into()));
    for malformed in ["cs_1", "Bearer", "Bearer ", "Basic cs_1", "Bearer sk_1"] {
        assert_eq!(parse(malformed), None, "{malformed}");
    }
}

#[test]
fn a_request_for_another_broker_is_rejected() {
    let host = ("host", "127.0.0.1:8321");
    let own = std::process::id().to_string();
    check(Method::GET, &[host, (BROKER_PID_HEADER.as_str(), &own)], Ok(()));
    check(Method::GET, &[host, (BROKER_PID_HEADER.as_str(), "1")], Err(ErrorCode::AnotherBroker));
}

#[test]
fn a_request_from_a_foreign_page_is_rejected() {
    let host = ("host", "127.0.0.1:8321");
    check(Method::GET, &[host, ("origin", "http://localhost:8321")], Ok(()));
    for origin in ["null", "http://localhost:3000", "https://localhost:8321", "http://evil.example", "file://"] {
        check(Method::GET, &[host, ("origin", origin)], Err(ErrorCode::OriginNotAllowed));
    }
    check(Method::GET, &[host, ("sec-fetch-site", "same-origin")], Ok(()));
    check(Method::GET, &[host, ("sec-fetch-site", "none")], Ok(()));
    check(Method::GET, &[host, ("sec-fetch-site", "cross-site")], Err(ErrorCode::CrossSite));
    check(Method::GET, &[host, ("sec-fetch-site", "same-site")], Err(ErrorCode::CrossSite));
}

/// What a browser sends when a person follows a link on another site.
const LINK: [(&str, &str); 5] = [
    ("host", "127.0.0.1:8321"),
    ("accept", "text/html,*/*;q=0.8"),
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

/// The link with other values of some headers; an empty value removes a header.
fn link(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let changed = LINK.map(|(name, value)| {
        let change = changes.iter().find(|(changed, _)| *changed == name);
        (name, change.map_or(value, |(_, value)| *value))
    });
    let added = changes.iter().copied().filter(|(name, _)| !LINK.iter().any(|(known, _)| known == name));
    changed.into_iter().chain(added).filter(|(_, value)| !value.is_empty()).collect()
}

#[test]
fn a_link_on_another_site_opens_the_page() {
    for path in ["/", "/r/12", "/sign-in", "/no/such/page"] {
        check_path(path, Method::GET, &LINK, Ok(()));
        check_path(path, Method::GET, &link(&[("sec-fetch-site", "same-site")]), Ok(()));
    }
}

#[test]
fn other_requests_of_another_site_are_rejected() {
    let refused = Err(ErrorCode::CrossSite);
    // Only page paths.
    for path in ["/mcp", "/api/v1/reviews", "/api/v1/docs", "/ws", "/metrics", "/debug/actors", "/healthz", "/readyz"] {
        check_path(path, Method::GET, &LINK, refused);
    }
    for path in ["/assets/x/main.js", "/favicon.ico"] {
        check_path(path, Method::GET, &LINK, refused);
    }
    // Only navigations that open a tab and accept HTML.
    for changes in [
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-mode", "websocket"),
        ("sec-fetch-mode", ""),
        ("sec-fetch-dest", "iframe"),
        ("sec-fetch-dest", "object"),
        ("sec-fetch-dest", "image"),
        ("sec-fetch-dest", "empty"),
        ("sec-fetch-dest", ""),
        ("accept", "*/*"),
        ("accept", ""),
    ] {
        check_path("/r/12", Method::GET, &link(&[changes]), refused);
    }
    for method in [Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS] {
        check_path("/r/12", method, &link(&[("content-type", "application/json")]), refused);
    }
    // A link does not make up for a foreign Host or Origin.
    check_path("/r/12", Method::GET, &link(&[("host", "evil.example:8321")]), Err(ErrorCode::HostNotAllowed));
    let form = link(&[("origin", "http://evil.example")]);
    check_path("/r/12", Method::GET, &form, Err(ErrorCode::OriginNotAllowed));
    check_path("/r/12", Method::GET, &link(&[("origin", "null")]), Err(ErrorCode::OriginNotAllowed));
}

#[test]
fn only_json_bodies_are_allowed() {
    let host = ("host", "127.0.0.1:8321");
    check(Method::POST, &[host, ("content-type", "application/json; charset=utf-8")], Ok(()));
    check(Method::POST, &[host, ("content-type", "text/plain")], Err(ErrorCode::UnsupportedMediaType));
    check(Method::POST, &[host, ("content-type", "application/jsonp")], Err(ErrorCode::UnsupportedMediaType));
    check(Method::POST, &[host], Err(ErrorCode::UnsupportedMediaType));
}
