//! Answers a question about a repository with the built-in engine, or by running git if the engine declines.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use domain::git_engine_mode::EngineMode;
use tokio::sync::Semaphore;

use crate::GitError;
use crate::engine::{CACHE_BYTES, Declined, Engine, ObjectCache};
use crate::repository::Inner;

/// What the engines of all repositories with the same settings share. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct EngineState(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cache: OnceLock<Arc<ObjectCache>>,
    permits: OnceLock<Arc<Semaphore>>,
    by_engine: AtomicU64,
    by_git: AtomicU64,
    remembered: AtomicU64,
    differences: AtomicU64,
}

/// How questions to all repositories were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerCounts {
    pub by_engine: u64,
    /// Git was asked, because the engine declined or because of the settings.
    pub by_git: u64,
    /// Checks with an outcome that was remembered.
    pub remembered: u64,
    /// The engine and git gave different answers. Counted only if both are asked.
    pub differences: u64,
}

impl EngineState {
    pub fn counts(&self) -> AnswerCounts {
        AnswerCounts {
            by_engine: self.0.by_engine.load(Relaxed),
            by_git: self.0.by_git.load(Relaxed),
            remembered: self.0.remembered.load(Relaxed),
            differences: self.0.differences.load(Relaxed),
        }
    }

    pub(crate) fn cache(&self) -> Arc<ObjectCache> {
        let new = || Arc::new(ObjectCache::with_weighter(1024, CACHE_BYTES, crate::engine::ByteWeighter));
        Arc::clone(self.0.cache.get_or_init(new))
    }

    fn permits(&self, concurrency: usize) -> Arc<Semaphore> {
        Arc::clone(self.0.permits.get_or_init(|| Arc::new(Semaphore::new(concurrency.max(1)))))
    }
}

impl Inner {
    /// Asks the engine, and `git` if it declines. The engine runs on a thread for blocking work.
    pub(crate) async fn ask<T: PartialEq + Debug + Send + 'static>(
        &self,
        question: &'static str,
        engine: impl FnOnce(&Engine) -> Result<T, Declined> + Send + 'static,
        git: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        self.settle(question, self.ask_engine(engine).await, git).await
    }

    /// The answer of the engine if there is one and it counts, otherwise that of `git`.
    pub(crate) async fn settle<T: PartialEq + Debug>(
        &self,
        question: &'static str,
        own: Option<T>,
        git: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        match own {
            Some(own) if self.settings.engine == EngineMode::Auto => {
                self.count_engine();
                Ok(own)
            }
            own => {
                let answer = git.await;
                self.count_git(question, own.as_ref(), answer.as_ref());
                answer
            }
        }
    }

    /// The answer of the engine; `None` if it declines or is switched off.
    pub(crate) async fn ask_engine<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Engine) -> Result<T, Declined> + Send + 'static,
    ) -> Option<T> {
        let engine = match (self.settings.engine, &self.engine) {
            (EngineMode::Auto | EngineMode::Both, Some(engine)) => Arc::clone(engine),
            (EngineMode::Git, _) | (_, None) => return None,
        };
        let permits = self.settings.engine_state.permits(self.settings.concurrency);
        let permit = permits.acquire_owned().await.ok()?;
        let answering = tokio::task::spawn_blocking(move || {
            let answer = question(&engine);
            drop(permit);
            answer
        });
        answering.await.ok()?.ok()
    }

    pub(crate) fn count_remembered(&self) {
        self.settings.engine_state.0.remembered.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_engine(&self) {
        self.settings.engine_state.0.by_engine.fetch_add(1, Relaxed);
    }

    /// Counts an answer of git, and a difference from the engine's.
    pub(crate) fn count_git<T: PartialEq + Debug>(
        &self,
        question: &'static str,
        own: Option<&T>,
        git: Result<&T, &GitError>,
    ) {
        let state = &self.settings.engine_state.0;
        state.by_git.fetch_add(1, Relaxed);
        let Some(own) = own else { return };
        let is_same = match git {
            Ok(answer) => answer == own,
            // Only these mean no. The others are trouble of git or of the machine.
            Err(error) => !matches!(
                error,
                GitError::UnknownBase { .. } | GitError::BadTarget { .. } | GitError::DoesNotApply { .. }
            ),
        };
        if !is_same {
            state.differences.fetch_add(1, Relaxed);
            let root = self.layout.root.display();
            tracing::error!(%root, question, engine = ?own, ?git, "the engine and git disagree; the answer of git is used");
        }
    }
}
