//! A diff as a program wants it: whole, as text.

use super::{Api, Asked, long, reply, tags};
use crate::{
    http::problem::with_text,
    mcp::{Failure, Tool, Whole},
};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;

const DIFF: &str = "text/x-diff; charset=utf-8";
const PATCH: &str = "text/x-patch; charset=utf-8";

/// Characters of a subject.
const SUBJECT_CHARS: usize = 200;

impl Api {
    /// In pages of JSON, or, for whoever accepts that, as it is.
    pub(super) async fn diff(&self, asked: &Asked) -> Result<Response, Failure> {
        let mut response = if wants_text(&asked.parts.headers) {
            self.whole(asked, DIFF, |_| Bytes::new()).await?
        } else {
            let answer = self.call(asked, Tool::GetProposal).await?;
            reply::answered(asked, answer)
        };
        reply::unstored(response.headers_mut());
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    }

    /// As a mail for `git am`. Only the diff and one line of the proposer's text are in it: a description could
    /// hold another diff, which git would apply and nobody has reviewed.
    pub(super) async fn patch(&self, asked: &Asked) -> Result<Response, Failure> {
        let mut response = self.whole(asked, PATCH, |whole| mail_head(whole).into()).await?;
        reply::unstored(response.headers_mut());
        Ok(response)
    }

    async fn whole(
        &self,
        asked: &Asked,
        kind: &'static str,
        head: impl FnOnce(&Whole) -> Bytes,
    ) -> Result<Response, Failure> {
        let place = self.long.place().await?;
        let whole = self.server.ask_whole(asked.arguments.clone(), &asked.parts.headers, asked.caller()).await?;
        let diff = whole.diff().map_err(Failure::Refused)?;
        let tag = tags::of(whole.version);
        let mut response = match tag.filter(|tag| tags::is_known(&asked.parts.headers, tag)) {
            Some(_) => with_status(StatusCode::NOT_MODIFIED),
            None => {
                with_text(StatusCode::OK, kind, long::body([head(&whole), diff], place, asked.parts.extensions.get()))
            }
        };
        // Weak: the page of JSON has the strong one, and is another text.
        let tag = HeaderValue::try_from(format!("W/\"{}\"", whole.version)).map_err(|_| Failure::Internal)?;
        response.headers_mut().insert(header::ETAG, tag);
        if kind == PATCH {
            let named = format!("attachment; filename=\"{}-round-{}.patch\"", whole.number, whole.round);
            let named = HeaderValue::try_from(named).map_err(|_| Failure::Internal)?;
            response.headers_mut().insert(header::CONTENT_DISPOSITION, named);
        }
        Ok(response)
    }
}

fn with_status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn mail_head(whole: &Whole) -> String {
    let Whole { number, round, hash, .. } = whole;
    format!(
        "From {} Mon Sep 17 00:00:00 2001\nFrom: {} <countersign@localhost>\nSubject: [PATCH] {}\n\n\
         Review: {number}, round {round}\nContent-Hash: {hash}\n---\n",
        "0".repeat(40),
        name(&whole.agent_type),
        one_line(whole.intent()),
    )
}

fn wants_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).filter_map(|kind| kind.split(';').next());
    let first = kinds.find(|kind| matches!(kind.trim(), "text/x-diff" | "text/plain" | "application/json"));
    first.is_some_and(|kind| kind.trim() != "application/json")
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SUBJECT_CHARS).collect()
}

/// Without what means something in the head of a mail.
fn name(text: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || " ._-".contains(*c);
    text.chars().filter(plain).take(SUBJECT_CHARS).collect()
}
