//! The developer's own commands: the built binary on a terminal's terms, with a home, a repository and a broker of
//! its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "figures and seeds, shown where a test fails or is asked for them")]
#![allow(
    dead_code,
    unused_imports,
    reason = "what supports the tests of the doors serves here, too, but not all of it"
)]

mod agents;
mod answers;
mod codes;
mod contract;
mod demo;
mod doctor;
mod down;
mod export;
mod gate;
mod guided;
mod hooks;
mod init;
mod init_clients;
mod init_hooks;
mod init_words;
mod life;
mod parity;
mod proposing;
mod responding;
mod revert;
mod scene;
mod shell;
mod signed;
mod tandem;
mod tandem_loop;
mod top;
mod verify;
mod waiting;
mod watching;

/// Shared with the tests of the doors.
#[path = "../it/support"]
mod support {
    pub(crate) mod acts;
    pub(crate) mod bridge;
    pub(crate) mod broker;
    pub(crate) mod client;
    pub(crate) mod clients;
    pub(crate) mod command;
    pub(crate) mod eventually;
    pub(crate) mod model;
    pub(crate) mod repo;
    pub(crate) mod scenes;
    pub(crate) mod schema;
}
