//! The page: which requests get it, its assets, and its headers.

use crate::support::{
    broker::TestBroker,
    rest_client::{Answer, sent},
};
use reqwest::{Client, Method};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A request with these headers, without a token.
async fn fetch(broker: &TestBroker, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = Client::new().request(method, broker.url(path));
    sent(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

fn asset(name: &str) -> String {
    format!("/assets/{}/{name}", ui::BUILD)
}

#[tokio::test]
async fn a_browser_gets_the_page_at_every_page_path() {
    let broker = TestBroker::start().await;
    for path in ["/", "/r", "/r/12", "/r/12?file=a.rs&line=3", "/sign-in", "/no/such/page", "/settings/"] {
        let page = fetch(&broker, "GET", path, &[("accept", BROWSER)]).await;
        assert_eq!((page.status, page.kind()), (200, "text/html"), "{path}: {page:?}");
        assert_eq!(page.text, ui::index_html(), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        let head = fetch(&broker, "HEAD", path, &[("accept", BROWSER)]).await;
        assert_eq!((head.status, head.kind(), head.text.as_str()), (200, "text/html", ""), "{path}");
        assert_eq!(head.header("etag"), page.header("etag"));
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn other_requests_for_unknown_paths_are_not_found() {
    let broker = TestBroker::start().await;
    for accept in ["*/*", "application/json", "text/event-stream", "image/avif,image/*,*/*;q=0.8"] {
        fetch(&broker, "GET", "/r/12", &[("accept", accept)]).await.refused(404, "not_found");
    }
    for path in ["/api/v1/nothing", "/api/v2", "/mcp/nothing", "/debug/nothing", "/healthz/nothing", "/ws/nothing"] {
        fetch(&broker, "GET", path, &[("accept", BROWSER)]).await.refused(404, "not_found");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let headers = [("accept", BROWSER), ("content-type", "application/json")];
        fetch(&broker, method, "/r/12", &headers).await.refused(404, "not_found");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_page_is_revalidated_and_its_assets_are_kept() {
    let broker = TestBroker::start().await;
    let page = fetch(&broker, "GET", "/", &[("accept", BROWSER)]).await;
    let etag = page.header("etag").unwrap();
    let again = fetch(&broker, "GET", "/r/1", &[("accept", BROWSER), ("if-none-match", etag)]).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(again.header("content-security-policy"), page.header("content-security-policy"));
    assert_eq!(fetch(&broker, "GET", "/", &[("accept", BROWSER), ("if-none-match", "\"old\"")]).await.status, 200);

    for file in ui::FILES {
        let Some(name) = file.name.strip_prefix("assets/") else { continue };
        let loaded = reqwest::get(broker.url(&asset(name))).await.unwrap();
        assert_eq!(loaded.status(), 200, "{name}");
        let headers = loaded.headers().clone();
        assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
        assert_eq!(
            (&headers["content-type"], &headers["etag"]),
            (&file.content_type().parse().unwrap(), &file.etag.parse().unwrap())
        );
        assert_eq!(loaded.bytes().await.unwrap(), file.bytes, "{name}");
    }
    let icon = fetch(&broker, "GET", "/favicon.ico", &[]).await;
    assert_eq!((icon.status, icon.kind(), icon.header("cache-control")), (200, "image/svg+xml", Some("no-cache")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_asset_of_another_build_is_not_found() {
    let broker = TestBroker::start().await;
    let index = asset("../index.html");
    for path in [
        "/assets/0123456789abcdef/favicon.svg",
        "/assets/favicon.svg",
        "/assets/",
        &asset(""),
        &asset("nothing.js"),
        &asset("FAVICON.SVG"),
        &asset("favicon.svg/"),
        &index.replace('/', "%2f").replacen("%2f", "/", 3),
    ] {
        let missing = fetch(&broker, "GET", path, &[("accept", BROWSER)]).await;
        missing.refused(404, "not_found");
        assert!(missing.header("cache-control").is_none_or(|value| value == "no-store"), "{path}: {missing:?}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_page_has_strict_headers() {
    let broker = TestBroker::start().await;
    let origin = format!("127.0.0.1:{}", broker.port());
    for (path, accept) in [("/r/12".to_owned(), BROWSER), (asset("favicon.svg"), "*/*"), ("/favicon.ico".into(), "*/*")]
    {
        let answer = fetch(&broker, "GET", &path, &[("accept", accept)]).await;
        let policy = answer.header("content-security-policy").unwrap();
        let directives: Vec<_> = policy.split("; ").collect();
        assert_eq!(
            directives,
            [
                "default-src 'none'",
                "script-src 'self' 'wasm-unsafe-eval'",
                "style-src 'self' 'unsafe-inline'",
                "img-src 'self' data:",
                "font-src 'self'",
                "worker-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
                &format!("connect-src 'self' ws://{origin}"),
            ],
            "{path}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let permissions = answer.header("permissions-policy").unwrap();
        assert!(permissions.contains("camera=()") && permissions.contains("microphone=()"), "{permissions}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_link_on_another_site_opens_the_page_and_nothing_else() {
    let broker = TestBroker::start().await;
    let link = |site| {
        [("accept", BROWSER), ("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
    };
    for site in ["cross-site", "same-site"] {
        for path in ["/", "/r/12"] {
            assert_eq!(fetch(&broker, "GET", path, &link(site)).await.kind(), "text/html", "{site} {path}");
        }
        for path in ["/api/v1/reviews", "/api/v1/docs", "/metrics", "/healthz", "/favicon.ico", &asset("favicon.svg")] {
            fetch(&broker, "GET", path, &link(site)).await.refused(403, "cross_site");
        }
        let frame = link(site).map(|(name, value)| (name, if name == "sec-fetch-dest" { "iframe" } else { value }));
        fetch(&broker, "GET", "/r/12", &frame).await.refused(403, "cross_site");
        let posted = [&link(site)[..], &[("content-type", "application/json")]].concat();
        fetch(&broker, "POST", "/r/12", &posted).await.refused(403, "cross_site");
    }
    // What the page then loads.
    let own = [("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    assert_eq!(fetch(&broker, "GET", &asset("favicon.svg"), &own).await.status, 200);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_page_needs_no_token() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    assert_eq!(fetch(&broker, "GET", "/r/12", &[("accept", BROWSER)]).await.kind(), "text/html");
    assert_eq!(fetch(&broker, "GET", &asset("favicon.svg"), &[]).await.status, 200);
    assert_eq!(fetch(&broker, "GET", "/favicon.ico", &[]).await.status, 200);
    fetch(&broker, "GET", &asset("nothing.js"), &[]).await.refused(404, "not_found");
    for (path, accept) in [("/r/12", "*/*"), ("/api/v1/reviews", BROWSER), ("/api/v1/nothing", BROWSER)] {
        fetch(&broker, "GET", path, &[("accept", accept)]).await.refused(401, "token_needed");
    }
    broker.stop_and_check().await;
}
