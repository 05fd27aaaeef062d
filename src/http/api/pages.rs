//! What the API shows beside the tools: settings, personas, the actor tree, logs.

use super::{Api, Asked, arguments::malformed, openapi, reply, routes::Page};
use crate::{
    broker::reviewers_folder,
    config::Config,
    http::problem::with_json,
    mcp::{Answer, Failure, Refused, Who, Whose},
    reviewer_log,
};
use actors::{BrokerError, credentials::Scope};
use axum::{http::StatusCode, response::Response};
use domain::persona::Persona;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const LINES: usize = 200;
const MAX_LINES: usize = 10_000;
const MAX_LOG_BYTES: usize = 1 << 20;

/// What is the same for as long as the broker runs.
pub struct Facts {
    config: Value,
    personas: Value,
    logs: PathBuf,
}

impl Facts {
    pub fn of(config: &Config) -> Self {
        let personas = Personas { personas: config.personas.values().map(|persona| PersonaRow::of(persona)).collect() };
        Self {
            config: shown(config),
            personas: serde_json::to_value(personas).unwrap_or_default(),
            logs: reviewers_folder(&config.server.data_dir),
        }
    }
}

/// Settings hold no token and no value of a variable, but somebody may have put a key into a command, and the path of
/// a receiver's address is often one.
fn shown(of: &Config) -> Value {
    let mut config = serde_json::to_value(of).unwrap_or_default();
    if let Some(Value::Array(command)) = config.pointer_mut("/pool/command") {
        command.iter_mut().skip(1).for_each(|word| *word = "(hidden)".into());
    }
    if let Some(Value::Array(receivers)) = config.pointer_mut("/webhooks/receivers") {
        for (shown, receiver) in receivers.iter_mut().zip(&of.webhooks.receivers) {
            shown["url"] = format!("{}/(hidden)", receiver.origin()).into();
        }
    }
    config
}

/// Who can review, as the settings say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Personas<'a> {
    personas: Vec<PersonaRow<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PersonaRow<'a> {
    name: &'a str,
    /// What it looks for, in a line.
    focus: &'a str,
    /// What whoever takes its seat is told.
    prompt: &'a str,
    /// Patterns of paths that it does not look at.
    ignore: &'a [String],
    /// agent or one_shot.
    mode: &'static str,
    /// Left out, here and below: as the pool is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    /// For one review.
    time_limit_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_usd: Option<f64>,
    /// A message that begins with a decision counts as its verdict.
    front_matter: bool,
}

impl<'a> PersonaRow<'a> {
    fn of(persona: &'a Persona) -> Self {
        Self {
            name: &persona.name,
            focus: &persona.focus,
            prompt: &persona.prompt,
            ignore: &persona.ignore,
            mode: persona.mode.as_str(),
            runtime: persona.runtime.map(|runtime| runtime.as_str()),
            model: persona.model.as_deref(),
            effort: persona.effort.map(|effort| effort.as_str()),
            time_limit_seconds: persona.time_limit.as_secs(),
            budget_usd: persona.budget_usd,
            front_matter: persona.front_matter,
        }
    }
}

/// The end of what a reviewer has printed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Log {
    reviewer_id: String,
    /// Untrusted, and with whatever control characters it printed.
    text: String,
    /// Of all that is kept.
    total_bytes: usize,
    /// Whether more is kept than is shown here.
    truncated: bool,
}

impl Page {
    pub(super) const fn whose(self) -> Whose {
        match self {
            Self::Personas | Self::OpenApi => Whose::Everyones,
            Self::Config | Self::Actors | Self::Logs => Whose::Operators,
        }
    }
}

impl Api {
    pub(super) async fn page(&self, asked: &Asked, page: Page) -> Result<Response, Failure> {
        let who = self.who(asked);
        who.may_use(asked.operation.id, page.whose()).map_err(Failure::Refused)?;
        if page != Page::Logs
            && let Some(name) = asked.arguments.keys().next()
        {
            return Err(Failure::Malformed(malformed(name, "unknown field; there are none")));
        }
        let mut response = match page {
            Page::Personas => with_json(StatusCode::OK, &self.facts.personas),
            Page::Config => with_json(StatusCode::OK, &self.facts.config),
            Page::Actors => {
                let tree = self.server.broker().actors().await.map_err(refused)?;
                with_json(StatusCode::OK, &json!(tree))
            }
            Page::Logs => reply::answered(asked, self.log(&asked.arguments, who).await?),
            Page::OpenApi => with_json(StatusCode::OK, openapi::document()),
        };
        reply::unstored(response.headers_mut());
        Ok(response)
    }

    async fn log(&self, arguments: &JsonObject, who: Who<'_>) -> Result<Answer, Failure> {
        let (name, lines) = read(arguments)?;
        let own = self.own_reviewer(&name, who).await?;
        let folder = self.logs().clone();
        let reading = tokio::task::spawn_blocking(move || {
            let path = match own {
                Some(id) => folder.join(format!("{id}.log")),
                None => reviewer_log::find(&folder, &name)?,
            };
            let (text, _) = reviewer_log::read(&path).ok()?;
            let shown = reviewer_log::last_lines(&text, Some(lines));
            let shown = &shown[shown.len().saturating_sub(MAX_LOG_BYTES)..];
            Some(Log {
                reviewer_id: path.file_stem()?.to_string_lossy().into_owned(),
                text: String::from_utf8_lossy(shown).into_owned(),
                total_bytes: text.len(),
                truncated: shown.len() < text.len(),
            })
        });
        let none = || Failure::Refused(Refused::new("no_log", "no log of such a reviewer is kept"));
        let log = reading.await.map_err(|_| Failure::Internal)?.ok_or_else(none)?;
        Answer::of(&log).map_err(|_| Failure::Internal)
    }

    fn logs(&self) -> &PathBuf {
        &self.facts.logs
    }

    /// A token that is good for one project reads only of reviewers that are known to work for it, by their ids: short
    /// names are given again. `None`: whoever it is.
    async fn own_reviewer(&self, name: &str, who: Who<'_>) -> Result<Option<String>, Failure> {
        let Some(scope @ Scope::Project(_)) = who.scope() else { return Ok(None) };
        let (pool, _, ended) = self.server.broker().pool().await.map_err(refused)?;
        let (own, others): (Vec<_>, Vec<_>) = (pool.live.iter().map(|live| &live.row).chain(&ended))
            .partition(|row| scope.allows(row.project.as_deref()));
        if let Some(row) = own.iter().find(|row| row.is_called(name)) {
            return Ok(Some(row.id.clone()));
        }
        if let Some(row) = others.iter().find(|row| row.is_called(name)) {
            who.may_touch_project(row.project.as_deref()).map_err(Failure::Refused)?;
        }
        let known = own.iter().filter(|row| row.end.is_none()).map(|row| row.id.clone()).collect();
        Err(refused(BrokerError::UnknownReviewer { given: name.to_owned(), known }))
    }
}

fn refused(error: BrokerError) -> Failure {
    Failure::Refused(error.into())
}

/// Whose log, and how many lines.
fn read(arguments: &JsonObject) -> Result<(String, usize), Failure> {
    let bad = |field: &str, problem: &str| Failure::Malformed(malformed(field, problem));
    let (mut name, mut lines) = (String::new(), LINES);
    for (field, value) in arguments {
        let value = value.as_str().ok_or_else(|| bad(field, "expected one value"))?;
        match field.as_str() {
            "reviewer_id" => name = value.to_owned(),
            "lines" => {
                let number = value.parse().ok().filter(|lines| (1..=MAX_LINES).contains(lines));
                lines = number.ok_or_else(|| bad("lines", &format!("expected 1 to {MAX_LINES}")))?;
            }
            other => return Err(bad(other, "unknown field; there is lines")),
        }
    }
    Ok((name, lines))
}
