//! The running figures of the statistics: sums over the reviews of a day, and over all reviews. The transaction that writes
//! a change adds to them what it changes. [`recount`] counts the same from the reviews, for parts of days.

use super::parse_word;
use crate::{Change, StoreError};
use domain::{
    figures::{Cohort, Figures, ReviewSum, ReviewSums, WorkSums, Worker},
    finding::Finding,
    ids::VALIDATOR,
    review::Review,
    time::Timestamp,
    verdict::Verdict,
};
use rusqlite::{Connection, params, params_from_iter, types::Value};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};
use std::{
    collections::{BTreeMap, HashMap},
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
pub(super) fn statements() -> [&'static str; 4] {
    [&ADD_REVIEWS, &ADD_WORK, ADD_COUNTED, COUNT_EARLIER_VERDICTS]
}

/// What a transaction changes in the figures.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FigureChanges(BTreeMap<Cohort, Figures>);

impl FigureChanges {
    pub(super) fn add(&mut self, change: &Change) {
        match self.0.get_mut(&change.cohort) {
            Some(figures) => figures.add(&change.figures),
            None => drop(self.0.insert(change.cohort.clone(), change.figures.clone())),
        }
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

    /// Adds everything to the tables.
    pub(super) fn write(&mut self, connection: &Connection) -> Result<(), StoreError> {
        for (cohort, figures) in &mut self.0 {
            figures.retain_changes();
            for day in [cohort.day.0, ALL_DAYS] {
                write_figures(connection, day, cohort, figures)?;
            }
        }
        Ok(())
    }
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
    let mut sql = select("SELECT r.number, r.body FROM reviews r", "");
    for row in sql.build().fetch_all(&mut *connection).await? {
        let review: Review = serde_json::from_str(row.try_get("body")?)?;
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
