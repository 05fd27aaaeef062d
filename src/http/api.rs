//! The REST API: the operations of the `api` package over HTTP, with ETags, links and problem details.

mod diff;
mod docs;
mod etag;
mod large_body;
mod request;
mod response;

pub use api::openapi::document;
pub(super) use docs::Asset;
pub(super) use response::problem;

use crate::{
    http::TraceId,
    service::{CallContext, CallError, JsonText, Service},
};
use actors::Caller;
use api::{Format, Route, client_repo, decode::Malformed};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Path, Request, rejection::PathRejection},
    http::{Method, StatusCode, request::Parts},
    response::Response,
    routing::{MethodFilter, MethodRouter, get, on},
};
use large_body::LargeBodies;
use serde_json::{Map, Value};
use std::sync::Arc;

pub(super) struct Api {
    service: Service,
    large_bodies: LargeBodies,
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
            client_repo: self.parts.headers.get(client_repo::HEADER),
            trace: TraceId::current(),
            ..CallContext::default()
        }
    }
}

impl Api {
    pub(super) fn new(service: Service) -> Self {
        Self { service, large_bodies: LargeBodies::default() }
    }

    async fn serve(&self, route: &'static Route, path: PathArguments, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        match self.decode(route, path, parts, body).await {
            Ok(request) => self.respond(&request).await.unwrap_or_else(problem),
            Err(error) => problem(error),
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
        let arguments = request::arguments(route, path, &parts, &body)?;
        Ok(ApiRequest { route, parts, arguments })
    }

    async fn respond(&self, request: &ApiRequest) -> Result<Response, CallError> {
        match request.route.format {
            Format::Json => Ok(response::success(request, self.call(request).await?)),
            Format::Diff => self.diff(request).await,
            Format::Patch => self.patch(request).await,
        }
    }

    async fn call(&self, request: &ApiRequest) -> Result<JsonText, CallError> {
        // A review can also be named in the body.
        let changes_a_review = request.route.changes() && request.arguments.contains_key("review_id");
        let expected_version = match changes_a_review {
            true => etag::expected_version(&request.parts.headers)?,
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
    on(filter(&route.method), move |path: PathArguments, request: Request| {
        let api = Arc::clone(&api);
        async move { Box::pin(api.serve(route, path, request)).await }
    })
}

/// The page to read and try the API, and its assets.
pub(super) fn docs_route(asset: Asset) -> MethodRouter {
    get(move || async move { docs::serve(asset) })
}

fn filter(method: &Method) -> MethodFilter {
    match method.as_str() {
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

pub(super) async fn method_not_allowed() -> Response {
    let error = "method not allowed; the Allow header lists the supported ones";
    super::problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", error)
}
