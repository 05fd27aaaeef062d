//! The broker's API as types: the table of operations, their requests and responses, and the error codes.
//!
//! MCP, REST, OpenAPI and the command line's client all read this package, so an operation has one name, one request
//! type and one response type everywhere.
//!
//! - [`operation`]: the table of operations with their routes and required roles
//! - one module per noun with the request and response types of its operations
//! - [`exports`]: reviews and findings as files, written by the broker and by the command line
//! - [`error`]: error codes and the body of an error response
//! - [`decode`]: reads a request from JSON, forgiving the slips that models make
//! - [`json_schema`], [`openapi`], [`typescript`]: JSON schemas of requests and responses, the OpenAPI document, and the
//!   types of the web page

pub mod actor_tree;
pub mod approvals;
pub mod claims;
pub mod client_repo_header;
pub mod consensus;
pub mod decode;
pub mod description_placeholders;
pub mod diffs;
pub mod error;
pub mod event_history;
pub mod events;
pub mod exports;
pub mod issues;
pub mod json_schema;
pub mod live_frames;
pub mod messages;
pub mod next_step;
pub mod openapi;
pub mod operation;
pub mod pages;
pub mod personas;
pub mod projects;
pub mod proposal_files;
pub mod proposals;
pub mod review_lists;
pub mod reviewer_pool;
pub mod reviews;
pub mod route;
pub mod search;
pub mod settings;
pub mod sign_in;
pub mod stats;
pub mod truncation;
pub mod typescript;
pub mod verdicts;
pub mod webhooks;

pub use error::{ErrorBody, ErrorCode};
pub use operation::{Effect, Operation, OperationId, RequiredRole};
pub use route::{Format, Route};

/// Request header with the process id of the broker that the request is meant for. Another broker may have taken over the
/// port.
pub const BROKER_PID_HEADER: http::HeaderName = http::HeaderName::from_static("countersign-broker");
