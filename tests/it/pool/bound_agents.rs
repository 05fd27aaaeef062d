//! Agents that are bound to a persona by a client or a model of its own.
#![cfg(target_os = "linux")]

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    one_shot::write_persona_of_mode,
    pool::{in_the_name_of, pool_of},
    wait_until::wait_until,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A broker whose agents do nothing. Those of `security` run another command.
async fn broker() -> TestBroker {
    let home = TempDir::new().unwrap();
    let settings = "runtime = \"command\"\ncommand = [\"sh\", \"-c\", \"touch bound; exec sleep 1000\"]";
    write_persona_of_mode(home.path(), "security", "agent", settings);
    TestBroker::in_home(home, &pool_of("exec sleep 1001", "cooldown = \"10ms\"")).await
}

async fn propose(broker: &TestBroker, personas: &[&str]) -> String {
    id(&broker.client().call("create_review", proposal_with("for two", json!({ "personas": personas }))).await)
}

fn agent_of<'a>(pool: &'a Value, persona: Option<&str>) -> Option<&'a str> {
    let mut agents = pool["reviewers"].as_array().unwrap().iter();
    agents.find(|row| row["persona"].as_str() == persona)?["reviewer_id"].as_str()
}

#[tokio::test]
async fn each_persona_with_a_client_of_its_own_gets_an_agent_that_takes_only_its_seats() {
    let broker = broker().await;
    let review = propose(&broker, &["security", "general"]).await;
    let both = |pool: &Value| agent_of(pool, Some("security")).is_some() && agent_of(pool, None).is_some();
    let pool = broker.until_pool("an agent for each", both).await;
    let (bound, free) = (agent_of(&pool, Some("security")).unwrap(), agent_of(&pool, None).unwrap());
    let in_name = async |id: &str| {
        wait_until("it lives", async || crate::support::pool::living_in(broker.home()).contains(id).then_some(()))
            .await;
        in_the_name_of(id, broker.home())
    };
    let (bound, free) = (in_name(bound).await, in_name(free).await);
    let claim = |persona: Value| json!({ "review_id": review, "persona": persona });
    free.refused("reserved", "claim_review", claim(json!("security"))).await;
    let refused = bound.refused("has_own_seat", "claim_review", claim(json!("general"))).await;
    assert_eq!(refused["seat"], "security");
    assert_eq!(bound.call("claim_review", claim(Value::Null)).await["seat"], "security");
    assert_eq!(free.call("claim_review", claim(Value::Null)).await["seat"], "general");

    let other = propose(&broker, &["general"]).await;
    let listed = bound.call("list_reviews", json!({ "status": "pending" })).await;
    assert_eq!(listed["reviews"], json!([]), "it takes no review without its persona: {other}");
}

#[tokio::test]
async fn no_agent_is_started_for_a_persona_without_work() {
    let broker = broker().await;
    propose(&broker, &["general"]).await;
    let pool = broker.until_pool("an agent", |pool| agent_of(pool, None).is_some()).await;
    assert_eq!(agent_of(&pool, Some("security")), None);
}
