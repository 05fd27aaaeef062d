//! The commands of the command line, one module per command or group of short commands.

pub(crate) mod actors;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod event_history;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod issues;
pub(crate) mod list;
pub(crate) mod personas;
pub(crate) mod receipt;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod revert;
pub(crate) mod review_actions;
pub(crate) mod reviewer;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tandem;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod watch_option;
pub(crate) mod webhooks;
