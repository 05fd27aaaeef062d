//! Registers repositories with the running broker under unique names, and records them in the data folder, so that a
//! restarted broker knows them.

use actors::Projects;
use anyhow::Context as _;
use config::{Config, DataDir, RegisteredProject};
use git::{ClientRepo, GitError, GitSettings, Repository};
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use tracing::{info, warn};

const MAX_NAME_CHARS: usize = 64;

/// The projects of the broker, and where they are recorded.
pub struct ProjectRegistry {
    projects: Projects,
    data_dir: DataDir,
    /// Names that the settings define. They cannot be changed here.
    configured: BTreeSet<String>,
    changing: Mutex<()>,
}

/// Why a repository cannot be registered or removed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("{} is not in a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("{} belongs to another user than the broker; its owner can register it with a broker of their own", .0.display())]
    OtherUser(PathBuf),
    #[error("{0:?} is not a project name; allowed: 1 to 64 letters, digits and the characters . _ -")]
    BadName(String),
    #[error("{0:?} is the name of another repository; give another --name")]
    NameTaken(String),
    #[error("the repository is registered as {0:?} already, and its reviews belong to that name")]
    KeepsName(String),
    #[error("no project {given:?}; registered: {}", .known.join(", "))]
    Unknown { given: String, known: Vec<String> },
    #[error("{0:?} is defined in the broker's settings; remove [projects.{0}] there")]
    Configured(String),
    #[error("{0:?} is the repository that the broker was started in")]
    Own(String),
    #[error(transparent)]
    Unusable(#[from] GitError),
    #[error(transparent)]
    NotRecorded(#[from] io::Error),
}

impl ProjectRegistry {
    /// Opens the repositories of the settings, those registered earlier, and the one that contains `own`, the folder the
    /// broker was started in. That one becomes the default project.
    pub async fn open(config: &Config, own: Option<&Path>, git: Arc<GitSettings>) -> anyhow::Result<Self> {
        let data_dir = config.server.data_dir.clone();
        let mut registry = Self {
            projects: Projects::new(data_dir.scratch(), git),
            data_dir,
            configured: config.projects.keys().cloned().collect(),
            changing: Mutex::default(),
        };
        let mut records = Vec::new();
        for (name, project) in &config.projects {
            let opened = registry.projects.open(&project.path, project.trusted).await;
            let repository = opened.with_context(|| format!("project {name}"))?;
            records.push(RegisteredProject { name: name.clone(), objects: repository.objects().into(), root: None });
            registry.projects.insert(name.clone(), repository);
        }
        registry.open_registered(&records).await?;
        registry.data_dir.register_projects(records).context("cannot record the registered repositories")?;
        if let Some((dir, repo)) = own.and_then(|dir| Some((dir, ClientRepo::find(dir)?))) {
            let name = match registry.projects.find(&repo) {
                Some(known) => known,
                None => {
                    let opened = registry.projects.open(dir, false).await;
                    let repository = opened.with_context(|| format!("project {}", dir.display()))?;
                    registry.record(repository, None)?
                }
            };
            registry.projects.set_own(name);
        }
        Ok(registry)
    }

    /// Opens the repositories that were registered earlier. Names of the settings win, also for the same repository under
    /// another name. A repository that is gone does not prevent the start.
    async fn open_registered(&self, configured: &[RegisteredProject]) -> anyhow::Result<()> {
        for RegisteredProject { name, objects, root } in self.data_dir.registered_projects()? {
            let wins = |other: &RegisteredProject| other.name == name || other.objects == objects;
            let Some(root) = root.filter(|_| !configured.iter().any(wins)) else { continue };
            match self.projects.open(&root, false).await {
                Ok(repository) if repository.objects() == objects => self.projects.insert(name, repository),
                Ok(_) => warn!(project = name, root = %root.display(), "another repository is in the folder now"),
                Err(error) => warn!(project = name, root = %root.display(), %error, "the repository is gone"),
            }
        }
        Ok(())
    }

    pub(crate) const fn projects(&self) -> &Projects {
        &self.projects
    }

    /// Registers the repository that contains `path` and returns its name. A repository that is known keeps its name.
    pub(crate) async fn register(self: &Arc<Self>, path: &Path, name: Option<String>) -> Result<String, RegistryError> {
        let repo = ClientRepo::find(path).ok_or_else(|| RegistryError::NotARepository(path.to_owned()))?;
        if let Some(known) = self.projects.find(&repo) {
            return kept(known, name.as_deref());
        }
        if !repo.belongs_to_user() {
            return Err(RegistryError::OtherUser(repo.root));
        }
        let repository = self.projects.open(&repo.main_tree(), false).await?;
        let registry = Arc::clone(self);
        // Writes a file.
        tokio::task::spawn_blocking(move || registry.record(repository, name)).await.map_err(io::Error::other)?
    }

    /// Chooses the name and records it. Without a wanted name it is the repository's earlier one, or that of its folder,
    /// with a number if the name belongs to another repository: `api`, `api-2`.
    fn record(&self, repository: Repository, wanted: Option<String>) -> Result<String, RegistryError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let (root, objects) = (repository.root().to_owned(), repository.objects().to_owned());
        // Another call may have been faster.
        if let Some(known) = self.projects.find(&ClientRepo { root: root.clone(), objects: objects.clone() }) {
            return kept(known, wanted.as_deref());
        }
        let (known, recorded) = (self.projects.names(), self.data_dir.registered_projects()?);
        // The reviews of a repository belong to its name, so no other repository gets the name while that one exists.
        let is_free = |name: &str| {
            let same_name = recorded.iter().filter(|other| other.name == name);
            !known.iter().any(|known| known == name)
                && same_name.into_iter().all(|other| other.objects == objects || !other.objects.exists())
        };
        let name = match wanted {
            Some(name) if name != project_name(&name) => return Err(RegistryError::BadName(name)),
            Some(name) if !is_free(&name) => return Err(RegistryError::NameTaken(name)),
            Some(name) => name,
            None => {
                let earlier = recorded.iter().find(|other| other.objects == objects && is_free(&other.name));
                earlier.map_or_else(|| free_name(&root, is_free), |other| other.name.clone())
            }
        };
        let record = RegisteredProject { name: name.clone(), objects, root: Some(root.clone()) };
        self.data_dir.register_projects(vec![record])?;
        self.projects.insert(name.clone(), repository);
        info!(project = name, root = %root.display(), "registered a repository");
        Ok(name)
    }

    /// Forgets where the repository of a project is. The reviews stay, and so does the name.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RegistryError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.projects.names();
        if !known.iter().any(|known| known == name) {
            return Err(RegistryError::Unknown { given: name.into(), known });
        }
        if self.configured.contains(name) {
            return Err(RegistryError::Configured(name.into()));
        }
        if self.projects.own().is_some_and(|(own, _)| own == name) {
            return Err(RegistryError::Own(name.into()));
        }
        let recorded = self.data_dir.registered_projects()?.into_iter().filter(|project| project.name == name);
        self.data_dir
            .register_projects(recorded.map(|project| RegisteredProject { root: None, ..project }).collect())?;
        self.projects.remove(name);
        info!(project = name, "removed a project");
        Ok(())
    }
}

/// The answer for a repository that has a name.
fn kept(known: String, wanted: Option<&str>) -> Result<String, RegistryError> {
    if wanted.is_none_or(|wanted| wanted == known) { Ok(known) } else { Err(RegistryError::KeepsName(known)) }
}

/// The name of the folder, or the first of `name-2`, `name-3`, … that is free.
fn free_name(root: &Path, is_free: impl Fn(&str) -> bool) -> String {
    let folder = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = project_name(&folder);
    let short: String = name.chars().take(MAX_NAME_CHARS - 8).collect();
    let numbered = (2_u64..).map(|number| format!("{short}-{number}"));
    std::iter::once(name).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
}

/// Letters, digits, dots, dashes and underscores stay, other characters become dashes.
fn project_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = text.chars().map(plain).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { "project".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::{free_name, project_name};
    use std::path::Path;

    #[test]
    fn a_second_folder_of_the_same_name_gets_a_number() {
        let taken = |taken: &'static [&str]| move |name: &str| !taken.contains(&name);
        let name = |path, taken| free_name(Path::new(path), taken);
        assert_eq!(name("/a/api", taken(&[])), "api");
        assert_eq!(name("/b/api", taken(&["api"])), "api-2");
        assert_eq!(name("/c/api", taken(&["api", "api-2"])), "api-3");
        assert_eq!(project_name("mein Büro"), "mein-B-ro");
        let long = "x".repeat(100);
        assert!(free_name(Path::new(&format!("/{long}")), |name| name.ends_with("-2")).len() <= 64);
    }
}
