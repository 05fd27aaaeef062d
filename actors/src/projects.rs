//! The repositories diffs are checked against: registered by name, never chosen by a caller.

use crate::error::BrokerError;
use git::{ClientRepo, GitError, GitSettings, Repository};
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

/// Why the registered repositories cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectsError {
    #[error("project {name}: {error}")]
    Unusable { name: String, error: GitError },
    #[error("two projects are called {name:?}: {} and {}", first.display(), second.display())]
    SameName { name: String, first: PathBuf, second: PathBuf },
}

impl Projects {
    /// Opens all. `own` is the folder the broker was started for: its repository is the project of
    /// proposals that name none, under its configured name or else its folder's. A folder outside of
    /// any repository is no error, there is just no own project then.
    pub async fn open(
        own: Option<&Path>,
        configured: Vec<ProjectSource>,
        scratch: &Path,
        settings: Arc<GitSettings>,
    ) -> Result<Self, ProjectsError> {
        let mut known = BTreeMap::new();
        for ProjectSource { name, path, trusted } in configured {
            match Repository::open(&path, scratch, trusted, Arc::clone(&settings)).await {
                Ok(repository) => known.insert(name, repository),
                Err(error) => return Err(ProjectsError::Unusable { name, error }),
            };
        }
        let Some(dir) = own else { return Ok(Self { known: Arc::new(known), own: None }) };
        let repository = match Repository::open(dir, scratch, false, settings).await {
            Ok(repository) => repository,
            Err(GitError::NotARepository { .. }) => return Ok(Self { known: Arc::new(known), own: None }),
            Err(error) => return Err(ProjectsError::Unusable { name: dir.display().to_string(), error }),
        };
        let configured =
            known.iter().find(|(_, known)| known.root() == repository.root()).map(|(name, _)| name.clone());
        let name = configured.unwrap_or_else(|| folder_name(repository.root()));
        if let Some(other) = known.get(&name).filter(|other| other.root() != repository.root()) {
            let (first, second) = (other.root().into(), repository.root().into());
            return Err(ProjectsError::SameName { name, first, second });
        }
        known.entry(name.clone()).or_insert(repository);
        Ok(Self { known: Arc::new(known), own: Some(name.into()) })
    }

    /// The name and folder of the broker's own project.
    pub fn own(&self) -> Option<(&str, &Path)> {
        let name = self.own.as_deref()?;
        Some((name, self.known.get(name)?.root()))
    }

    pub fn names(&self) -> Vec<String> {
        self.known.keys().cloned().collect()
    }

    /// The registered name a proposal belongs to: the one it gives, the one of the repository its
    /// proposer works in, or, where that is not known, the broker's own.
    pub(crate) fn name_for(
        &self,
        given: Option<&str>,
        workplace: Option<&ClientRepo>,
    ) -> Result<Option<String>, BrokerError> {
        match (given, workplace) {
            (Some(name), _) if self.known.contains_key(name) => Ok(Some(name.into())),
            (Some(name), _) => Err(BrokerError::UnknownProject { given: name.into(), known: self.names() }),
            (None, Some(workplace)) => self.name_of(workplace),
            (None, None) => Ok(self.own.as_deref().map(Into::into)),
        }
    }

    /// Only paths are compared: what a caller names is never opened. Another repository's proposal is
    /// refused rather than taken for the broker's own.
    fn name_of(&self, workplace: &ClientRepo) -> Result<Option<String>, BrokerError> {
        let same_tree = |name: &str| self.known.get(name).is_some_and(|known| known.root() == workplace.root);
        let same_repository =
            |name: &str| self.known.get(name).is_some_and(|known| known.is_same_repository(workplace));
        // The own one first, where several are working trees of one repository.
        let names = || self.own.as_deref().into_iter().chain(self.known.keys().map(String::as_str));
        let found = names().find(|name| same_tree(name)).or_else(|| names().find(|name| same_repository(name)));
        match (found, &self.own) {
            (Some(name), _) => Ok(Some(name.into())),
            (None, None) => Ok(None),
            (None, Some(own)) => Err(BrokerError::OtherRepository {
                root: workplace.root.display().to_string(),
                own: own.as_ref().into(),
                known: self.names(),
            }),
        }
    }

    /// The repository of a review. Its project may be registered no longer.
    pub(crate) fn repository(&self, project: Option<&str>) -> Result<&Repository, BrokerError> {
        let name = project.ok_or(BrokerError::NoRepository)?;
        let unknown = || BrokerError::UnknownProject { given: name.into(), known: self.names() };
        self.known.get(name).ok_or_else(unknown)
    }
}

/// The folder's name as a project name: the same letters, dots and dashes, anything else a dash.
fn folder_name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "project".into() } else { name }
}
