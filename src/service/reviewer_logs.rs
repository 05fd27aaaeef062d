//! Reads the logs of reviewer processes: their last lines, a part from an offset on, or one part after the other while
//! they grow.

use super::{Call, error::CallError, reviewer_pool::list_ended};
use actors::{Broker, BrokerError, credentials::Scope};
use api::{
    ErrorBody, ErrorCode,
    decode::Malformed,
    reviewer_pool::{ReviewerLogRequest, ReviewerLogResponse},
};
use config::reviewer_log_files::{self, ReviewerLog};
use domain::reviewer_pool::SessionState;
use std::{fmt, io, path::PathBuf};

const DEFAULT_LINES: usize = 200;
const MAX_LINES: usize = 10_000;
const MIN_BYTES: u64 = 1 << 10;
const DEFAULT_BYTES: u64 = 64 << 10;
const MAX_BYTES: u64 = 1 << 20;

/// Where a part of a log begins.
#[derive(Debug, Clone, Copy)]
enum Start {
    Offset(u64),
    LastLines(usize),
}

/// The log of one reviewer that the caller may read.
pub(crate) struct FollowedLog {
    broker: Broker,
    id: String,
    path: PathBuf,
}

impl fmt::Debug for FollowedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedLog").field("id", &self.id).finish_non_exhaustive()
    }
}

pub(super) async fn read(call: &Call<'_>, request: ReviewerLogRequest) -> Result<ReviewerLogResponse, CallError> {
    let bytes = check_bytes(&request)?;
    let start = start_of(&request)?;
    find(call, request.reviewer_id).await?.read_part(start, bytes).await
}

pub(super) async fn follow(
    call: &Call<'_>,
    request: ReviewerLogRequest,
) -> Result<(FollowedLog, ReviewerLogResponse), CallError> {
    let start = start_of(&request)?;
    let log = find(call, request.reviewer_id).await?;
    let first = log.read_part(start, MAX_BYTES).await?;
    Ok((log, first))
}

fn check_bytes(request: &ReviewerLogRequest) -> Result<u64, CallError> {
    match (request.bytes, request.from) {
        (Some(_), None) => Err(ErrorBody::invalid("bytes", "needs from; `lines` bounds the end of the log").into()),
        (Some(bytes), Some(_)) if !(MIN_BYTES..=MAX_BYTES).contains(&bytes) => {
            Err(Malformed::new("bytes", format!("expected {MIN_BYTES} to {MAX_BYTES}")).into())
        }
        (Some(bytes), Some(_)) => Ok(bytes),
        (None, Some(_)) => Ok(DEFAULT_BYTES),
        (None, None) => Ok(MAX_BYTES),
    }
}

fn start_of(request: &ReviewerLogRequest) -> Result<Start, CallError> {
    match (request.from, request.lines) {
        (Some(_), Some(_)) => Err(ErrorBody::invalid("lines", "give lines or from, not both").into()),
        (Some(from), None) => Ok(Start::Offset(from)),
        (None, lines) => {
            let lines = lines.unwrap_or(DEFAULT_LINES);
            if !(1..=MAX_LINES).contains(&lines) {
                return Err(Malformed::new("lines", format!("expected 1 to {MAX_LINES}")).into());
            }
            Ok(Start::LastLines(lines))
        }
    }
}

async fn find(call: &Call<'_>, name: String) -> Result<FollowedLog, CallError> {
    // A reviewer that runs may not have printed anything yet.
    let live = call.broker.pool_status().await?.live.into_iter().map(|live| live.row);
    let known = match own_reviewer(call, &name).await? {
        Some(id) => Some(id),
        None => live.into_iter().find(|row| row.is_called(&name)).map(|row| row.id),
    };
    let folder = call.service.config.logs_folder().to_owned();
    let finding = tokio::task::spawn_blocking(move || {
        let path = match known {
            Some(id) => Some(folder.join(format!("{id}.log"))),
            None => reviewer_log_files::find(&folder, &name),
        }?;
        let id = path.file_stem()?.to_string_lossy().into_owned();
        Some((path, id))
    });
    let (path, id) = finding.await.map_err(|_| CallError::Internal)?.ok_or_else(missing)?;
    Ok(FollowedLog { broker: call.broker.clone(), id, path })
}

impl FollowedLog {
    /// The part from an offset on.
    pub(crate) async fn read_from(&self, from: u64) -> Result<ReviewerLogResponse, CallError> {
        self.read_part(Start::Offset(from), MAX_BYTES).await
    }

    async fn read_part(&self, start: Start, bytes: u64) -> Result<ReviewerLogResponse, CallError> {
        // Asked first: what a reviewer printed is in its log before its end is recorded.
        let ended = self.has_ended().await?;
        let (id, path) = (self.id.clone(), self.path.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let log = match ReviewerLog::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !ended => ReviewerLog::default(),
                opened => opened?,
            };
            let from = match start {
                Start::Offset(from) => from,
                Start::LastLines(lines) => log.offset_of_last_lines(lines, bytes)?,
            };
            if from > log.end() {
                return Ok(Err(log.end()));
            }
            let piece = log.read(from, bytes)?;
            Ok::<_, io::Error>(Ok(ReviewerLogResponse {
                reviewer_id: id,
                from: piece.from,
                next: piece.next(),
                total_bytes: log.end(),
                dropped_bytes: log.start(),
                truncated: piece.from > log.start() || piece.next() < log.end(),
                ended,
                text: String::from_utf8_lossy(&piece.text).into_owned(),
            }))
        });
        match reading.await.map_err(|_| CallError::Internal)? {
            Ok(Ok(part)) => Ok(part),
            Ok(Err(end)) => {
                let problem =
                    format!("is beyond the end of the log, which has {end} bytes; pass the `next` of a response");
                Err(ErrorBody::invalid("from", &problem).into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing().into()),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot read a reviewer's log");
                let why = format!("the log of {} cannot be read: {error}", self.id);
                Err(BrokerError::Unreadable { why }.into())
            }
        }
    }

    /// Whether nothing will be added to the log any more. A dedicated reviewer may come back until its review has ended.
    async fn has_ended(&self) -> Result<bool, CallError> {
        let Some(row) = self.broker.reader().find_reviewer(&self.id).await.map_err(BrokerError::from)? else {
            // It is recorded as soon as its process runs.
            return Ok(!self.broker.pool_status().await?.live.iter().any(|live| live.row.id == self.id));
        };
        let comes_back = row.session.is_some_and(|session| session.state == SessionState::Open);
        Ok(row.end.is_some() && !comes_back)
    }
}

fn missing() -> ErrorBody {
    ErrorBody::new(ErrorCode::NoLog, "there is no log of this reviewer")
}

/// The id of the reviewer, if the token is limited to one project: it may read only logs of reviewers that are known
/// to work for its project, by their ids, because short names are reused. `None`: any reviewer.
async fn own_reviewer(call: &Call<'_>, name: &str) -> Result<Option<String>, CallError> {
    let Some(scope @ Scope::Project(_)) = call.authz.scope() else { return Ok(None) };
    let (pool, mut ended) = (call.broker.pool_status().await?, list_ended(call).await?);
    ended.extend(call.broker.reader().list_dedicated_reviewers().await?.into_iter().map(|waiting| waiting.row));
    let (own, others): (Vec<_>, Vec<_>) =
        (pool.live.iter().map(|live| &live.row).chain(&ended)).partition(|row| scope.allows(row.project.as_deref()));
    if let Some(row) = own.iter().find(|row| row.is_called(name)) {
        return Ok(Some(row.id.clone()));
    }
    if let Some(row) = others.iter().find(|row| row.is_called(name)) {
        call.authz.check_project(row.project.as_deref())?;
    }
    let known = own.iter().filter(|row| row.end.is_none()).map(|row| row.id.clone()).collect();
    Err(BrokerError::UnknownReviewer { given: name.to_owned(), known }.into())
}
