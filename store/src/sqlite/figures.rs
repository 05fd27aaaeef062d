//! The running figures of the statistics: sums over the reviews of a day, and over all reviews. The writer adds what many
//! changes have changed at once. [`recount`] counts the same from the reviews: for parts of days, and after a crash.

use super::{Reader, parse_word, write_statements};
use crate::{Change, StoreError};
use domain::{
    figures::{Cohort, Day, Figures, ReviewSum, ReviewSums, WorkSums, Worker},
    finding::Finding,
    ids::VALIDATOR,
    review::{Review, Seat},
    time::Timestamp,
    verdict::Verdict,
};
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter, types::Value};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    sync::LazyLock,
};

/// The value of `day` in the rows that are about all days.
pub(super) const ALL_DAYS: i64 = -1;
/// The value of `category` for reviews without one.
pub(super) const NO_CATEGORY: &str = "none";

static ADD_REVIEWS: LazyLock<String> = LazyLock::new(|| add_sums("review_figures", "", &ReviewSums::names()));
static ADD_WORK: LazyLock<String> =
    LazyLock::new(|| add_sums("work_figures", "persona, reviewer, ", &WorkSums::names()));
const ADD_COUNTED: &str = "INSERT INTO review_distributions (day, project, category, measure, value, reviews, total)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO UPDATE SET reviews = reviews + excluded.reviews, total = total + excluded.total";
const SET_CURSOR: &str = "UPDATE figures_cursor SET seq = ?1";
const COUNT_EARLIER_VERDICTS: &str = "SELECT count(*), coalesce(sum(persona = ?2), 0), coalesce(sum(reviewer = ?3), 0)
    FROM verdicts WHERE review = ?1 AND reviewer <> 'broker-validator'";

fn add_sums(table: &str, keys: &str, names: &[String]) -> String {
    let (columns, added): (_, Vec<_>) =
        (names.join(", "), names.iter().map(|name| format!("{name} = {name} + excluded.{name}")).collect());
    let values = vec!["?"; 3 + keys.matches(',').count() + names.len()].join(", ");
    format!(
        "INSERT INTO {table} (day, project, category, {keys}{columns}) VALUES ({values}) ON CONFLICT DO UPDATE SET {}",
        added.join(", ")
    )
}

/// The statements, to be prepared when the database is opened.
pub(super) fn statements() -> [&'static str; 5] {
    [&ADD_REVIEWS, &ADD_WORK, ADD_COUNTED, SET_CURSOR, COUNT_EARLIER_VERDICTS]
}

/// What changes in the figures.
#[derive(Debug, Default)]
pub(crate) struct FigureChanges(BTreeMap<Cohort, Figures>);

impl FigureChanges {
    pub(super) fn add(&mut self, cohort: &Cohort, figures: &Figures) {
        match self.0.get_mut(cohort) {
            Some(sums) => sums.add(figures),
            None => drop(self.0.insert(cohort.clone(), figures.clone())),
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(cohort, figures)| self.add(cohort, figures));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Cohort, &Figures)> {
        self.0.iter()
    }

    /// Counts a review for a worker's verdict, unless an earlier verdict has done that.
    pub(super) fn count_review_of(
        &mut self,
        connection: &Connection,
        change: &Change,
        worker: &Worker,
    ) -> Result<(), StoreError> {
        let earlier: [i64; 3] = connection
            .prepare_cached(COUNT_EARLIER_VERDICTS)?
            .query_row(params![change.review.number.0, worker.persona, worker.reviewer], |row| {
                Ok([row.get(0)?, row.get(1)?, row.get(2)?])
            })?;
        self.sums_of(&change.cohort, worker).count_reviews(earlier);
        Ok(())
    }

    fn sums_of(&mut self, cohort: &Cohort, worker: &Worker) -> &mut WorkSums {
        self.0.entry(cohort.clone()).or_default().work.entry(worker.clone()).or_default()
    }

    /// Adds everything to the tables, which then contain the events up to `seq`.
    pub(super) fn write(&mut self, connection: &Connection, seq: u64) -> Result<(), StoreError> {
        for (cohort, figures) in &mut self.0 {
            figures.retain_changes();
            for day in [cohort.day.0, ALL_DAYS] {
                write_figures(connection, day, cohort, figures)?;
            }
        }
        connection.prepare_cached(SET_CURSOR)?.execute([seq])?;
        Ok(())
    }
}

/// Counts the days again whose reviews have changed after the last event that the figures contain, because the last broker
/// did not end properly.
pub(crate) async fn catch_up(reader: &Reader, path: &Path, last_seq: u64) -> Result<(), StoreError> {
    let days: HashSet<i64> = sqlx::query_scalar(
        "SELECT DISTINCT created_at_ms / 86400000 FROM reviews WHERE number IN
         (SELECT review FROM events WHERE seq > (SELECT seq FROM figures_cursor) AND review IS NOT NULL)",
    )
    .fetch_all(&reader.pool)
    .await?
    .into_iter()
    .collect();
    if days.is_empty() {
        return Ok(());
    }
    // The numbers lead to the reviews of a day, because the time has no index.
    let numbers: Vec<(i64, i64, i64)> =
        sqlx::query_as("SELECT created_at_ms / 86400000, min(number), max(number) FROM reviews GROUP BY 1")
            .fetch_all(&reader.pool)
            .await?;
    tracing::info!(days = days.len(), "counting the statistics of days with unrecorded changes");
    let mut connection = write_statements::connect(path)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (day, first, last) in numbers.into_iter().filter(|(day, ..)| days.contains(day)) {
        let day = Day(day);
        let (start, end) = (day.start(), Day(day.0 + 1).start());
        let counted = recount(&mut *reader.pool.acquire().await?, |sql| {
            sql.push(" WHERE r.created_at_ms >= ").push_bind(start.0).push(" AND r.created_at_ms < ").push_bind(end.0);
            sql.push(" AND r.number >= ").push_bind(first).push(" AND r.number <= ").push_bind(last);
        })
        .await?;
        for table in ["review_figures", "review_distributions", "work_figures"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE day = ?1"), [day.0])?;
        }
        for (cohort, figures) in counted.iter() {
            write_figures(&transaction, day.0, cohort, figures)?;
        }
    }
    let (of_reviews, of_work) = (ReviewSums::names(), WorkSums::names());
    let counted = ["reviews".to_owned(), "total".to_owned()];
    for (table, keys, names) in [
        ("review_figures", "project, category", of_reviews.as_slice()),
        ("review_distributions", "project, category, measure, value", &counted),
        ("work_figures", "project, category, persona, reviewer", &of_work),
    ] {
        let (columns, sums): (_, Vec<_>) =
            (names.join(", "), names.iter().map(|name| format!("sum({name})")).collect());
        transaction.execute_batch(&format!(
            "DELETE FROM {table} WHERE day = {ALL_DAYS};
             INSERT INTO {table} (day, {keys}, {columns}) SELECT {ALL_DAYS}, {keys}, {} FROM {table} GROUP BY {keys};",
            sums.join(", ")
        ))?;
    }
    transaction.execute(SET_CURSOR, [last_seq])?;
    Ok(transaction.commit()?)
}

fn write_figures(connection: &Connection, day: i64, cohort: &Cohort, figures: &Figures) -> Result<(), StoreError> {
    let (project, category) = (project_key(cohort.project.as_deref()), category_key(cohort));
    let cohort_keys = || [Value::from(day), Value::from(project.to_owned()), Value::from(category.to_owned())];
    if !figures.reviews.is_zero() {
        let sums = figures.reviews.values().iter().copied().map(Value::from);
        connection.prepare_cached(&ADD_REVIEWS)?.execute(params_from_iter(cohort_keys().into_iter().chain(sums)))?;
    }
    for ((measure, value), counted) in &figures.distributions {
        let row = params![day, project, category, measure.as_str(), value, counted.reviews, counted.total];
        connection.prepare_cached(ADD_COUNTED)?.execute(row)?;
    }
    for (Worker { persona, reviewer }, sums) in &figures.work {
        let worker = [Value::from(persona.clone()), Value::from(reviewer.clone())];
        let sums = sums.values().iter().copied().map(Value::from);
        let row = cohort_keys().into_iter().chain(worker).chain(sums);
        connection.prepare_cached(&ADD_WORK)?.execute(params_from_iter(row))?;
    }
    Ok(())
}

pub(super) fn project_key(project: Option<&str>) -> &str {
    project.unwrap_or_default()
}

pub(super) fn category_key(cohort: &Cohort) -> &'static str {
    cohort.category.map_or(NO_CATEGORY, |category| category.as_str())
}

/// Counts the figures of the reviews that `conditions` selects from `reviews r`.
pub(super) async fn recount(
    connection: &mut SqliteConnection,
    conditions: impl Fn(&mut QueryBuilder<Sqlite>),
) -> Result<FigureChanges, StoreError> {
    let select = |columns_and_tables: &str, order: &str| {
        let mut sql = QueryBuilder::<Sqlite>::new(columns_and_tables);
        conditions(&mut sql);
        sql.push(order);
        sql
    };
    let (mut all, mut cohorts) = (FigureChanges::default(), HashMap::new());
    // A snapshot is stored without its seats.
    let mut voted = HashMap::<i64, Vec<Seat>>::new();
    let mut sql =
        select("SELECT s.review, s.body FROM reviews r JOIN seats s ON s.review = r.number AND s.vote IS NOT NULL", "");
    for row in sql.build().fetch_all(&mut *connection).await? {
        voted.entry(row.try_get("review")?).or_default().push(serde_json::from_str(row.try_get("body")?)?);
    }
    let mut sql = select("SELECT r.number, r.body FROM reviews r", "");
    for row in sql.build().fetch_all(&mut *connection).await? {
        let mut review: Review = serde_json::from_str(row.try_get("body")?)?;
        review.seats = voted.remove(&review.number.0).unwrap_or_default();
        let cohort = Cohort::of(&review);
        all.0.entry(cohort.clone()).or_default().add_review(&review, 1);
        cohorts.insert(row.try_get::<i64, _>("number")?, cohort);
    }
    let cohort = |number: i64| cohorts.get(&number).ok_or_else(|| StoreError::corrupt(format!("no review {number}")));
    let mut sql = select(
        "SELECT v.review, v.persona, v.reviewer, v.verdict, v.metrics, v.claimed_at_ms, v.at_ms
         FROM reviews r JOIN verdicts v ON v.review = r.number",
        " ORDER BY v.review, v.id",
    );
    let (mut review, mut earlier): (i64, Vec<Worker>) = (0, Vec::new());
    for row in sql.build().fetch_all(&mut *connection).await? {
        let number = row.try_get("review")?;
        if number != review {
            (review, earlier) = (number, Vec::new());
        }
        let worker = Worker { persona: row.try_get("persona")?, reviewer: row.try_get("reviewer")? };
        if worker.reviewer == VALIDATOR {
            all.0.entry(cohort(number)?.clone()).or_default().reviews.count(ReviewSum::AutoRejections, 1);
            continue;
        }
        let metrics: Option<&str> = row.try_get("metrics")?;
        let metrics = metrics.map(serde_json::from_str).transpose()?;
        let claimed_at: Option<i64> = row.try_get("claimed_at_ms")?;
        let verdict = parse_word(row.try_get("verdict")?, Verdict::parse)?;
        let at = Timestamp(row.try_get("at_ms")?);
        let sums = all.sums_of(cohort(number)?, &worker);
        sums.add(&WorkSums::of_verdict(verdict, claimed_at.map(Timestamp), at, metrics.as_ref()), 1);
        let count = |is: &dyn Fn(&Worker) -> bool| earlier.iter().filter(|other| is(other)).count() as i64;
        sums.count_reviews([
            count(&|_| true),
            count(&|other| other.persona == worker.persona),
            count(&|other| other.reviewer == worker.reviewer),
        ]);
        earlier.push(worker);
    }
    let mut sql = select("SELECT f.review, f.body FROM reviews r JOIN findings f ON f.review = r.number", "");
    for row in sql.build().fetch_all(&mut *connection).await? {
        let finding: Finding = serde_json::from_str(row.try_get("body")?)?;
        all.0.entry(cohort(row.try_get("review")?)?.clone()).or_default().add_finding(&finding, 1);
    }
    Ok(all)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
