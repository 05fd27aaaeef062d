//! A diff as a program wants it: whole, as text.

use super::{Api, Asked, reply};
use crate::{
    http::answer::with_text,
    mcp::{Failure, Refused, Tool},
};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use serde_json::Value;

const DIFF: &str = "text/x-diff; charset=utf-8";
const PATCH: &str = "text/x-patch; charset=utf-8";

/// Characters of a subject.
const SUBJECT_CHARS: usize = 200;

impl Api {
    /// In pages of JSON, or, for whoever accepts that, as it is.
    pub(super) async fn diff(&self, asked: &Asked) -> Result<Response, Failure> {
        let mut response = if wants_text(&asked.parts.headers) {
            let said = self.whole(asked).await?;
            with_text(StatusCode::OK, DIFF, diff_in(&said)?.to_owned())
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
        let said = self.whole(asked).await?;
        let diff = diff_in(&said)?;
        let text = |name: &str| said[name].as_str().unwrap_or_default();
        let (number, round, hash) = (text("number"), &said["round"], text("content_hash"));
        let mail = format!(
            "From {} Mon Sep 17 00:00:00 2001\nFrom: {} <countersign@localhost>\nSubject: [PATCH] {}\n\n\
             Review: {number}, round {round}\nContent-Hash: {hash}\n---\n{diff}",
            "0".repeat(40),
            name(text("agent_type")),
            one_line(text("intent")),
        );
        let mut response = with_text(StatusCode::OK, PATCH, mail);
        reply::unstored(response.headers_mut());
        let named = format!("attachment; filename=\"{number}-round-{round}.patch\"");
        if let Ok(named) = HeaderValue::try_from(named) {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, named);
        }
        Ok(response)
    }

    async fn whole(&self, asked: &Asked) -> Result<Value, Failure> {
        let (server, headers) = (self.server.unpaged(), &asked.parts.headers);
        let answer = server.ask(Tool::GetProposal, asked.arguments.clone(), headers, asked.caller()).await?;
        Ok(answer.structured)
    }
}

fn diff_in(said: &Value) -> Result<&str, Failure> {
    let none = || Refused::new("no_diff", "there is no diff here: the proposal is a text, or nothing changed");
    said["diff"].as_str().ok_or_else(|| Failure::Refused(none()))
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
