//! Queries for the statistics of each day of a period, in short: rows for a chart.

use super::{
    Reader,
    stats::{Days, Group, Groups, MAX_GROUPS, add_count, group_stats, issues_by_fate, latest_days, read_groups},
};
use crate::{StatsPeriod, StoreError};
use domain::{
    query_types::GroupBy,
    stats::{DailyStats, DayPersonaStats, DayStats},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Most personas of one result.
const MAX_PERSONAS: usize = 8;

impl Reader {
    /// Reads everything in one transaction. The figures are those that [`super::Writer::write_figures`] has written.
    pub async fn count_daily_stats(&self, period: &StatsPeriod, by_persona: bool) -> Result<DailyStats, StoreError> {
        let days = Days::of(period);
        let (mut transaction, counted) = self.begin_count(period, &days).await?;
        let (whole, more_days) = latest_days(&mut transaction, period, &days).await?;
        let by_day = read_groups(&mut transaction, period, whole.clone(), GroupBy::Day, &counted).await?;
        let by_worker = match by_persona {
            true => read_groups(&mut transaction, period, whole, GroupBy::DayPersona, &counted).await?,
            false => Groups::new(),
        };
        transaction.rollback().await?;
        let mut days: Vec<_> = by_day.into_iter().map(|(day, group)| day_stats(day, &group, period)).collect();
        // The parts of days at both ends of the period are not among the latest whole days.
        let left_out = days.len().saturating_sub(MAX_GROUPS);
        days.drain(..left_out);
        let more_days = more_days + left_out;
        let mut daily = DailyStats { days, more_days, ..DailyStats::default() };
        add_personas(&mut daily, by_worker, period);
        Ok(daily)
    }
}

fn day_stats(day: String, group: &Group, period: &StatsPeriod) -> DayStats {
    let stats = group_stats(day, group, GroupBy::Day, period.now);
    let reviews = stats.reviews.unwrap_or_default();
    let mut issues_by_fate_of_day = BTreeMap::new();
    for (_, fate, issues) in issues_by_fate(&group.work) {
        add_count(&mut issues_by_fate_of_day, fate.as_str(), issues);
    }
    DayStats {
        day: stats.group,
        reviews: reviews.total,
        approved: reviews.approved,
        rejected: reviews.rejected,
        cancelled: reviews.cancelled,
        approval_rate: reviews.approval_rate,
        first_round_rate: reviews.first_round_rate,
        rounds_mean: reviews.rounds.mean,
        time_to_verdict: reviews.time_to_verdict,
        time_to_decision: reviews.time_to_decision,
        verdicts: stats.work.verdicts,
        issues_by_severity: stats.issues.by_severity,
        issues_by_fate: issues_by_fate_of_day,
        cost_usd: stats.work.cost_usd,
        personas: Vec::new(),
    }
}

/// Adds the busiest personas to their days.
fn add_personas(daily: &mut DailyStats, groups: Groups, period: &StatsPeriod) {
    let stats = |(name, group): (String, Group)| group_stats(name, &group, GroupBy::DayPersona, period.now);
    let groups: Vec<_> = groups.into_iter().map(stats).collect();
    let mut verdicts = BTreeMap::<&str, u64>::new();
    for group in &groups {
        *verdicts.entry(group.persona.as_deref().unwrap_or_default()).or_default() += group.work.verdicts;
    }
    let mut busiest: Vec<_> = verdicts.into_iter().filter(|(_, verdicts)| *verdicts > 0).collect();
    busiest.sort_by_key(|(_, verdicts)| Reverse(*verdicts));
    daily.more_personas = busiest.len().saturating_sub(MAX_PERSONAS);
    busiest.truncate(MAX_PERSONAS);
    daily.personas = busiest.iter().map(|(persona, _)| (*persona).to_owned()).collect();
    let named: BTreeSet<_> = daily.personas.iter().cloned().collect();
    for group in groups {
        let Some(persona) = group.persona.filter(|persona| named.contains(persona)) else { continue };
        let Some(day) = daily.days.iter_mut().find(|day| day.day == group.group) else { continue };
        day.personas.push(DayPersonaStats {
            persona,
            verdicts: group.work.verdicts,
            votes: group.work.votes,
            approvals: group.work.approvals,
            issues: group.issues.total,
            cost_usd: group.work.cost_usd,
        });
    }
}
