//! The registry of projects: names of the git repositories that the broker may use. A caller gives the name of a
//! project, never a path.

use crate::error::BrokerError;
use git::{AnswerCounts, ClientRepo, EngineState, GitError, GitSettings, Repository};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Debug, Clone)]
pub struct ProjectSource {
    pub name: String,
    pub path: PathBuf,
    /// A diff that does not apply to its base may be checked against the working tree, where git runs the repository's
    /// filters.
    pub trusted: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Projects {
    known: Arc<BTreeMap<String, Repository>>,
    own: Option<Arc<str>>,
    engine_state: EngineState,
}

/// Why a registered repository cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectsError {
    #[error("project {name}: {error}")]
    Unusable { name: String, error: GitError },
    #[error("two projects have the name {name:?}: {} and {}", first.display(), second.display())]
    SameName { name: String, first: PathBuf, second: PathBuf },
}

impl Projects {
    /// Opens all repositories. `own` is the folder the broker was started in. Its repository is the default project, under
    /// its configured name or else the name of its folder. If the folder is not in a repository, there is no default
    /// project.
    pub async fn open(
        own: Option<&Path>,
        configured: Vec<ProjectSource>,
        scratch: &Path,
        settings: Arc<GitSettings>,
    ) -> Result<Self, ProjectsError> {
        let mut known = BTreeMap::new();
        let engine_state = settings.engine_state.clone();
        for ProjectSource { name, path, trusted } in configured {
            match Repository::open(&path, scratch, trusted, Arc::clone(&settings)).await {
                Ok(repository) => known.insert(name, repository),
                Err(error) => return Err(ProjectsError::Unusable { name, error }),
            };
        }
        let Some(dir) = own else { return Ok(Self { known: Arc::new(known), own: None, engine_state }) };
        let repository = match Repository::open(dir, scratch, false, settings).await {
            Ok(repository) => repository,
            Err(GitError::NotARepository { .. }) => {
                return Ok(Self { known: Arc::new(known), own: None, engine_state });
            }
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
        Ok(Self { known: Arc::new(known), own: Some(name.into()), engine_state })
    }

    /// How questions to all repositories were answered.
    pub(crate) fn answer_counts(&self) -> AnswerCounts {
        self.engine_state.counts()
    }

    /// The name and folder of the default project.
    pub fn own(&self) -> Option<(&str, &Path)> {
        let name = self.own.as_deref()?;
        Some((name, self.known.get(name)?.root()))
    }

    /// The names and folders of all projects.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.known.iter().map(|(name, repository)| (name.as_str(), repository.root()))
    }

    /// The names and object folders of all repositories.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.known.iter().map(|(name, repository)| (name.as_str(), repository.objects()))
    }

    pub fn names(&self) -> Vec<String> {
        self.known.keys().cloned().collect()
    }

    /// The project of a proposal: the given one, or that of the repository the proposer works in, or else the default.
    pub(crate) fn name_for(
        &self,
        given: Option<&str>,
        client_repo: Option<&ClientRepo>,
    ) -> Result<Option<String>, BrokerError> {
        match (given, client_repo) {
            (Some(name), _) if self.known.contains_key(name) => Ok(Some(name.into())),
            (Some(name), _) => Err(BrokerError::UnknownProject { given: name.into(), known: self.names() }),
            (None, Some(client_repo)) => self.name_of(client_repo),
            (None, None) => Ok(self.own.as_deref().map(Into::into)),
        }
    }

    /// Compares paths only; a path from a caller is never opened. A proposal from an unregistered repository is refused
    /// instead of being assigned to the default project.
    fn name_of(&self, client_repo: &ClientRepo) -> Result<Option<String>, BrokerError> {
        let same_tree = |name: &str| self.known.get(name).is_some_and(|known| known.root() == client_repo.root);
        let same_repository =
            |name: &str| self.known.get(name).is_some_and(|known| known.is_same_repository(client_repo));
        // The default project first, if several projects are working trees of one repository.
        let names = || self.own.as_deref().into_iter().chain(self.known.keys().map(String::as_str));
        let found = names().find(|name| same_tree(name)).or_else(|| names().find(|name| same_repository(name)));
        match (found, &self.own) {
            (Some(name), _) => Ok(Some(name.into())),
            (None, None) => Ok(None),
            (None, Some(own)) => Err(BrokerError::OtherRepository {
                root: client_repo.root.display().to_string(),
                own: own.as_ref().into(),
                known: self.names(),
            }),
        }
    }

    /// The repository of a review. Its project may no longer be registered.
    pub(crate) fn repository(&self, project: Option<&str>) -> Result<&Repository, BrokerError> {
        let name = project.ok_or(BrokerError::NoRepository)?;
        let unknown = || BrokerError::UnknownProject { given: name.into(), known: self.names() };
        self.known.get(name).ok_or_else(unknown)
    }
}

/// A project name from the name of a folder: letters, digits, dots, dashes and underscores stay, other characters become
/// dashes.
fn folder_name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "project".into() } else { name }
}
