//! `countersign stop`, and `countersign status` without a review: the broker process of the data folder.

use crate::{
    CliError, NO_BROKER,
    client::{
        BrokerArgs, Client,
        discovery::{client, find, given_token},
    },
    config_overrides::ConfigArgs,
    render::{format_age, format_local, one_line},
    terminal,
};
use anyhow::{Context as _, anyhow};
use api::{
    ErrorBody, ErrorCode,
    operation::NoArguments,
    operation::{GetWhoami, ListProjects},
    projects::Project,
};
use config::DataDir;
use domain::credential::Authority;
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_with::skip_serializing_none;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Longer than a broker takes to end with open calls and reviewers.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub struct StopArgs {
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Ends the broker of the data folder as SIGTERM does, and waits until it has ended.
pub(crate) async fn stop(args: StopArgs) -> Result<(), CliError> {
    let data_dir = args.config.resolve(None)?.config.server.data_dir;
    let stopped = match data_dir.serving_process().with_context(|| data_dir.display().to_string())? {
        Some(pid) => {
            check_right_to_stop(&data_dir).await?;
            if !cfg!(target_os = "linux") {
                check_process(&data_dir, pid).await?;
            }
            end(&data_dir, pid).await?;
            Some(pid)
        }
        None => None,
    };
    if args.json {
        return terminal::write_pretty_json(&json!({ "stopped": stopped.is_some(), "pid": stopped }));
    }
    terminal::write(&match stopped {
        Some(pid) => format!("the broker (pid {pid}) has ended; the next call of a connected agent starts another\n"),
        None => format!("no broker runs for {}\n", data_dir.display()),
    })
}

/// The operating system lets only the broker's own user end it. An agent that was given a token has the rights of that
/// token.
async fn check_right_to_stop(data_dir: &DataDir) -> Result<(), CliError> {
    if given_token()?.is_none() {
        return Ok(());
    }
    let whoami = Client::of_data_dir(data_dir).await?.execute::<GetWhoami>(&NoArguments {}).await?;
    if whoami.authority == Some(Authority::Operator) && whoami.projects.is_none() {
        return Ok(());
    }
    let error =
        "COUNTERSIGN_TOKEN does not allow you to stop the broker; allowed: an operator's token for all projects";
    Err(ErrorBody::new(ErrorCode::WrongRole, error).into())
}

/// Elsewhere than on Linux only the broker itself can say which process it is.
async fn check_process(data_dir: &DataDir, pid: u32) -> Result<(), CliError> {
    let found = find(&client()?, data_dir).await;
    if found.is_some_and(|broker| broker.pid == pid) {
        return Ok(());
    }
    Err(anyhow!("the broker (pid {pid}) does not answer; if the process is a broker, `kill {pid}` stops it").into())
}

async fn end(data_dir: &DataDir, pid: u32) -> Result<(), CliError> {
    let process = i32::try_from(pid).context("the lock file names no process")?;
    match kill(Pid::from_raw(process), Signal::SIGTERM) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => return Err(anyhow!("cannot stop the broker (pid {pid}): {error}").into()),
    }
    let until = Instant::now() + STOP_TIMEOUT;
    let ended = async {
        // Another broker may take the folder over at once.
        while data_dir.serving_process().is_ok_and(|serving| serving == Some(pid)) {
            if Instant::now() > until {
                return Err(anyhow!(
                    "the broker (pid {pid}) has not ended; `kill -9 {pid}` ends it without losing data"
                ));
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    };
    Ok(terminal::show_progress("stopping the broker", ended).await?)
}

/// The broker process, as far as it can be known.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct BrokerStatus {
    running: bool,
    data_dir: String,
    /// The address of the page.
    url: Option<String>,
    pid: Option<u32>,
    version: Option<String>,
    started_at: Option<String>,
    projects: Option<Vec<Project>>,
}

#[derive(Debug, Deserialize)]
struct Health {
    pid: u32,
    version: String,
}

/// Tells whether a broker runs, without starting one. Exit code 5 if none does.
pub(crate) async fn status(broker: &BrokerArgs) -> Result<(), CliError> {
    let (data_dir, client) = broker.connect_if_running().await?;
    let status = match &client {
        Some(client) => running(client, &data_dir).await?,
        None => BrokerStatus {
            running: false,
            data_dir: data_dir.display().to_string(),
            url: None,
            pid: None,
            version: None,
            started_at: None,
            projects: None,
        },
    };
    if broker.json {
        terminal::write_pretty_json(&status)?;
    } else {
        terminal::write(&render(&status))?;
    }
    if status.running { Ok(()) } else { Err(CliError::answer(NO_BROKER)) }
}

async fn running(client: &Client, data_dir: &DataDir) -> Result<BrokerStatus, CliError> {
    let health: Health = serde_json::from_str(&client.get("/healthz", &json!({})).await?)?;
    let announced = data_dir.running_broker().filter(|broker| broker.pid == health.pid);
    // With required tokens, the projects are not for everyone.
    let projects = client.execute::<ListProjects>(&NoArguments {}).await.ok();
    Ok(BrokerStatus {
        running: true,
        data_dir: data_dir.display().to_string(),
        url: Some(client.page_url("/")),
        pid: Some(health.pid),
        version: Some(health.version),
        started_at: announced.map(|broker| broker.started_at),
        projects: projects.map(|response| response.projects),
    })
}

fn render(status: &BrokerStatus) -> String {
    let data_dir = &status.data_dir;
    let (Some(url), Some(pid), Some(version)) = (&status.url, status.pid, &status.version) else {
        return format!("no broker runs for {data_dir}; `countersign serve` or any other command starts one\n");
    };
    let started = status.started_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let since = started.map(|at| format!("since     {} ({})\n", format_local(at), format_age(at))).unwrap_or_default();
    let mut out = format!("broker    runs (pid {pid}, version {})\n", one_line(version));
    out.push_str(&since);
    out.push_str(&format!("page      {url}  (`countersign open` opens it)\ndata      {data_dir}\n"));
    for (index, project) in status.projects.iter().flatten().enumerate() {
        let label = if index == 0 { "projects" } else { "" };
        let root = project.root.as_deref().map(one_line).unwrap_or_default();
        out.push_str(format!("{label:<8}  {}  {root}", one_line(&project.name)).trim_end());
        out.push('\n');
    }
    out
}
