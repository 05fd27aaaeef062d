//! The spellings of identities in the database, so that a filter finds `Ada` by `ada`.

use crate::{StoreError, query_types::ReviewFilter};
use domain::identity::identity_key;
use sqlx::SqliteConnection;
use std::collections::{BTreeSet, HashMap};

/// The spellings of the identities that a filter names, by key.
#[derive(Debug, Default)]
pub(super) struct Spellings(HashMap<String, Vec<String>>);

impl Spellings {
    /// Reads the spellings of all identities in the filter.
    pub(super) async fn read(connection: &mut SqliteConnection, filter: &ReviewFilter) -> Result<Self, StoreError> {
        let ReviewFilter { proposer, not_by, participant, turn_of, open_to, .. } = filter;
        let names = [proposer, not_by, participant, turn_of, open_to].into_iter().flatten();
        let keys: BTreeSet<String> = names.map(|name| identity_key(name).into_owned()).collect();
        let mut by_key = HashMap::new();
        for key in keys {
            let spellings = sqlx::query_scalar!("SELECT name FROM spellings WHERE key = ?", key);
            by_key.insert(key, spellings.fetch_all(&mut *connection).await?);
        }
        Ok(Self(by_key))
    }

    /// The key of this identity, and its other spellings.
    pub(super) fn of(&self, name: &str) -> Vec<String> {
        let key = identity_key(name).into_owned();
        let others = self.0.get(&key).cloned().unwrap_or_default();
        [key].into_iter().chain(others).collect()
    }
}
