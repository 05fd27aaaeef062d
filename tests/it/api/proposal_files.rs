//! Files of a proposal before and after its change, for the lines around a hunk.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    json_schema::violations,
    rest_client::{Answer, RestClient, encoded},
    reviews::{verdict, with},
    tokens::create_token,
};
use ::api::openapi::document;
use serde_json::{Value, json};

async fn file(rest: &RestClient, review: &str, path: &str, side: &str, more: &str) -> Answer {
    rest.get(&format!("/reviews/{review}/files?path={}&side={side}{more}", encoded(path))).await
}

/// The fields that tell what the file is.
fn facts(file: &Value) -> Value {
    let schema = &document()["components"]["schemas"]["FileResponse"];
    assert_eq!(violations(schema, file), [] as [String; 0]);
    let mut facts = file.clone();
    for field in ["path", "side", "content_hash"] {
        facts.as_object_mut().unwrap().remove(field).expect("always there");
    }
    facts
}

#[tokio::test]
async fn a_file_is_read_before_and_after_the_change() {
    let broker = TestBroker::start().await;
    let (rest, repo) = (broker.rest(), broker.repo());
    repo.write("old name.txt", "kept\nlines\n");
    repo.write("gone.txt", "gone\n");
    repo.write("picture.bin", [0_u8, 1, 2]);
    repo.write("run.sh", "#!/bin/sh\n");
    repo.write("untouched.txt", "not part of the change\n");
    repo.commit("start");
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.git(&["mv", "old name.txt", "new name.txt"]);
    repo.git(&["rm", "--quiet", "gone.txt"]);
    repo.write("made.txt", "made\n");
    repo.write("picture.bin", [0_u8, 9, 9]);
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached", "--binary", "--find-renames"]) + "\n\n";
    // Neither the index nor the working tree matters.
    repo.git(&["reset", "--quiet", "--hard"]);
    let proposal = proposal_with("many files", json!({ "diff": diff }));
    let review = id(&broker.client().call("create_review", proposal).await);
    let read = async |path: &str, side: &str| facts(&file(&rest, &review, path, side, "").await.is(200));
    let text = |text: &str, lines: u64| json!({ "exists": true, "binary": false, "text": text, "lines_total": lines, "truncated": false });
    let absent = json!({ "exists": false, "binary": false, "truncated": false });
    assert_eq!(read("greeting.txt", "old").await, text("one\ntwo\nthree\n", 3));
    assert_eq!(read("greeting.txt", "new").await, text("one\nzwei\nthree\n", 3));
    assert_eq!(read("new name.txt", "old").await, text("kept\nlines\n", 2), "the source of a rename");
    assert_eq!(read("new name.txt", "new").await, text("kept\nlines\n", 2));
    assert_eq!((read("made.txt", "old").await, read("made.txt", "new").await), (absent.clone(), text("made\n", 1)));
    assert_eq!((read("gone.txt", "old").await, read("gone.txt", "new").await), (text("gone\n", 1), absent));
    let binary = json!({ "exists": true, "binary": true, "truncated": false });
    assert_eq!((read("picture.bin", "old").await, read("picture.bin", "new").await), (binary.clone(), binary));

    for outside in ["untouched.txt", "old name.txt", "../secret", "/etc/passwd", ".git/config", "greeting.txt/"] {
        let refused = file(&rest, &review, outside, "new", "").await.refused(404, "unknown_file");
        assert_eq!(refused["field"], "path");
        assert!(refused["allowed"].as_array().unwrap().contains(&json!("greeting.txt")), "{refused}");
    }
    let side = file(&rest, &review, "greeting.txt", "left", "").await.refused(422, "unknown_side");
    assert_eq!(side["allowed"], json!(["old", "new"]));
    rest.get(&format!("/reviews/{review}/files?path=greeting.txt")).await.refused(400, "invalid_params");
    rest.get(&format!("/reviews/{review}/files?side=old")).await.refused(400, "invalid_params");
    file(&rest, &review, "greeting.txt", "new", "&round=2").await.refused(404, "no_such_round");
    file(&rest, "R-99", "greeting.txt", "new", "").await.refused(404, "unknown_review");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_long_file_is_cut_after_a_whole_line() {
    let broker = TestBroker::start().await;
    let (rest, repo) = (broker.rest(), broker.repo());
    repo.write("long.txt", "a line of sixteen\n".repeat(150_000));
    repo.write("huge.txt", "a line of sixteen\n".repeat(300_000));
    repo.commit("long files");
    repo.write("long.txt", "first\n".to_owned() + &"a line of sixteen\n".repeat(150_000));
    repo.write("huge.txt", "first\n".to_owned() + &"a line of sixteen\n".repeat(300_000));
    let diff = repo.git(&["diff"]) + "\n";
    let proposal = proposal_with("a long file", json!({ "diff": diff }));
    let review = id(&broker.client().call("create_review", proposal).await);
    let read = file(&rest, &review, "long.txt", "new", "").await.is(200);
    assert_eq!((&read["truncated"], &read["lines_total"]), (&json!(true), &json!(150_001)));
    let text = read["text"].as_str().unwrap();
    assert!(text.len() <= 2 << 20 && text.len() > (2 << 20) - 20, "{}", text.len());
    assert!(text.starts_with("first\na line") && text.ends_with("sixteen\n"));
    let huge = facts(&file(&rest, &review, "huge.txt", "old", "").await.is(200));
    assert_eq!(huge, json!({ "exists": true, "binary": false, "truncated": true }));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_file_belongs_to_a_round_and_a_content() {
    let broker = TestBroker::start().await;
    let (client, rest, repo) = (broker.client(), broker.rest(), broker.repo());
    let first = client.call("create_review", proposal_with("one", json!({ "diff": repo.diff("zwei") }))).await;
    let review = id(&first);
    client.claim(&review, "ada").await;
    let patch = json!({ "counter_patch": repo.diff("dos") });
    client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), patch)).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    let text = async |more: &str| file(&rest, &review, "greeting.txt", "new", more).await.is(200)["text"].clone();
    assert_eq!(text("").await, "one\ndos\nthree\n");
    assert_eq!(text("&content=submitted").await, "one\nzwei\nthree\n");

    let submitted = first["content_hash"].as_str().unwrap();
    let active = client.status(&review).await["content_hash"].as_str().unwrap().to_owned();
    assert_eq!(text(&format!("&content_hash={active}")).await, "one\ndos\nthree\n");
    assert_eq!(text(&format!("&content_hash={submitted}")).await, "one\nzwei\nthree\n", "the hash chooses");
    let cached = file(&rest, &review, "greeting.txt", "new", &format!("&content_hash={active}")).await;
    assert_eq!(cached.header("cache-control"), Some("private, max-age=31536000, immutable"));
    assert_eq!(cached.json()["content_hash"], active.as_str());
    let open = file(&rest, &review, "greeting.txt", "new", "").await;
    assert_eq!(open.header("cache-control"), Some("private, no-cache"));
    let stale = format!("&content=active&content_hash={submitted}");
    let stale = file(&rest, &review, "greeting.txt", "new", &stale).await.refused(409, "stale_content");
    assert_eq!((&stale["given"], &stale["current"]), (&json!(submitted), &json!(active)));

    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    client.call("create_review", json!({ "review_id": review, "intent": "two", "diff": repo.diff("deux") })).await;
    assert_eq!((text("").await, text("&round=1").await), (json!("one\ndeux\nthree\n"), json!("one\ndos\nthree\n")));
    file(&rest, &review, "greeting.txt", "new", &format!("&content_hash={active}")).await.refused(409, "stale_content");
    assert_eq!(text(&format!("&round=1&content_hash={active}")).await, "one\ndos\nthree\n");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_file_after_a_change_that_does_not_apply_is_refused_with_a_reason() {
    let broker = TestBroker::start().await;
    let (client, rest, repo) = (broker.client(), broker.rest(), broker.repo());
    let diff = repo.diff("zwei").replace("-two", "-nine").replace(" one", " eight");
    let more = json!({ "diff": diff, "skip_diff_validation": true });
    let review = id(&client.call("create_review", proposal_with("cannot apply", more)).await);
    let refused = file(&rest, &review, "greeting.txt", "new", "").await.refused(422, "invalid_argument");
    assert!(refused["detail"].as_str().unwrap().contains("does not apply"), "{refused}");
    assert_eq!(file(&rest, &review, "greeting.txt", "old", "").await.is(200)["text"], "one\ntwo\nthree\n");
    let text = client.submit("no diff").await;
    file(&rest, &text, "greeting.txt", "old", "").await.refused(404, "unknown_file");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn filters_of_the_repository_do_not_run() {
    let broker = TestBroker::start().await;
    let (rest, repo) = (broker.rest(), broker.repo());
    let marker = repo.beside("the-filter-ran");
    let command = format!("touch {} && cat", marker.display());
    for name in ["clean", "smudge"] {
        repo.git(&["config", &format!("filter.mark.{name}"), &command]);
    }
    repo.git(&["config", "diff.mark.textconv", &command]);
    repo.git(&["config", "filter.mark.required", "true"]);
    let diff = repo.diff("zwei");
    std::fs::write(repo.path().join(".git/info/attributes"), "* filter=mark diff=mark\n").unwrap();
    let review = id(&broker.client().call("create_review", proposal_with("filtered", json!({ "diff": diff }))).await);
    for (side, text) in [("old", "one\ntwo\nthree\n"), ("new", "one\nzwei\nthree\n")] {
        assert_eq!(file(&rest, &review, "greeting.txt", side, "").await.is(200)["text"], text);
    }
    assert!(!marker.exists());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_file_needs_a_token_for_its_project() {
    let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
    let home = broker.home();
    let eve = broker.rest().with_token(&create_token(home, "proposer", "eve", &[]).await);
    let made = eve.post("/reviews", proposal_with("mine", json!({ "diff": broker.repo().diff("zwei") }))).await.is(201);
    let review = made["review_id"].as_str().unwrap();
    file(&broker.rest(), review, "greeting.txt", "old", "").await.refused(401, "token_needed");
    let guest = broker.rest().with_token(&create_token(home, "operator", "guest", &["--project", "other"]).await);
    file(&guest, review, "greeting.txt", "old", "").await.refused(403, "wrong_project");
    file(&eve, review, "greeting.txt", "old", "").await.is(200);
    broker.stop_and_check().await;
}
