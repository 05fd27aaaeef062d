//! The HTTP layer: one guarded door in front of every route, then MCP, health and the actor tree.
//!
//! [`mcp_route`], [`guarded`] and [`serve`] are generic, so that the benchmark can put another MCP
//! service behind exactly the same stack.

mod actors_page;
mod answer;
pub mod api;
mod door;
pub mod events;
mod metrics;
mod patience;
mod server;
mod trace;

pub use door::{BROKER, Door};
pub use events::Events;
pub use server::{Limits, serve};
pub use trace::TraceId;

use crate::{mcp, webhooks::Webhooks};
use ::actors::Broker;
use answer::{problem, with_json};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, any, get, post},
};
use door::Needs;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde_json::json;
use std::sync::Arc;

/// Every route there is: what is not among them is not served, and each of them is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Health,
    Ready,
    Actors,
    Metrics,
    Events,
    WebSocket,
    Ticket,
    Mcp(mcp::Endpoint),
    Api(&'static api::Operation),
}

impl Route {
    pub fn all() -> impl Iterator<Item = Self> {
        let pages =
            [Self::Health, Self::Ready, Self::Actors, Self::Metrics, Self::Events, Self::WebSocket, Self::Ticket];
        let endpoints = mcp::Endpoint::ALL.iter().copied().map(Self::Mcp);
        pages.into_iter().chain(endpoints).chain(api::operations().iter().map(Self::Api))
    }

    /// Where it is; a name in braces stands for any part.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::Ready => "/readyz",
            Self::Actors => "/debug/actors",
            Self::Metrics => "/metrics",
            Self::Events => "/api/v1/events",
            Self::WebSocket => "/ws",
            Self::Ticket => "/api/v1/ws-ticket",
            Self::Mcp(endpoint) => endpoint.path(),
            Self::Api(operation) => operation.path,
        }
    }

    /// What a caller must show where tokens are required.
    const fn needs(self) -> Needs {
        match self {
            // Who looks for the broker has no token yet, and learns nothing but that it is there.
            Self::Health | Self::Ready => Needs::Nothing,
            Self::Actors | Self::Metrics => Needs::AllProjects,
            Self::Events | Self::WebSocket | Self::Ticket | Self::Mcp(_) => Needs::Token,
            Self::Api(operation) => operation.needs(),
        }
    }
}

/// Every route of the product, not yet guarded.
pub fn router(
    broker: &Broker,
    events: &Events,
    settings: mcp::Settings,
    body_bytes: usize,
    facts: api::Facts,
    webhooks: &Webhooks,
) -> Router {
    let api = Arc::new(api::Api::new(
        mcp::Server::new(broker.clone(), settings, mcp::Endpoint::Any),
        facts,
        webhooks.clone(),
    ));
    let metrics = metrics::Metrics::new(broker, events, webhooks);
    Route::all().fold(Router::new(), |router, route| {
        let handler = match route {
            Route::Health => get(healthz),
            Route::Ready => get(readyz).with_state(broker.clone()),
            Route::Actors => get(actors_page::show).with_state(broker.clone()),
            Route::Metrics => get(metrics::show).with_state(metrics.clone()),
            Route::Events => get(events::sse::subscribe).with_state(events.clone()),
            Route::WebSocket => get(events::ws::subscribe).with_state(events.clone()),
            Route::Ticket => post(events::ticket::issue).with_state(events.clone()),
            Route::Mcp(endpoint) => mcp_route(mcp::Server::new(broker.clone(), settings, endpoint), body_bytes),
            Route::Api(operation) => api::route(&api, operation),
        };
        router.route(route.path(), handler)
    })
}

/// Puts the door in front of all routes and of what is no route.
pub fn guarded(router: Router, door: Door) -> Router {
    router
        .method_not_allowed_fallback(api::no_such_method)
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not_found", "there is nothing here") })
        .layer(middleware::from_fn_with_state(Arc::new(door), door::pass))
        .layer(middleware::from_fn(trace::pass))
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
