//! Every promise through the public door: the built binary, real HTTP, its own database and folder.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "figures and seeds, shown where a test fails or is asked for them")]

mod anchors;
mod bad_input;
mod catalogue;
mod clients;
mod clock;
mod conformance;
mod counter_patches;
mod crash;
mod diffs;
mod discussion;
mod disk_full;
mod doors;
mod findings;
mod front_matter;
mod idempotency;
mod lifecycle;
mod lists;
mod model;
mod one_shot;
mod one_shot_clients;
mod one_shot_failures;
mod panel;
mod personas;
mod pool;
mod pool_clients;
mod pool_config;
mod pool_failures;
mod pool_kills;
mod pool_runtime;
mod races;
mod refusals;
mod restart;
mod reviewer_processes;
mod roles;
mod round_diffs;
mod scale;
mod serve;
mod slow_git;
mod stdio;
mod support;
mod surfaces;
mod targets;
mod tokens;
mod waits;
