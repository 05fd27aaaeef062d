//! Webhooks: events are delivered signed, in order and at least once, and a receiver cannot delay others.

use crate::support::{
    broker::{TestBroker, countersign},
    client::{id, proposal_with},
    http_receiver::{Behavior, Got, Receiver},
    reviews::{last_event, verdict},
    wait_until::wait_until,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
};
use testkit::Repo;

/// Few attempts with short pauses.
const QUICK: &str = "[webhooks]\nattempts = 3\nfirst_pause = \"10ms\"\n";

/// Waits until the status of the webhook fits.
async fn until(broker: &TestBroker, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let rest = broker.rest_as_operator();
    wait_until(what, async || Some(rest.get("/webhooks").await.is(200)["webhooks"][0].clone()).filter(&fits)).await
}

async fn dead(broker: &TestBroker, hook: &str) -> Vec<Value> {
    let path = format!("/webhooks/{hook}/dead");
    broker.rest_as_operator().get(&path).await.is(200)["dead"].as_array().unwrap().clone()
}

/// Runs `countersign webhooks …`: its output.
async fn webhooks_stdout(broker: &TestBroker, arguments: &[&str]) -> String {
    let mut command = countersign(broker.home());
    command.arg("webhooks").args(arguments).arg("--data-dir").arg(broker.data_dir());
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks the signature as a receiver does.
#[track_caller]
fn assert_signed(got: &Got, secret: &str) {
    let key = BASE64_STANDARD.decode(secret.trim().strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.", got.header("webhook-id"), got.header("webhook-timestamp")).as_bytes());
    mac.update(&got.body);
    let expected = format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(got.header("webhook-signature"), expected);
    let age = jiff::Timestamp::now().as_second() - got.header("webhook-timestamp").parse::<i64>().unwrap();
    assert!((-5..600).contains(&age), "{age}");
}

#[tokio::test]
async fn without_receivers_no_webhook_is_sent() {
    let broker = TestBroker::start().await;
    assert_eq!(broker.rest_as_operator().get("/webhooks").await.is(200), json!({ "webhooks": [] }));
    assert!(!broker.data_dir().join("webhooks").exists());
    broker.rest_as_operator().get("/webhooks/ci/dead").await.refused(404, "unknown_webhook");
    assert!(webhooks_stdout(&broker, &["list"]).await.contains("no webhooks"));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn webhooks_deliver_every_event_signed_and_in_order() {
    let mut receiver = Receiver::start().await;
    let broker = TestBroker::with_settings(&receiver.setting("ci", "")).await;
    let client = broker.client();
    let review = client.submit("for the hook").await;
    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let secret_file = broker.data_dir().join("webhooks/ci.secret");
    assert_eq!(fs::metadata(&secret_file).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = fs::read_to_string(secret_file).unwrap();
    let feed = broker.rest().get("/events?since=0&follow=false").await.text;
    let events: Vec<Value> = feed
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .filter(|event: &Value| event["kind"].is_string())
        .collect();
    assert_eq!(events.len(), 3, "{feed}");
    for event in &events {
        let got = receiver.next().await;
        assert_eq!((&got.json(), got.path.as_str()), (event, "/hook/hunter2"));
        assert_eq!(got.header("content-type"), "application/json");
        assert!(got.header("webhook-id").ends_with(&format!("_{}", event["seq"])), "{got:?}");
        assert_signed(&got, &secret);
    }
    let hook = until(&broker, "all is delivered", |hook| hook["lag"] == 0).await;
    assert_eq!((&hook["name"], &hook["cursor"], &hook["dead"]), (&"ci".into(), &3.into(), &0.into()));
    let listed = webhooks_stdout(&broker, &["list"]).await;
    assert!(listed.contains("ci") && listed.contains("ok"), "{listed}");
    // The path of a URL may contain a secret.
    let config = broker.rest_as_operator().get("/config").await.text;
    for shown in [hook.to_string(), listed, config, broker.log()] {
        assert!(!shown.contains("hunter2") && !shown.contains("sesame"), "{shown}");
        assert!(!shown.contains(secret.trim()), "{shown}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_failed_delivery_is_retried_then_dead_and_the_next_one_follows() {
    let mut receiver = Receiver::start().await;
    let broker = TestBroker::with_settings(&format!("{QUICK}{}", receiver.setting("ci", ""))).await;
    let client = broker.client();
    receiver.now(Behavior::RefuseWith("poison"));
    client.submit("poison").await;
    client.submit("good").await;
    let tries = [receiver.next().await, receiver.next().await, receiver.next().await];
    assert_eq!(tries.each_ref().map(Got::seq), [1, 1, 1]);
    let ids = tries.each_ref().map(|got| got.header("webhook-id"));
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(receiver.next().await.seq(), 2);
    let hook = until(&broker, "one is dead", |hook| hook["dead"] == 1 && hook["lag"] == 0).await;
    assert_eq!(hook["last_error"], "503 Service Unavailable");
    let rows = dead(&broker, "ci").await;
    assert_eq!((&rows[0]["seq"], &rows[0]["attempts"], &rows[0]["kind"]), (&1.into(), &3.into(), &"proposed".into()));
    assert_eq!((&rows[0]["number"], rows.len()), (&"R-1".into(), 1));

    // One more failure, then a success.
    assert_eq!(webhooks_stdout(&broker, &["redeliver", "ci", "1"]).await, "1 will be tried again\n");
    assert_eq!(receiver.next().await.seq(), 1);
    wait_until("dead again", async || dead(&broker, "ci").await.first().cloned().filter(|d| d["attempts"] == 4)).await;
    let before = metrics(&broker).await;
    assert_eq!((before["delivered"], before["failed"], before["dead"]), (1.0, 4.0, 2.0), "{before:?}");
    receiver.now(Behavior::Status(200));
    assert_eq!(webhooks_stdout(&broker, &["redeliver", "ci", "--all"]).await, "1 will be tried again\n");
    let again = receiver.next().await;
    assert_eq!((again.seq(), again.header("webhook-id")), (1, ids[0]));
    until(&broker, "none is dead", |hook| hook["dead"] == 0).await;
    assert!(webhooks_stdout(&broker, &["dead", "ci"]).await.contains("no failed deliveries"));
    assert!(receiver.rest().is_empty());
    broker.stop_and_check().await;
}

/// The number of deliveries by outcome.
async fn metrics(broker: &TestBroker) -> BTreeMap<&'static str, f64> {
    let text = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
    let of = |outcome: &str| {
        let name = format!("countersign_webhook_deliveries_total{{hook=\"ci\",outcome=\"{outcome}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0.0, |value| value.parse().unwrap())
    };
    assert!(text.contains("countersign_webhook_dead{hook=\"ci\"}"), "{text}");
    assert!(text.contains("countersign_webhook_lag{hook=\"ci\"} 0"), "{text}");
    ["delivered", "failed", "dead"].into_iter().map(|outcome| (outcome, of(outcome))).collect()
}

#[tokio::test]
async fn dead_deliveries_can_be_redelivered() {
    let mut receiver = Receiver::start().await;
    let broker = TestBroker::with_settings(&format!("{QUICK}{}", receiver.setting("ci", ""))).await;
    let client = broker.client();
    client.submit("before").await;
    receiver.next().await;
    receiver.now(Behavior::Status(500));
    for intent in ["one", "poison", "three"] {
        client.submit(intent).await;
    }
    until(&broker, "three are dead", |hook| hook["dead"] == 3).await;
    receiver.rest();
    receiver.now(Behavior::RefuseWith("poison"));
    assert_eq!(webhooks_stdout(&broker, &["redeliver", "ci", "--all"]).await, "3 will be tried again\n");
    until(&broker, "one is still dead", |hook| hook["dead"] == 1).await;
    client.submit("after").await;
    let seqs: Vec<_> =
        [receiver.next().await, receiver.next().await, receiver.next().await, receiver.next().await].into();
    assert_eq!(seqs.iter().map(Got::seq).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert_eq!(dead(&broker, "ci").await[0]["seq"], 3);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn dead_deliveries_can_be_dropped_also_of_a_removed_webhook() {
    let receiver = Receiver::start().await;
    let broker = TestBroker::with_settings(&format!("{QUICK}{}", receiver.setting("ci", ""))).await;
    receiver.now(Behavior::Status(500));
    for intent in ["one", "two", "three"] {
        broker.client().submit(intent).await;
    }
    until(&broker, "three are dead", |hook| hook["dead"] == 3).await;
    let rest = broker.rest_as_operator();
    let first = rest.get("/webhooks/ci/dead?limit=2").await.is(200);
    assert_eq!((first["dead"].as_array().unwrap().len(), &first["next_cursor"]), (2, &"2".into()));
    let second = rest.get("/webhooks/ci/dead?limit=2&cursor=2").await.is(200);
    assert_eq!((&second["dead"][0]["seq"], second.get("next_cursor")), (&3.into(), None));
    for body in [json!({}), json!({ "all": false }), json!({ "seqs": [] }), json!({ "seqs": [1], "all": true })] {
        rest.post("/webhooks/ci/drop", body).await.refused(400, "invalid_params");
    }
    assert_eq!(rest.post("/webhooks/ci/drop", json!({ "seqs": [2, 99] })).await.is(200)["count"], 1);
    let mut broker = broker;
    broker.terminate().await;
    let broker = broker.restarted_with("").await;
    let rest = broker.rest_as_operator();
    let left = rest.get("/webhooks").await.is(200)["webhooks"][0].clone();
    assert_eq!((&left["configured"], &left["dead"]), (&false.into(), &2.into()));
    rest.post("/webhooks/ci/redeliver", json!({ "all": true })).await.refused(422, "invalid_argument");
    assert_eq!(webhooks_stdout(&broker, &["drop", "ci", "--all"]).await, "2 dropped\n");
    assert_eq!(rest.get("/webhooks").await.is(200), json!({ "webhooks": [] }));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_killed_broker_skips_no_delivery() {
    let mut receiver = Receiver::start().await;
    let mut broker = TestBroker::with_settings(&receiver.setting("ci", "")).await;
    let mut got = Vec::new();
    // Each time with delivered, active and waiting events.
    for round in 0..3 {
        for number in 0..5 {
            broker.client().submit(&format!("round {round}, {number}")).await;
        }
        let delivered = last_event(&broker.client()).await;
        while got.last().is_none_or(|last: &Got| last.seq() < delivered) {
            got.push(receiver.next().await);
        }
        receiver.now(Behavior::Hang);
        for number in 5..10 {
            broker.client().submit(&format!("round {round}, {number}")).await;
        }
        let cut_off = receiver.next().await;
        assert_eq!(cut_off.seq(), delivered + 1);
        broker.kill().await;
        receiver.now(Behavior::Status(200));
        broker = broker.restarted().await;
    }
    let last = last_event(&broker.client()).await;
    while got.last().is_none_or(|got| got.seq() < last) {
        got.push(receiver.next().await);
    }
    let mut ids = BTreeMap::new();
    let mut next = 1;
    for got in &got {
        // Some events are repeated, but none is missing.
        assert!(got.seq() <= next, "{} after {next}", got.seq());
        next = next.max(got.seq() + 1);
        let id = ids.entry(got.seq()).or_insert_with(|| got.header("webhook-id").to_owned());
        assert_eq!(id, got.header("webhook-id"));
    }
    assert_eq!((next, last), (31, 30));
    let different: BTreeSet<_> = ids.values().collect();
    assert_eq!(different.len(), ids.len());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_restart_repeats_no_delivery_and_a_new_webhook_starts_at_the_end_of_the_log() {
    let (mut first, mut second) = (Receiver::start().await, Receiver::start().await);
    let mut broker = TestBroker::with_settings(&first.setting("first", "")).await;
    broker.client().submit("before").await;
    assert_eq!(first.next().await.seq(), 1);
    until(&broker, "it is delivered", |hook| hook["cursor"] == 1).await;
    broker.terminate().await;
    assert!(!broker.data_dir().join("countersign.db-wal").exists(), "the end leaves one whole file");
    let both = format!("{}{}", first.setting("first", ""), second.setting("second", ""));
    let broker = broker.restarted_with(&both).await;
    broker.client().submit("after").await;
    assert_eq!((first.next().await.seq(), second.next().await.seq()), (2, 2));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_the_configured_events_are_delivered() {
    let (mut verdicts, mut elsewhere) = (Receiver::start().await, Receiver::start().await);
    let other = Repo::new();
    let settings = format!(
        "[projects.other]\npath = \"{}\"\n{}{}",
        other.path().display(),
        verdicts.setting("verdicts", "events = [\"verdict_given\", \"message_added\"]"),
        elsewhere.setting("elsewhere", "project = \"other\"\nevents = [\"review_updated\"]"),
    );
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let here = client.submit("here").await;
    let there = id(&client.call("create_review", proposal_with("there", json!({ "project": "other" }))).await);
    for review in [&here, &there] {
        client.claim(review, "ada").await;
        client.call("submit_verdict", verdict(review, "ada", "approved")).await;
    }
    client.call("close_review", json!({ "review_id": there, "closer_role": "proposer" })).await;
    for review in [&here, &there] {
        let got = verdicts.next().await.json();
        assert_eq!((&got["kind"], &got["review_id"]), (&"verdict_given".into(), &json!(review)));
    }
    for kind in ["proposed", "claimed", "verdict_given", "closed"] {
        let got = elsewhere.next().await.json();
        assert_eq!((&got["kind"], &got["project"]), (&kind.into(), &"other".into()));
    }
    until(&broker, "all is seen", |hook| hook["lag"] == 0).await;
    assert!(verdicts.rest().is_empty() && elsewhere.rest().is_empty());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_receiver_that_hangs_does_not_block_others() {
    let (mut hangs, mut works) = (Receiver::start().await, Receiver::start().await);
    hangs.now(Behavior::Hang);
    let timeout = "[webhooks]\ntimeout = \"5m\"\n";
    let settings = format!("{timeout}{}{}", hangs.setting("hangs", ""), works.setting("works", ""));
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    client.submit("the first").await;
    assert_eq!(hangs.next().await.seq(), 1);
    // All of this while the first delivery is still open.
    for number in 0..20 {
        let review = client.submit(&format!("review {number}")).await;
        client.claim(&review, "ada").await;
        client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    }
    for seq in 1..=61 {
        assert_eq!(works.next().await.seq(), seq);
    }
    let hook = until(&broker, "the lag is seen", |hook| hook["name"] == "hangs").await;
    assert_eq!((&hook["cursor"], &hook["lag"]), (&0.into(), &61.into()));
    assert!(hangs.rest().is_empty());
    // It does not delay the shutdown either.
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (mut receiver, mut trap) = (Receiver::start().await, Receiver::start().await);
    receiver.now(Behavior::RedirectTo(trap.url("/trap")));
    let broker = TestBroker::with_settings(&format!("{QUICK}{}", receiver.setting("ci", ""))).await;
    broker.client().submit("elsewhere").await;
    let hook = until(&broker, "it is dead", |hook| hook["dead"] == 1).await;
    assert_eq!(hook["last_error"], "307 Temporary Redirect; redirects are not followed");
    assert_eq!((receiver.rest().len(), trap.rest().len()), (3, 0));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn https_needs_a_certificate_that_the_system_trusts() {
    let (mut receiver, certificate) = Receiver::start_with_tls().await;
    let settings = format!("{QUICK}{}", receiver.setting("ci", ""));
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trusted.pem");
    fs::write(&file, certificate).unwrap();
    let trusting = vec![("SSL_CERT_FILE".to_owned(), file.to_str().unwrap().to_owned())];
    let broker = TestBroker::with_env(trusting, &settings).await;
    broker.client().submit("in private").await;
    assert_eq!(receiver.next().await.seq(), 1);
    broker.stop_and_check().await;

    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(&file, other.cert.pem()).unwrap();
    let doubting = vec![("SSL_CERT_FILE".to_owned(), file.to_str().unwrap().to_owned())];
    let broker = TestBroker::with_env(doubting, &settings).await;
    broker.client().submit("not for everybody").await;
    let hook = until(&broker, "it is dead", |hook| hook["dead"] == 1).await;
    assert!(hook["last_error"].as_str().unwrap().contains("certificate"), "{hook}");
    assert!(receiver.rest().is_empty());
    broker.stop_and_check().await;
}

/// Error message and exit code of a broker that cannot start with these settings.
async fn refused(home: &tempfile::TempDir, settings: &str) -> (Option<i32>, String) {
    fs::write(home.path().join("config.toml"), settings).unwrap();
    let mut command = countersign(home.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home.path().join("data"));
    let output = command.arg("--config").arg(home.path().join("config.toml")).output().await.unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn a_broker_with_a_bad_receiver_does_not_start() {
    let home = tempfile::tempdir().unwrap();
    let bad = [
        ("url = \"ftp://a.example\"", "must be http or https"),
        ("url = \"http://a.example/x\"", "plain http to another machine"),
        ("url = \"https://me:hunter2@a.example\"", "must not contain credentials"),
        ("url = \"a.example\"", "http:// or https://"),
        ("url = \"https://a.example\"\nevents = [\"verdict\"]", "\"verdict\" is not known"),
        ("url = \"https://a.example\"\nsecret = \"x\"", "\"secret\": unknown key"),
        ("url = \"https://a.example\"\nsecret_file = \"here\"", "must be an absolute path"),
    ];
    for (receiver, words) in bad {
        let (code, stderr) = refused(&home, &format!("[[webhooks.receivers]]\nname = \"ci\"\n{receiver}\n")).await;
        assert_eq!(code, Some(2), "{receiver}: {stderr}");
        assert!(stderr.contains("webhooks.receivers") && stderr.contains(words), "{receiver}: {stderr}");
        assert!(!stderr.contains("hunter2"), "{stderr}");
    }
    let twice = "[[webhooks.receivers]]\nname = \"ci\"\nurl = \"https://a.example\"\n".repeat(2);
    assert!(refused(&home, &twice).await.1.contains("another receiver has this name"));
    let file = home.path().join("open.secret");
    fs::write(&file, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let start = "[[webhooks.receivers]]\nname = \"ci\"\nurl = \"http://127.0.0.1:1\"\n";
    let (code, stderr) = refused(&home, &format!("{start}secret_file = \"{}\"\n", file.display())).await;
    assert!(code == Some(1) && stderr.contains("receiver ci") && stderr.contains("mode 644"), "{stderr}");
    let (code, stderr) = refused(&home, &format!("{start}project = \"nowhere\"\n")).await;
    assert!(code == Some(1) && stderr.contains("no project \"nowhere\""), "{stderr}");
}
