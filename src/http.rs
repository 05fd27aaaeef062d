//! The HTTP server: the request guard, and behind it the page, MCP, REST, events, health, metrics and the actor tree.
//!
//! [`mcp_route`], [`guarded`] and [`serve`] are generic, so that the benchmark can run another MCP service in the same
//! stack.

mod caller_quota;
mod compression;
mod connections;
mod debug_actors;
mod metrics;
mod peer_user;
mod problem_details;
mod request_guard;
pub mod rest;
mod sign_in;
mod sse;
mod tokenless_callers;
mod web_page;
mod ws;

pub use connections::{Activity, Limits, serve};
pub use request_guard::RequestGuard;
pub use sign_in::SignIn;
pub use tokenless_callers::TokenlessCallers;

use crate::{broker_info::BrokerIdentity, live_events::Events, mcp, service::Service};
use ::actors::Broker;
use ::api::{
    ErrorBody, ErrorCode, RequiredRole,
    operation::ROUTES,
    sign_in::{SESSION_CODES_PATH, SESSION_PATH},
};
use axum::{
    Router,
    body::Body,
    extract::{Query, Request, State},
    http::StatusCode,
    middleware,
    response::Response,
    routing::{MethodRouter, any, get, post},
};
use problem_details::{problem, with_json};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Every route of the broker. Other paths are the page if a browser asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Health,
    Ready,
    Actors,
    Metrics,
    Events,
    WebSocket,
    Ticket,
    Session,
    SessionCodes,
    /// The files that the page loads.
    PageAsset,
    Favicon,
    Mcp(mcp::Endpoint),
    Api(&'static ::api::Route),
}

impl Route {
    pub fn all() -> impl Iterator<Item = Self> {
        let pages = [
            Self::Health,
            Self::Ready,
            Self::Actors,
            Self::Metrics,
            Self::Events,
            Self::WebSocket,
            Self::Ticket,
            Self::Session,
            Self::SessionCodes,
            Self::PageAsset,
            Self::Favicon,
        ];
        let endpoints = mcp::Endpoint::ALL.iter().copied().map(Self::Mcp);
        pages.into_iter().chain(endpoints).chain(ROUTES.iter().map(Self::Api))
    }

    /// The path; a name in braces matches one segment, or with a star all that follow.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::Ready => "/readyz",
            Self::Actors => "/debug/actors",
            Self::Metrics => "/metrics",
            Self::Events => "/api/v1/events",
            Self::WebSocket => "/ws",
            Self::Ticket => "/api/v1/ws-ticket",
            Self::Session => SESSION_PATH,
            Self::SessionCodes => SESSION_CODES_PATH,
            Self::PageAsset => "/assets/{build}/{*name}",
            Self::Favicon => "/favicon.ico",
            Self::Mcp(endpoint) => endpoint.path(),
            Self::Api(route) => route.path,
        }
    }

    /// The role that a token must have for the route if authentication is on.
    const fn required_role(self) -> RequiredRole {
        match self {
            // A client that looks for the broker has no token yet. These pages only show that the broker runs.
            Self::Health | Self::Ready => RequiredRole::Public,
            Self::Actors | Self::Metrics => RequiredRole::AllProjectsOperator,
            // A browser signs in here.
            Self::Session => RequiredRole::Public,
            Self::Events | Self::WebSocket | Self::Ticket | Self::SessionCodes | Self::Mcp(_) => RequiredRole::Any,
            // A browser has no token when it opens a page, which reveals nothing about this broker.
            Self::PageAsset | Self::Favicon => RequiredRole::Public,
            // The service checks the role of a tool's caller.
            Self::Api(route) => {
                let role = route.operation.role();
                let is_operators_tool = route.operation.is_tool() && matches!(role, RequiredRole::Operator);
                if is_operators_tool { RequiredRole::Any } else { role }
            }
        }
    }
}

/// Every route, without the request guard.
pub fn router(service: &Service, events: &Events, sign_in: SignIn, body_bytes: usize) -> Router {
    let broker = service.broker();
    let api = Arc::new(rest::Api::new(service.clone()));
    let metrics = metrics::Metrics::new(broker, events, service.webhooks());
    let sign_in = Arc::new(sign_in);
    Route::all().fold(Router::new(), |router, route| {
        let handler = match route {
            Route::Health => get(healthz).with_state(Arc::clone(service.identity())),
            Route::Ready => get(readyz).with_state(broker.clone()),
            Route::Actors => get(debug_actors::show).with_state(broker.clone()),
            Route::Metrics => get(metrics::show).with_state(metrics.clone()),
            Route::Events => get(sse::subscribe).with_state(events.clone()),
            Route::WebSocket => get(ws::subscribe).with_state(events.clone()),
            Route::Ticket => post(ws::issue_ticket).with_state(events.clone()),
            Route::Session => post(sign_in::create).delete(sign_in::end).with_state(Arc::clone(&sign_in)),
            Route::SessionCodes => post(sign_in::issue_code).with_state(Arc::clone(&sign_in)),
            Route::PageAsset => get(web_page::asset),
            Route::Favicon => get(web_page::favicon),
            Route::Mcp(endpoint) => mcp_route(mcp::Server::new(service.clone(), endpoint), body_bytes),
            Route::Api(route) => rest::route(&api, route),
        };
        // An agent's client runs on this machine and waits for each response.
        let is_for_agents = matches!(route, Route::Mcp(_));
        router.route(route.path(), if is_for_agents { handler } else { handler.layer(compression::layer()) })
    })
}

/// Puts the guard in front of all routes, of the page, and of the response to unknown paths.
pub fn guarded(router: Router, guard: RequestGuard) -> Router {
    router
        .method_not_allowed_fallback(rest::method_not_allowed)
        .fallback(web_page::fallback)
        .layer(middleware::from_fn_with_state(Arc::new(guard), request_guard::check))
        .layer(middleware::from_fn(crate::trace_id::assign))
}

/// Serves MCP. Calls of tools in their usual form are answered directly, everything else by rmcp.
pub fn mcp_route<H>(handler: H, body_bytes: usize) -> MethodRouter
where
    H: ServerHandler + mcp::DirectTools + Clone + Send + Sync + 'static,
{
    let (tools, service) = (Arc::new(handler.clone()), rmcp_service(handler, body_bytes));
    any(move |request: Request| {
        let (tools, service) = (Arc::clone(&tools), Arc::clone(&service));
        async move {
            match mcp::answer_directly(&*tools, request).await {
                Ok(response) => response,
                Err(request) => with_parse_error(service.handle(request).await.map(Body::new)),
            }
        }
    })
}

/// Serves MCP by rmcp alone: what [`mcp_route`] is compared with.
pub fn rmcp_route<H>(handler: H, body_bytes: usize) -> MethodRouter
where
    H: ServerHandler + Clone + Send + Sync + 'static,
{
    let service = rmcp_service(handler, body_bytes);
    any(move |request: Request| {
        let service = Arc::clone(&service);
        async move { with_parse_error(service.handle(request).await.map(Body::new)) }
    })
}

/// Without sessions and with JSON responses: only in this mode do all clients survive a restart of the broker.
fn rmcp_service<H>(handler: H, body_bytes: usize) -> Arc<StreamableHttpService<H, NeverSessionManager>>
where
    H: ServerHandler + Clone + Send + Sync + 'static,
{
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes)
        // The request guard has checked the host, more strictly.
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    Arc::new(StreamableHttpService::new(move || Ok(handler.clone()), sessions, config))
}

/// rmcp responds with 415 to a body that is not a JSON-RPC message. The guard has checked the content type, so here a 415
/// is always a parse error.
fn with_parse_error(response: Response) -> Response {
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    let error = json!({ "code": -32700, "message": "Parse error: the body is not one JSON-RPC 2.0 message" });
    with_json(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}

#[derive(Deserialize)]
struct HealthQuery {
    challenge: Option<String>,
}

/// Names the service, so that another program on the same port is not mistaken for the broker. With a challenge, the broker
/// also proves that it is the one of its data folder.
async fn healthz(State(identity): State<Arc<BrokerIdentity>>, Query(query): Query<HealthQuery>) -> Response {
    let mut body = json!({
        "status": "ok",
        "service": "countersign",
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "build": identity.build,
        "database_id": identity.database_id,
    });
    if let Some(challenge) = query.challenge {
        body["proof"] = identity.proof_key.proof(&challenge).into();
    }
    with_json(StatusCode::OK, &body)
}

async fn readyz(State(broker): State<Broker>) -> Response {
    let error = match (broker.is_ready(), broker.reader().is_in_place()) {
        (true, true) => return with_json(StatusCode::OK, &json!({ "status": "ready" })),
        (true, false) => {
            "the database file was deleted or replaced, so nothing more is saved; stop the broker and put it back"
        }
        (false, _) => "the broker is starting or stopping",
    };
    problem(ErrorBody::new(ErrorCode::NotReady, error))
}
