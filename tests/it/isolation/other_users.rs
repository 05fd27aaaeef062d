//! Other users of the machine: they reach the broker's port, but act only with a token, and read none of its files.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal, proposal_with},
    other_user::{self, OTHER_UID, broker_is_skipped, get, is_skipped, post},
    scripted_reviewer::{ReviewerScript, pool},
    tokens::create_token,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt as _;
use tempfile::TempDir;

/// A call of a tool over MCP.
fn tool_call(name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

#[tokio::test]
async fn another_user_cannot_approve_without_a_token() {
    if is_skipped("a tokenless caller of another user") {
        return;
    }
    let broker = TestBroker::start().await;
    let review = id(&broker.client().call("create_review", proposal("count in words")).await);
    let claim = json!({ "review_id": review, "reviewer_id": "mallory" });
    for (path, body) in [
        ("/mcp", tool_call("claim_review", claim.clone())),
        ("/mcp/reviewer", tool_call("claim_review", claim.clone())),
        ("/api/v1/reviews/R-1/claim", json!({ "reviewer_id": "mallory" })),
        ("/api/v1/ws-ticket", json!({})),
    ] {
        let (status, refused) = post(&broker, path, None, &body).await;
        assert_eq!((status, &refused["code"]), (401, &json!("token_needed")), "{path}: {refused}");
        let error = refused["error"].as_str().unwrap();
        for part in ["uid 12345", "countersign token create", "COUNTERSIGN_TOKEN"] {
            assert!(error.contains(part), "{error}");
        }
    }
    for path in ["/api/v1/reviews", "/api/v1/events", "/ws", "/metrics", "/debug/actors", "/no/such/page"] {
        let (status, refused) = get(&broker, path, None).await;
        assert_eq!((status, &refused["code"]), (401, &json!("token_needed")), "{path}: {refused}");
    }
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn another_user_may_call_with_a_token_and_see_public_pages_without_one() {
    if is_skipped("a caller of another user with a token") {
        return;
    }
    let broker = TestBroker::start().await;
    let review = id(&broker.client().call("create_review", proposal("count in words")).await);
    let token = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let claim = tool_call("claim_review", json!({ "review_id": review }));
    let (status, claimed) = post(&broker, "/mcp", Some(&token), &claim).await;
    assert_eq!((status, &claimed["result"]["isError"]), (200, &json!(false)), "{claimed}");
    assert_eq!(broker.client().status(&review).await["status"], "claimed");

    assert_eq!(get(&broker, "/healthz", None).await.1["status"], "ok");
    assert_eq!(get(&broker, "/readyz", None).await.1["status"], "ready");
    let (_, whoami) = get(&broker, "/api/v1/whoami", None).await;
    assert_eq!((&whoami["token_required"], &whoami["suggested_name"]), (&json!(true), &json!("")));
    let own: Value = reqwest::get(broker.url("/api/v1/whoami")).await.unwrap().json().await.unwrap();
    assert_eq!(own["token_required"], false, "the own user needs none");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_operator_can_let_every_local_user_in() {
    if is_skipped("auth.local_users = \"any\"") {
        return;
    }
    let broker = TestBroker::with_settings("[auth]\nlocal_users = \"any\"\n").await;
    assert_eq!(get(&broker, "/api/v1/reviews", None).await.0, 200);
    assert!(broker.log().contains("any process that reaches the port"), "{}", broker.log());
}

#[tokio::test]
async fn another_user_cannot_read_the_data_folder() {
    if is_skipped("the permissions of the data folder") {
        return;
    }
    let broker = TestBroker::start().await;
    broker.client().call("create_review", proposal("count in words")).await;
    // Only the data folder itself protects its files.
    std::fs::set_permissions(broker.home(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let data = broker.data_dir();
    assert!(other_user::script(&format!("test -x {}", broker.home().display())).await.status.success());
    for file in ["", "countersign.db", "operator.token", "broker.json"] {
        let path = data.join(file);
        assert!(path.exists(), "{file}");
        let read = other_user::script(&format!("ls {0} && cat {0}", path.display())).await;
        assert!(!read.status.success() && read.stdout.is_empty(), "{file}: {read:?}");
    }
}

/// Runs the broker as another user than the test, which is root.
async fn broker_of_another_user(settings: &str) -> TestBroker {
    // The last argument is the repository.
    const PRELUDE: &str = "for repo; do :; done; chown -R 12345:12345 . \"$repo\"\n\
                           exec setpriv --reuid=12345 --regid=12345 --clear-groups -- \"$0\" \"$@\"";
    TestBroker::with_prelude_in(PRELUDE, TempDir::new().unwrap(), settings).await
}

#[tokio::test]
async fn root_needs_a_token_too() {
    if broker_is_skipped("a broker of another user").await {
        return;
    }
    let broker = broker_of_another_user("").await;
    assert_eq!(std::fs::metadata(broker.data_dir()).unwrap().uid(), OTHER_UID);
    let answer = reqwest::get(broker.url("/api/v1/reviews")).await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("uid 0"));
    assert_eq!(get(&broker, "/api/v1/reviews", None).await.0, 200, "its own user needs none");
    // The commands find the token in the data folder, which root can read.
    let token = std::fs::read_to_string(broker.data_dir().join("operator.token")).unwrap();
    let authorized = reqwest::Client::new().get(broker.url("/api/v1/reviews")).bearer_auth(token.trim());
    assert_eq!(authorized.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn processes_of_the_same_user_cannot_inspect_the_broker() {
    if broker_is_skipped("a broker of another user").await {
        return;
    }
    let broker = broker_of_another_user("").await;
    let process = format!("/proc/{}", broker.pid());
    for (what, script) in [
        ("environment", format!("cat {process}/environ")),
        ("memory", format!("head -c 1 {process}/mem")),
        ("open files", format!("ls {process}/fd")),
        ("folder", format!("ls {process}/cwd/")),
    ] {
        let read = other_user::script(&script).await;
        assert!(!read.status.success() && read.stdout.is_empty(), "{what}: {read:?}");
    }
}

#[tokio::test]
async fn a_broker_without_privileges_runs_its_reviewers() {
    if broker_is_skipped("the pool of a broker of another user").await {
        return;
    }
    let script = format!("test -x {}", std::env::current_exe().unwrap().display());
    if !other_user::script(&script).await.status.success() {
        eprintln!("SKIPPED, because other users cannot run this test binary");
        return;
    }
    let broker = broker_of_another_user(&pool(ReviewerScript::Approves, "max_size = 1")).await;
    let operator = std::fs::read_to_string(broker.data_dir().join("operator.token")).unwrap();
    let client = broker.client().with_token(operator.trim());
    // Git of root does not read a repository of another user.
    let diff = testkit::Repo::new().diff("zwei");
    let proposal = proposal_with("count in German", json!({ "diff": diff, "proposer_id": "author" }));
    let review = id(&client.call("create_review", proposal).await);
    wait_until("it is approved", async || (client.status(&review).await["status"] == "approved").then_some(())).await;
    let pool = client.call("list_reviewers", json!({})).await;
    let shim = &pool["reviewers"][0]["pid"];
    assert_eq!(std::fs::metadata(format!("/proc/{shim}")).unwrap().uid(), OTHER_UID, "{pool}");
}
