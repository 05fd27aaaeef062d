//! Queries for the statistics of the reviews submitted in a period: the running figures of its whole days, and a count of
//! the reviews of the rest.

use super::{
    Reader,
    events::NumberedTable,
    figures::{self, ALL_DAYS, FigureChanges},
    parse_word,
};
use crate::{StatsPeriod, StoreError};
use domain::{
    figures::{Cohort, Counted, Day, Figures, Measure, ReviewSum, ReviewSums, WorkSum, WorkSums, Worker},
    finding::{FindingFate, Severity},
    query_types::GroupBy,
    review::{Category, Status},
    stats::{
        DisputeStats, DurationStats, GroupStats, IssueStats, ProcessStats, ReviewStats, RoundStats, Stats, StatusTime,
        WorkStats,
    },
    time::Timestamp,
    verdict::Verdict,
};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection, Transaction, sqlite::SqliteRow};
use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

const REVIEWS: NumberedTable = NumberedTable { name: "reviews", number: "number", at_ms: "created_at_ms" };

/// Most groups in one result. There may be very many reviewers.
pub(super) const MAX_GROUPS: usize = 100;

/// A period as the tables of figures know it.
pub(super) struct Days {
    /// Whole days of the period, or the rows about all days.
    pub(super) whole: Range<i64>,
    /// What is left of the days at its two ends.
    parts: Vec<Range<Timestamp>>,
}

impl Days {
    pub(super) fn of(period: &StatsPeriod) -> Self {
        if period.since.is_none() && period.until.is_none() {
            return Self { whole: ALL_DAYS..ALL_DAYS + 1, parts: Vec::new() };
        }
        let since = period.since.map_or(Timestamp(0), |since| Timestamp(since.0.max(0)));
        let until = period.until.unwrap_or(Timestamp(i64::MAX));
        let first = if Day::of(since).start() == since { Day::of(since) } else { Day(Day::of(since).0 + 1) };
        let end = Day::of(until);
        if first >= end {
            return Self { whole: 0..0, parts: vec![since..until] };
        }
        let parts = [since..first.start(), end.start()..until].into_iter().filter(|part| !part.is_empty());
        Self { whole: first.0..end.0, parts: parts.collect() }
    }
}

/// The figures of a group. Those of reviews are counted by category.
#[derive(Default)]
pub(super) struct Group {
    pub(super) reviews: BTreeMap<String, ReviewSums>,
    distributions: BTreeMap<(Measure, i64), Counted>,
    pub(super) work: WorkSums,
}

impl Group {
    fn add_counted(&mut self, value: (Measure, i64), counted: Counted) {
        let sum = self.distributions.entry(value).or_default();
        sum.reviews += counted.reviews;
        sum.total += counted.total;
    }
}

pub(super) type Groups = BTreeMap<String, Group>;

/// The SQL expression that names the group of a row of figures.
const fn group_expression(by: GroupBy) -> &'static str {
    match by {
        GroupBy::None => "''",
        GroupBy::Category => "category",
        GroupBy::Day => "date(day * 86400, 'unixepoch')",
        GroupBy::Reviewer => "reviewer",
        GroupBy::Persona => "persona",
        GroupBy::DayPersona => "date(day * 86400, 'unixepoch') || ' ' || persona",
    }
}

/// Whether a review belongs to one group only. Reviewers and personas share reviews.
const fn groups_reviews(by: GroupBy) -> bool {
    matches!(by, GroupBy::None | GroupBy::Category | GroupBy::Day)
}

impl Reader {
    /// Reads everything in one transaction. The figures are those that [`super::Writer::write_figures`] has written.
    pub async fn count_stats(&self, period: &StatsPeriod, by: GroupBy) -> Result<Stats, StoreError> {
        let days = Days::of(period);
        let (mut transaction, counted) = self.begin_count(period, &days).await?;
        let mut total = read_groups(&mut transaction, period, days.whole.clone(), GroupBy::None, &counted).await?;
        let (groups, more_groups) = match by {
            GroupBy::None => (Groups::new(), 0),
            GroupBy::Day | GroupBy::DayPersona => {
                let (whole, left_out) = latest_days(&mut transaction, period, &days).await?;
                (read_groups(&mut transaction, period, whole, by, &counted).await?, left_out)
            }
            GroupBy::Category | GroupBy::Reviewer | GroupBy::Persona => {
                (read_groups(&mut transaction, period, days.whole, by, &counted).await?, 0)
            }
        };
        let processes = count_processes(&mut transaction, period).await?;
        transaction.rollback().await?;
        let total = total.remove("").unwrap_or_default();
        let auto_rejections = total.reviews.values().map(|sums| sums.get(ReviewSum::AutoRejections)).sum();
        let stats = |name: String, group: Group| group_stats(name, &group, by, period.now);
        let mut groups: Vec<_> = groups.into_iter().map(|(name, group)| stats(name, group)).collect();
        let busyness = |group: &GroupStats| group.reviews.as_ref().map_or(group.work.verdicts, |reviews| reviews.total);
        match by {
            GroupBy::None | GroupBy::Reviewer | GroupBy::Persona | GroupBy::Category => {
                groups.sort_by_key(|group| Reverse(busyness(group)));
            }
            GroupBy::Day => groups.reverse(),
            GroupBy::DayPersona => {
                groups.sort_by(|a, b| b.group.cmp(&a.group).then(busyness(b).cmp(&busyness(a))));
            }
        }
        let more_groups = more_groups + groups.len().saturating_sub(MAX_GROUPS);
        groups.truncate(MAX_GROUPS);
        let total = group_stats(String::new(), &total, GroupBy::None, period.now);
        Ok(Stats {
            reviews: total.reviews.unwrap_or_default(),
            work: total.work,
            issues: total.issues,
            cost_per_approval_usd: total.cost_per_approval_usd,
            auto_rejections: unsigned(auto_rejections),
            processes,
            groups,
            more_groups: (more_groups > 0).then_some(more_groups),
        })
    }
}

impl Reader {
    /// Begins a transaction, and counts the parts of days in it.
    pub(super) async fn begin_count(
        &self,
        period: &StatsPeriod,
        days: &Days,
    ) -> Result<(Transaction<'static, Sqlite>, Vec<FigureChanges>), StoreError> {
        let mut parts = Vec::new();
        for part in &days.parts {
            parts.push((part, self.number_range(&REVIEWS, Some(part.start), Some(part.end)).await?));
        }
        let mut transaction = self.pool.begin().await?;
        let mut counted = Vec::new();
        for (part, numbers) in parts {
            counted.push(count_part(&mut transaction, period, part, numbers).await?);
        }
        Ok((transaction, counted))
    }
}

/// Counts the reviews that were submitted in a part of a day.
async fn count_part(
    connection: &mut SqliteConnection,
    period: &StatsPeriod,
    part: &Range<Timestamp>,
    (first, end): (i64, i64),
) -> Result<FigureChanges, StoreError> {
    figures::recount(connection, |sql| {
        sql.push(" WHERE r.number >= ").push_bind(first).push(" AND r.number < ").push_bind(end);
        sql.push(" AND r.created_at_ms >= ").push_bind(part.start.0);
        sql.push(" AND r.created_at_ms < ").push_bind(part.end.0);
        if let Some(project) = &period.project {
            sql.push(" AND r.project IS ").push_bind(project.clone());
        }
    })
    .await
}

/// The range of the latest days that fit into a result, and how many days before it have figures.
pub(super) async fn latest_days(
    connection: &mut SqliteConnection,
    period: &StatsPeriod,
    days: &Days,
) -> Result<(Range<i64>, usize), StoreError> {
    // Without a period `whole` is the one row about all days.
    let whole = if days.whole.start == ALL_DAYS { 0..i64::MAX } else { days.whole.clone() };
    let mut sql = QueryBuilder::<Sqlite>::new("SELECT DISTINCT day FROM review_figures");
    push_conditions(&mut sql, period, &whole);
    sql.push(" ORDER BY day DESC");
    let with_figures: Vec<i64> = sql.build_query_scalar().fetch_all(connection).await?;
    let first = with_figures.get(MAX_GROUPS - 1).copied().unwrap_or(whole.start);
    Ok((first..whole.end, with_figures.len().saturating_sub(MAX_GROUPS)))
}

fn push_conditions(sql: &mut QueryBuilder<Sqlite>, period: &StatsPeriod, days: &Range<i64>) {
    sql.push(" WHERE day >= ").push_bind(days.start).push(" AND day < ").push_bind(days.end);
    if let Some(project) = &period.project {
        sql.push(" AND project = ").push_bind(figures::project_key(project.as_deref()).to_owned());
    }
}

/// The figures of whole days and of the parts that were counted.
pub(super) async fn read_groups(
    connection: &mut SqliteConnection,
    period: &StatsPeriod,
    days: Range<i64>,
    by: GroupBy,
    counted: &[FigureChanges],
) -> Result<Groups, StoreError> {
    let mut groups = Groups::new();
    let select = |columns: &str, table: &str, group_by: &str| {
        let mut sql = QueryBuilder::<Sqlite>::new(format!("SELECT {}, {columns} FROM {table}", group_expression(by)));
        push_conditions(&mut sql, period, &days);
        sql.push(group_by);
        sql
    };
    let sums = |names: Vec<String>| names.iter().map(|name| format!("sum({name})")).collect::<Vec<_>>().join(", ");
    if groups_reviews(by) {
        let columns = format!("category, {}", sums(ReviewSums::names()));
        for row in select(&columns, "review_figures", " GROUP BY 1, 2").build().fetch_all(&mut *connection).await? {
            let group = groups.entry(row.try_get(0)?).or_default();
            group.reviews.entry(row.try_get(1)?).or_default().add(&ReviewSums::new(read_sums(&row, 2)?), 1);
        }
        let columns = "measure, value, sum(reviews), sum(total)";
        let mut sql = select(columns, "review_distributions", " GROUP BY 1, 2, 3");
        for row in sql.build().fetch_all(&mut *connection).await? {
            let measure = parse_word(row.try_get(1)?, Measure::parse)?;
            let counted = Counted { reviews: row.try_get(3)?, total: row.try_get(4)? };
            groups.entry(row.try_get(0)?).or_default().add_counted((measure, row.try_get(2)?), counted);
        }
    }
    let mut sql = select(&sums(WorkSums::names()), "work_figures", " GROUP BY 1");
    for row in sql.build().fetch_all(connection).await? {
        groups.entry(row.try_get(0)?).or_default().work.add(&WorkSums::new(read_sums(&row, 1)?), 1);
    }
    for (cohort, figures) in counted.iter().flat_map(FigureChanges::iter) {
        add_cohort(&mut groups, by, cohort, figures);
    }
    Ok(groups)
}

fn read_sums<const N: usize>(row: &SqliteRow, first: usize) -> Result<[i64; N], StoreError> {
    let mut sums = [0; N];
    for (index, sum) in sums.iter_mut().enumerate() {
        *sum = row.try_get(first + index)?;
    }
    Ok(sums)
}

fn add_cohort(groups: &mut Groups, by: GroupBy, cohort: &Cohort, figures: &Figures) {
    let category = figures::category_key(cohort);
    let name = |worker: Option<&Worker>| match (by, worker) {
        (GroupBy::None, _) => String::new(),
        (GroupBy::Category, _) => category.to_owned(),
        (GroupBy::Day, _) => cohort.day.to_string(),
        (GroupBy::Reviewer, worker) => worker.map_or_else(String::new, |worker| worker.reviewer.clone()),
        (GroupBy::Persona, worker) => worker.map_or_else(String::new, |worker| worker.persona.clone()),
        (GroupBy::DayPersona, worker) => {
            worker.map_or_else(String::new, |worker| format!("{} {}", cohort.day, worker.persona))
        }
    };
    if groups_reviews(by) {
        let group = groups.entry(name(None)).or_default();
        group.reviews.entry(category.to_owned()).or_default().add(&figures.reviews, 1);
        for (value, counted) in &figures.distributions {
            group.add_counted(*value, *counted);
        }
    }
    for (worker, sums) in &figures.work {
        groups.entry(name(Some(worker))).or_default().work.add(sums, 1);
    }
}

pub(super) fn group_stats(name: String, group: &Group, by: GroupBy, now: Timestamp) -> GroupStats {
    let reviews = groups_reviews(by).then(|| review_stats(group, now));
    let work = work_stats(&group.work, by);
    let approved = reviews.as_ref().map_or(0, |reviews| reviews.approved);
    let cost_per_approval_usd = work.cost_usd.filter(|_| approved > 0).map(|cost| cost / approved as f64);
    let (group_name, persona) = match name.split_once(' ').filter(|_| by == GroupBy::DayPersona) {
        Some((day, persona)) => (day.to_owned(), Some(persona.to_owned())),
        None => (name, None),
    };
    let issues = issue_stats(&group.work);
    GroupStats { group: group_name, persona, reviews, work, issues, cost_per_approval_usd }
}

pub(super) fn review_stats(group: &Group, now: Timestamp) -> ReviewStats {
    let mut sums = ReviewSums::default();
    group.reviews.values().for_each(|of_category| sums.add(of_category, 1));
    if sums.get(ReviewSum::Reviews) == 0 {
        return ReviewStats::default();
    }
    let count = |sum: ReviewSum| unsigned(sums.get(sum));
    let of_category = |name: &str| group.reviews.get(name).map_or(0, |sums| unsigned(sums.get(ReviewSum::Reviews)));
    let categories = Category::ALL.iter().map(|category| category.as_str()).chain([figures::NO_CATEGORY]);
    let (approved, rejected, cancelled) =
        (count(ReviewSum::Approved), count(ReviewSum::Rejected), count(ReviewSum::Cancelled));
    let duration = |measure| duration_stats(group, measure);
    ReviewStats {
        total: count(ReviewSum::Reviews),
        by_status: Status::ALL.iter().map(|status| (status.to_string(), count(ReviewSum::Now(*status)))).collect(),
        by_category: categories.map(|name| (name.to_owned(), of_category(name))).collect(),
        approved,
        rejected,
        cancelled,
        approval_rate: share(approved, approved + rejected + cancelled),
        first_round_rate: share(count(ReviewSum::ApprovedInFirstRound), approved),
        escalated: count(ReviewSum::Escalated),
        rounds: round_stats(group),
        time_to_first_claim: duration(Measure::FirstClaim),
        time_to_verdict: duration(Measure::FirstVerdict),
        time_to_decision: duration(Measure::Decision),
        time_to_close: duration(Measure::Close),
        time_in_status: Status::ALL
            .iter()
            .filter(|status| **status != Status::Closed)
            .map(|status| (status.to_string(), status_time(&sums, *status, now)))
            .collect(),
    }
}

/// All stays in a status up to now.
fn status_time(sums: &ReviewSums, status: Status, now: Timestamp) -> StatusTime {
    let present = sums.get(ReviewSum::Now(status)) * now.0 - sums.get(ReviewSum::SinceMs(status));
    let (reviews, total_ms) =
        (unsigned(sums.get(ReviewSum::Entered(status))), unsigned(sums.get(ReviewSum::SpentMs(status)) + present));
    StatusTime { reviews, total_ms, mean_ms: total_ms.checked_div(reviews) }
}

/// The values of a measure in rising order, each with its reviews.
fn values(group: &Group, measure: Measure) -> impl Iterator<Item = (i64, Counted)> {
    let all = group.distributions.range((measure, i64::MIN)..=(measure, i64::MAX));
    all.map(|((_, value), counted)| (*value, *counted)).filter(|(_, counted)| counted.reviews > 0)
}

fn round_stats(group: &Group) -> RoundStats {
    let (mut reviews, mut rounds, mut max) = (0, 0, 0);
    for (value, counted) in values(group, Measure::Rounds) {
        (reviews, rounds, max) = (reviews + counted.reviews, rounds + counted.total, value);
    }
    RoundStats {
        mean: share(unsigned(rounds), unsigned(reviews)).unwrap_or_default(),
        max: max.try_into().unwrap_or(0),
    }
}

fn duration_stats(group: &Group, measure: Measure) -> DurationStats {
    let values: Vec<_> = values(group, measure).collect();
    let (count, total) =
        values.iter().fold((0, 0), |(count, total), (_, counted)| (count + counted.reviews, total + counted.total));
    // The smallest value that is not below the given percentage of all values.
    let percentile = |percent: i64| {
        let mut rank = 0;
        let is_reached = |(_, counted): &&(i64, Counted)| {
            rank += counted.reviews;
            rank * 100 >= count * percent
        };
        values.iter().find(is_reached).map(|(value, _)| unsigned(*value))
    };
    DurationStats {
        count: unsigned(count),
        mean_ms: (count > 0).then(|| (total as f64 / count as f64).round() as u64),
        p50_ms: percentile(50),
        p90_ms: percentile(90),
        p95_ms: percentile(95),
        max_ms: values.last().map(|(value, _)| unsigned(*value)),
    }
}

pub(super) fn work_stats(sums: &WorkSums, by: GroupBy) -> WorkStats {
    let count = |sum: WorkSum| unsigned(sums.get(sum));
    let given = |verdict| count(WorkSum::Given(verdict));
    let (approvals, changes_requested) = (given(Verdict::Approved), given(Verdict::ChangesRequested));
    let (rejections, comments) = (given(Verdict::Rejected), given(Verdict::Comment));
    let votes = approvals + changes_requested + rejections;
    let timed = sums.get(WorkSum::TimedVotes);
    let reviews = match by {
        GroupBy::None | GroupBy::Category | GroupBy::Day => WorkSum::Reviews,
        GroupBy::Persona | GroupBy::DayPersona => WorkSum::ReviewsOfPersona,
        GroupBy::Reviewer => WorkSum::ReviewsOfReviewer,
    };
    WorkStats {
        reviews: count(reviews),
        verdicts: votes + comments,
        votes,
        approvals,
        changes_requested,
        rejections,
        comments,
        approval_rate: share(approvals, votes),
        judged_votes: count(WorkSum::JudgedVotes),
        agreement_rate: share(count(WorkSum::AgreeingVotes), count(WorkSum::JudgedVotes)),
        average_ms: (timed > 0).then(|| (sums.get(WorkSum::VoteMs) as f64 / timed as f64).round() as u64),
        input_tokens: count(WorkSum::InputTokens),
        output_tokens: count(WorkSum::OutputTokens),
        cost_usd: (sums.get(WorkSum::WithCost) > 0).then(|| sums.get(WorkSum::CostMicroUsd) as f64 / 1e6),
        verdicts_with_cost: count(WorkSum::WithCost),
    }
}

pub(super) fn issue_stats(sums: &WorkSums) -> IssueStats {
    let count = |sum: WorkSum| unsigned(sums.get(sum));
    let (mut total, mut by_severity, mut by_status, mut fates) = (0, Counts::new(), Counts::new(), BTreeMap::new());
    for (severity, fate, issues) in issues_by_fate(sums) {
        // A disputed issue is open.
        let status = if fate == FindingFate::Disputed { FindingFate::Open } else { fate };
        total += issues;
        add_count(&mut by_severity, severity.as_str(), issues);
        add_count(&mut by_status, status.as_str(), issues);
        add_count(fates.entry(severity.to_string()).or_default(), fate.as_str(), issues);
    }
    let (upheld, rejected) = (count(WorkSum::DisputesUpheld), count(WorkSum::DisputesRejected));
    let disputes = DisputeStats {
        total: count(WorkSum::Disputes),
        upheld,
        rejected,
        upheld_rate: share(upheld, upheld + rejected),
    };
    IssueStats { total, by_severity, by_status, fates, disputes, suggestions: count(WorkSum::Suggestions) }
}

pub(super) type Counts = BTreeMap<String, u64>;

pub(super) fn add_count(counts: &mut Counts, name: &str, count: u64) {
    *counts.entry(name.to_owned()).or_default() += count;
}

/// The numbers of issues that are not zero.
pub(super) fn issues_by_fate(sums: &WorkSums) -> impl Iterator<Item = (Severity, FindingFate, u64)> {
    let all = Severity::ALL.iter().flat_map(|severity| FindingFate::ALL.iter().map(move |fate| (*severity, *fate)));
    all.map(|(severity, fate)| (severity, fate, unsigned(sums.get(WorkSum::Issues(severity, fate)))))
        .filter(|(.., issues)| *issues > 0)
}

/// `part` of `all`, with three decimals; `None` of nothing.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| (part as f64 / all as f64 * 1e3).round() / 1e3)
}

/// A sum of what cannot be negative, apart from clocks that were set back.
fn unsigned(sum: i64) -> u64 {
    u64::try_from(sum).unwrap_or_default()
}

/// Reviewer processes started in the period. They report everything they did, so this is not added to the verdicts'
/// figures.
async fn count_processes(connection: &mut SqliteConnection, period: &StatsPeriod) -> Result<ProcessStats, StoreError> {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "SELECT json_object('spawned', count(*), 'input_tokens', CAST(total(input_tokens) AS INTEGER),
                            'output_tokens', CAST(total(output_tokens) AS INTEGER),
                            'cost_usd', round(sum(cost_usd), 6)) FROM reviewers WHERE spawned_at_ms >= ",
    );
    sql.push_bind(period.since.map_or(i64::MIN, |since| since.0));
    sql.push(" AND spawned_at_ms < ").push_bind(period.until.map_or(i64::MAX, |until| until.0));
    if let Some(project) = &period.project {
        sql.push(" AND project IS ").push_bind(project.as_deref());
    }
    let json: String = sql.build_query_scalar().fetch_one(connection).await?;
    Ok(serde_json::from_str(&json)?)
}

#[cfg(test)]
#[path = "stats_tests.rs"]
pub(crate) mod tests;
