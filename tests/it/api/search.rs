//! Lists and counts of issues by filter, and full-text search, over REST and on the command line.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    database::{Stored, fill},
    rest_client::RestClient,
    tokens::create_token,
};
use serde_json::{Value, json};

/// Proposes a change, raises these issues as `(title, severity, file)`, and returns the id of the review.
async fn raise(broker: &TestBroker, intent: &str, reviewer: &str, issues: &[(&str, &str, &str)]) -> String {
    let client = broker.client();
    let details = json!({ "diff": broker.repo().diff("zwei"), "policy": { "block_on_critical": true } });
    let review = id(&client.call("create_review", proposal_with(intent, details)).await);
    client.claim(&review, reviewer).await;
    let issue = |(title, severity, file): &(&str, &str, &str)| json!({ "title": title, "severity": severity, "type": "bug", "file": file, "line_start": 2, "line_end": 2 });
    let verdict = json!({ "review_id": review, "verdict": "changes_requested", "reviewer_id": reviewer,
                          "reason": "the umlauts are wrong", "issues": issues.iter().map(issue).collect::<Vec<_>>() });
    client.call("submit_verdict", verdict).await;
    review
}

fn ids(page: &Value) -> Vec<&str> {
    page["issues"].as_array().unwrap().iter().map(|issue| issue["issue_id"].as_str().unwrap()).collect()
}

async fn list(rest: &RestClient, query: &str) -> Value {
    rest.get(&format!("/issues?{query}")).await.is(200)
}

#[tokio::test]
async fn issues_are_filtered_counted_and_ordered_by_urgency_as_soon_as_they_are_raised() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    let issues = [("A small one", "low", "greeting.txt"), ("A hole", "critical", "greeting.txt")];
    let first = raise(&broker, "the first", "ada", &issues).await;
    raise(&broker, "the second", "bob", &[("Too slow", "high", "greeting.txt")]).await;
    let urgent = list(&rest, "order=blocking").await;
    assert_eq!(ids(&urgent), ["I-2", "I-3", "I-1"]);
    assert_eq!(
        (&urgent["issues"][0]["blocks"], &urgent["issues"][0]["review_intent"]),
        (&json!(true), &json!("the first"))
    );
    assert_eq!(ids(&list(&rest, "severities=low&severities=high").await), ["I-3", "I-1"]);
    assert_eq!(ids(&list(&rest, "blocks=true").await), ["I-2"]);
    assert_eq!(ids(&list(&rest, "reviewer=bob&order=blocking").await), ["I-3"]);
    assert_eq!(ids(&list(&rest, "q=hol").await), ["I-2"]);
    assert_eq!(ids(&list(&rest, "q=%22%20AND").await), [] as [&str; 0]);
    assert_eq!(ids(&list(&rest, "type=security").await), [] as [&str; 0]);
    let settled = json!({ "status": "wont_fix", "note": "small", "role": "operator", "caller_id": "ann" });
    rest.patch(&format!("/reviews/{first}/issues/I-1"), settled).await.is(200);
    assert_eq!(ids(&list(&rest, "order=blocking&statuses=open&statuses=fixed").await), ["I-2", "I-3"]);
    let counts = async |query: &str| {
        let counts = rest.get(&format!("/issues/counts?{query}")).await.is(200);
        let groups = counts["groups"].as_array().unwrap().clone();
        let row = |group: Value| {
            (group["group"].as_str().unwrap().to_owned(), group["issues"].clone(), group["blocking"].clone())
        };
        groups.into_iter().map(row).collect::<Vec<_>>()
    };
    let row = |name: &str, issues: u64, blocking: u64| (name.to_owned(), json!(issues), json!(blocking));
    assert_eq!(counts("group_by=status").await, [row("open", 2, 1), row("wont_fix", 1, 0)]);
    assert_eq!(counts("group_by=review&statuses=open").await, [row("R-1", 1, 1), row("R-2", 1, 0)]);
    assert_eq!(counts("group_by=severity&q=slow").await, [row("high", 1, 0)]);
    assert_eq!(counts("group_by=file").await, [row("greeting.txt", 3, 1)]);
    broker.client().call("cancel_review", json!({ "review_id": first, "reason": "no" })).await;
    assert_eq!(ids(&list(&rest, "open_reviews=true").await), ["I-3"]);
    assert_eq!(ids(&list(&rest, "order=blocking").await), ["I-3", "I-2", "I-1"]);
    rest.get("/issues?status=open&statuses=fixed").await.refused(422, "invalid_argument");
    rest.get("/issues/counts").await.refused(400, "invalid_params");
    rest.get("/issues?order=blocking&cursor=7").await.refused(422, "bad_cursor");

    let printed = broker.command(&["issues", "--by-urgency", "--open", "--open-reviews"]).stdout().await;
    assert!(printed.contains("I-3 R-2") && !printed.contains("I-2"), "{printed}");
    let grouped = broker.command(&["issues", "--group-by", "severity"]).stdout().await;
    assert!(grouped.contains("GROUP") && grouped.contains("critical"), "{grouped}");
    let some = broker.command(&["issues", "--severity", "low", "--severity", "high"]).stdout().await;
    assert!(some.contains("I-1") && some.contains("I-3") && !some.contains("I-2"), "{some}");
    broker.stop_and_check().await;
}

async fn search(rest: &RestClient, query: &str) -> Vec<(String, String)> {
    let found = rest.get(&format!("/search?{query}")).await.is(200);
    let row =
        |found: &Value| (found["kind"].as_str().unwrap().to_owned(), found["number"].as_str().unwrap().to_owned());
    found["results"].as_array().unwrap().iter().map(row).collect()
}

#[tokio::test]
async fn a_search_finds_what_was_committed_before_it_in_titles_first() {
    let mut broker = TestBroker::start().await;
    let rest = broker.rest();
    let first = raise(&broker, "Greet in German", "ada", &[("The umlaut is lost", "high", "greeting.txt")]).await;
    let message = json!({ "review_id": first, "sender_role": "proposer", "body": "Which umlaut do you mean?" });
    broker.client().call("add_message", message).await;
    let kinds: Vec<_> = search(&rest, "q=umlaut").await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["finding", "message", "verdict"], "the title of a finding first, then the newest");
    assert_eq!(search(&rest, "q=german%20gre").await, [("review".to_owned(), "R-1".to_owned())]);
    assert_eq!(search(&rest, "q=umlaut&kinds=message").await.len(), 1);
    assert_eq!(search(&rest, "q=R-1&kinds=review").await.len(), 1);
    let page = rest.get("/search?q=umlaut&limit=2").await.is(200);
    let rest_of_it = format!("q=umlaut&limit=2&cursor={}", page["next_cursor"].as_str().unwrap());
    assert_eq!(search(&rest, &rest_of_it).await, [("verdict".to_owned(), "R-1".to_owned())]);
    let message = &page["results"][1];
    assert_eq!(message["snippet"][1], json!({ "text": "umlaut", "match": true }));
    assert_eq!((&message["round"], &page["results"][0]["issue_id"]), (&json!(1), &json!("I-1")));
    for text in ["%22", "AND", "-", "%00", "NEAR(x", "title:%20x", "a%20OR", "%F0%9F%91%A9"] {
        search(&rest, &format!("q={text}")).await;
    }
    rest.get(&format!("/search?q={}", "x".repeat(501))).await.refused(413, "too_long");
    rest.get("/search").await.refused(400, "invalid_params");
    rest.get("/search?q=umlaut&cursor=x").await.refused(422, "bad_cursor");
    let printed = broker.command(&["search", "lost", "umla"]).stdout().await;
    assert!(printed.starts_with("R-1  I-1  ada  The umlaut is lost"), "{printed}");
    broker.kill().await;
    let broker = broker.restarted().await;
    assert_eq!(search(&broker.rest(), "q=umlaut").await.len(), 3);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_of_one_project_finds_nothing_of_another() {
    let broker = TestBroker::start().await;
    raise(&broker, "Greet in German", "ada", &[("The umlaut is lost", "high", "greeting.txt")]).await;
    let everywhere = broker.rest_as_operator();
    assert_eq!(search(&everywhere, "q=umlaut").await.len(), 2);
    assert_eq!(list(&everywhere, "order=blocking").await["issues"].as_array().unwrap().len(), 1);
    let own = broker.command(&["issues", "--json"]).json().await["issues"][0]["number"].clone();
    assert_eq!(own, "R-1");
    let other =
        broker.rest().with_token(&create_token(broker.home(), "operator", "eve", &["--project", "elsewhere"]).await);
    assert_eq!(search(&other, "q=umlaut").await, []);
    assert_eq!(ids(&list(&other, "order=blocking").await), [] as [&str; 0]);
    let counts = other.get("/issues/counts?group_by=severity").await.is(200);
    assert_eq!(counts["groups"], json!([]));
    assert_eq!(other.get("/issues/export?format=jsonl&order=blocking").await.text, "");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_database_without_indexes_gets_them() {
    let home = tempfile::tempdir().unwrap();
    fill(home.path(), 30, Stored::Contested).await;
    let broker = TestBroker::in_home(home, "").await;
    let rest = broker.rest();
    let counts = rest.get("/issues/counts?group_by=severity&statuses=open").await.is(200);
    let critical = &counts["groups"][0];
    assert_eq!(
        (&critical["group"], &critical["issues"], &counts["indexing"]),
        (&json!("critical"), &json!(30), &Value::Null)
    );
    assert_eq!(search(&rest, "q=parser%20module%2013").await.len(), 4, "the issues of one review");
    assert_eq!(list(&rest, "order=blocking&limit=2").await["issues"].as_array().unwrap().len(), 2);
    broker.stop_and_check().await;
}
