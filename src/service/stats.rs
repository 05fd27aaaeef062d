//! Statistics of reviews.

use super::{
    Call,
    error::CallError,
    history::{now, period, project},
    pagination::json_chars,
};
use api::{
    stats::{StatsRequest, StatsResponse},
    timestamp,
};
use domain::{query::GroupBy, stats::Stats};
use store::StatsPeriod;

pub(super) async fn get(call: &Call<'_>, request: StatsRequest) -> Result<StatsResponse, CallError> {
    let (by, now) = (request.group_by.unwrap_or(GroupBy::None), now());
    let (since, until) = period(request.since.as_deref(), request.until.as_deref(), now)?;
    let period = StatsPeriod { project: project(call, request.project)?, since, until, now };
    let mut stats = call.broker.stats(&period, by).await?;
    loop {
        let response = response(&stats, &period, by);
        let (groups, chars, max_chars) = (stats.groups.len(), json_chars(&response)?, call.service.settings.page_chars);
        if chars <= max_chars || groups == 0 {
            return Ok(response);
        }
        // Keep the busiest groups, or the latest days.
        let kept = (groups * max_chars / chars).min(groups - 1);
        stats.groups.truncate(kept);
        stats.more_groups += groups - kept;
    }
}

fn response(stats: &Stats, period: &StatsPeriod, by: GroupBy) -> StatsResponse {
    let stats = stats.clone();
    StatsResponse {
        since: period.since.map(timestamp),
        until: period.until.map(timestamp),
        project: period.project.clone().flatten(),
        reviews: stats.reviews,
        work: stats.work,
        issues: stats.issues,
        auto_rejections: stats.auto_rejections,
        processes: stats.processes,
        group_by: by,
        groups: stats.groups,
        more_groups: (stats.more_groups > 0).then_some(stats.more_groups),
    }
}
