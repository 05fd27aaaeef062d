//! The page signs in: codes, cookies, who may use them, and how long they are valid.

use crate::support::{
    broker::TestBroker,
    client::proposal,
    rest_client::{Answer, sent},
    subscriber::{Subscriber, TRANSPORTS, ws_request},
    tokens::{create_token, operator_secret, token_stdout},
    wait_until::wait_until,
};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

const REQUIRED: &str = "[auth]\nrequired = true\n";

/// The page in a browser that is signed in, or not yet.
#[derive(Clone)]
struct Browser {
    address: String,
    cookie: Option<String>,
}

impl Browser {
    fn new(broker: &TestBroker) -> Self {
        Self { address: broker.url(""), cookie: None }
    }

    /// A request with the cookie, and with these headers.
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<Value>) -> Answer {
        let request =
            Client::new().request(Method::from_bytes(method.as_bytes()).unwrap(), self.address.clone() + path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = self.cookie.iter().fold(request, |request, cookie| request.header("cookie", cookie));
        sent(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// What a script of the page sends.
    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("sec-fetch-site", "same-origin")], None).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        let headers = [("sec-fetch-site", "same-origin"), ("origin", self.address.as_str())];
        self.send("POST", path, &headers, Some(body)).await
    }

    async fn whoami(&self) -> Value {
        self.get("/api/v1/whoami").await.is(200)
    }

    /// Signs in and keeps the cookie.
    async fn sign_in(&mut self, body: Value) -> Answer {
        let answer = self.post("/api/v1/session", body).await;
        if answer.status == 200 {
            let set = answer.header("set-cookie").unwrap();
            self.cookie = Some(set.split(';').next().unwrap().to_owned());
        }
        answer
    }

    async fn sign_out(&self) -> Answer {
        self.send("DELETE", "/api/v1/session", &[("sec-fetch-site", "same-origin")], None).await
    }
}

async fn signed_in(broker: &TestBroker, token: &str) -> Browser {
    let mut browser = Browser::new(broker);
    let answer = browser.sign_in(json!({ "code": code(broker, token).await })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    browser
}

async fn code(broker: &TestBroker, token: &str) -> String {
    let answer = broker.rest().with_token(token).post("/session-codes", json!({})).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.is(200);
    assert_eq!(body["expires_in_seconds"], 30);
    body["code"].as_str().unwrap().to_owned()
}

/// An error without the parts that differ from call to call.
fn refusal(answer: &Answer) -> (u16, Value) {
    let mut body = answer.json();
    body.as_object_mut().unwrap().remove("trace_id");
    (answer.status, body)
}

#[tokio::test]
async fn a_code_signs_a_browser_in_once() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let token = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let mut browser = Browser::new(&broker);
    let before = browser.whoami().await;
    assert_eq!(
        (&before["name"], &before["signed_in"], &before["token_required"]),
        (&json!(null), &json!(false), &json!(true))
    );
    assert_eq!(before["suggested_name"], "", "the name of the broker's user is not for strangers");
    assert_eq!(before["seq"], json!(null), "nor how much happens here");
    browser.get("/api/v1/reviews").await.refused(401, "token_needed");

    let code = code(&broker, &token).await;
    let answer = browser.sign_in(json!({ "code": code })).await;
    let set = answer.header("set-cookie").unwrap().to_owned();
    let (pair, attributes) = set.split_once("; ").unwrap();
    assert!(pair.starts_with(&format!("countersign_session_{}=cs_", broker.port())), "{set}");
    assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(!answer.text.contains("cs_"), "no script can read a secret: {answer:?}");

    let whoami = browser.whoami().await;
    assert_eq!(whoami, answer.is(200));
    assert_eq!(
        (&whoami["name"], &whoami["authority"], &whoami["signed_in"]),
        (&json!("ada"), &json!("reviewer"), &json!(true))
    );
    assert_eq!((&whoami["projects"], &whoami["demo"]), (&json!(null), &json!(false)));
    browser.get("/api/v1/reviews").await.is(200);
    // It has the rights of its token and no more.
    browser.get("/metrics").await.refused(403, "wrong_role");

    // Used, wrong, empty, and the code of another kind: all alike.
    let ticket = broker.rest().with_token(&token).post("/ws-ticket", json!({})).await.is(200)["ticket"].clone();
    let used = Browser::new(&broker).sign_in(json!({ "code": code })).await;
    used.refused(401, "unknown_code");
    for wrong in [json!(format!("cs_{}", "0".repeat(64))), json!(""), json!("x"), json!(token), ticket] {
        let refused = Browser::new(&broker).sign_in(json!({ "code": wrong })).await;
        assert_eq!(refusal(&refused), refusal(&used), "{wrong}");
        assert_eq!(refused.header("set-cookie"), None);
    }
    let (log, secret) = (broker.log(), pair.split_once('=').unwrap().1);
    assert!(!log.contains(&code) && !log.contains(secret), "secrets are not logged");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_signs_a_browser_in() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let project = broker.repo().path().file_name().unwrap().to_str().unwrap().to_owned();
    let token = create_token(broker.home(), "proposer", "eve", &["--project", &project]).await;
    let mut browser = Browser::new(&broker);
    let answer = browser.sign_in(json!({ "token": format!(" {token}\n") })).await.is(200);
    assert_eq!((&answer["name"], &answer["projects"]), (&json!("eve"), &json!([project])));
    assert_eq!(browser.whoami().await, answer);

    let mut stranger = Browser::new(&broker);
    for wrong in [format!("cs_{}", "0".repeat(64)), String::new(), "Bearer x".into()] {
        stranger.sign_in(json!({ "token": wrong })).await.refused(401, "unknown_token");
    }
    for malformed in
        [json!({}), json!({ "code": "a", "token": "b" }), json!({ "name": "ada" }), json!([]), json!({ "code": 1 })]
    {
        stranger.sign_in(malformed).await.refused(400, "invalid_params");
    }
    // A cookie is not a token.
    let secret = browser.cookie.as_ref().unwrap().split_once('=').unwrap().1.to_owned();
    broker.rest().with_token(&secret).get("/reviews").await.refused(401, "unknown_token");
    stranger.sign_in(json!({ "token": secret })).await.refused(401, "unknown_token");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_cookie_counts_only_in_requests_of_the_page() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let browser = signed_in(&broker, &create_token(broker.home(), "operator", "boss", &[]).await).await;
    let own = browser.address.clone();
    let (own_page, other_name) = (format!("{own}/r/12"), own.replace("127.0.0.1", "localhost"));
    let get = async |headers: &[(&str, &str)]| browser.send("GET", "/api/v1/reviews", headers, None).await;
    let accepted: &[&[(&str, &str)]] = &[
        &[("sec-fetch-site", "same-origin")],
        &[("origin", &own)],
        &[("origin", &other_name)],
        // Where browsers say nothing else.
        &[("referer", &own_page)],
    ];
    for headers in accepted {
        assert_eq!(get(headers).await.status, 200, "{headers:?}");
    }
    let ignored: &[&[(&str, &str)]] = &[
        &[],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "none"), ("referer", &own_page)],
        &[("referer", "http://evil.example/")],
        &[("referer", "http://127.0.0.1:1/")],
        &[("referer", &format!("http://evil.example/{own}"))],
        &[("referer", &own.replace("http://", "http://user@"))],
        &[("referer", &own.replace("http://", "https://"))],
    ];
    for headers in ignored {
        get(headers).await.refused(401, "token_needed");
    }

    // Another site, or another port of this machine, whose requests carry the cookie: SameSite ignores ports.
    let before = broker.rest_as_operator().get("/reviews").await.is(200);
    for site in ["cross-site", "same-site"] {
        for headers in
            [vec![("sec-fetch-site", site)], vec![("origin", "http://127.0.0.1:1"), ("sec-fetch-site", site)]]
        {
            for (method, path) in
                [("POST", "/api/v1/reviews"), ("DELETE", "/api/v1/session"), ("GET", "/api/v1/reviews")]
            {
                let answer = browser.send(method, path, &headers, Some(proposal("forged"))).await;
                assert_eq!(answer.status, 403, "{method} {path} {headers:?}: {answer:?}");
            }
        }
    }
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null"] {
        let forged = browser.send("POST", "/api/v1/reviews", &[("origin", origin)], Some(proposal("forged"))).await;
        forged.refused(403, "origin_not_allowed");
    }
    // Without any sign of a browser a request with a cookie is a request without a token.
    browser.send("POST", "/api/v1/reviews", &[], Some(proposal("forged"))).await.refused(401, "token_needed");
    assert_eq!(broker.rest_as_operator().get("/reviews").await.is(200)["reviews"], before["reviews"]);
    assert_eq!(browser.whoami().await["signed_in"], true, "no other site signs it out");
    let link = [
        ("accept", "text/html"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(browser.send("GET", "/r/12", &link, None).await.kind(), "text/html");
    broker.stop_and_check().await;
}

/// Opens the WebSocket of a page that has this origin.
async fn open_socket(broker: &TestBroker, browser: &Browser, origin: &str) -> Result<Subscriber, (u16, Value)> {
    let mut request = ws_request(broker, "since=0");
    request.headers_mut().insert("origin", origin.parse().unwrap());
    if let Some(cookie) = &browser.cookie {
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
    }
    Subscriber::upgrade(request).await
}

#[tokio::test]
async fn a_websocket_of_the_page_needs_no_ticket() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let token = create_token(broker.home(), "operator", "boss", &[]).await;
    let browser = signed_in(&broker, &token).await;
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null"] {
        let (status, body) = open_socket(&broker, &browser, origin).await.err().unwrap();
        assert_eq!((status, &body["code"]), (403, &json!("origin_not_allowed")), "{origin}");
    }
    let mut without_origin = ws_request(&broker, "");
    without_origin.headers_mut().insert("cookie", browser.cookie.as_ref().unwrap().parse().unwrap());
    assert_eq!(Subscriber::upgrade(without_origin).await.err().unwrap().0, 401);
    assert_eq!(open_socket(&broker, &Browser::new(&broker), &browser.address).await.err().unwrap().0, 401);

    let mut socket = open_socket(&broker, &browser, &browser.address).await.ok().unwrap();
    let ready = socket.next().await.unwrap();
    let whoami = browser.whoami().await;
    assert_eq!(ready, json!({ "type": "ready", "seq": 0, "build": ui::BUILD, "database_id": whoami["database_id"] }));
    broker.client().with_token(&token).submit("shown at once").await;
    assert_eq!(socket.next().await.unwrap()["seq"], 1);

    token_stdout(broker.home(), &["revoke", "boss"]).await;
    browser.get("/api/v1/reviews").await.refused(401, "token_needed");
    assert_eq!(browser.whoami().await["signed_in"], false);
    assert_eq!(socket.next().await.unwrap()["reason"], "token_revoked");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_session_survives_a_restart_of_the_broker() {
    let mut broker = TestBroker::with_settings(REQUIRED).await;
    let ada = signed_in(&broker, &create_token(broker.home(), "reviewer", "ada", &[]).await).await;
    let local = signed_in(&broker, &operator_secret(&broker)).await;
    let before = (ada.whoami().await, local.whoami().await);
    assert_eq!((&before.1["name"], &before.1["authority"]), (&json!(null), &json!("operator")));
    broker = broker.kill_and_restart().await;
    assert_eq!((ada.whoami().await, local.whoami().await), before, "the same database, and signed in");
    local.get("/metrics").await;

    // Codes are in memory only.
    let code = code(&broker, &operator_secret(&broker)).await;
    broker = broker.kill_and_restart().await;
    Browser::new(&broker).sign_in(json!({ "code": code })).await.refused(401, "unknown_code");

    // The local operator has no token that could be revoked.
    token_stdout(broker.home(), &["revoke", "operator"]).await;
    assert_eq!(local.whoami().await["signed_in"], false);
    assert_eq!(ada.whoami().await["signed_in"], true);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn signing_out_ends_one_session() {
    let broker = TestBroker::with_settings(REQUIRED).await;
    let token = create_token(broker.home(), "operator", "boss", &[]).await;
    let (first, mut second) = (signed_in(&broker, &token).await, signed_in(&broker, &token).await);
    let mut socket = open_socket(&broker, &first, &first.address).await.ok().unwrap();
    socket.next().await.unwrap();
    let answer = first.sign_out().await;
    let expired = format!("countersign_session_{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", broker.port());
    assert_eq!(answer.header("set-cookie"), Some(expired.as_str()));
    assert_eq!(answer.is(200)["signed_in"], false);
    assert_eq!(
        (&first.whoami().await["signed_in"], &second.whoami().await["signed_in"]),
        (&json!(false), &json!(true))
    );
    first.get("/api/v1/reviews").await.refused(401, "token_needed");
    assert_eq!(first.sign_out().await.status, 200, "again changes nothing");
    assert_eq!(socket.next().await.unwrap()["reason"], "token_revoked");

    // Signing in again replaces the session of this browser.
    let old = second.clone();
    second.sign_in(json!({ "code": code(&broker, &token).await })).await.is(200);
    assert_eq!((&old.whoami().await["signed_in"], &second.whoami().await["signed_in"]), (&json!(false), &json!(true)));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_session_expires() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\nsession_lifetime = \"1s\"\n").await;
    let token = create_token(broker.home(), "reviewer", "ada", &[]).await;
    let mut browser = Browser::new(&broker);
    let answer = browser.sign_in(json!({ "token": token })).await;
    assert!(answer.header("set-cookie").unwrap().contains("; Max-Age=1;"), "{answer:?}");
    wait_until("the session to expire", async || (browser.whoami().await["signed_in"] == false).then_some(())).await;
    browser.get("/api/v1/reviews").await.refused(401, "token_needed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_the_holder_of_a_token_gets_codes() {
    let broker = TestBroker::start().await;
    let token = create_token(broker.home(), "reviewer", "ada", &[]).await;
    broker.rest().post("/session-codes", json!({})).await.refused(401, "token_needed");
    let browser = signed_in(&broker, &token).await;
    browser.post("/api/v1/session-codes", json!({})).await.refused(401, "token_needed");

    // A revoked token does not sign in, not even with a code from before.
    let late = code(&broker, &token).await;
    token_stdout(broker.home(), &["revoke", "ada"]).await;
    Browser::new(&broker).sign_in(json!({ "code": late })).await.refused(401, "unknown_code");

    let other = broker.rest_as_operator();
    let mut issued = 0;
    let refused = loop {
        let answer = other.post("/session-codes", json!({})).await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        issued += 1;
    };
    refused.refused(503, "busy");
    assert_eq!(issued, 256, "at most so many unused codes");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn without_required_tokens_the_page_needs_no_session() {
    let broker = TestBroker::start().await;
    broker.repo().git(&["config", "user.name", "Ann Smith"]);
    let mut browser = Browser::new(&broker);
    let whoami = browser.whoami().await;
    let id = whoami["database_id"].clone();
    let health = browser.get("/healthz").await.is(200);
    assert_eq!((&health["build"], &health["database_id"]), (&json!(ui::BUILD), &id));
    let mut expected = json!({
        "name": null, "authority": null, "projects": null, "suggested_name": "Ann Smith", "token_required": false,
        "signed_in": false, "build": ui::BUILD, "database_id": id, "seq": 0, "demo": false,
    });
    assert_eq!(whoami, expected);
    browser.post("/api/v1/reviews", proposal("by a person")).await.is(201);
    for transport in TRANSPORTS {
        let mut stream = Subscriber::try_open(&broker, transport, "", None).await.ok().unwrap();
        assert_eq!(stream.next().await.unwrap()["database_id"], id);
    }

    // A token is still a name, also as a cookie.
    let token = create_token(broker.home(), "operator", "boss", &[]).await;
    browser.sign_in(json!({ "token": token })).await.is(200);
    assert_eq!(browser.whoami().await["name"], "boss");
    assert_eq!(broker.rest().with_token(&token).get("/whoami").await.is(200)["signed_in"], false);
    browser.cookie = Some(format!("countersign_session_{}=cs_old", broker.port()));
    expected["seq"] = json!(1);
    assert_eq!(browser.whoami().await, expected, "an unknown cookie is ignored");

    let variables = vec![("USER".to_owned(), "ann".to_owned())];
    let other = TestBroker::with_env(variables, "").await;
    let whoami = Browser::new(&other).whoami().await;
    assert_eq!(whoami["suggested_name"], "ann");
    assert_ne!(whoami["database_id"], id);
    broker.stop_and_check().await;
    other.stop_and_check().await;
}
