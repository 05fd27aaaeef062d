//! A fast path for MCP's `tools/call` that does not use rmcp, the MCP library.
//!
//! rmcp first reads a message into a general value, starts two tasks for each call and writes the response as a tree of
//! values. This module reads a call once, runs it in the task of its connection and writes the JSON of the response
//! directly. It accepts only the form of message that current clients send, in the two revisions before 2026-07-28.
//! Everything else goes to rmcp, which also decides what is valid.

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, header, request::Parts},
    response::Response,
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ProtocolVersion},
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use std::{fmt, marker::PhantomData};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25];

/// Fields of `_meta` that change how a call is served begin with this.
const PROTOCOL_META_PREFIX: &str = "io.modelcontextprotocol/";

/// Tools that can be called without rmcp.
pub trait DirectTools {
    /// The call is dropped when its client disconnects.
    fn call_directly(
        &self,
        call: ToolCall,
        request: &Parts,
    ) -> impl Future<Output = Result<ToolAnswer, ErrorData>> + Send;
}

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub name: String,
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    #[serde(default, rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// The response of a tool.
#[derive(Debug)]
pub enum ToolAnswer {
    /// Structured content as JSON text.
    Success(String),
    Refused(Box<CallToolResult>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: &'a str,
    id: MessageId,
    #[serde(borrow)]
    method: &'a str,
    params: Object<ToolCall>,
}

/// Reads a struct from a JSON object only. Serde also reads one from an array of its fields.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum MessageId {
    Number(i64),
    Text(String),
}

/// Answers a call, or gives the request back if rmcp has to answer it.
pub(crate) async fn answer<T: DirectTools>(tools: &T, request: Request) -> Result<Response, Request> {
    if !is_plain_post(request.method(), request.headers()) {
        return Err(request);
    }
    let (parts, body) = request.into_parts();
    // The request guard has read the body within its limits.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Some((id, call)) = read(&body) else {
        return Err(Request::from_parts(parts, body.into()));
    };
    drop(body);
    Ok(respond(&id, tools.call_directly(call, &parts).await))
}

fn is_plain_post(method: &Method, headers: &HeaderMap) -> bool {
    let only = |name: header::HeaderName| {
        let mut values = headers.get_all(name).iter();
        let value = values.next().and_then(|value| value.to_str().ok());
        value.filter(|_| values.next().is_none())
    };
    let accepts = |kinds: &str| kinds.contains("application/json") && kinds.contains("text/event-stream");
    method == Method::POST
        && only(header::ACCEPT).is_some_and(accepts)
        && only(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"))
        && only(header::HeaderName::from_static("mcp-protocol-version"))
            .is_some_and(|named| VERSIONS.iter().any(|version| version.as_str() == named))
}

fn read(body: &Bytes) -> Option<(MessageId, ToolCall)> {
    let Object(Message { jsonrpc, id, method, params: Object(params) }) = serde_json::from_slice(body).ok()?;
    let is_plain = |meta: &Map<String, Value>| !meta.keys().any(|key| key.starts_with(PROTOCOL_META_PREFIX));
    let is_call = jsonrpc == "2.0" && method == "tools/call" && params.meta.as_ref().is_none_or(is_plain);
    is_call.then_some((id, params))
}

#[derive(Serialize)]
struct Refused<'a> {
    jsonrpc: &'static str,
    id: &'a MessageId,
    result: Box<CallToolResult>,
}

#[derive(Serialize)]
struct Failed<'a> {
    jsonrpc: &'static str,
    id: &'a MessageId,
    error: ErrorData,
}

fn respond(id: &MessageId, answer: Result<ToolAnswer, ErrorData>) -> Response {
    let jsonrpc = "2.0";
    let body = match answer {
        Ok(ToolAnswer::Success(json)) => success(id, &json),
        Ok(ToolAnswer::Refused(mut result)) => {
            // Only later revisions know this field.
            result.result_type = None;
            serde_json::to_vec(&Refused { jsonrpc, id, result })
        }
        Err(error) => serde_json::to_vec(&Failed { jsonrpc, id, error }),
    };
    let mut response = Response::new(Body::from(body.unwrap_or_default()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The response as text and as structured content, which is already JSON.
fn success(id: &MessageId, json: &str) -> serde_json::Result<Vec<u8>> {
    // Quotes in the text are escaped.
    let mut body = Vec::with_capacity(json.len() * 2 + json.len() / 4 + 160);
    body.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    serde_json::to_writer(&mut body, id)?;
    body.extend_from_slice(br#","result":{"content":[{"type":"text","text":"#);
    serde_json::to_writer(&mut body, json)?;
    body.extend_from_slice(br#"}],"structuredContent":"#);
    body.extend_from_slice(json.as_bytes());
    body.extend_from_slice(br#","isError":false}}"#);
    Ok(body)
}

#[cfg(test)]
#[path = "calls_without_rmcp_tests.rs"]
mod tests;
