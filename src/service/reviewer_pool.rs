//! Operations that list, start and stop the reviewer processes of the pool, and change the pool.

use super::{Call, error::CallError, require_text};
use actors::{
    BrokerError,
    reviewer_pool::{LiveReviewer, PoolControl, PoolStatus},
};
use api::{
    ErrorBody,
    reviewer_pool::{
        ControlPoolRequest, ControlPoolResponse, KillReviewerRequest, ListReviewersRequest, ListReviewersResponse,
        PoolPause, QueuedSeat, Reviewer, SpawnReviewerRequest, StopReviewersRequest, StopReviewersResponse, Waiting,
    },
};
use domain::reviewer_pool::{SessionState, scaling::MAX_POOL_SIZE};
use store::{DedicatedReviewer, ReviewerRow, SeatRow};

/// Ended reviewers on one page of a list.
const DEFAULT_ENDED: u32 = 20;
const MAX_ENDED: u32 = 200;
/// Dedicated reviewers and queued seats in one list.
const MAX_ROWS: usize = 100;

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
        configured_max_size: Some(pool.configured_max_size).filter(|configured| *configured != pool.max_size),
        paused: pool.pause.map(pause),
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
pub(super) async fn list_ended(call: &Call<'_>) -> Result<Vec<ReviewerRow>, CallError> {
    Ok(call.broker.reader().list_ended_reviewers(None, DEFAULT_ENDED).await?.0)
}

pub(super) async fn spawn(call: &Call<'_>, request: SpawnReviewerRequest) -> Result<Reviewer, CallError> {
    let project = call.broker.project_for(request.project.as_deref())?;
    call.authz.check_project(project.as_deref())?;
    let by = operator(call, request.caller_id)?;
    Ok(running(call.broker.spawn_reviewer(project, request.persona, by).await?))
}

pub(super) async fn control(call: &Call<'_>, request: ControlPoolRequest) -> Result<ControlPoolResponse, CallError> {
    let ControlPoolRequest { paused, max_size, caller_id } = request;
    if paused.is_none() && max_size.is_none() {
        let problem = "give paused, max_size or both; nothing would change";
        return Err(ErrorBody::invalid("paused", problem).into());
    }
    if let Some(max_size) = max_size.filter(|max_size| !(1..=MAX_POOL_SIZE).contains(max_size)) {
        let problem = format!("is {max_size}; allowed: 1 to {MAX_POOL_SIZE}; paused=true starts no reviewer at all");
        return Err(ErrorBody::invalid("max_size", &problem).into());
    }
    let pool = call.broker.control_pool(PoolControl { paused, max_size }, operator(call, caller_id)?).await?;
    Ok(ControlPoolResponse {
        state: pool.state,
        message: pool.message,
        paused: pool.pause.map(pause),
        max_size: pool.max_size,
        configured_max_size: pool.configured_max_size,
        running: pool.live.len(),
    })
}

fn pause(pause: store::PoolPause) -> PoolPause {
    PoolPause { since: pause.at.into(), by: pause.by }
}

pub(super) async fn stop_all(
    call: &Call<'_>,
    request: StopReviewersRequest,
) -> Result<StopReviewersResponse, CallError> {
    let by = operator(call, request.caller_id)?;
    let stopped = call.broker.stop_all_reviewers(request.force.unwrap_or(false), by).await?;
    Ok(StopReviewersResponse { reviewers: stopped.into_iter().map(running).collect() })
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
    let by = operator(call, request.caller_id)?;
    Ok(running(call.broker.stop_reviewer(given.to_owned(), force, by).await?))
}

/// The name of the operator, for the log: the given one, else the token's.
fn operator(call: &Call<'_>, given: Option<String>) -> Result<Option<String>, CallError> {
    if let Some(given) = &given {
        require_text("caller_id", given)?;
    }
    Ok(call.authz.identity_for("caller_id", given)?)
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
