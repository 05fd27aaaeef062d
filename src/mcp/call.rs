//! What happens around every tool call: it ends when the client leaves, a panic becomes an answer,
//! and one line is logged.

use super::{
    Server,
    args::Malformed,
    present::Answer,
    refusal::Refused,
    tools::{self, Call, Stop, Tool, Whole},
    who::Who,
};
use crate::http::TraceId;
use actors::{Caller, metrics::Outcome};
use axum::http::{HeaderMap, request::Parts};
use domain::ids::ReviewId;
use futures::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, RequestMetaObject},
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{panic::AssertUnwindSafe, sync::OnceLock, time::Instant};
use tracing::{error, info};

enum End<T> {
    Done(Result<T, Stop>),
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
        let name = domain::text::truncate(&request.name, 80);
        server.broker.metrics().call("unknown", Outcome::Malformed, std::time::Duration::ZERO);
        info!(target: "countersign::call", outcome = "unknown_tool", caller = who.identity(), trace.id = trace.map(display), "call");
        let error = ErrorData::invalid_params(
            format!("unknown tool {name:?}; known: {}", known.join(", ")),
            Some(json!({ "code": "unknown_tool", "allowed": known })),
        );
        return Err(traced(error, trace));
    };
    let review = OnceLock::new();
    let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
    let call = Call { server, who, tool, meta: &context.meta, headers, review: &review };
    let result = match serve(call, tools::run(request.arguments, call), trace, context.ct.cancelled()).await {
        Ok(answer) => Ok(answered(answer)),
        Err(Failure::Refused(refused)) => Ok(refusal(refused, trace)),
        Err(Failure::Malformed(malformed)) => Err(traced(malformed.into_error(tool.name()), trace)),
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
        Box::pin(serve(call, tools::run(Some(arguments), call), TraceId::current(), std::future::pending())).await
    }

    /// The same for the diff that get_proposal shows in pages.
    pub(crate) async fn ask_whole(
        &self,
        arguments: JsonObject,
        headers: &HeaderMap,
        caller: Option<&Caller>,
    ) -> Result<Whole, Failure> {
        let (meta, review) = (RequestMetaObject::default(), OnceLock::new());
        let (who, tool) = (Who::new(self, caller), Tool::GetProposal);
        let call = Call { server: self, who, tool, meta: &meta, headers: Some(headers), review: &review };
        Box::pin(serve(call, tools::whole(arguments, call), TraceId::current(), std::future::pending())).await
    }

    /// Counts and logs what is no tool in the same way.
    pub(crate) async fn note<T>(
        &self,
        name: &'static str,
        caller: Option<&Caller>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let review = OnceLock::new();
        let line = Line::begin(self, name, Who::new(self, caller), &review, TraceId::current());
        let result = work.await;
        match &result {
            Ok(_) => line.end(Outcome::Ok, "ok"),
            Err(Failure::Refused(refused)) => line.end(Outcome::Refused, refused.code),
            Err(Failure::Malformed(_)) => line.end(Outcome::Malformed, "invalid_params"),
            Err(Failure::Internal) => line.end(Outcome::Failed, "internal"),
            Err(Failure::Left) => line.end(Outcome::Left, LEFT),
        }
        result
    }
}

/// The one line about a call, and its place in the figures. Whoever serves a client drops the call with it, so what has
/// not ended when this goes has been left.
struct Line<'a> {
    server: &'a Server,
    name: &'static str,
    who: Who<'a>,
    review: &'a OnceLock<ReviewId>,
    trace: Option<TraceId>,
    started: Instant,
    end: (Outcome, &'static str),
}

const LEFT: &str = "client_left";

impl<'a> Line<'a> {
    fn begin(
        server: &'a Server,
        name: &'static str,
        who: Who<'a>,
        review: &'a OnceLock<ReviewId>,
        trace: Option<TraceId>,
    ) -> Self {
        Self { server, name, who, review, trace, started: Instant::now(), end: (Outcome::Left, LEFT) }
    }

    fn end(mut self, counted: Outcome, outcome: &'static str) {
        self.end = (counted, outcome);
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let ((counted, outcome), took) = (self.end, self.started.elapsed());
        self.server.broker.metrics().call(self.name, counted, took);
        info!(
            target: "countersign::call",
            tool = self.name,
            review.id = self.review.get().map(display),
            caller = self.who.identity(),
            outcome,
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            trace.id = self.trace.map(display),
            "call"
        );
    }
}

/// What every call of a tool goes through, from whichever door it comes.
async fn serve<T>(
    call: Call<'_>,
    work: impl Future<Output = Result<T, Stop>>,
    trace: Option<TraceId>,
    left: impl Future<Output = ()>,
) -> Result<T, Failure> {
    let (tool, review) = (call.tool, call.review);
    let line = Line::begin(call.server, tool.name(), call.who, review, trace);
    // rmcp never answers a call whose handler panicked, so a panic must end here.
    let work = AssertUnwindSafe(work).catch_unwind();
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
        End::Left => (Outcome::Left, LEFT, Err(Failure::Left)),
    };
    line.end(counted, outcome);
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
fn refusal(refused: Refused, trace: Option<TraceId>) -> CallToolResult {
    let refused = trace.map(|trace| trace.to_string()).into_iter().fold(refused, |all, id| all.with("trace_id", id));
    CallToolResult::structured_error(refused.into_value())
}

/// With the id by which the broker's log can be searched.
fn traced(mut error: ErrorData, trace: Option<TraceId>) -> ErrorData {
    if let (Some(Value::Object(data)), Some(trace)) = (&mut error.data, trace) {
        data.insert("trace_id".into(), trace.to_string().into());
    }
    error
}

fn internal(trace: Option<TraceId>) -> ErrorData {
    let data = json!({ "code": "internal", "retryable": true });
    let words = "the broker failed inside; repeating the call is safe, and its log says more";
    traced(ErrorData::internal_error(words, Some(data)), trace)
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
