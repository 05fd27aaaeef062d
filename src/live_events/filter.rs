//! Decides which events a subscriber wants and may see.

use super::encode::EventTags;
use crate::service::CallError;
use actors::{Broker, Caller};
use api::{ErrorBody, ErrorCode};
use domain::{
    credential::{Authority, Scope},
    event_kind::{is_event_name, list_event_names},
    ids::ReviewNumber,
    text::truncate,
};
use serde::Deserialize;

/// Query parameters of a subscription.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The last sequence number that the subscriber has. Without it, only new events are sent.
    pub(crate) since: Option<u64>,
    /// A review's id, number, or start of its id.
    review: Option<String>,
    project: Option<String>,
    /// Kinds or types, separated by commas.
    kind: Option<String>,
    /// `false`: only the events that are in the log already.
    pub(super) follow: Option<bool>,
    /// Read by the request guard.
    #[serde(rename = "ticket")]
    _ticket: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct EventFilter {
    pub(super) review: Option<ReviewNumber>,
    project: Option<String>,
    kinds: Vec<String>,
    scope: Scope,
    /// Includes events of the pool. Only operators may see the names of reviewers and the last lines they printed.
    includes_pool: bool,
}

impl EventFilter {
    pub(super) async fn for_caller(
        broker: &Broker,
        query: &EventsQuery,
        caller: Option<&Caller>,
    ) -> Result<Self, CallError> {
        let scope = caller.map_or(Scope::All, |caller| caller.scope.clone());
        let review = match &query.review {
            Some(name) => Some(find_review(broker, name, &scope).await?),
            None => scope.only_review(),
        };
        if let Some(project) = &query.project {
            if !scope.allows(Some(project)) {
                return Err(wrong_project());
            }
            broker.known_project(project)?;
        }
        let kinds: Vec<_> = query.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::trim).collect();
        if let Some(unknown) = kinds.iter().find(|kind| !is_event_name(kind)) {
            let problem = format!("{:?} is not known; allowed: {}", truncate(unknown, 80), list_event_names());
            return Err(ErrorBody::invalid("kind", &problem).into());
        }
        let kinds = kinds.into_iter().map(Into::into).collect();
        let includes_pool = caller.is_none_or(|caller| caller.authority == Authority::Operator);
        Ok(Self { review, project: query.project.clone(), kinds, scope, includes_pool })
    }

    /// For a webhook from the settings. Its kinds are valid.
    pub(crate) const fn for_webhook(project: Option<String>, kinds: Vec<String>) -> Self {
        Self { review: None, project, kinds, scope: Scope::All, includes_pool: true }
    }

    pub(crate) fn matches(&self, event: &EventTags) -> bool {
        let EventTags { topic, also, kind, review, project } = event;
        let is_in_scope = || match project {
            Some(project) => self.scope.allows(project.as_deref()),
            None => self.scope == Scope::All,
        };
        let is_of_project = || self.project.is_none() || project.as_ref() == Some(&self.project);
        let is_named = |name: &String| {
            name == kind.as_str() || name == topic.as_str() || also.is_some_and(|also| name == also.as_str())
        };
        let is_of_kind = || self.kinds.is_empty() || self.kinds.iter().any(is_named);
        // First what most events differ in.
        self.review.is_none_or(|wanted| *review == Some(wanted))
            && is_in_scope()
            && (self.includes_pool || review.is_some())
            && is_of_project()
            && is_of_kind()
    }
}

async fn find_review(broker: &Broker, name: &str, scope: &Scope) -> Result<ReviewNumber, CallError> {
    let id = broker.resolve(name, scope).await?;
    let review = broker.review(id).await?;
    let is_allowed = scope.only_review().is_none_or(|only| only == review.number);
    if is_allowed && scope.allows(review.proposer.project.as_deref()) {
        Ok(review.number)
    } else {
        Err(wrong_project())
    }
}

fn wrong_project() -> CallError {
    ErrorBody::new(ErrorCode::WrongProject, "this token is valid for another project only").into()
}
