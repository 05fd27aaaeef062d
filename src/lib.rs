//! The doors of Countersign and the wiring behind them.

pub mod broker;
pub mod cli;
pub mod events;
pub mod http;
pub mod mcp;
mod outbound;
mod reviewer_log;
pub mod service;
pub mod telemetry;
pub mod webhooks;
