//! `countersign stats`: prints statistics of the reviews of a period.

use crate::{
    CliError,
    client::BrokerArgs,
    commands::event_history::PeriodArgs,
    error::parse_optional,
    render::{clipped, duration, execute_and_print, format_local, table},
};
use api::{
    operation::{GetDailyStats, GetReviewStats},
    stats::{
        DailyStatsRequest, DailyStatsResponse, DurationStats, GroupStats, IssueStats, ReviewStats, StatsRequest,
        StatsResponse, WorkStats,
    },
};
use domain::{finding::Severity, query_types::GroupBy, review::Status, text::count};
use std::{collections::BTreeMap, fmt::Write as _};

const NAME_COLUMNS: usize = 40;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    period: PeriodArgs,
    /// Add figures for each reviewer, persona, category or day, or for each persona on each day (day_persona)
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Show one line for each day instead, at most 100; with --by persona also the work of each persona
    #[arg(long)]
    daily: bool,
    #[command(flatten)]
    broker: BrokerArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let group_by = parse_optional("group_by", args.by.as_deref())?;
    let PeriodArgs { project, since, until } = args.period;
    if args.daily {
        let personas = match group_by {
            None | Some(GroupBy::None) => None,
            Some(GroupBy::Persona) => Some(true),
            Some(by @ (GroupBy::Reviewer | GroupBy::Category | GroupBy::Day | GroupBy::DayPersona)) => {
                return Err(CliError::usage(anyhow::anyhow!(
                    "--daily cannot be divided by {by}; use --by persona, or --by {by} without --daily"
                )));
            }
        };
        let request = DailyStatsRequest { project, since, until, personas };
        return execute_and_print::<GetDailyStats>(&args.broker.connect().await?, &request, render_daily).await;
    }
    let request = StatsRequest { project, since, until, group_by };
    execute_and_print::<GetReviewStats>(&args.broker.connect().await?, &request, render).await
}

fn render(stats: &StatsResponse) -> String {
    let reviews = &stats.stats.reviews;
    let since = stats.since.map(|at| format!(" from {}", format_local(at))).unwrap_or_default();
    let until = stats.until.map(|at| format!(" to {}", format_local(at))).unwrap_or_default();
    let mut out = format!("{}{since}{until}\n", count(reviews.total, "review"));
    let _ = writeln!(out, "  status    {}", render_counts(&reviews.by_status));
    let _ = writeln!(out, "  category  {}", render_counts(&reviews.by_category));
    let (approved, rejected, cancelled) = (reviews.approved, reviews.rejected, reviews.cancelled);
    let rate = percent(reviews.approval_rate, "approved");
    let _ = writeln!(out, "  ended     approved {approved}, rejected {rejected}, cancelled {cancelled}{rate}");
    let rounds = &reviews.rounds;
    let first = percent(reviews.first_round_rate, "of those approved in the first round");
    let _ = writeln!(out, "  rounds    {} on average, {} at most{first}", rounds.mean, rounds.max);
    out.push_str("\ntime to\n");
    out.push_str(&durations(reviews));
    out.push_str("\ntime in\n");
    out.push_str(&status_times(reviews));
    let issues = &stats.stats.issues;
    let _ = writeln!(out, "\n{}, {}", count(issues.total, "issue"), count(issues.suggestions, "suggestion"));
    let _ = writeln!(out, "  severity  {}", render_counts(&issues.by_severity));
    let _ = writeln!(out, "  became    {}", render_counts(&issues.by_status));
    let disputes = &issues.disputes;
    if disputes.total > 0 {
        let rate = percent(disputes.upheld_rate, "of the decided ones upheld");
        let (total, upheld, rejected) = (disputes.total, disputes.upheld, disputes.rejected);
        let _ = writeln!(out, "  disputed  {total}: upheld {upheld}, rejected {rejected}{rate}");
    }
    if !issues.fates.is_empty() {
        let _ = write!(out, "{}", fates(issues));
    }
    let _ = write!(out, "\nwork\n{}", table(WORK_HEAD, [work("all", &stats.stats.work, issues)]));
    if let Some(cost) = stats.stats.cost_per_approval_usd {
        let _ = writeln!(out, "  ${cost:.2} for each approved review");
    }
    groups(&mut out, stats);
    out
}

const WORK_HEAD: [&str; 10] =
    ["WHO", "VOTES", "APPROVED", "CHANGES", "REJECTED", "AGREE", "ISSUES", "AVERAGE", "TOKENS", "COST"];

fn work(name: &str, work: &WorkStats, issues: &IssueStats) -> [String; 10] {
    [
        clipped(name, NAME_COLUMNS),
        work.votes.to_string(),
        work.approvals.to_string(),
        work.changes_requested.to_string(),
        work.rejections.to_string(),
        work.agreement_rate.map(|rate| format!("{:.0} %", rate * 100.0)).unwrap_or_default(),
        issues.total.to_string(),
        work.average_ms.map(duration).unwrap_or_default(),
        format!("{}+{}", work.input_tokens, work.output_tokens),
        work.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default(),
    ]
}

fn groups(out: &mut String, stats: &StatsResponse) {
    let (groups, by) = (&stats.stats.groups, stats.group_by);
    let review_rows: Vec<_> = groups.iter().filter_map(review_row).collect();
    if !review_rows.is_empty() {
        let head = ["WHICH", "REVIEWS", "APPROVED", "REJECTED", "CANCELLED", "TO CLAIM", "TO DECISION"];
        let _ = write!(out, "\nreviews by {by}\n{}", table(head, review_rows));
    }
    if !groups.is_empty() {
        let _ = write!(
            out,
            "\nwork by {by}\n{}",
            table(WORK_HEAD, groups.iter().map(|group| work(&group_name(group), &group.work, &group.issues)))
        );
    }
    if let Some(more) = stats.stats.more_groups {
        let _ = writeln!(out, "  and {more} more");
    }
}

fn group_name(group: &GroupStats) -> String {
    [Some(group.group.as_str()), group.persona.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What has become of the issues of each severity.
fn fates(issues: &IssueStats) -> String {
    let of = |fates: &BTreeMap<String, u64>, fate: &str| fates.get(fate).copied().unwrap_or_default().to_string();
    let rows = Severity::ALL.iter().rev().filter_map(|severity| {
        let row = issues.fates.get(severity.as_str())?;
        let [open, disputed, fixed, wont_fix, duplicate] =
            ["open", "disputed", "fixed", "wont_fix", "duplicate"].map(|fate| of(row, fate));
        Some([severity.to_string(), open, disputed, fixed, wont_fix, duplicate])
    });
    table(["", "OPEN", "DISPUTED", "FIXED", "WON'T FIX", "DUPLICATE"], rows)
}

fn render_daily(stats: &DailyStatsResponse) -> String {
    let daily = &stats.daily;
    let days = &daily.days;
    let time = |times: &DurationStats| times.p50_ms.map(duration).unwrap_or_default();
    let cost = |cost: Option<f64>| cost.map(|cost| format!("${cost:.2}")).unwrap_or_default();
    let rows = days.iter().rev().map(|day| {
        let issues: u64 = day.issues_by_severity.values().sum();
        let counts = [day.reviews, day.approved, day.rejected, day.cancelled].map(|count| count.to_string());
        let [reviews, approved, rejected, cancelled] = counts;
        let (verdict, decision) = (time(&day.time_to_verdict), time(&day.time_to_decision));
        [
            day.day.clone(),
            reviews,
            approved,
            rejected,
            cancelled,
            verdict,
            decision,
            issues.to_string(),
            cost(day.cost_usd),
        ]
    });
    let head = ["DAY", "REVIEWS", "APPROVED", "REJECTED", "CANCELLED", "TO VERDICT", "TO DECISION", "ISSUES", "COST"];
    let mut out = table(head, rows);
    if daily.more_days > 0 {
        let _ = writeln!(out, "  and {} before", count(daily.more_days as u64, "day"));
    }
    let by_persona = days.iter().rev().flat_map(|day| {
        day.personas.iter().map(|work| {
            let counts = [work.verdicts, work.votes, work.approvals, work.issues].map(|count| count.to_string());
            let [verdicts, votes, approvals, issues] = counts;
            [
                day.day.clone(),
                clipped(&work.persona, NAME_COLUMNS),
                verdicts,
                votes,
                approvals,
                issues,
                cost(work.cost_usd),
            ]
        })
    });
    if !daily.personas.is_empty() {
        let head = ["DAY", "PERSONA", "VERDICTS", "VOTES", "APPROVED", "ISSUES", "COST"];
        let _ = write!(out, "\n{}", table(head, by_persona));
    }
    if daily.more_personas > 0 {
        let _ = writeln!(out, "  and {} more", count(daily.more_personas as u64, "persona"));
    }
    out
}

fn review_row(group: &GroupStats) -> Option<[String; 7]> {
    let reviews = group.reviews.as_ref()?;
    let median = |times: &DurationStats| times.p50_ms.map(duration).unwrap_or_default();
    Some([
        clipped(&group.group, NAME_COLUMNS),
        reviews.total.to_string(),
        reviews.approved.to_string(),
        reviews.rejected.to_string(),
        reviews.cancelled.to_string(),
        median(&reviews.time_to_first_claim),
        median(&reviews.time_to_decision),
    ])
}

fn durations(reviews: &ReviewStats) -> String {
    let lines = [
        ("first claim", &reviews.time_to_first_claim),
        ("first verdict", &reviews.time_to_verdict),
        ("decision", &reviews.time_to_decision),
        ("close", &reviews.time_to_close),
    ]
    .map(|(name, times)| {
        let time = |ms: Option<u64>| ms.map(duration).unwrap_or_default();
        let [mean, median, p90, p95, max] =
            [times.mean_ms, times.p50_ms, times.p90_ms, times.p95_ms, times.max_ms].map(time);
        [name.to_owned(), times.count.to_string(), mean, median, p90, p95, max]
    });
    table(["", "REVIEWS", "MEAN", "MEDIAN", "90 %", "95 %", "LONGEST"], lines)
}

fn status_times(reviews: &ReviewStats) -> String {
    let passing = Status::ALL.iter().filter(|status| **status != Status::Closed);
    let lines = passing.map(|status| {
        let times = reviews.time_in_status.get(status.as_str());
        let mean = times.and_then(|times| times.mean_ms).map(duration).unwrap_or_default();
        let (count, total) = times.map_or((0, 0), |times| (times.reviews, times.total_ms));
        [status.to_string(), count.to_string(), mean, duration(total)]
    });
    table(["", "REVIEWS", "MEAN", "IN ALL"], lines)
}

/// The counts that are not zero.
fn render_counts(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<_> =
        counts.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{name} {count}")).collect();
    if counts.is_empty() { "-".into() } else { counts.join(", ") }
}

fn percent(rate: Option<f64>, of: &str) -> String {
    rate.map(|rate| format!("; {:.0} % {of}", rate * 100.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::render;
    use serde_json::json;

    #[test]
    fn figures_are_rendered_as_tables() {
        let span = json!({ "count": 2, "mean_ms": 61_500, "p50_ms": 1_000, "p90_ms": 122_000,
                           "p95_ms": 122_000, "max_ms": 122_000 });
        let reviews = json!({
            "total": 3, "by_status": { "pending": 1, "closed": 2, "claimed": 0 }, "by_category": { "none": 3 },
            "approved": 2, "rejected": 0, "cancelled": 0, "approval_rate": 1.0, "first_round_rate": 0.5, "escalated": 0,
            "rounds": { "mean": 1.333, "max": 2 }, "time_to_first_claim": span, "time_to_verdict": span,
            "time_to_decision": span, "time_to_close": { "count": 0 },
            "time_in_status": { "pending": { "reviews": 3, "total_ms": 9_000, "mean_ms": 3_000 } },
        });
        let work = json!({ "reviews": 2, "verdicts": 2, "votes": 2, "approvals": 2, "changes_requested": 0,
                           "rejections": 0, "comments": 0, "judged_votes": 2, "agreement_rate": 1.0,
                           "average_ms": 5_000, "input_tokens": 10, "output_tokens": 1, "cost_usd": 0.25,
                           "verdicts_with_cost": 1 });
        let issues = json!({ "total": 1, "suggestions": 0, "by_severity": { "high": 1 }, "by_status": { "fixed": 1 },
                             "fates": { "high": { "fixed": 1 } },
                             "disputes": { "total": 2, "upheld": 0, "rejected": 1, "upheld_rate": 0.0 } });
        let processes = json!({ "spawned": 0, "input_tokens": 0, "output_tokens": 0 });
        let day = json!({ "group": "2026-11-16", "reviews": reviews, "work": work, "issues": issues });
        let stats = json!({ "reviews": reviews, "work": work, "issues": issues, "auto_rejections": 0,
                            "cost_per_approval_usd": 0.125,
                            "processes": processes, "group_by": "day", "groups": [day], "more_groups": 2 });
        let stats = serde_json::from_value(stats).unwrap();
        insta::assert_snapshot!("figures_are_rendered_as_tables", anstream::adapter::strip_str(&render(&stats)));
    }
}
