//! Operations that list, start and stop the reviewer processes of the pool, and read their logs.

use super::{Call, error::CallError, require_text};
use actors::{
    BrokerError,
    credentials::Scope,
    reviewer_pool::{LiveReviewer, PoolStatus},
};
use api::{
    ErrorBody, ErrorCode,
    decode::Malformed,
    reviewer_pool::{
        KillReviewerRequest, ListReviewersRequest, ListReviewersResponse, QueuedSeat, Reviewer, ReviewerLogRequest,
        ReviewerLogResponse, SpawnReviewerRequest, Waiting,
    },
};
use config::reviewer_log_files;
use domain::reviewer_pool::SessionState;
use store::{DedicatedReviewer, ReviewerRow, SeatRow};

/// Ended reviewers on one page of a list.
const DEFAULT_ENDED: u32 = 20;
const MAX_ENDED: u32 = 200;
/// Dedicated reviewers and queued seats in one list.
const MAX_ROWS: usize = 100;
const DEFAULT_LOG_LINES: usize = 200;
const MAX_LOG_LINES: usize = 10_000;
const MAX_LOG_BYTES: usize = 1 << 20;

pub(super) async fn list(call: &Call<'_>, request: ListReviewersRequest) -> Result<ListReviewersResponse, CallError> {
    let limit = request.limit.unwrap_or(DEFAULT_ENDED);
    if !(1..=MAX_ENDED).contains(&limit) {
        return Err(ErrorBody::invalid("limit", &format!("is {limit}; allowed: 1 to {MAX_ENDED}")).into());
    }
    let after = match request.cursor.as_deref() {
        Some(cursor) => Some(parse_cursor(cursor).ok_or_else(|| ErrorBody::bad_cursor("list"))?),
        None => None,
    };
    let mut pool = call.broker.pool_status().await?;
    let mut pending = call.broker.reader().count_queue_by_project().await?;
    let (mut ended, ended_total) = call.broker.reader().list_ended_reviewers(after, limit + 1).await?;
    let has_more = ended.len() > limit as usize;
    ended.truncate(limit as usize);
    let last = ended.last().filter(|_| has_more);
    let next_cursor = last.and_then(|row| Some(format!("{}.{}", row.end.as_ref()?.at.0, row.id)));
    let is_visible = |project: &Option<String>| call.authz.can_see_project(project.as_deref());
    pool.live.retain(|reviewer| is_visible(&reviewer.row.project));
    pending.retain(|pending| is_visible(&pending.project));
    ended.retain(|row| is_visible(&row.project));
    // The pool's message and output may come from another project.
    let is_limited = call.authz.only_project().is_some();
    let mut dedicated = list_dedicated(call, &pool).await?;
    let (dedicated_total, queued_total) = (dedicated.len(), pool.queued_seats.len());
    dedicated.truncate(MAX_ROWS);
    pool.queued_seats.truncate(MAX_ROWS);
    Ok(ListReviewersResponse {
        state: pool.state,
        message: if is_limited { None } else { pool.message },
        runtime: pool.runtime.as_str().into(),
        max_size: pool.max_size,
        last_reviewer_call_at: call.service.reviewers_seen.last_at().map(Into::into),
        waiting: pending
            .into_iter()
            .map(|row| Waiting { project: row.project, pending: row.reviews, free_seats: row.free_seats })
            .collect(),
        dedicated,
        queued: if is_limited { Vec::new() } else { pool.queued_seats.iter().map(queued_seat).collect() },
        reviewers: pool.live.into_iter().map(running).collect(),
        ended: ended.into_iter().map(row).collect(),
        ended_total: Some(ended_total).filter(|_| !is_limited),
        dedicated_total: Some(dedicated_total).filter(|total| *total > MAX_ROWS),
        queued_total: Some(queued_total).filter(|total| *total > MAX_ROWS && !is_limited),
        next_cursor,
        last_words: if is_limited { Vec::new() } else { pool.last_words },
    })
}

/// When the last reviewer of a page ended, and its id.
fn parse_cursor(cursor: &str) -> Option<(i64, &str)> {
    let (at_ms, id) = cursor.split_once('.')?;
    Some((at_ms.parse().ok()?, id))
}

/// The dedicated reviewers of open reviews that the caller may see.
async fn list_dedicated(call: &Call<'_>, pool: &PoolStatus) -> Result<Vec<Reviewer>, CallError> {
    let known = call.broker.reader().list_dedicated_reviewers().await?;
    let visible = known.into_iter().filter(|known| call.authz.can_see_project(known.row.project.as_deref()));
    Ok(visible.map(|known| dedicated(known, pool)).collect())
}

fn dedicated(known: DedicatedReviewer, pool: &PoolStatus) -> Reviewer {
    let DedicatedReviewer { row: stored, status, branch } = known;
    let live = pool.live.iter().find(|live| live.row.id == stored.id);
    let is_queued = || pool.queued_seats.iter().any(|seat| Some(seat) == stored.seat.as_ref());
    let failure = stored.session.as_ref().and_then(|session| session.failure.clone());
    let state = match (&live, &failure) {
        (Some(_), _) => "working",
        (None, _) if status.has_ended() => "finished",
        (None, _) if is_queued() => "queued",
        (None, Some(_)) => "failed",
        (None, None) => "waiting",
    };
    let last_words = failure.into_iter().collect();
    let reviewer = match live {
        Some(live) => running(live.clone()),
        None => Reviewer { last_words, ..row(stored) },
    };
    Reviewer { state: state.into(), branch, ..reviewer }
}

fn queued_seat(seat: &SeatRow) -> QueuedSeat {
    QueuedSeat { review: seat.review.to_string(), persona: seat.persona.clone() }
}

/// The reviewers that ended last.
async fn list_ended(call: &Call<'_>) -> Result<Vec<ReviewerRow>, CallError> {
    Ok(call.broker.reader().list_ended_reviewers(None, DEFAULT_ENDED).await?.0)
}

pub(super) async fn spawn(call: &Call<'_>, request: SpawnReviewerRequest) -> Result<Reviewer, CallError> {
    let project = call.broker.project_for(request.project.as_deref())?;
    call.authz.check_project(project.as_deref())?;
    Ok(running(call.broker.spawn_reviewer(project, operator(call)).await?))
}

pub(super) async fn kill(call: &Call<'_>, request: KillReviewerRequest) -> Result<Reviewer, CallError> {
    require_text("reviewer_id", &request.reviewer_id)?;
    let given = request.reviewer_id.trim();
    let live = call.broker.pool_status().await?.live;
    match live.iter().find(|live| live.row.is_called(given)) {
        Some(live) => call.authz.check_project(live.row.project.as_deref())?,
        None => {
            let waiting = call.broker.reader().list_dedicated_reviewers().await?;
            match waiting.iter().find(|waiting| waiting.row.is_called(given)) {
                Some(waiting) => call.authz.check_project(waiting.row.project.as_deref())?,
                None => {
                    let rows = live.into_iter().map(|live| live.row).chain(waiting.into_iter().map(|known| known.row));
                    let own = rows.filter(|row| call.authz.can_see_project(row.project.as_deref()));
                    let mut known: Vec<_> = own.map(|row| row.id).collect();
                    known.dedup();
                    return Err(BrokerError::UnknownReviewer { given: given.into(), known }.into());
                }
            }
        }
    }
    let force = request.force.unwrap_or(false);
    Ok(running(call.broker.stop_reviewer(given.to_owned(), force, operator(call)).await?))
}

/// The name of the caller's token, for the log.
fn operator(call: &Call<'_>) -> Option<String> {
    call.authz.identity().map(str::to_owned)
}

fn running(live: LiveReviewer) -> Reviewer {
    Reviewer {
        state: live.state.as_str().into(),
        age_seconds: Some(live.age_ms / 1000),
        idle_seconds: live.idle_ms.map(|ms| ms / 1000),
        reviews: live.reviews.iter().map(ToString::to_string).collect(),
        last_words: live.last_words,
        ..row(live.row)
    }
}

fn row(row: ReviewerRow) -> Reviewer {
    let (completed, average_ms) = (row.work.completed(), row.work.average_ms());
    let (ended_at, exit, last_words) = match row.end {
        Some(end) => (Some(end.at.into()), Some(end.exit), end.last_words),
        None => (None, None, Vec::new()),
    };
    let (state, turns, session_id, fresh_starts) = match &row.session {
        Some(session) => {
            let state = match session.state {
                SessionState::Open => "waiting",
                SessionState::Finished => "finished",
                SessionState::Stopped => "stopped",
            };
            (state, Some(session.turns), session.id.clone(), Some(session.fresh_starts))
        }
        None => ("ended", None, None, None),
    };
    Reviewer {
        reviewer_id: row.id,
        name: row.name,
        state: state.into(),
        branch: None,
        turns,
        reviewer_session_id: session_id,
        fresh_starts,
        runtime: row.runtime,
        project: row.project,
        why: row.why.as_str().into(),
        review: row.seat.as_ref().map(|seat| seat.review.to_string()),
        persona: row.seat.map(|seat| seat.persona).or(row.bound_to),
        spawned_at: row.spawned_at.into(),
        age_seconds: None,
        idle_seconds: None,
        pid: row.process.pid,
        reviews: Vec::new(),
        completed,
        approvals: row.work.approvals,
        rejections: row.work.rejections,
        changes_requested: row.work.changes_requested,
        comments: row.work.comments,
        average_ms,
        input_tokens: row.work.input_tokens,
        output_tokens: row.work.output_tokens,
        cost_usd: row.work.cost_usd,
        ended_at,
        exit,
        last_words,
    }
}

pub(super) async fn log(call: &Call<'_>, request: ReviewerLogRequest) -> Result<ReviewerLogResponse, CallError> {
    let lines = request.lines.unwrap_or(DEFAULT_LOG_LINES);
    if !(1..=MAX_LOG_LINES).contains(&lines) {
        return Err(Malformed::new("lines", format!("expected 1 to {MAX_LOG_LINES}")).into());
    }
    let name = request.reviewer_id;
    let own = own_reviewer(call, &name).await?;
    let folder = call.service.config.logs_folder().to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let path = match own {
            Some(id) => folder.join(format!("{id}.log")),
            None => reviewer_log_files::find(&folder, &name)?,
        };
        let (text, _) = reviewer_log_files::read(&path).ok()?;
        let end = reviewer_log_files::last_lines(&text, Some(lines));
        let end = &end[end.len().saturating_sub(MAX_LOG_BYTES)..];
        Some(ReviewerLogResponse {
            reviewer_id: path.file_stem()?.to_string_lossy().into_owned(),
            text: String::from_utf8_lossy(end).into_owned(),
            total_bytes: text.len(),
            truncated: end.len() < text.len(),
        })
    });
    let missing = || ErrorBody::new(ErrorCode::NoLog, "there is no log of this reviewer");
    Ok(reading.await.map_err(|_| CallError::Internal)?.ok_or_else(missing)?)
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
