//! The work that clients do: complete reviews, from creation to closing, or calls that do nothing.

use super::load_generator::{Connection, Target};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Makes the diff with this number; every number gives another diff.
pub(crate) type MakeDiff = Arc<dyn Fn(usize) -> String + Send + Sync>;

/// What each client repeats.
#[derive(Clone)]
pub(crate) enum Work {
    /// Calls a tool that does nothing.
    Nothing,
    /// Five calls: create, claim, read, verdict, close.
    Life { diff: Option<MakeDiff> },
}

/// What the load needs of an answer.
#[derive(Deserialize)]
pub(crate) struct Ids {
    pub(crate) review_id: Option<String>,
    pub(crate) claim_generation: Option<u64>,
    pub(crate) version: Option<u64>,
}

pub(crate) fn proposal(diff: Option<String>) -> Value {
    let mut proposal = json!({
        "intent": "rename the configuration key", "agent_type": "gsd-executor", "agent_role": "proposer",
        "phase": "3", "plan": "2", "task": "4", "category": "code_change",
        "description": "The key `timeout` becomes `time_limit` everywhere, with the old name still read."
    });
    if let Some(diff) = diff {
        proposal["diff"] = diff.into();
    }
    proposal
}

/// The first two calls of a review: its id and its generation.
pub(crate) async fn create_and_claim(
    connection: &mut Connection,
    reviewer: &str,
    diff: Option<String>,
) -> Result<(String, Option<u64>), String> {
    let created: Ids = connection.try_call("create_review", &proposal(diff)).await?.read();
    let id = created.review_id.ok_or("create_review: the answer has no review_id")?;
    let claim = json!({ "review_id": id, "reviewer_id": reviewer });
    let claimed: Ids = connection.try_call("claim_review", &claim).await?.read();
    Ok((id, claimed.claim_generation))
}

pub(crate) fn verdict(id: &str, reviewer: &str, generation: Option<u64>) -> Value {
    let mut verdict =
        json!({ "review_id": id, "reviewer_id": reviewer, "verdict": "approved", "reason": "reads well" });
    if let Some(generation) = generation {
        verdict["claim_generation"] = generation.into();
    }
    verdict
}

/// One review from proposal to close.
pub(crate) async fn live(connection: &mut Connection, reviewer: &str, diff: Option<String>) -> Result<(), String> {
    let (id, generation) = create_and_claim(connection, reviewer, diff).await?;
    connection.try_call("get_proposal", &json!({ "review_id": id })).await?;
    connection.try_call("submit_verdict", &verdict(&id, reviewer, generation)).await?;
    connection.try_call("close_review", &json!({ "review_id": id, "closer_role": "proposer" })).await?;
    Ok(())
}

/// A number that no diff of this run had.
pub(crate) fn next_number() -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    NUMBERS.fetch_add(1, Relaxed)
}

/// Lets clients work for some time: how long each call took, and how long all of it took.
pub(crate) async fn work(
    target: &Target,
    clients: usize,
    time: Duration,
    work: &Work,
    pause: Duration,
) -> Result<(Vec<Duration>, Duration), String> {
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(Connection::open_session(target.clone()).await?);
    }
    let began = Instant::now();
    let clients = connections.into_iter().enumerate().map(|(client, mut connection)| {
        let work = work.clone();
        let reviewer = format!("reviewer-{client}");
        tokio::spawn(async move {
            while began.elapsed() < time {
                match &work {
                    Work::Nothing => drop(connection.try_call("noop", &json!({})).await?),
                    Work::Life { diff } => {
                        let diff = diff.as_ref().map(|make| make(next_number()));
                        live(&mut connection, &reviewer, diff).await?;
                    }
                }
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            Ok::<_, String>(connection.times)
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await.map_err(|error| error.to_string())??);
    }
    Ok((times, began.elapsed()))
}
