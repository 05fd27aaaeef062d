//! A pool whose actor fails, which no public call can cause.

use crate::reviewer_process::{
    ProcessSpec,
    confinement::Confinement,
    runtime::{Runtime, RuntimeSettings, TOKEN_VARIABLE},
};
use crate::{Broker, Projects, Running, Settings, Wait, reviewer_pool::PoolSettings, start};
use domain::{
    content::CreateReviewRequest,
    ids::ReviewId,
    review::{ClaimSeat, Command, Review, Rules, Status},
    reviewer_pool::scaling,
    size_limits::Limits,
    waiting_on::Asker,
};
use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};
use testkit::proposer;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(20);

fn settings(folder: &Path) -> Settings {
    let pool = PoolSettings {
        enabled: true,
        runtime: RuntimeSettings {
            runtime: Runtime::Command,
            program: None,
            command: vec!["/bin/sh".into()],
            model: None,
            effort: None,
            environment: Vec::new(),
            wsl: None,
        },
        prompt: domain::reviewer_prompt::DEFAULT_TEMPLATE.into(),
        workspace: Some(folder.into()),
        limits: scaling::Limits { ratio: 3, max_size: 1, cooldown: SHORT, idle_after: LONG, ttl: LONG },
        keep_sessions: Duration::ZERO,
        max_failures: 5,
        check_every: SHORT,
        stop_grace: SHORT,
        logs: folder.join("reviewers"),
        work_dir: folder.join("reviewers"),
        confinement: Confinement::Off,
        writable_copies: BTreeSet::new(),
        mcp_url: "http://127.0.0.1:1/mcp/reviewer".into(),
        shim: folder.join("shim"),
    };
    let limits = Limits {
        diff_bytes: 1000,
        intent_chars: 1000,
        text_chars: 1000,
        id_chars: 200,
        metadata_bytes: 1000,
        page_chars: 1000,
        page_items: 10,
        max_page_items: 10,
        calls_in_flight: 10,
        calls_per_review: 10,
        waiters: 10,
        caller_bytes: 1000,
    };
    Settings {
        rules: Rules { lease: LONG, max_exchanges: 8 },
        max_rounds: 3,
        choose_priority: true,
        idle_after: LONG,
        max_live: 10,
        default_wait: PATIENCE,
        max_wait: PATIENCE,
        limits,
        refuse: Vec::new(),
        pool,
        personas: Default::default(),
        panel: Default::default(),
    }
}

async fn submit(broker: &Broker) -> ReviewId {
    let request = CreateReviewRequest { intent: Some("to be reviewed".into()), ..Default::default() };
    broker.create(&proposer(), None, &request).await.expect("saved").review.id
}

/// Name and secret of the last reviewer that was started, once there are `count`.
async fn started(broker: &Broker, folder: &Path, count: usize) -> (String, String) {
    let waiting = async {
        loop {
            let received = std::fs::read_to_string(folder.join("received")).unwrap_or_default();
            let plans: Vec<ProcessSpec> = received.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            if let Some(plan) = plans.get(count - 1) {
                let (_, secret) = plan.env.iter().find(|(name, _)| name == TOKEN_VARIABLE).expect("a pass");
                let caller = broker.credentials().find(secret).expect("its pass is good");
                return (caller.identity, secret.clone());
            }
            tokio::time::sleep(SHORT).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("a reviewer is started")
}

fn claim(by: &str) -> Command {
    Command::Claim(ClaimSeat { by: by.into(), persona: None, takes_over: None, check: None, pool_personas: Vec::new() })
}

async fn changed(broker: &Broker, seen: &Review) -> Arc<Review> {
    let seen = broker
        .wait_review(seen.id, Wait { since: Some(seen.version), timeout: None }, Asker::default())
        .await
        .expect("read");
    assert!(!seen.timed_out);
    seen.review
}

#[tokio::test]
async fn a_pool_that_fails_is_replaced_and_what_its_reviewers_held_is_free() {
    let dir = tempfile::tempdir().expect("a folder");
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shim.sh");
    std::os::unix::fs::symlink(shim, dir.path().join("shim")).expect("linked");
    let store = store::open(&dir.path().join("countersign.db"), store::Settings::default()).await.expect("opened");
    let running: Running = start(store, Projects::default(), settings(dir.path())).await.expect("started");
    let broker = &running.broker;
    let review = submit(broker).await;
    let (first, secret) = started(broker, dir.path(), 1).await;
    let claimed = broker.execute(review, claim(&first)).await.expect("claimed").review;

    broker.0.pool.kill();

    let freed = changed(broker, &claimed).await;
    assert_eq!((freed.status, freed.holders().next()), (Status::Pending, None));
    assert!(freed.claim_generation > claimed.claim_generation);
    assert!(broker.credentials().find(&secret).is_none(), "a pass ends with the pool that gave it");

    let (second, _) = started(broker, dir.path(), 2).await;
    assert_ne!(first, second);
    let again = broker.execute(review, claim(&second)).await.expect("claimed");
    assert_eq!(again.review.holders().next(), Some(second.as_str()));
    let tree = broker.actors(10).await.expect("drawn").root;
    let pool = tree.children.iter().find(|node| node.kind == "pool").expect("there");
    assert_eq!((pool.restarts, pool.children.len()), (1, 1));
    let ended = broker.reader().list_ended_reviewers(None, 20).await.expect("read").0;
    assert_eq!(ended.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), [first]);
    running.shutdown().await;
}
