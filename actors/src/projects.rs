//! The repositories diffs are checked against: registered by name, never chosen by a caller.

use crate::{
    error::BrokerError,
    git::{GitError, GitSettings, Repository},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A repository to register.
#[derive(Debug, Clone)]
pub struct ProjectSource {
    pub name: String,
    pub path: PathBuf,
    /// A diff that does not fit its base may be checked against the working tree, whose filters git
    /// then runs.
    pub trusted: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Projects {
    known: Arc<BTreeMap<String, Repository>>,
    own: Option<Arc<str>>,
}

impl Projects {
    /// Opens all; `own` is the one a proposal belongs to that names none.
    pub async fn open(
        own: Option<ProjectSource>,
        others: Vec<ProjectSource>,
        scratch: &Path,
        settings: Arc<GitSettings>,
    ) -> Result<Self, GitError> {
        let own_name = own.as_ref().map(|source| Arc::from(source.name.as_str()));
        let mut known = BTreeMap::new();
        for source in own.into_iter().chain(others) {
            let repository =
                Repository::open(&source.path, scratch, source.trusted, Arc::clone(&settings)).await?;
            known.insert(source.name, repository);
        }
        Ok(Self { known: Arc::new(known), own: own_name })
    }

    pub fn names(&self) -> Vec<String> {
        self.known.keys().cloned().collect()
    }

    /// The registered name a proposal belongs to: the one it gives, or the broker's own.
    pub(crate) fn name_for(&self, given: Option<&str>) -> Result<Option<String>, BrokerError> {
        match given {
            None => Ok(self.own.as_deref().map(Into::into)),
            Some(name) if self.known.contains_key(name) => Ok(Some(name.into())),
            Some(name) => Err(BrokerError::UnknownProject { given: name.into(), known: self.names() }),
        }
    }

    /// The repository of a review. One whose project is registered no longer has none.
    pub(crate) fn repository(&self, project: Option<&str>) -> Result<&Repository, BrokerError> {
        project.and_then(|name| self.known.get(name)).ok_or(BrokerError::NoRepository)
    }
}
