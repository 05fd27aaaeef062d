//! Tokens: identity, role and project of a caller.

use crate::support::{
    broker::{TIMEOUT, TestBroker, countersign},
    client::{TestClient, id, proposal, proposal_with},
    mcp_bridge::Bridge,
    reviews::{column, last_event, review_in, with},
    tokens::{create_token, list_tokens, operator_secret, token, token_stdout},
    tool_calls::{arguments_for, tools},
};
use countersign::http::Route;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, process::Stdio};
use testkit::Repo;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

const REQUIRED: &str = "[auth]\nrequired = true\n";

fn as_holder(broker: &TestBroker, secret: &str) -> TestClient {
    broker.client().with_token(secret)
}

/// Status, code and `WWW-Authenticate` of a request with these `Authorization` headers.
async fn knock(broker: &TestBroker, path: &str, headers: &[&str]) -> (u16, String, Option<String>) {
    let is_mcp = path.starts_with("/mcp");
    let http = reqwest::Client::new();
    let is_ticket = [Route::Ticket, Route::Session, Route::SessionCodes].iter().any(|route| route.path() == path);
    // A stream that ends by itself.
    let target = if path == Route::Events.path() { format!("{path}?follow=false") } else { path.to_owned() };
    let is_post = is_mcp || is_ticket;
    let mut request = if is_post { http.post(broker.url(&target)) } else { http.get(broker.url(&target)) };
    if is_ticket {
        request = request.json(&json!({}));
    }
    if is_mcp {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        request = request.header("accept", "application/json, text/event-stream").json(&ping);
    }
    for header in headers {
        request = request.header("authorization", *header);
    }
    let answer = request.send().await.unwrap();
    let challenge = answer.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap_or_default();
    (status, body["code"].as_str().unwrap_or_default().to_owned(), challenge)
}

/// The HTTP status of an operation without arguments.
async fn ask(broker: &TestBroker, operation: &::api::Route, authorization: Option<&str>) -> u16 {
    let request = reqwest::Client::new().request(operation.method.clone(), broker.url(operation.path));
    let request = request.header("content-type", "application/json");
    let request = authorization.into_iter().fold(request, |request, value| request.header("authorization", value));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_token_is_created_listed_and_revoked_while_the_broker_runs() {
    let broker = TestBroker::start().await;
    let home = broker.home();
    let review = broker.client().submit("to be claimed").await;
    let secret = create_token(home, "reviewer", "ada", &[]).await;
    assert!(secret.starts_with("cs_") && secret.len() == 67, "the secret stands alone on stdout: {secret}");
    let more = ["create", "--role", "operator", "--name", "boss", "--project", "project", "--json"];
    let second: Value = serde_json::from_str(&token_stdout(home, &more).await).unwrap();
    assert_eq!(
        (&second["role"], &second["name"], &second["project"]),
        (&json!("operator"), &json!("boss"), &json!("project"))
    );
    let rows = list_tokens(home).await;
    assert_eq!(rows.iter().map(|row| &row["name"]).collect::<Vec<_>>(), ["ada", "boss"]);
    assert!(rows.iter().all(|row| row["revoked_at"].is_null() && row.get("token").is_none()));
    let drawn = token_stdout(home, &["list"]).await;
    assert!(drawn.contains("ada") && drawn.contains("reviewer") && !drawn.contains(&secret), "{drawn}");

    let ada = as_holder(&broker, &secret);
    let claim = ada.call("claim_review", json!({ "review_id": review })).await;
    assert_eq!(claim["claimed_by"], "ada");
    let output = token(home, &["revoke", "ada"]).await;
    assert!(output.status.success() && output.stdout.is_empty());
    for path in Route::all().map(Route::path) {
        let (status, code, _) = knock(&broker, path, &[&format!("Bearer {secret}")]).await;
        assert_eq!((status, code.as_str()), (401, "unknown_token"), "{path}");
    }
    token_stdout(home, &["revoke", &second["id"].to_string()]).await;
    assert!(list_tokens(home).await.iter().all(|row| row["revoked_at"].is_string()));
    let gone = token(home, &["revoke", "ada"]).await;
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no active token"));
    let log = broker.log();
    let line = log.lines().find(|line| line.contains("claim_review")).unwrap();
    assert!(line.contains("caller=\"ada\"") || line.contains("caller=ada"), "{line}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn tokens_can_be_managed_without_a_broker() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(list_tokens(home.path()).await, Vec::<Value>::new());
    assert_eq!(token(home.path(), &["revoke", "1"]).await.status.code(), Some(1));
    assert!(!home.path().join("data").exists(), "a look leaves no trace");

    let (ada, bob) = (
        create_token(home.path(), "reviewer", "ada", &[]).await,
        create_token(home.path(), "reviewer", "bob", &[]).await,
    );
    token_stdout(home.path(), &["revoke", "bob"]).await;
    let database = home.path().join("data/countersign.db");
    assert_eq!(fs::metadata(&database).unwrap().permissions().mode() & 0o777, 0o600);
    let broker = TestBroker::in_home(home, "").await;
    let review = broker.client().submit("later").await;
    as_holder(&broker, &ada).call("claim_review", json!({ "review_id": review })).await;
    assert_eq!(knock(&broker, "/mcp", &[&format!("Bearer {bob}")]).await.0, 401);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_with_an_ambiguous_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let long = "x".repeat(201);
    for name in ["", " ", "operator", "broker-validator", "17", "a\u{1b}b", &long] {
        let output = token(home.path(), &["create", "--role", "reviewer", "--name", name]).await;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{name:?}");
    }
    let output = token(home.path(), &["create", "--role", "king", "--name", "ada"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(!home.path().join("data").exists());
}

#[tokio::test]
async fn an_invalid_token_is_rejected_on_every_route() {
    for settings in ["", REQUIRED] {
        let broker = TestBroker::with_settings(settings).await;
        let own = format!("Bearer {}", operator_secret(&broker));
        let unknown = format!("Bearer cs_{}", "0".repeat(64));
        let wrong: [&[&str]; 7] = [
            &[&unknown],
            &["Bearer"],
            &["Bearer nonsense"],
            &["Basic Y3M6Y3M="],
            &["cs_0"],
            &[&own, &own],
            &[&own[..own.len() - 1]],
        ];
        for path in Route::all().map(Route::path).chain(["/no/such/page"]) {
            for headers in wrong {
                let (status, code, challenge) = knock(&broker, path, headers).await;
                assert_eq!((status, code.as_str()), (401, "unknown_token"), "{path} {headers:?}");
                assert_eq!(challenge.as_deref(), Some("Bearer"));
            }
        }
        broker.stop_and_check().await;
    }
}

#[tokio::test]
async fn with_required_tokens_every_route_asks_for_one() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let reviewer = format!("Bearer {}", create_token(broker.home(), "reviewer", "ada", &[]).await);
    let operator = format!("Bearer {}", create_token(broker.home(), "operator", "boss", &[]).await);
    for route in Route::all() {
        let path = route.path();
        if let Route::Api(operation) = route {
            let (bare, by_reviewer) =
                (ask(&broker, operation, None).await, ask(&broker, operation, Some(&reviewer)).await);
            let is_public = path.ends_with("/openapi.json") || path.ends_with("/whoami");
            assert_eq!(bare == 401, !is_public, "{operation:?}: {bare}");
            assert_ne!(by_reviewer, 401, "{operation:?}");
            continue;
        }
        let bare = knock(&broker, path, &[]).await;
        let (status, code, _) = knock(&broker, path, &[&reviewer]).await;
        match route {
            Route::Health | Route::Ready | Route::Favicon => {
                assert_eq!((bare.0, status), (200, 200), "{path}");
            }
            // The path with its parameters names no file.
            Route::PageAsset => assert_eq!((bare.0, status), (404, 404), "{path}"),
            // Past the guard: a body without a code or a token.
            Route::Session => assert_eq!((bare.0, status), (400, 400), "{path}"),
            Route::Actors | Route::Metrics => {
                assert_eq!((bare.0, status, code.as_str()), (401, 403, "wrong_role"), "{path}");
            }
            Route::WebSocket => assert_eq!((bare.0, status, code.as_str()), (401, 426, "upgrade_required")),
            Route::Events | Route::Ticket | Route::SessionCodes | Route::Mcp(_) => {
                assert_eq!((bare.0, status), (401, 200), "{path}")
            }
            Route::Api(_) => {}
        }
        if bare.0 == 401 {
            assert_eq!((bare.1.as_str(), bare.2.as_deref()), ("token_needed", Some("Bearer")), "{path}");
        }
        for own in [&operator, &format!("Bearer {}", operator_secret(&broker))] {
            let others = [(Route::WebSocket, 426), (Route::PageAsset, 404), (Route::Session, 400)];
            let expected = others.iter().find(|(other, _)| *other == route).map_or(200, |(_, status)| *status);
            assert_eq!(knock(&broker, path, &[own]).await.0, expected, "{path}");
        }
    }
    assert_eq!(knock(&broker, "/no/such/page", &[]).await.1, "token_needed");
    assert_eq!(knock(&broker, "/no/such/page", &[&reviewer]).await.1, "not_found");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_tool_requires_the_right_role() {
    let broker = TestBroker::start().await;
    let names = async |path: &str| {
        let all = tools(&TestClient::new(broker.url(path))).await;
        all.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (all, proposers, reviewers) = (names("/mcp").await, names("/mcp/proposer").await, names("/mcp/reviewer").await);
    assert!(proposers.iter().chain(&reviewers).all(|name| all.contains(name)));
    for role in ["proposer", "reviewer", "operator"] {
        let client = as_holder(&broker, &create_token(broker.home(), role, &format!("the-{role}"), &[]).await);
        for tool in &all {
            let is_allowed = match role {
                "proposer" => proposers.contains(tool),
                "reviewer" => reviewers.contains(tool),
                _ => true,
            };
            // Authorization comes before validation of the arguments.
            let answer = client.try_call(tool, json!({ "no_such_argument": 1 })).await.unwrap_err();
            let expected = if is_allowed { json!("invalid_params") } else { json!("wrong_role") };
            assert_eq!(answer["code"], expected, "{role} {tool}: {answer}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_sets_the_identity_of_the_caller() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let home = broker.home();
    let eve = as_holder(&broker, &create_token(home, "proposer", "eve", &[]).await);
    let ada = as_holder(&broker, &create_token(home, "reviewer", "ada", &[]).await);
    let review = eve.submit("mine").await;
    let by_id = |more: Value| with(json!({ "review_id": review }), more);
    // A caller cannot review its own proposal, whatever its token.
    let own = as_holder(&broker, &create_token(home, "reviewer", "eve", &[]).await);
    own.refused("own_proposal", "claim_review", by_id(json!({}))).await;
    let claim = ada.call("claim_review", by_id(json!({}))).await;
    assert_eq!(claim["claimed_by"], "ada");
    let said = ada.call("add_message", by_id(json!({ "body": "why?" }))).await;
    assert_eq!(said["sender_role"], "reviewer");
    let said = eve.call("add_message", by_id(json!({ "body": "because" }))).await;
    assert_eq!(said["sender_role"], "proposer");
    ada.refused("wrong_role", "add_message", by_id(json!({ "body": "x", "sender_role": "proposer" }))).await;
    let at_the_wrong_door = TestClient::new(broker.url("/mcp/proposer"));
    let secret = create_token(home, "reviewer", "ada", &[]).await;
    at_the_wrong_door.with_token(&secret).refused("wrong_role", "add_message", by_id(json!({ "body": "x" }))).await;

    // Another reviewer has another name, and knowing the generation does not help it.
    let bob = as_holder(&broker, &create_token(home, "reviewer", "bob", &[]).await);
    let verdict = by_id(json!({ "verdict": "approved", "claim_generation": claim["claim_generation"] }));
    bob.refused("not_your_seat", "submit_verdict", verdict.clone()).await;
    ada.call("submit_verdict", verdict).await;
    // A proposer cannot change the review of another.
    let zoe = as_holder(&broker, &create_token(home, "proposer", "zoe", &[]).await);
    let mut refused = 0;
    for tool in tools(&TestClient::new(broker.url("/mcp/proposer")).with_token(&operator_secret(&broker))).await {
        let name = tool["name"].as_str().unwrap();
        let everyones = [
            "list_reviews",
            "get_proposal",
            "get_review_status",
            "add_message",
            "get_discussion",
            "list_issues",
            "update_issue",
            "get_review_timeline",
        ];
        if everyones.contains(&name) {
            continue;
        }
        let arguments = by_id(match name {
            "create_review" => json!({ "intent": "stolen" }),
            "cancel_review" => json!({ "reason": "stolen" }),
            "add_seat" => json!({ "reviewer": "security" }),
            _ => json!({}),
        });
        zoe.refused("not_the_proposer", name, arguments).await;
        refused += 1;
    }
    assert!(refused >= 5);
    zoe.refused("not_the_proposer", "add_message", by_id(json!({ "body": "x" }))).await;
    eve.call("close_review", by_id(json!({}))).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_cannot_act_under_another_name() {
    let broker = TestBroker::start().await;
    let home = broker.home();
    let reviewer = as_holder(&broker, &create_token(home, "reviewer", "ada", &[]).await);
    let proposer = as_holder(&broker, &create_token(home, "proposer", "claude-1", &[]).await);
    let operator = as_holder(&broker, &create_token(home, "operator", "boss", &[]).await);
    let mut checked = 0;
    for tool in tools(&broker.client()).await {
        let name = tool["name"].as_str().unwrap();
        for field in ["reviewer_id", "caller_id", "proposer_id"] {
            if tool["inputSchema"]["properties"].get(field).is_none() || name == "kill_reviewer" {
                continue;
            }
            let for_proposers = [
                "create_review",
                "add_seat",
                "accept_counter_patch",
                "reject_counter_patch",
                "cancel_review",
                "close_review",
            ];
            let client = if for_proposers.contains(&name) { &proposer } else { &reviewer };
            let mut arguments = arguments_for(name, &broker).await;
            arguments.as_object_mut().unwrap().remove("role");
            let error = client.refused("wrong_identity", name, with(arguments, json!({ field: "mallory" }))).await;
            assert_eq!(error["field"], field, "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 7, "{checked}");
    let review = review_in(&broker.client(), "pending").await;
    let claim = json!({ "review_id": review, "reviewer_id": "bob" });
    assert_eq!(operator.call("claim_review", claim).await["claimed_by"], "bob");

    // Without token and name the error says what is missing; commands of the local user have no name.
    let pending = review_in(&broker.client(), "pending").await;
    for client in [broker.client(), as_holder(&broker, &operator_secret(&broker))] {
        let error = client.refused("invalid_params", "claim_review", json!({ "review_id": pending })).await;
        assert_eq!(error["field"], "reviewer_id", "{error}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_is_limited_to_its_project() {
    let web = Repo::new();
    let broker = TestBroker::with_settings(&format!("[projects.web]\npath = {:?}\n", web.path())).await;
    let home = broker.home();
    let bound = |name: &'static str| ["--project", name];
    let proposer = as_holder(&broker, &create_token(home, "proposer", "eve", &bound("web")).await);
    let reviewer = as_holder(&broker, &create_token(home, "reviewer", "ada", &bound("web")).await);
    let inside = id(&broker.client().call("create_review", proposal_with("in", json!({ "project": "web" }))).await);
    let outside = broker.client().submit("out").await;
    for tool in tools(&broker.client()).await {
        let name = tool["name"].as_str().unwrap();
        // The log is only for operators: `history.rs` tests it.
        let is_log = ["get_audit_log", "get_activity_feed"].contains(&name);
        if tool["inputSchema"]["properties"].get("review_id").is_none() || is_log {
            continue;
        }
        // All calls are about the broker's own project.
        let mut arguments = arguments_for(name, &broker).await;
        if name == "create_review" {
            arguments = json!({ "review_id": outside, "intent": "revised" });
        }
        let mut refusals = 0;
        for client in [&proposer, &reviewer] {
            let mut arguments = arguments.clone();
            for field in ["caller_id", "reviewer_id", "sender_role", "role"] {
                arguments.as_object_mut().unwrap().remove(field);
            }
            match client.try_call(name, arguments).await.unwrap_err()["code"].as_str() {
                Some("wrong_project") => refusals += 1,
                Some("wrong_role") => {}
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(refusals > 0, "{name} was never refused for its project");
    }
    for client in [&proposer, &reviewer] {
        for query in [json!({}), json!({ "status": "pending" }), json!({ "project": "web" })] {
            let rows = client.call("list_reviews", query.clone()).await;
            assert_eq!(column(&rows["reviews"], "review_id"), [json!(inside)], "{query}");
        }
        for query in [json!({ "project": "project" }), json!({ "projects": ["web", "project"] })] {
            client.refused("wrong_project", "list_reviews", query).await;
        }
        let resources = client.request("resources/list", json!({})).await.unwrap();
        let uris = column(&resources["resources"], "uri");
        assert_eq!(uris, ["review://queue".to_owned(), format!("review://{inside}")]);
        let queue = client.request("resources/read", json!({ "uri": "review://queue" })).await.unwrap();
        let queue: Value = serde_json::from_str(queue["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(column(&queue["reviews"], "review_id"), [json!(inside)]);
        let error =
            client.request("resources/read", json!({ "uri": format!("review://{outside}") })).await.unwrap_err();
        assert_eq!(error["data"]["code"], "wrong_project", "{error}");
        client.request("resources/read", json!({ "uri": format!("review://{inside}") })).await.unwrap();
    }
    let elsewhere = proposal_with("elsewhere", json!({ "project": "project" }));
    proposer.refused("wrong_project", "create_review", elsewhere).await;
    let own = proposer.submit("at home").await;
    let shown = broker.client().call("get_proposal", json!({ "review_id": own })).await;
    assert_eq!((&shown["project"], &shown["proposer_id"]), (&json!("web"), &json!("eve")), "{shown}");
    reviewer.call("claim_review", json!({ "review_id": own })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn log_and_database_contain_no_secret() {
    let broker = TestBroker::with_settings("[log]\nfilter = \"trace\"\n[auth]\nrequired = true\n").await;
    let ada = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let operator = operator_secret(&broker);
    let unknown = format!("cs_{}", "7".repeat(64));
    as_holder(&broker, &ada).call("list_reviews", json!({})).await;
    as_holder(&broker, &operator).submit("logged").await;
    knock(&broker, "/mcp", &[&format!("Bearer {unknown}")]).await;
    knock(&broker, "/debug/actors", &[&format!("Bearer {ada}")]).await;
    let files: Vec<_> = fs::read_dir(broker.data_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut texts = vec![("the log".to_owned(), broker.log().into_bytes())];
    for file in files.into_iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name != "operator.token" {
            texts.push((name, fs::read(file).unwrap()));
        }
    }
    assert!(texts.iter().any(|(name, text)| name.starts_with("countersign.db") && !text.is_empty()));
    for (name, text) in &texts {
        for secret in [&ada, &operator, &unknown] {
            let digits = secret.strip_prefix("cs_").unwrap().as_bytes();
            assert!(!text.windows(digits.len()).any(|part| part == digits), "a secret in {name}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_text_that_quotes_a_live_token_is_refused() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let (ada, operator) = (create_token(broker.home(), "reviewer", "ada", &[]).await, operator_secret(&broker));
    let quoting = |given: &Value, secret: &str| match given {
        Value::String(text) => json!(format!("{text} {secret}")),
        Value::Object(_) => json!({ "files": [format!("a.rs {secret}")] }),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => panic!("{other}"),
    };
    let mut scenes = Vec::new();
    for (tool, fields) in [
        ("create_review", &["intent", "description", "diff", "plan", "task", "proposer_id", "idempotency_key"][..]),
        ("create_review", &["agent_type", "agent_role", "phase"]),
        ("claim_review", &["reviewer_id"]),
        ("submit_verdict", &["reason", "summary", "counter_patch"]),
        ("add_message", &["body", "metadata", "caller_id"]),
        ("cancel_review", &["reason"]),
        ("release_claim", &["reason"]),
    ] {
        scenes.push((tool, arguments_for(tool, &broker).await, fields));
    }
    let returned = review_in(&client, "changes_requested").await;
    let revision = json!({ "review_id": returned, "intent": "again", "description": "fixed" });
    scenes.push(("create_review", revision, &["intent", "description"]));
    let before = last_event(&client).await;
    for (tool, arguments, fields) in &scenes {
        for (field, secret) in fields.iter().flat_map(|field| [(*field, &ada), (*field, &operator)]) {
            let quoted = with(arguments.clone(), json!({ field: quoting(&arguments[field], secret) }));
            let refused = client.refused("contains_secret", tool, quoted).await;
            assert_eq!(refused["field"], field, "{tool}");
            assert!(!refused.to_string().contains(secret.as_str()), "{tool} {field}");
        }
    }
    assert_eq!(last_event(&client).await, before);
    // A revoked token may appear in texts.
    token_stdout(broker.home(), &["revoke", "ada"]).await;
    let unknown = format!("cs_{}", "7".repeat(64));
    client.submit(&format!("docs_cs_ and {ada} and {unknown}")).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn commands_of_the_local_user_need_no_token() {
    let mut broker = TestBroker::with_settings(REQUIRED).await;
    let path = broker.data_dir().join("operator.token");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let first = operator_secret(&broker);
    let data_dir = broker.data_dir().to_str().unwrap().to_owned();
    let actors = async |broker: &TestBroker, options: &[&str], given: Option<&str>| {
        let mut command = countersign(broker.home());
        command.arg("actors").args(options);
        command.envs(given.map(|token| ("COUNTERSIGN_TOKEN", token)));
        let output = command.output().await.unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let here = ["--data-dir", &data_dir];
    assert!(actors(&broker, &here, None).await.0);
    let reviewer = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let (done, words) = actors(&broker, &here, Some(&reviewer)).await;
    assert!(!done && words.contains("wrong_role") && !words.contains(&reviewer), "{words}");
    // The secret of this data dir is not sent to another address.
    let url = broker.url("/");
    let (done, words) = actors(&broker, &["--url", &url], None).await;
    assert!(!done && words.contains("token_needed"), "{words}");
    assert!(actors(&broker, &["--url", &url], Some(&first)).await.0);

    let mut bridge = broker.bridge(&[]);
    let review = id(&bridge.call("create_review", proposal("over stdio")).await);
    let mut command = countersign(broker.home());
    command.args(["mcp", "--data-dir", &data_dir]).env("COUNTERSIGN_TOKEN", &reviewer);
    let mut reviewers = Bridge::start(command, broker.home());
    let claim = reviewers.call("claim_review", json!({ "review_id": review })).await;
    assert_eq!(claim["claimed_by"], "ada");

    broker.kill().await;
    let mut broker = broker.restarted().await;
    let second = operator_secret(&broker);
    assert_ne!(first, second, "a secret is good for one run");
    assert_eq!(knock(&broker, "/mcp", &[&format!("Bearer {first}")]).await.0, 401);
    bridge.call("get_review_status", json!({ "review_id": review })).await;
    reviewers.call("get_review_status", json!({ "review_id": review })).await;
    assert!(broker.terminate().await.success());
    assert!(!path.exists());
}

#[tokio::test]
async fn remote_callers_need_a_token_and_a_configured_host_name() {
    let home = tempfile::tempdir().unwrap();
    let settings = "[auth]\nrequired = true\n[server]\nlisten = \"0.0.0.0:0\"\nhosts = [\"broker.lan\"]\n";
    fs::write(home.path().join("config.toml"), settings).unwrap();
    let mut command = countersign(home.path());
    command.args(["serve", "--config", "config.toml", "--data-dir", "data"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = timeout(TIMEOUT, lines.next_line()).await.expect("it listens").unwrap().unwrap();
    let port = line.strip_prefix("listening http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
    let url = format!("http://127.0.0.1:{port}");
    let ask = async |host: &str, token: Option<&str>| {
        let mut request = reqwest::Client::new().get(format!("{url}/debug/actors")).header("host", host);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap().status().as_u16()
    };
    let secret = create_token(home.path(), "operator", "boss", &[]).await;
    for name in ["127.0.0.1", "localhost", "broker.lan", "BROKER.lan"] {
        let host = format!("{name}:{port}");
        assert_eq!((ask(&host, Some(&secret)).await, ask(&host, None).await), (200, 401), "{host}");
    }
    for host in [format!("0.0.0.0:{port}"), format!("evil.example:{port}"), "broker.lan:1".to_owned()] {
        assert_eq!(ask(&host, Some(&secret)).await, 403, "{host}");
    }
    let client = TestClient::new(format!("{url}/mcp")).with_token(&secret);
    client.call("list_reviews", json!({})).await;
    let output = countersign(home.path()).args(["actors", "--data-dir", "data"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
