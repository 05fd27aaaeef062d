//! Finding the broker and talking to it.

pub(crate) mod discovery;
pub(crate) mod event_stream;
pub(crate) mod pagination;
pub(crate) mod rest;
