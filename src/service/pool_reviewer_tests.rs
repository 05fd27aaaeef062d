//! What a pool reviewer's credential changes in its calls. Credentials are issued inside the broker, so these tests call
//! the service directly.

use super::{CallContext, CallError, ConfigView, Service, Settings};
use crate::{
    broker_info::BrokerIdentity,
    serve::{self, StartedBroker},
    webhooks::Webhooks,
};
use actors::{
    Caller, Running,
    credentials::{Scope, SecretHash},
};
use api::OperationId;
use config::{Config, Sources};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

struct World {
    running: Running,
    service: Service,
    _dir: TempDir,
}

impl World {
    async fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let loaded = Config::load(&Sources { data_dir: Some(dir.path().into()), ..Sources::default() }).unwrap();
        let config = loaded.config.clone();
        let StartedBroker { running, projects, .. } =
            serve::start(&config, None, ([127, 0, 0, 1], 0).into()).await.unwrap();
        let settings = Settings {
            page_chars: 30_000,
            wait_default: Duration::from_secs(25),
            wait_max: Duration::from_secs(50),
            claim_lease: Duration::from_secs(1200),
        };
        let webhooks = Webhooks::start(&running.broker, &config).unwrap();
        let identity =
            BrokerIdentity::new("test".into(), config::ProofKey::new("key".into()), false, dir.path().into());
        let view = ConfigView::new(&loaded);
        let service = Service::new(running.broker.clone(), settings, view, webhooks, identity.into(), projects);
        Self { running, service, _dir: dir }
    }

    fn issue(&self, identity: &str) -> Caller {
        let (secret, _) = self.service.broker.credentials().issue(identity, Scope::Project(None));
        self.service.broker.credentials().find(&secret).unwrap()
    }

    async fn can_sign_in(&self, secret: &str) -> bool {
        let hash = SecretHash::from_secret(secret);
        self.service.broker.create_session(&hash, Duration::from_secs(60)).await.unwrap().is_some()
    }

    async fn call(&self, caller: Option<&Caller>, operation: OperationId, arguments: Value) -> Result<Value, Value> {
        let context = CallContext { caller, ..CallContext::default() };
        let arguments = arguments.as_object().cloned().unwrap();
        match self.service.call(operation, arguments, context, std::future::pending()).await {
            Ok(response) => Ok(serde_json::from_str(&response.0).unwrap()),
            Err(CallError::Refused(body)) => Err(json!(body)),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn refused(answer: Result<Value, Value>, code: &str) {
        assert_eq!(answer.expect_err("refused")["code"], code);
    }

    async fn submit(&self) -> Value {
        let proposal = json!({ "intent": "a", "agent_type": "claude", "agent_role": "proposer", "phase": "1" });
        self.call(None, OperationId::CreateReview, proposal).await.unwrap()["review_id"].clone()
    }
}

#[tokio::test]
async fn a_pool_reviewers_verdict_needs_its_generation_and_its_credential() {
    let world = World::start().await;
    let (pool, review) = (world.issue("codex-r1"), world.submit().await);
    let claim = world.call(Some(&pool), OperationId::ClaimReview, json!({ "review_id": review })).await.unwrap();
    assert_eq!(claim["claimed_by"], "codex-r1");
    let verdict = json!({ "review_id": review, "verdict": "approved" });
    World::refused(world.call(Some(&pool), OperationId::SubmitVerdict, verdict).await, "generation_needed");

    // Other callers cannot act for it: not by its name, not by its generation, and not without a name.
    let generation = &claim["claim_generation"];
    let by_name = json!({ "review_id": review, "verdict": "approved", "reviewer_id": "codex-r1" });
    let by_generation = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    let message = json!({ "review_id": review, "sender_role": "reviewer", "body": "fine" });
    for (operation, arguments) in [
        (OperationId::SubmitVerdict, by_name),
        (OperationId::SubmitVerdict, by_generation.clone()),
        (OperationId::AddMessage, message.clone()),
        (OperationId::ClaimReview, json!({ "review_id": review, "reviewer_id": "codex-r1" })),
    ] {
        World::refused(world.call(None, operation, arguments).await, "wrong_identity");
    }
    world.call(Some(&pool), OperationId::AddMessage, message).await.unwrap();
    let taken = world.call(Some(&pool), OperationId::SubmitVerdict, by_generation).await.unwrap();
    assert_eq!(taken["status"], "approved");
    world.running.shutdown().await;
}

/// The generation of the next claim is easy to guess, so a call may arrive before the claim does.
#[tokio::test]
async fn an_unnamed_call_is_refused_while_a_pool_reviewer_claims() {
    let world = World::start().await;
    let pool = world.issue("codex-r1");
    for (operation, more) in [
        (OperationId::SubmitVerdict, json!({ "verdict": "approved", "claim_generation": 1 })),
        (OperationId::ReleaseClaim, json!({ "claim_generation": 1 })),
        (OperationId::AddMessage, json!({ "sender_role": "reviewer", "body": "fine" })),
    ] {
        // One step later each time: from well before the claim to well after it.
        for steps in 0..40 {
            let review = world.submit().await;
            let mut arguments = more.clone();
            arguments["review_id"] = review.clone();
            let unnamed = async {
                for _ in 0..steps {
                    tokio::task::yield_now().await;
                }
                world.call(None, operation, arguments).await
            };
            let claim = world.call(Some(&pool), OperationId::ClaimReview, json!({ "review_id": review }));
            let (claim, answer) = tokio::join!(claim, unnamed);
            assert_eq!(claim.unwrap()["claim_generation"], 1);
            let code = answer.expect_err("taken for the pool reviewer's")["code"].clone();
            assert!(["wrong_identity", "stale_claim", "not_claimed"].iter().any(|known| code == *known), "{code}");
        }
    }
    world.running.shutdown().await;
}

#[tokio::test]
async fn a_draining_reviewer_gets_no_new_review_but_may_finish() {
    let world = World::start().await;
    let pool = world.issue("codex-r1");
    let (held, other) = (world.submit().await, world.submit().await);
    let claim = world.call(Some(&pool), OperationId::ClaimReview, json!({ "review_id": held })).await.unwrap();
    let version = claim["version"].as_u64().unwrap();

    let pending = |more: Value| {
        let mut arguments = json!({ "status": "pending" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let listed = world.call(Some(&pool), OperationId::ListReviews, pending(json!({}))).await.unwrap();
    assert_eq!((listed["reviews"].as_array().unwrap().len(), listed.get("draining")), (1, None));
    let waiting = pending(json!({ "wait": true, "since": version + 100, "timeout_seconds": 50 }));
    let wait = world.call(Some(&pool), OperationId::ListReviews, waiting);
    let drain = async {
        // Wait until the call waits.
        while world.service.broker.actors(0).await.unwrap().calls.waiting == 0 {
            tokio::task::yield_now().await;
        }
        pool.credential.as_ref().unwrap().drain();
    };
    let (ended, ()) = timeout(Duration::from_secs(20), async { tokio::join!(wait, drain) }).await.expect("at once");
    for listed in [ended.unwrap(), world.call(Some(&pool), OperationId::ListReviews, pending(json!({}))).await.unwrap()]
    {
        assert_eq!((&listed["reviews"], &listed["draining"]), (&json!([]), &json!(true)));
        assert!(listed["next"].as_str().unwrap().contains("end"), "{listed}");
    }
    World::refused(world.call(Some(&pool), OperationId::ClaimReview, json!({ "review_id": other })).await, "draining");
    let generation = &claim["claim_generation"];
    let verdict = json!({ "review_id": held, "verdict": "approved", "claim_generation": generation });
    world.call(Some(&pool), OperationId::SubmitVerdict, verdict).await.unwrap();
    world.running.shutdown().await;
}

#[tokio::test]
async fn a_pool_reviewer_cannot_sign_in_to_the_page() {
    let world = World::start().await;
    let (secret, _) = world.service.broker.credentials().issue("codex-r1", Scope::All);
    assert!(!world.can_sign_in(&secret).await);
    assert!(world.can_sign_in(&world.service.broker.credentials().issue_local_operator()).await);
    assert!(!world.can_sign_in("cs_unknown").await);
}
