//! Which events a subscriber wants, and may have.

use super::present::Told;
use crate::service::CallError;
use actors::{
    Broker, Caller,
    credentials::{Authority, Scope},
};
use api::{ErrorBody, ErrorCode};
use domain::{
    event_kind::{Topic, is_event_name, list_event_names},
    ids::ReviewNumber,
};
use serde::Deserialize;
use store::{EventRecord, LogEntry};

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
    /// Also what the pool does, which is the operators' to know: reviewers' names, and what they printed last.
    pool: bool,
}

/// What a filter looks at.
struct About<'a> {
    topic: Topic,
    kind: &'static str,
    review: Option<ReviewNumber>,
    project: Option<&'a Option<String>>,
}

impl<'a> About<'a> {
    fn of(news: &'a EventRecord) -> Self {
        let (topic, kind, review) = match &news.entry {
            LogEntry::Review { number, recorded, .. } => {
                (recorded.event.topic(), recorded.event.kind().as_str(), Some(*number))
            }
            LogEntry::Pool(event) => (event.topic(), event.kind().as_str(), None),
        };
        Self { topic, kind, review, project: news.project.as_ref() }
    }
}

impl Filter {
    pub(super) async fn of(broker: &Broker, wanted: &Wanted, caller: Option<&Caller>) -> Result<Self, CallError> {
        let scope = caller.map_or(Scope::All, |caller| caller.scope.clone());
        let review = match &wanted.review {
            Some(given) => Some(find_review(broker, given, &scope).await?),
            None => None,
        };
        if let Some(project) = &wanted.project {
            if !scope.allows(Some(project)) {
                return Err(foreign());
            }
            broker.known_project(project).map_err(refused)?;
        }
        let kinds: Vec<_> = wanted.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::trim).collect();
        if let Some(unknown) = kinds.iter().find(|kind| !is_event_name(kind)) {
            let unknown = domain::text::truncate(unknown, 80);
            let problem = format!("{unknown:?} is not known; allowed: {}", list_event_names());
            return Err(CallError::Refused(ErrorBody::invalid("kind", &problem)));
        }
        let kinds = kinds.into_iter().map(Into::into).collect();
        let pool = caller.is_none_or(|caller| caller.authority == Authority::Operator);
        Ok(Self { review, project: wanted.project.clone(), kinds, scope, pool })
    }

    /// For a receiver that an operator has configured, with kinds that are known.
    pub(crate) fn of_hook(project: Option<String>, kinds: Vec<String>) -> Self {
        Self { review: None, project, kinds, scope: Scope::All, pool: true }
    }

    pub(crate) fn takes(&self, told: &Told) -> bool {
        let Told { topic, kind, review, project, .. } = told;
        self.wants(&About { topic: *topic, kind, review: *review, project: project.as_ref() })
    }

    /// The same before it is written: of a long log most is often not wanted.
    pub(super) fn takes_news(&self, news: &EventRecord) -> bool {
        self.wants(&About::of(news))
    }

    fn wants(&self, about: &About<'_>) -> bool {
        let is_in_reach = match about.project {
            Some(project) => self.scope.allows(project.as_deref()),
            None => self.scope == Scope::All,
        };
        let is_of_project = || self.project.is_none() || about.project.is_some_and(|project| *project == self.project);
        let is_of_kind = || {
            self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == about.kind || kind == about.topic.as_str())
        };
        is_in_reach
            && (self.pool || about.review.is_some())
            && self.review.is_none_or(|review| about.review == Some(review))
            && is_of_project()
            && is_of_kind()
    }
}

async fn find_review(broker: &Broker, given: &str, scope: &Scope) -> Result<ReviewNumber, CallError> {
    let id = broker.resolve_within(given, scope).await.map_err(refused)?;
    let review = broker.review(id).await.map_err(refused)?;
    if scope.allows(review.proposer.project.as_deref()) { Ok(review.number) } else { Err(foreign()) }
}

fn refused(error: actors::BrokerError) -> CallError {
    error.into()
}

fn foreign() -> CallError {
    CallError::Refused(ErrorBody::new(ErrorCode::WrongProject, "your token is good for another project only"))
}
