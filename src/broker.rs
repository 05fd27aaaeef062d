//! The wiring: the one module that knows every part.

use crate::config::Config;
use actors::{Limits, ProjectSource, Projects, Running, Settings, git::GitSettings};
use anyhow::Context as _;
use domain::review::Rules;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A started broker and what its banner tells of it.
pub struct Started {
    pub running: Running,
    pub database: PathBuf,
    /// Name and folder of the project that proposals belong to by default.
    pub project: Option<(String, PathBuf)>,
}

/// Opens the database in the data dir, which the caller has locked, and starts the tree on it.
pub async fn start(config: &Config, repo: Option<&Path>) -> anyhow::Result<Started> {
    let data_dir = &config.server.data_dir;
    let database = data_dir.join("countersign.db");
    create_private(&database).with_context(|| format!("cannot create {}", database.display()))?;
    let git = Arc::new(GitSettings {
        program: config.git.program.clone(),
        time_limit: config.git.time_limit,
        max_diff_bytes: config.limits.diff_bytes,
        concurrency: config.git.concurrency,
        ..GitSettings::default()
    });
    let configured = config
        .projects
        .iter()
        .map(|(name, project)| ProjectSource {
            name: name.clone(),
            path: project.path.clone(),
            trusted: project.trusted,
        })
        .collect();
    let projects = Projects::open(repo, configured, &data_dir.join("scratch"), git).await?;
    let project = projects.own().map(|(name, root)| (name.to_owned(), root.to_owned()));
    let store = store::open(&database, store_settings(config))
        .await
        .with_context(|| format!("cannot open {}", database.display()))?;
    let running = actors::start(store, projects, settings(config)).await?;
    Ok(Started { running, database, project })
}

fn store_settings(config: &Config) -> store::Settings {
    store::Settings {
        readers: config.store.readers,
        max_batch: config.store.max_batch,
        // Every call in flight writes at most once; the rest is for timers that all fire together.
        max_queue: config.limits.calls_in_flight + config.reviews.max_live,
        ..store::Settings::default()
    }
}

fn settings(config: &Config) -> Settings {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Settings {
        rules: Rules { lease: config.claims.lease },
        max_rounds: config.reviews.max_rounds,
        idle_after: config.reviews.idle_after,
        max_live: config.reviews.max_live,
        default_wait: config.wait.default,
        max_wait: config.wait.max,
        limits: Limits {
            diff_bytes: config.limits.diff_bytes,
            intent_chars: config.limits.intent_chars,
            text_chars: config.limits.text_chars,
            id_chars: config.limits.id_chars,
            metadata_bytes: config.limits.metadata_bytes,
            page_items: small(config.limits.page_items),
            max_page_items: small(config.limits.max_page_items),
            calls_in_flight: config.limits.calls_in_flight,
            calls_per_review: config.limits.calls_per_review as u64,
            waiters: config.limits.waiters,
        },
        refuse: config.git.refuse.clone(),
    }
}

/// Makes the file readable by its owner only before anything is in it; SQLite gives its side files
/// the same mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        options.mode(0o600);
        let file = options.open(path)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    options.open(path).map(drop)
}
