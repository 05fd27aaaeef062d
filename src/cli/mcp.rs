//! `countersign mcp`: JSON-RPC lines on stdin and stdout, carried to the running broker's HTTP door
//! and back. It knows no tool and keeps no session, so it lives through any restart of the broker.

mod forwarder;
mod jsonrpc;

use super::{
    Failure,
    locate::{Starter, client, given_token},
    place::Place,
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

/// What requests under way are given when the client has closed our input.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleOption {
    Proposer,
    Reviewer,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Offer only this role's tools
    #[arg(long, value_name = "ROLE")]
    role: Option<RoleOption>,
    /// The broker's address [default: the one that serves the data dir, started if need be]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Requests under way by their id, so that a cancellation finds its request.
type PendingRequests = Arc<Mutex<HashMap<String, AbortHandle>>>;

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let path = match args.role {
        None => "/mcp",
        Some(RoleOption::Proposer) => "/mcp/proposer",
        Some(RoleOption::Reviewer) => "/mcp/reviewer",
    };
    // A broker may serve many repositories, and the one it was started in need not be the client's.
    let dir = args.place.repo.clone().or_else(|| std::env::current_dir().ok());
    let beside = dir
        .and_then(|dir| ClientRepo::find(&dir))
        .and_then(|repo| api::client_repo::header(&repo.root, &repo.objects))
        .into_iter()
        .collect();
    let target = match args.url {
        Some(url) => BrokerTarget::Fixed(url.trim_end_matches('/').to_owned()),
        None => {
            let settled = args.place.settle(None)?;
            let data_dir = settled.config.server.data_dir;
            BrokerTarget::Found(Starter { place: args.place, data_dir, repo: settled.repo })
        }
    };
    let forwarder = Arc::new(Forwarder::new(client()?, target, path, beside, given_token()?));
    let (answers, queue) = mpsc::channel(64);
    let mut writer = tokio::spawn(write(queue));
    let mut tasks = JoinSet::new();
    let under_way = PendingRequests::default();
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    loop {
        let line = tokio::select! {
            line = lines.next_segment() => line?,
            // Nobody reads our answers any more.
            _ = &mut writer => return Ok(()),
            Some(_) = tasks.join_next() => continue,
        };
        let Some(line) = line else { break };
        if !line.trim_ascii().is_empty() {
            take(line, &forwarder, &answers, &mut tasks, &under_way).await;
        }
    }
    // What is about to be answered still is. A call that waits would only wait for nobody.
    let _ = timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
    drop(answers);
    let _ = writer.await;
    Ok(())
}

/// Sets one message under way; answers come in any order.
async fn take(
    line: Vec<u8>,
    forwarder: &Arc<Forwarder>,
    answers: &mpsc::Sender<Vec<u8>>,
    tasks: &mut JoinSet<()>,
    under_way: &PendingRequests,
) {
    let envelope = match Envelope::read(&line) {
        Ok(envelope) => envelope,
        Err(problem) => {
            let _ = answers.send(problem).await;
            return;
        }
    };
    if let Some(cancelled) = &envelope.cancels {
        // The broker keeps no sessions, so it could not tell which call is meant; a closed
        // connection says it.
        if let Some(request) = locked(under_way).remove(cancelled) {
            request.abort();
        }
        return;
    }
    let (forwarder, answers, ended) = (forwarder.clone(), answers.clone(), under_way.clone());
    let id = envelope.id.clone();
    let key = id.clone();
    let mut requests = locked(under_way);
    let task = tasks.spawn(async move {
        for answer in forwarder.carry(line, envelope).await {
            let _ = answers.send(answer).await;
        }
        if let Some(key) = key {
            locked(&ended).remove(&key);
        }
    });
    if let Some(id) = id {
        requests.insert(id, task);
    }
}

fn locked(under_way: &PendingRequests) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
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
