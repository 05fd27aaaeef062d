//! The broker: implements the operations, serves them (MCP, REST, events, webhooks), and starts the server.

pub mod broker_info;
pub mod http;
mod idle_exit;
pub mod live_events;
pub mod logging;
pub mod mcp;
pub mod one_time_code;
pub mod project_registry;
pub mod serve;
pub mod service;
pub mod trace_id;
pub mod webhooks;
