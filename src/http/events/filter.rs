//! Which events a subscriber wants, and may have.

use super::present::Told;
use crate::http::answer::problem;
use actors::{Broker, BrokerError, Caller, passes::Scope};
use axum::{http::StatusCode, response::Response};
use domain::{
    ids::ReviewNumber,
    topic::{KINDS, Topic},
};
use serde::Deserialize;

/// The query of a subscription.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Wanted {
    /// The last sequence number that the subscriber has; left out, it hears what comes from now on.
    pub(super) since: Option<u64>,
    /// Any name of a review.
    review: Option<String>,
    project: Option<String>,
    /// Kinds or types, separated by commas.
    kind: Option<String>,
    /// `false`: only what is there already.
    pub(super) follow: Option<bool>,
    /// Taken by the door.
    #[serde(rename = "ticket")]
    _ticket: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Filter {
    pub(super) review: Option<ReviewNumber>,
    project: Option<String>,
    kinds: Vec<String>,
    scope: Scope,
}

impl Filter {
    pub(super) async fn of(broker: &Broker, wanted: &Wanted, caller: Option<&Caller>) -> Result<Self, Response> {
        let scope = caller.map_or(Scope::All, |caller| caller.scope.clone());
        let review = match &wanted.review {
            Some(given) => Some(find_review(broker, given, &scope).await?),
            None => None,
        };
        if let Some(project) = &wanted.project
            && !scope.allows(Some(project))
        {
            return Err(foreign());
        }
        let kinds: Vec<_> = wanted.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::trim).collect();
        if let Some(unknown) = kinds.iter().find(|kind| !KINDS.contains(kind) && Topic::from_word(kind).is_none()) {
            let unknown: String = unknown.chars().take(80).collect();
            let topics: Vec<_> = Topic::ALL.iter().map(|topic| topic.as_str()).collect();
            let allowed = format!("{}; or a type: {}", KINDS.join(", "), topics.join(", "));
            let error = format!("kind: {unknown:?} is not known; allowed: {allowed}");
            return Err(problem(StatusCode::BAD_REQUEST, "invalid_argument", &error));
        }
        let kinds = kinds.into_iter().map(Into::into).collect();
        Ok(Self { review, project: wanted.project.clone(), kinds, scope })
    }

    /// For a receiver that an operator has configured, with kinds that are known.
    pub(crate) fn of_hook(project: Option<String>, kinds: Vec<String>) -> Self {
        Self { review: None, project, kinds, scope: Scope::All }
    }

    pub(crate) fn takes(&self, told: &Told) -> bool {
        let is_in_reach = match &told.project {
            Some(project) => self.scope.allows(project.as_deref()),
            None => self.scope == Scope::All,
        };
        let is_of_project =
            || self.project.is_none() || told.project.as_ref().is_some_and(|project| *project == self.project);
        let is_of_kind =
            || self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == told.kind || kind == told.topic.as_str());
        is_in_reach && self.review.is_none_or(|review| told.review == Some(review)) && is_of_project() && is_of_kind()
    }
}

async fn find_review(broker: &Broker, given: &str, scope: &Scope) -> Result<ReviewNumber, Response> {
    let id = broker.resolve(given).await.map_err(|error| unfound(&error))?;
    let review = broker.review(id).await.map_err(|error| unfound(&error))?;
    if scope.allows(review.proposer.project.as_deref()) { Ok(review.number) } else { Err(foreign()) }
}

fn unfound(error: &BrokerError) -> Response {
    let status = match error.code() {
        "unknown_review" => StatusCode::NOT_FOUND,
        "ambiguous_review" => StatusCode::CONFLICT,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    problem(status, error.code(), &error.to_string())
}

fn foreign() -> Response {
    problem(StatusCode::FORBIDDEN, "wrong_project", "your token is good for another project only")
}
