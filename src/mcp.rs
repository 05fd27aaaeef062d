//! The MCP server: serves tools, resources and prompts to agents, through the rmcp library.
//!
//! It keeps no sessions and no state per client, so a call that arrives after a restart of the broker is served like
//! any other.

mod calls_without_rmcp;
mod prompts;
mod resources;
mod tool_descriptions;

pub(crate) use calls_without_rmcp::answer as answer_directly;
pub use calls_without_rmcp::{DirectTools, ToolAnswer, ToolCall};

use crate::{
    service::{CallContext, CallError, Service},
    trace_id::TraceId,
};
use actors::metrics::Outcome;
use api::{ErrorBody, OperationId, client_repo_header};
use axum::http::request::Parts;
use domain::review::Role;
use futures::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString as _,
        ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tracing::{error, info};

/// For lists that change only with the program itself.
const LIST_TTL_MS: u64 = 300_000;

/// The tested protocol revisions. Each call is served by the revision it names.
const VERSIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// An MCP endpoint, by the tools that it lists. An endpoint of a role also accepts only that role's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The tools of both roles.
    Any,
    Proposer,
    Reviewer,
    /// The tools of a person who runs the broker, with every argument.
    Operator,
}

impl Endpoint {
    pub const ALL: &'static [Self] = &[Self::Any, Self::Proposer, Self::Reviewer, Self::Operator];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Any => "/mcp",
            Self::Proposer => "/mcp/proposer",
            Self::Reviewer => "/mcp/reviewer",
            Self::Operator => "/mcp/operator",
        }
    }

    const fn role(self) -> Option<Role> {
        match self {
            Self::Any | Self::Operator => None,
            Self::Proposer => Some(Role::Proposer),
            Self::Reviewer => Some(Role::Reviewer),
        }
    }
}

/// One endpoint. Cheap to clone: rmcp takes a new one for every call.
#[derive(Clone)]
pub struct Server {
    service: Service,
    endpoint: Endpoint,
    /// Built once, because building the schemas costs more than a call.
    tools: Arc<[Tool]>,
}

impl Server {
    pub fn new(service: Service, endpoint: Endpoint) -> Self {
        let tools = tool_descriptions::tools(endpoint, &service.settings().placeholders()).into();
        Self { service, endpoint, tools }
    }

    fn context<'a>(&self, parts: Option<&'a Parts>, meta: Option<&JsonObject>) -> CallContext<'a> {
        CallContext {
            caller: parts.and_then(|parts| parts.extensions.get()),
            endpoint_role: self.endpoint.role(),
            client_repo: parts.and_then(|parts| parts.headers.get(client_repo_header::HEADER)),
            client_call_id: meta.and_then(client_call_id),
            expected_version: None,
            needs_token: false,
            is_signed_in: false,
            trace: parts.and_then(|parts| parts.extensions.get::<TraceId>()).copied(),
        }
    }

    async fn run(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.context(context.extensions.get(), Some(&context.meta));
        let trace = call.trace;
        let arguments = request.arguments.unwrap_or_default();
        match self.call(&request.name, arguments, call, context.ct.cancelled()).await? {
            ToolAnswer::Success(json) => {
                let structured = serde_json::from_str(&json).map_err(|_| internal(trace))?;
                let mut result = CallToolResult::success(vec![ContentBlock::text(json)]);
                result.structured_content = Some(structured);
                Ok(result.into())
            }
            ToolAnswer::Refused(result) => Ok((*result).into()),
        }
    }

    async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        call: CallContext<'_>,
        client_left: impl Future<Output = ()>,
    ) -> Result<ToolAnswer, ErrorData> {
        let trace = call.trace;
        let Some(operation) = OperationId::tool(tool) else {
            let caller = call.caller.map(|caller| caller.identity.as_str());
            self.service.broker().metrics().call("unknown", Outcome::Malformed, Duration::ZERO);
            info!(target: "countersign::call", outcome = "unknown_tool", caller, trace.id = trace.map(display), "call");
            return Err(traced(self.unknown_tool(tool), trace));
        };
        match self.service.call(operation, arguments, call, client_left).await {
            Ok(response) => Ok(ToolAnswer::Success(response.0)),
            Err(CallError::Refused(body)) => Ok(ToolAnswer::Refused(Box::new(refusal(body, trace)))),
            // Not an error of the protocol: a model can correct its arguments only if its client shows them to it.
            Err(CallError::Malformed(malformed)) => Ok(ToolAnswer::Refused(Box::new(refusal(malformed.into(), trace)))),
            Err(CallError::Internal) => Err(internal(trace)),
            Err(CallError::ClientLeft) => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let name: String = name.chars().take(80).collect();
        let tools =
            OperationId::ALL.iter().filter(|tool| tool.is_tool() && tool.role().is_offered_to(self.endpoint.role()));
        let known: Vec<_> = tools.map(|tool| tool.name()).collect();
        ErrorData::invalid_params(
            format!("unknown tool {name:?}; known: {}", known.join(", ")),
            Some(json!({ "code": "unknown_tool", "allowed": known })),
        )
    }
}

/// The id that Claude Code or Codex gave the call, by which a repeat of it is recognised.
fn client_call_id(meta: &JsonObject) -> Option<String> {
    let id = |name: &str| meta.get(name).and_then(Value::as_str).filter(|id| (1..=100).contains(&id.len()));
    match (id("claudecode/toolUseId"), id("threadId"), id("callId")) {
        (Some(tool_use), _, _) => Some(format!("claude:{tool_use}")),
        (None, Some(thread), Some(call)) => Some(format!("codex:{thread}:{call}")),
        (None, _, _) => None,
    }
}

/// The whole error body, as text and as structured content.
fn refusal(body: ErrorBody, trace: Option<TraceId>) -> CallToolResult {
    let body = match trace {
        Some(trace) => body.with("trace_id", trace.to_string()),
        None => body,
    };
    CallToolResult::structured_error(json!(body))
}

/// Adds the id by which the broker's log can be searched.
fn traced(mut error: ErrorData, trace: Option<TraceId>) -> ErrorData {
    if let (Some(Value::Object(data)), Some(trace)) = (&mut error.data, trace) {
        data.insert("trace_id".into(), trace.to_string().into());
    }
    error
}

fn internal(trace: Option<TraceId>) -> ErrorData {
    let data = json!({ "code": "internal", "retryable": true });
    let message = "internal error of the broker; repeating the call is safe, and the broker's log has the cause";
    traced(ErrorData::internal_error(message, Some(data)), trace)
}

/// Turns a panic of a handler into an error. rmcp never answers a call whose handler panicked.
async fn contain_panics<T>(
    method: &'static str,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        error!(method, "handler panicked");
        Err(internal(None))
    })
}

impl DirectTools for Server {
    async fn call_directly(&self, call: ToolCall, request: &Parts) -> Result<ToolAnswer, ErrorData> {
        let context = self.context(Some(request), call.meta.as_ref());
        let arguments = call.arguments.unwrap_or_default();
        // Boxed: the future of a connection should not have room for the largest call.
        Box::pin(self.call(&call.name, arguments, context, std::future::pending())).await
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let server = Implementation::new("countersign", env!("CARGO_PKG_VERSION")).with_title("Countersign");
        let instructions = self.service.settings().placeholders().fill(&prompts::instructions(self.endpoint));
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(instructions)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Ok(DiscoverResult::from_server_info(VERSIONS.to_vec(), self.get_info())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Boxed, like the handlers below: rmcp moves one future that is as large as the largest of them.
        Box::pin(self.run(request, context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.context(context.extensions.get(), None).caller;
        let cursor = request.and_then(|request| request.cursor);
        Box::pin(contain_panics("resources/list", resources::list(&self.service, caller, cursor))).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()])
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.context(context.extensions.get(), None).caller;
        Box::pin(contain_panics("resources/read", resources::read(&self.service, caller, &request.uri))).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list(self.endpoint))
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(self.endpoint, &request, &self.service.settings().placeholders())
    }

    /// A call whose parameters rmcp cannot read arrives here as if its method were unknown.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != CallToolRequestMethod::VALUE {
            let method = domain::text::truncate(&request.method, 80);
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {method:?}"), None));
        }
        let params = request.params.unwrap_or_default();
        let (field, problem) = match params.get("name") {
            Some(name) if name.is_string() => ("arguments", "expected a JSON object"),
            Some(_) | None => ("name", "expected the name of a tool"),
        };
        Err(ErrorData::invalid_params(
            format!("tools/call: {field}: {problem}"),
            Some(json!({ "code": "invalid_params", "field": field, "problem": problem })),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::contain_panics;
    use rmcp::model::ErrorCode;

    #[tokio::test]
    async fn a_panic_becomes_an_error() {
        let result = contain_panics::<()>("test", async { panic!("boom") }).await;
        assert_eq!(result.map_err(|error| error.code), Err(ErrorCode::INTERNAL_ERROR));
    }
}
