//! The REST API: serves the operations of the `api` package over HTTP, with ETags, links and problem details.

mod diff_download;
mod export_download;
mod log_stream;
pub(super) mod response;

pub use api::openapi::document;

use crate::{
    http::request_guard::NeedsToken,
    service::{CallContext, CallError, JsonText, Service},
    trace_id::TraceId,
};
use actors::{Caller, credentials::ShownSecret};
use api::{ErrorBody, ErrorCode, Format, OperationId, Route, client_repo_header, decode::Malformed};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Path, Query, Request, rejection::PathRejection},
    http::{HeaderName, request::Parts},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use diff_download::LargeBodies;
use log_stream::LogStreams;
use serde_json::{Map, Value};
use std::sync::Arc;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

pub(super) struct Api {
    service: Service,
    large_bodies: LargeBodies,
    log_streams: LogStreams,
}

/// A decoded request.
struct ApiRequest {
    route: &'static Route,
    parts: Parts,
    arguments: Map<String, Value>,
}

impl ApiRequest {
    fn context(&self) -> CallContext<'_> {
        CallContext {
            caller: self.parts.extensions.get::<Caller>(),
            needs_token: self.parts.extensions.get::<NeedsToken>().is_some(),
            is_signed_in: matches!(self.parts.extensions.get(), Some(ShownSecret::BrowserSession { .. })),
            client_repo: self.parts.headers.get(client_repo_header::HEADER),
            trace: TraceId::current(),
            ..CallContext::default()
        }
    }
}

impl Api {
    pub(super) fn new(service: Service) -> Self {
        Self { service, large_bodies: LargeBodies::default(), log_streams: LogStreams::default() }
    }

    async fn serve(&self, route: &'static Route, path: PathArguments, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        match self.decode(route, path, parts, body).await {
            Ok(request) => self.respond(&request).await.into_response(),
            Err(error) => error.into_response(),
        }
    }

    async fn decode(
        &self,
        route: &'static Route,
        path: PathArguments,
        parts: Parts,
        body: Body,
    ) -> Result<ApiRequest, CallError> {
        let Path(path) = path.map_err(|_| Malformed::new("path", "not UTF-8"))?;
        // The guard has read the body of routes that take one and has checked its size.
        let body = match route.takes_body() {
            true => to_bytes(body, usize::MAX).await.map_err(|_| CallError::Internal)?,
            false => Bytes::new(),
        };
        let arguments = arguments(route, path, &parts, &body)?;
        Ok(ApiRequest { route, parts, arguments })
    }

    async fn respond(&self, request: &ApiRequest) -> Result<Response, CallError> {
        match request.route.format {
            Format::Json => Ok(response::success(request, self.call(request).await?)),
            Format::Diff => self.diff(request).await,
            Format::Patch => self.patch(request).await,
            Format::CounterPatch => self.counter_patch(request).await,
            Format::Export => self.export(request).await,
            Format::LogStream => self.follow_log(request).await,
        }
    }

    async fn call(&self, request: &ApiRequest) -> Result<JsonText, CallError> {
        // A review can also be named in the body.
        let changes_a_review = request.route.changes() && request.arguments.contains_key("review_id");
        let expected_version = match changes_a_review {
            true => response::expected_version(&request.parts.headers)?,
            false => None,
        };
        let context = CallContext { expected_version, ..request.context() };
        let operation = request.route.operation;
        // hyper drops the call when the client disconnects.
        self.service.call(operation, request.arguments.clone(), context, std::future::pending()).await
    }
}

type PathArguments = Result<Path<Vec<(String, String)>>, PathRejection>;

pub(super) fn route(api: &Arc<Api>, route: &'static Route) -> MethodRouter {
    let api = Arc::clone(api);
    let method = MethodFilter::try_from(route.method.clone()).unwrap_or(MethodFilter::GET);
    on(method, move |path: PathArguments, request: Request| {
        let api = Arc::clone(&api);
        async move { Box::pin(api.serve(route, path, request)).await }
    })
}

pub(super) async fn method_not_allowed() -> Response {
    let error = "method not allowed; the Allow header lists the supported ones";
    super::problem(ErrorBody::new(ErrorCode::MethodNotAllowed, error))
}

/// Reads the arguments of an operation from path, query, body and headers.
fn arguments(
    route: &Route,
    path: Vec<(String, String)>,
    parts: &Parts,
    body: &[u8],
) -> Result<Map<String, Value>, Malformed> {
    let query = from_query(parts)?;
    let mut arguments = if route.takes_body() {
        if let Some(name) = query.keys().next() {
            return Err(Malformed::new(name, "this call takes no query; give it in the JSON body"));
        }
        from_body(body)?
    } else {
        query
    };
    for (name, value) in path {
        if arguments.contains_key(&name) {
            return Err(Malformed::new(&name, "already given in the path"));
        }
        arguments.insert(name, value.into());
    }
    if let Some(name) = route.omitted.iter().find(|name| arguments.contains_key(**name)) {
        return Err(Malformed::new(name, "unknown field; this route does not take it"));
    }
    if let Some(key) = parts.headers.get(IDEMPOTENCY_KEY).filter(|_| route.operation == OperationId::CreateReview) {
        let key = key.to_str().map_err(|_| Malformed::new(IDEMPOTENCY_KEY.as_str(), "expected printable ASCII"))?;
        let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        let before = arguments.insert("idempotency_key".into(), key.into());
        if before.is_some_and(|before| before != key) {
            return Err(Malformed::new("idempotency_key", "differs from the Idempotency-Key header"));
        }
    }
    Ok(arguments)
}

/// A name that occurs more than once becomes a list.
fn from_query(parts: &Parts) -> Result<Map<String, Value>, Malformed> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    let Query(pairs) = pairs.map_err(|_| Malformed::new("query", "expected name=value pairs joined by &"))?;
    let mut arguments = Map::new();
    for (name, value) in pairs {
        let value = Value::String(value);
        match arguments.get_mut(&name) {
            None => drop(arguments.insert(name, value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(arguments)
}

/// An empty body stands for an empty object.
fn from_body(body: &[u8]) -> Result<Map<String, Value>, Malformed> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Malformed::new("body", "expected a JSON object"))
        }
        Err(error) => Err(Malformed::new("body", format!("not JSON: {error}"))),
    }
}
