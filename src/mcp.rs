//! The MCP door: tools, resources and prompts over the broker, spoken through rmcp.
//!
//! It keeps nothing: no sessions, no state per client. A call that arrives after a restart of the
//! broker is served like any other.

mod args;
mod call;
mod catalogue;
mod file_part;
mod instructions;
mod page;
mod present;
mod prompts;
mod refusal;
mod resources;
mod schema;
mod tools;
mod who;
mod workplace;

pub(crate) use present::moment;
pub use workplace::header as workplace_header;

/// For doors that offer the same tools in another form.
pub(crate) use {
    args::Malformed,
    call::Failure,
    catalogue::{Entry, entry},
    present::Answer,
    refusal::Refused,
    schema::output as answer_schema,
    tools::{Tool, Whole, Whose},
    who::Who,
};

use actors::Broker;
use domain::review::Role;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, ConstString as _, CustomRequest,
        CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::json;
use std::{borrow::Cow, time::Duration};

/// Lists that change only with the program itself.
const LIST_TTL_MS: u64 = 300_000;

/// The revisions that are tested. Each call is served by the one it names.
const VERSIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Where the door is: a role's endpoint shows and does only what is that role's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Any,
    Proposer,
    Reviewer,
}

impl Endpoint {
    pub const ALL: &'static [Self] = &[Self::Any, Self::Proposer, Self::Reviewer];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Any => "/mcp",
            Self::Proposer => "/mcp/proposer",
            Self::Reviewer => "/mcp/reviewer",
        }
    }

    const fn role(self) -> Option<Role> {
        match self {
            Self::Any => None,
            Self::Proposer => Some(Role::Proposer),
            Self::Reviewer => Some(Role::Reviewer),
        }
    }
}

/// The sizes that answers keep to.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Characters of one page of content.
    pub page_chars: usize,
    /// The longest a caller may ask to wait.
    pub wait_max: Duration,
}

/// One endpoint. Cheap to clone: rmcp takes a fresh one for every call.
#[derive(Clone)]
pub struct Server {
    broker: Broker,
    settings: Settings,
    endpoint: Endpoint,
}

impl Server {
    pub const fn new(broker: Broker, settings: Settings, endpoint: Endpoint) -> Self {
        Self { broker, settings, endpoint }
    }

    /// Refuses changes of a review that no longer has this version.
    pub(crate) fn expecting(&self, version: u64) -> Self {
        Self { broker: self.broker.expecting(version), settings: self.settings, endpoint: self.endpoint }
    }

    pub(crate) const fn broker(&self) -> &Broker {
        &self.broker
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let server = Implementation::new("countersign", env!("CARGO_PKG_VERSION")).with_title("Countersign");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(instructions::of(self.endpoint))
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
        Ok(ListToolsResult::with_all_items(catalogue::tools(self.endpoint).to_vec())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Boxed, like what follows: rmcp moves one future around that is as big as the biggest of these.
        Box::pin(call::run(self, request, context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (who, cursor) = (Who::of(self, &context.extensions), request.and_then(|request| request.cursor));
        Box::pin(call::contained("resources/list", resources::list(self, who, cursor))).await
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
        let who = Who::of(self, &context.extensions);
        Box::pin(call::contained("resources/read", resources::read(self, who, &request.uri))).await
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
        prompts::get(self.endpoint, &request)
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
#[path = "mcp/pool_pass_tests.rs"]
mod pool_pass_tests;
