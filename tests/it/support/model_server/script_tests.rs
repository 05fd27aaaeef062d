use futures::FutureExt;
use serde_json::{Value, json};

use super::gate::Gate;
use super::script::{Reply, Script};

/// What the script says after these results; `None` while it waits at a gate.
fn next(script: &Script, results: &[&str]) -> Option<Reply> {
    let results: Vec<String> = results.iter().map(ToString::to_string).collect();
    script.next(&results).now_or_never()
}

fn call(tool: &str, args: Value) -> Option<Reply> {
    Some(Reply::Call { tool: tool.to_owned(), args })
}

fn text(text: &str) -> Option<Reply> {
    Some(Reply::Text(text.to_owned()))
}

#[test]
fn saved_values_keep_their_type() {
    let script = Script::new()
        .var("me", "ada")
        .call("claim", json!({ "by": "${me}" }))
        .save_as("gen", "claim_generation")
        .call("verdict", json!({ "generation": "${gen}", "reason": "by ${me}, ${gen}" }))
        .finish("${me} in ${gen}");
    let claimed = r#"{"structuredContent":{"seat":{"claim_generation":2}}}"#;

    assert_eq!(next(&script, &[]), call("claim", json!({ "by": "ada" })));
    assert_eq!(next(&script, &[claimed]), call("verdict", json!({ "generation": 2, "reason": "by ada, 2" })));
    assert_eq!(next(&script, &[claimed, "{}"]), text("SCRIPT-OK ada in 2"));
}

#[test]
fn values_are_found_in_text_and_in_nested_json() {
    let script = Script::new().call("list", json!({})).save("id").finish("${id}");

    for result in [
        r#"{"id":"R-1"}"#,
        "Script completed\nOutput:\n[{\"content\":[{\"text\":\"{\\\"id\\\":\\\"R-1\\\"}\"}]}]",
        r#"{broken [1] {"id":null,"reviews":[{"id":"R-1"},{"id":"R-2"}]} rest"#,
    ] {
        assert_eq!(next(&script, &[result]), text("SCRIPT-OK R-1"), "{result}");
    }
}

#[test]
fn a_call_is_repeated_until_its_key_appears() {
    let script = Script::new().call("wait", json!({})).until("verdict", 3).save("verdict").finish("${verdict}");

    assert_eq!(next(&script, &["connection refused", "{}"]), call("wait", json!({})));
    assert_eq!(next(&script, &["{}", r#"{"verdict":"approved"}"#]), text("SCRIPT-OK approved"));
    assert_eq!(next(&script, &["{}", "{}", "gone"]), text("SCRIPT-FAILED wait: no verdict after 3 calls, last: gone"));
}

#[test]
fn a_failure_says_why() {
    let script =
        Script::new().call("close", json!({})).expect("status", "closed").call("next", json!({ "id": "${id}" }));

    assert_eq!(
        next(&script, &[r#"{"status":"pending"}"#]),
        text(r#"SCRIPT-FAILED close: status is "pending", not "closed", in {"status":"pending"}"#)
    );
    assert_eq!(next(&script, &[r#"{"status":"closed"}"#]), text("SCRIPT-FAILED nothing is saved as id"));
}

#[tokio::test]
async fn a_gate_holds_the_model_only_at_its_own_step() {
    let gate = Gate::new();
    let script = Script::new().call("claim", json!({})).gate(&gate).call("verdict", json!({}));

    assert_eq!(next(&script, &[]), call("claim", json!({})));
    assert!(gate.reached().now_or_never().is_none());
    assert_eq!(next(&script, &["{}"]), None);
    assert!(gate.reached().now_or_never().is_some());
    assert_eq!(next(&script, &["{}", "{}"]), text("SCRIPT-OK"));
    gate.open();
    assert_eq!(next(&script, &["{}"]), call("verdict", json!({})));
}
