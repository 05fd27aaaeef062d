//! The reviewers that the broker starts.

mod audit;
mod bound_agents;
mod broker_exit;
mod client_launch;
mod control;
mod dedicated;
mod dedicated_failures;
mod failures;
mod logs;
mod one_shot;
mod one_shot_failures;
mod process_trees;
mod scaling;
mod settings;
mod turns;
