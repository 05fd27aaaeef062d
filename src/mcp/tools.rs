//! The tools: which there are, whose they are, and what each asks of the broker.

mod discuss;
mod findings;
mod history;
mod list;
mod moment;
mod pool;
mod proposal;
mod propose;
mod review;
mod target;

pub(super) use list::queue;
pub(crate) use proposal::Whole;
pub(super) use proposal::{Asked, show};

use super::{
    Server,
    args::{self, Malformed, parse},
    present::Answer,
    refusal::Refused,
    who::Who,
};
use actors::{BrokerError, credentials::Scope, requests::Wait};
use axum::http::HeaderMap;
use domain::{ids::ReviewId, review::Role};
use rmcp::model::{JsonObject, RequestMetaObject};
use std::{sync::OnceLock, time::Duration};

/// Whose work a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Everyones,
    Only(Role),
    /// Of those who run the broker: a token's holder must be an operator. Where no token is required
    /// everybody who reaches the port is on this machine, and may.
    Operators,
}

impl Whose {
    /// Whether an endpoint that speaks as `role` offers such a tool; one without a role offers all.
    pub(super) fn is_offered(self, role: Option<Role>) -> bool {
        match (self, role) {
            (Self::Everyones, _) | (_, None) => true,
            (Self::Only(owner), Some(role)) => owner == role,
            (Self::Operators, Some(_)) => false,
        }
    }
}

macro_rules! tools {
    ($($tool:ident = $name:literal of $whose:expr),+ $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Tool { $($tool),+ }

        impl Tool {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$tool),+];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$tool => $name),+ }
            }

            pub(super) fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$tool),)+ _ => None }
            }

            pub(crate) const fn whose(self) -> Whose {
                match self { $(Self::$tool => $whose),+ }
            }
        }
    };
}

tools! {
    // First, because it needs no argument: that is what a probing client calls.
    ListReviews = "list_reviews" of Whose::Everyones,
    CreateReview = "create_review" of Whose::Only(Role::Proposer),
    ClaimReview = "claim_review" of Whose::Only(Role::Reviewer),
    GetProposal = "get_proposal" of Whose::Everyones,
    SubmitVerdict = "submit_verdict" of Whose::Only(Role::Reviewer),
    GetReviewStatus = "get_review_status" of Whose::Everyones,
    AddMessage = "add_message" of Whose::Everyones,
    GetDiscussion = "get_discussion" of Whose::Everyones,
    AcceptCounterPatch = "accept_counter_patch" of Whose::Only(Role::Proposer),
    RejectCounterPatch = "reject_counter_patch" of Whose::Only(Role::Proposer),
    CloseReview = "close_review" of Whose::Only(Role::Proposer),
    CancelReview = "cancel_review" of Whose::Only(Role::Proposer),
    ReleaseClaim = "release_claim" of Whose::Only(Role::Reviewer),
    ListIssues = "list_issues" of Whose::Everyones,
    UpdateIssue = "update_issue" of Whose::Everyones,
    GetReviewTimeline = "get_review_timeline" of Whose::Everyones,
    // Of all reviews at once: for those who run the broker, so that no agent's context is filled with it.
    GetActivityFeed = "get_activity_feed" of Whose::Operators,
    GetAuditLog = "get_audit_log" of Whose::Operators,
    GetReviewStats = "get_review_stats" of Whose::Operators,
    ListReviewers = "list_reviewers" of Whose::Operators,
    SpawnReviewer = "spawn_reviewer" of Whose::Operators,
    KillReviewer = "kill_reviewer" of Whose::Operators,
}

impl Tool {
    /// Whether an endpoint that speaks as `role` offers it; one without a role offers all.
    pub(super) fn is_for(self, role: Option<Role>) -> bool {
        self.whose().is_offered(role)
    }
}

/// Why a call ends without an answer of its tool.
#[derive(Debug)]
pub(super) enum Stop {
    Malformed(Malformed),
    Refused(Refused),
    /// An answer that cannot be written as JSON: a fault of ours.
    Unwritable(serde_json::Error),
}

impl From<Malformed> for Stop {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<BrokerError> for Stop {
    fn from(error: BrokerError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<serde_json::Error> for Stop {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error)
    }
}

pub(super) type Done = Result<Answer, Stop>;

/// One call: who is asked, what came beside the arguments, and which review it turned out to be about.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub server: &'a Server,
    pub who: Who<'a>,
    pub tool: Tool,
    pub meta: &'a RequestMetaObject,
    /// Of the HTTP request, where the call came in one.
    pub headers: Option<&'a HeaderMap>,
    /// For the log.
    pub review: &'a OnceLock<ReviewId>,
}

impl Call<'_> {
    pub(super) async fn resolve(&self, given: &str) -> Result<ReviewId, Stop> {
        let scope = self.who.scope().unwrap_or(&Scope::All);
        let id = self.server.broker.resolve_within(given.trim(), scope).await?;
        let id = *self.review.get_or_init(|| id);
        if self.who.is_bounded() {
            self.who.may_touch(&*self.server.broker.review(id).await?, Some(self.tool))?;
        }
        Ok(id)
    }

    /// The role the caller speaks in: the endpoint's or the token's, where either has one.
    fn role(&self, field: &'static str, given: Option<&str>) -> Result<Role, Stop> {
        const ALLOWED: &[&str] = &[Role::Proposer.as_str(), Role::Reviewer.as_str()];
        let own = match (self.server.endpoint.role(), self.who.role()) {
            (Some(endpoint), Some(token)) if endpoint != token => {
                let error = format!("this endpoint speaks only as the {endpoint}, and your token as the {token}");
                return Err(Refused::new("wrong_role", error).into());
            }
            (endpoint, token) => endpoint.or(token),
        };
        match (given, own) {
            (None, Some(own)) => Ok(own),
            (None, None) => Err(Malformed::missing(field, "allowed: proposer, reviewer").into()),
            (Some(word), own) => match (Role::parse(word), own) {
                (None, _) => Err(Refused::unknown_word("unknown_role", field, word, ALLOWED).into()),
                (Some(role), Some(own)) if role != own => Err(wrong_role(field, role, own).into()),
                (Some(role), _) => Ok(role),
            },
        }
    }

    fn wait(&self, since: Option<u64>, timeout_seconds: Option<u64>) -> Result<Wait, Stop> {
        let max = self.server.settings.wait_max.as_secs();
        match timeout_seconds {
            Some(seconds) if !(1..=max).contains(&seconds) => {
                Err(Refused::invalid("timeout_seconds", &format!("expected 1 to {max}, {seconds} came")).into())
            }
            Some(seconds) => Ok(Wait { since, timeout: Some(Duration::from_secs(seconds)) }),
            None => Ok(Wait { since, timeout: None }),
        }
    }
}

fn wrong_role(field: &str, role: Role, own: Role) -> Refused {
    Refused::new("wrong_role", format!("{field}: here you speak only as the {own}, not as the {role}"))
        .with("field", field)
        .with("allowed", vec![own.as_str()])
}

/// Refuses what is there but says nothing.
fn non_empty(field: &str, text: &str) -> Result<(), Refused> {
    if text.trim().is_empty() { Err(Refused::invalid(field, "must not be empty")) } else { Ok(()) }
}

/// get_proposal's diff, for a door that has no pages.
pub(super) async fn whole(arguments: JsonObject, call: Call<'_>) -> Result<Whole, Stop> {
    call.who.may_call(call.tool)?;
    proposal::whole(parse(Some(arguments))?, &call).await
}

pub(super) async fn run(arguments: Option<JsonObject>, call: Call<'_>) -> Done {
    let tool = call.tool;
    if !tool.is_for(call.server.endpoint.role()) {
        let own = call.server.endpoint.role().map_or("any", Role::as_str);
        let error = format!("{} is not a tool of the {own}; this endpoint speaks only as the {own}", tool.name());
        return Err(Refused::new("wrong_role", error).into());
    }
    call.who.may_call(tool)?;
    // Boxed, so that a call moves the future of its own tool around and not one as big as the biggest.
    match tool {
        Tool::CreateReview => Box::pin(propose::create(parse(arguments)?, &call)).await,
        Tool::ListReviews => Box::pin(list::list(parse(arguments)?, &call)).await,
        Tool::ClaimReview => Box::pin(review::claim(parse(arguments)?, &call)).await,
        Tool::GetProposal => Box::pin(proposal::get(parse(arguments)?, &call)).await,
        Tool::SubmitVerdict => Box::pin(review::give_verdict(parse(arguments)?, &call)).await,
        Tool::GetReviewStatus => Box::pin(list::status(parse(arguments)?, &call)).await,
        Tool::AddMessage => Box::pin(discuss::add(parse(arguments)?, &call)).await,
        Tool::GetDiscussion => Box::pin(discuss::get(parse(arguments)?, &call)).await,
        Tool::AcceptCounterPatch => {
            let args::AnswerCounterPatch { review_id, persona } = parse(arguments)?;
            let id = call.resolve(&review_id).await?;
            propose::status(call.server.broker.accept_counter_patch(id, call.who.name(), persona).await?)
        }
        Tool::RejectCounterPatch => {
            let args::AnswerCounterPatch { review_id, persona } = parse(arguments)?;
            let id = call.resolve(&review_id).await?;
            propose::status(call.server.broker.reject_counter_patch(id, call.who.name(), persona).await?)
        }
        Tool::CloseReview => Box::pin(propose::close(parse(arguments)?, &call)).await,
        Tool::CancelReview => Box::pin(propose::cancel(parse(arguments)?, &call)).await,
        Tool::ReleaseClaim => Box::pin(review::release(parse(arguments)?, &call)).await,
        Tool::ListIssues => Box::pin(findings::list(parse(arguments)?, &call)).await,
        Tool::UpdateIssue => Box::pin(findings::update(parse(arguments)?, &call)).await,
        Tool::GetReviewTimeline => Box::pin(history::timeline(parse(arguments)?, &call)).await,
        Tool::GetActivityFeed => Box::pin(history::activity(parse(arguments)?, &call)).await,
        Tool::GetAuditLog => Box::pin(history::audit(parse(arguments)?, &call)).await,
        Tool::GetReviewStats => Box::pin(history::stats(parse(arguments)?, &call)).await,
        Tool::ListReviewers => Box::pin(pool::list(parse(arguments)?, &call)).await,
        Tool::SpawnReviewer => Box::pin(pool::spawn(parse(arguments)?, &call)).await,
        Tool::KillReviewer => Box::pin(pool::kill(parse(arguments)?, &call)).await,
    }
}
