//! The registry of projects: names of the git repositories that the broker may use. A proposal gives the name of a
//! project, never a path.

use crate::error::BrokerError;
use git::{AnswerCounts, ClientRepo, GitError, GitSettings, Repository};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// All registered repositories. Clones share them, and repositories can be added while the broker runs.
#[derive(Debug, Clone, Default)]
pub struct Projects {
    known: Arc<RwLock<BTreeMap<String, Repository>>>,
    own: Option<Arc<str>>,
    scratch: PathBuf,
    settings: Arc<GitSettings>,
}

impl Projects {
    /// A registry without repositories, which will keep its scratch repositories in `scratch`.
    pub fn new(scratch: PathBuf, settings: Arc<GitSettings>) -> Self {
        Self { scratch, settings, ..Self::default() }
    }

    /// Opens the repository that contains `path`, without registering it. If it is trusted, a diff that does not apply to
    /// its base may be checked against the working tree, where git runs the repository's filters.
    pub async fn open(&self, path: &Path, trusted: bool) -> Result<Repository, GitError> {
        Repository::open(path, &self.scratch, trusted, Arc::clone(&self.settings)).await
    }

    /// Registers a repository. One that had this name is replaced.
    pub fn insert(&self, name: String, repository: Repository) {
        self.write().insert(name, repository);
    }

    /// The name is unknown from now on.
    pub fn remove(&self, name: &str) {
        self.write().remove(name);
    }

    /// Makes `name` the project of proposals that do not say which project they belong to.
    pub fn set_own(&mut self, name: String) {
        self.own = Some(name.into());
    }

    /// How questions to all repositories were answered.
    pub(crate) fn answer_counts(&self) -> AnswerCounts {
        self.settings.engine_state.counts()
    }

    /// The name and folder of the default project.
    pub fn own(&self) -> Option<(String, PathBuf)> {
        let name = self.own.as_deref()?;
        Some((name.to_owned(), self.read().get(name)?.root().to_owned()))
    }

    /// The names and folders of all projects.
    pub fn all(&self) -> Vec<(String, PathBuf)> {
        self.read().iter().map(|(name, repository)| (name.clone(), repository.root().to_owned())).collect()
    }

    pub fn names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// The name of the project with this working tree, or else of the one that shares its objects. The default project
    /// comes first.
    pub fn find(&self, client_repo: &ClientRepo) -> Option<String> {
        let known = self.read();
        let same_tree = |name: &str| known.get(name).is_some_and(|known| known.root() == client_repo.root);
        let same_repository = |name: &str| known.get(name).is_some_and(|known| known.is_same_repository(client_repo));
        let names = || self.own.as_deref().into_iter().chain(known.keys().map(String::as_str));
        let found = names().find(|name| same_tree(name)).or_else(|| names().find(|name| same_repository(name)));
        found.map(Into::into)
    }

    /// The project of a proposal: the given one, or that of the repository the proposer works in, or else the default.
    pub(crate) fn name_for(
        &self,
        given: Option<&str>,
        client_repo: Option<&ClientRepo>,
    ) -> Result<Option<String>, BrokerError> {
        match (given, client_repo) {
            (Some(name), _) if self.read().contains_key(name) => Ok(Some(name.into())),
            (Some(name), _) => Err(BrokerError::UnknownProject { given: name.into(), known: self.names() }),
            (None, Some(client_repo)) => self.name_of(client_repo),
            (None, None) => Ok(self.own.as_deref().map(Into::into)),
        }
    }

    /// Compares paths only; a path from a caller is never opened. A proposal from an unregistered repository is refused
    /// instead of being assigned to the default project.
    fn name_of(&self, client_repo: &ClientRepo) -> Result<Option<String>, BrokerError> {
        match (self.find(client_repo), &self.own) {
            (Some(name), _) => Ok(Some(name)),
            (None, None) => Ok(None),
            (None, Some(_)) => {
                Err(BrokerError::OtherRepository { root: client_repo.root.display().to_string(), known: self.names() })
            }
        }
    }

    /// The repository of a review. Its project may no longer be registered.
    pub(crate) fn repository(&self, project: Option<&str>) -> Result<Repository, BrokerError> {
        let name = project.ok_or(BrokerError::NoRepository)?;
        let found = self.read().get(name).cloned();
        found.ok_or_else(|| BrokerError::UnknownProject { given: name.into(), known: self.names() })
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Repository>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Repository>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
