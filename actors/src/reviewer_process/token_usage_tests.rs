//! The lines are recorded from Codex 0.166.0 and Claude Code 2.1.325.

use super::*;

const CODEX_TURN: &str = r#"{"type":"turn.completed","usage":{"input_tokens":3030,"cached_input_tokens":300,"cache_write_input_tokens":0,"output_tokens":60,"reasoning_output_tokens":15}}"#;
const CODEX_NOTE: &str = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `scripted` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}}"#;
const CODEX_RETRY: &str =
    r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
const CODEX_FAILED: &str =
    r#"{"type":"turn.failed","error":{"message":"The requested model 'gpt-nope' does not exist."}}"#;
const CODEX_SAYS: &str =
    r#"{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"{\"type\":\"error\"}"}}"#;
const CLAUDE_RESULT: &str = include_str!("usage_tests/claude_result.json");
const CLAUDE_BAD_MODEL: &str = include_str!("usage_tests/claude_bad_model.json");

fn read(lines: &[&str]) -> Usage {
    let mut usage = Usage::default();
    lines.iter().for_each(|line| usage.read_line(line));
    usage
}

#[test]
fn codex_reports_the_tokens_of_each_turn_and_no_cost() {
    let usage = read(&[CODEX_NOTE, CODEX_TURN, CODEX_SAYS, CODEX_TURN]);
    let expected = Usage { input_tokens: 6060, output_tokens: 120, ..Usage::default() };
    assert_eq!(usage, expected);
}

#[test]
fn claude_code_reports_tokens_and_cost() {
    let usage = read(&[CLAUDE_RESULT]);
    // 1000 and 100 from the cache
    assert_eq!((usage.input_tokens, usage.output_tokens), (1100, 20));
    assert_eq!(usage.cost_usd, Some(0.00442));
    assert_eq!(read(&[CLAUDE_RESULT, CLAUDE_RESULT]).cost_usd, Some(0.00884));
}

#[test]
fn an_error_is_kept_until_a_turn_succeeds() {
    assert_eq!(read(&[CODEX_RETRY]).last_error.unwrap()[..15], *"Reconnecting...");
    assert_eq!(read(&[CODEX_RETRY, CODEX_TURN]).last_error, None);
    let failed = read(&[CODEX_TURN, CODEX_RETRY, CODEX_FAILED]);
    assert_eq!(failed.last_error.as_deref(), Some("The requested model 'gpt-nope' does not exist."));
    let failed = read(&[CLAUDE_BAD_MODEL]);
    assert!(failed.last_error.unwrap().starts_with("There's an issue with the selected model"));
    assert_eq!(read(&[CLAUDE_BAD_MODEL, CLAUDE_RESULT]).last_error, None);
}

#[test]
fn a_malformed_line_changes_nothing() {
    for line in [
        "",
        "Reconnecting...",
        "[1]",
        "{",
        r#"{"type":"turn.completed"}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":-1,"output_tokens":1}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":1.5,"output_tokens":1}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":"1","output_tokens":1}}"#,
        r#"{"type":"error"}"#,
        r#"{"type":"turn.failed","error":"no"}"#,
        r#"{"type":"result","total_cost_usd":"free"}"#,
        r#"{"type":"result","total_cost_usd":-1}"#,
        r#"{"usage":{"input_tokens":1,"output_tokens":1}}"#,
    ] {
        assert_eq!(read(&[line]), Usage::default(), "{line}");
    }
}

#[test]
fn numbers_do_not_overflow_and_errors_are_cut() {
    let most = format!(r#"{{"type":"turn.completed","usage":{{"input_tokens":{0},"output_tokens":{0}}}}}"#, u64::MAX);
    assert_eq!(read(&[&most, &most]).output_tokens, u64::MAX);
    let long = format!(r#"{{"type":"error","message":"{}"}}"#, "ä".repeat(10_000));
    assert_eq!(read(&[&long]).last_error.unwrap().chars().count(), 500);
    let silent = read(&[r#"{"type":"result","is_error":true,"subtype":"error_max_turns"}"#]);
    assert_eq!(silent.last_error.as_deref(), Some("error_max_turns"));
}

#[test]
fn only_the_growth_of_a_session_is_counted() {
    let work = ReviewerWork { input_tokens: Some(100), cost_usd: Some(1.0), ..ReviewerWork::default() };
    let totals = SessionTotals { input_tokens: 3000, output_tokens: 50, cost_usd: 0.004 };
    let mut usage = Usage::continued(&work, Some(totals));
    usage.read_line(CODEX_TURN);
    assert_eq!((usage.input_tokens, usage.output_tokens), (130, 10));
    usage.read_line(CODEX_TURN);
    assert_eq!((usage.input_tokens, usage.output_tokens), (130, 10), "nothing new");
    usage.read_line(CLAUDE_RESULT);
    assert!((usage.cost_usd.unwrap() - 1.00042).abs() < 1e-9, "{usage:?}");
    assert_eq!(usage.session.unwrap().cost_usd, 0.00442);
    // The total of a session that has lost a run is counted anew.
    let mut usage = Usage::continued(&work, Some(SessionTotals { cost_usd: 9.0, ..totals }));
    usage.read_line(CLAUDE_RESULT);
    assert!((usage.cost_usd.unwrap() - 1.00442).abs() < 1e-9, "{usage:?}");
}

#[test]
fn a_run_that_failed_early_reports_its_errors() {
    let lost =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}"#;
    assert_eq!(read(&[lost]).last_error.as_deref(), Some("No conversation found"));
}
