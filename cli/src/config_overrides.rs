//! Command-line options that override settings (`--config`, `--data-dir`, `--repo`), shared by all commands.

use crate::{CliError, USAGE};
use anyhow::{Context as _, anyhow};
use config::{Config, Flag, Loaded, Sources};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConfigArgs {
    /// Folder of the database, the lock and the logs [default: countersign in the user's data folder]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Repository that diffs are checked against [default: the git root of the current folder]
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Read this settings file after the user's and the project's
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The resolved settings and the repository.
pub struct ResolvedConfig {
    pub config: Config,
    pub repo: Option<PathBuf>,
}

impl ConfigArgs {
    pub fn resolve(&self, listen: Option<&str>) -> Result<ResolvedConfig, CliError> {
        let (Loaded { config, .. }, repo) = self.load(listen)?;
        Ok(ResolvedConfig { config, repo })
    }

    /// The settings with their origins, and the repository.
    pub fn load(&self, listen: Option<&str>) -> Result<(Loaded, Option<PathBuf>), CliError> {
        let listen = listen.map(|listen| Flag { name: "--listen", key: "server.listen", value: listen.into() });
        let mut sources = self.settings_sources()?;
        sources.flags.extend(listen);
        let loaded = Config::load(&sources).map_err(|error| CliError::new(USAGE, error))?;
        Ok((loaded, sources.repo))
    }

    /// The sources of the settings here, with the project's file of the repository.
    pub(crate) fn settings_sources(&self) -> Result<Sources, CliError> {
        let repo = match &self.repo {
            Some(dir) => Some(existing(dir).map_err(|error| CliError::new(USAGE, error))?),
            None => std::env::current_dir().ok().and_then(|dir| git_root(&dir)),
        };
        Ok(Sources { repo, ..self.sources() })
    }

    /// The settings with these variables only, and with the project's file of the repository at `root`.
    pub(crate) fn load_for(&self, root: Option<&Path>, variables: Vec<(OsString, OsString)>) -> anyhow::Result<Loaded> {
        let sources = Sources { repo: root.map(Path::to_owned), variables, ..self.sources() };
        Ok(Config::load(&sources)?)
    }

    /// Without a repository.
    fn sources(&self) -> Sources {
        let data_dir = self.data_dir.as_ref();
        let data_dir = data_dir.map(|dir| Flag { name: "--data-dir", key: "server.data_dir", value: dir.into() });
        let flags = data_dir.into_iter().collect();
        Sources { config_file: self.config.clone(), flags, ..Sources::from_process() }
    }
}

fn existing(dir: &Path) -> anyhow::Result<PathBuf> {
    let dir = dir.canonicalize().with_context(|| format!("--repo {}", dir.display()))?;
    if dir.is_dir() { Ok(dir) } else { Err(anyhow!("--repo {}: not a folder", dir.display())) }
}

/// The nearest parent folder that is a repository or a worktree.
fn git_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned)
}
