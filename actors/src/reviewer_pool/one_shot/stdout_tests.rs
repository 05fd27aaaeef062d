use super::*;
use serde_json::json;

fn response(runtime: Runtime, lines: &[Option<&str>]) -> Result<String, String> {
    let mut reader = ResponseReader::new(runtime);
    for line in lines {
        reader.read_line(*line);
    }
    reader.response()
}

#[test]
fn the_last_message_of_codex_is_its_response() {
    let message =
        |text: &str| json!({ "type": "item.completed", "item": { "type": "agent_message", "text": text } }).to_string();
    let shell =
        json!({ "type": "item.completed", "item": { "type": "command_execution", "output": "{}" } }).to_string();
    let (first, last) = (message("thinking"), message("{\"verdict\":1}"));
    assert_eq!(
        response(Runtime::Codex, &[Some(&first), Some(&last), Some(&shell), Some("{}")]),
        Ok("{\"verdict\":1}".into())
    );
    assert_eq!(
        response(Runtime::Codex, &[None, Some(&first)]),
        Ok("thinking".into()),
        "the line that was too long came before it"
    );
    assert_eq!(response(Runtime::Codex, &[Some(&first), None]), Err(too_long()));
    assert_eq!(
        response(Runtime::Codex, &[Some("{\"verdict\":\"approved\"}")]),
        Ok(String::new()),
        "not the client's form"
    );
    let long = message(&"x".repeat(MAX_BYTES + 1));
    assert_eq!(response(Runtime::Codex, &[Some(&long)]), Err(too_long()));
}

#[test]
fn the_structured_output_of_claude_code_is_its_response() {
    let result = |more: serde_json::Value| {
        let mut line = json!({ "type": "result", "is_error": false, "result": "in words" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let structured = result(json!({ "structured_output": { "verdict": "approved" } }));
    assert_eq!(response(Runtime::Claude, &[Some(&structured)]), Ok(r#"{"verdict":"approved"}"#.into()));
    assert_eq!(response(Runtime::Claude, &[Some(&result(json!({})))]), Ok("in words".into()));
    let failed = result(json!({ "is_error": true, "result": "no login", "structured_output": {} }));
    assert_eq!(response(Runtime::Claude, &[Some(&failed)]), Err("the client failed: no login".into()));
}

#[test]
fn the_response_of_a_command_is_its_output_or_its_last_line() {
    let command = |lines: &[Option<&str>]| response(Runtime::Command, lines);
    assert_eq!(command(&[Some("{"), Some("\"a\": 1"), Some("}")]), Ok("{\n\"a\": 1\n}\n".into()));
    assert_eq!(command(&[Some("starting"), Some("{\"a\":1}"), Some("")]), Ok("{\"a\":1}".into()));
    assert_eq!(command(&[Some("```json"), Some("{}"), Some("```")]), Ok("```json\n{}\n```\n".into()));
    assert_eq!(command(&[None, Some("{\"a\":1}")]), Ok("{\"a\":1}".into()));
    assert_eq!(command(&[Some("{\"a\":1}"), None]), Err(too_long()));
    assert_eq!(command(&[]), Ok(String::new()));
}

#[test]
fn the_reader_keeps_no_more_than_the_longest_response() {
    let mut reader = ResponseReader::new(Runtime::Command);
    let line = "x".repeat(1000);
    for _ in 0..5000 {
        reader.read_line(Some(&line));
        assert!(reader.output.as_ref().is_none_or(|output| output.len() <= MAX_BYTES));
    }
    assert_eq!(reader.output, None);
}
