//! What each operation does and who may call it. MCP and HTTP decode a request, call an operation here and encode its
//! response; they do not know each other.
//!
//! There is one module per noun, as in the `api` package. `dispatch` runs every call: it checks the role, contains
//! panics, and writes one log line and one metric.

mod admin;
mod authz;
mod claims;
mod dispatch;
mod error;
mod history;
mod issues;
mod messages;
mod pagination;
mod proposals;
mod reviewers;
mod reviews;
mod stats;
mod verdicts;
mod webhooks;

pub use admin::ConfigView;
pub(crate) use authz::Authorization;
pub(crate) use dispatch::{CallContext, JsonText};
pub(crate) use error::CallError;
pub(crate) use proposals::FullDiff;

use crate::webhooks::Webhooks;
use actors::{Broker, BrokerError, Wait, credentials::Scope};
use api::{
    ErrorBody, ErrorCode, OperationId, decode::Malformed, placeholders::Placeholders, reviews::ReviewStatusResponse,
};
use domain::{
    ids::ReviewId,
    review::{Command, Review, Role},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// The limits that responses keep to, and the numbers that descriptions state.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Maximum characters of one page of content.
    pub page_chars: usize,
    pub wait_default: Duration,
    /// The longest wait that a caller may ask for.
    pub wait_max: Duration,
    pub claim_lease: Duration,
}

impl Settings {
    pub(crate) fn placeholders(self) -> Placeholders {
        Placeholders::with_values(self.page_chars, self.wait_default, self.wait_max, self.claim_lease)
    }
}

/// The operations of one broker. Cheap to clone. It keeps no state per client or session.
#[derive(Clone)]
pub struct Service {
    broker: Broker,
    settings: Settings,
    config: Arc<ConfigView>,
    webhooks: Webhooks,
}

impl Service {
    pub fn new(broker: Broker, settings: Settings, config: ConfigView, webhooks: Webhooks) -> Self {
        Self { broker, settings, config: Arc::new(config), webhooks }
    }

    pub(crate) const fn settings(&self) -> Settings {
        self.settings
    }

    pub(crate) const fn broker(&self) -> &Broker {
        &self.broker
    }
}

/// One call of an operation.
pub(crate) struct Call<'a> {
    service: &'a Service,
    /// The broker, which may be limited to the version of a review that the caller expects.
    broker: Broker,
    operation: OperationId,
    authz: Authorization<'a>,
    context: CallContext<'a>,
    /// The review that the call is about, for the log.
    review: &'a OnceLock<ReviewId>,
}

impl Call<'_> {
    /// Finds the review that the caller names and checks that the caller may act on it.
    async fn resolve(&self, given: &str) -> Result<ReviewId, CallError> {
        let scope = self.authz.scope().unwrap_or(&Scope::All);
        let id = self.broker.resolve(given, scope).await?;
        let id = *self.review.get_or_init(|| id);
        if self.authz.is_limited() {
            self.authz.check_review(&*self.broker.review(id).await?, Some(self.operation))?;
        }
        Ok(id)
    }

    /// Executes a command and returns the state of the review after it.
    async fn execute(&self, review: &str, command: Command) -> Result<ReviewStatusResponse, CallError> {
        let id = self.resolve(review).await?;
        Ok(ReviewStatusResponse::from(&*self.broker.execute(id, command).await?.review))
    }

    /// The role that the caller acts in: that of the endpoint or the token if either has one, else the given one.
    fn role(&self, field: &'static str, given: Option<Role>) -> Result<Role, CallError> {
        let own = match (self.context.endpoint_role, self.authz.role()) {
            (Some(endpoint), Some(token)) if endpoint != token => {
                let error = format!("this endpoint is for the {endpoint} and your token for the {token}");
                return Err(ErrorBody::new(ErrorCode::WrongRole, error).into());
            }
            (endpoint, token) => endpoint.or(token),
        };
        match (given, own) {
            (None, Some(own)) => Ok(own),
            (None, None) => Err(Malformed::missing(field, "allowed: proposer, reviewer").into()),
            (Some(role), Some(own)) if role != own => {
                let error = format!("{field}: you act as the {own} here, not as the {role}");
                Err(wrong_role(field, error, own.as_str()).into())
            }
            (Some(role), _) => Ok(role),
        }
    }

    fn wait(&self, since: Option<u64>, timeout_seconds: Option<u64>) -> Result<Wait, ErrorBody> {
        let max = self.service.settings.wait_max.as_secs();
        match timeout_seconds {
            Some(seconds) if !(1..=max).contains(&seconds) => {
                Err(ErrorBody::invalid("timeout_seconds", &format!("is {seconds}; allowed: 1 to {max}")))
            }
            Some(seconds) => Ok(Wait { since, timeout: Some(Duration::from_secs(seconds)) }),
            None => Ok(Wait { since, timeout: None }),
        }
    }
}

fn wrong_role(field: &str, error: String, allowed: &str) -> ErrorBody {
    ErrorBody::new(ErrorCode::WrongRole, error).with("field", field).with("allowed", vec![allowed])
}

/// Refuses a round that the review does not have.
fn check_round(review: &Review, round: u32) -> Result<(), BrokerError> {
    let last = review.round.number;
    if (1..=last).contains(&round) {
        Ok(())
    } else {
        Err(BrokerError::NoSuchRound { number: review.number, round, last })
    }
}

/// Refuses a text that is empty or blank.
fn require_text(field: &str, text: &str) -> Result<(), ErrorBody> {
    if text.trim().is_empty() { Err(ErrorBody::invalid(field, "must not be empty")) } else { Ok(()) }
}

#[cfg(test)]
#[path = "service/pool_reviewer_tests.rs"]
mod pool_reviewer_tests;
