//! Finds the broker that serves a data dir, and starts one where there is none.

use crate::{ADDRESS_IN_USE, TAKEN, config_args::Place};
use anyhow::{Context as _, anyhow};
use config::{
    DataDir, RunningBroker,
    data_dir::{append_private, make_private, open_private},
};
use domain::runtime::TOKEN_VARIABLE;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use std::{
    env::VarError,
    fs,
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

const MAX_LOG_BYTES: u64 = 10 << 20;

/// How long a broker may take to start, or to end before another can.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Loopback only, so no proxy, and a fresh connection each time: one that is kept may be closed by a
/// stopping broker just as it is used, and then nobody can say whether the request arrived.
pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().connect_timeout(Duration::from_secs(5)).pool_max_idle_per_host(0).build()
}

/// The token that a client of ours was given. The secrets are the user's, so they never stand in an error.
pub(crate) fn given_token() -> anyhow::Result<Option<HeaderValue>> {
    match std::env::var(TOKEN_VARIABLE) {
        Ok(secret) if secret.trim().is_empty() => Ok(None),
        Ok(secret) => bearer(&secret).map(Some).ok_or_else(|| anyhow!("{TOKEN_VARIABLE}: this is no token")),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(anyhow!("{TOKEN_VARIABLE}: this is no token")),
    }
}

/// The secret of the broker that serves `data_dir`, for its own user. It goes to nobody else: not to an
/// address that was given on the command line.
pub(crate) fn local_token(data_dir: &DataDir) -> Option<HeaderValue> {
    bearer(&data_dir.operator_token()?)
}

fn bearer(secret: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", secret.trim())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[derive(Debug, Deserialize)]
struct Health {
    service: String,
    pid: u32,
}

/// The broker that serves `data_dir`, if it is alive. The port in its note may belong
/// to somebody else by now, so whoever answers there must be the same process.
pub(crate) async fn find(client: &reqwest::Client, data_dir: &DataDir) -> Option<RunningBroker> {
    let note = data_dir.running_broker()?;
    let request = client.get(format!("{}/healthz", note.url)).timeout(Duration::from_secs(2));
    let health: Health = request.send().await.ok()?.json().await.ok()?;
    (health.service == "countersign" && health.pid == note.pid).then_some(note)
}

/// What it takes to start a broker like the one that is looked for.
#[derive(Debug)]
pub(crate) struct Starter {
    pub place: Place,
    pub data_dir: DataDir,
    pub repo: Option<PathBuf>,
}

impl Starter {
    /// The broker, which is started if there is none. Several may do this at once:
    /// the data dir's lock decides whose broker it is, and all find that one.
    pub(crate) async fn find_or_start(&self, client: &reqwest::Client) -> anyhow::Result<RunningBroker> {
        let until = Instant::now() + PATIENCE;
        let (mut child, mut listen, mut log_start) = (None::<Child>, None, 0);
        loop {
            if let Some(note) = find(client, &self.data_dir).await {
                return Ok(note);
            }
            match child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                Some(ended) => {
                    child = None;
                    match ended.code().and_then(|code| u8::try_from(code).ok()) {
                        // Another broker is about to listen, or about to end.
                        Some(TAKEN) => {}
                        // The usual port is somebody else's; any other will do.
                        Some(ADDRESS_IN_USE) if listen.is_none() => listen = Some("127.0.0.1:0"),
                        _ => return Err(anyhow!("the broker did not start ({ended}): {}", self.log_since(log_start))),
                    }
                }
                None if child.is_none() => {
                    let (started, size) = self.start(listen)?;
                    (child, log_start) = (Some(started), size);
                }
                None => {}
            }
            if Instant::now() > until {
                return Err(anyhow!("the broker was not ready in time; see {}", self.data_dir.broker_log().display()));
            }
            sleep(PAUSE).await;
        }
    }

    /// Starts a broker that outlives us: its own process group, no terminal, its log in a file.
    fn start(&self, listen: Option<&str>) -> anyhow::Result<(Child, u64)> {
        make_private(&self.data_dir).with_context(|| self.data_dir.display().to_string())?;
        let path = self.data_dir.broker_log();
        let old = fs::metadata(&path).map_or(0, |meta| meta.len());
        if old > MAX_LOG_BYTES {
            let _ = fs::rename(&path, path.with_extension("log.1"));
        }
        let mut log = append_private(&path).with_context(|| path.display().to_string())?;
        let size = log.seek(SeekFrom::End(0))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg("--data-dir").arg(&*self.data_dir);
        let options = [("--repo", &self.repo), ("--config", &self.place.config)];
        for (name, value) in options {
            if let Some(value) = value {
                command.arg(name).arg(value);
            }
        }
        if let Some(listen) = listen {
            command.args(["--listen", listen]);
        }
        // Whom we speak as is none of its business.
        command.env_remove(TOKEN_VARIABLE);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        Ok((command.spawn().context("cannot start a broker")?, size))
    }

    /// The last words of a broker that failed.
    fn log_since(&self, start: u64) -> String {
        let mut words = Vec::new();
        if let Ok(mut log) = open_private(&self.data_dir.broker_log()) {
            let _ = log.seek(SeekFrom::Start(start)).and_then(|_| log.take(4096).read_to_end(&mut words));
        }
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}
