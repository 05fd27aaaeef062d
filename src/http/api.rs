//! REST: the tools of the broker as resources, with the same rules, names and codes.
//!
//! `routes` says what there is. Arguments are read from path, query and body, the tool is called as MCP
//! calls it, and what it says is dressed as HTTP: statuses, ETags, links, problems.

mod arguments;
mod diff;
mod docs;
mod long;
mod openapi;
mod pages;
mod reply;
mod routes;
mod status;
mod tags;
mod webhooks;

pub use openapi::document;
pub use pages::Facts;
pub(super) use reply::problem;
pub use routes::Operation;

use crate::{
    mcp::{self, Answer, Failure, Who},
    webhooks::Webhooks,
};
use actors::Caller;
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Path, Request, rejection::PathRejection},
    http::{Method, StatusCode, request::Parts},
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use long::Long;
use rmcp::model::JsonObject;
use routes::What;
use std::sync::Arc;

/// All operations there are.
pub fn operations() -> &'static [Operation] {
    routes::ALL
}

/// What the operations work with.
pub(super) struct Api {
    server: mcp::Server,
    facts: Facts,
    webhooks: Webhooks,
    long: Long,
}

/// One request, read.
struct Asked {
    operation: &'static Operation,
    parts: Parts,
    arguments: JsonObject,
}

impl Asked {
    fn caller(&self) -> Option<&Caller> {
        self.parts.extensions.get()
    }
}

impl Api {
    pub(super) fn new(server: mcp::Server, facts: Facts, webhooks: Webhooks) -> Self {
        Self { server, facts, webhooks, long: Long::default() }
    }

    async fn serve(&self, operation: &'static Operation, path: ReadPath, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        match self.read(operation, path, parts, body).await {
            Ok(asked) => self.answer(&asked).await.unwrap_or_else(reply::problem),
            Err(failure) => reply::problem(failure),
        }
    }

    async fn read(
        &self,
        operation: &'static Operation,
        path: ReadPath,
        parts: Parts,
        body: Body,
    ) -> Result<Asked, Failure> {
        let unreadable = |_| Failure::Malformed(arguments::malformed("path", "not UTF-8"));
        let Path(path) = path.map_err(unreadable)?;
        // The door has read it, and made sure that it is not too long; but only where there should be one.
        let body = match operation.takes_body() {
            true => to_bytes(body, usize::MAX).await.map_err(|_| Failure::Internal)?,
            false => Bytes::new(),
        };
        let arguments = arguments::read(operation, path, &parts, &body).map_err(Failure::Malformed)?;
        Ok(Asked { operation, parts, arguments })
    }

    async fn answer(&self, asked: &Asked) -> Result<Response, Failure> {
        match asked.operation.what {
            What::Call(tool) => {
                let answer = self.call(asked, tool).await?;
                Ok(reply::answered(asked, answer))
            }
            What::Diff => self.diff(asked).await,
            What::Patch => self.patch(asked).await,
            What::Show(page) => self.server.note(asked.operation.id, asked.caller(), self.page(asked, page)).await,
            What::Hooks(act) => {
                let answer = self.server.note(asked.operation.id, asked.caller(), self.hooks(asked, act)).await?;
                Ok(reply::answered(asked, answer))
            }
            What::Docs(asset) => Ok(docs::serve(asset)),
        }
    }

    async fn call(&self, asked: &Asked, tool: mcp::Tool) -> Result<Answer, Failure> {
        // Of a review is also what names one in its body.
        let expected = match asked.operation.changes() && asked.arguments.contains_key("review_id") {
            true => tags::expected(&asked.parts.headers)?,
            false => None,
        };
        let expecting = expected.map(|version| self.server.expecting(version));
        let server = expecting.as_ref().unwrap_or(&self.server);
        server.ask(tool, asked.arguments.clone(), &asked.parts.headers, asked.caller()).await
    }

    fn who<'a>(&'a self, asked: &'a Asked) -> Who<'a> {
        Who::new(&self.server, asked.caller())
    }
}

type ReadPath = Result<Path<Vec<(String, String)>>, PathRejection>;

/// The route of one operation.
pub(super) fn route(api: &Arc<Api>, operation: &'static Operation) -> MethodRouter {
    let api = Arc::clone(api);
    on(filter(&operation.method), move |path: ReadPath, request: Request| {
        let api = Arc::clone(&api);
        async move { Box::pin(api.serve(operation, path, request)).await }
    })
}

fn filter(method: &Method) -> MethodFilter {
    match method.as_str() {
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

pub(super) async fn no_such_method() -> Response {
    let error = "there is something here, but not for this method (Allow names those there are)";
    super::problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", error)
}
