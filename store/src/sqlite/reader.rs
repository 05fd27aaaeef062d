//! The pool of read-only database connections, which all queries use. They see what is committed and never wait for the
//! writer.

use super::{DatabaseFiles, connect_options, reviews::ContentCache};
use crate::{Settings, StoreError};
use domain::ids::{ReviewId, ReviewNumber};
use serde::de::DeserializeOwned;
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use std::{path::Path, sync::Arc, time::Duration};

#[derive(Clone)]
pub struct Reader {
    pub(crate) pool: SqlitePool,
    pub(crate) contents: Arc<ContentCache>,
    pub(crate) files: Arc<DatabaseFiles>,
}

impl Reader {
    pub(crate) async fn open(path: &Path, settings: Settings) -> Result<Self, StoreError> {
        let options = connect_options(path).read_only(true).optimize_on_close(false, None);
        let pool = SqlitePoolOptions::new()
            .max_connections(settings.readers)
            .min_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .connect_with(options)
            .await?;
        let contents = Arc::new(ContentCache::new(settings.content_cache));
        Ok(Self { pool, contents, files: Arc::new(DatabaseFiles::new(path)) })
    }

    /// Whether the open database is the file at its path. Otherwise nothing more is saved.
    pub fn is_in_place(&self) -> bool {
        self.files.check().is_ok()
    }

    /// The highest review number; 0 if there are no reviews.
    pub async fn last_number(&self) -> Result<ReviewNumber, StoreError> {
        let row = sqlx::query!(r#"SELECT coalesce(max(number), 0) AS "number!: i64" FROM reviews"#)
            .fetch_one(&self.pool)
            .await?;
        Ok(ReviewNumber(row.number))
    }

    pub async fn find_id_by_number(&self, number: ReviewNumber) -> Result<Option<ReviewId>, StoreError> {
        let row = sqlx::query!("SELECT id FROM reviews WHERE number = ?", number.0).fetch_optional(&self.pool).await?;
        row.map(|row| to_id(&row.id)).transpose()
    }

    /// Reviews whose id starts with `prefix` (lowercase, with dashes), in all projects or in one (`None` inside: without a
    /// project). At most six are listed.
    pub async fn list_ids_by_prefix(
        &self,
        prefix: &str,
        project: Option<Option<&str>>,
    ) -> Result<Vec<ReviewId>, StoreError> {
        let (end, all, project) = (format!("{prefix}~"), project.is_none(), project.flatten());
        let rows = sqlx::query!(
            "SELECT id FROM reviews WHERE id >= ? AND id < ? AND (? OR project IS ?) ORDER BY id LIMIT 6",
            prefix,
            end,
            all,
            project
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| to_id(&row.id)).collect()
    }

    /// The next deadlines of claims and reservations after `(tick, number)`, at most `limit`.
    pub async fn list_deadlines(
        &self,
        after: (i64, i64),
        limit: i64,
    ) -> Result<Vec<(i64, ReviewNumber, ReviewId)>, StoreError> {
        let (tick, number) = after;
        let rows = sqlx::query!(
            r#"SELECT d.tick AS "tick!: i64", r.number, r.id FROM (
                   SELECT lease_ends_tick AS tick, review FROM seats WHERE lease_ends_tick >= ?1
                   UNION ALL
                   SELECT reserved_until_tick, review FROM seats WHERE reserved_until_tick >= ?1
               ) AS d JOIN reviews r ON r.number = d.review
               WHERE (d.tick, d.review) > (?1, ?2) ORDER BY d.tick, d.review LIMIT ?3"#,
            tick,
            number,
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(|row| Ok((row.tick, ReviewNumber(row.number), to_id(&row.id)?))).collect()
    }

    /// The last deadline of all claims and reservations.
    pub async fn find_last_deadline(&self) -> Result<Option<i64>, StoreError> {
        let row = sqlx::query!(
            r#"SELECT max(lease_ends_tick) AS "lease: i64", max(reserved_until_tick) AS "reservation: i64" FROM seats
               WHERE lease_ends_tick IS NOT NULL OR reserved_until_tick IS NOT NULL"#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(row.lease.max(row.reservation))
    }

    /// The offset between the broker's timeline and this boot, if the boot is known.
    pub async fn find_boot_offset(&self, boot_id: &str) -> Result<Option<i64>, StoreError> {
        let row =
            sqlx::query!("SELECT offset_ms FROM boots WHERE boot_id = ?", boot_id).fetch_optional(&self.pool).await?;
        Ok(row.map(|row| row.offset_ms))
    }

    /// Tick and wall clock of the last event.
    pub async fn find_last_event_time(&self) -> Result<Option<(i64, i64)>, StoreError> {
        let row =
            sqlx::query!("SELECT tick, at_ms FROM events ORDER BY seq DESC LIMIT 1").fetch_optional(&self.pool).await?;
        Ok(row.map(|row| (row.tick, row.at_ms)))
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Parses rows that are JSON.
pub(crate) fn parse_all<T: DeserializeOwned>(bodies: &[String]) -> Result<Vec<T>, StoreError> {
    bodies.iter().map(|body| Ok(serde_json::from_str(body)?)).collect()
}

pub(crate) fn to_id(text: &str) -> Result<ReviewId, StoreError> {
    text.parse().map(ReviewId).map_err(|_| StoreError::corrupt(format!("{text:?} is not a review id")))
}

pub(crate) fn to_u64(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_| StoreError::corrupt(format!("{value} is negative")))
}

pub(crate) fn to_u32(value: i64) -> Result<u32, StoreError> {
    u32::try_from(value).map_err(|_| StoreError::corrupt(format!("{value} is out of range")))
}

/// Parses a string that the schema's CHECKs allow.
pub(crate) fn parse_word<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
    parse(text).ok_or_else(|| StoreError::corrupt(format!("unknown value {text:?}")))
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
