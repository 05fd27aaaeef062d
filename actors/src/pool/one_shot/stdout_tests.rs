use super::*;
use serde_json::json;

fn heard(runtime: Runtime, lines: &[Option<&str>]) -> Result<String, String> {
    let mut listener = Listener::to(runtime);
    for line in lines {
        listener.hear(*line);
    }
    listener.answer()
}

#[test]
fn the_last_message_of_codex_is_its_answer() {
    let message =
        |text: &str| json!({ "type": "item.completed", "item": { "type": "agent_message", "text": text } }).to_string();
    let shell =
        json!({ "type": "item.completed", "item": { "type": "command_execution", "output": "{}" } }).to_string();
    let (first, last) = (message("thinking"), message("{\"verdict\":1}"));
    assert_eq!(
        heard(Runtime::Codex, &[Some(&first), Some(&last), Some(&shell), Some("{}")]),
        Ok("{\"verdict\":1}".into())
    );
    assert_eq!(heard(Runtime::Codex, &[None, Some(&first)]), Ok("thinking".into()), "what was too long came before it");
    assert_eq!(heard(Runtime::Codex, &[Some(&first), None]), Err(too_long()));
    assert_eq!(
        heard(Runtime::Codex, &[Some("{\"verdict\":\"approved\"}")]),
        Ok(String::new()),
        "not the client's form"
    );
    let long = message(&"x".repeat(MAX_BYTES + 1));
    assert_eq!(heard(Runtime::Codex, &[Some(&long)]), Err(too_long()));
}

#[test]
fn what_claude_code_structured_is_its_answer() {
    let result = |more: serde_json::Value| {
        let mut line = json!({ "type": "result", "is_error": false, "result": "in words" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let structured = result(json!({ "structured_output": { "verdict": "approved" } }));
    assert_eq!(heard(Runtime::Claude, &[Some(&structured)]), Ok(r#"{"verdict":"approved"}"#.into()));
    assert_eq!(heard(Runtime::Claude, &[Some(&result(json!({})))]), Ok("in words".into()));
    let failed = result(json!({ "is_error": true, "result": "no login", "structured_output": {} }));
    assert_eq!(heard(Runtime::Claude, &[Some(&failed)]), Err("the client failed: no login".into()));
}

#[test]
fn a_command_answers_with_all_it_prints_or_with_its_last_line() {
    let command = |lines: &[Option<&str>]| heard(Runtime::Command, lines);
    assert_eq!(command(&[Some("{"), Some("\"a\": 1"), Some("}")]), Ok("{\n\"a\": 1\n}\n".into()));
    assert_eq!(command(&[Some("starting"), Some("{\"a\":1}"), Some("")]), Ok("{\"a\":1}".into()));
    assert_eq!(command(&[Some("```json"), Some("{}"), Some("```")]), Ok("```json\n{}\n```\n".into()));
    assert_eq!(command(&[None, Some("{\"a\":1}")]), Ok("{\"a\":1}".into()));
    assert_eq!(command(&[Some("{\"a\":1}"), None]), Err(too_long()));
    assert_eq!(command(&[]), Ok(String::new()));
}

#[test]
fn no_more_is_kept_than_an_answer_may_be_long() {
    let mut listener = Listener::to(Runtime::Command);
    let line = "x".repeat(1000);
    for _ in 0..5000 {
        listener.hear(Some(&line));
        assert!(listener.whole.as_ref().is_none_or(|whole| whole.len() <= MAX_BYTES));
    }
    assert_eq!(listener.whole, None);
}
