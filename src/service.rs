//! The service layer: implements what each operation does and who may call it. MCP and HTTP decode a request, call an
//! operation here and encode its response; they do not know each other.
//!
//! There is one module per noun, as in the `api` package. `Service::call` runs every call: it checks the role, ends the
//! call when the client disconnects, turns a panic into an error, and writes one log line and one metric.

mod actor_tree;
mod approvals;
mod authz;
mod claims;
mod error;
mod event_history;
mod exports;
mod issues;
mod messages;
mod openapi;
mod pagination;
mod personas;
mod projects;
mod proposal_files;
mod proposals;
mod review_lists;
mod review_view;
mod reviewer_logs;
mod reviewer_pool;
mod reviews;
mod search;
mod settings;
mod sign_in;
mod stats;
mod verdicts;
mod webhooks;

pub(crate) use authz::Authorization;
pub(crate) use error::CallError;
pub(crate) use exports::Export;
pub(crate) use proposals::{FullCounterPatch, FullDiff};
pub(crate) use reviewer_logs::FollowedLog;
pub use settings::ConfigView;

use crate::{broker_info::BrokerIdentity, project_registry::ProjectRegistry, trace_id::TraceId, webhooks::Webhooks};
use actors::{Broker, BrokerError, Caller, Wait, credentials::Scope, metrics::Outcome};
use api::{
    ErrorBody, ErrorCode, Operation, OperationId, RequiredRole,
    decode::{self, Malformed},
    description_placeholders::Placeholders,
    operation as op,
    reviewer_pool::ReviewerLogResponse,
    reviews::ReviewStatusResponse,
};
use axum::http::HeaderValue;
use domain::{
    credential::Authority,
    ids::ReviewId,
    review::{Command, Review, Role},
    time::Timestamp,
    waiting_on::Asker,
};
use futures::FutureExt as _;
use serde_json::{Map, Value};
use std::{
    fmt::Debug,
    panic::AssertUnwindSafe,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tracing::{field::display, info};

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
    identity: Arc<BrokerIdentity>,
    projects: Arc<ProjectRegistry>,
    reviewers_seen: Arc<ReviewersSeen>,
}

/// When a reviewer last called that the broker has not started.
#[derive(Debug, Default)]
struct ReviewersSeen(AtomicI64);

impl ReviewersSeen {
    /// Reviewers wait for work with list_reviews and act with the calls that only they may make.
    fn record(&self, call: &Call<'_>, arguments: &Map<String, Value>) {
        let waits = arguments.get("wait").is_some_and(|wait| *wait == Value::Bool(true) || *wait == "true");
        let looks_for_work = call.operation == OperationId::ListReviews && waits && arguments.contains_key("caller_id");
        let is_reviewer = looks_for_work || call.operation.role() == RequiredRole::Reviewer;
        if is_reviewer && call.authz.credential().is_none() {
            self.0.store(call.broker.wall_clock().0, Relaxed);
        }
    }

    fn last_at(&self) -> Option<Timestamp> {
        Some(Timestamp(self.0.load(Relaxed))).filter(|at| at.0 > 0)
    }
}

impl Service {
    pub fn new(
        broker: Broker,
        settings: Settings,
        config: ConfigView,
        webhooks: Webhooks,
        identity: Arc<BrokerIdentity>,
        projects: Arc<ProjectRegistry>,
    ) -> Self {
        Self {
            broker,
            settings,
            config: Arc::new(config),
            webhooks,
            identity,
            projects,
            reviewers_seen: Arc::default(),
        }
    }

    pub(crate) const fn settings(&self) -> Settings {
        self.settings
    }

    pub(crate) const fn broker(&self) -> &Broker {
        &self.broker
    }

    pub(crate) const fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    pub(crate) const fn identity(&self) -> &Arc<BrokerIdentity> {
        &self.identity
    }

    pub(crate) fn authorize<'a>(&'a self, caller: Option<&'a Caller>) -> Authorization<'a> {
        Authorization::new(caller, self.broker.credentials())
    }

    /// Runs an operation. The call is dropped when `client_left` completes.
    pub(crate) async fn call(
        &self,
        operation: OperationId,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
        client_left: impl Future<Output = ()>,
    ) -> Result<JsonText, CallError> {
        let review = OnceLock::new();
        let call = self.begin(operation, context, &review);
        run_logged(&call, run(&call, arguments), client_left).await
    }

    /// Returns the diff that get_proposal pages, as a whole.
    pub(crate) async fn full_diff(
        &self,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
    ) -> Result<FullDiff, CallError> {
        let review = OnceLock::new();
        let call = self.begin(OperationId::GetProposal, context, &review);
        let work = async {
            call.authz.check_role(call.operation)?;
            proposals::full_diff(&call, decode_request::<op::GetProposal>(arguments)?).await
        };
        run_logged(&call, work, std::future::pending()).await
    }

    /// Returns a counter-patch as a whole.
    pub(crate) async fn counter_patch(
        &self,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
    ) -> Result<FullCounterPatch, CallError> {
        let review = OnceLock::new();
        let call = self.begin(OperationId::GetProposal, context, &review);
        let work = async {
            call.authz.check_role(call.operation)?;
            proposals::counter_patch(&call, decode_request::<op::GetProposal>(arguments)?).await
        };
        run_logged(&call, work, std::future::pending()).await
    }

    /// Opens the log of a reviewer for following, and reads its first part.
    pub(crate) async fn follow_log(
        &self,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
    ) -> Result<(FollowedLog, ReviewerLogResponse), CallError> {
        let review = OnceLock::new();
        let call = self.begin(OperationId::GetReviewerLogs, context, &review);
        let work = async {
            call.authz.check_role(call.operation)?;
            reviewer_logs::follow(&call, decode_request::<op::GetReviewerLogs>(arguments)?).await
        };
        run_logged(&call, work, std::future::pending()).await
    }

    fn begin<'a>(
        &'a self,
        operation: OperationId,
        context: CallContext<'a>,
        review: &'a OnceLock<ReviewId>,
    ) -> Call<'a> {
        let broker = match context.expected_version {
            Some(version) => self.broker.expecting(version),
            None => self.broker.clone(),
        };
        Call { service: self, broker, operation, authz: self.authorize(context.caller), context, review }
    }
}

/// How a call arrived.
#[derive(Clone, Default)]
pub(crate) struct CallContext<'a> {
    /// The holder of the request's token.
    pub caller: Option<&'a Caller>,
    /// The connection needs a token for all pages that are not public.
    pub needs_token: bool,
    /// The caller has shown the cookie of a session.
    pub is_signed_in: bool,
    /// The role of the MCP endpoint that received the call.
    pub endpoint_role: Option<Role>,
    /// The header with the repository that the client works in.
    pub client_repo: Option<&'a HeaderValue>,
    /// The id that the client gave this call, by which a repeat is recognised.
    pub client_call_id: Option<String>,
    /// The version of the review that the caller wants to change.
    pub expected_version: Option<u64>,
    pub trace: Option<TraceId>,
}

/// A response as JSON text.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) String);

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

    /// The name that a call about a claim is made under, and its review.
    ///
    /// A pool reviewer may have been replaced without knowing it, so its name alone proves nothing: it has to give the
    /// generation of its claim.
    async fn identify_claim(
        &self,
        review: &str,
        reviewer_id: Option<String>,
        generation: Option<u32>,
    ) -> Result<(Option<String>, ReviewId), CallError> {
        let reviewer_id = self.authz.identity_for("reviewer_id", reviewer_id)?;
        if self.authz.credential().is_some() && generation.is_none() {
            let error = "claim_generation: a pool reviewer must pass the claim_generation of its claim_review";
            return Err(ErrorBody::new(ErrorCode::GenerationNeeded, error).with("field", "claim_generation").into());
        }
        Ok((reviewer_id, self.resolve(review).await?))
    }

    /// Executes a command and returns the state of the review after it.
    async fn execute(&self, review: &str, command: Command) -> Result<ReviewStatusResponse, CallError> {
        let id = self.resolve(review).await?;
        let outcome = self.broker.execute(id, command).await?;
        Ok(ReviewStatusResponse::new(&outcome.review, self.authz.name().as_deref()))
    }

    /// Renews the claim of the caller, if it holds one on the review that it reads.
    async fn touch(&self, review: &Review, name: Option<&str>) {
        let own = self.authz.name();
        if let Some(name) = name.or(own.as_deref())
            && let Err(error) = self.broker.renew_claim(review, name).await
        {
            tracing::warn!(review.id = %review.id, %error, "a claim was not renewed");
        }
    }

    /// The party that the caller belongs to: the given role, else as far as it is known. An operator that acts under
    /// another name, as every local command does, asks for that name.
    fn asker<'b>(&'b self, name: Option<&'b str>, given: Option<Authority>) -> Result<Asker<'b>, CallError> {
        if given.is_some() {
            return Ok(Asker { name, role: Some(self.acting_role("role", given)?) });
        }
        let side = self.context.endpoint_role.or(self.authz.role()).map(|role| match role {
            Role::Proposer => Authority::Proposer,
            Role::Reviewer => Authority::Reviewer,
        });
        let own = self.authz.authority().filter(|_| name.is_some() && name == self.authz.name().as_deref());
        Ok(Asker { name, role: side.or(own) })
    }

    /// The role that the caller acts in: operator if it says so and may, else proposer or reviewer.
    fn acting_role(&self, field: &'static str, given: Option<Authority>) -> Result<Authority, CallError> {
        let (authority, endpoint) = (self.authz.authority(), self.context.endpoint_role);
        let side = match given {
            Some(Authority::Proposer) => Some(Role::Proposer),
            Some(Authority::Reviewer) => Some(Role::Reviewer),
            None if authority != Some(Authority::Operator) || endpoint.is_some() => None,
            Some(Authority::Operator) | None => {
                let own = match (endpoint, authority) {
                    (None, None | Some(Authority::Operator)) => return Ok(Authority::Operator),
                    (Some(role), _) => role.as_str(),
                    (None, Some(authority)) => authority.as_str(),
                };
                let error = format!("{field}: you act as the {own} here, not as an operator");
                return Err(wrong_role(field, error, own).into());
            }
        };
        Ok(match self.role(field, side)? {
            Role::Proposer => Authority::Proposer,
            Role::Reviewer => Authority::Reviewer,
        })
    }

    /// The name of the caller. An operator without a token must give one.
    fn acting_name(&self, role: Authority, given: Option<String>) -> Result<Option<String>, CallError> {
        let by = self.authz.identity_for("caller_id", given)?;
        if role == Authority::Operator && by.is_none() && self.authz.authority().is_none() {
            return Err(Malformed::missing("caller_id", "an operator without a token must give its name").into());
        }
        Ok(by)
    }

    /// Whether neither the endpoint nor a token gives the caller a role.
    fn has_no_role(&self) -> bool {
        self.context.endpoint_role.or(self.authz.role()).is_none()
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
            (None, None) => {
                let missing = Malformed::missing(field, "allowed: proposer, reviewer");
                Err(missing.allowing(["proposer", "reviewer"]).into())
            }
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

fn decode_request<O: Operation>(arguments: Map<String, Value>) -> Result<O::Request, CallError> {
    Ok(decode::decode(O::ID.request_schema(), arguments)?)
}

fn encode_response<O: Operation>(response: &O::Response) -> Result<JsonText, CallError> {
    Ok(JsonText(serde_json::to_string(response)?))
}

async fn run(call: &Call<'_>, arguments: Map<String, Value>) -> Result<JsonText, CallError> {
    let operation = call.operation;
    if !operation.role().is_offered_to(call.context.endpoint_role) {
        let own = call.context.endpoint_role.map_or("any role", Role::as_str);
        let error = format!("{} is not a tool of the {own}; this endpoint is only for the {own}", operation.name());
        return Err(ErrorBody::new(ErrorCode::WrongRole, error).into());
    }
    call.authz.check_role(operation)?;
    call.service.reviewers_seen.record(call, &arguments);
    // Boxed, so that a call moves only the future of its own operation and not one as large as the largest.
    macro_rules! run {
        ($operation:ident, $function:path) => {{
            let request = decode_request::<op::$operation>(arguments)?;
            encode_response::<op::$operation>(&Box::pin($function(call, request)).await?)
        }};
    }
    match operation {
        OperationId::ListReviews => run!(ListReviews, review_lists::list),
        OperationId::CreateReview => run!(CreateReview, reviews::create),
        OperationId::ClaimReview => run!(ClaimReview, claims::claim),
        OperationId::GetProposal => run!(GetProposal, proposals::get),
        OperationId::SubmitVerdict => run!(SubmitVerdict, verdicts::submit),
        OperationId::GetReviewStatus => run!(GetReviewStatus, reviews::status),
        OperationId::AddMessage => run!(AddMessage, messages::add),
        OperationId::GetDiscussion => run!(GetDiscussion, messages::list),
        OperationId::AcceptCounterPatch => run!(AcceptCounterPatch, reviews::accept_counter_patch),
        OperationId::RejectCounterPatch => run!(RejectCounterPatch, reviews::reject_counter_patch),
        OperationId::CloseReview => run!(CloseReview, reviews::close),
        OperationId::CancelReview => run!(CancelReview, reviews::cancel),
        OperationId::ReleaseClaim => run!(ReleaseClaim, claims::release),
        OperationId::AddSeat => run!(AddSeat, claims::add_seat),
        OperationId::TakeOver => run!(TakeOver, claims::take_over),
        OperationId::ListIssues => run!(ListIssues, issues::list),
        OperationId::UpdateIssue => run!(UpdateIssue, issues::update),
        OperationId::GetReviewTimeline => run!(GetReviewTimeline, event_history::timeline),
        OperationId::GetActivityFeed => run!(GetActivityFeed, event_history::activity),
        OperationId::GetAuditLog => run!(GetAuditLog, event_history::audit),
        OperationId::GetReviewStats => run!(GetReviewStats, stats::get),
        OperationId::ListReviewers => run!(ListReviewers, reviewer_pool::list),
        OperationId::SpawnReviewer => run!(SpawnReviewer, reviewer_pool::spawn),
        OperationId::KillReviewer => run!(KillReviewer, reviewer_pool::kill),
        OperationId::CountReviews => run!(CountReviews, review_lists::count),
        OperationId::GetEvent => run!(GetEvent, event_history::event),
        OperationId::GetDailyStats => run!(GetDailyStats, stats::daily),
        OperationId::CountIssues => run!(CountIssues, issues::count),
        OperationId::Search => run!(Search, search::search),
        // Their routes send files.
        OperationId::ExportReview | OperationId::ExportIssues | OperationId::ExportAuditLog => Err(CallError::Internal),
        OperationId::GetFile => run!(GetFile, proposal_files::get),
        OperationId::ListApprovals => run!(ListApprovals, approvals::list),
        OperationId::GetApproval => run!(GetApproval, approvals::get),
        OperationId::ListProjects => run!(ListProjects, projects::list),
        OperationId::RegisterProject => run!(RegisterProject, projects::register),
        OperationId::RemoveProject => run!(RemoveProject, projects::remove),
        OperationId::GetWhoami => run!(GetWhoami, sign_in::whoami),
        OperationId::GetReviewerLogs => run!(GetReviewerLogs, reviewer_logs::read),
        OperationId::ControlPool => run!(ControlPool, reviewer_pool::control),
        OperationId::StopReviewers => run!(StopReviewers, reviewer_pool::stop_all),
        OperationId::ListPersonas => run!(ListPersonas, personas::list),
        OperationId::GetConfig => run!(GetConfig, settings::get),
        OperationId::GetActors => run!(GetActors, actor_tree::get),
        OperationId::ListWebhooks => run!(ListWebhooks, webhooks::list),
        OperationId::ListDeadDeliveries => run!(ListDeadDeliveries, webhooks::list_dead),
        OperationId::Redeliver => run!(Redeliver, webhooks::redeliver),
        OperationId::DropDeadDeliveries => run!(DropDeadDeliveries, webhooks::drop_dead),
        OperationId::GetOpenApi => run!(GetOpenApi, openapi::get),
    }
}

/// The log line and the metric of a call. The protocol drops the call when its client disconnects, so a guard that is
/// dropped without an outcome means that the client left.
struct CallLog<'a> {
    call: &'a Call<'a>,
    started: Instant,
    outcome: (Outcome, &'static str),
}

impl<'a> CallLog<'a> {
    fn begin(call: &'a Call<'a>) -> Self {
        Self { call, started: Instant::now(), outcome: (Outcome::Left, "client_left") }
    }

    fn end<T>(mut self, result: &Result<T, CallError>) {
        self.outcome = match result {
            Ok(_) => (Outcome::Ok, "ok"),
            Err(CallError::Refused(body)) => (Outcome::Refused, body.code.as_str()),
            Err(CallError::Malformed(_)) => (Outcome::Malformed, "invalid_params"),
            Err(CallError::Internal) => (Outcome::Failed, "internal"),
            Err(CallError::ClientLeft) => return,
        };
    }
}

impl Drop for CallLog<'_> {
    fn drop(&mut self) {
        let ((counted, outcome), took) = (self.outcome, self.started.elapsed());
        let Call { operation, authz, context, review, .. } = self.call;
        self.call.broker.metrics().call(operation.name(), counted, took);
        info!(
            target: "countersign::call",
            tool = operation.name(),
            review.id = review.get().map(display),
            caller = authz.identity(),
            outcome,
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            trace.id = context.trace.map(display),
            "call"
        );
    }
}

async fn run_logged<T: Debug>(
    call: &Call<'_>,
    work: impl Future<Output = Result<T, CallError>>,
    client_left: impl Future<Output = ()>,
) -> Result<T, CallError> {
    let log = CallLog::begin(call);
    // rmcp never answers a call whose handler panicked, so a panic must end here.
    let work = AssertUnwindSafe(work).catch_unwind();
    let result = tokio::select! {
        done = work => done.unwrap_or_else(|_| {
            let (tool, review) = (call.operation.name(), call.review.get().map(display));
            tracing::error!(tool, review.id = review, trace.id = call.context.trace.map(display), "operation panicked");
            Err(CallError::Internal)
        }),
        () = client_left => Err(CallError::ClientLeft),
    };
    log.end(&result);
    result
}

#[cfg(test)]
#[path = "service/pool_reviewer_tests.rs"]
mod pool_reviewer_tests;
