//! `countersign mcp`: a bridge between MCP over stdio and the MCP endpoint of the running broker.
//!
//! It forwards JSON-RPC messages without knowing the tools and keeps no session, so it survives restarts of the broker.

mod forwarder;
mod jsonrpc;

use crate::{
    CliError,
    client::discovery::{Starter, client, given_token},
    config_args::ConfigArgs,
};
use forwarder::{BrokerTarget, Forwarder};
use git::ClientRepo;
use jsonrpc::Envelope;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

/// How long pending requests may take after the client has closed stdin.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleOption {
    Proposer,
    Reviewer,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Offer only the tools of this role
    #[arg(long, value_name = "ROLE")]
    role: Option<RoleOption>,
    /// Address of the broker [default: the broker of the data folder, started if none runs]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    place: ConfigArgs,
}

/// Pending requests by id, so that they can be cancelled.
type PendingRequests = Arc<Mutex<HashMap<String, AbortHandle>>>;

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let path = match args.role {
        None => "/mcp",
        Some(RoleOption::Proposer) => "/mcp/proposer",
        Some(RoleOption::Reviewer) => "/mcp/reviewer",
    };
    // One broker serves many repositories, so every message names the repository of the client.
    let dir = args.place.repo.clone().or_else(|| std::env::current_dir().ok());
    let client_headers = dir
        .and_then(|dir| ClientRepo::find(&dir))
        .and_then(|repo| api::client_repo::header(&repo.root, &repo.objects))
        .into_iter()
        .collect();
    let target = match args.url {
        Some(url) => BrokerTarget::Fixed(url.trim_end_matches('/').to_owned()),
        None => {
            let settled = args.place.resolve(None)?;
            let data_dir = settled.config.server.data_dir;
            BrokerTarget::Found(Starter { config: args.place, data_dir, repo: settled.repo })
        }
    };
    let forwarder = Arc::new(Forwarder::new(client()?, target, path, client_headers, given_token()?));
    let (answers, queue) = mpsc::channel(64);
    let mut writer = tokio::spawn(write(queue));
    let mut tasks = JoinSet::new();
    let pending = PendingRequests::default();
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    loop {
        let line = tokio::select! {
            line = lines.next_segment() => line?,
            // The client has closed stdout.
            _ = &mut writer => return Ok(()),
            Some(_) = tasks.join_next() => continue,
        };
        let Some(line) = line else { break };
        if !line.trim_ascii().is_empty() {
            forward(line, &forwarder, &answers, &mut tasks, &pending).await;
        }
    }
    // Finish pending requests, but do not wait for long-polls: the client is gone.
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
    drop(answers);
    let _ = writer.await;
    Ok(())
}

/// Forwards one message in a task of its own. Answers can arrive in any order.
async fn forward(
    line: Vec<u8>,
    forwarder: &Arc<Forwarder>,
    answers: &mpsc::Sender<Vec<u8>>,
    tasks: &mut JoinSet<()>,
    pending: &PendingRequests,
) {
    let envelope = match Envelope::parse(&line) {
        Ok(envelope) => envelope,
        Err(problem) => {
            let _ = answers.send(problem).await;
            return;
        }
    };
    if let Some(cancelled) = &envelope.cancels {
        // The broker keeps no sessions and recognizes a cancelled call by its closed connection.
        if let Some(request) = lock(pending).remove(cancelled) {
            request.abort();
        }
        return;
    }
    let (forwarder, answers, finished) = (forwarder.clone(), answers.clone(), pending.clone());
    let id = envelope.id.clone();
    let key = id.clone();
    let mut requests = lock(pending);
    let task = tasks.spawn(async move {
        for answer in forwarder.forward(line, envelope).await {
            let _ = answers.send(answer).await;
        }
        if let Some(key) = key {
            lock(&finished).remove(&key);
        }
    });
    if let Some(id) = id {
        requests.insert(id, task);
    }
}

fn lock(pending: &PendingRequests) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn write(mut queue: mpsc::Receiver<Vec<u8>>) {
    let mut out = tokio::io::stdout();
    while let Some(mut line) = queue.recv().await {
        line.push(b'\n');
        if out.write_all(&line).await.is_err() || out.flush().await.is_err() {
            return;
        }
    }
}
