//! The broker: implements the operations, serves them (MCP, REST, events, webhooks), and starts the server.

pub mod http;
pub mod live_events;
pub mod logging;
pub mod mcp;
pub mod serve;
pub mod service;
pub mod trace_id;
pub mod webhooks;
