//! Tests of the built binary through its public interfaces. Each test has its own database, repository and home folder.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "measurements and seeds, shown if a test fails or with --nocapture")]

mod api;
mod broker;
mod cli;
mod clients;
mod gate;
mod isolation;
mod pool;
mod support;
