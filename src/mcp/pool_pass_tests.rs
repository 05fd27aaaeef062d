//! What a pool reviewer's pass does to its calls. Credentials are issued inside, so this goes in behind the door.

use super::{
    Endpoint, Server, Settings,
    tools::{Call, Done, Stop, Tool, run},
    who::Who,
};
use crate::{broker, config::Config};
use actors::{Caller, Running, credentials::Scope};
use rmcp::model::RequestMetaObject;
use serde_json::{Value, json};
use std::{sync::OnceLock, time::Duration};
use tempfile::TempDir;
use tokio::time::timeout;

struct World {
    running: Running,
    server: Server,
    _dir: TempDir,
}

impl World {
    async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let mut config = Config::default();
        config.server.data_dir = dir.path().to_owned();
        let running = broker::start(&config, None, ([127, 0, 0, 1], 0).into()).await.unwrap().running;
        let settings = Settings { page_chars: 30_000, wait_max: Duration::from_secs(50) };
        let server = Server::new(running.broker.clone(), settings, Endpoint::Any);
        Self { running, server, _dir: dir }
    }

    fn issue(&self, identity: &str) -> Caller {
        let (secret, _) = self.server.broker.credentials().issue(identity, Scope::Project(None));
        self.server.broker.credentials().find(&secret).unwrap()
    }

    async fn call(&self, caller: Option<&Caller>, tool: Tool, arguments: Value) -> Result<Value, Value> {
        let (review, meta) = (OnceLock::new(), RequestMetaObject::default());
        let who = Who::new(&self.server, caller);
        let call = Call { server: &self.server, who, tool, meta: &meta, headers: None, review: &review };
        let done: Done = run(arguments.as_object().cloned(), call).await;
        match done {
            Ok(answer) => Ok(answer.structured),
            Err(Stop::Refused(refused)) => Err(refused.into_value()),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn refused(answer: Result<Value, Value>, code: &str) {
        assert_eq!(answer.expect_err("refused")["code"], code);
    }

    async fn submit(&self) -> Value {
        let proposal = json!({ "intent": "a", "agent_type": "claude", "agent_role": "proposer", "phase": "1" });
        self.call(None, Tool::CreateReview, proposal).await.unwrap()["review_id"].clone()
    }
}

#[tokio::test]
async fn a_pool_reviewers_verdict_needs_its_generation_and_its_pass() {
    let world = World::start().await;
    let (pool, review) = (world.issue("codex-r1"), world.submit().await);
    let claim = world.call(Some(&pool), Tool::ClaimReview, json!({ "review_id": review })).await.unwrap();
    assert_eq!(claim["claimed_by"], "codex-r1");
    let verdict = json!({ "review_id": review, "verdict": "approved" });
    World::refused(world.call(Some(&pool), Tool::SubmitVerdict, verdict).await, "generation_needed");

    // Nobody else speaks for it: not by its name, not by its generation, not by saying nothing.
    let generation = &claim["claim_generation"];
    let by_name = json!({ "review_id": review, "verdict": "approved", "reviewer_id": "codex-r1" });
    let by_generation = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    let message = json!({ "review_id": review, "sender_role": "reviewer", "body": "fine" });
    for (tool, arguments) in [
        (Tool::SubmitVerdict, by_name),
        (Tool::SubmitVerdict, by_generation.clone()),
        (Tool::AddMessage, message.clone()),
        (Tool::ClaimReview, json!({ "review_id": review, "reviewer_id": "codex-r1" })),
    ] {
        World::refused(world.call(None, tool, arguments).await, "wrong_identity");
    }
    world.call(Some(&pool), Tool::AddMessage, message).await.unwrap();
    let taken = world.call(Some(&pool), Tool::SubmitVerdict, by_generation).await.unwrap();
    assert_eq!(taken["status"], "approved");
    world.running.shutdown().await;
}

/// The generation of the next claim is easy to guess, so the call may be on its way before the claim is.
#[tokio::test]
async fn nobody_speaks_unnamed_while_a_pool_reviewer_claims() {
    let world = World::start().await;
    let pool = world.issue("codex-r1");
    for (tool, more) in [
        (Tool::SubmitVerdict, json!({ "verdict": "approved", "claim_generation": 1 })),
        (Tool::ReleaseClaim, json!({ "claim_generation": 1 })),
        (Tool::AddMessage, json!({ "sender_role": "reviewer", "body": "fine" })),
    ] {
        // Later by a step each time: from well before the claim to well after it.
        for steps in 0..40 {
            let review = world.submit().await;
            let mut arguments = more.clone();
            arguments["review_id"] = review.clone();
            let unnamed = async {
                for _ in 0..steps {
                    tokio::task::yield_now().await;
                }
                world.call(None, tool, arguments).await
            };
            let claim = world.call(Some(&pool), Tool::ClaimReview, json!({ "review_id": review }));
            let (claim, answer) = tokio::join!(claim, unnamed);
            assert_eq!(claim.unwrap()["claim_generation"], 1);
            let code = answer.expect_err("taken for the pool reviewer's")["code"].clone();
            assert!(["wrong_identity", "stale_claim", "wrong_status"].iter().any(|known| code == *known), "{code}");
        }
    }
    world.running.shutdown().await;
}

#[tokio::test]
async fn a_draining_reviewer_gets_nothing_new_but_may_finish() {
    let world = World::start().await;
    let pool = world.issue("codex-r1");
    let (held, other) = (world.submit().await, world.submit().await);
    let claim = world.call(Some(&pool), Tool::ClaimReview, json!({ "review_id": held })).await.unwrap();
    let version = claim["version"].as_u64().unwrap();

    let pending = |more: Value| {
        let mut arguments = json!({ "status": "pending" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let listed = world.call(Some(&pool), Tool::ListReviews, pending(json!({}))).await.unwrap();
    assert_eq!((listed["reviews"].as_array().unwrap().len(), listed.get("draining")), (1, None));
    let waiting = pending(json!({ "wait": true, "since": version + 100, "timeout_seconds": 50 }));
    let wait = world.call(Some(&pool), Tool::ListReviews, waiting);
    let drain = async {
        // Once it waits.
        while world.server.broker.actors().await.unwrap().calls.waiting == 0 {
            tokio::task::yield_now().await;
        }
        pool.credential.as_ref().unwrap().drain();
    };
    let (ended, ()) = timeout(Duration::from_secs(20), async { tokio::join!(wait, drain) }).await.expect("at once");
    for listed in [ended.unwrap(), world.call(Some(&pool), Tool::ListReviews, pending(json!({}))).await.unwrap()] {
        assert_eq!((&listed["reviews"], &listed["draining"]), (&json!([]), &json!(true)));
        assert!(listed["next"].as_str().unwrap().contains("end"), "{listed}");
    }
    World::refused(world.call(Some(&pool), Tool::ClaimReview, json!({ "review_id": other })).await, "draining");
    let generation = &claim["claim_generation"];
    let verdict = json!({ "review_id": held, "verdict": "approved", "claim_generation": generation });
    world.call(Some(&pool), Tool::SubmitVerdict, verdict).await.unwrap();
    world.running.shutdown().await;
}
