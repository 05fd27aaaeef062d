//! An MCP client of the rmcp library, in a given protocol revision.

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, JsonObject,
        ProtocolVersion,
    },
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::StreamableHttpClientTransport,
};
use serde_json::Value;

pub(crate) struct Library(pub(crate) RunningService<RoleClient, ClientConfig>);

impl Library {
    /// Connects as the revision wants it: with `initialize` up to 2025-11-25, with `server/discover` since.
    pub(crate) async fn connect(url: String, revision: &ProtocolVersion) -> Self {
        let client = ClientConfig::new(ClientCapabilities::default(), Implementation::new("tests", "1"))
            .with_protocol_version(revision.clone());
        let lifecycle = if revision.has_initialize() {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Discover { preferred_versions: vec![revision.clone()] }
        };
        let transport = StreamableHttpClientTransport::from_uri(url);
        Self(client.serve_with_lifecycle(transport, lifecycle).await.expect("connected"))
    }

    /// A tool call that must succeed: its structured content.
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let result = self.try_call(tool, arguments).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{tool}: {:?}", result.structured_content);
        result.structured_content.expect("structured content")
    }

    /// A tool call that must be refused with this code.
    pub(crate) async fn refused(&self, code: &str, tool: &'static str, arguments: Value) -> Value {
        let result = self.try_call(tool, arguments).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{tool}: {:?}", result.structured_content);
        let error = result.structured_content.expect("structured content");
        assert_eq!(error["code"], code, "{tool}: {error}");
        error
    }

    async fn try_call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
        self.0.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await
    }
}
