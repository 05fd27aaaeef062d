//! The commands of the command line.

mod anchored_issues;
mod contract;
mod demo;
mod doctor;
mod exit_codes;
mod export;
mod first_hour;
mod init;
mod init_git_hooks;
mod init_texts;
mod json_answers;
mod list;
mod open;
mod request;
mod respond;
mod shell;
mod tandem;
mod tool_parity;
mod top;
mod transcript;
mod turns;
mod wait;
mod watch;
mod without_broker;
