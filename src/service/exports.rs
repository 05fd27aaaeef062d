//! Files to download: exports of reviews and issues. A task writes the file while it is sent, so that the broker holds only
//! a few parts of it. Other operations use [`Export::start`] for their own files.

use super::{Call, CallContext, CallError, Service, decode_request, event_history, run, run_logged};
use actors::Caller;
use api::{
    ErrorBody, ErrorCode, Operation, OperationId,
    event_history::AuditRequest,
    exports::{ExportFormat, ExportIssuesRequest, ExportReviewRequest, Sink, Source, write_issues, write_reviews},
    operation as op,
};
use bytes::Bytes;
use domain::query_types::EventOrder;
use futures::FutureExt as _;
use serde_json::{Map, Value};
use std::{panic::AssertUnwindSafe, sync::OnceLock};
use tokio::sync::mpsc;

/// Smaller parts are joined before they are sent.
const PART_BYTES: usize = 16 << 10;
/// Parts that wait for the client.
const MAX_QUEUED_PARTS: usize = 4;
/// The store makes a page of long events shorter.
const EVENTS_PER_PAGE: u32 = 1_000;

type Part = Result<Bytes, CallError>;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Export {
    pub format: ExportFormat,
    /// Without the extension.
    pub name: String,
    pub first: Bytes,
    /// The rest. An error breaks the transfer off.
    pub parts: mpsc::Receiver<Part>,
}

impl Export {
    /// Starts a task that writes the file. An error before the first part is returned, so that it becomes a response.
    pub(super) async fn start<F>(
        name: String,
        format: ExportFormat,
        write: impl FnOnce(ExportParts) -> F,
    ) -> Result<Self, CallError>
    where
        F: Future<Output = Result<ExportParts, CallError>> + Send + 'static,
    {
        let (sender, mut parts) = mpsc::channel(MAX_QUEUED_PARTS);
        let work = write(ExportParts { text: String::new(), parts: sender.clone() });
        tokio::spawn(async move {
            let written = tokio::select! {
                written = AssertUnwindSafe(work).catch_unwind() => written,
                // The client has left.
                () = sender.closed() => return,
            };
            let result = match written.unwrap_or(Err(CallError::Internal)) {
                Ok(sink) => sink.finish().await,
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                // Without this the client would take the part that it has for the whole file.
                let _ = sender.send(Err(error)).await;
            }
        });
        let first = parts.recv().await.unwrap_or(Ok(Bytes::new()))?;
        Ok(Self { format, name, first, parts })
    }
}

/// Takes the parts of a file.
#[derive(Debug)]
pub(super) struct ExportParts {
    text: String,
    parts: mpsc::Sender<Part>,
}

impl ExportParts {
    async fn send(&mut self) -> Result<(), CallError> {
        let part = Ok(std::mem::take(&mut self.text).into());
        self.parts.send(part).await.map_err(|_| CallError::ClientLeft)
    }

    async fn finish(mut self) -> Result<(), CallError> {
        self.send().await
    }
}

impl Sink for ExportParts {
    type Error = CallError;

    async fn write(&mut self, text: String) -> Result<(), CallError> {
        self.text.push_str(&text);
        if self.text.len() < PART_BYTES { Ok(()) } else { self.send().await }
    }
}

/// The operations of this broker, called with the rights of the caller who exports.
pub(super) struct OwnCalls {
    service: Service,
    caller: Option<Caller>,
    needs_token: bool,
    is_signed_in: bool,
}

impl OwnCalls {
    pub(super) fn of(call: &Call<'_>) -> Self {
        Self {
            service: call.service.clone(),
            caller: call.context.caller.cloned(),
            needs_token: call.context.needs_token,
            is_signed_in: call.context.is_signed_in,
        }
    }
}

impl Source for OwnCalls {
    type Error = CallError;

    async fn execute<O: Operation>(&self, request: O::Request) -> Result<O::Response, CallError> {
        let Value::Object(arguments) = serde_json::to_value(request)? else { return Err(CallError::Internal) };
        let context = CallContext {
            caller: self.caller.as_ref(),
            needs_token: self.needs_token,
            is_signed_in: self.is_signed_in,
            ..CallContext::default()
        };
        let review = OnceLock::new();
        let call = self.service.begin(O::ID, context, &review);
        Ok(serde_json::from_str(&run(&call, arguments).await?.0)?)
    }
}

impl Service {
    /// Starts an operation whose response is a file.
    pub(crate) async fn export(
        &self,
        operation: OperationId,
        arguments: Map<String, Value>,
        context: CallContext<'_>,
    ) -> Result<Export, CallError> {
        let review = OnceLock::new();
        let call = self.begin(operation, context, &review);
        let work = async {
            call.authz.check_role(operation)?;
            if operation == OperationId::ExportReview {
                export_review(&call, decode_request::<op::ExportReview>(arguments)?).await
            } else if operation == OperationId::ExportAuditLog {
                export_audit_log(&call, decode_request::<op::ExportAuditLog>(arguments)?).await
            } else {
                export_issues(&call, decode_request::<op::ExportIssues>(arguments)?).await
            }
        };
        run_logged(&call, work, std::future::pending()).await
    }
}

async fn export_review(call: &Call<'_>, request: ExportReviewRequest) -> Result<Export, CallError> {
    let id = call.resolve(&request.review_id).await?;
    let number = call.broker.review(id).await?.number;
    let (source, format) = (OwnCalls::of(call), request.format);
    Export::start(number.to_string(), format, async move |mut parts| {
        write_reviews(&source, &[id.to_string()], format, &mut parts).await?;
        Ok(parts)
    })
    .await
}

async fn export_issues(call: &Call<'_>, request: ExportIssuesRequest) -> Result<Export, CallError> {
    let source = OwnCalls::of(call);
    let ExportIssuesRequest { format, filter } = request;
    if !call.broker.catch_up_indexes().await? {
        let error = "the broker still indexes its database, and issues would be missing; try again in a minute";
        return Err(CallError::Refused(ErrorBody { retryable: true, ..ErrorBody::new(ErrorCode::Busy, error) }));
    }
    Export::start("issues".to_owned(), format, async move |mut parts| {
        write_issues(&source, &filter, format, &mut parts).await?;
        Ok(parts)
    })
    .await
}

/// The log as it is now. Its pages are larger than those of a response, and few of them are in memory.
async fn export_audit_log(call: &Call<'_>, request: AuditRequest) -> Result<Export, CallError> {
    let order = request.order.unwrap_or(EventOrder::Newest);
    let filter = event_history::filter(call, request).await?;
    call.broker.check_name("actor", filter.actor.as_ref())?;
    let broker = call.service.broker.clone();
    let last = broker.reader().last_seq().await?;
    Export::start("audit".to_owned(), ExportFormat::Jsonl, async move |mut parts| {
        let mut cursor = None;
        loop {
            let page = {
                let _call = broker.admit()?;
                broker.reader().list_events_by(&filter, order, cursor, EVENTS_PER_PAGE).await?
            };
            for record in page.items.iter().filter(|record| record.seq <= last) {
                let line = serde_json::to_string(&event_history::audit_entry(record))?;
                parts.write(line + "\n").await?;
            }
            cursor = page.next_cursor.and_then(|cursor| cursor.parse().ok());
            if cursor.is_none_or(|seq| order == EventOrder::Oldest && seq >= last) {
                return Ok(parts);
            }
        }
    })
    .await
}
