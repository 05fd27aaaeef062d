//! Reviewers on demand: the pool starts them when reviews wait and stops idle ones.

use crate::support::{
    broker::{TestBroker, countersign},
    client::{id, proposal_with},
    json_schema::violations,
    reviews::{column, with},
    scripted_reviewer::{ReviewerScript, command_pool, pool, processes_of},
    tokens::create_token,
    tool_calls::operation,
    wait_until::wait_until,
};
use domain::{review::Event, reviewer_pool::PoolEvent};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};
use store::{EventRecord, LogEntry};
use testkit::Repo;

fn count(pool: &Value, list: &str) -> usize {
    pool[list].as_array().unwrap().len()
}

fn states(pool: &Value) -> Vec<&str> {
    pool["reviewers"].as_array().unwrap().iter().map(|reviewer| reviewer["state"].as_str().unwrap()).collect()
}

async fn status_becomes(broker: &TestBroker, review: &str, wanted: &str) -> Value {
    let client = broker.client();
    wait_until(wanted, async || Some(client.status(review).await).filter(|status| status["status"] == wanted)).await
}

/// The complete log of a stopped broker.
async fn log_of(broker: &TestBroker) -> Vec<EventRecord> {
    let database = broker.data_dir().join("countersign.db");
    let store = store::open(&database, store::Settings::default()).await.unwrap();
    store.reader.list_events(0, None, 10_000).await.unwrap()
}

fn pool_events(log: &[EventRecord]) -> Vec<&PoolEvent> {
    log.iter().filter_map(|logged| if let LogEntry::Pool(event) = &logged.entry { Some(event) } else { None }).collect()
}

fn claim_ends(log: &[EventRecord]) -> Vec<(String, String)> {
    let ends = log.iter().filter_map(|logged| {
        let LogEntry::Review { recorded, .. } = &logged.entry else { return None };
        let Event::ClaimEnded { reason, detail, .. } = &recorded.event else { return None };
        Some((reason.to_string(), detail.clone().unwrap_or_default()))
    });
    ends.collect()
}

#[tokio::test]
async fn three_reviewers_complete_ten_reviews_and_exit() {
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("open");
    let settings = pool(ReviewerScript::Waits(&gate), "max_size = 3\nratio = 3\nidle_after = \"3s\"");
    let mut broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let mut reviews = Vec::new();
    for n in 0..10 {
        reviews.push(client.submit(&format!("change {n}")).await);
    }
    let full = broker.until_pool("three are busy", |pool| states(pool) == ["busy", "busy", "busy"]).await;
    assert_eq!(full["waiting"], json!([{ "project": "project", "pending": 7, "free_seats": 7 }]));
    client.refused("pool_full", "spawn_reviewer", json!({})).await;
    let tree = broker.actors().await;
    let children = tree["root"]["children"].as_array().unwrap();
    let node = children.iter().find(|node| node["kind"] == "pool").unwrap();
    assert_eq!((&node["state"], node["children"].as_array().unwrap().len()), (&json!("ready, 3 of 3 reviewers"), 3));

    std::fs::write(&gate, "").unwrap();
    for review in &reviews {
        let status = status_becomes(&broker, review, "approved").await;
        assert!(status["verdict_by"].as_str().unwrap().starts_with("command-r"), "{status}");
        assert_eq!(status["approved_hash"], status["content_hash"]);
    }
    let empty = broker.until_pool("the pool is empty", |pool| count(pool, "reviewers") == 0).await;
    let done: u64 = empty["ended"].as_array().unwrap().iter().map(|row| row["approvals"].as_u64().unwrap()).sum();
    assert_eq!((done, count(&empty, "ended")), (10, 3), "{empty}");
    assert!(empty["ended"][0]["average_ms"].is_u64());

    assert!(broker.terminate().await.success());
    let log = log_of(&broker).await;
    let whys: Vec<_> = pool_events(&log)
        .into_iter()
        .filter_map(|event| match event {
            PoolEvent::ReviewerSpawned { why, .. } => Some(why.as_str()),
            PoolEvent::ReviewerDraining { why, .. } => Some(why.as_str()),
            PoolEvent::ReviewerTerminated { .. }
            | PoolEvent::ReviewerRetried { .. }
            | PoolEvent::CrashLoop { .. }
            | PoolEvent::CrashLoopCleared { .. }
            | PoolEvent::PoolPaused { .. }
            | PoolEvent::PoolResumed { .. }
            | PoolEvent::PoolLimitChanged { .. } => None,
        })
        .collect();
    assert_eq!(whys, ["cold_start", "backlog", "backlog", "idle", "idle", "idle"]);
    assert_eq!(claim_ends(&log), [], "no claim was lost");
}

#[tokio::test]
async fn nothing_is_started_while_the_pool_is_off() {
    let settings =
        pool(ReviewerScript::Approves, "check_every = \"10ms\"").replace("enabled = true", "enabled = false");
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    client.submit("no reviewer comes").await;
    let pool = client.call("list_reviewers", json!({})).await;
    assert_eq!((&pool["state"], count(&pool, "reviewers"), count(&pool, "ended")), (&json!("disabled"), 0, 0));
    client.refused("pool_disabled", "spawn_reviewer", json!({})).await;
    client.refused("unknown_reviewer", "kill_reviewer", json!({ "reviewer_id": "codex-r1" })).await;
    assert!(!broker.data_dir().join("reviewers").exists());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_killed_reviewer_is_replaced_and_its_verdict_is_stale() {
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("open");
    let mut broker = TestBroker::with_settings(&pool(ReviewerScript::Waits(&gate), "")).await;
    let client = broker.client();
    let review = client.submit("survives its reviewer").await;
    let first = status_becomes(&broker, &review, "claimed").await;
    let dead = first["claimed_by"].as_str().unwrap().to_owned();

    let killed = Instant::now();
    for pid in processes_of(&dead) {
        broker.kill_process(pid).await;
    }
    let again = wait_until("another claims it", async || {
        let status = client.status(&review).await;
        status["claimed_by"].as_str().is_some_and(|by| by != dead).then_some(status)
    })
    .await;
    println!("claimed again after {:?}", killed.elapsed());
    let generation = &first["claim_generation"];
    assert!(again["claim_generation"].as_u64() > generation.as_u64());
    let late = json!({ "review_id": review, "verdict": "approved", "claim_generation": generation });
    client.refused("stale_claim", "submit_verdict", late.clone()).await;
    client.refused("wrong_identity", "submit_verdict", with(late, json!({ "reviewer_id": dead }))).await;

    std::fs::write(&gate, "").unwrap();
    let approved = status_becomes(&broker, &review, "approved").await;
    assert_ne!(approved["verdict_by"], dead.as_str());
    assert!(broker.terminate().await.success());
    let log = log_of(&broker).await;
    assert_eq!(claim_ends(&log), [("reviewer_exited".to_owned(), "killed by SIGKILL".to_owned())]);
}

#[tokio::test]
async fn a_draining_reviewer_finishes_its_review_and_claims_no_other() {
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("open");
    let mut broker = TestBroker::with_settings(&pool(ReviewerScript::Waits(&gate), "max_size = 1")).await;
    let client = broker.client();
    let first = client.submit("the last one").await;
    let reviewer = status_becomes(&broker, &first, "claimed").await["claimed_by"].as_str().unwrap().to_owned();
    let second = client.submit("not for this one").await;
    let told = client.call("kill_reviewer", json!({ "reviewer_id": "command-r1" })).await;
    assert_eq!((&told["reviewer_id"], &told["state"]), (&json!(reviewer), &json!("draining")));

    std::fs::write(&gate, "").unwrap();
    assert_eq!(status_becomes(&broker, &first, "approved").await["verdict_by"], reviewer.as_str());
    let other = status_becomes(&broker, &second, "approved").await;
    assert_ne!(other["verdict_by"], reviewer.as_str(), "its pass was no longer good for a claim");
    let pool = broker.until_pool("it has ended", |pool| count(pool, "ended") == 1).await;
    assert_eq!((&pool["ended"][0]["reviewer_id"], &pool["ended"][0]["completed"]), (&json!(reviewer), &json!(1)));
    assert_eq!(processes_of(&reviewer), [] as [u32; 0]);
    assert!(broker.terminate().await.success());
    assert_eq!(claim_ends(&log_of(&broker).await), []);
}

#[tokio::test]
async fn a_killed_reviewer_releases_its_claim() {
    let gates = tempfile::tempdir().unwrap();
    let mut broker =
        TestBroker::with_settings(&pool(ReviewerScript::Waits(&gates.path().join("never")), "cooldown = \"1h\"")).await;
    let client = broker.client();
    let review = client.submit("given back").await;
    let reviewer = status_becomes(&broker, &review, "claimed").await["claimed_by"].clone();
    client.refused("cooling_down", "spawn_reviewer", json!({})).await;
    let told = client.call("kill_reviewer", json!({ "reviewer_id": reviewer, "force": true })).await;
    assert_eq!(told["state"], "stopping");
    let status = wait_until("another reviewer has it", async || {
        let status = client.status(&review).await;
        status["claimed_by"].as_str().is_some_and(|by| json!(by) != reviewer).then_some(status)
    })
    .await;
    assert_eq!(status["status"], "claimed");
    assert!(broker.terminate().await.success());
    let log = log_of(&broker).await;
    assert_eq!(claim_ends(&log)[0].0, "reviewer_stopped");
}

#[tokio::test]
async fn a_restart_ends_the_reviewers_and_releases_their_claims() {
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("open");
    let mut broker = TestBroker::with_settings(&pool(ReviewerScript::Waits(&gate), "")).await;
    let review = broker.client().submit("outlives two brokers").await;
    for (killed, reason) in [(true, "kill -9"), (false, "SIGTERM")] {
        let holder = status_becomes(&broker, &review, "claimed").await["claimed_by"].as_str().unwrap().to_owned();
        if killed {
            broker.kill().await;
        } else {
            assert!(broker.terminate().await.success());
        }
        wait_until(&format!("{reason} leaves nothing"), async || processes_of(&holder).is_empty().then_some(())).await;
        broker = broker.restarted().await;
        let client = broker.client();
        wait_until("it is claimed anew", async || {
            let status = client.status(&review).await;
            status["claimed_by"].as_str().is_some_and(|by| by != holder).then_some(())
        })
        .await;
    }
    std::fs::write(&gate, "").unwrap();
    status_becomes(&broker, &review, "approved").await;
    let pool = broker.client().call("list_reviewers", json!({})).await;
    assert_eq!(count(&pool, "ended"), 2, "{pool}");
    assert!(broker.terminate().await.success());
    let reasons: Vec<_> = claim_ends(&log_of(&broker).await).into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["broker_restarted", "broker_restarted"]);
}

#[tokio::test]
async fn a_reviewer_gets_the_allowed_variables_and_a_folder_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let script = format!("cat > {0}.prompt; env > {0}.new; pwd > {0}.cwd; mv {0}.new {0}; sleep 60", seen.display());
    let settings =
        command_pool(&[json!("sh"), json!("-c"), json!(script)], "environment = [\"NAMED\"]\nsandbox = \"off\"");
    let prelude = "export SECRET_KEY=made-up NAMED=handed-on OPENAI_API_KEY=made-up AWS_PROFILE=x";
    let broker = TestBroker::with_prelude(prelude, &settings).await;
    broker.client().submit("look around").await;
    wait_until("it has looked", async || seen.exists().then_some(())).await;
    let environment = std::fs::read_to_string(&seen).unwrap();
    let names: Vec<&str> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell sets the last three.
    let allowed = [
        "COUNTERSIGN_MCP_URL",
        "COUNTERSIGN_REVIEWER_ID",
        "COUNTERSIGN_TOKEN",
        "HOME",
        "NAMED",
        "PATH",
        "OLDPWD",
        "PWD",
        "SHLVL",
        "_",
    ];
    assert!(names.iter().all(|name| allowed.contains(name)), "{environment}");
    assert!(environment.contains("NAMED=handed-on"));
    let cwd = std::fs::read_to_string(home.path().join("seen.cwd")).unwrap();
    let work = broker.work_dir().join("work").canonicalize().unwrap();
    assert_eq!(Path::new(cwd.trim()).parent(), Some(&*work), "a folder of its own, never the author's");
    let prompt = std::fs::read_to_string(home.path().join("seen.prompt")).unwrap();
    assert!(prompt.contains("You are command-r1-") && !prompt.contains("{{"), "{prompt}");
    broker.stop_and_check().await;
}

/// A reviewer that stops after its claim and prints its workspace.
#[tokio::test]
async fn a_claim_gets_a_workspace_with_the_change_applied() {
    let gates = tempfile::tempdir().unwrap();
    let gate = gates.path().join("open");
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Waits(&gate), "max_size = 1")).await;
    let client = broker.client();
    // The author continues to work.
    let diff = broker.repo().diff("zwei");
    std::fs::write(broker.repo().path().join("greeting.txt"), "something else by now\n").unwrap();
    let proposal = proposal_with("count in German", json!({ "diff": diff }));
    let review = id(&client.call("create_review", proposal).await);
    let reviewer = status_becomes(&broker, &review, "claimed").await["claimed_by"].as_str().unwrap().to_owned();
    let own = broker.work_dir().join("work").join(&reviewer);
    let copy = own.join("R-1.1/greeting.txt");
    let text = wait_until("the copy is made", async || std::fs::read_to_string(&copy).ok()).await;
    assert!(text.contains("zwei") && !text.contains("something else"), "{text:?}");

    std::fs::write(&gate, "").unwrap();
    status_becomes(&broker, &review, "approved").await;
    wait_until("the copy is gone", async || (!own.join("R-1.1").exists()).then_some(())).await;
    client.call("kill_reviewer", json!({ "reviewer_id": reviewer })).await;
    broker.until_pool("it has gone", |pool| count(pool, "reviewers") == 0).await;
    wait_until("its folder is gone", async || (!own.exists()).then_some(())).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn reviewers_work_for_one_project_each() {
    let web = Repo::new();
    let settings = pool(ReviewerScript::Approves, "");
    let broker = TestBroker::with_settings(&format!("{settings}\n[projects.web]\npath = {:?}\n", web.path())).await;
    let client = broker.client();
    let own = client.submit("here").await;
    let proposal = proposal_with("there", json!({ "project": "web" }));
    let other = id(&client.call("create_review", proposal).await);
    let by = |status: Value| status["verdict_by"].as_str().unwrap().to_owned();
    let (here, there) =
        (by(status_becomes(&broker, &own, "approved").await), by(status_becomes(&broker, &other, "approved").await));
    assert_ne!(here, there);
    let pool = client.call("list_reviewers", json!({})).await;
    let project = |id: &str| {
        let rows = pool["reviewers"].as_array().unwrap();
        rows.iter().find(|row| row["reviewer_id"] == id).map(|row| row["project"].clone()).unwrap()
    };
    assert_eq!((project(&here), project(&there)), (json!("project"), json!("web")));
    // An operator of one project cannot act in the other.
    let bound = client.with_token(&create_token(broker.home(), "operator", "webmaster", &["--project", "web"]).await);
    let seen = bound.call("list_reviewers", json!({})).await;
    assert_eq!(column(&seen["reviewers"], "reviewer_id"), [json!(there)]);
    bound.refused("wrong_project", "kill_reviewer", json!({ "reviewer_id": here })).await;
    bound.refused("wrong_project", "spawn_reviewer", json!({ "project": "project" })).await;
    let unknown = bound.refused("unknown_reviewer", "kill_reviewer", json!({ "reviewer_id": "unknown" })).await;
    assert_eq!(unknown["allowed"], json!([there]));
    // Short names are reused: the log belongs to the reviewer of this id, not to a newer one of this name.
    let (name, _) = there.rsplit_once('-').unwrap();
    let foreign = broker.data_dir().join("reviewers").join(format!("{name}-zzzzzzzz.log"));
    std::fs::write(&foreign, "another project's\n").unwrap();
    let webmaster = create_token(broker.home(), "operator", "webmaster-too", &["--project", "web"]).await;
    let rest = broker.rest().with_token(&webmaster);
    let log = rest.get(&format!("/reviewers/{name}/logs")).await.is(200);
    assert_eq!(log["reviewer_id"], there);
    rest.get(&format!("/reviewers/{here}/logs")).await.refused(403, "wrong_project");
    rest.get(&format!("/reviewers/{name}-zzzzzzzz/logs")).await.refused(404, "unknown_reviewer");
    bound.call("kill_reviewer", json!({ "reviewer_id": there })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_an_operator_can_start_and_stop_reviewers() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Approves, "max_size = 10")).await;
    let calls = [("spawn_reviewer", json!({})), ("kill_reviewer", json!({ "reviewer_id": "command-r1" }))];
    for role in ["reviewer", "proposer"] {
        let client = broker.client().with_token(&create_token(broker.home(), role, role, &[]).await);
        for (tool, arguments) in calls.clone() {
            client.refused("wrong_role", tool, arguments).await;
        }
    }
    let client = broker.client();
    for (tool, arguments) in calls {
        let told = client.call(tool, arguments).await;
        let promised = serde_json::Value::Object(operation(&json!({ "name": tool })).response_schema());
        assert_eq!(violations(&promised, &told), [] as [String; 0]);
        for bad in [json!({ "reviewer_id": 1, "project": 2 }), json!({ "surprise": 1 })] {
            let error = client.try_call(tool, bad).await.unwrap_err();
            assert_eq!(error["code"], "invalid_params", "{tool}: {error}");
        }
    }
    let unknown = client.refused("unknown_project", "spawn_reviewer", json!({ "project": "/etc" })).await;
    assert_eq!(unknown["allowed"], json!(["project"]));
    client.refused("invalid_argument", "kill_reviewer", json!({ "reviewer_id": " " })).await;
    client.refused("unknown_reviewer", "kill_reviewer", json!({ "reviewer_id": "1" })).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_name_of_a_pool_reviewer_is_reserved() {
    let gates = tempfile::tempdir().unwrap();
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Waits(&gates.path().join("never")), "")).await;
    let client = broker.client();
    let review = client.submit("held").await;
    let status = status_becomes(&broker, &review, "claimed").await;
    let verdict = json!({
        "review_id": review, "verdict": "approved", "reviewer_id": status["claimed_by"],
        "claim_generation": status["claim_generation"],
    });
    client.refused("wrong_identity", "submit_verdict", verdict).await;
    // A missing name is refused as well.
    let by_id = |more: Value| with(json!({ "review_id": review }), more);
    let generation = json!({ "claim_generation": status["claim_generation"] });
    let message = json!({ "sender_role": "reviewer", "body": "fine" });
    for (tool, arguments, field) in [
        ("submit_verdict", with(by_id(generation.clone()), json!({ "verdict": "approved" })), "reviewer_id"),
        ("release_claim", by_id(generation), "reviewer_id"),
        ("add_message", by_id(message), "caller_id"),
    ] {
        assert_eq!(client.refused("wrong_identity", tool, arguments).await["field"], field, "{tool}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_that_exits_after_its_work_is_not_a_failure() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::ApprovesOne, "max_size = 1")).await;
    let client = broker.client();
    for n in 0..6 {
        let review = client.submit(&format!("one each {n}")).await;
        status_becomes(&broker, &review, "approved").await;
    }
    let pool = broker.until_pool("all have ended", |pool| count(pool, "ended") == 6).await;
    assert_eq!(pool["state"], "ready", "{pool}");
    assert!(pool["ended"].as_array().unwrap().iter().all(|row| row["exit"] == "exit code 0"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_command_line_shows_starts_and_stops_reviewers() {
    let broker = TestBroker::with_settings(&command_pool(
        &[
            json!("sh"),
            json!("-c"),
            json!("echo hello from $COUNTERSIGN_REVIEWER_ID; echo $COUNTERSIGN_TOKEN; sleep 60"),
        ],
        "",
    ))
    .await;
    let run = async |arguments: &[&str]| {
        let mut command = countersign(broker.home());
        let output = command.arg("reviewer").args(arguments).arg("--data-dir").arg(broker.data_dir()).output().await;
        let output = output.unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = run(&["list"]).await;
    assert_eq!((code, text.as_str()), (Some(0), "pool ready: 0 of 3 reviewers, 0 reviews wait\n"));
    let (code, text) = run(&["spawn"]).await;
    assert!(code == Some(0) && text.starts_with("starting command-r1-"), "{text}");
    let log = wait_until("it speaks", async || {
        Some(run(&["logs", "command-r1"]).await.1).filter(|log| log.contains("hello") && log.contains("[token]"))
    })
    .await;
    assert!(!log.contains("cs_"), "{log}");
    let (code, text) = run(&["list", "--json"]).await;
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["reviewers"][0]["why"]), (Some(0), &json!("operator")));
    let (code, text) = run(&["stop", "command-r1"]).await;
    assert!(code == Some(0) && text.starts_with("draining command-r1-"), "{text}");
    broker.until_pool("it has gone", |pool| count(pool, "reviewers") == 0).await;
    let (code, text) = run(&["stop", "command-r1"]).await;
    assert!(code == Some(1) && text.contains("no live reviewer \"command-r1\""), "{text}");
    let (code, text) = run(&["logs", "codex-r9"]).await;
    assert!(code == Some(1) && text.contains("no log of"), "{text}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_rejection_frees_the_others_of_a_panel() {
    let gates = tempfile::tempdir().unwrap();
    let broker =
        TestBroker::with_settings(&pool(ReviewerScript::Waits(&gates.path().join("never")), "max_size = 1")).await;
    let client = broker.client();
    let review = id(&client.call("create_review", proposal_with("no", json!({ "personas": ["a", "b"] }))).await);
    broker.until_pool("the pool's reviewer sits", |pool| states(pool) == ["busy"]).await;
    let generation = client.claim(&review, "a-person").await;
    let verdict = json!({
        "review_id": review, "verdict": "rejected", "reason": "not at all", "claim_generation": generation,
    });
    client.call("submit_verdict", verdict).await;
    broker.until_pool("it has nothing left to do", |pool| states(pool) == ["idle"]).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_reviewer_is_replaced_after_its_ttl() {
    let broker = TestBroker::with_settings(&pool(ReviewerScript::Approves, "ttl = \"5s\"")).await;
    let client = broker.client();
    let first = client.submit("young").await;
    status_becomes(&broker, &first, "approved").await;
    let old = broker.until_pool("the first has gone", |pool| count(pool, "ended") == 1).await;
    assert_eq!(old["ended"][0]["completed"], 1);
    let second = client.submit("for another").await;
    let status = status_becomes(&broker, &second, "approved").await;
    assert_ne!(status["verdict_by"], old["ended"][0]["reviewer_id"]);
    broker.stop_and_check().await;
}
