//! Runs a call: it ends when the client disconnects, a panic becomes an error, and one line is logged.

use super::{
    Authorization, Call, Service, admin, claims,
    error::CallError,
    history, issues, messages,
    proposals::{self, FullDiff},
    reviewers, reviews, stats, verdicts, webhooks,
};
use crate::trace_id::TraceId;
use actors::{Caller, metrics::Outcome};
use api::{ErrorBody, ErrorCode, Operation, OperationId, decode, operation as op};
use axum::http::HeaderValue;
use domain::{ids::ReviewId, review::Role};
use futures::FutureExt as _;
use serde_json::{Map, Value};
use std::{fmt::Debug, panic::AssertUnwindSafe, sync::OnceLock, time::Instant};
use tracing::{error, field::display, info};

/// How a call arrived.
#[derive(Clone, Default)]
pub(crate) struct CallContext<'a> {
    /// The holder of the request's token.
    pub caller: Option<&'a Caller>,
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

impl Service {
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
    // Boxed, so that a call moves only the future of its own operation and not one as large as the largest.
    macro_rules! run {
        ($operation:ident, $function:path) => {{
            let request = decode_request::<op::$operation>(arguments)?;
            encode_response::<op::$operation>(&Box::pin($function(call, request)).await?)
        }};
    }
    match operation {
        OperationId::ListReviews => run!(ListReviews, reviews::list),
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
        OperationId::ListIssues => run!(ListIssues, issues::list),
        OperationId::UpdateIssue => run!(UpdateIssue, issues::update),
        OperationId::GetReviewTimeline => run!(GetReviewTimeline, history::timeline),
        OperationId::GetActivityFeed => run!(GetActivityFeed, history::activity),
        OperationId::GetAuditLog => run!(GetAuditLog, history::audit),
        OperationId::GetReviewStats => run!(GetReviewStats, stats::get),
        OperationId::ListReviewers => run!(ListReviewers, reviewers::list),
        OperationId::SpawnReviewer => run!(SpawnReviewer, reviewers::spawn),
        OperationId::KillReviewer => run!(KillReviewer, reviewers::kill),
        OperationId::GetReviewerLogs => run!(GetReviewerLogs, reviewers::log),
        OperationId::ListPersonas => run!(ListPersonas, admin::personas),
        OperationId::GetConfig => run!(GetConfig, admin::config),
        OperationId::GetActors => run!(GetActors, admin::actors),
        OperationId::ListWebhooks => run!(ListWebhooks, webhooks::list),
        OperationId::ListDeadDeliveries => run!(ListDeadDeliveries, webhooks::list_dead),
        OperationId::Redeliver => run!(Redeliver, webhooks::redeliver),
        OperationId::DropDeadDeliveries => run!(DropDeadDeliveries, webhooks::drop_dead),
        OperationId::GetOpenApi => run!(GetOpenApi, admin::openapi),
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
            error!(tool, review.id = review, trace.id = call.context.trace.map(display), "operation panicked");
            Err(CallError::Internal)
        }),
        () = client_left => Err(CallError::ClientLeft),
    };
    log.end(&result);
    result
}
