//! Lists of reviews with filters and pages, and the names by which a review is found.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal, proposal_with},
    reviews::{column, last_event, review_in, with},
    terminal::branch,
};
use serde_json::{Value, json};
use testkit::Repo;

#[tokio::test]
async fn the_queue_is_ordered_by_priority_and_then_by_age() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let submissions = [
        ("checks 1", json!({ "phase": "3-verify" }), "low"),
        ("work 1", json!({}), "normal"),
        ("plan 1", json!({ "agent_type": "gsd-planner" }), "critical"),
        ("checks 2", json!({ "task": "Verification of 2" }), "low"),
        ("plan 2", json!({ "agent_role": "lead planner", "phase": "verify" }), "critical"),
        ("work 2", json!({ "task": "2" }), "normal"),
        ("checks 3", json!({ "category": "verification" }), "low"),
        ("checks 4", json!({ "agent_type": "gsd-verifier" }), "low"),
        ("fire", json!({ "priority": "urgent", "phase": "verify" }), "critical"),
    ];
    for (intent, more, priority) in submissions {
        let created = client.call("create_review", proposal_with(intent, more)).await;
        assert_eq!(created["priority"], priority, "{intent}");
    }
    let queue = client.call("list_reviews", json!({ "status": "pending" })).await;
    let intents = column(&queue["reviews"], "intent");
    let ordered = ["plan 1", "plan 2", "fire", "work 1", "work 2", "checks 1", "checks 2", "checks 3", "checks 4"];
    assert_eq!(intents, ordered);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_priority_is_inferred_once_and_survives_a_revision() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let id = review_in(&client, "changes_requested").await;
    let revision = json!({ "review_id": id, "intent": "better", "agent_type": "gsd-planner", "phase": "verify" });
    let revised = client.call("create_review", revision).await;
    assert_eq!((&revised["priority"], &revised["current_round"]), (&json!("normal"), &json!(2)));
    let status = client.status(&id).await;
    assert_eq!((&status["agent_type"], &status["phase"]), (&json!("gsd-executor"), &json!("1")));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_setting_forbids_choosing_a_priority() {
    let broker = TestBroker::with_settings("[reviews]\nchoose_priority = false\n").await;
    let client = broker.client();
    let chosen = proposal_with("mine first", json!({ "priority": "critical" }));
    let refused = client.refused("invalid_argument", "create_review", chosen).await;
    assert_eq!(refused["field"], "priority");
    assert!(refused["error"].as_str().unwrap().contains("reviews.choose_priority"), "{refused}");
    assert_eq!(client.call("create_review", proposal("in turn")).await["priority"], "normal");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_list_says_how_many_reviews_there_are_and_takes_an_order_for_every_status() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let submit = |intent: &str, priority: &str| {
        client.call("create_review", proposal_with(intent, json!({ "priority": priority })))
    };
    for (intent, priority) in [("one", "low"), ("two", "normal"), ("three", "critical"), ("four", "normal")] {
        submit(intent, priority).await;
    }
    client.claim("R-2", "ada").await;
    for review in ["R-3", "R-4"] {
        client.call("cancel_review", json!({ "review_id": review, "reason": "no" })).await;
    }
    client.call("close_review", json!({ "review_id": "R-4" })).await;
    let list = async |filter: Value| client.call("list_reviews", filter).await;

    let open = list(json!({ "open": true })).await;
    assert_eq!((column(&open["reviews"], "intent"), &open["total"]), (vec![json!("two"), json!("one")], &json!(2)));
    client.refused("invalid_argument", "list_reviews", json!({ "open": true, "status": "pending" })).await;

    // The order and the total hold across pages.
    let (mut intents, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = list(json!({ "order": "priority", "limit": 1, "cursor": cursor })).await;
        assert_eq!(page["total"], 4, "{page}");
        intents.extend(column(&page["reviews"], "intent"));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(intents, ["three", "two", "four", "one"]);
    let several = list(json!({ "statuses": ["cancelled", "claimed"], "order": "priority" })).await;
    assert_eq!(column(&several["reviews"], "intent"), ["three", "two"]);

    let printed = broker.command(&["list", "-n", "1"]).stdout().await;
    assert!(printed.contains("shows 1 of 2; -n N shows more, --cursor n2 continues"), "{printed}");
    let printed = broker.command(&["list", "--all", "--by-priority", "-n", "2"]).stdout().await;
    assert!(printed.find("R-3") < printed.find("R-2") && printed.contains("shows 2 of 4"), "{printed}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_files_of_a_long_change_are_read_page_by_page() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let file = |n: usize| {
        let path = format!("many/{n:03}.txt");
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{n}\n"
        )
    };
    let diff: String = (0..250).map(file).collect();
    let made = client.call("create_review", proposal_with("many files", json!({ "diff": diff }))).await;
    assert_eq!(made["affected_files_total"], 250);
    let mut paths = column(&made["affected_files"], "path");
    let mut next = made["next_files_from"].clone();
    while !next.is_null() {
        let page = json!({ "review_id": made["review_id"], "files_from": next });
        let page = client.call("get_proposal", page).await;
        paths.extend(column(&page["affected_files"], "path"));
        next = page["next_files_from"].clone();
    }
    assert_eq!(paths, (0..250).map(|n| format!("many/{n:03}.txt")).collect::<Vec<_>>());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_list_is_narrowed_by_status_category_and_project() {
    let other = Repo::new();
    let settings = format!("[projects.other]\npath = {:?}\n", other.path());
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    let submit = |intent: &str, more: Value| client.call("create_review", proposal_with(intent, more));
    submit("plan", json!({ "category": "plan_review" })).await;
    submit("code", json!({ "category": "code_change", "project": "other" })).await;
    submit("bare", json!({})).await;
    review_in(&client, "approved").await;

    let intents = |filter: Value| {
        let list = client.call("list_reviews", filter);
        async move { column(&list.await["reviews"], "intent") }
    };
    assert_eq!(intents(json!({ "category": "plan_review" })).await, ["plan"]);
    assert_eq!(intents(json!({ "project": "other" })).await, ["code"]);
    assert_eq!(
        intents(json!({ "projects": ["other", "project"], "status": "pending" })).await,
        ["plan", "code", "bare"]
    );
    let twice = json!({ "projects": ["other", "other"] });
    assert_eq!(intents(twice).await, ["code"], "a project named twice is listed once");
    assert_eq!(intents(json!({ "status": "approved" })).await, ["to be approved"]);
    assert_eq!(intents(json!({ "status": "pending", "category": "handoff" })).await.len(), 0);
    assert_eq!(intents(json!({})).await.len(), 4);

    let unknown = client.refused("unknown_project", "list_reviews", json!({ "project": "/etc" })).await;
    assert_eq!(unknown["allowed"], json!(["other", "project"]));
    let both = json!({ "project": "other", "projects": ["project"] });
    client.refused("project_and_projects", "list_reviews", both).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_list_is_narrowed_by_statuses_branch_and_participant() {
    let broker = TestBroker::start().await;
    branch(&broker);
    let client = broker.client();
    let submit = |intent: &str, more: Value| client.call("create_review", proposal_with(intent, more));
    submit("ada's branch", json!({ "proposer_id": "ada", "target": { "branch": "topic", "base": "main" } })).await;
    let held = submit("bob's", json!({ "proposer_id": "bob", "personas": ["general", "tests"] })).await;
    client.claim(&id(&held), "eve").await;
    client.call("claim_review", json!({ "review_id": id(&held), "reviewer_id": "ada" })).await;
    let cancelled = submit("cancelled", json!({ "proposer_id": "ada" })).await;
    client.call("cancel_review", json!({ "review_id": id(&cancelled), "reason": "no" })).await;

    let intents = |filter: Value| {
        let list = client.call("list_reviews", filter);
        async move { column(&list.await["reviews"], "intent") }
    };
    assert_eq!(intents(json!({ "branch": "topic" })).await, ["ada's branch"]);
    assert_eq!(intents(json!({ "branch": "main" })).await.len(), 0);
    let ada = json!({ "participant": "ada" });
    assert_eq!(intents(ada).await, ["cancelled", "bob's", "ada's branch"], "also by the second seat");
    let open = json!({ "participant": "ada", "statuses": ["pending", "claimed", "in_review"] });
    assert_eq!(intents(open).await, ["bob's", "ada's branch"], "newest first");
    let first = client.call("list_reviews", json!({ "statuses": ["pending", "cancelled"], "limit": 1 })).await;
    let next = json!({ "statuses": ["pending", "cancelled"], "limit": 1, "cursor": first["next_cursor"] });
    assert_eq!(intents(next).await, ["ada's branch"]);
    let both = json!({ "status": "pending", "statuses": ["approved"] });
    client.refused("invalid_argument", "list_reviews", both).await;
    broker.stop_and_check().await;
}

#[tokio::test]
async fn all_pages_together_list_every_review_once() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mut expected = Vec::new();
    for n in 0..11 {
        let agent = if n % 3 == 0 { "planner" } else { "executor" };
        client.call("create_review", proposal_with(&format!("{n}"), json!({ "agent_type": agent }))).await;
        expected.push(format!("{n}"));
    }
    for filter in [json!({ "status": "pending" }), json!({}), json!({ "projects": ["project"] })] {
        let (mut seen, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = client.call("list_reviews", with(filter.clone(), json!({ "limit": 4, "cursor": cursor }))).await;
            let rows = column(&page["reviews"], "intent");
            assert!((1..=4).contains(&rows.len()));
            seen.extend(rows.iter().map(|intent| intent.as_str().unwrap().to_owned()));
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        seen.sort_by_key(|intent| intent.parse::<u32>().unwrap());
        assert_eq!(seen, expected, "{filter}");
    }
    let first = client.call("list_reviews", json!({ "status": "pending", "limit": 2 })).await;
    let elsewhere = json!({ "cursor": first["next_cursor"] });
    let refused = client.refused("bad_cursor", "list_reviews", elsewhere).await;
    assert_eq!(refused["field"], "cursor");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_created_between_two_pages_shifts_no_other() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    for n in 1..=4 {
        client.submit(&format!("{n}")).await;
    }
    let first = client.call("list_reviews", json!({ "status": "pending", "limit": 2 })).await;
    client.call("create_review", proposal_with("urgent", json!({ "agent_type": "planner" }))).await;
    client.claim("R-3", "ada").await;
    let next = json!({ "status": "pending", "limit": 2, "cursor": first["next_cursor"] });
    let second = client.call("list_reviews", next).await;
    assert_eq!(column(&first["reviews"], "intent"), ["1", "2"]);
    assert_eq!(column(&second["reviews"], "intent"), ["4"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_page_of_long_rows_stays_within_its_size_limit() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let long = "x".repeat(200);
    for n in 0..40 {
        let more = json!({ "plan": long, "task": long, "agent_type": format!("{n:0>200}") });
        client.call("create_review", proposal_with(&"y".repeat(2000), more)).await;
    }
    let (mut rows, mut cursor) = (0, Value::Null);
    loop {
        let page = client.call("list_reviews", json!({ "status": "pending", "cursor": cursor })).await;
        assert!(page.to_string().chars().count() <= 30_000);
        rows += page["reviews"].as_array().unwrap().len();
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(rows, 40);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_review_is_found_by_id_number_and_unique_prefix() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let review = client.submit("named").await;
    for name in [&*review, &review.to_uppercase(), "R-1", "r-1", " R-1 ", &review[..8], &review[..13]] {
        assert_eq!(client.status(name).await["review_id"], review, "{name}");
    }
    for name in ["R-2", "R-0", "R-99999999999999999999", &review[..3], "ffffffff-0000", "no", "%", "../etc", "R-"] {
        let unknown = client.refused("unknown_review", "get_review_status", json!({ "review_id": name })).await;
        assert!(unknown["error"].as_str().unwrap().contains("R-12"), "says what is allowed: {unknown}");
    }
    broker.stop_and_check().await;
}

/// The key decides the id, so two keys whose ids have a common prefix can be chosen.
#[tokio::test]
async fn a_prefix_of_two_reviews_is_answered_with_both() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let mut ids = Vec::new();
    for key in ["twin-309", "twin-453"] {
        let keyed = proposal_with("alike", json!({ "idempotency_key": key }));
        ids.push(id(&client.call("create_review", keyed).await));
    }
    assert_eq!(ids[0][..4], ids[1][..4], "the keys give ids that begin alike");
    let before = last_event(&client).await;
    let claim = json!({ "review_id": ids[0][..4], "reviewer_id": "ada" });
    let ambiguous = client.refused("ambiguous_review", "claim_review", claim).await;
    let mut candidates = ambiguous["candidates"].as_array().unwrap().clone();
    candidates.sort_by_key(ToString::to_string);
    ids.sort();
    assert_eq!(candidates, ids);
    assert_eq!(last_event(&client).await, before);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_long_intent_is_truncated_in_lists_but_complete_in_the_proposal() {
    let broker = TestBroker::start().await;
    let client = broker.client();
    let intent = "ö".repeat(2000);
    let created = client.call("create_review", proposal(&intent)).await;
    let list = client.call("list_reviews", json!({})).await;
    assert_eq!(list["reviews"][0]["intent"], "ö".repeat(160));
    let read = client.call("get_proposal", json!({ "review_id": created["review_id"] })).await;
    assert_eq!(read["intent"], intent);
    broker.stop_and_check().await;
}
