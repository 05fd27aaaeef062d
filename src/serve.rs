//! `countersign serve`: starts the store, the projects, the actors and the server, and runs them until SIGINT or
//! SIGTERM.

use crate::{
    broker_info::BrokerIdentity,
    http::{self, Limits, RequestGuard, SignIn, TokenlessCallers},
    idle_exit,
    live_events::Events,
    logging,
    mcp::Endpoint,
    project_registry::ProjectRegistry,
    service::{self, ConfigView, Service},
    webhooks::Webhooks,
};
use actors::{
    Running, Settings,
    reviewer_pool::PoolSettings,
    reviewer_process::{confinement::Confinement, own_executable},
};
use anyhow::{Context as _, anyhow};
use cli::{ADDRESS_IN_USE, CliError, ConfigArgs, Signals, TAKEN};
use config::{
    Auth, Config, LocalUsers, LockError, LogFormat, ProofKey, ReviewerCopy, SandboxMode, data_dir::open_private,
};
use domain::{review::Rules, reviewer_pool::scaling};
use git::GitSettings;
use sandbox::Support;
use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::new_secret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Time for pending requests at shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Size of a request apart from its diff.
const MAX_BYTES_BESIDE_DIFF: usize = 2 << 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and port; port 0 picks a free one [default: 127.0.0.1:8321]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Report a failure to start as JSON
    #[arg(long)]
    json: bool,
    /// Let the page show that this broker plays the demo
    #[arg(long, hide = true)]
    demo: bool,
    /// End when there is nothing to do (server.idle_exit); for a broker that a command starts
    #[arg(long, hide = true)]
    on_demand: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub async fn run(args: Args) -> Result<(), CliError> {
    let (loaded, repo) = args.config.load(args.listen.as_deref())?;
    let view = ConfigView::new(&loaded);
    let config = loaded.config;
    let _log = logging::init(&config.log)?;
    // Other processes of this user, such as reviewers, must not read the broker's memory, environment and open files.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false).context("cannot protect the process of the broker")?;
    let mut signals = Signals::catch()?;
    // The lock comes before the database: two brokers on one database would end each other's claims.
    let lock = config.server.data_dir.lock().map_err(|error| match error {
        LockError::Taken { .. } => CliError::new(TAKEN, error),
        LockError::Io { .. } => CliError::from(explain_full_disk(error.into(), &config.server.data_dir)),
    })?;
    let listener = bind(&config).await?;
    let address = listener.local_addr()?;
    let data_dir = &config.server.data_dir;
    let mut started =
        start(&config, repo.as_deref(), address).await.map_err(|error| explain_full_disk(error, data_dir))?;

    let stop = CancellationToken::new();
    let body_bytes = config.limits.diff_bytes * 2 + MAX_BYTES_BESIDE_DIFF;
    let settings = service::Settings {
        page_chars: config.limits.page_chars,
        wait_default: config.wait.default,
        wait_max: config.wait.max,
        claim_lease: config.claims.lease,
    };
    let broker = started.running.broker.clone();
    let (database_id, proof_key) = (broker.reader().find_database_id().await?, ProofKey::new(new_secret()));
    let identity = BrokerIdentity::new(database_id, proof_key.clone(), args.demo, started.folder());
    let identity = Arc::new(identity);
    let events = Events::start(&broker, &config.events, Arc::clone(&identity));
    let webhooks = Webhooks::start(&broker, &config)?;
    let service = Service::new(broker, settings, view, webhooks.clone(), identity, Arc::clone(&started.projects));
    let sign_in = SignIn::new(service.clone(), address.port(), config.auth.session_lifetime);
    let app = http::router(&service, &events, sign_in, body_bytes);
    let guard = RequestGuard::new(address.port(), body_bytes, config.server.body_timeout)
        .with_hosts(address.ip(), &config.server.hosts)
        .with_tokens(started.running.broker.clone(), tokenless_callers(&config.auth))
        .with_tickets(events.tickets())
        .with_quota(config.limits.caller_bytes);
    let app = http::guarded(app, guard);
    let limits = Limits {
        max_connections: config.server.max_connections,
        header_timeout: config.server.header_timeout,
        write_timeout: config.server.write_timeout,
        grace: SHUTDOWN_GRACE,
    };
    if config.pool.enabled
        && config.pool.sandbox == SandboxMode::Auto
        && let Some(why) = Support::of_this_system().missing()
    {
        warn!(why, "reviewers run without a sandbox");
    }
    let activity = Arc::new(http::Activity::default());
    let mut server = tokio::spawn(http::serve(listener, app, limits, Arc::clone(&activity), stop.clone()));
    let url = format!("http://{}", client_address(address));
    let operator = started.running.broker.credentials().issue_local_operator();
    let announced = lock.announce(&url, &operator, &proof_key).context("cannot write the address of the broker");
    announced.map_err(|error| explain_full_disk(error, data_dir))?;
    match config.log.format {
        LogFormat::Text => banner(&url, &started, &config),
        // The banner is not JSON.
        LogFormat::Json => info!(url, database = %started.database.display(), "listening"),
    }
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "listening {url}").and_then(|()| out.flush());
    drop(out);

    let (broker, idle_time) = (started.running.broker.clone(), config.server.idle_exit);
    let retrying = webhooks.clone();
    let idle = async move {
        match args.on_demand {
            true => idle_exit::nothing_to_do(broker, retrying, activity, idle_time).await,
            false => std::future::pending().await,
        }
    };
    let failed = tokio::select! {
        () = idle => {
            info!(after = ?idle_time, "nothing to do (server.idle_exit), stopping");
            false
        }
        name = signals.next() => {
            info!(signal = name, "stopping");
            false
        }
        () = started.running.failed() => true,
        _ = &mut server => true,
    };
    started.running.begin_shutdown();
    stop.cancel();
    if failed {
        return Err(
            anyhow!("the broker failed and stopped; every acknowledged change is saved; the log says why").into()
        );
    }
    let ended = async {
        let _ = server.await;
        // A WebSocket does not count as a pending request.
        events.ended(SHUTDOWN_GRACE).await;
        webhooks.ended(SHUTDOWN_GRACE).await;
        // Shutdown waits until every handle of the broker is dropped.
        drop((events, webhooks, service));
        started.running.shutdown().await;
    };
    tokio::select! {
        () = ended => info!("stopped"),
        name = signals.next() => return Err(anyhow!("{name} again: stopped at once; every acknowledged change is saved").into()),
    }
    drop(lock);
    Ok(())
}

/// What SQLite says if it cannot enlarge the database, its log, or the index of the log (SQLITE_IOERR_SHMSIZE).
fn is_out_of_space(message: &str) -> bool {
    message.contains("disk is full") || message.contains("(code: 4874)")
}

/// Says what to do about a start that failed because the disk is full.
fn explain_full_disk(error: anyhow::Error, data_dir: &Path) -> anyhow::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let is_full = error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(StorageFull | QuotaExceeded | FileTooLarge)) || is_out_of_space(&cause.to_string())
    });
    if !is_full {
        return error;
    }
    let folder = data_dir.display();
    error.context(format!(
        "the disk of {folder} is full; free some space and start again (every acknowledged change is saved)"
    ))
}

/// A started broker, with what the banner shows.
pub(crate) struct StartedBroker {
    pub(crate) running: Running,
    database: PathBuf,
    pub(crate) projects: Arc<ProjectRegistry>,
}

impl StartedBroker {
    /// The folder of the default project, else the current one.
    fn folder(&self) -> PathBuf {
        self.projects.projects().own().map_or_else(|| PathBuf::from("."), |(_, folder)| folder)
    }
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
        engine: config.git.engine,
        concurrency: config.git.concurrency,
        ..GitSettings::default()
    });
    let projects = Arc::new(ProjectRegistry::open(config, repo, git).await?);
    let store = store::open(&database, store_settings(config))
        .await
        .with_context(|| format!("cannot open {}", database.display()))?;
    let running =
        actors::start(store, projects.projects().clone(), settings(config, pool_settings(config, address)?)).await?;
    Ok(StartedBroker { running, database, projects })
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
        keep_sessions: pool.keep_sessions,
        check_every: pool.check_every,
        stop_grace: pool.stop_grace,
        logs: config.server.data_dir.reviewers(),
        work_dir: pool.work_dir.clone().unwrap_or_else(|| config.server.data_dir.beside_for_reviewers()),
        confinement: confinement(config),
        writable_copies: writable_copies(config),
        mcp_url: format!("http://{}{}", client_address(address), Endpoint::Reviewer.path()),
        shim: own_executable(),
    })
}

fn writable_copies(config: &Config) -> BTreeSet<String> {
    let writable = config.projects.iter().filter(|(_, project)| project.reviewer_copy == ReviewerCopy::Writable);
    writable.map(|(name, _)| name.clone()).collect()
}

fn confinement(config: &Config) -> Confinement {
    let data_dir = config.server.data_dir.to_path_buf();
    match (config.pool.sandbox, Support::of_this_system().missing()) {
        (SandboxMode::Off, _) | (SandboxMode::Auto, Some(_)) => Confinement::Off,
        (SandboxMode::Required, Some(why)) => Confinement::Impossible(why),
        (SandboxMode::Auto | SandboxMode::Required, None) => {
            Confinement::On { readable: config.pool.readable.clone(), data_dir }
        }
    }
}

/// What the start line says about the sandbox of reviewers.
fn describe_sandbox(mode: SandboxMode, support: &Support) -> String {
    match (mode, support) {
        (SandboxMode::Off, _) => "no sandbox (pool.sandbox): they can read and change all your files".to_owned(),
        (SandboxMode::Auto, Support::None(why)) => {
            format!("NO SANDBOX, because {why}: they can read and change all your files")
        }
        (SandboxMode::Required, Support::None(why)) => format!("none can start: pool.sandbox is required, but {why}"),
        (SandboxMode::Auto | SandboxMode::Required, Support::Full) => "in a sandbox".to_owned(),
        (SandboxMode::Auto | SandboxMode::Required, Support::Partial(missing)) => {
            format!("in a sandbox; the kernel does not limit {}", missing.join(", and "))
        }
    }
}

fn settings(config: &Config, pool: PoolSettings) -> Settings {
    Settings {
        rules: Rules { lease: config.claims.lease, max_exchanges: config.reviews.max_exchanges },
        max_rounds: config.reviews.max_rounds,
        choose_priority: config.reviews.choose_priority,
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

async fn bind(config: &Config) -> Result<TcpListener, CliError> {
    let listen = config.server.listen;
    TcpListener::bind(listen).await.map_err(|error| {
        let code = if error.kind() == io::ErrorKind::AddrInUse { ADDRESS_IN_USE } else { 1 };
        let hint = "choose another with --listen 127.0.0.1:PORT (0 picks a free one)";
        CliError::new(code, anyhow!("cannot listen on {listen}: {error}; {hint}"))
    })
}

fn tokenless_callers(auth: &Auth) -> TokenlessCallers {
    match auth {
        Auth { required: true, .. } => TokenlessCallers::None,
        Auth { local_users: LocalUsers::Own, .. } => TokenlessCallers::OwnUser,
        Auth { local_users: LocalUsers::Any, .. } => TokenlessCallers::Any,
    }
}

/// The address for clients on this machine: loopback if the broker listens on all addresses.
fn client_address(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn banner(url: &str, started: &StartedBroker, config: &Config) {
    let project = match started.projects.projects().own() {
        Some((name, path)) => format!("{name} ({})", path.display()),
        None => "none (not started in a git repository, so diffs are refused)".into(),
    };
    let pool = &config.pool;
    let reviewers = if pool.enabled {
        let sandbox = describe_sandbox(pool.sandbox, &Support::of_this_system());
        format!("{}, at most {}, started when reviews wait; {sandbox}", pool.runtime, pool.max_size)
    } else {
        "external only; the reviewer pool is off (pool.enabled)".into()
    };
    let tokens = match tokenless_callers(&config.auth) {
        TokenlessCallers::None => "required; create one with `countersign token create --role ROLE --name NAME`",
        TokenlessCallers::OwnUser if cfg!(target_os = "linux") => {
            "not required for your own processes, which can act under any name; required for other users"
        }
        TokenlessCallers::OwnUser => "required: this system does not say who calls (auth.local_users)",
        TokenlessCallers::Any => "not required: any process that reaches the port can act under any name",
    };
    let version = env!("CARGO_PKG_VERSION");
    let database = started.database.display();
    // A closed stderr must not stop the broker.
    let _ = writeln!(
        io::stderr(),
        "countersign {version}
  page          {url}/  (open it with `countersign open`)
  listening on  {url}/mcp  (one role only: {url}/mcp/proposer, {url}/mcp/reviewer)
  database      {database}
  project       {project}
  tokens        {tokens}
  reviewers     {reviewers}
  clients       countersign init  (Claude Code, Codex, Gemini; in the repository they work in)
  by hand       claude mcp add --transport http countersign {url}/mcp
                codex mcp add countersign --url {url}/mcp
"
    );
}
