//! The doors of Countersign and the wiring behind them.

pub mod broker;
pub mod events;
pub mod http;
pub mod mcp;
pub mod serve;
pub mod service;
pub mod telemetry;
pub mod webhooks;
