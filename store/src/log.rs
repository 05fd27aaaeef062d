//! The log of all events, in order. A follower reads on from the last sequence number it has seen, so it
//! misses nothing and sees nothing twice.

use crate::{
    Reader, StoreError,
    reader::{to_id, to_u64},
};
use domain::{
    ids::{ReviewId, ReviewNumber},
    pool::PoolEvent,
    review::Recorded,
    time::{Tick, Timestamp},
};

#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    pub seq: u64,
    pub at: Timestamp,
    pub tick: Tick,
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    Review { id: ReviewId, number: ReviewNumber, recorded: Box<Recorded> },
    Pool(PoolEvent),
}

impl Reader {
    /// What happened after `seq`, at most `limit` of it.
    pub async fn list_log(&self, after: u64, limit: u32) -> Result<Vec<Logged>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = sqlx::query!(
            r#"SELECT e.seq, e.at_ms, e.tick, e.version, e.payload, r.number AS "number?: i64", r.id AS "id?: String"
               FROM events e LEFT JOIN reviews r ON r.number = e.review WHERE e.seq > ? ORDER BY e.seq LIMIT ?"#,
            after,
            limit
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let at = Timestamp(row.at_ms);
                let entry = match (row.id, row.number, row.version) {
                    (Some(id), Some(number), Some(version)) => {
                        let event = serde_json::from_str(&row.payload)?;
                        let recorded = Box::new(Recorded { at, version: to_u64(version)?, event });
                        Entry::Review { id: to_id(&id)?, number: ReviewNumber(number), recorded }
                    }
                    _ => Entry::Pool(serde_json::from_str(&row.payload)?),
                };
                Ok(Logged { seq: to_u64(row.seq)?, at, tick: Tick(row.tick), entry })
            })
            .collect()
    }
}
