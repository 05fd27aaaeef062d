//! Starts the store, the projects and the actors with their settings from the configuration.

use super::client_address;
use crate::mcp::Endpoint;
use actors::{
    ProjectSource, Projects, Running, Settings, reviewer_pool::PoolSettings, reviewer_process::own_executable,
};
use anyhow::Context as _;
use config::Config;
use config::data_dir::open_private;
use domain::{review::Rules, reviewer_pool::scaling};
use git::GitSettings;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A started broker, with what the banner shows.
pub(crate) struct StartedBroker {
    pub(crate) running: Running,
    pub(crate) database: PathBuf,
    /// Name and folder of the default project.
    pub(crate) project: Option<(String, PathBuf)>,
}

/// Opens the database and starts the actors. The caller holds the lock of the data folder. Reviewers of the pool connect
/// to `address`.
pub(crate) async fn start(config: &Config, repo: Option<&Path>, address: SocketAddr) -> anyhow::Result<StartedBroker> {
    let data_dir = &config.server.data_dir;
    let database = data_dir.database();
    open_private(&database).with_context(|| format!("cannot create {}", database.display()))?;
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
    let projects = Projects::open(repo, configured, &data_dir.scratch(), git).await?;
    let project = projects.own().map(|(name, root)| (name.to_owned(), root.to_owned()));
    let store = store::open(&database, store_settings(config))
        .await
        .with_context(|| format!("cannot open {}", database.display()))?;
    let running = actors::start(store, projects, settings(config, pool_settings(config, address)?)).await?;
    Ok(StartedBroker { running, database, project })
}

fn store_settings(config: &Config) -> store::Settings {
    store::Settings {
        readers: config.store.readers,
        max_batch: config.store.max_batch,
        // Every call in flight writes at most once; the rest is for timers that expire at the same time.
        max_queue: config.limits.calls_in_flight + config.reviews.max_live,
        ..store::Settings::default()
    }
}

fn pool_settings(config: &Config, address: SocketAddr) -> anyhow::Result<PoolSettings> {
    let pool = &config.pool;
    let prompt = match &pool.prompt {
        Some(file) => std::fs::read_to_string(file).with_context(|| format!("pool.prompt: {}", file.display()))?,
        None => domain::reviewer_prompt::DEFAULT_TEMPLATE.to_owned(),
    };
    Ok(PoolSettings {
        enabled: pool.enabled,
        runtime: pool.runtime_settings(),
        prompt,
        workspace: pool.workspace.clone(),
        limits: scaling::Limits {
            ratio: pool.ratio,
            max_size: pool.max_size,
            cooldown: pool.cooldown,
            idle_after: pool.idle_after,
            ttl: pool.ttl,
        },
        max_failures: pool.max_failures,
        check_every: pool.check_every,
        stop_grace: pool.stop_grace,
        folder: config.server.data_dir.reviewers(),
        mcp_url: format!("http://{}{}", client_address(address), Endpoint::Reviewer.path()),
        shim: own_executable(),
    })
}

fn settings(config: &Config, pool: PoolSettings) -> Settings {
    Settings {
        rules: Rules { lease: config.claims.lease },
        max_rounds: config.reviews.max_rounds,
        idle_after: config.reviews.idle_after,
        max_live: config.reviews.max_live,
        default_wait: config.wait.default,
        max_wait: config.wait.max,
        limits: config.limits.clone(),
        refuse: config.git.refuse.clone(),
        pool,
        personas: config.personas.clone(),
        panel: config.panel.clone(),
    }
}
