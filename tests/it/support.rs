//! A broker of one's own for every test, and the ways to talk to it.

pub(crate) mod acts;
pub(crate) mod bridge;
pub(crate) mod broker;
pub(crate) mod client;
pub(crate) mod clients;
pub(crate) mod conformance;
pub(crate) mod eventually;
pub(crate) mod figures;
pub(crate) mod library;
pub(crate) mod life;
pub(crate) mod live_pool;
pub(crate) mod model;
pub(crate) mod one_shot;
pub(crate) mod played;
pub(crate) mod random;
pub(crate) mod receiver;
pub(crate) mod repo;
pub(crate) mod rest;
pub(crate) mod reviewer;
pub(crate) mod scenes;
pub(crate) mod schema;
pub(crate) mod schemathesis;
pub(crate) mod slow_git;
pub(crate) mod stored;
pub(crate) mod streams;
pub(crate) mod tokens;
