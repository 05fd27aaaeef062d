//! Lists for people: filters, rows with details, counts, and the projects that can be chosen.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    json_schema::violations,
    rest_client::{encoded, sent},
    reviews::{column, review_in, verdict, with},
    terminal::branch,
    tokens::create_token,
};
use ::api::openapi::document;
use serde_json::{Value, json};
use testkit::Repo;

/// Reviews of two proposers with different seats.
async fn some_reviews(broker: &TestBroker) {
    let client = broker.client();
    let submit = |intent: &str, more: Value| client.call("create_review", proposal_with(intent, more));
    submit("Cache the index", json!({ "proposer_id": "ada", "personas": ["general", "security"] })).await;
    submit("Drop the cache", json!({ "proposer_id": "bob", "category": "code_change" })).await;
    submit("Ändere 100% der Texte", json!({ "proposer_id": "ada", "personas": ["security"] })).await;
    let cancelled = submit("Rename a file", json!({ "proposer_id": "ada" })).await;
    client.call("cancel_review", json!({ "review_id": id(&cancelled), "reason": "no" })).await;
}

#[tokio::test]
async fn a_list_is_narrowed_by_proposer_persona_and_text() {
    let broker = TestBroker::start().await;
    some_reviews(&broker).await;
    let rest = broker.rest();
    let numbers = async |query: &str| {
        let list = rest.get(&format!("/reviews?{query}")).await.is(200);
        column(&list["reviews"], "number")
    };
    assert_eq!(numbers("proposer=ada").await, ["R-4", "R-3", "R-1"]);
    assert_eq!(numbers("proposer=ada&status=cancelled").await, ["R-4"]);
    assert_eq!(numbers("proposer=ada&status=pending").await, ["R-1", "R-3"], "in the order of the queue");
    assert_eq!(numbers("proposer=mallory").await.len(), 0);
    assert_eq!(numbers("persona=security").await, ["R-3", "R-1"]);
    assert_eq!(numbers("persona=general&proposer=ada&statuses=pending&statuses=cancelled").await, ["R-4", "R-1"]);
    assert_eq!(numbers("q=CACHE").await, ["R-2", "R-1"], "in any case");
    assert_eq!(numbers("q=cache&proposer=bob").await, ["R-2"]);
    assert_eq!(numbers("q=cache&status=pending&persona=security").await, ["R-1"]);
    assert_eq!(numbers(&format!("q={}", encoded("ände"))).await, ["R-3"]);
    assert_eq!(numbers("q=0%25%20der").await, ["R-3"], "not a pattern");
    assert_eq!(numbers("q=c_che").await.len(), 0);
    for number in ["3", "R-3", "r-3"] {
        assert_eq!(numbers(&format!("q={number}")).await, ["R-3"]);
    }
    let first = rest.get("/reviews?proposer=ada&limit=2").await.is(200);
    let next = format!("proposer=ada&limit=2&cursor={}", first["next_cursor"].as_str().unwrap());
    assert_eq!(numbers(&next).await, ["R-1"]);
    let first = rest.get("/reviews?q=e&limit=3").await.is(200);
    assert_eq!(column(&first["reviews"], "number"), ["R-4", "R-3", "R-2"]);
    let next = format!("q=e&limit=3&cursor={}", first["next_cursor"].as_str().unwrap());
    assert_eq!(numbers(&next).await, ["R-1"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_revision_is_found_by_its_new_intent_and_branch() {
    let broker = TestBroker::start().await;
    branch(&broker);
    let (client, rest) = (broker.client(), broker.rest());
    let review = review_in(&client, "changes_requested").await;
    let revision =
        json!({ "review_id": review, "intent": "Say it in German", "target": { "branch": "topic", "base": "main" } });
    client.call("create_review", revision).await;
    let count =
        async |query: &str| rest.get(&format!("/reviews?{query}")).await.is(200)["reviews"].as_array().unwrap().len();
    assert_eq!((count("q=german").await, count("q=to%20be").await), (1, 0));
    assert_eq!((count("branch=topic").await, count("branch=topic&status=pending").await), (1, 1));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn filters_that_cannot_match_are_refused() {
    let broker = TestBroker::start().await;
    let rest = broker.rest();
    for path in ["/reviews", "/reviews/counts"] {
        let long = "x".repeat(300);
        for field in ["proposer", "persona", "q"] {
            let refused = rest.get(&format!("{path}?{field}={long}")).await.refused(413, "too_long");
            assert_eq!(refused["field"], field);
        }
        rest.get(&format!("{path}?project=elsewhere")).await.refused(422, "unknown_project");
        rest.get(&format!("{path}?project=project&projects=project&projects=project"))
            .await
            .refused(422, "project_and_projects");
    }
    let unknown = rest.get("/reviews?status=open").await.refused(422, "unknown_status");
    assert!(unknown["allowed"].as_array().unwrap().contains(&json!("in_review")), "{unknown}");
    rest.get("/reviews/counts?status=pending").await.refused(400, "invalid_params");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_row_with_details_has_seats_issues_and_the_size_of_the_diff() {
    let broker = TestBroker::start().await;
    branch(&broker);
    let (client, rest) = (broker.client(), broker.rest());
    let proposal = json!({
        "target": { "branch": "topic", "base": "main" }, "personas": ["general", "security"], "proposer_id": "eve",
        "policy": { "max_rounds": 2 },
    });
    let review = id(&client.call("create_review", proposal_with("in German", proposal)).await);
    client.claim(&review, "ada").await;
    let issues = json!([
        { "severity": "high", "title": "wrong word", "file": "greeting.txt", "line_start": 2 },
        { "severity": "low", "title": "a nit" },
    ]);
    let more = json!({
        "issues": issues, "suggestions": [{ "title": "an idea" }], "metrics": { "cost_usd": 0.25 },
    });
    client.call("submit_verdict", with(verdict(&review, "ada", "changes_requested"), more)).await;
    client.call("claim_review", json!({ "review_id": review, "reviewer_id": "bob" })).await;

    let plain = rest.get("/reviews").await.is(200)["reviews"][0].clone();
    let list = rest.get("/reviews?details=true").await.is(200);
    let schema = &document()["components"]["schemas"]["ListReviewsResponse"];
    assert_eq!(violations(schema, &list), [] as [String; 0]);
    let row = &list["reviews"][0];
    for (field, value) in plain.as_object().unwrap() {
        assert_eq!(&row[field], value, "details only add fields");
    }
    for field in ["seats", "open_issues", "files", "additions", "cost_usd", "escalate", "max_rounds"] {
        assert!(plain.get(field).is_none(), "{field}: {plain}");
    }
    assert_eq!(row["open_issues"], json!({ "critical": 0, "high": 1, "medium": 0, "low": 1 }));
    let size = (&row["files"], &row["additions"], &row["deletions"], &row["base"]);
    assert_eq!(size, (&json!(1), &json!(1), &json!(1), &json!("main")));
    assert_eq!((&row["cost_usd"], &row["escalate"], &row["max_rounds"]), (&json!(0.25), &json!(false), &json!(2)));
    assert_eq!((&row["branch"], &row["project"]), (&json!("topic"), &json!("project")));
    let [first, second] = row["seats"].as_array().unwrap().as_slice() else { panic!("{row}") };
    assert_eq!((&first["persona"], &first["verdict"]), (&json!("general"), &json!("changes_requested")));
    assert!(first.get("lease_ends_at").is_none(), "it has voted: {first}");
    assert_eq!((&second["persona"], &second["claimed_by"]), (&json!("security"), &json!("bob")));
    let seconds = |field: &str| second[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let lease = seconds("lease_ends_at").duration_since(seconds("claimed_at"));
    assert!((lease.as_secs_f64() - 1200.0).abs() < 2.0, "claims.lease is 20 minutes: {lease:?}");
    let status = rest.get(&format!("/reviews/{review}/status")).await.is(200);
    assert_eq!(status["seats"][1]["lease_ends_at"], second["lease_ends_at"]);
    assert_eq!(status["policy"]["max_rounds"], 2);

    // Without a diff and without a reported cost these fields are absent.
    client.submit("only text").await;
    let row = rest.get("/reviews?details=true&limit=1").await.is(200)["reviews"][0].clone();
    for field in ["files", "additions", "deletions", "base", "cost_usd"] {
        assert!(row.get(field).is_none(), "{field}: {row}");
    }
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_escalated_review_says_so_in_its_row_and_in_the_counts() {
    let broker = TestBroker::start().await;
    let (client, rest) = (broker.client(), broker.rest());
    let proposal = proposal_with("argued about", json!({ "policy": { "max_rounds": 1 } }));
    let review = id(&client.call("create_review", proposal).await);
    client.claim(&review, "ada").await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    let row = rest.get("/reviews?details=true").await.is(200)["reviews"][0].clone();
    assert_eq!((&row["escalate"], &row["escalate_why"]), (&json!(true), &json!("max_rounds")));
    assert_eq!(row["verdict"], "changes_requested");
    let counts = async |query: &str| rest.get(&format!("/reviews/counts?{query}")).await.is(200);
    assert_eq!(counts("").await["escalated"], 1);
    assert_eq!(counts("q=other").await["escalated"], 0);
    assert_eq!(counts("caller_id=olga&role=operator").await["my_turn"], 1);
    assert_eq!(counts("caller_id=olga").await["my_turn"], 0, "only an operator is asked");
    let message = json!({ "sender_role": "operator", "caller_id": "olga", "body": "go on" });
    rest.post(&format!("/reviews/{review}/messages"), message).await.is(200);
    assert_eq!(counts("").await["escalated"], 0);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn counts_are_by_status_and_have_the_filters_of_the_list() {
    let broker = TestBroker::start().await;
    let (client, rest) = (broker.client(), broker.rest());
    some_reviews(&broker).await;
    for status in ["claimed", "changes_requested", "approved", "rejected", "closed", "closed"] {
        review_in(&client, status).await;
    }
    let counts = async |query: &str| {
        let counts = rest.get(&format!("/reviews/counts?{query}")).await.is(200);
        let schema = &document()["components"]["schemas"]["CountReviewsResponse"];
        assert_eq!(violations(schema, &counts), [] as [String; 0]);
        counts
    };
    let by_status = |n: [u64; 8]| {
        let [pending, claimed, in_review, changes_requested, approved, rejected, cancelled, closed] = n;
        json!({
            "pending": pending, "claimed": claimed, "in_review": in_review, "changes_requested": changes_requested,
            "approved": approved, "rejected": rejected, "cancelled": cancelled, "closed": closed,
        })
    };
    let all = counts("").await;
    assert_eq!(all, json!({ "by_status": by_status([3, 1, 0, 1, 1, 1, 1, 2]), "escalated": 0 }));
    for (query, expected) in [
        ("proposer=ada", [2, 0, 0, 0, 0, 0, 1, 0]),
        ("persona=security", [2, 0, 0, 0, 0, 0, 0, 0]),
        ("q=cache", [2, 0, 0, 0, 0, 0, 0, 0]),
        ("q=cache&proposer=bob", [1, 0, 0, 0, 0, 0, 0, 0]),
        ("category=code_change", [1, 0, 0, 0, 0, 0, 0, 0]),
        ("branch=topic", [0; 8]),
        ("participant=bob", [1, 0, 0, 0, 0, 0, 0, 0]),
        ("project=project", [3, 1, 0, 1, 1, 1, 1, 2]),
        ("projects=project&projects=project", [3, 1, 0, 1, 1, 1, 1, 2]),
    ] {
        assert_eq!(counts(query).await["by_status"], by_status(expected), "{query}");
    }
    for caller in ["ada", "bob", "gsd-executor", "new"] {
        let listed = async |more: &str| {
            let list = rest.get(&format!("/reviews?my_turn=true&limit=200&caller_id={caller}{more}")).await.is(200);
            assert!(list.get("next_cursor").is_none());
            list["reviews"].as_array().unwrap().len()
        };
        for more in ["", "&role=operator", "&role=proposer", "&proposer=ada"] {
            let counted = counts(&format!("caller_id={caller}{more}")).await["my_turn"].clone();
            assert_eq!(counted, listed(more).await, "{caller}{more}");
        }
    }
    assert!(counts("caller_id=gsd-executor").await["my_turn"].as_u64().unwrap() > 2, "it has reviews to close");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn lists_counts_and_projects_are_limited_to_the_project_of_a_token() {
    let other = Repo::new();
    let settings = format!("[projects.other]\npath = {:?}\n", other.path());
    let broker = TestBroker::with_settings(&settings).await;
    let client = broker.client();
    client.submit("in the default project").await;
    client.call("create_review", proposal_with("elsewhere", json!({ "project": "other" }))).await;
    let rest = broker.rest();
    let projects = rest.get("/projects").await.is(200);
    let root = |path: std::path::PathBuf| path.canonicalize().unwrap().display().to_string();
    let both = json!({ "projects": [
        { "name": "other", "root": root(other.path()) },
        { "name": "project", "root": root(broker.repo().path()) },
    ] });
    assert_eq!(projects, both, "the folders are for an operator on this machine");
    assert_eq!(broker.rest_as_operator().get("/projects").await.is(200), both);

    let token = async |role: &str, name: &str, more: &[&str]| {
        broker.rest().with_token(&create_token(broker.home(), role, name, more).await)
    };
    let guest = token("operator", "guest", &["--project", "other"]).await;
    assert_eq!(guest.get("/projects").await.is(200), json!({ "projects": [{ "name": "other" }] }));
    assert_eq!(column(&guest.get("/reviews?q=e").await.is(200)["reviews"], "intent"), ["elsewhere"]);
    let counts = guest.get("/reviews/counts").await.is(200);
    assert_eq!((&counts["by_status"]["pending"], &counts["my_turn"]), (&json!(1), &json!(1)), "the token has a name");
    guest.get("/reviews/counts?project=project").await.refused(403, "wrong_project");
    let reviewer = token("reviewer", "ada", &[]).await;
    let names = json!({ "projects": [{ "name": "other" }, { "name": "project" }] });
    assert_eq!(reviewer.get("/projects").await.is(200), names);
    assert_eq!(reviewer.get("/reviews/counts").await.is(200)["my_turn"], 2, "both can be claimed");
    reviewer.get("/reviews/counts?caller_id=bob").await.refused(403, "wrong_identity");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_status_says_where_the_branch_is_now() {
    let broker = TestBroker::start().await;
    branch(&broker);
    let (client, rest, repo) = (broker.client(), broker.rest(), broker.repo());
    let head = || repo.git(&["rev-parse", "topic"]);
    let target = json!({ "target": { "branch": "topic", "base": "main" } });
    let review = id(&client.call("create_review", proposal_with("in German", target)).await);
    let path = format!("/reviews/{review}/status");
    let first = rest.get(&path).await;
    let status = first.is(200);
    assert_eq!((&status["branch_head"], &status["target"]["head"]), (&json!(head()), &json!(head())));
    let etag = first.header("etag").unwrap().to_owned();
    let again = async || sent(rest.request("GET", &path).header("if-none-match", &etag)).await;
    assert_eq!(again().await.status, 304);

    repo.write("greeting.txt", "one\nzwei\ndrei\n");
    repo.commit("More German");
    let moved = again().await;
    assert_eq!(moved.is(200)["branch_head"], head(), "the ETag changes with the branch");
    assert_eq!(
        (&moved.json()["version"], &moved.json()["target"]["head"]),
        (&status["version"], &status["target"]["head"])
    );
    // The version in the ETag is the one that a change may depend on.
    let claim = rest.request("POST", &format!("/reviews/{review}/claim")).header("if-match", &etag);
    sent(claim.body(json!({ "reviewer_id": "ada" }).to_string())).await.is(200);

    repo.git(&["pack-refs", "--all"]);
    assert_eq!(rest.get(&path).await.is(200)["branch_head"], head());
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["branch", "-D", "topic"]);
    assert!(rest.get(&path).await.is(200).get("branch_head").is_none(), "the branch is gone");
    let plain = client.submit("no branch").await;
    assert!(rest.get(&format!("/reviews/{plain}/status")).await.is(200).get("branch_head").is_none());
    broker.stop_and_check().await;
}

#[tokio::test]
async fn verdicts_and_their_issues_have_the_same_id() {
    let broker = TestBroker::start().await;
    let (client, rest) = (broker.client(), broker.rest());
    let review = client.submit("commented on twice").await;
    client.claim(&review, "ada").await;
    for title in ["first", "second"] {
        let more = json!({ "reason": title, "issues": [{ "severity": "low", "title": title }] });
        client.call("submit_verdict", with(verdict(&review, "ada", "comment"), more)).await;
    }
    let read = rest.get(&format!("/reviews/{review}")).await.is(200);
    let issues = rest.get(&format!("/reviews/{review}/issues")).await.is(200);
    for title in ["first", "second"] {
        let find = |rows: &Value, field: &str| {
            let row = rows.as_array().unwrap().iter().find(|row| row[field] == title);
            row.unwrap_or_else(|| panic!("{title} in {rows}"))["verdict_id"].as_u64().unwrap()
        };
        let verdict = find(&read["iterations"], "reason");
        assert_eq!((find(&issues["issues"], "title"), find(&read["open_issues"], "title")), (verdict, verdict));
    }
    let ids = column(&read["iterations"], "verdict_id");
    assert_ne!(ids[0], ids[1], "two verdicts of one reviewer in one round");
    broker.stop_and_check().await;
}
