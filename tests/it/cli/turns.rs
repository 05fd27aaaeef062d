//! Turns on the command line: whose turn it is, a person who joins in, and tokens that say in which role.

use crate::support::{broker::TestBroker, reviews::review_in, terminal::on_a_branch_with, wait_until::wait_until};
use serde_json::{Value, json};

async fn proposed(settings: &str) -> TestBroker {
    let broker = on_a_branch_with(settings).await;
    broker.command_as("ada", &["request"]).stdout().await;
    broker
}

#[tokio::test]
async fn a_list_of_turns_is_different_for_each_party() {
    let broker = proposed("[reviews]\nmax_rounds = 1").await;
    let turns = async |who: &str, more: &[&str]| {
        broker.command_as(who, &[&["list", "--my-turn"], more].concat()).stdout().await
    };
    let has_turn = |list: &str| list.contains("R-1");
    assert!(has_turn(&turns("bob", &[]).await) && !has_turn(&turns("ada", &[]).await), "the seat is free");
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    let asked = broker.command_as("bob", &["comment", "1", "-m", "on purpose?"]).stdout().await;
    assert!(asked.contains("waits for ada (general)"), "{asked}");
    assert!(has_turn(&turns("ada", &[]).await) && !has_turn(&turns("bob", &[]).await), "a question");
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "no"]).stdout().await;
    let operator = turns("olga", &["--role", "operator"]).await;
    assert!(has_turn(&operator) && operator.contains("an operator"), "{operator}");
    assert!(!has_turn(&turns("ada", &[]).await), "it is escalated");
    let resubmitted = broker.command_as("ada", &["resubmit", "1", "--description", "more"]).finish().await;
    assert!(resubmitted.err.contains("R-1 waits for an operator (max rounds)"), "{}", resubmitted.err);
    let status = broker.command_as("ada", &["status", "1"]).stdout().await;
    assert!(status.contains("! escalated to an operator (max rounds)"), "{status}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn an_escalation_ends_a_wait_that_began_before_it() {
    let broker = proposed("[reviews]\nmax_exchanges = 1").await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    broker.command_as("ada", &["comment", "1", "-m", "see line 2"]).stdout().await;
    let waiting = tokio::spawn(broker.command_as("ada", &["wait", "1"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("bob", &["comment", "1", "-m", "why?"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 15, "{ended:?}");
    assert!(ended.out.contains("waits for an operator"), "{}", ended.out);
    // The next wait is for the operator.
    let waiting = tokio::spawn(broker.command_as("ada", &["wait", "1"]).finish());
    broker.until_waiting(1).await;
    broker.command_as("olga", &["comment", "1", "--to", "proposer", "-m", "say why"]).stdout().await;
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code, 14, "{ended:?}");
    assert!(ended.err.contains("R-1 waits for an operator (max exchanges)"), "{}", ended.err);
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_wait_with_a_token_ends_when_it_is_the_turn_of_its_holder() {
    let broker = proposed("[reviews]\nmax_rounds = 1").await;
    let wait = async |role: &str, name: &str| {
        let token = broker.command(&["token", "create", "--role", role, "--name", name]).stdout().await;
        broker.command(&["wait", "1", "--timeout", "1m"]).var("COUNTERSIGN_TOKEN", token.trim()).finish().await.code
    };
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    assert_eq!(wait("reviewer", "bob").await, 14, "bob reviews it");
    broker.command_as("bob", &["release", "1"]).stdout().await;
    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "no"]).stdout().await;
    broker.command_as("ada", &["resubmit", "1", "--description", "more"]).stdout().await;
    assert_eq!(wait("operator", "olga").await, 15, "it is escalated");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_person_writes_adds_a_seat_and_takes_over() {
    let broker = proposed("").await;
    broker.command_as("bob", &["claim", "1"]).stdout().await;
    let written =
        broker.command_as("olga", &["comment", "1", "-m", "look at line 2", "--on", "greeting.txt:2"]).stdout();
    assert!(written.await.starts_with("a message of the operator in R-1"));
    let status = async |who: &str| broker.command_as(who, &["status", "1"]).stdout().await;
    assert!(status("bob").await.contains("1 message, 1 unread"), "{}", status("bob").await);
    let shown = broker.command_as("bob", &["show", "1"]).stdout().await;
    assert!(shown.contains("olga (operator)") && shown.contains("greeting.txt:2"), "{shown}");
    let taken = broker.command_as("olga", &["claim", "1", "--take-over"]).stdout().await;
    assert!(taken.starts_with("R-1 is yours: seat general"), "{taken}");
    let late = broker.command_as("bob", &["respond", "1", "--approve"]).finish().await;
    assert!(late.code == 1 && late.err.contains("already_claimed"), "{late:?}");
    let added = broker.command_as("ada", &["add-seat", "1", "--reviewer", "@eva"]).stdout().await;
    assert!(added.contains("waits for eva (@eva)") && added.ends_with("@eva reviews it as well\n"), "{added}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_token_says_in_which_role_a_command_acts() {
    let broker = proposed("").await;
    let token = async |role: &str, name: &str| {
        let created = broker.command(&["token", "create", "--role", role, "--name", name]).stdout().await;
        created.trim().to_owned()
    };
    let (proposer, operator) = (token("proposer", "ada").await, token("operator", "olga").await);
    let with_token =
        async |token: &str, line: &[&str]| broker.command(line).var("COUNTERSIGN_TOKEN", token).stdout().await;
    let written = with_token(&operator, &["comment", "1", "--to", "proposer", "-m", "say more"]).await;
    assert!(written.starts_with("a message of the operator"), "{written}");
    let written = with_token(&proposer, &["comment", "1", "-m", "it is for the users"]).await;
    assert!(written.starts_with("a message of the proposer"), "{written}");
    assert!(with_token(&proposer, &["add-seat", "1", "--reviewer", "security"]).await.contains("security reviews it"));
    assert!(with_token(&operator, &["add-seat", "1", "--reviewer", "@eva"]).await.contains("@eva reviews it"));
    let issue =
        ["respond", "1", "--persona", "general", "--request-changes", "-m", "no", "--issue", "high title: text"];
    broker.command_as("bob", &issue).stdout().await;
    let disputed = with_token(&proposer, &["issues", "dispute", "I-1", "-m", "it is right"]).await;
    assert!(disputed.contains("the proposer (ada): disputed"), "{disputed}");
    assert!(disputed.contains("waits for bob (general)"), "{disputed}");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn reading_on_the_command_line_renews_a_claim() {
    let broker = TestBroker::with_settings("[claims]\nlease = \"4s\"").await;
    let client = broker.client();
    let id = review_in(&client, "claimed").await;
    let renewals = async || {
        broker.command_as("ada", &["status", &id]).stdout().await;
        let timeline = client.call("get_review_timeline", json!({ "review_id": id })).await;
        let events = timeline["rounds"][0]["events"].as_array().unwrap().clone();
        events.iter().any(|event: &Value| event["kind"] == "claim_renewed").then_some(())
    };
    wait_until("a renewal", renewals).await;
    assert_eq!(client.status(&id).await["status"], "claimed");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn a_claim_says_that_the_change_conflicts_with_head() {
    let broker = proposed("").await;
    let repo = broker.repo();
    repo.git(&["checkout", "-q", "main"]);
    std::fs::write(repo.path().join("greeting.txt"), "something else\n").unwrap();
    repo.git(&["commit", "-qam", "a conflict"]);
    let conflict = "! it does not apply to HEAD, which is 1 commit ahead of its base";
    for line in [["claim", "1"], ["status", "1"]] {
        let printed = broker.command_as("bob", &line).stdout().await;
        assert!(printed.contains(conflict), "{printed}");
    }
    broker.stop_and_check().await;
}
