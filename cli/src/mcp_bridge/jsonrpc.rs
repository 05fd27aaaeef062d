//! Parses the parts of a JSON-RPC message that the MCP bridge needs to forward it.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

/// The fields that determine the headers of the request and the answer.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    /// The id as raw JSON, so that the answer repeats it exactly. `None` for a notification.
    pub id: Option<String>,
    pub method: Option<String>,
    /// The name of the tool or prompt, the URI of the resource, or the id of the task.
    pub name: Option<String>,
    /// The protocol version in the metadata of the message.
    pub version: Option<String>,
    /// The id of the request that this message cancels.
    pub cancels: Option<String>,
}

#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params<'a> {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "taskId")]
    task_id: Option<String>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl Envelope {
    /// Parses a line. The error is the JSON-RPC answer to an invalid one.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Vec<u8>> {
        let outer: Outer<'_> = serde_json::from_slice(line).map_err(|error| {
            let is_json = serde_json::from_slice::<&RawValue>(line).is_ok();
            let (code, what) = if is_json { (-32600, "Invalid Request") } else { (-32700, "Parse error") };
            let error = json!({ "code": code, "message": format!("{what}: {error}") });
            json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string().into_bytes()
        })?;
        let params = outer.params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
        let params = params.unwrap_or_default();
        let name = match outer.method.as_deref() {
            Some("tools/call" | "prompts/get") => params.name,
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => params.uri,
            Some("tasks/get" | "tasks/update" | "tasks/cancel") => params.task_id,
            Some(_) | None => None,
        };
        let is_cancel = outer.method.as_deref() == Some("notifications/cancelled");
        Ok(Self {
            id: outer.id.map(|id| id.get().to_owned()),
            method: outer.method,
            name,
            version: params.meta.and_then(|meta| meta.version),
            cancels: params.request_id.filter(|_| is_cancel).map(|id| id.get().to_owned()),
        })
    }

    /// The line of an error answer to this message. None for a notification.
    pub(super) fn failure(&self, message: &str, code: &str, retryable: bool) -> Vec<Vec<u8>> {
        let error = json!({ "code": -32000, "message": message, "data": { "code": code, "retryable": retryable } });
        let line = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes();
        self.id.as_ref().map(line).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Envelope;

    fn parse(line: &str) -> Envelope {
        Envelope::parse(line.as_bytes()).expect("read")
    }

    #[test]
    fn the_needed_fields_are_parsed() {
        let call = parse(
            r#"{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"t","arguments":{"name":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!(call.id.as_deref(), Some(r#""a\"b""#));
        assert_eq!((call.name.as_deref(), call.version.as_deref()), (Some("t"), Some("2026-07-28")));
        let cancel = parse(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!((cancel.id, cancel.cancels.as_deref()), (None, Some("7")));
        let unusual = parse(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}"#);
        assert_eq!((unusual.id.as_deref(), unusual.name), (Some("7"), None));
    }

    #[test]
    fn an_invalid_line_gets_an_error_answer() {
        let answer =
            |line: &str| String::from_utf8(Envelope::parse(line.as_bytes()).expect_err("refused")).expect("text");
        assert!(answer("{").contains("-32700"));
        assert!(answer("[]").contains("-32600"));
        assert!(answer("3").contains("-32600"));
    }

    #[test]
    fn a_failure_repeats_the_id_exactly() {
        let call = parse(r#"{"id":7,"method":"ping"}"#);
        let text = String::from_utf8(call.failure("gone", "answer_lost", true).concat()).expect("text");
        assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":{"#), "{text}");
    }
}
