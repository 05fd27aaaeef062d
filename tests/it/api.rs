//! The interfaces of the broker: MCP, REST, events and webhooks.

mod compression;
mod endpoint_roles;
mod etags;
mod events;
mod exports;
mod mcp_bridge;
mod mcp_conformance;
mod openapi;
mod page;
mod proposal_files;
mod request_guard;
mod resources_and_prompts;
mod rest;
mod rest_diffs;
mod review_rows;
mod search;
mod session;
mod tool_list;
mod webhooks;
