//! Live events over SSE and WebSocket: every event once and in order, and slow subscribers do not delay others.

use crate::support::{
    broker::{TIMEOUT, TestBroker, countersign},
    client::id,
    json_schema::violations,
    measurements::number_from_env,
    pool::pool_of,
    reviews::{last_event, verdict},
    subscriber::{Discussions, Subscriber, TRANSPORTS, Transport, ws_request},
    tokens::{create_token, token_stdout},
    tool_calls::{arguments_for, tools},
    wait_until::wait_until,
};
use ::api::openapi::document;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// Reads up to this event: the sequence numbers.
async fn seqs_up_to(subscriber: &mut Subscriber, end: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.last().is_none_or(|last| *last < end) {
        let event = subscriber.next().await.unwrap_or_else(|| panic!("ended after {:?} of {end}", seqs.last()));
        assert_ne!(event["type"], "dropped", "after {:?} of {end}: {event}", seqs.last());
        seqs.push(event["seq"].as_u64().unwrap());
    }
    seqs
}

/// All `subscribers` receive all `events`, and one of them reconnects.
async fn everybody_hears_everything(subscribers: usize, events: usize) {
    const REVIEWS: usize = 20;
    let events = events - events % REVIEWS;
    // The senders are idle until all have subscribed; their connections must stay open.
    let server = "[server]\nheader_timeout = \"5m\"";
    let (streams, queue) = (subscribers + 10, events.max(512));
    let settings = format!("{server}\n[events]\nmax_streams = {streams}\nqueue = {queue}\n");
    let broker = TestBroker::with_settings(&settings).await;
    let talk = Discussions::about(&broker, REVIEWS).await;
    let start = last_event(&broker.client()).await;
    let end = start + events as u64;
    let mut listening = Vec::new();
    for number in 0..subscribers {
        let (mut subscriber, since) = Subscriber::open(&broker, TRANSPORTS[number % 2], "", None).await;
        assert_eq!(since, start);
        listening.push(tokio::spawn(async move { seqs_up_to(&mut subscriber, end).await }));
    }
    // It subscribes before the first message, so that it misses none.
    let (mut first, since) = Subscriber::open(&broker, Transport::Ws, "", None).await;
    assert_eq!(since, start);
    let cut_off = async {
        let mut seqs = seqs_up_to(&mut first, start + events as u64 / 3).await;
        drop(first);
        let query = format!("since={}", seqs.last().unwrap());
        let (mut again, _) = Subscriber::open(&broker, Transport::Sse, &query, None).await;
        seqs.extend(seqs_up_to(&mut again, end).await);
        seqs
    };
    let (resumed, ()) = tokio::join!(cut_off, talk.send_messages(events / REVIEWS, "and so on"));
    let expected: Vec<u64> = (start + 1..=end).collect();
    assert_eq!(resumed, expected);
    for heard in listening {
        assert_eq!(heard.await.unwrap(), expected);
    }
    broker.stop_and_check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_subscribers_receive_every_event_once_and_in_order() {
    everybody_hears_everything(200, 2_000).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: cargo xtask events"]
async fn two_hundred_subscribers_receive_very_many_events() {
    everybody_hears_everything(200, number_from_env("COUNTERSIGN_TEST_EVENTS", 10_000)).await;
}

/// Calls every tool, so that the log has events of most kinds, and reads them.
#[tokio::test]
async fn every_message_matches_its_description() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        client.call(name, arguments_for(name, &broker).await).await;
    }
    let schema = &document()["components"]["schemas"]["LiveFrame"];
    for transport in TRANSPORTS {
        let mut subscriber =
            Subscriber::try_open(&broker, transport, "since=0&follow=false", None).await.expect("it may subscribe");
        let mut kinds = BTreeSet::new();
        while let Some(frame) = subscriber.next().await {
            assert_eq!(violations(schema, &frame), [] as [String; 0], "{transport:?}");
            kinds.insert(frame.get("kind").unwrap_or(&frame["type"]).as_str().unwrap().to_owned());
        }
        for kind in ["ready", "proposed", "claimed", "verdict_given", "message_added", "finding_updated", "dropped"] {
            assert!(kinds.contains(kind), "{kind}: {kinds:?}");
        }
    }
    // A description that every message fits would say nothing.
    let unknown = json!({ "type": "review_updated", "seq": 1 });
    assert!(!violations(schema, &unknown).is_empty());
    broker.stop_and_check().await;
}

/// Subscribes and then reads nothing.
async fn deaf(broker: &TestBroker, transport: Transport) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut wire = socket.connect(([127, 0, 0, 1], broker.port()).into()).await.unwrap();
    let (path, more) = match transport {
        Transport::Sse => ("/api/v1/events", ""),
        Transport::Ws => (
            "/ws",
            "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: \
             dGhlIHNhbXBsZSBub25jZQ==\r\n",
        ),
    };
    let head = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{more}\r\n", broker.port());
    wire.write_all(head.as_bytes()).await.unwrap();
    // Reads the response headers and the greeting.
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("\"ready\"") {
        let mut some = [0; 64];
        let read = timeout(TIMEOUT, wire.read(&mut some)).await.expect("an answer").unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&some[..read]);
    }
    wire
}

async fn metric(broker: &TestBroker, name: &str) -> f64 {
    let text = reqwest::get(broker.url("/metrics")).await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_that_does_not_read_is_dropped_without_slowing_others() {
    let broker = TestBroker::with_settings("[events]\nqueue = 512\n").await;
    let talk = Discussions::about(&broker, 20).await;
    // Four bytes each, so that the buffers of the system are soon full.
    let long = "𝄞".repeat(600);
    let measure = async || {
        let begun = Instant::now();
        talk.send_messages(20, &long).await;
        begun.elapsed()
    };
    measure().await;
    let alone = measure().await;
    let mut deafs = Vec::new();
    for transport in TRANSPORTS {
        deafs.push(deaf(&broker, transport).await);
    }
    // Until their queues are full and beyond: other clients must not notice. The machine may be busy with other things;
    // a subscriber that blocks others would delay them for seconds.
    let mut dropped = 0.0;
    for _ in 0..500 {
        let beside = measure().await;
        assert!(beside < 5 * alone + Duration::from_secs(2), "{alone:?} alone, {beside:?} beside");
        dropped = metric(&broker, "countersign_event_drops_total").await;
        if dropped >= 2.0 {
            break;
        }
    }
    assert_eq!(dropped, 2.0);
    // The first may have been cut by now; the second reads again within its grace.
    let mut tails = Vec::new();
    for wire in &mut deafs {
        let mut heard = Vec::new();
        let _ = timeout(TIMEOUT, wire.read_to_end(&mut heard)).await.expect("the connection ends");
        tails.push(String::from_utf8_lossy(&heard[heard.len().saturating_sub(300)..]).into_owned());
    }
    let is_told = |tail: &String| tail.contains(r#""reason":"slow""#) && tail.contains(r#""type":"dropped""#);
    assert!(tails.iter().any(is_told), "{tails:?}");
    wait_until("their places to be free", async || {
        (metric(&broker, "countersign_event_streams").await == 0.0).then_some(())
    })
    .await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn every_step_of_a_review_has_its_event() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mut streams = Vec::new();
    for transport in TRANSPORTS {
        streams.push(Subscriber::open(&broker, transport, "", None).await.0);
    }
    let created = client.call("create_review", crate::support::client::proposal("an event")).await;
    let review = id(&created);
    client.claim(&review, "ada").await;
    let ask = json!({ "review_id": review, "sender_role": "reviewer", "body": "x".repeat(2000) });
    client.call("add_message", ask).await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    let expected = [
        ("review_updated", "proposed", "gsd-executor", "pending"),
        ("review_updated", "claimed", "ada", "claimed"),
        ("message_added", "message_added", "ada", "claimed"),
        ("review_iteration_added", "verdict_given", "ada", "approved"),
        ("review_updated", "closed", "gsd-executor", "closed"),
    ];
    for stream in &mut streams {
        for (version, (topic, kind, actor, status)) in (1..).zip(expected) {
            let event = stream.next().await.unwrap();
            assert_eq!((&event["type"], &event["kind"]), (&json!(topic), &json!(kind)), "{event}");
            assert_eq!((&event["status"], &event["seq"]), (&json!(status), &json!(version)), "{event}");
            assert_eq!(event["also"] == "review_updated", kind == "verdict_given", "{event}");
            assert_eq!((&event["version"], &event["round"]), (&json!(version), &json!(1)), "{event}");
            assert_eq!((&event["review_id"], &event["number"]), (&json!(review), &json!("R-1")), "{event}");
            assert!(event["at"].is_string() && event["project"].is_string(), "{event}");
            assert!(event["actor"] == actor, "{event}");
            assert!(event.to_string().len() < 2000, "long texts are cut: {event}");
            assert!(!event.to_string().contains("digest"), "{event}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_subscriber_receives_only_what_matches_its_filter() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let first = client.submit("first").await;
    let second = client.submit("second").await;
    client.claim(&first, "ada").await;
    client.claim(&second, "ada").await;
    client.call("submit_verdict", verdict(&second, "ada", "approved")).await;
    let project = client.status(&first).await["project"].clone();
    let project = project.as_str().map_or_else(|| "project".to_owned(), str::to_owned);
    let told = async |query: &str| {
        let mut seqs = Vec::new();
        for transport in TRANSPORTS {
            let (mut stream, _) =
                Subscriber::open(&broker, transport, &format!("since=0&follow=false&{query}"), None).await;
            let mut heard = Vec::new();
            loop {
                let event = stream.next().await.unwrap();
                if event["type"] == "dropped" {
                    assert_eq!(event["reason"], "complete");
                    break;
                }
                heard.push(event["seq"].as_u64().unwrap());
            }
            seqs.push(heard);
        }
        assert_eq!(seqs[0], seqs[1], "both carriers tell the same");
        seqs.remove(0)
    };
    assert_eq!(told("").await, [1, 2, 3, 4, 5]);
    assert_eq!(told("review=R-2").await, [2, 4, 5]);
    assert_eq!(told(&format!("review={first}")).await, [1, 3]);
    assert_eq!(told(&format!("review={}", &first[..8])).await, [1, 3]);
    assert_eq!(told("kind=claimed").await, [3, 4]);
    assert_eq!(told("kind=claimed,review_iteration_added").await, [3, 4, 5]);
    assert_eq!(told("kind=claimed&review=R-1").await, [3]);
    assert_eq!(told("kind=review_updated").await, [1, 2, 3, 4, 5], "a decision also updates its review");
    assert_eq!(told(&format!("project={project}")).await, [1, 2, 3, 4, 5]);
    for (query, status, code) in [
        ("kind=nonsense", 422, "invalid_argument"),
        ("since=6", 422, "invalid_argument"),
        ("since=-1", 400, "invalid_params"),
        ("nonsense=1", 400, "invalid_params"),
        ("project=elsewhere", 422, "unknown_project"),
        ("review=R-9", 404, "unknown_review"),
    ] {
        for transport in TRANSPORTS {
            let (refused, body) = Subscriber::try_open(&broker, transport, query, None).await.err().unwrap();
            assert_eq!((refused, &body["code"]), (status, &json!(code)), "{query}: {body}");
        }
    }
    // As a browser resumes.
    let request = reqwest::Client::new().get(broker.url("/api/v1/events?follow=false")).header("last-event-id", "3");
    let text = request.send().await.unwrap().text().await.unwrap();
    assert!(!text.contains("id: 2\n") && text.contains("id: 4\n") && text.contains("id: 5\n"), "{text}");
    let request = reqwest::Client::new().get(broker.url("/api/v1/events")).header("last-event-id", "x");
    assert_eq!(request.send().await.unwrap().status(), 400);

    // New events follow.
    let (mut live, _) = Subscriber::open(&broker, Transport::Ws, "review=R-1&kind=verdict_given", None).await;
    client.submit("third").await;
    client.call("submit_verdict", verdict(&first, "ada", "approved")).await;
    assert_eq!(live.next().await.unwrap()["seq"], 7);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_receives_only_events_of_its_project() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    let operator = create_token(broker.home(), "operator", "boss", &[]).await;
    let client = broker.client().with_token(&operator);
    let review = client.submit("of this project").await;
    let listed = client.call("list_reviews", json!({})).await;
    let project = listed["reviews"][0]["project"].as_str().unwrap().to_owned();
    let own = create_token(broker.home(), "reviewer", "ada", &["--project", &project]).await;
    let foreign = create_token(broker.home(), "proposer", "bob", &["--project", "elsewhere"]).await;
    for transport in TRANSPORTS {
        let refused = Subscriber::try_open(&broker, transport, "", None).await.err().unwrap();
        assert_eq!((refused.0, &refused.1["code"]), (401, &json!("token_needed")));
        let (mut hears, _) = Subscriber::open(&broker, transport, "since=0&follow=false", Some(&own)).await;
        assert_eq!(hears.next().await.unwrap()["review_id"], review);
        let (mut hears, _) = Subscriber::open(&broker, transport, "since=0&follow=false", Some(&foreign)).await;
        assert_eq!(hears.next().await.unwrap()["type"], "dropped", "nothing else is said");
        for query in [format!("review={review}"), format!("project={project}")] {
            let refused = Subscriber::try_open(&broker, transport, &query, Some(&foreign)).await.err().unwrap();
            assert_eq!((refused.0, &refused.1["code"]), (403, &json!("wrong_project")), "{query}");
        }
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn events_of_the_pool_are_only_for_operators() {
    let script = "echo 'no key for the model' >&2; exit 3";
    let broker = TestBroker::with_settings(&pool_of(script, "max_failures = 1\ncooldown = \"10ms\"")).await;
    broker.client().submit("no reviewer comes").await;
    broker.until_pool("crash_loop", |pool| pool["state"] == "crash_loop").await;
    let kinds = async |transport, token: Option<&str>| {
        let (mut stream, _) = Subscriber::open(&broker, transport, "since=0&follow=false", token).await;
        let mut kinds = Vec::new();
        while let Some(event) = stream.next().await.filter(|event| event["type"] != "dropped") {
            kinds.push(event["kind"].as_str().unwrap().to_owned());
        }
        kinds
    };
    let all = ["proposed", "reviewer_spawned", "reviewer_terminated", "crash_loop"];
    for transport in TRANSPORTS {
        assert_eq!(kinds(transport, None).await, all);
    }
    let mut live = Vec::new();
    for (role, expected) in [("operator", &all[..]), ("proposer", &all[..1]), ("reviewer", &all[..1])] {
        let token = create_token(broker.home(), role, &format!("the-{role}"), &[]).await;
        for transport in TRANSPORTS {
            assert_eq!(kinds(transport, Some(&token)).await, expected, "{role}");
            live.push((role, Subscriber::open(&broker, transport, "", Some(&token)).await.0));
        }
    }
    // New events follow.
    wait_until("it has rested", async || broker.client().try_call("spawn_reviewer", json!({})).await.ok()).await;
    let next = broker.client().submit("still no reviewer").await;
    for (role, mut stream) in live {
        let heard = stream.next().await.unwrap();
        assert_eq!(heard["review_id"] == next, role != "operator", "{role}: {heard}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn one_token_cannot_use_all_streams() {
    let broker = TestBroker::with_settings("[events]\nmax_streams = 8\n").await;
    let greedy = create_token(broker.home(), "reviewer", "greedy", &[]).await;
    let other = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let (first, _) = Subscriber::open(&broker, Transport::Ws, "", Some(&greedy)).await;
    let (_second, _) = Subscriber::open(&broker, Transport::Sse, "", Some(&greedy)).await;
    for transport in TRANSPORTS {
        let (status, body) = Subscriber::try_open(&broker, transport, "", Some(&greedy)).await.err().unwrap();
        assert_eq!((status, &body["code"], &body["retryable"]), (503, &json!("busy"), &json!(true)));
        Subscriber::open(&broker, transport, "", Some(&other)).await;
    }
    drop(first);
    wait_until("its place to be free", async || {
        Subscriber::try_open(&broker, Transport::Ws, "", Some(&greedy)).await.ok()
    })
    .await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_websocket_frame_that_is_too_long_is_refused_by_its_header() {
    let broker = TestBroker::start().await;
    let mut wire = deaf(&broker, Transport::Ws).await;
    // The header of a binary frame of one mebibyte, without its content.
    wire.write_all(&[&[0x82, 0xff][..], &(1_u64 << 20).to_be_bytes(), &[0; 4]].concat()).await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(TIMEOUT, wire.read_to_end(&mut rest)).await.expect("the connection ends");
    let is_ping = |bytes: &[u8]| bytes == [0x89, 0];
    assert!(!rest.windows(2).any(is_ping), "before the first heartbeat, not for want of an answer to it: {rest:x?}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_approval_event_names_the_issues_that_it_resolves() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("with a nit").await;
    client.claim(&review, "ada").await;
    let issues = json!([{ "severity": "low", "title": "a nit" }]);
    let again = json!({
        "review_id": review, "reviewer_id": "ada", "verdict": "changes_requested", "reason": "so", "issues": issues,
    });
    client.call("submit_verdict", again).await;
    client.call("create_review", json!({ "review_id": review, "intent": "without it" })).await;
    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "approved")).await;
    let query = "since=0&follow=false&kind=verdict_given";
    let (mut stream, _) = Subscriber::open(&broker, Transport::Sse, query, None).await;
    let (asked, approved) = (stream.next().await.unwrap(), stream.next().await.unwrap());
    assert_eq!((&asked["data"]["settled"], &asked["data"]["settled_count"]), (&json!([]), &json!(0)));
    assert_eq!(approved["data"]["settled"], json!([{ "issue_id": "I-1", "status": "fixed" }]));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let broker = TestBroker::start().await;
    let secret = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let (mut sse, _) = Subscriber::open(&broker, Transport::Sse, "", Some(&secret)).await;
    let (mut ws, _) = Subscriber::open(&broker, Transport::Ws, "", Some(&secret)).await;
    token_stdout(broker.home(), &["revoke", "ada"]).await;
    assert_eq!(sse.next().await.unwrap()["reason"], "token_revoked");
    assert_eq!(ws.next().await.unwrap()["reason"], "token_revoked");
    assert_eq!((ws.next().await, ws.closed().map(|(code, _)| code)), (None, Some(1008)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_ticket_opens_a_websocket_once() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    let secret = create_token(broker.home(), "operator", "boss", &[]).await;
    let ask = |token: Option<&str>| {
        let request = reqwest::Client::new().post(broker.url("/api/v1/ws-ticket")).json(&json!({}));
        token.map_or_else(|| request.try_clone().unwrap(), |token| request.try_clone().unwrap().bearer_auth(token))
    };
    assert_eq!(ask(None).send().await.unwrap().status(), 401);
    let answer = ask(Some(&secret)).send().await.unwrap();
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["expires_in_seconds"], 30);
    let query = format!("since=0&ticket={}", answer["ticket"].as_str().unwrap());
    // A ticket opens nothing else.
    let (status, body) = Subscriber::try_open(&broker, Transport::Sse, &query, None).await.err().unwrap();
    assert_eq!((status, &body["code"]), (401, &json!("token_needed")));
    let mcp = reqwest::Client::new().post(broker.url(&format!("/mcp?{query}"))).json(&json!({})).send().await.unwrap();
    assert_eq!(mcp.status(), 401);

    let (mut stream, _) = Subscriber::open(&broker, Transport::Ws, &query, None).await;
    let again = Subscriber::try_open(&broker, Transport::Ws, &query, None).await.err().unwrap();
    assert_eq!((again.0, &again.1["code"]), (401, &json!("unknown_ticket")));
    let review = broker.client().with_token(&secret).submit("shown on a page").await;
    assert_eq!(stream.next().await.unwrap()["review_id"], review);
    assert!(!broker.log().contains(answer["ticket"].as_str().unwrap()), "it stands in no log");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_foreign_page_cannot_open_a_websocket() {
    let broker = TestBroker::start().await;
    let own = format!("http://127.0.0.1:{}", broker.port());
    let open = async |name: &'static str, value: &str| {
        let mut request = ws_request(&broker, "");
        request.headers_mut().insert(name, value.parse().unwrap());
        Subscriber::upgrade(request).await.map_err(|(status, body)| (status, body["code"].as_str().unwrap().to_owned()))
    };
    assert!(open("origin", &own).await.is_ok());
    for (name, value, code) in [
        ("origin", "http://evil.example", "origin_not_allowed"),
        ("origin", "null", "origin_not_allowed"),
        ("origin", "http://127.0.0.1:1", "origin_not_allowed"),
        ("host", "evil.example", "host_not_allowed"),
        ("sec-fetch-site", "cross-site", "cross_site"),
    ] {
        assert_eq!(open(name, value).await.err(), Some((403, code.to_owned())), "{name}: {value}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_shutdown_closes_every_stream_with_a_reason() {
    let mut broker = TestBroker::start().await;
    broker.client().submit("before the end").await;
    let mut streams = Vec::new();
    for transport in TRANSPORTS {
        streams.push(Subscriber::open(&broker, transport, "", None).await.0);
    }
    assert!(broker.terminate().await.success(), "{}", broker.log());
    for stream in &mut streams {
        let last = stream.next().await.unwrap();
        assert_eq!(last, json!({ "type": "dropped", "reason": "closing", "seq": 1 }));
        assert_eq!(stream.next().await, None);
    }
    assert_eq!(streams[1].closed(), Some((1001, "closing; since=1".into())));
    // After a crash of the broker a subscriber resumes.
    let broker = broker.restarted().await;
    let review = broker.client().submit("after it").await;
    let (mut again, _) = Subscriber::open(&broker, Transport::Ws, "since=1", None).await;
    assert_eq!(again.next().await.unwrap()["review_id"], review);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_stream_beyond_the_limit_is_refused() {
    let broker = TestBroker::with_settings("[events]\nmax_streams = 2\n").await;
    let (first, _) = Subscriber::open(&broker, Transport::Ws, "", None).await;
    let (second, _) = Subscriber::open(&broker, Transport::Sse, "", None).await;
    for transport in TRANSPORTS {
        let (status, body) = Subscriber::try_open(&broker, transport, "", None).await.err().unwrap();
        assert_eq!((status, &body["code"], &body["retryable"]), (503, &json!("busy"), &json!(true)));
        assert!(body["error"].as_str().unwrap().contains("events.max_streams"), "{body}");
    }
    drop((first, second));
    wait_until("both to be free", async || (metric(&broker, "countersign_event_streams").await == 0.0).then_some(()))
        .await;
    let (mut third, _) = Subscriber::open(&broker, Transport::Sse, "", None).await;
    assert!(third.is_silent(Duration::from_millis(50)).await);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_events_command_shows_past_and_new_events() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("red \u{1b}[31m and a\nline\u{202e}\u{9b}31m").await;
    client.claim(&review, "ada").await;
    let events = |options: &[&str]| {
        let mut command = countersign(broker.home());
        command.arg("events").arg("--data-dir").arg(broker.data_dir()).args(options);
        command
    };
    let output = timeout(TIMEOUT, events(&[]).output()).await.expect("it ends by itself").unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.lines().count() == 2, "{text}");
    assert!(text.contains("R-1") && text.contains("proposed") && !text.contains('\u{1b}'), "{text}");
    let output = events(&["--json", "--kind", "proposed"]).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{text:?}");
    let event: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(event["data"]["intent"], "red \u{1b}[31m and a\nline\u{202e}\u{9b}31m");
    let output = events(&["--json", "--since", "1", "--kind", "claimed", "--review", "R-1"]).output().await.unwrap();
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&event["seq"], &event["kind"]), (&json!(2), &json!("claimed")));
    let output = events(&["--kind", "nonsense"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("verdict_given"));

    let mut following = events(&["--follow", "--json", "--since", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = timeout(TIMEOUT, lines.next_line()).await.expect("an event").unwrap().expect("it goes on");
        serde_json::from_str::<Value>(&line).unwrap()["seq"].as_u64().unwrap()
    };
    assert_eq!(next().await, 2);
    client.submit("third event").await;
    assert_eq!(next().await, 3);
    let broker = broker.kill_and_restart().await;
    client.submit("fourth event").await;
    assert_eq!(next().await, 4);
    following.kill().await.unwrap();
    broker.stop_and_check().await;
}
