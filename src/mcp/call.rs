//! What happens around every tool call: it ends when the client leaves, a panic becomes an answer,
//! and one line is logged.

use super::{
    Server,
    present::Answer,
    refusal::Refused,
    tools::{self, Call, Done, Stop, Tool},
    who::Who,
};
use axum::http::request::Parts;
use futures::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
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

pub(super) async fn run(
    server: &Server,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let started = Instant::now();
    let who = Who::of(server, &context.extensions);
    let Some(tool) = Tool::from_name(&request.name) else {
        let known: Vec<_> = Tool::ALL.iter().filter(|t| t.is_for(server.endpoint.role())).map(|t| t.name()).collect();
        let name: String = request.name.chars().take(80).collect();
        info!(target: "countersign::call", outcome = "unknown_tool", caller = who.identity(), "call");
        return Err(ErrorData::invalid_params(
            format!("unknown tool {name:?}; known: {}", known.join(", ")),
            Some(json!({ "code": "unknown_tool", "allowed": known })),
        ));
    };
    let review = OnceLock::new();
    let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
    let call = Call { server, who, tool, meta: &context.meta, headers, review: &review };
    // rmcp never answers a call whose handler panicked, so a panic must end here.
    let work = AssertUnwindSafe(tools::run(request.arguments, call)).catch_unwind();
    let end = tokio::select! {
        done = work => done.map_or(End::Panicked, End::Done),
        () = context.ct.cancelled() => End::Left,
    };
    let (outcome, result) = match end {
        End::Done(Ok(answer)) => ("ok", Ok(answered(answer))),
        End::Done(Err(Stop::Refused(refused))) => (refused.code, Ok(refusal(refused))),
        End::Done(Err(Stop::Malformed(malformed))) => ("invalid_params", Err(malformed.into_error(tool.name()))),
        End::Done(Err(Stop::Unwritable(cause))) => {
            error!(tool = tool.name(), error = %cause, "answer cannot be written");
            ("internal", Err(internal()))
        }
        End::Panicked => {
            error!(tool = tool.name(), review.id = review.get().map(display), "tool panicked");
            ("internal", Err(internal()))
        }
        End::Left => ("client_left", Err(ErrorData::internal_error("the call was cancelled", None))),
    };
    info!(
        target: "countersign::call",
        tool = tool.name(),
        review.id = review.get().map(display),
        caller = who.identity(),
        outcome,
        ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "call"
    );
    result.map(Into::into)
}

/// The same safety for what is not a tool.
pub(super) async fn contained<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        error!(what, "handler panicked");
        Err(internal())
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

fn internal() -> ErrorData {
    ErrorData::internal_error(
        "the broker failed inside; repeating the call is safe, and its log says more",
        Some(json!({ "code": "internal", "retryable": true })),
    )
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
