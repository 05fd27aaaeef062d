//! What happens around every tool call: it ends when the client leaves, a panic becomes an answer,
//! and one line is logged.

use super::{
    Server,
    args::Malformed,
    present::Answer,
    refusal::Refused,
    tools::{self, Call, Done, Stop, Tool},
    who::Who,
};
use crate::{
    http::TraceId,
    telemetry::traces::{self, Started},
};
use actors::{Caller, meters::Outcome};
use axum::http::{HeaderMap, request::Parts};
use futures::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, RequestMetaObject},
    service::RequestContext,
};
use serde_json::json;
use std::{panic::AssertUnwindSafe, sync::OnceLock, time::Instant};
use tracing::{error, info};

enum End {
    Done(Done),
    Panicked,
    /// Nobody reads the answer any more.
    Left,
}

/// Why a call gave no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Malformed(Malformed),
    Refused(Refused),
    /// A fault of ours, which is in the log.
    Internal,
    Left,
}

pub(super) async fn run(
    server: &Server,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let who = Who::of(server, &context.extensions);
    let trace = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<TraceId>()).copied();
    let Some(tool) = Tool::from_name(&request.name) else {
        let known: Vec<_> = Tool::ALL.iter().filter(|t| t.is_for(server.endpoint.role())).map(|t| t.name()).collect();
        let name: String = request.name.chars().take(80).collect();
        server.broker.meters().call("unknown", Outcome::Malformed, std::time::Duration::ZERO);
        info!(target: "countersign::call", outcome = "unknown_tool", caller = who.identity(), trace.id = trace.map(display), "call");
        return Err(ErrorData::invalid_params(
            format!("unknown tool {name:?}; known: {}", known.join(", ")),
            Some(json!({ "code": "unknown_tool", "allowed": known })),
        ));
    };
    let review = OnceLock::new();
    let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
    let call = Call { server, who, tool, meta: &context.meta, headers, review: &review };
    let result = match serve(call, request.arguments, trace, context.ct.cancelled()).await {
        Ok(answer) => Ok(answered(answer)),
        Err(Failure::Refused(refused)) => Ok(refusal(refused)),
        Err(Failure::Malformed(malformed)) => Err(malformed.into_error(tool.name())),
        Err(Failure::Internal) => Err(internal(trace)),
        Err(Failure::Left) => Err(ErrorData::internal_error("the call was cancelled", None)),
    };
    result.map(Into::into)
}

impl Server {
    /// Calls a tool for a door that speaks no MCP; that the client left, it notices by itself.
    pub(crate) async fn ask(
        &self,
        tool: Tool,
        arguments: JsonObject,
        headers: &HeaderMap,
        caller: Option<&Caller>,
    ) -> Result<Answer, Failure> {
        let (meta, review) = (RequestMetaObject::default(), OnceLock::new());
        let who = Who::new(self, caller);
        let call = Call { server: self, who, tool, meta: &meta, headers: Some(headers), review: &review };
        Box::pin(serve(call, Some(arguments), TraceId::current(), std::future::pending())).await
    }
}

/// What every call of a tool goes through, from whichever door it comes.
async fn serve(
    call: Call<'_>,
    arguments: Option<JsonObject>,
    trace: Option<TraceId>,
    left: impl Future<Output = ()>,
) -> Result<Answer, Failure> {
    let started = Instant::now();
    let (tool, who, review, server) = (call.tool, call.who, call.review, call.server);
    // rmcp never answers a call whose handler panicked, so a panic must end here.
    let work = AssertUnwindSafe(tools::run(arguments, call)).catch_unwind();
    let end = tokio::select! {
        done = work => done.map_or(End::Panicked, End::Done),
        () = left => End::Left,
    };
    let (counted, outcome, result) = match end {
        End::Done(Ok(answer)) => (Outcome::Ok, "ok", Ok(answer)),
        End::Done(Err(Stop::Refused(refused))) => (Outcome::Refused, refused.code, Err(Failure::Refused(refused))),
        End::Done(Err(Stop::Malformed(malformed))) => {
            (Outcome::Malformed, "invalid_params", Err(Failure::Malformed(malformed)))
        }
        End::Done(Err(Stop::Unwritable(cause))) => {
            error!(tool = tool.name(), trace.id = trace.map(display), error = %cause, "answer cannot be written");
            (Outcome::Failed, "internal", Err(Failure::Internal))
        }
        End::Panicked => {
            error!(
                tool = tool.name(),
                review.id = review.get().map(display),
                trace.id = trace.map(display),
                "tool panicked"
            );
            (Outcome::Failed, "internal", Err(Failure::Internal))
        }
        End::Left => (Outcome::Left, "client_left", Err(Failure::Left)),
    };
    let took = started.elapsed();
    server.broker.meters().call(tool.name(), counted, took);
    info!(
        target: "countersign::call",
        tool = tool.name(),
        review.id = review.get().map(display),
        caller = who.identity(),
        outcome,
        ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        trace.id = trace.map(display),
        "call"
    );
    if let Some(span) = trace.and_then(|trace| trace.child(tool.name(), || Started::before(took))) {
        let span = span.with("countersign.tool", tool.name()).with("countersign.outcome", outcome);
        let span = span.failed(counted == Outcome::Failed);
        traces::record(match review.get() {
            Some(review) => span.with("countersign.review_id", review.to_string()),
            None => span,
        });
    }
    result
}

/// The same safety for what is not a tool.
pub(super) async fn contained<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        error!(what, "handler panicked");
        Err(internal(None))
    })
}

fn answered(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = Some(answer.structured);
    result
}

/// The whole refusal as text and as structured content, which every output schema allows.
fn refusal(refused: Refused) -> CallToolResult {
    CallToolResult::structured_error(refused.into_value())
}

fn internal(trace: Option<TraceId>) -> ErrorData {
    let mut data = json!({ "code": "internal", "retryable": true });
    if let Some(trace) = trace {
        data["trace_id"] = trace.to_string().into();
    }
    ErrorData::internal_error("the broker failed inside; repeating the call is safe, and its log says more", Some(data))
}

#[cfg(test)]
mod tests {
    use super::contained;
    use rmcp::model::ErrorCode;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let answer = contained::<()>("test", async { panic!("boom") }).await;
        assert_eq!(answer.map_err(|error| error.code), Err(ErrorCode::INTERNAL_ERROR));
    }
}
