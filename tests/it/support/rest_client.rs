//! A client of the REST API.

use super::{broker::TestBroker, tokens::operator_secret};
use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::Value;

#[derive(Clone)]
pub(crate) struct RestClient {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The content type without parameters.
    pub(crate) fn kind(&self) -> &str {
        self.header("content-type").unwrap_or_default().split(';').next().unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The body of a response that must have this status.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.kind(), "application/json", "{self:?}");
        self.json()
    }

    /// The body of an error with this status and code.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(self.kind(), "application/problem+json", "{self:?}");
        assert_eq!(
            (&body["status"], &body["type"]),
            (&status.into(), &format!("urn:countersign:problem:{code}").into())
        );
        for field in ["title", "detail"] {
            assert!(body[field].as_str().is_some_and(|words| !words.is_empty()), "{field}: {self:?}");
        }
        body
    }
}

impl TestBroker {
    /// A caller of REST without a token.
    pub(crate) fn rest(&self) -> RestClient {
        RestClient { http: reqwest::Client::new(), base: self.url("/api/v1"), token: None }
    }

    pub(crate) fn rest_as_operator(&self) -> RestClient {
        self.rest().with_token(&operator_secret(self))
    }
}

impl RestClient {
    pub(crate) fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// A request that can be extended.
    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let url = if path.starts_with("/api/") { self.base.replace("/api/v1", path) } else { self.base.clone() + path };
        let request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        let request = request.header("content-type", "application/json");
        self.token.iter().fold(request, |request, token| request.bearer_auth(token))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        sent(self.request("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        sent(self.request("POST", path).body(body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        sent(self.request("PATCH", path).body(body.to_string())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        sent(self.request("DELETE", path)).await
    }
}

pub(crate) async fn sent(request: RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Answer { status, headers, text: answer.text().await.unwrap() }
}

/// Percent-encodes a query value.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
