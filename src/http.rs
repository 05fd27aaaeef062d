//! The HTTP layer: one guarded door in front of every route, then MCP, health and the actor tree.
//!
//! [`mcp_route`], [`guarded`] and [`serve`] are generic, so that the benchmark can put another MCP
//! service behind exactly the same stack.

mod actors_page;
mod answer;
mod door;
mod server;

pub use door::{BROKER, Door};
pub use server::{Limits, serve};

use crate::mcp;
use ::actors::Broker;
use answer::{problem, with_json};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any, get},
};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::json;
use std::sync::Arc;

/// Every route of the product, not yet guarded.
pub fn router(broker: &Broker, settings: mcp::Settings, body_bytes: usize) -> Router {
    let pages = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/debug/actors", get(actors_page::show))
        .with_state(broker.clone());
    mcp::Endpoint::ALL.iter().fold(pages, |router, endpoint| {
        let server = mcp::Server::new(broker.clone(), settings, *endpoint);
        router.route(endpoint.path(), mcp_route(server, body_bytes))
    })
}

/// Puts the door in front of all routes and of what is no route.
pub fn guarded(router: Router, door: Door) -> Router {
    router
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not_found", "there is nothing here") })
        .layer(middleware::from_fn_with_state(Arc::new(door), door::pass))
}

/// Serves MCP without sessions and with plain JSON answers, the only mode in which all clients live
/// through a restart of the broker.
pub fn mcp_route<H>(handler: H, body_bytes: usize) -> MethodRouter
where
    H: ServerHandler + Clone + Send + Sync + 'static,
{
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes)
        // The door has checked it, more strictly.
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = Arc::new(StreamableHttpService::new(move || Ok(handler.clone()), sessions, config));
    any(move |request: Request| {
        let service = service.clone();
        async move { readable(service.handle(request).await.map(Body::new)) }
    })
}

/// rmcp answers a body that is no JSON-RPC message with 415. The door has seen to the content type,
/// so that can only mean a message that cannot be read.
fn readable(response: Response) -> Response {
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    let error = json!({ "code": -32700, "message": "Parse error: the body is not one JSON-RPC 2.0 message" });
    with_json(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}

/// Says who answers, so that nobody takes another program on the same port for the broker.
async fn healthz() -> Response {
    let version = env!("CARGO_PKG_VERSION");
    let body = json!({ "status": "ok", "service": "countersign", "version": version, "pid": std::process::id() });
    with_json(StatusCode::OK, &body)
}

async fn readyz(State(broker): State<Broker>) -> Response {
    if broker.is_ready() {
        with_json(StatusCode::OK, &json!({ "status": "ready" }))
    } else {
        problem(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "the broker is starting or stopping").into_response()
    }
}
