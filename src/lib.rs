//! The broker: operations, their interfaces (MCP, REST, events, webhooks) and the server that runs them.

pub mod events;
pub mod http;
pub mod mcp;
pub mod serve;
pub mod service;
pub mod telemetry;
pub mod trace_id;
pub mod webhooks;
