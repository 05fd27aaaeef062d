//! The real Codex and Claude Code, with scripted models.

mod agent_loop;
mod conversations;
mod dedicated;
mod init;
mod one_shot;
mod panel;
mod pool;
mod reviewer_cost;
mod reviews;
mod tool_lists;
