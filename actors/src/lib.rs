//! stub
pub mod error;
pub mod handle;
pub mod request;
pub mod tree;
