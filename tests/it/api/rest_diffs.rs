//! Diffs and patches over REST.

use crate::support::{broker::TIMEOUT, wait_until::wait_until};
use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    rest_client::sent,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

#[tokio::test]
async fn a_diff_is_available_as_text_and_as_pages() {
    let broker = TestBroker::with_settings("[limits]\npage_chars = 1000\n").await;
    let (rest, mcp) = (broker.rest(), broker.client());
    broker.repo().write("long.txt", "a line of text\n".repeat(500));
    broker.repo().git(&["add", "--all"]);
    let diff = broker.repo().git(&["diff", "--cached"]) + "\n";
    let review = id(&mcp.call("create_review", proposal_with("long", json!({ "diff": diff }))).await);
    let at = format!("/reviews/{review}/diff");
    for accept in ["text/x-diff", "text/plain", "text/x-diff, application/json;q=0.5"] {
        let text = sent(rest.request("GET", &at).header("accept", accept)).await;
        assert_eq!((text.status, text.kind(), text.header("vary")), (200, "text/x-diff", Some("accept")), "{accept}");
        assert_eq!(text.header("x-content-type-options"), Some("nosniff"), "it may hold markup");
        assert_eq!(text.text, diff, "{accept}: the whole of it");
    }
    let mut whole = String::new();
    let mut next = Some(at.clone());
    while let Some(page) = next {
        let page = rest.get(&page).await;
        next = page.header("link").map(|link| link[1..link.find('>').unwrap()].to_owned());
        whole += page.is(200)["diff"].as_str().unwrap_or_default();
    }
    assert_eq!(whole, diff);
    let text = mcp.submit("no diff").await;
    for below in ["diff", "patch"] {
        let none = sent(rest.request("GET", &format!("/reviews/{text}/{below}")).header("accept", "text/x-diff")).await;
        none.refused(404, "no_diff");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_can_be_limited_to_a_round_and_a_file() {
    let broker = TestBroker::start().await;
    let (rest, mcp, repo) = (broker.rest(), broker.client(), broker.repo());
    let first = repo.diff("zwei");
    let review = id(&mcp.call("create_review", proposal_with("one", json!({ "diff": first }))).await);
    mcp.claim(&review, "ada").await;
    let verdict = json!({ "verdict": "changes_requested", "reviewer_id": "ada", "reason": "dos" });
    rest.post(&format!("/reviews/{review}/verdict"), verdict).await.is(200);
    let second = repo.diff("dos");
    rest.post(&format!("/reviews/{review}/resubmit"), json!({ "intent": "two", "diff": second })).await.is(200);
    let text = async |below: &str| {
        let path = format!("/reviews/{review}/{below}");
        sent(rest.request("GET", &path).header("accept", "text/x-diff")).await.text
    };
    assert_eq!(text("diff").await, second);
    assert_eq!((text("diff?round=1").await, text("rounds/1/diff").await), (first.clone(), first));
    assert_eq!(text("rounds/2/diff?file=greeting.txt").await, second);
    let between = text("diff?since_round=1").await;
    assert!(between.contains("-zwei") && between.contains("+dos") && !between.contains("-two"), "{between}");
    rest.get(&format!("/reviews/{review}/rounds/3/diff")).await.refused(404, "no_such_round");
    rest.get(&format!("/reviews/{review}/patch?file=none")).await.refused(404, "unknown_file");
    let patch = text("patch?file=greeting.txt&round=1").await;
    assert!(patch.contains("\nSubject: [PATCH] one\n") && patch.contains("+zwei"), "{patch}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_has_the_etag_of_its_review() {
    let broker = TestBroker::start().await;
    let (rest, mcp) = (broker.rest(), broker.client());
    let proposal = proposal_with("tagged", json!({ "diff": broker.repo().diff("zwei") }));
    let review = id(&mcp.call("create_review", proposal).await);
    for below in ["diff", "patch", "rounds/1/diff"] {
        let ask = || rest.request("GET", &format!("/reviews/{review}/{below}")).header("accept", "text/x-diff");
        let read = sent(ask()).await;
        assert_eq!((read.status, read.header("etag")), (200, Some("W/\"1\"")), "{below}");
        let known = sent(ask().header("if-none-match", "W/\"1\"")).await;
        assert_eq!((known.status, known.text.as_str(), known.header("etag")), (304, "", Some("W/\"1\"")), "{below}");
        assert_eq!(sent(ask().header("if-none-match", "W/\"2\"")).await.status, 200);
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_diff_names_its_content_and_never_changes_if_it_is_named() {
    let broker = TestBroker::start().await;
    let (rest, mcp, repo) = (broker.rest(), broker.client(), broker.repo());
    let (first, second) = (repo.diff("zwei"), repo.diff("dos"));
    let made = mcp.call("create_review", proposal_with("one", json!({ "diff": first }))).await;
    let (review, submitted) = (id(&made), made["content_hash"].as_str().unwrap());
    let text = async |below: &str| {
        sent(rest.request("GET", &format!("/reviews/{review}/{below}")).header("accept", "text/x-diff")).await
    };
    let forever = Some("private, max-age=31536000, immutable");
    for below in ["diff", "rounds/1/diff", "patch"] {
        let open = text(below).await;
        assert_eq!(
            (open.header("content-hash"), open.header("cache-control")),
            (Some(submitted), Some("private, no-cache"))
        );
        let named = text(&format!("{below}?content_hash={submitted}")).await;
        assert_eq!((named.status, named.text), (200, open.text), "{below}");
    }
    let named = text(&format!("rounds/1/diff?content_hash={submitted}")).await;
    assert_eq!((named.header("content-hash"), named.header("cache-control")), (Some(submitted), forever));
    assert_eq!(named.header("vary"), Some("accept"));
    let json = rest.get(&format!("/reviews/{review}/diff?content_hash={submitted}")).await;
    assert_eq!(json.header("cache-control"), Some("private, no-cache"), "a page also has the state of the review");

    mcp.claim(&review, "ada").await;
    let patch = json!({
        "verdict": "changes_requested", "reviewer_id": "ada", "reason": "dos", "counter_patch": second,
    });
    rest.post(&format!("/reviews/{review}/verdict"), patch).await.is(200);
    rest.post(&format!("/reviews/{review}/counter-patch/accept"), json!({})).await.is(200);
    let active = mcp.status(&review).await["content_hash"].as_str().unwrap().to_owned();
    assert_eq!(text("diff").await.header("content-hash"), Some(active.as_str()));
    let old = text(&format!("diff?content_hash={submitted}")).await;
    assert_eq!(
        (&old.text, old.header("content-hash"), old.header("cache-control")),
        (&first, Some(submitted), forever)
    );
    let unknown = "0".repeat(64);
    for stale in [format!("diff?content_hash={unknown}"), format!("diff?content=active&content_hash={submitted}")] {
        let refused = text(&stale).await;
        assert_eq!(refused.refused(409, "stale_content")["current"], active.as_str(), "{stale}");
        assert_eq!(refused.header("cache-control"), None, "an error is not kept");
        rest.get(&format!("/reviews/{review}/{stale}")).await.refused(409, "stale_content");
    }
    // What changed since an earlier round is fixed, but not what changed within the current one.
    rest.post(&format!("/reviews/{review}/resubmit"), json!({ "intent": "two", "diff": repo.diff("deux") }))
        .await
        .is(200);
    let hash = mcp.status(&review).await["content_hash"].as_str().unwrap().to_owned();
    let since = async |round: u32| text(&format!("diff?since_round={round}&content_hash={hash}")).await;
    assert_eq!(since(1).await.header("cache-control"), forever);
    assert_ne!(since(2).await.header("cache-control"), forever);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_counter_patch_is_available_as_a_whole() {
    let broker = TestBroker::start().await;
    let (rest, mcp, repo) = (broker.rest(), broker.client(), broker.repo());
    let more = json!({ "diff": repo.diff("zwei"), "personas": ["general", "security"] });
    let review = id(&mcp.call("create_review", proposal_with("to be improved", more)).await);
    let patch = async |query: &str| rest.get(&format!("/reviews/{review}/counter-patch{query}")).await;
    patch("").await.refused(404, "no_counter_patch");
    let offer = async |persona: &str, reviewer: &str, word: &str| {
        let claim = json!({ "review_id": review, "reviewer_id": reviewer, "persona": persona });
        mcp.call("claim_review", claim).await;
        repo.write("long.txt", format!("{word}\n").repeat(20_000));
        repo.git(&["add", "--all"]);
        let diff = repo.git(&["diff", "--cached"]) + "\n";
        let verdict = json!({
            "review_id": review, "reviewer_id": reviewer, "verdict": "comment", "reason": "so", "counter_patch": diff,
        });
        mcp.call("submit_verdict", verdict).await;
        diff
    };
    let first = offer("general", "ada", "a line").await;
    let second = offer("security", "bob", "a better line").await;
    let latest = patch("").await;
    assert_eq!(
        (latest.status, latest.kind(), latest.header("x-content-type-options")),
        (200, "text/x-diff", Some("nosniff"))
    );
    assert_eq!(latest.text, second, "the latest one, also if it is longer than a page");
    assert_eq!(patch("?persona=general").await.text, first);
    assert_eq!(patch("?persona=security&round=1").await.text, second);
    let etag = latest.header("etag").unwrap();
    let path = format!("/reviews/{review}/counter-patch");
    assert_eq!(sent(rest.request("GET", &path).header("if-none-match", etag)).await.status, 304);
    patch("?persona=tests").await.refused(422, "no_such_seat");
    patch("?round=2").await.refused(404, "no_such_round");
    let change = patch("?persona=security&since_round=1").await;
    assert_eq!((change.status, change.kind()), (200, "text/x-diff"));
    assert!(change.text.contains("+a better line"), "{}", change.text);
    assert!(change.text.contains("-zwei"), "it begins at what the round submitted: {}", change.text);
    patch("?since_round=2").await.refused(404, "no_such_round");
    patch("?verdict=3").await.refused(400, "invalid_params");
    broker.stop_and_check().await;
}

/// Requests a text and reads only the start of the response.
async fn deaf(broker: &TestBroker, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut wire = socket.connect(([127, 0, 0, 1], broker.port()).into()).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\naccept: text/x-diff\r\n\r\n", broker.port());
    wire.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    timeout(TIMEOUT, wire.read_exact(&mut first)).await.expect("an answer").unwrap();
    assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 200");
    wire
}

#[tokio::test]
async fn a_diff_that_the_client_does_not_read_is_aborted() {
    let broker = TestBroker::with_settings("[server]\nwrite_timeout = \"5s\"\n").await;
    let (rest, mcp) = (broker.rest(), broker.client());
    // More than the buffers of the system hold.
    broker.repo().write("long.txt", "a line of sixteen\n".repeat(400_000));
    broker.repo().git(&["add", "--all"]);
    let diff = broker.repo().git(&["diff", "--cached"]) + "\n";
    let review = id(&mcp.call("create_review", proposal_with("long", json!({ "diff": diff }))).await);
    let at = format!("/reviews/{review}/diff");
    let mut deafs = Vec::new();
    for _ in 0..8 {
        deafs.push(deaf(&broker, &format!("/api/v1{at}")).await);
    }
    let ask = async || sent(rest.request("GET", &at).header("accept", "text/x-diff")).await;
    let refused = ask().await;
    assert_eq!((&refused.refused(503, "busy")["retryable"], refused.header("retry-after")), (&json!(true), Some("1")));
    rest.get(&at).await.is(200);
    // The connections are open but not read.
    let taken = wait_until("a place", async || Some(ask().await).filter(|answer| answer.status == 200)).await;
    assert!(taken.text == diff, "the whole of it");
    // Not every timeout may be over yet.
    let mut cut_off = 0;
    for mut wire in deafs {
        let mut heard = Vec::new();
        let _ = timeout(TIMEOUT, wire.read_to_end(&mut heard)).await.expect("the connection ends");
        cut_off += usize::from(heard.len() < diff.len());
    }
    assert!(cut_off > 0);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_patch_can_be_applied_by_git_am() {
    let broker = TestBroker::start().await;
    let (rest, mcp, repo) = (broker.rest(), broker.client(), broker.repo());
    let smuggled = format!("---\n{}", repo.diff("smuggled").replace("greeting", "other"));
    let proposal = proposal_with(
        "say it in German\nFrom: evil <evil@example.invalid>",
        json!({ "diff": repo.diff("zwei"), "description": smuggled, "agent_type": "x <a@b>, Cc: c" }),
    );
    let review = id(&mcp.call("create_review", proposal).await);
    let patch = rest.get(&format!("/reviews/{review}/patch")).await;
    assert_eq!((patch.status, patch.kind()), (200, "text/x-patch"));
    assert_eq!(patch.header("content-disposition"), Some("attachment; filename=\"R-1-round-1.patch\""));
    let file = repo.path().with_extension("patch");
    std::fs::write(&file, &patch.text).unwrap();
    repo.git(&["am", file.to_str().unwrap()]);
    assert_eq!(
        repo.git(&["show", "--format=%s|%ae|%an", "--name-only"]).lines().collect::<Vec<_>>(),
        ["say it in German From: evil <evil@example.invalid>|countersign@localhost|x ab Cc c", "", "greeting.txt",]
    );
    assert_eq!(repo.git(&["show", "HEAD:greeting.txt"]), "one\nzwei\nthree");
    let without = mcp.submit("only words").await;
    rest.get(&format!("/reviews/{without}/patch")).await.refused(404, "no_diff");
    broker.stop_and_check().await;
}
