//! Findings on removed lines and on lines of the description: grounded, re-anchored, late and listed like the others.

use crate::support::{
    broker::TestBroker,
    client::{TestClient, id, proposal_with},
    reviews::{column, verdict, with},
};
use serde_json::{Value, json};
use testkit::Repo;

const CODE: &str =
    "fn main() {\n    let input = read();\n    check(&input);\n    let parsed = parse(&input);\n    run(parsed);\n}\n";
const PLAN: &str = "# Plan\n\n1. Copy every row of the table.\n2. Drop the old table.\n3. Rename the copy.\n";

/// `CODE` without its check.
fn unchecked_code() -> String {
    CODE.replace("    check(&input);\n", "")
}

/// The diff of these files against the last commit.
fn diff_to(repo: &Repo, files: &[(&str, &str)]) -> String {
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.git(&["add", "--all"]);
    let diff = repo.git(&["diff", "--cached", "--find-renames"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    diff
}

async fn begin() -> (TestBroker, TestClient) {
    let broker = TestBroker::start().await;
    broker.repo().write("main.rs", CODE);
    broker.repo().commit("code");
    let client = broker.client();
    (broker, client)
}

/// A proposal that `ada` has claimed.
async fn claimed(client: &TestClient, more: Value) -> String {
    let review = id(&client.call("create_review", proposal_with("a change", more)).await);
    client.claim(&review, "ada").await;
    review
}

async fn revise(client: &TestClient, review: &str, more: Value) {
    client.call("create_review", with(json!({ "review_id": review, "change_note": "as you said" }), more)).await;
}

fn on_old(line: u32, title: &str, more: Value) -> Value {
    let finding = json!({ "severity": "high", "file": "main.rs", "side": "old", "line_start": line, "title": title });
    with(finding, more)
}

fn on_plan(line: u32, title: &str, more: Value) -> Value {
    with(json!({ "severity": "high", "in": "description", "line_start": line, "title": title }), more)
}

async fn raise(client: &TestClient, review: &str, issues: Value) {
    client.call("submit_verdict", with(verdict(review, "ada", "changes_requested"), json!({ "issues": issues }))).await;
}

/// The issues of a review, oldest first.
async fn issues(client: &TestClient, review: &str) -> Vec<Value> {
    let list = client.call("list_issues", json!({ "review_id": review })).await;
    let mut issues = list["issues"].as_array().unwrap().clone();
    issues.reverse();
    issues
}

fn fields<const N: usize>(issue: &Value, names: [&str; N]) -> [Value; N] {
    names.map(|name| issue[name].clone())
}

const PLACE: [&str; 4] = ["file", "side", "in", "line_start"];

#[tokio::test]
async fn a_finding_on_a_removed_line_is_grounded_and_survives_a_revision() {
    let (mut broker, client) = begin().await;
    let diff = diff_to(broker.repo(), &[("main.rs", &unchecked_code())]);
    let review = claimed(&client, json!({ "diff": diff })).await;
    let found = json!([
        on_old(3, "the check is still needed", json!({ "code_snippet": "-    check(&input);" })),
        on_old(6, "quote elsewhere", json!({ "code_snippet": "fn main() {" })),
        on_old(3, "invented quote", json!({ "code_snippet": "launch_missiles(now);" })),
        on_old(7, "invented line", json!({})),
        on_old(1, "invented file", json!({ "file": "nowhere.rs" })),
        json!({ "severity": "high", "file": "main.rs", "line_start": 3, "title": "the check is still needed" }),
    ]);
    raise(&client, &review, found).await;
    let rows = issues(&client, &review).await;
    assert_eq!(
        column(&json!(rows), "grounding"),
        ["grounded", "grounded", "ungrounded", "ungrounded", "ungrounded", "grounded"]
    );
    assert_eq!(fields(&rows[0], PLACE), [json!("main.rs"), json!("old"), Value::Null, json!(3)]);
    assert_eq!(
        fields(&rows[1], ["line_start", "grounding_note"]),
        [json!(1), json!("the quote stands at line 1, not at line 6")]
    );
    assert_eq!(rows[4]["grounding_note"], "there is no file \"nowhere.rs\" before the change");
    // The new side is the default, and the same words there are another finding.
    assert_eq!(fields(&rows[5], ["side", "in", "duplicate_of"]), [Value::Null, Value::Null, Value::Null]);
    let by_file = client.call("list_issues", json!({ "review_id": review, "file": "main.rs" })).await;
    assert_eq!(by_file["issues"].as_array().unwrap().len(), 5);

    // The next diff does not touch the file at all. Its base is the same, and so is the line.
    broker = broker.kill_and_restart().await;
    let client = broker.client();
    let elsewhere = diff_to(broker.repo(), &[("other.rs", "fn other() {}\n")]);
    revise(&client, &review, json!({ "diff": elsewhere })).await;
    let rows = issues(&client, &review).await;
    assert_eq!(
        fields(&rows[0], ["anchor", "line_start", "side", "raised_at", "likely_fixed"]),
        [json!("exact"), json!(3), json!("old"), Value::Null, json!(true)]
    );
    assert_eq!(rows[1]["likely_fixed"], Value::Null, "its line was not removed before");
    assert_eq!(rows[3]["anchor"], Value::Null, "a line that was never there");

    // Another base moves the line, and a later one no longer has it.
    let repo = broker.repo();
    let moved = CODE.replace("fn main() {\n", "use std::io;\n\nfn main() {\n");
    repo.write("main.rs", &moved);
    let base = repo.commit("imports");
    let diff = diff_to(repo, &[("main.rs", &moved.replace("    check(&input);\n", ""))]);
    revise(&client, &review, json!({ "diff": diff, "base": base })).await;
    let rows = issues(&client, &review).await;
    assert_eq!(
        fields(&rows[0], ["anchor", "line_start", "side", "raised_at", "likely_fixed"]),
        [json!("moved"), json!(5), json!("old"), json!("old:main.rs:3"), Value::Null]
    );
    repo.write("main.rs", unchecked_code());
    let base = repo.commit("no check");
    let diff = diff_to(repo, &[("other.rs", "fn other() {}\n")]);
    revise(&client, &review, json!({ "diff": diff, "base": base })).await;
    let rows = issues(&client, &review).await;
    assert_eq!(fields(&rows[0], ["anchor", "status"]), [json!("gone"), json!("open")]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn the_old_side_of_a_renamed_or_deleted_file_is_the_file_at_the_base() {
    let (broker, client) = begin().await;
    let repo = broker.repo();
    repo.git(&["mv", "main.rs", "start.rs"]);
    let diff = diff_to(repo, &[("start.rs", &unchecked_code())]);
    let renamed = claimed(&client, json!({ "diff": diff })).await;
    let quote = json!({ "code_snippet": "check(&input);" });
    let by_new_path = with(on_old(3, "still needed", quote.clone()), json!({ "file": "start.rs" }));
    raise(&client, &renamed, json!([by_new_path, on_old(5, "who runs it now", json!({}))])).await;
    let rows = issues(&client, &renamed).await;
    assert_eq!(column(&json!(rows), "grounding"), ["grounded", "grounded"]);
    assert_eq!(column(&json!(rows), "file"), ["main.rs", "main.rs"]);

    repo.git(&["rm", "--quiet", "main.rs"]);
    let diff = diff_to(repo, &[]);
    let deleted = claimed(&client, json!({ "diff": diff })).await;
    raise(&client, &deleted, json!([on_old(3, "still needed", quote)])).await;
    assert_eq!(
        fields(&issues(&client, &deleted).await[0], ["grounding", "anchor"]),
        [json!("grounded"), json!("exact")]
    );
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_finding_on_a_line_of_a_plan_moves_with_it_and_is_gone_with_it() {
    let (mut broker, client) = begin().await;
    let review = claimed(&client, json!({ "description": PLAN })).await;
    let found = json!([
        on_plan(4, "rows written meanwhile are lost", json!({ "code_snippet": "Drop the old table." })),
        on_plan(3, "indexes are not copied", json!({ "code_snippet": "Copy every row of the table." })),
        on_plan(6, "invented line", json!({})),
        on_plan(3, "invented quote", json!({ "code_snippet": "Lock the table." })),
        on_old(3, "nothing is removed", json!({})),
    ]);
    raise(&client, &review, found).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "grounding"), ["grounded", "grounded", "ungrounded", "ungrounded", "ungrounded"]);
    assert_eq!(fields(&rows[0], PLACE), [Value::Null, Value::Null, json!("description"), json!(4)]);
    assert_eq!(rows[0]["anchor"], "exact");
    let shown = client.call("get_proposal", json!({ "review_id": review })).await;
    let open = shown["open_issues"].as_array().unwrap();
    assert!(open.iter().any(|issue| issue["in"] == "description" && issue["line_start"] == 4), "{open:?}");

    // A revision that leaves the description out keeps it.
    revise(&client, &review, json!({})).await;
    assert_eq!(column(&json!(issues(&client, &review).await[..2]), "anchor"), ["exact", "exact"]);

    let longer = PLAN.replace("# Plan\n", "# Plan\n\nAt night, by hand.\n");
    let longer = longer.replace("Copy every row", "Copy every row and every index");
    revise(&client, &review, json!({ "description": longer })).await;
    broker = broker.kill_and_restart().await;
    let client = broker.client();
    let rows = issues(&client, &review).await;
    assert_eq!(
        fields(&rows[0], ["anchor", "line_start", "in", "raised_at"]),
        [json!("moved"), json!(6), json!("description"), json!("description:4")]
    );
    assert_eq!(fields(&rows[1], ["anchor", "line_start", "line_end"]), [json!("modified"), json!(3), json!(5)]);

    revise(&client, &review, json!({ "description": PLAN.replace("2. Drop the old table.\n", "") })).await;
    assert_eq!(column(&json!(issues(&client, &review).await[..2]), "anchor"), ["gone", "exact"]);

    // Without a description nothing of it is left.
    let diff = diff_to(broker.repo(), &[("main.rs", &unchecked_code())]);
    revise(&client, &review, json!({ "diff": diff, "remove": ["description"] })).await;
    assert_eq!(column(&json!(issues(&client, &review).await[..2]), "anchor"), ["gone", "gone"]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_later_finding_is_late_on_removed_lines_and_lines_of_a_plan_that_did_not_change() {
    let (broker, client) = begin().await;
    let diff = diff_to(broker.repo(), &[("main.rs", &unchecked_code())]);
    let review = claimed(&client, json!({ "diff": diff, "description": PLAN })).await;
    client.call("submit_verdict", verdict(&review, "ada", "changes_requested")).await;
    let more_removed = unchecked_code().replace("    run(parsed);\n", "");
    let diff = diff_to(broker.repo(), &[("main.rs", &more_removed)]);
    let description = PLAN.replace("Rename the copy", "Rename the copy at night");
    revise(&client, &review, json!({ "diff": diff, "description": description })).await;
    client.claim(&review, "ada").await;
    let found = json!([
        on_old(3, "check removed", json!({})),
        on_old(5, "nothing runs", json!({})),
        on_plan(3, "slow copy", json!({})),
        on_plan(5, "no one is awake", json!({})),
    ]);
    raise(&client, &review, found).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "late"), [json!(true), Value::Null, json!(true), Value::Null]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_accepted_counter_patch_keeps_findings_on_removed_lines() {
    let (broker, client) = begin().await;
    let diff = diff_to(broker.repo(), &[("main.rs", &unchecked_code())]);
    let review = claimed(&client, json!({ "diff": diff, "description": PLAN })).await;
    let patch = diff_to(broker.repo(), &[("main.rs", &CODE.replace("check(&input)", "check_all(&input)"))]);
    let found = json!({ "issues": [on_old(3, "still needed", json!({})), on_plan(4, "too early", json!({}))] });
    let offer = with(verdict(&review, "ada", "changes_requested"), json!({ "counter_patch": patch }));
    client.call("submit_verdict", with(offer, found)).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    let rows = issues(&client, &review).await;
    assert_eq!(column(&json!(rows), "anchor"), ["exact", "exact"]);
    assert_eq!(column(&json!(rows), "line_start"), [3, 4]);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_contradictory_location_is_refused() {
    let (broker, client) = begin().await;
    let review = claimed(&client, json!({ "description": PLAN })).await;
    for (location, field) in [
        (json!({ "in": "description", "file": "main.rs" }), "issues[0].file"),
        (json!({ "in": "description", "side": "old" }), "issues[0].side"),
        (json!({ "side": "old" }), "issues[0].side"),
    ] {
        let issue = with(json!({ "severity": "low", "title": "a" }), location);
        let verdict = with(verdict(&review, "ada", "comment"), json!({ "issues": [issue] }));
        let refused = client.refused("invalid_argument", "submit_verdict", verdict).await;
        assert!(refused.to_string().contains(field), "{refused}");
    }
    broker.stop_and_check().await;
}
