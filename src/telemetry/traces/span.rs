//! A span, and how OTLP writes it in JSON.

use serde_json::{Value, json};
use std::{
    borrow::Cow,
    num::NonZeroU64,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// When something began, on both clocks: one says when, the other how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    at: SystemTime,
    clock: Instant,
}

impl Started {
    pub(crate) fn now() -> Self {
        Self { at: SystemTime::now(), clock: Instant::now() }
    }

    /// Of what took so long until now.
    pub(crate) fn before(took: Duration) -> Self {
        let now = Self::now();
        let at = now.at.checked_sub(took).unwrap_or(now.at);
        Self { at, clock: now.clock.checked_sub(took).unwrap_or(now.clock) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The answer to a request from outside.
    Server,
    Internal,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Server => 2,
        }
    }
}

/// What was done and how it ended. Names and attributes are words of ours and ids, never what a caller wrote.
#[derive(Debug)]
pub(crate) struct Span {
    trace: u128,
    id: NonZeroU64,
    parent: Option<NonZeroU64>,
    name: Cow<'static, str>,
    kind: Kind,
    start: u128,
    end: u128,
    attributes: Vec<(&'static str, Value)>,
    is_error: bool,
}

impl Span {
    /// One that ends now.
    pub(crate) fn ended(
        trace: u128,
        id: NonZeroU64,
        parent: Option<NonZeroU64>,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        started: Started,
    ) -> Self {
        let start = started.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let end = start + started.clock.elapsed().as_nanos();
        let (attributes, is_error) = (Vec::new(), false);
        Self { trace, id, parent, name: name.into(), kind, start, end, attributes, is_error }
    }

    #[must_use]
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// The fault was ours.
    #[must_use]
    pub(crate) fn failed(self, is_error: bool) -> Self {
        Self { is_error, ..self }
    }

    fn written(&self) -> Value {
        let id = |id: NonZeroU64| format!("{id:016x}");
        let mut span = json!({
            "traceId": format!("{:032x}", self.trace),
            "spanId": id(self.id),
            "name": self.name,
            "kind": self.kind.number(),
            // 64-bit numbers are texts in JSON of protobuf.
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": self.end.to_string(),
            "attributes": self.attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
            "status": if self.is_error { json!({ "code": 2 }) } else { json!({}) },
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = id(parent).into();
        }
        span
    }
}

/// The body of an export: `ExportTraceServiceRequest`.
pub(super) fn export(batch: &[Span]) -> Value {
    let resource = [("service.name", json!("countersign")), ("service.version", json!(env!("CARGO_PKG_VERSION")))];
    let resource: Vec<_> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    let spans: Vec<_> = batch.iter().map(Span::written).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "countersign" }, "spans": spans }],
    }] })
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Null | Value::Array(_) | Value::Object(_) => json!({ "stringValue": value.to_string() }),
    };
    json!({ "key": key, "value": value })
}
