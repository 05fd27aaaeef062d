//! Serves the web page: `index.html` for page paths, its assets, and the headers that limit what a browser lets the page
//! do. The files are embedded by the `ui` package.

use super::{
    problem_details::{problem, with_text},
    rest::response::{is_known, with_status},
};
use api::{ErrorBody, ErrorCode};
use axum::{
    extract::{Path, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, uri::Authority},
    response::Response,
};

/// First segments of paths that are never the page.
const RESERVED_SEGMENTS: [&str; 9] =
    ["api", "mcp", "ws", "debug", "metrics", "healthz", "readyz", "assets", "favicon.ico"];

/// The beginning of the path of every asset.
pub(super) const ASSETS_PREFIX: &str = "/assets/";

/// The name of the asset that is also served as `/favicon.ico`.
const ICON: &str = "favicon.svg";

/// WebAssembly is for the syntax colours of diffs, inline styles are for their layout. Neither lets a text run a script.
/// A browser may load nothing from another origin.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; connect-src 'self'";

/// What the page never uses.
const PERMISSIONS: &str = "accelerometer=(), bluetooth=(), camera=(), display-capture=(), geolocation=(), \
                           gyroscope=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()";

/// Whether a request is for the page. Everything else keeps its JSON responses: an API client that mistypes a path
/// should not get HTML.
pub(super) fn is_page_request(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    (method == Method::GET || method == Method::HEAD) && is_page_path(path) && accepts_html(headers)
}

fn is_page_path(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    !RESERVED_SEGMENTS.contains(&first)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    types.any(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
}

/// Whether a browser opens the address in a tab, as after a click on a link. It does not let the site with the link read
/// the response.
pub(super) fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name, value: &str| headers.get(name).is_some_and(|given| given == value);
    method == Method::GET && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

/// Responds to a path without a route: the page, or 404.
pub(super) async fn fallback(request: Request) -> Response {
    if is_page_request(request.method(), request.uri().path(), request.headers()) {
        index(request.headers())
    } else {
        problem(ErrorBody::new(ErrorCode::NotFound, "not found"))
    }
}

fn index(request: &HeaderMap) -> Response {
    let etag = HeaderValue::from_static(ui::INDEX_ETAG);
    let mut response = if is_known(request, &etag) {
        with_status(StatusCode::NOT_MODIFIED)
    } else {
        with_text(StatusCode::OK, "text/html; charset=utf-8", ui::index_html())
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    // After an update of the broker the next load must name the new assets.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    add_page_headers(headers, request);
    response
}

/// `GET /assets/{build}/{*name}`. An older page gets 404, and then knows that the broker was updated.
pub(super) async fn asset(Path((build, name)): Path<(String, String)>, request: Request) -> Response {
    match ui::find_asset(&name).filter(|_| build == ui::BUILD) {
        Some(file) => {
            let mut response = serve(file, request.headers());
            let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
            response.headers_mut().insert(header::CACHE_CONTROL, forever);
            response
        }
        None => missing(),
    }
}

/// `GET /favicon.ico`, which browsers also ask for while they show JSON.
pub(super) async fn favicon(request: Request) -> Response {
    match ui::find_asset(ICON) {
        Some(file) => {
            let mut response = serve(file, request.headers());
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
        None => missing(),
    }
}

fn serve(file: &'static ui::File, request: &HeaderMap) -> Response {
    let etag = HeaderValue::from_static(file.etag);
    let mut response = if is_known(request, &etag) {
        with_status(StatusCode::NOT_MODIFIED)
    } else {
        with_text(StatusCode::OK, file.content_type(), file.bytes)
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    // A worker has the policy of its own script, and an image can be opened like a page.
    add_page_headers(headers, request);
    response
}

fn missing() -> Response {
    let mut response =
        problem(ErrorBody::new(ErrorCode::NotFound, "no such file in this build of the page; reload it"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn add_page_headers(headers: &mut HeaderMap, request: &HeaderMap) {
    let policy = HeaderValue::try_from(format!("{POLICY}{}", websocket_source(request)));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static(POLICY)));
    // The broker accepts a session only from its own page. Browsers that do not say where a request comes from in other
    // headers do it by the referrer, which no other origin gets.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("permissions-policy", HeaderValue::from_static(PERMISSIONS));
}

/// The source that allows the broker's own WebSocket: Safari before 16 does not count it as `'self'`. The guard has
/// checked the host. A policy cannot name an IPv6 address.
fn websocket_source(request: &HeaderMap) -> String {
    let host = request.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    match host {
        Some(host) if !host.host().contains(':') => format!(" ws://{}:{}", host.host(), host.port_u16().unwrap_or(80)),
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_navigation, is_page_path, is_page_request, websocket_source};
    use crate::http::Route;
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_route_is_not_a_page_path() {
        for route in Route::all() {
            assert!(!is_page_path(route.path()), "{}", route.path());
        }
        for path in ["/mcp/", "/mcp/x", "/api", "/api/v2/x", "/debug", "//healthz", "/assets/", "/ws/x"] {
            assert!(!is_page_path(path), "{path}");
        }
        for path in ["/", "/r", "/r/12", "/sign-in", "/apiary", "/settings/"] {
            assert!(is_page_path(path), "{path}");
        }
    }

    #[test]
    fn only_a_reader_of_html_gets_the_page() {
        let is_page = |method: Method, accept| is_page_request(&method, "/r/12", &headers(&[("accept", accept)]));
        assert!(is_page(Method::GET, BROWSER) && is_page(Method::HEAD, BROWSER) && is_page(Method::GET, "Text/HTML"));
        for accept in ["*/*", "application/json", "text/*", "text/htmlx", "application/json;x=text/html", ""] {
            assert!(!is_page(Method::GET, accept), "{accept}");
        }
        assert!(!is_page(Method::POST, BROWSER) && !is_page(Method::DELETE, BROWSER));
        assert!(!is_page_request(&Method::GET, "/r/12", &HeaderMap::new()));
    }

    #[test]
    fn a_navigation_opens_a_document_in_a_tab() {
        let is = |method: Method, mode, dest| {
            is_navigation(&method, &headers(&[("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]))
        };
        assert!(is(Method::GET, "navigate", "document"));
        for (mode, dest) in [("navigate", "iframe"), ("navigate", "embed"), ("no-cors", "document"), ("cors", "empty")]
        {
            assert!(!is(Method::GET, mode, dest), "{mode} {dest}");
        }
        assert!(!is(Method::POST, "navigate", "document"));
        assert!(!is_navigation(&Method::GET, &HeaderMap::new()));
    }

    #[test]
    fn the_policy_names_the_own_websocket() {
        let source = |host| websocket_source(&headers(&[("host", host)]));
        assert_eq!(source("localhost:8321"), " ws://localhost:8321");
        assert_eq!(source("broker.lan"), " ws://broker.lan:80");
        assert_eq!(source("[::1]:8321"), "");
    }
}
