//! The OpenAPI description of the REST API, and the tokens that each operation requires.

use crate::support::{
    broker::TestBroker,
    client::proposal_with,
    json_schema::violations,
    rest_client::{Answer, RestClient, encoded, sent},
    reviews::with,
    schemathesis,
    tokens::{create_token, operator_secret},
    tool_calls::arguments_for,
};
use ::api::{openapi::document, operation::ROUTES};
use countersign::http::Route;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Operations that are not tools and not for every caller.
const OPERATORS_PAGES: &[&str] = &[
    "list_approvals",
    "get_approval",
    "export_audit_log",
    "get_event",
    "get_daily_stats",
    "get_config",
    "get_actors",
    "get_reviewer_logs",
    "follow_reviewer_logs",
    "control_pool",
    "stop_reviewers",
    "register_project",
    "remove_project",
    "list_webhooks",
    "list_dead_deliveries",
    "redeliver",
    "drop_dead_deliveries",
];

#[tokio::test]
async fn the_broker_serves_the_openapi_document() {
    let broker = TestBroker::start().await;
    let served = broker.rest().get("/openapi.json").await.is(200);
    assert_eq!(served, *document());
    broker.stop_and_check().await;
}

#[test]
fn every_route_is_described() {
    let described: BTreeSet<_> = document()["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    let methods = |route: Route| match route {
        Route::Api(operation) => vec![operation.method.as_str()],
        Route::Ticket | Route::SessionCodes => vec!["POST"],
        Route::Session => vec!["POST", "DELETE"],
        Route::Health
        | Route::Ready
        | Route::Actors
        | Route::Metrics
        | Route::Events
        | Route::WebSocket
        | Route::PageAsset
        | Route::Favicon
        | Route::Mcp(_) => vec!["GET"],
    };
    let routed: BTreeSet<_> = Route::all()
        .filter(|route| route.path().starts_with("/api/"))
        .flat_map(|route| methods(route).into_iter().map(move |method| (method.to_owned(), route.path().to_owned())))
        .collect();
    assert_eq!(described, routed);
    let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.id).collect();
    assert_eq!(ids.len(), ROUTES.len(), "every route has an id of its own");
}

/// The operations that call a tool of `tool_calls`.
fn with_scene() -> impl Iterator<Item = (&'static ::api::Route, &'static Value, &'static str)> {
    ROUTES.iter().filter_map(|operation| {
        let described = described(operation);
        let tool = described["x-tool"].as_str()?;
        (!["spawn_reviewer", "kill_reviewer"].contains(&tool)).then_some((operation, described, tool))
    })
}

fn described(operation: &::api::Route) -> &'static Value {
    &document()["paths"][operation.path][operation.method.as_str().to_lowercase()]
}

/// Sends the arguments of a tool as the description says: in the path, the query or the body.
async fn perform(rest: &RestClient, operation: &::api::Route, mut arguments: Map<String, Value>) -> Answer {
    let (mut path, mut query) = (operation.path.to_owned(), Vec::new());
    for parameter in described(operation)["parameters"].as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        let Some(value) = arguments.remove(name) else { continue };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (parameter["in"].as_str().unwrap(), &value) {
            ("path", value) => path = path.replace(&format!("{{{name}}}"), &text(value)),
            (_, Value::Array(items)) => query.extend(items.iter().map(|item| (name.to_owned(), text(item)))),
            (_, value) => query.push((name.to_owned(), text(value))),
        }
    }
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let request = rest.request(operation.method.as_str(), &format!("{path}?{}", query.join("&")));
    match described(operation).get("requestBody") {
        Some(_) => sent(request.body(Value::Object(arguments).to_string())).await,
        None => {
            assert!(arguments.is_empty(), "{}: {arguments:?} are not described", operation.id);
            sent(request).await
        }
    }
}

/// Creates a review for an operation and returns the arguments of a call.
async fn scene(operation: &::api::Route, tool: &str, broker: &TestBroker) -> Map<String, Value> {
    let mut arguments = arguments_for(tool, broker).await;
    match operation.id {
        "resubmit_review" => {
            let rest = broker.rest();
            let made = rest.post("/reviews", proposal_with("to be revised", json!({}))).await.is(201);
            let id = made["review_id"].as_str().unwrap();
            rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": "ada" })).await.is(200);
            let verdict = json!({ "verdict": "changes_requested", "reviewer_id": "ada", "reason": "more" });
            rest.post(&format!("/reviews/{id}/verdict"), verdict).await.is(200);
            arguments = json!({ "review_id": id, "intent": "again", "diff": broker.repo().diff("zwei") });
        }
        "list_issues" => drop(arguments.as_object_mut().unwrap().remove("review_id")),
        "get_patch" => drop(arguments.as_object_mut().unwrap().remove("file")),
        "get_counter_patch" => {
            let rest = broker.rest();
            let diff = |word: &str| broker.repo().diff(word);
            let made = rest.post("/reviews", proposal_with("patched", json!({ "diff": diff("zwei") }))).await.is(201);
            let id = made["review_id"].as_str().unwrap();
            rest.post(&format!("/reviews/{id}/claim"), json!({ "reviewer_id": "ada" })).await.is(200);
            let verdict = json!({
                "verdict": "comment", "reviewer_id": "ada", "reason": "more", "counter_patch": diff("dos"),
            });
            rest.post(&format!("/reviews/{id}/verdict"), verdict).await.is(200);
            arguments = json!({ "review_id": id, "persona": "general", "round": 1 });
        }
        "get_round_diff" => arguments = with(arguments, json!({ "round": 1 })),
        _ => {}
    }
    arguments.as_object().unwrap().clone()
}

#[tokio::test]
async fn every_response_matches_its_description() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    for (operation, described, tool) in with_scene() {
        let arguments = scene(operation, tool, &broker).await;
        let answer = perform(&rest, operation, arguments).await;
        let good = &described["responses"][answer.status.to_string()];
        assert!(answer.status < 300 && good.is_object(), "{}: {answer:?}", operation.id);
        let content = &good["content"][answer.kind()];
        assert!(content.is_object(), "{}: {answer:?}", operation.id);
        assert_eq!(good["headers"]["ETag"].is_object(), answer.header("etag").is_some(), "{}", operation.id);
        if let Some(name) = content["schema"]["$ref"].as_str() {
            let schema = document().pointer(&name[1..]).expect("a named schema");
            assert_eq!(violations(schema, &answer.json()), [] as [String; 0], "{}", operation.id);
            assert!(schema["required"].is_array(), "{}: an answer always has some fields", operation.id);
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_operation_on_an_unknown_review_is_a_404() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    for (operation, _, tool) in with_scene().filter(|(operation, ..)| operation.path.contains("{review_id}")) {
        let mut arguments = scene(operation, tool, &broker).await;
        arguments.insert("review_id".into(), "R-9999".into());
        perform(&rest, operation, arguments.clone()).await.refused(404, "unknown_review");
        let problem = described(operation)["responses"]["4XX"]["$ref"].as_str().unwrap();
        let content = document().pointer(&problem[1..]).unwrap()["content"].as_object().unwrap();
        assert!(content.contains_key("application/problem+json"));
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_operation_requires_the_documented_role() {
    let broker = TestBroker::start().await;
    let proposers =
        ["create_review", "cancel_review", "close_review", "accept_counter_patch", "reject_counter_patch", "add_seat"];
    let reviewers = ["claim_review", "release_claim", "take_over", "submit_verdict"];
    let operators =
        ["list_reviewers", "spawn_reviewer", "kill_reviewer", "get_activity_feed", "get_audit_log", "get_review_stats"];
    for role in ["proposer", "reviewer", "operator"] {
        let secret = create_token(broker.home(), role, &format!("the-{role}"), &[]).await;
        let rest = broker.rest().with_token(&secret);
        for operation in ROUTES {
            let tool = described(operation)["x-tool"].as_str();
            let is_allowed = role == "operator"
                || match tool {
                    Some(tool) if proposers.contains(&tool) => role == "proposer",
                    Some(tool) if reviewers.contains(&tool) => role == "reviewer",
                    Some(tool) => !operators.contains(&tool),
                    None => !OPERATORS_PAGES.contains(&operation.id),
                };
            // Authorization comes before validation of the arguments.
            let arguments = Map::from_iter([("no_such_argument".to_owned(), json!(1))]);
            let (method, path) = (operation.method.as_str(), operation.path.replace(['{', '}'], ""));
            let answer = match method {
                "POST" | "PATCH" => sent(rest.request(method, &path).body(Value::Object(arguments).to_string())).await,
                _ => sent(rest.request(method, &format!("{path}?no_such_argument=1"))).await,
            };
            match is_allowed {
                false => drop(answer.refused(403, "wrong_role")),
                true => drop(answer.refused(400, "invalid_params")),
            }
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_is_limited_to_its_project_and_name() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    let home = broker.home();
    let eve = broker.rest().with_token(&create_token(home, "proposer", "eve", &[]).await);
    let mallory = broker.rest().with_token(&create_token(home, "proposer", "mallory", &[]).await);
    let ada = broker.rest().with_token(&create_token(home, "reviewer", "ada", &[]).await);
    let proposal = proposal_with("mine", json!({}));
    let made_review = eve.post("/reviews", proposal.clone()).await.is(201);
    let at = format!("/reviews/{}", made_review["review_id"].as_str().unwrap());
    broker.rest().get(&at).await.refused(401, "token_needed");
    mallory.delete(&format!("{at}?reason=spite")).await.refused(403, "not_the_proposer");
    ada.post("/reviews", proposal).await.refused(403, "wrong_role");
    ada.post("/reviewers", json!({})).await.refused(403, "wrong_role");
    eve.post(&format!("{at}/verdict"), json!({ "verdict": "approved" })).await.refused(403, "wrong_role");
    ada.post(&format!("{at}/claim"), json!({ "reviewer_id": "bob" })).await.refused(403, "wrong_identity");
    // The token says who it is and in which role it speaks.
    assert_eq!(ada.post(&format!("{at}/claim"), json!({})).await.is(200)["claimed_by"], "ada");
    let said = ada.post(&format!("{at}/messages"), json!({ "body": "hello" })).await.is(200);
    assert_eq!(said["sender_role"], "reviewer");
    let elsewhere = broker.rest().with_token(&create_token(home, "operator", "guest", &["--project", "other"]).await);
    elsewhere.get(&at).await.refused(403, "wrong_project");
    elsewhere.get("/reviewers/codex-r1/logs").await.refused(404, "unknown_reviewer");
    // Pages about all projects are not for tokens of one project.
    for path in ["/config", "/actors"] {
        elsewhere.get(path).await.refused(403, "wrong_project");
        ada.get(path).await.refused(403, "wrong_role");
    }
    for path in ["/metrics", "/debug/actors"] {
        let ask = async |secret: &str| sent(reqwest::Client::new().get(broker.url(path)).bearer_auth(secret)).await;
        ask(&create_token(home, "operator", &format!("guest of {path}"), &["--project", "other"]).await)
            .await
            .refused(403, "wrong_project");
        assert_eq!(ask(&operator_secret(&broker)).await.status, 200);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn pages_for_operators_contain_no_secret() {
    let settings =
        "[pool]\nruntime = \"command\"\ncommand = [\"agent\", \"--key\", \"hunter2\"]\nenvironment = [\"HOME\"]\n";
    let broker = TestBroker::with_settings(settings).await;
    let rest = broker.rest_as_operator();
    let config = rest.get("/config").await;
    let value = |name: &str| {
        let config = config.is(200);
        let setting = config["settings"].as_array().unwrap().iter().find(|row| row["name"] == name).cloned();
        setting.unwrap()["value"].clone()
    };
    assert_eq!(value("pool.command"), json!(["agent", "(hidden)", "(hidden)"]));
    assert_eq!(value("pool.environment"), json!(["HOME"]), "names, and no values");
    assert!(!config.text.contains("hunter2"), "{}", config.text);
    let personas = rest.get("/personas").await.is(200);
    let names: Vec<_> = personas["personas"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["architecture", "general", "performance", "security", "tests"]);
    let schema = &document()["components"]["schemas"];
    assert_eq!(violations(&schema["ListPersonasResponse"], &personas), [] as [String; 0]);
    assert_eq!(rest.get("/actors").await.is(200)["root"]["kind"], "supervisor");

    let folder = broker.data_dir().join("reviewers");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("codex-r1-a7f3b2e1.log"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(broker.data_dir().join("outside.log"), "not yours\n").unwrap();
    let log = rest.get("/reviewers/codex-r1/logs?lines=2").await.is(200);
    assert_eq!(violations(&schema["ReviewerLogResponse"], &log), [] as [String; 0]);
    assert_eq!(
        log,
        json!({ "reviewer_id": "codex-r1-a7f3b2e1", "text": "two\nthree\n", "from": 4, "next": 14, "total_bytes": 14,
                "dropped_bytes": 0, "truncated": true, "ended": true })
    );
    for outside in ["..%2Foutside", "%2e%2e%2foutside"] {
        rest.get(&format!("/reviewers/{outside}/logs")).await.refused(404, "no_log");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_unknown_path_is_a_problem_response() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    rest.get("/nothing").await.refused(404, "not_found");
    rest.get("/reviews/").await.refused(404, "not_found");
    let answer = sent(rest.request("PUT", "/reviews")).await;
    answer.refused(405, "method_not_allowed");
    let allowed: BTreeSet<_> = answer.header("allow").unwrap().split(',').collect();
    assert_eq!(allowed, BTreeSet::from(["GET", "HEAD", "POST"]));
    let form = reqwest::Client::new().post(broker.url("/api/v1/reviews")).header("content-type", "text/plain");
    sent(form.body("{}")).await.refused(415, "unsupported_media_type");
    let head = sent(rest.request("HEAD", "/reviews")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn no_generated_request_is_answered_outside_the_description() {
    if schemathesis::is_skipped() {
        return;
    }
    // Do not wait for events that never come.
    let broker = TestBroker::with_settings("[wait]\ndefault = \"100ms\"\nmax = \"1s\"\n").await;
    let client = broker.client();
    let proposal = proposal_with("to be found", json!({ "diff": broker.repo().diff("zwei") }));
    let review = client.call("create_review", proposal).await["review_id"].as_str().unwrap().to_owned();
    client.claim(&review, "ada").await;
    let issue = json!([{ "severity": "low", "title": "a nit" }]);
    let comment =
        json!({ "review_id": review, "reviewer_id": "ada", "verdict": "comment", "reason": "so", "issues": issue });
    client.call("submit_verdict", comment).await;
    schemathesis::run(&broker).await;
    broker.stop_and_check().await;
}
