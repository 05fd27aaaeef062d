//! Exports: reviews and findings as SARIF, Markdown or JSON. A text is written piece by piece while pages are read, so an
//! export needs the memory of one review, however many it contains. The broker and the command line both write with it.

mod issues;
mod markdown;
mod reviews;
mod sarif;

pub use issues::write_issues;
pub use reviews::{Exported, write_reviews};

use crate::{issues::ListIssuesRequest, operation::Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The encoding of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Issues for code scanning and editors, SARIF 2.1.0.
    Sarif,
    /// A readable report.
    Markdown,
    /// One JSON object.
    Json,
    /// One JSON object per line.
    Jsonl,
}

impl ExportFormat {
    pub const ALL: &'static [Self] = &[Self::Sarif, Self::Markdown, Self::Json, Self::Jsonl];

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Sarif => "application/sarif+json",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Json => "application/json",
            Self::Jsonl => "application/jsonl; charset=utf-8",
        }
    }

    /// The end of a file name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Sarif => "sarif",
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportReviewRequest {
    /// Its id, number or a unique id prefix.
    pub review_id: String,
    /// "sarif": the issues; "markdown": a report; "json" and "jsonl": everything.
    pub format: ExportFormat,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportIssuesRequest {
    pub format: ExportFormat,
    #[serde(flatten)]
    pub filter: ListIssuesRequest,
}

/// The text of an export. A download: REST sends it with the content type of its format and with a file name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ExportedText(pub String);

/// What an export reads from: this broker, or one behind REST.
pub trait Source: Sync {
    type Error: Send;

    fn execute<O: Operation>(
        &self,
        request: O::Request,
    ) -> impl Future<Output = Result<O::Response, Self::Error>> + Send;
}

/// What an export is written to: a file, or the body of a response.
pub trait Sink: Send {
    type Error: Send;

    fn write(&mut self, text: String) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// One JSON value.
fn json(value: &impl Serialize) -> String {
    // The types of responses have string keys and finite numbers, so they always have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}
