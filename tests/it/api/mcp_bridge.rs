//! `countersign mcp`: the bridge between a client's stdin and stdout and the broker.

use crate::support::{
    broker::{TestBroker, countersign},
    client::{id, proposal, proposal_with},
    command::command_in,
    mcp_bridge::{Bridge, Unserved},
    reviews,
    wait_until::wait_until,
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::{collections::HashSet, net::TcpListener};
use testkit::Repo;
use tokio::process::Command;

fn tool(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// The processes that serve, or are about to serve, this data dir.
async fn servers_of(place: &Unserved) -> Vec<String> {
    let all = Command::new("ps").args(["-eo", "pid=,args="]).output().await.unwrap();
    let data_dir = place.data_dir().to_str().unwrap().to_owned();
    let is_ours = |line: &&str| line.contains(" serve ") && line.contains(&data_dir);
    String::from_utf8_lossy(&all.stdout).lines().filter(is_ours).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_bridge_starts_a_missing_broker_and_leaves_it_running() {
    let place = Unserved::new();
    let mut bridge = place.bridge(&[]);
    let answer = bridge.initialize().await;
    assert_eq!(answer["result"]["serverInfo"]["name"], "countersign", "{answer}");
    let review = id(&bridge.call("create_review", proposal("through the bridge")).await);
    let (rest, ended) = bridge.close().await;
    assert_eq!((rest, ended.code()), (vec![], Some(0)));

    let broker = place.note().await;
    assert_eq!(broker.client().status(&review).await["status"], "pending");
    assert_eq!(servers_of(&place).await.len(), 1);
    place.stop_and_check().await;
}

#[tokio::test]
async fn a_bridge_without_requests_starts_no_broker() {
    let place = Unserved::new();
    let (words, ended) = place.bridge(&[]).close().await;
    assert_eq!((words, ended.code()), (vec![], Some(0)));
    assert!(!place.data_dir().exists());
}

#[tokio::test]
async fn a_bridge_starts_no_broker_if_the_settings_or_an_option_forbid_it() {
    let place = Unserved::new();
    for (auto_start, options) in [("false", &[][..]), ("true", &["--no-start"])] {
        let mut bridge = place.bridge_with(auto_start, options);
        let answer = bridge.request("ping", json!({})).await;
        assert_eq!(answer["error"]["data"]["code"], "no_broker", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("`countersign serve`"), "{answer}");
        bridge.close().await;
    }
    assert!(!place.data_dir().exists());
}

#[tokio::test]
async fn the_answer_of_another_program_is_reported_without_its_page() {
    let app = axum::Router::new().fallback(async || (axum::http::StatusCode::NOT_FOUND, "<!DOCTYPE html>\n<p>Error"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let place = Unserved::new();
    let mut bridge = place.bridge(&["--url", &url]);
    let answer = bridge.request("ping", json!({})).await;
    let said = "another program answers at this address, not a broker: a web page";
    assert_eq!(answer["error"]["message"], said, "{answer}");
    bridge.close().await;
    let listed = command_in(place.home(), place.home(), &["list", "--url", &url]).finish().await;
    assert_eq!(listed.err, format!("countersign: {said}\n"));
}

#[tokio::test]
async fn a_bridge_finds_the_broker_that_runs() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let review = id(&bridge.call("create_review", proposal("found")).await);
    assert_eq!(broker.client().status(&review).await["intent"], "found");
    assert!(bridge.close().await.1.success());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn bridges_that_start_at_once_share_one_broker() {
    let place = Unserved::new();
    let mut bridges: Vec<_> = (0..6).map(|_| place.bridge(&[])).collect();
    let answers = join_all(bridges.iter_mut().map(Bridge::initialize)).await;
    assert!(answers.iter().all(|answer| answer["result"].is_object()), "{answers:?}");
    let submitted =
        join_all(bridges.iter_mut().map(|bridge| bridge.call("create_review", proposal("one of six")))).await;
    let numbers: HashSet<_> = submitted.iter().map(|answer| answer["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, HashSet::from(["R-1", "R-2", "R-3", "R-4", "R-5", "R-6"]));
    join_all(bridges.into_iter().map(Bridge::close)).await;
    // Those that lost the race may still be exiting.
    let pid = place.note().await.pid.to_string();
    let is_alone = |servers: Vec<String>| servers.len() == 1 && servers[0].trim().starts_with(&pid);
    wait_until("one broker, and no other", async || is_alone(servers_of(&place).await).then_some(())).await;
    place.stop_and_check().await;
}

#[tokio::test]
async fn a_bridge_starts_a_broker_although_the_port_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let place = Unserved::with(&format!("[server]\nlisten = \"{address}\"\n"));
    let mut bridge = place.bridge(&[]);
    bridge.initialize().await;
    assert_ne!(place.note().await.url, format!("http://{address}"));
    bridge.close().await;
    place.stop_and_check().await;
}

#[tokio::test]
async fn many_requests_at_once_are_each_answered_once() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let mut wanted = HashSet::new();
    for number in 0..200 {
        let id = if number % 2 == 0 { json!(number) } else { json!(format!("№ \"{number}\"")) };
        let create = tool("create_review", proposal(&format!("number {number}")));
        bridge.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": create })).await;
        wanted.insert(id.to_string());
    }
    while !wanted.is_empty() {
        let answer = bridge.next().await.expect("an answer for each");
        assert_eq!(answer["result"]["structuredContent"]["status"], "pending", "{answer}");
        assert!(wanted.remove(&answer["id"].to_string()), "{answer}");
    }
    let (rest, ended) = bridge.close().await;
    assert_eq!((rest, ended.code()), (vec![], Some(0)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_last_request_is_answered_after_stdin_closes() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let create = bridge.ask_tool("create_review", proposal("the last words")).await;
    let (rest, ended) = bridge.close().await;
    assert_eq!((rest.len(), ended.code()), (1, Some(0)));
    assert_eq!((&rest[0]["id"], &rest[0]["result"]["structuredContent"]["number"]), (&json!(create), &json!("R-1")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_slow_request_does_not_block_others_and_can_be_cancelled() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let review = broker.client().submit("wait for me").await;
    let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 50 });
    let waiting = bridge.ask_tool("get_review_status", wait.clone()).await;
    broker.until_waiting(1).await;
    assert_eq!(bridge.call("get_review_status", json!({ "review_id": review })).await["status"], "pending");

    let cancel = json!({ "requestId": waiting, "reason": "changed my mind" });
    bridge.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel })).await;
    broker.until_waiting(0).await;

    // A cancelled request has no response and does not affect the next one.
    let again = bridge.ask_tool("get_review_status", wait).await;
    broker.until_waiting(1).await;
    broker.client().call("cancel_review", json!({ "review_id": review, "reason": "enough" })).await;
    assert_eq!(bridge.answer(again).await["result"]["structuredContent"]["status"], "cancelled");
    let (rest, ended) = bridge.close().await;
    assert_eq!((rest, ended.code()), (vec![], Some(0)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_waiting_calls() {
    let broker = TestBroker::start().await;
    let review = broker.client().submit("wait for me").await;
    let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 50 });
    let mut bridge = broker.bridge(&[]);
    bridge.ask_tool("get_review_status", wait).await;
    broker.until_waiting(1).await;
    bridge.leave().await;
    broker.until_waiting(0).await;
    // The wait was cut short.
    wait_until("the call's line", async || broker.log().contains("outcome=\"client_left\"").then_some(())).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn requests_go_on_after_a_kill_and_restart_of_the_broker() {
    let mut broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    bridge.initialize().await;
    for _ in 0..3 {
        let review = id(&bridge.call("create_review", proposal("before")).await);
        broker = broker.kill_and_restart().await;
        let claim = json!({ "review_id": review, "reviewer_id": "second-mind" });
        assert_eq!(bridge.call("claim_review", claim).await["status"], "claimed");
    }
    assert!(bridge.close().await.1.success());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn requests_during_an_outage_are_sent_when_the_broker_is_back() {
    let mut broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&["--url", &broker.url("")]);
    bridge.initialize().await;
    broker.kill().await;
    let mut asked = Vec::new();
    for number in 0..5 {
        asked.push(bridge.ask_tool("create_review", proposal(&format!("unheard {number}"))).await);
    }
    let broker = broker.restarted().await;
    for id in asked {
        assert_eq!(bridge.answer(id).await["result"]["structuredContent"]["status"], "pending");
    }
    assert_eq!(broker.client().call("list_reviews", json!({})).await["reviews"].as_array().unwrap().len(), 5);
    bridge.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_lost_response_is_an_error_that_allows_a_repeat() {
    let mut broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let review = broker.client().submit("wait for me").await;
    let wait = json!({ "review_id": review, "wait": true, "timeout_seconds": 50 });
    let waiting = bridge.ask_tool("get_review_status", wait).await;
    broker.until_waiting(1).await;
    broker.kill().await;
    let answer = bridge.answer(waiting).await;
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert_eq!(answer["error"]["data"], json!({ "code": "answer_lost", "retryable": true }));
    assert!(answer["error"]["message"].as_str().unwrap().contains("safe to repeat it unchanged"), "{answer}");

    let broker = broker.restarted().await;
    assert_eq!(bridge.call("get_review_status", json!({ "review_id": review })).await["status"], "pending");
    bridge.close().await;
    broker.stop_and_check().await;
}

/// Another broker may have taken over the port of a dead one.
#[tokio::test]
async fn a_bridge_never_talks_to_the_broker_of_another_data_dir() {
    let place = Unserved::new();
    let mut bridge = place.bridge(&[]);
    let review = id(&bridge.call("create_review", proposal("mine")).await);
    let port = place.note().await.url.rsplit(':').next().unwrap().parse().unwrap();
    place.kill().await;
    let stranger = TestBroker::on_port(port).await;
    let status = bridge.call("get_review_status", json!({ "review_id": review })).await;
    assert_eq!(status["intent"], "mine");
    bridge.call("create_review", proposal("mine too")).await;
    assert_eq!(stranger.client().call("list_reviews", json!({})).await["reviews"], json!([]));
    bridge.close().await;
    stranger.stop_and_check().await;
    place.stop_and_check().await;
}

/// The broker of a shared data dir may have been started for another repository.
#[tokio::test]
async fn a_proposal_from_another_repository_is_not_taken_for_the_brokers_own() {
    let broker = TestBroker::start().await;
    let other = Repo::new();
    let path = other.path();
    // With only an address, the bridge has no rights to register it.
    let mut bridge = broker.bridge(&["--repo", path.to_str().unwrap(), "--url", &broker.url("")]);
    let refused = bridge.request("tools/call", tool("create_review", proposal("whose?"))).await;
    let error = &refused["result"]["structuredContent"];
    assert_eq!((&error["code"], &error["allowed"]), (&json!("other_repository"), &json!(["project"])), "{refused}");
    assert!(error["error"].as_str().unwrap().contains(other.path().to_str().unwrap()), "{error}");
    assert_eq!(bridge.call("list_reviews", json!({})).await["reviews"], json!([]), "reading is free");
    bridge.close().await;
    // An explicit project is used.
    let mut bridge = broker.bridge(&["--repo", path.to_str().unwrap()]);
    let named = proposal_with("on purpose", json!({ "project": "project", "diff": broker.repo().diff("zwei") }));
    let created = bridge.call("create_review", named).await;
    assert_eq!(created["applies"], true);
    // A revision belongs to the project of its review.
    broker.client().claim("R-1", "ada").await;
    broker.client().call("submit_verdict", reviews::verdict("R-1", "ada", "changes_requested")).await;
    bridge.call("create_review", json!({ "review_id": "R-1", "intent": "again" })).await;
    // The bridge has registered its own repository.
    let created = bridge.call("create_review", proposal_with("mine", json!({ "diff": other.diff("uno") }))).await;
    let shown = bridge.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
    assert_eq!((&created["applies"], &shown["project"]), (&json!(true), &json!("project-2")));
    bridge.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_proposal_belongs_to_the_registered_repository_it_comes_from() {
    let (other, tree) = (Repo::new(), tempfile::tempdir().unwrap());
    other.write("greeting.txt", "uno\ntwo\ntres\n");
    other.commit("another language");
    let broker = TestBroker::with_settings(&format!("[projects.other]\npath = {:?}\n", other.path())).await;
    let tree = tree.path().join("linked");
    broker.repo().git(&["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()]);
    std::fs::create_dir(tree.join("deep")).unwrap();
    let places = [
        (other.path(), "other", other.diff("dos")),
        (broker.repo().path(), "project", broker.repo().diff("zwei")),
        (tree.join("deep"), "project", broker.repo().diff("deux")),
        (broker.home().to_owned(), "project", broker.repo().diff("dwa")),
    ];
    for (place, project, diff) in places {
        let mut command = countersign(broker.home());
        command.arg("mcp").arg("--data-dir").arg(broker.data_dir()).current_dir(&place);
        let mut bridge = Bridge::start(command, broker.home());
        let created = bridge.call("create_review", proposal_with("mine", json!({ "diff": diff }))).await;
        assert_eq!(created["applies"], true, "{}: {created}", place.display());
        let shown = bridge.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
        assert_eq!(shown["project"], project, "{}", place.display());
        bridge.close().await;
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_broker_without_a_repository_accepts_proposals_from_any_folder() {
    let broker = TestBroker::without_repo().await;
    let other = Repo::new();
    // With only an address, the bridge has no rights to register the repository.
    let mut bridge = broker.bridge(&["--repo", other.path().to_str().unwrap(), "--url", &broker.url("")]);
    let created = bridge.call("create_review", proposal("a plan")).await;
    let shown = bridge.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
    assert_eq!(shown["project"], Value::Null);
    let with_diff = proposal_with("a diff", json!({ "diff": other.diff("zwei") }));
    let refused = bridge.request("tools/call", tool("create_review", with_diff)).await;
    assert_eq!(refused["result"]["structuredContent"]["code"], "no_repository", "{refused}");
    bridge.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_bridge_with_a_role_offers_only_the_tools_of_that_role() {
    let broker = TestBroker::start().await;
    let names = |list: &Value| -> Vec<String> {
        list["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut reviewer = broker.bridge(&["--role", "reviewer"]);
    let offered = names(&reviewer.request("tools/list", json!({})).await);
    assert!(offered.contains(&"claim_review".into()) && !offered.contains(&"create_review".into()), "{offered:?}");
    let refused = reviewer.request("tools/call", tool("create_review", proposal("not mine to do"))).await;
    assert_eq!(refused["result"]["structuredContent"]["code"], "wrong_role", "{refused}");

    let mut proposer = broker.bridge(&["--role", "proposer"]);
    let offered = names(&proposer.request("tools/list", json!({})).await);
    assert!(offered.contains(&"create_review".into()) && !offered.contains(&"claim_review".into()), "{offered:?}");
    reviewer.close().await;
    proposer.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_newest_protocol_revision_works_without_a_handshake() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    let modern = |mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params
    };
    let found = bridge.request("server/discover", modern(json!({}))).await;
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let made = bridge.request("tools/call", modern(tool("create_review", proposal("modern")))).await;
    assert_eq!(made["result"]["structuredContent"]["status"], "pending", "{made}");
    let uri = "review://größer";
    let read = bridge.request("resources/read", modern(json!({ "uri": uri }))).await;
    assert!(read["error"].to_string().contains("größer"), "{read}");
    bridge.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_malformed_message_is_answered_and_the_bridge_goes_on() {
    let broker = TestBroker::start().await;
    let mut bridge = broker.bridge(&[]);
    for (line, code) in [("{", -32700), ("hello", -32700), ("[1]", -32600), ("3", -32600)] {
        bridge.send_line(line).await;
        let answer = bridge.next().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)), "{line}: {answer}");
    }
    bridge.send_line("").await;
    let unknown = bridge.request("no/such/method", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let large = bridge.request("tools/call", tool("create_review", json!({ "diff": "x".repeat(30 << 20) }))).await;
    assert!(large["error"]["message"].as_str().unwrap().contains("the body is too large"), "{}", large["error"]);
    assert!(bridge.request("ping", json!({})).await["result"].is_object());
    bridge.close().await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_failed_start_of_the_broker_is_reported_in_the_response() {
    let place = Unserved::new();
    std::fs::write(place.data_dir(), "not a folder").unwrap();
    let mut bridge = place.bridge(&[]);
    let answer = bridge.request("ping", json!({})).await;
    assert_eq!(answer["error"]["data"]["code"], "no_broker", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains(place.data_dir().to_str().unwrap()), "{answer}");
    bridge.close().await;
    assert_eq!(servers_of(&place).await, Vec::<String>::new());
}

#[tokio::test]
async fn invalid_settings_end_the_bridge_with_a_message_on_stderr() {
    let place = Unserved::with("[claims]\nlease = \"soon\"\n");
    let output = countersign(place.home()).arg("mcp").args(place.options()).output().await.unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{words}");
    assert!(words.contains("config.toml") && words.contains("claims.lease = \"soon\""), "{words}");
}
