//! The request guard, the limits of connections and bodies, and the pages for operators.

use crate::support::{
    broker::{TIMEOUT, TestBroker, countersign},
    client::{TestClient, proposal, proposal_with},
    wait_until::wait_until,
};
use countersign::http::Route;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// An unknown path, guarded like the routes.
const NOWHERE: &str = "/no/such/page";

/// The path of every route, and an unknown one. The router is made from the same list.
fn paths() -> BTreeSet<String> {
    Route::all().map(address).chain([NOWHERE.to_owned()]).collect()
}

/// The path with its parameters filled in.
fn address(route: Route) -> String {
    if route == Route::PageAsset {
        return format!("/assets/{}/favicon.svg", ui::BUILD);
    }
    let filled = |part: &'static str| if part.starts_with('{') { "1" } else { part };
    route.path().split('/').map(filled).collect::<Vec<_>>().join("/")
}

fn mcp_paths() -> impl Iterator<Item = &'static str> {
    Route::all().filter(|route| matches!(route, Route::Mcp(_))).map(Route::path)
}

/// A raw HTTP response.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.expect("a status"), head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    #[track_caller]
    fn assert(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["code"].as_str()), (status, Some(code)), "{self:?}");
        assert!(self.json()["error"].as_str().is_some_and(|words| !words.is_empty()), "{self:?}");
    }
}

/// A raw connection.
struct Wire(TcpStream);

impl Wire {
    async fn to(broker: &TestBroker) -> Self {
        Self(TcpStream::connect(("127.0.0.1", broker.port())).await.unwrap())
    }

    async fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Everything until the broker closes the connection.
    async fn hear(&mut self) -> String {
        let mut heard = Vec::new();
        // A reset after the response counts as the end.
        let _ = timeout(TIMEOUT, self.0.read_to_end(&mut heard)).await.expect("the broker ends the connection");
        String::from_utf8(heard).unwrap()
    }
}

type Headers<'a> = &'a [(&'a str, &'a str)];

/// Sends a request with exactly these headers.
async fn send(broker: &TestBroker, method: &str, target: &str, headers: Headers<'_>, body: &str) -> Answer {
    let port = broker.port().to_string();
    let mut text = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text += &format!("{name}: {}\r\n", value.replace("PORT", &port));
    }
    let mut wire = Wire::to(broker).await;
    wire.say(&format!("{text}\r\n{body}")).await;
    Answer::read(&wire.hear().await)
}

const HOST: (&str, &str) = ("host", "127.0.0.1:PORT");
const JSON: (&str, &str) = ("content-type", "application/json");
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A call that would change something if it were allowed.
fn create() -> String {
    let params = json!({ "name": "create_review", "arguments": proposal("smuggled") });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn requests_of_a_foreign_page_are_rejected_on_every_route() {
    let broker = TestBroker::start().await;
    let shut: &[(Headers<'_>, u16, &str)] = &[
        (&[], 400, "host_missing"),
        (&[("host", "evil.example:PORT")], 403, "host_not_allowed"),
        (&[("host", "evil.example")], 403, "host_not_allowed"),
        (&[("host", "127.0.0.1")], 403, "host_not_allowed"),
        (&[("host", "127.0.0.1:1")], 403, "host_not_allowed"),
        (&[("host", "127.0.0.1.evil.example:PORT")], 403, "host_not_allowed"),
        (&[HOST, HOST], 403, "host_not_allowed"),
        (&[HOST, ("origin", "http://evil.example")], 403, "origin_not_allowed"),
        (&[HOST, ("origin", "http://127.0.0.1:1")], 403, "origin_not_allowed"),
        (&[HOST, ("origin", "https://127.0.0.1:PORT")], 403, "origin_not_allowed"),
        (&[HOST, ("origin", "null")], 403, "origin_not_allowed"),
        (&[HOST, ("origin", "http://127.0.0.1:PORT"), ("origin", "null")], 403, "origin_not_allowed"),
        (&[HOST, ("sec-fetch-site", "cross-site")], 403, "cross_site"),
        (&[HOST, ("sec-fetch-site", "same-site")], 403, "cross_site"),
        (&[HOST, ("countersign-broker", "1")], 421, "another_broker"),
    ];
    for path in paths() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] {
            for (headers, status, code) in shut {
                let headers = [headers, &[JSON, ACCEPT][..]].concat();
                let answer = send(&broker, method, &path, &headers, &create()).await;
                assert_eq!(answer.status, *status, "{method} {path} {headers:?}");
                assert!(!answer.head.contains("access-control"), "{method} {path} {headers:?}: {}", answer.head);
                assert!(answer.head.contains("x-content-type-options: nosniff"), "{}", answer.head);
                assert!(answer.head.contains("cross-origin-resource-policy: same-origin"), "{}", answer.head);
                if method != "HEAD" {
                    answer.assert(*status, code);
                }
            }
        }
        let absolute = format!("http://evil.example:{}{path}", broker.port());
        send(&broker, "POST", &absolute, &[HOST, JSON, ACCEPT], &create()).await.assert(403, "host_not_allowed");
    }
    assert_eq!(broker.client().call("list_reviews", json!({})).await["reviews"], json!([]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_body_must_have_the_content_type_json() {
    let broker = TestBroker::start().await;
    let types: &[Headers<'_>] = &[
        &[],
        &[("content-type", "text/plain")],
        &[("content-type", "text/plain; application/json")],
        &[("content-type", "application/x-www-form-urlencoded")],
        &[("content-type", "multipart/form-data; boundary=x")],
        &[JSON, ("content-type", "text/plain")],
    ];
    for path in paths() {
        for method in ["POST", "PUT", "PATCH"] {
            for kind in types {
                let headers = [&[HOST, ACCEPT][..], kind].concat();
                send(&broker, method, &path, &headers, &create()).await.assert(415, "unsupported_media_type");
            }
        }
    }
    assert_eq!(broker.client().call("list_reviews", json!({})).await["reviews"], json!([]));
    broker.stop_and_check().await;
}

fn needs_arguments(route: &api::Route) -> bool {
    route.operation.request_schema().get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}

#[tokio::test]
async fn requests_of_local_clients_are_allowed() {
    let broker = TestBroker::start().await;
    let own: &[Headers<'_>] = &[
        &[HOST],
        &[("host", "localhost:PORT")],
        &[("host", "[::1]:PORT")],
        &[HOST, ("origin", "http://127.0.0.1:PORT")],
        &[HOST, ("origin", "http://localhost:PORT"), ("sec-fetch-site", "same-origin")],
        &[HOST, ("sec-fetch-site", "none")],
        &[HOST, ("content-type", "application/json; charset=utf-8")],
    ];
    for headers in own {
        for route in Route::all() {
            let answer = match route {
                Route::Health | Route::Ready | Route::Actors | Route::Metrics | Route::PageAsset | Route::Favicon => {
                    send(&broker, "GET", &address(route), headers, "").await
                }
                Route::Events => send(&broker, "GET", &format!("{}?follow=false", route.path()), headers, "").await,
                // The upgrade itself is in tests/it/api/events.rs.
                Route::WebSocket => {
                    send(&broker, "GET", route.path(), headers, "").await.assert(426, "upgrade_required");
                    continue;
                }
                Route::Ticket | Route::Session | Route::SessionCodes => {
                    let headers = [headers, &[JSON][..]].concat();
                    let is_twice = headers.iter().filter(|(name, _)| *name == JSON.0).count() > 1;
                    let headers = if is_twice { &headers[..headers.len() - 1] } else { &headers };
                    let answer = send(&broker, "POST", route.path(), headers, "{}").await;
                    // Past the guard, which lets them sign in: without a secret, and without a token.
                    if route == Route::Session {
                        answer.assert(400, "invalid_params");
                    } else if route == Route::SessionCodes {
                        answer.assert(401, "token_needed");
                    } else {
                        assert_eq!(answer.status, 200, "{headers:?}: {answer:?}");
                    }
                    continue;
                }
                // Past the guard; most routes then report that something is missing.
                Route::Api(operation)
                    if operation.method != "GET" || operation.path.contains('{') || needs_arguments(operation) =>
                {
                    let headers =
                        [headers, &[JSON][..usize::from(!headers.iter().any(|(name, _)| *name == JSON.0))]].concat();
                    let answer = send(&broker, operation.method.as_str(), &address(route), &headers, "[]").await;
                    // Only the secret of the data folder may change projects.
                    let is_refused = operation.path.contains("/projects") && answer.status == 403;
                    // Needs no argument, and no reviewer runs.
                    let is_done = operation.id == "stop_reviewers" && answer.status == 200;
                    let is_past = is_refused || is_done || [400, 404].contains(&answer.status);
                    assert!(is_past, "{route:?} {headers:?}: {answer:?}");
                    continue;
                }
                Route::Api(_) => send(&broker, "GET", route.path(), headers, "").await,
                Route::Mcp(_) => {
                    let mut headers = [headers, &[ACCEPT][..]].concat();
                    if !headers.iter().any(|(name, _)| *name == JSON.0) {
                        headers.push(JSON);
                    }
                    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
                    send(&broker, "POST", route.path(), &headers, &ping).await
                }
            };
            assert_eq!(answer.status, 200, "{route:?} {headers:?}: {answer:?}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn mcp_has_no_streams_and_no_sessions() {
    let broker = TestBroker::start().await;
    for path in mcp_paths() {
        for method in ["GET", "DELETE"] {
            let answer = send(&broker, method, path, &[HOST, ("accept", "text/event-stream")], "").await;
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        }
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
        let answer = send(&broker, "POST", path, &[HOST, JSON, ACCEPT], &hello).await;
        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(1)), "{answer:?}");
        assert!(!answer.head.contains("mcp-session-id"), "{}", answer.head);
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn unknown_paths_are_not_found_and_pages_are_read_only() {
    let broker = TestBroker::start().await;
    for path in [NOWHERE, "/", "/mcp/", "/mcp/king", "/debug", "/healthz/x", "/%2e%2e/healthz", "//healthz"] {
        send(&broker, "GET", path, &[HOST], "").await.assert(404, "not_found");
        send(&broker, "POST", path, &[HOST, JSON], &create()).await.assert(404, "not_found");
    }
    for route in [Route::Health, Route::Ready, Route::Actors, Route::Metrics, Route::Events, Route::WebSocket] {
        for method in ["POST", "PUT", "DELETE"] {
            let answer = send(&broker, method, route.path(), &[HOST, JSON], "{}").await;
            assert_eq!(answer.status, 405, "{method} {route:?}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_the_limit() {
    let broker = TestBroker::with_settings("[limits]\ndiff_bytes = 1024\n").await;
    let limit = 2 * 1024 + (2 << 20);
    let large = "x".repeat(limit + 1);
    for path in paths() {
        // As a client that reads the response only after it has sent everything.
        let request = reqwest::Client::new().post(broker.url(&path)).header("content-type", "application/json");
        let answer = request.body(large.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 413, "{path}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["code"], "body_too_large");
        assert!(body["error"].as_str().unwrap().contains(&limit.to_string()), "{body}");
    }
    // Chunked, so that no length is announced.
    let pieces = futures::stream::iter((0..40).map(|_| Ok::<_, std::io::Error>("y".repeat(64 << 10))));
    let request = reqwest::Client::new().post(broker.mcp_url()).header("content-type", "application/json");
    let answer = request.body(reqwest::Body::wrap_stream(pieces)).send().await.unwrap();
    assert_eq!(answer.status(), 413);
    broker.client().submit("still there").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_body_that_is_not_a_jsonrpc_message_is_a_parse_error() {
    let broker = TestBroker::start().await;
    for path in mcp_paths() {
        for body in ["", "{", "[]", "null", "{\"jsonrpc\":\"1.0\"}", "\u{0}", &"[".repeat(100_000)] {
            let answer = send(&broker, "POST", path, &[HOST, JSON, ACCEPT], body).await;
            let short: String = body.chars().take(20).collect();
            assert_eq!(answer.status, 400, "{short:?}: {answer:?}");
            assert!(answer.json()["error"]["code"].is_i64(), "{short:?}: {answer:?}");
        }
    }
    let mut wire = Wire::to(&broker).await;
    // The connection may break before everything is sent.
    let long = format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: {}\r\n\r\n", "x".repeat(1 << 20));
    let _ = wire.0.write_all(long.as_bytes()).await;
    let heard = wire.hear().await;
    assert!(heard.is_empty() || Answer::read(&heard).status == 431, "{heard}");
    let mut wire = Wire::to(&broker).await;
    wire.say("\u{16}\u{3}\u{1} this is not HTTP\r\n\r\n").await;
    assert_eq!(Answer::read(&wire.hear().await).status, 400);
    broker.client().submit("still there").await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_body_of_a_rejected_request_is_not_awaited() {
    let broker = TestBroker::start().await;
    for route in Route::all() {
        let method = match route {
            Route::Api(operation) if ["GET", "DELETE"].contains(&operation.method.as_str()) => {
                operation.method.as_str()
            }
            Route::Health
            | Route::Ready
            | Route::Actors
            | Route::Metrics
            | Route::Events
            | Route::WebSocket
            | Route::PageAsset
            | Route::Favicon => "GET",
            Route::Api(_) | Route::Mcp(_) | Route::Ticket | Route::Session | Route::SessionCodes => continue,
        };
        let mut wire = Wire::to(&broker).await;
        let (path, port) = (address(route), broker.port());
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: 999999999999\r\n\r\n{{");
        wire.say(&head).await;
        let mut first = [0; 9];
        timeout(TIMEOUT, wire.0.read_exact(&mut first)).await.expect("an answer").unwrap();
        assert_eq!(&first, b"HTTP/1.1 ", "{method} {path}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_incomplete_request_times_out() {
    let broker = TestBroker::with_settings("[server]\nheader_timeout = \"200ms\"\nbody_timeout = \"200ms\"\n").await;
    let head = format!("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n", broker.port());
    // No data, half a request line, incomplete headers.
    for half in ["", "PO", &head[..30], &head] {
        let mut wire = Wire::to(&broker).await;
        wire.say(half).await;
        let heard = wire.hear().await;
        assert!(heard.is_empty() || Answer::read(&heard).status == 408, "{half:?}: {heard}");
    }
    // An incomplete body, with and without a length.
    for rest in ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"] {
        let mut wire = Wire::to(&broker).await;
        wire.say(&format!("{head}{rest}")).await;
        Answer::read(&wire.hear().await).assert(408, "body_timeout");
    }
    // An idle keep-alive connection.
    let mut wire = Wire::to(&broker).await;
    wire.say(&format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", broker.port())).await;
    assert_eq!(Answer::read(&wire.hear().await).status, 200);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn slow_clients_do_not_block_others() {
    // Longer than the test, so that no client times out.
    let broker = TestBroker::with_settings("[server]\nheader_timeout = \"5m\"\nbody_timeout = \"10m\"\n").await;
    let head = format!("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n", broker.port());
    let mut slow = Vec::new();
    for number in 0..120 {
        let mut wire = Wire::to(&broker).await;
        let half = match number % 3 {
            0 => head.clone(),
            1 => format!("{head}content-length: 1000\r\n\r\n{{"),
            // Announces a large body; only some are held at the same time.
            _ => format!("{head}content-length: 20000000\r\n\r\n{{"),
        };
        wire.say(&half).await;
        slow.push(wire);
    }
    let client = broker.client();
    for number in 0..20 {
        let review = client.submit(&format!("quick {number}")).await;
        client.claim(&review, "second-mind").await;
    }
    let added = "+line\n".repeat(300_000);
    let diff = format!("--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,300000 @@\n{added}");
    let large = client.call("create_review", proposal_with("large, but quick", json!({ "diff": diff })));
    let large = timeout(TIMEOUT, large).await.expect("it does not wait for the others");
    assert_eq!(large["applies"], true, "{large}");
    drop(slow);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_block_others() {
    let broker = TestBroker::with_settings("[limits]\npage_chars = 1000000\n").await;
    let client = broker.client();
    let mut arguments = proposal("long");
    arguments["description"] = "x".repeat(200_000).into();
    let review = client.call("create_review", arguments).await["review_id"].clone();
    let call = json!({ "name": "get_proposal", "arguments": { "review_id": review } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }).to_string();
    let mut deaf = Vec::new();
    for _ in 0..10 {
        let mut wire = Wire::to(&broker).await;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\naccept: {}\r\ncontent-length: {}\r\n\r\n{call}",
            broker.port(),
            ACCEPT.1,
            call.len()
        );
        // Many responses that are not read: the buffers of the socket are soon full.
        wire.say(&head.repeat(20)).await;
        deaf.push(wire);
    }
    for _ in 0..20 {
        client.submit("quick").await;
    }
    drop(deaf);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_refused() {
    let broker = TestBroker::with_settings("[server]\nmax_connections = 3\n").await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::to(&broker).await;
        // One response, so that the connection has its permit.
        wire.say(&format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", broker.port())).await;
        let mut first = [0; 12];
        wire.0.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        held.push(wire);
    }
    let refused = send(&broker, "GET", "/healthz", &[HOST], "").await;
    refused.assert(503, "busy");
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    held.pop();
    wait_until("a free place", async || {
        (send(&broker, "GET", "/healthz", &[HOST], "").await.status == 200).then_some(())
    })
    .await;
    drop(held);
    wait_until("the door to be free", async || {
        (send(&broker, "GET", "/readyz", &[HOST], "").await.status == 200).then_some(())
    })
    .await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn health_and_readiness_name_the_service() {
    let broker = TestBroker::start().await;
    let health = send(&broker, "GET", "/healthz", &[HOST], "").await;
    let (version, database_id) = (env!("CARGO_PKG_VERSION"), health.json()["database_id"].clone());
    assert_eq!(database_id.as_str().map(str::len), Some(32));
    let expected = json!({
        "status": "ok", "service": "countersign", "version": version, "pid": broker.pid(), "build": ui::BUILD,
        "database_id": database_id,
    });
    assert_eq!((health.status, health.json()), (200, expected));
    let ready = send(&broker, "GET", "/readyz", &[HOST], "").await;
    assert_eq!((ready.status, ready.json()), (200, json!({ "status": "ready" })));
    broker.stop_and_check().await;
}

/// Every node of the tree below this one, itself included.
fn nodes(node: &Value) -> Vec<&Value> {
    let below = node["children"].as_array().into_iter().flatten().flat_map(nodes);
    std::iter::once(node).chain(below).collect()
}

#[tokio::test]
async fn the_actor_tree_shows_every_live_actor() {
    let broker = TestBroker::start().await;
    let client: TestClient = broker.client();
    let review = client.submit("look at me").await;
    client.claim(&review, "second-mind").await;
    let tree = broker.actors().await;
    let nodes = nodes(&tree["root"]);
    let of_kind = |kind: &str| nodes.iter().filter(|node| node["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of_kind("supervisor").len(), of_kind("gateway").len(), of_kind("review").len()), (1, 1, 1), "{tree}");
    assert_eq!(of_kind("review")[0]["id"], format!("R-1 {review}"));
    for node in &nodes {
        for field in ["mailbox", "handled", "restarts", "uptime_ms"] {
            assert!(node[field].is_u64(), "{field} of {node}");
        }
        assert!(node["state"].is_string() && node.get("last_error").is_some(), "{node}");
    }
    assert_eq!(tree["calls"], json!({ "in_flight": 0, "waiting": 0 }));
    assert_eq!(tree["store"]["changes"], 2, "{tree}");

    for (target, accept) in [("/debug/actors?format=text", "*/*"), ("/debug/actors", "text/plain")] {
        let text = send(&broker, "GET", target, &[HOST, ("accept", accept)], "").await;
        assert!(text.head.contains("content-type: text/plain"), "{}", text.head);
        assert!(text.body.starts_with("supervisor ") && text.body.contains("─ review R-1"), "{}", text.body);
    }
    let json = send(&broker, "GET", "/debug/actors?format=json", &[HOST, ("accept", "text/plain")], "").await;
    assert_eq!(json.json()["root"]["kind"], "supervisor");
    send(&broker, "GET", "/debug/actors?format=yaml", &[HOST], "").await.assert(400, "unknown_format");

    client.call("cancel_review", json!({ "review_id": review, "reason": "seen" })).await;
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    let is_at_rest = |tree: Value| nodes_of_kind(&tree, "review") == 0;
    wait_until("a closed review to rest", async || is_at_rest(broker.actors().await).then_some(())).await;
    broker.stop_and_check().await;
}

fn nodes_of_kind(tree: &Value, kind: &str) -> usize {
    nodes(&tree["root"]).into_iter().filter(|node| node["kind"] == kind).count()
}

#[tokio::test]
async fn the_command_shows_the_same_tree() {
    let broker = TestBroker::start().await;
    broker.client().submit("look at me").await;
    let actors = async |options: &[&str]| {
        let mut command = countersign(broker.home());
        let output = command.arg("actors").args(options).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let data_dir = broker.data_dir();
    let here = ["--data-dir", data_dir.to_str().unwrap()];
    let drawn = actors(&here).await;
    assert!(drawn.starts_with("supervisor ") && drawn.contains("─ review R-1") && drawn.ends_with('\n'), "{drawn}");
    for options in [[&here[..], &["--json"]].concat(), vec!["--json", "--url", &broker.url("/")]] {
        let tree: Value = serde_json::from_str(&actors(&options).await).unwrap();
        assert_eq!(nodes_of_kind(&tree, "review"), 1, "{tree}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn without_a_broker_the_command_says_so() {
    let home = tempfile::tempdir().unwrap();
    let output = countersign(home.path()).args(["actors", "--data-dir", "nothing/here"]).output().await.unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(5), &b""[..]));
    assert!(words.contains("nothing/here") && words.contains("countersign serve"), "{words}");
    assert!(!home.path().join("nothing").exists(), "a look leaves no trace");
}
