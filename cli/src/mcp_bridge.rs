//! `countersign mcp`: a bridge between MCP over stdio and the MCP endpoint of the running broker.
//!
//! It forwards JSON-RPC messages without knowing the tools and keeps no session, so it survives restarts of the broker.

mod forwarder;
mod jsonrpc;

use crate::{
    CliError,
    client::discovery::{Starter, client, given_token},
    config_overrides::{ConfigArgs, ResolvedConfig},
};
use forwarder::{BrokerTarget, Forwarder};
use git::ClientRepo;
use jsonrpc::Envelope;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::timeout,
};

/// How long pending requests may take after the client has closed stdin.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// List only the tools of this role [default: those of the proposer and the reviewer]
    #[arg(long, value_name = "ROLE", value_parser = ["proposer", "reviewer", "operator"])]
    role: Option<String>,
    /// Address of the broker [default: the broker of the data folder, started if none runs]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Do not start a broker if none runs (see server.auto_start)
    #[arg(long)]
    no_start: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let path = args.role.map_or_else(|| "/mcp".to_owned(), |role| format!("/mcp/{role}"));
    // One broker serves many repositories, so every message names the repository of the client.
    let dir = args.config.repo.clone().or_else(|| std::env::current_dir().ok());
    let client_headers = dir
        .as_deref()
        .and_then(ClientRepo::find)
        .and_then(|repo| api::client_repo_header::header(&repo.root, &repo.objects))
        .into_iter()
        .collect();
    let target = match args.url {
        Some(url) => BrokerTarget::Fixed(url.trim_end_matches('/').to_owned()),
        None => {
            let ResolvedConfig { config, repo } = args.config.resolve(None)?;
            let may_start = config.server.auto_start && !args.no_start;
            let starter = Starter { config: args.config, data_dir: config.server.data_dir, repo };
            BrokerTarget::Found { starter, may_start }
        }
    };
    let forwarder = Arc::new(Forwarder {
        client: client()?,
        target,
        path,
        dir,
        client_headers,
        token: given_token()?,
        known: Default::default(),
        protocol_version: Default::default(),
    });
    let (answers, queue) = mpsc::channel(64);
    let mut writer = tokio::spawn(write(queue));
    let mut tasks = JoinSet::new();
    // Pending requests by id, so that they can be cancelled.
    let mut pending: HashMap<String, AbortHandle> = HashMap::new();
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    loop {
        let line = tokio::select! {
            line = lines.next_segment() => line?,
            // The client has closed stdout.
            _ = &mut writer => return Ok(()),
            Some(ended) = tasks.join_next() => {
                if let Ok(Some(id)) = ended {
                    pending.remove(&id);
                }
                continue;
            }
        };
        let Some(line) = line else { break };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let envelope = match Envelope::parse(&line) {
            Ok(envelope) => envelope,
            Err(problem) => {
                let _ = answers.send(problem).await;
                continue;
            }
        };
        if let Some(cancelled) = &envelope.cancels {
            // The broker keeps no sessions and recognizes a cancelled call by its closed connection.
            if let Some(request) = pending.remove(cancelled) {
                request.abort();
            }
            continue;
        }
        // Each message has a task of its own, so answers can arrive in any order.
        let (forwarder, answers, id) = (forwarder.clone(), answers.clone(), envelope.id.clone());
        let task = tasks.spawn(async move {
            let id = envelope.id.clone();
            for answer in forwarder.forward(line, envelope).await {
                let _ = answers.send(answer).await;
            }
            id
        });
        pending.extend(id.map(|id| (id, task)));
    }
    // Finish pending requests, but do not wait for long-polls: the client is gone.
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
    drop(answers);
    let _ = writer.await;
    Ok(())
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
