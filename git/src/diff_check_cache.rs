//! Remembers whether a diff applies, and lets concurrent callers share one check.
//!
//! The answer depends on the base and the diff alone, so a check that succeeded is never repeated. A failure is not
//! remembered, because it may go away: the working tree of a trusted repository may count, or a partial clone may lack
//! an object.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::GitError;

/// Outcomes of one repository that are remembered; about 200 bytes each.
const CAPACITY: usize = 4096;
/// Longer diffs are hashed on a thread for blocking work.
const INLINE_BYTES: usize = 64 * 1024;

type Running<V> = BoxFuture<'static, Result<V, GitError>>;

/// Identifies a check: a hash of the commits and the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CheckKey([u8; 32]);

impl CheckKey {
    pub(crate) async fn new(commits: &[Option<&str>], diff: &str) -> Result<Self, GitError> {
        if diff.len() <= INLINE_BYTES {
            return Ok(Self::of(commits, diff));
        }
        let (hasher, diff) = (Self::hasher(commits), diff.to_owned());
        let hashing = tokio::task::spawn_blocking(move || Self(hasher.chain_update(diff).finalize().into()));
        hashing.await.map_err(|error| GitError::failed("hashing the diff", error))
    }

    /// Takes long for a large diff.
    pub(crate) fn of(commits: &[Option<&str>], diff: &str) -> Self {
        Self(Self::hasher(commits).chain_update(diff).finalize().into())
    }

    fn hasher(commits: &[Option<&str>]) -> Sha256 {
        let mut hasher = Sha256::new();
        for commit in commits {
            hasher.update(commit.unwrap_or_default());
            hasher.update([0]);
        }
        hasher
    }
}

/// Checks of one kind.
pub(crate) struct Checks<V: Clone> {
    done: Cache<CheckKey, V>,
    running: Mutex<HashMap<CheckKey, WeakShared<Running<V>>>>,
}

impl<V: Clone> Default for Checks<V> {
    fn default() -> Self {
        Self { done: Cache::new(CAPACITY), running: Mutex::default() }
    }
}

impl<V: Clone> std::fmt::Debug for Checks<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checks").field("done", &self.done.len()).finish_non_exhaustive()
    }
}

impl<V: Clone> Checks<V> {
    /// The remembered outcome of a check.
    pub(crate) fn find(&self, key: &CheckKey) -> Option<V> {
        self.done.get(key)
    }

    pub(crate) fn remember(&self, key: CheckKey, outcome: V) {
        self.done.insert(key, outcome);
    }

    /// The outcome of the running check, or else of the one that `start` makes. It is remembered if `is_remembered` says
    /// so.
    ///
    /// A check ends early when all its callers are gone.
    pub(crate) async fn run(
        &self,
        key: CheckKey,
        is_remembered: impl Fn(&V) -> bool,
        start: impl FnOnce() -> Running<V>,
    ) -> Result<V, GitError> {
        let outcome = self.join(key, start).await;
        if let Ok(outcome) = &outcome
            && is_remembered(outcome)
        {
            self.remember(key, outcome.clone());
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, check| check.upgrade().is_some_and(|check| check.peek().is_none()));
        outcome
    }

    /// Joins the running check, or starts one.
    fn join(&self, key: CheckKey, start: impl FnOnce() -> Running<V>) -> Shared<Running<V>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = running.get(&key).and_then(WeakShared::upgrade) {
            return check;
        }
        let check = start().shared();
        running.extend(check.downgrade().map(|check| (key, check)));
        check
    }
}
