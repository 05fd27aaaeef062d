//! What is written of webhooks: how far each has been told, and what it could not be told.

use crate::StoreError;
use domain::time::Timestamp;
use rusqlite::{Connection, params};

/// One step of a webhook, named by its hook.
#[derive(Debug, Clone)]
pub struct HookChange {
    pub hook: String,
    pub step: HookStep,
}

#[derive(Debug, Clone)]
pub enum HookStep {
    /// It is configured. Unless it is known already, it begins after this place in the log.
    Begin { source: String, cursor: u64 },
    /// It has been told all up to here that is for it.
    Advance { cursor: u64 },
    /// It could not be told this; it goes on behind it. Also of one that was tried again, whose attempts are added.
    Bury { seq: u64, attempts: u32, error: String, at: Timestamp },
    /// It has been told of one that was dead, or is not to be.
    Forget(Which),
    /// Try those again.
    Retry(Which),
}

/// Which of a hook's dead deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    All,
    These(Vec<u64>),
}

const BEGIN: &str = "INSERT INTO webhooks (name, source, cursor) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING";
/// Never back: what was tried again lies behind it.
const ADVANCE: &str = "UPDATE webhooks SET cursor = max(cursor, ?2) WHERE name = ?1";
const BURY: &str = "INSERT INTO dead_deliveries (hook, seq, attempts, error, died_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (hook, seq) DO UPDATE SET attempts = attempts + excluded.attempts, error = excluded.error,
    died_at_ms = excluded.died_at_ms, again = 0";
const FORGET: &str = "DELETE FROM dead_deliveries WHERE hook = ?1 AND seq = ?2";
const FORGET_ALL: &str = "DELETE FROM dead_deliveries WHERE hook = ?1";
const RETRY: &str = "UPDATE dead_deliveries SET again = 1 WHERE hook = ?1 AND seq = ?2";
const RETRY_ALL: &str = "UPDATE dead_deliveries SET again = 1 WHERE hook = ?1";

pub(super) const ALL: &[&str] = &[BEGIN, ADVANCE, BURY, FORGET, FORGET_ALL, RETRY, RETRY_ALL];

/// How many rows it touched.
pub(super) fn write(connection: &Connection, change: &HookChange) -> Result<u64, StoreError> {
    let hook = &change.hook;
    let touched = match &change.step {
        HookStep::Begin { source, cursor } => {
            connection.prepare_cached(BEGIN)?.execute(params![hook, source, cursor])? as u64
        }
        HookStep::Advance { cursor } => connection.prepare_cached(ADVANCE)?.execute(params![hook, cursor])? as u64,
        HookStep::Bury { seq, attempts, error, at } => {
            connection.prepare_cached(BURY)?.execute(params![hook, seq, attempts, error, at.0])?;
            connection.prepare_cached(ADVANCE)?.execute(params![hook, seq])? as u64
        }
        HookStep::Forget(which) => of_those(connection, hook, which, FORGET, FORGET_ALL)?,
        HookStep::Retry(which) => of_those(connection, hook, which, RETRY, RETRY_ALL)?,
    };
    Ok(touched)
}

fn of_those(connection: &Connection, hook: &str, which: &Which, one: &str, all: &str) -> Result<u64, StoreError> {
    match which {
        Which::All => Ok(connection.prepare_cached(all)?.execute([hook])? as u64),
        Which::These(seqs) => {
            let mut statement = connection.prepare_cached(one)?;
            seqs.iter().try_fold(0, |sum, seq| Ok(sum + statement.execute(params![hook, seq])? as u64))
        }
    }
}
