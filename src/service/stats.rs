//! The operation that returns statistics of reviews.

use super::{
    Call,
    error::CallError,
    event_history::{now, period, project},
    pagination::json_chars,
};
use api::stats::{DailyStatsRequest, DailyStatsResponse, StatsRequest, StatsResponse};
use domain::query_types::GroupBy;
use store::StatsPeriod;

pub(super) async fn get(call: &Call<'_>, request: StatsRequest) -> Result<StatsResponse, CallError> {
    let (by, now) = (request.group_by.unwrap_or(GroupBy::None), now());
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now)?;
    let period = StatsPeriod { project: project(call, request.project)?, since, until, now };
    let stats = call.broker.stats(&period, by).await?;
    let (since, until) = (since.map(Into::into), until.map(Into::into));
    let mut response = StatsResponse { since, until, project: period.project.flatten(), stats, group_by: by };
    loop {
        let groups = response.stats.groups.len();
        let (chars, max_chars) = (json_chars(&response)?, call.service.settings.page_chars);
        if chars <= max_chars || groups == 0 {
            return Ok(response);
        }
        // Keep the busiest groups, or the latest days.
        let kept = (groups * max_chars / chars).min(groups - 1);
        response.stats.groups.truncate(kept);
        response.stats.more_groups = Some(response.stats.more_groups.unwrap_or(0) + groups - kept);
    }
}

pub(super) async fn daily(call: &Call<'_>, request: DailyStatsRequest) -> Result<DailyStatsResponse, CallError> {
    let now = now();
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now)?;
    let period = StatsPeriod { project: project(call, request.project)?, since, until, now };
    let daily = call.broker.daily_stats(&period, request.personas.unwrap_or(false)).await?;
    let (since, until) = (since.map(Into::into), until.map(Into::into));
    Ok(DailyStatsResponse { since, until, project: period.project.flatten(), daily })
}
