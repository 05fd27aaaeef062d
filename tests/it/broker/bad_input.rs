//! Invalid input: the error names the field and the allowed values, and nothing is saved. Every tool is tested, so a
//! new
//! tool is covered automatically.

use crate::support::{
    broker::TestBroker,
    client::{proposal, proposal_with},
    reviews::last_event,
    tool_calls::{arguments_for, tools},
};
use serde_json::{Value, json};

/// What is sent in place of a valid argument, and what the answer must say.
struct Bad {
    field: String,
    value: Value,
    expected: Expected,
}

enum Expected {
    /// The refusal of an argument that is missing, unknown or of the wrong type.
    Malformed,
    /// A refusal with one of these codes.
    Refused(&'static [&'static str]),
}

/// One valid call of a tool, made invalid in one argument after the other.
async fn spoil(tool: &Value, broker: &TestBroker, spoilings: impl Fn(&str, &Value, &Value) -> Vec<Bad>) {
    let client = broker.client();
    let name = tool["name"].as_str().unwrap();
    let valid = arguments_for(name, broker).await;
    let before = last_event(&client).await;
    for (field, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
        for Bad { field, value, expected } in spoilings(field, schema, &valid) {
            let mut arguments = valid.clone();
            arguments[&field] = value.clone();
            if value.is_null() {
                arguments.as_object_mut().unwrap().remove(&field);
            }
            let said = excerpt(&value);
            let error = client.try_call(name, arguments).await.expect_err(&format!("{name}: {field}: {said}"));
            check_answer(&error, &field, &expected, &format!("{name}({field}: {said}): {}", excerpt(&error)));
        }
    }
    assert_eq!(last_event(&client).await, before, "{name} saved something");
    client.call(name, valid).await;
}

#[track_caller]
fn check_answer(error: &Value, field: &str, expected: &Expected, place: &str) {
    assert!(error.to_string().len() < 4000, "what was wrong is not sent back whole: {place}");
    match expected {
        Expected::Malformed => {
            assert_eq!((&error["code"], &error["retryable"]), (&json!("invalid_params"), &json!(false)), "{place}");
            let named = error["field"].as_str().unwrap_or_default();
            assert!(named == field || named.starts_with(&format!("{field}.")), "{place}");
            assert!(error["error"].as_str().unwrap().contains(field), "{place}");
        }
        Expected::Refused(codes) => {
            assert!(codes.iter().any(|code| error["code"] == *code), "expected one of {codes:?}: {place}");
            // One of several projects is a project.
            let (named, field) = (error["field"].as_str().unwrap_or_default(), field.replace("projects", "project"));
            assert!(named == field || named.starts_with(&format!("{field}[")), "{place}");
            assert_eq!(error["retryable"], false, "{place}");
        }
    }
}

fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}

#[tokio::test]
async fn an_argument_of_the_wrong_type_is_named() {
    let broker = TestBroker::start().await;
    for tool in tools(&broker.client()).await {
        spoil(&tool, &broker, |field, schema, _| {
            let wrong: &[Value] = match schema["type"].as_str().unwrap() {
                "string" => &[json!(7), json!(true), json!(["a"]), json!({ "a": 1 })],
                "integer" => &[json!("many"), json!(-1), json!(1.5), json!(1e300), json!(true), json!([1]), json!({})],
                "boolean" => &[json!("perhaps"), json!(2), json!([true]), json!({})],
                "array" => &[json!(7), json!({ "a": 1 }), json!([1]), json!([["a"]]), json!([null])],
                "object" => &[json!(7), json!([1]), json!("no object"), json!(true)],
                other => panic!("{field} has a type that this test does not know: {other}"),
            };
            wrong.iter().map(|value| bad(field, value.clone(), Expected::Malformed)).collect()
        })
        .await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_missing_argument_is_named() {
    let broker = TestBroker::start().await;
    for tool in tools(&broker.client()).await {
        let mut required: Vec<Value> = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        if tool["name"] == "create_review" {
            // A revision needs none of them, so a schema cannot require these.
            required.extend([json!("intent"), json!("agent_type")]);
        }
        spoil(&tool, &broker, |field, _, _| {
            let is_required = required.contains(&json!(field));
            if is_required { vec![bad(field, Value::Null, Expected::Malformed)] } else { Vec::new() }
        })
        .await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_blank_required_text_is_refused() {
    let broker = TestBroker::start().await;
    for tool in tools(&broker.client()).await {
        let required: Vec<Value> = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        spoil(&tool, &broker, |field, schema, _| {
            if !required.contains(&json!(field)) || schema["type"] != "string" {
                return Vec::new();
            }
            let codes: &[&str] = match field {
                "review_id" => &["unknown_review"],
                "verdict" => &["unknown_verdict"],
                _ => &["invalid_argument", "unknown_role", "unknown_status"],
            };
            let blank = |text: &str| bad(field, json!(text), Expected::Refused(codes));
            // For a role, and a name that a token can replace, an empty text counts as missing.
            let counts_as_missing = field.ends_with("_role") || field == "reviewer_id";
            let empty = if counts_as_missing { bad(field, json!(""), Expected::Malformed) } else { blank("") };
            vec![empty, blank(" \n\t")]
        })
        .await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_text_that_is_too_long_is_refused_and_not_echoed() {
    let broker = TestBroker::with_settings("[limits]\ndiff_bytes = 200000\n").await;
    for tool in tools(&broker.client()).await {
        // A name that no reviewer has changes nothing in a call that only reads.
        let reads = ["get_proposal", "get_discussion", "get_review_status", "get_review_timeline", "list_issues"];
        let only_reads = reads.contains(&tool["name"].as_str().unwrap());
        spoil(&tool, &broker, |field, schema, valid| {
            if field == "caller_id" && only_reads {
                return Vec::new();
            }
            let long = "x".repeat(300_000);
            let value = match schema["type"].as_str().unwrap() {
                "string" => json!(long),
                "array" => json!([long]),
                "object" if field == "metadata" => json!({ "text": long }),
                _ => return Vec::new(),
            };
            let codes: &[&str] = match field {
                "review_id" => &["unknown_review"],
                "status" | "statuses" => &["unknown_status"],
                "remove" => &["unknown_part"],
                "to" => &["unknown_recipient"],
                "category" => &["unknown_category"],
                "priority" => &["unknown_priority"],
                "verdict" => &["unknown_verdict"],
                "content" => &["unknown_content"],
                "closer_role" | "sender_role" => &["unknown_role", "unknown_status"],
                "cursor" => &["bad_cursor"],
                "file" => &["unknown_file", "too_long"],
                "severity" | "severities" => &["unknown_severity"],
                "type" => &["unknown_type"],
                "kind" => &["unknown_kind"],
                "order" => &["unknown_order"],
                "group_by" => &["unknown_group_by"],
                "role" => &["unknown_role", "unknown_status"],
                // A text is an issue with only a title.
                "issues" | "issue_id" | "duplicate_of" | "landed_as" => &["invalid_argument"],
                _ => &["too_long"],
            };
            // So do `personas` and `reviewers`.
            if field == "reviewers" {
                return Vec::new();
            }
            // `project` and `projects` exclude each other.
            if field == "project" && valid.get("projects").is_some() {
                return vec![Bad {
                    field: "projects".into(),
                    value: json!([long]),
                    expected: Expected::Refused(codes),
                }];
            }
            vec![bad(field, value, Expected::Refused(codes))]
        })
        .await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unknown_value_is_answered_with_the_allowed_ones() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mut words = 0;
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        for (field, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let Some(allowed) = schema.get("enum") else { continue };
            words += 1;
            for word in ["Approved", "merged", "*", "\u{202e}\u{1b}[31m", "pending,closed"] {
                let mut arguments = arguments_for(name, &broker).await;
                arguments[field] = json!(word);
                let before = last_event(&client).await;
                let noun = match field.as_str() {
                    "closer_role" | "sender_role" => "role",
                    "to" => "recipient",
                    other => other,
                };
                let code = format!("unknown_{noun}");
                let refused = client.refused(&code, name, arguments).await;
                assert_eq!((&refused["field"], &refused["allowed"]), (&json!(field), allowed));
                let error = refused["error"].as_str().unwrap();
                for allowed in allowed.as_array().unwrap() {
                    assert!(error.contains(allowed.as_str().unwrap()), "{error}");
                }
                assert!(!error.contains(['\u{202e}', '\u{1b}']), "{error:?}");
                assert_eq!(last_event(&client).await, before);
            }
        }
    }
    assert!(words >= 6, "{words}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unknown_field_is_named_with_the_known_ones() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        let mut arguments = arguments_for(name, &broker).await;
        let before = last_event(&client).await;
        for surprise in ["cleverness", "Intent", "", "a.b", &"z".repeat(300_000)] {
            let mut spoilt = arguments.clone();
            spoilt[surprise] = json!("?");
            let error = client.try_call(name, spoilt).await.unwrap_err();
            assert_eq!(error["code"], "invalid_params");
            assert!(error.to_string().len() < 4000, "{name}");
            if surprise.len() < 100 {
                assert_eq!(error["field"], surprise, "{name}: {error}");
                // A tool may have no arguments.
                let mut known = tool["inputSchema"]["properties"].as_object().unwrap().keys();
                assert!(known.all(|known| error["error"].as_str().unwrap().contains(known)), "{error}");
            }
        }
        assert_eq!(last_event(&client).await, before);
        arguments = arguments_for(name, &broker).await;
        if name != "create_review" {
            client.call(name, arguments).await;
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_tool_refuses_an_unknown_review() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        if tool["inputSchema"]["properties"]["review_id"].is_null() {
            continue;
        }
        for unknown in ["R-9999", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "7c9e6679", "x", "' OR 1=1 --"] {
            let mut arguments = arguments_for(name, &broker).await;
            arguments["review_id"] = json!(unknown);
            let before = last_event(&client).await;
            let refused = client.refused("unknown_review", name, arguments).await;
            assert_eq!(refused["field"], "review_id", "{name}: {refused}");
            assert!(refused["error"].as_str().unwrap().contains(unknown), "{refused}");
            assert_eq!(last_event(&client).await, before);
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn numbers_out_of_range_are_refused_with_the_range() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = client.submit("counted").await;
    for limit in [0, 201, u32::MAX] {
        let refused = client.refused("invalid_argument", "list_reviews", json!({ "limit": limit })).await;
        assert_eq!(refused["field"], "limit");
    }
    for seconds in [0, 51] {
        let arguments = json!({ "review_id": id, "wait": true, "timeout_seconds": seconds });
        let refused = client.refused("invalid_argument", "get_review_status", arguments).await;
        assert_eq!(refused["field"], "timeout_seconds");
        assert!(refused["error"].as_str().unwrap().contains("1 to 50"), "{refused}");
    }
    client.refused("wait_needs_pending", "list_reviews", json!({ "wait": true })).await;
    client.refused("wait_needs_pending", "list_reviews", json!({ "wait": true, "status": "approved" })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn names_with_control_characters_are_refused() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let before = last_event(&client).await;
    for field in ["agent_type", "agent_role", "phase", "plan", "task", "proposer_id", "idempotency_key"] {
        for name in ["two\nlines", "\u{1b}[2Jcleared", "nul\0"] {
            let refused =
                client.refused("invalid_argument", "create_review", proposal_with("x", json!({ field: name }))).await;
            assert_eq!(refused["field"], field);
        }
    }
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn texts_are_returned_unchanged() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let odd = "nul \0, escape \u{1b}[31m, bidi \u{202e}, astral 😀, quotes \"'`, <script>, \\u0041, \r\n, \u{feff}";
    let created = client.call("create_review", proposal_with(odd, json!({ "description": odd }))).await;
    let read = client.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
    assert_eq!((&read["intent"], &read["description"]), (&json!(odd), &json!(odd)));
    client.claim(read["review_id"].as_str().unwrap(), "ada").await;
    let message = json!({
        "review_id": created["review_id"], "sender_role": "reviewer", "body": odd, "metadata": { odd: odd },
    });
    client.call("add_message", message).await;
    let talk = client.call("get_discussion", json!({ "review_id": created["review_id"] })).await;
    assert_eq!((&talk["messages"][0]["body"], &talk["messages"][0]["metadata"]), (&json!(odd), &json!({ odd: odd })));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn harmless_mistakes_in_arguments_are_accepted() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let slips = json!({ "plan": "", "task": null, "skip_diff_validation": "false", "category": "", "diff": "" });
    let created = client.call("create_review", proposal_with("slips", slips)).await;
    let status = client.status(created["review_id"].as_str().unwrap()).await;
    assert_eq!((&status["plan"], &status["task"], &status["has_diff"]), (&Value::Null, &Value::Null, &json!(false)));
    let list = client.call("list_reviews", json!({ "limit": "1", "projects": "project", "wait": "false" })).await;
    assert_eq!(list["reviews"].as_array().unwrap().len(), 1);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_call_that_is_not_one_is_a_protocol_error() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let error = |params: Value| {
        let call = client.request("tools/call", params);
        async move { call.await.unwrap_err() }
    };
    let unknown = error(json!({ "name": "merge_review", "arguments": {} })).await;
    assert_eq!((&unknown["code"], &unknown["data"]["code"]), (&json!(-32602), &json!("unknown_tool")));
    assert!(unknown["message"].as_str().unwrap().contains("create_review"), "{unknown}");
    for (params, field) in [
        (json!({ "name": "list_reviews", "arguments": [1] }), "arguments"),
        (json!({ "name": "list_reviews", "arguments": "status=pending" }), "arguments"),
        (json!({ "arguments": {} }), "name"),
        (json!({ "name": 7 }), "name"),
    ] {
        let error = error(params).await;
        assert_eq!((&error["code"], &error["data"]["field"]), (&json!(-32602), &json!(field)), "{error}");
    }
    let error = client.request("tools/calls", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32601);
    let bad_cursor = client.request("resources/list", json!({ "cursor": "x" })).await.unwrap_err();
    assert_eq!(bad_cursor["code"], -32602);
    client.call("create_review", proposal("still served")).await;
    broker.stop_and_check().await;
}

/// One path answers the calls of current clients, the other all others.
#[tokio::test]
async fn a_wrong_argument_is_a_tool_result_that_a_model_can_read_on_both_paths() {
    let broker = TestBroker::start().await;
    for (tool, arguments, field, allowed) in [
        ("submit_verdict", json!({ "review_id": "R-1" }), "verdict", "changes_requested"),
        ("claim_review", json!({ "review_id": "R-1", "reviewer_id": 7 }), "reviewer_id", "expected a string"),
        ("get_review_status", json!({}), "review_id", "required"),
        ("list_reviews", json!({ "colour": "red" }), "colour", "my_turn"),
    ] {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let mut results = Vec::new();
        for revision in [Some("2025-11-25"), None] {
            let request = reqwest::Client::new().post(broker.mcp_url()).json(&call);
            let request = request.header("accept", "application/json, text/event-stream");
            let request =
                revision.into_iter().fold(request, |request, name| request.header("mcp-protocol-version", name));
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            let mut result = answer["result"].clone();
            assert_eq!(result["isError"], true, "{answer}");
            let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(result["structuredContent"], text, "clients that show only one of them show everything");
            result = text;
            assert!(result.as_object_mut().unwrap().remove("trace_id").is_some());
            results.push(result);
        }
        assert_eq!(results[0], results[1]);
        assert_eq!((&results[0]["code"], &results[0]["field"]), (&json!("invalid_params"), &json!(field)));
        assert!(results[0]["error"].as_str().unwrap().contains(allowed), "{}", results[0]);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_proposal_without_role_and_phase_has_the_defaults() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let made = client.call("create_review", json!({ "intent": "short", "agent_type": "claude" })).await;
    let status = client.status(made["review_id"].as_str().unwrap()).await;
    assert_eq!((&status["agent_role"], &status["phase"]), (&json!("proposer"), &json!("work")));
    broker.stop_and_check().await;
}

fn bad(field: &str, value: Value, expected: Expected) -> Bad {
    Bad { field: field.into(), value, expected }
}
