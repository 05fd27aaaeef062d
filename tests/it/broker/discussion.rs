//! Messages between proposer and reviewer.

use crate::support::{
    broker::TestBroker,
    reviews::{self, column, review_in},
};
use serde_json::{Value, json};

#[tokio::test]
async fn messages_take_turns_and_either_side_may_begin() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let say = |role: &str, body: &str| json!({ "review_id": id, "sender_role": role, "body": body });
    client.call("add_message", say("reviewer", "What is it for?")).await;
    let refused = client.refused("out_of_turn", "add_message", say("reviewer", "And why now?")).await;
    assert_eq!(refused["last_role"], "reviewer");
    let lines = json!({ "files": ["a.rs"], "lines": [1, 2] });
    client.call("add_message", reviews::with(say("proposer", "For you."), json!({ "metadata": lines }))).await;
    client.refused("out_of_turn", "add_message", say("proposer", "Really.")).await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "approved")).await;
    client.call("add_message", say("reviewer", "Thanks.")).await;
    let talk = client.call("get_discussion", json!({ "review_id": id })).await;
    assert_eq!(column(&talk["messages"], "body"), ["What is it for?", "For you.", "Thanks."]);
    assert_eq!(talk["messages"][1]["metadata"], lines);
    assert_eq!(client.status(&id).await["status"], "approved", "words decide nothing");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_long_discussion_is_paginated_and_filtered_by_round() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let say = |role: &str, body: &str| json!({ "review_id": id, "sender_role": role, "body": body });
    let long = "ä".repeat(70_000);
    client.call("add_message", say("reviewer", &long)).await;
    client.call("add_message", say("proposer", "short")).await;
    client.call("submit_verdict", reviews::verdict(&id, "ada", "changes_requested")).await;
    client.call("create_review", json!({ "review_id": id, "intent": "again" })).await;
    client.claim(&id, "ada").await;
    client.call("add_message", say("reviewer", "second round")).await;

    let (mut bodies, mut pages, mut cursor) = (Vec::<(u64, String)>::new(), 0, Value::Null);
    loop {
        let page = client.call("get_discussion", json!({ "review_id": id, "cursor": cursor })).await;
        assert!(page.to_string().chars().count() <= 31_000);
        for message in page["messages"].as_array().unwrap() {
            let (message_id, part) = (message["id"].as_u64().unwrap(), message["body"].as_str().unwrap());
            match bodies.last_mut() {
                Some((last, body)) if *last == message_id => body.push_str(part),
                _ => bodies.push((message_id, part.to_owned())),
            }
        }
        pages += 1;
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert!(pages > 2, "{pages}");
    let bodies: Vec<String> = bodies.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [long, "short".to_owned(), "second round".to_owned()]);

    let second = client.call("get_discussion", json!({ "review_id": id, "round": 2 })).await;
    assert_eq!(column(&second["messages"], "body"), ["second round"]);
    client.refused("no_such_round", "get_discussion", json!({ "review_id": id, "round": 3 })).await;
    client.refused("bad_cursor", "get_discussion", json!({ "review_id": id, "cursor": "later" })).await;
    broker.stop_and_check().await;
}
