//! Finds the broker of a data folder, and starts one if needed.

use crate::{ADDRESS_IN_USE, TAKEN, config_overrides::ConfigArgs};
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
use store::new_secret;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

const MAX_LOG_BYTES: u64 = 10 << 20;

/// Time for a broker to start, or for its predecessor to stop.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// No proxy, because the broker is usually on loopback. Each request uses a new connection: a stopping broker could
/// close a kept one during a request, and then it would be unknown whether the request arrived.
pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().connect_timeout(Duration::from_secs(5)).pool_max_idle_per_host(0).build()
}

/// The token from the environment. Errors never contain the secret.
pub(crate) fn given_token() -> anyhow::Result<Option<HeaderValue>> {
    match std::env::var(TOKEN_VARIABLE) {
        Ok(secret) if secret.trim().is_empty() => Ok(None),
        Ok(secret) => bearer(&secret).map(Some).ok_or_else(|| anyhow!("{TOKEN_VARIABLE}: not a valid token")),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(anyhow!("{TOKEN_VARIABLE}: not a valid token")),
    }
}

/// The operator token of the broker that serves `data_dir`. It is never sent to an address from the command line.
pub(crate) fn local_token(data_dir: &DataDir) -> Option<HeaderValue> {
    bearer(&data_dir.operator_token()?)
}

pub(crate) fn bearer(secret: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", secret.trim())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[derive(Debug, Deserialize)]
struct Health {
    pid: u32,
    proof: String,
}

/// The broker that serves `data_dir`, if it is alive. Another process may use the announced port by now, so the broker must
/// prove that it wrote the announcement.
pub(crate) async fn find(client: &reqwest::Client, data_dir: &DataDir) -> Option<RunningBroker> {
    let note = data_dir.running_broker()?;
    let challenge = new_secret();
    let address = format!("{}/healthz?challenge={challenge}", note.url);
    let health = client.get(address).timeout(Duration::from_secs(2)).send().await.ok()?;
    let health: Health = health.json().await.ok()?;
    (health.pid == note.pid && health.proof == note.proof_key.proof(&challenge)).then_some(note)
}

/// A broker that answers.
pub(crate) struct FoundBroker {
    pub note: RunningBroker,
    /// It was started for this call.
    pub is_new: bool,
}

/// The settings with which a missing broker is started.
#[derive(Debug)]
pub(crate) struct Starter {
    pub config: ConfigArgs,
    pub data_dir: DataDir,
    pub repo: Option<PathBuf>,
}

impl Starter {
    /// Finds the broker or starts one. Several clients may do this at once: the lock of the data folder lets one broker
    /// start, and all clients find it.
    pub(crate) async fn find_or_start(&self, client: &reqwest::Client) -> anyhow::Result<FoundBroker> {
        let until = Instant::now() + START_TIMEOUT;
        let (mut child, mut listen, mut log_start) = (None::<Child>, None, 0);
        loop {
            if let Some(note) = find(client, &self.data_dir).await {
                let is_new = child.is_some();
                return Ok(FoundBroker { note, is_new });
            }
            match child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                Some(ended) => {
                    child = None;
                    match ended.code().and_then(|code| u8::try_from(code).ok()) {
                        // Another broker is about to listen, or about to end.
                        Some(TAKEN) => {}
                        // Another program uses the default port; any free port will do.
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
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Starts a broker that outlives this process: in its own process group, without a terminal, with a log file.
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
        command.args(["serve", "--on-demand"]).arg("--data-dir").arg(&*self.data_dir);
        let options = [("--repo", &self.repo), ("--config", &self.config.config)];
        for (name, value) in options {
            if let Some(value) = value {
                command.arg(name).arg(value);
            }
        }
        if let Some(listen) = listen {
            command.args(["--listen", listen]);
        }
        // The broker does not need the token of its client.
        command.env_remove(TOKEN_VARIABLE);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        Ok((command.spawn().context("cannot start a broker")?, size))
    }

    /// The log of a failed broker since `start`.
    fn log_since(&self, start: u64) -> String {
        let mut words = Vec::new();
        if let Ok(mut log) = open_private(&self.data_dir.broker_log()) {
            let _ = log.seek(SeekFrom::Start(start)).and_then(|_| log.take(4096).read_to_end(&mut words));
        }
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}
