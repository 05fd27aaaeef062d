//! An MCP server with one tool that does nothing, on the same HTTP stack as the broker. The benchmarks use it as the
//! upper bound for calls per second.

use axum::http::request::Parts;
use countersign::{
    http::{self, Limits, RequestGuard},
    mcp::{DirectTools, ToolAnswer, ToolCall},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ServerCapabilities, ServerConfig},
    service::RequestContext,
};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Makes this program the server, as a separate process, so that its CPU time can be measured without the load.
pub(crate) const FLAG: &str = "--serve-noop";

#[derive(Clone)]
struct Noop;

impl ServerHandler for Noop {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(answer()).into())
    }
}

impl DirectTools for Noop {
    async fn call_directly(&self, _: ToolCall, _: &Parts) -> Result<ToolAnswer, ErrorData> {
        Ok(ToolAnswer::Success(answer().to_string()))
    }
}

fn answer() -> serde_json::Value {
    serde_json::json!({ "review_id": "8c6f3a52-6f0e-4f4e-9e0e-0d4a5c6f7b81", "status": "pending" })
}

pub(crate) async fn serve(is_rmcp_alone: bool) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    println!("listening http://127.0.0.1:{port}");
    let body = 1 << 20;
    let route = if is_rmcp_alone { http::rmcp_route(Noop, body) } else { http::mcp_route(Noop, body) };
    let app = axum::Router::new().route("/mcp", route);
    let app = http::guarded(app, RequestGuard::new(port, body, Duration::from_secs(30)));
    let limits = Limits {
        max_connections: 1024,
        header_timeout: Duration::from_secs(60),
        write_timeout: Duration::from_secs(60),
        grace: Duration::from_secs(1),
    };
    http::serve(listener, app, limits, Default::default(), CancellationToken::new()).await;
}
