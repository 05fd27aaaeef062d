//! The type of a REST route: which arguments it takes in path, query and body, and how a client encodes them as an HTTP
//! request.

use crate::operation::{Operation, OperationId};
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Serialize, ser::Error as _};
use serde_json::{Map, Value};

/// The encoding of a REST response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    /// JSON, or the whole diff as text if the caller accepts text/x-diff.
    Diff,
    /// The diff as a mail for `git am`.
    Patch,
    /// A counter-patch as text.
    CounterPatch,
    /// A file to download, sent while it is written. The request or the operation says which encoding it has.
    Export,
    /// The log of a reviewer as server-sent events, or as text, until the reviewer has ended.
    LogStream,
}

/// A REST route of an operation. Names in braces in the path are arguments.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The OpenAPI operation id. Unique.
    pub id: &'static str,
    pub operation: OperationId,
    pub method: Method,
    pub path: &'static str,
    pub format: Format,
    /// Arguments of the operation that this route does not take.
    pub omitted: &'static [&'static str],
}

impl Route {
    /// The names of the arguments in the path.
    pub fn path_arguments(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    pub fn is_about_a_review(&self) -> bool {
        self.path_arguments().any(|name| name == "review_id")
    }

    /// Whether arguments are sent in a JSON body rather than in the query.
    pub fn takes_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PATCH
    }

    pub fn changes(&self) -> bool {
        self.method != Method::GET
    }

    /// Whether a success creates a resource with its own address.
    pub fn creates(&self) -> bool {
        self.method == Method::POST && !self.path.contains('{')
    }

    /// Whether this route can carry a request with these arguments.
    pub fn accepts(&self, arguments: &Map<String, Value>) -> bool {
        self.path_arguments().all(|name| arguments.contains_key(name))
            && !self.omitted.iter().any(|name| arguments.contains_key(*name))
    }

    /// The request line and body for `arguments`: the path with its arguments filled in, the query, and the body.
    pub fn encode(&self, mut arguments: Map<String, Value>) -> EncodedRequest {
        let path =
            self.path.split('/').map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => percent_encode(&plain_text(&arguments.remove(name).unwrap_or_default())),
                None => part.to_owned(),
            });
        let path = path.collect::<Vec<_>>().join("/");
        let method = self.method.clone();
        if self.takes_body() {
            return EncodedRequest { method, target: path, body: Some(arguments) };
        }
        EncodedRequest { method, target: with_query(&path, &arguments), body: None }
    }
}

/// A request as a client sends it.
#[derive(Debug, PartialEq)]
pub struct EncodedRequest {
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The JSON body of a route that takes one.
    pub body: Option<Map<String, Value>>,
}

impl EncodedRequest {
    /// The request of operation `O`, for the first route that can carry its arguments.
    pub fn new<O: Operation>(request: &O::Request) -> serde_json::Result<Self> {
        Self::with_format::<O>(Format::Json, request)
    }

    /// As [`Self::new`], for an operation whose response is a file.
    pub fn export<O: Operation>(request: &O::Request) -> serde_json::Result<Self> {
        Self::with_format::<O>(Format::Export, request)
    }

    fn with_format<O: Operation>(format: Format, request: &O::Request) -> serde_json::Result<Self> {
        let Value::Object(arguments) = serde_json::to_value(request)? else {
            return Err(serde_json::Error::custom("the request is not an object"));
        };
        match O::ID.route_with(format, &arguments) {
            Some(route) => Ok(route.encode(arguments)),
            None => Err(serde_json::Error::custom("no route can carry these arguments")),
        }
    }

    /// A GET request with the fields of `query`.
    pub fn get(path: &str, query: &impl Serialize) -> serde_json::Result<Self> {
        let query = serde_json::from_value(serde_json::to_value(query)?)?;
        Ok(Self { method: Method::GET, target: with_query(path, &query), body: None })
    }
}

fn with_query(path: &str, query: &Map<String, Value>) -> String {
    let mut target = path.to_owned();
    let mut separator = '?';
    for (name, value) in query {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                std::slice::from_ref(value)
            }
        };
        for value in values {
            target.push_str(&format!("{separator}{name}={}", percent_encode(&plain_text(value))));
            separator = '&';
        }
    }
    target
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Encodes a text for a path segment or a query value.
pub fn percent_encode(text: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}
