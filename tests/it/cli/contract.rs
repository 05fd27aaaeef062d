//! Pins the interface that programs depend on: options of every command, fields of every `--json` answer, and fields
//! of every event. Only names and types are recorded, so texts may change freely.

use crate::support::{
    approvals::{approve_staged, propose, stage, vote},
    broker::TestBroker,
    client::{id, proposal_with},
    command::{TestCommand, command_in, commands_in},
    terminal::on_a_branch_with,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

/// Field paths with the types of their values, such as `reviews[].number: string`.
#[derive(Default)]
struct Shape(BTreeMap<String, BTreeSet<&'static str>>);

impl Shape {
    fn add(&mut self, path: &str, value: &Value) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(items) => {
                items.iter().for_each(|item| self.add(&format!("{path}[]"), item));
                if items.is_empty() { "[]" } else { return }
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.add(&format!("{path}.{name}"), value));
                if fields.is_empty() { "{}" } else { return }
            }
        };
        self.0.entry(path.trim_start_matches('.').to_owned()).or_default().insert(kind);
    }
}

/// One section of a snapshot, with one line for each object.
fn section(title: &str, shape: &Shape) -> String {
    let has_items =
        |path: &str| shape.0.keys().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with("[]")));
    let mut objects: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, kinds) in &shape.0 {
        let (object, field) = path.rsplit_once('.').unwrap_or(("", path));
        let kinds: Vec<_> = kinds.iter().copied().filter(|kind| *kind != "[]" || !has_items(path)).collect();
        if !kinds.is_empty() {
            objects.entry(object).or_default().push(format!("{field} {}", kinds.join("|")));
        }
    }
    let mut text = format!("{title}\n");
    for (object, fields) in objects {
        writeln!(text, "  {}: {}", if object.is_empty() { "." } else { object }, fields.join(", ")).unwrap();
    }
    text
}

fn join(sections: &BTreeMap<String, Shape>) -> String {
    sections.iter().map(|(title, shape)| section(title, shape)).collect()
}

/// Runs commands with `--json` and records what they print. A command that runs twice adds to its section.
#[derive(Default)]
struct Recorder(BTreeMap<String, Shape>);

impl Recorder {
    async fn run(&mut self, title: &str, command: TestCommand) -> Value {
        let ended = command.finish().await;
        let printed = if ended.out.is_empty() { &ended.err } else { &ended.out };
        let values: Vec<Value> = match serde_json::from_str(printed) {
            Ok(value) => vec![value],
            Err(_) => printed
                .lines()
                .map(|line| {
                    serde_json::from_str(line).unwrap_or_else(|_| panic!("{title} does not print JSON: {line}"))
                })
                .collect(),
        };
        let fails = values.iter().any(|value| value.get("exit_code").is_some());
        assert_eq!(fails, title.starts_with("(error)"), "{title}: {printed}");
        let shape = self.0.entry(title.to_owned()).or_default();
        values.iter().for_each(|value| shape.add("", value));
        values.last().cloned().unwrap_or_default()
    }

    /// As `who`, in the repository of `broker`. The words before the first argument are the title.
    async fn run_as(&mut self, broker: &TestBroker, who: &str, line: &[&str]) -> Value {
        let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
        let takes_verb = ["patch", "issues", "token", "reviewer", "webhooks"].contains(&line[0]);
        let words: Vec<_> = line.iter().take_while(is_name).take(if takes_verb { 2 } else { 1 }).copied().collect();
        let line: Vec<_> = line.iter().copied().chain(["--json"]).collect();
        self.run(&words.join(" "), broker.command_as(who, &line)).await
    }
}

#[tokio::test]
async fn the_options_of_every_command() {
    let home = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let mut commands = vec![Vec::<String>::new()];
    while let Some(command) = commands.pop() {
        let line: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = command_in(home.path(), home.path(), &line).var("COLUMNS", "10000").stdout().await;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
        let mut arguments = Vec::new();
        let mut part = "";
        for line in help.lines() {
            if let Some(name) = line.strip_suffix(':') {
                part = if name.contains(' ') { part } else { name };
            } else if (part == "Options" || part == "Arguments") && line.trim_start().starts_with(['-', '<', '[']) {
                arguments.extend(argument(line));
            }
        }
        writeln!(text, "{usage}: {}", arguments.join(", ")).unwrap();
        let below = commands_in(&help).into_iter().rev();
        commands.extend(below.map(|name| command.iter().cloned().chain([name]).collect()));
    }
    insta::assert_snapshot!(text);
}

/// The flags and the value's name at the start of a line of help, and which values are possible.
fn argument(line: &str) -> Option<String> {
    let line = line.trim_start();
    if line.starts_with("- ") || line.starts_with("[default") || line.starts_with("[possible") {
        return None;
    }
    let flags = line.split("  ").next().unwrap_or_default();
    let flags = flags.trim_end();
    let possible = line.find("[possible values").map(|at| &line[at..]).unwrap_or_default();
    (!["-h, --help", "-V, --version"].contains(&flags)).then(|| format!("{flags} {possible}").trim_end().to_owned())
}

#[tokio::test]
async fn the_fields_of_every_json_answer_about_reviews() {
    let broker = on_a_branch_with("").await;
    let on = &broker;
    let mut shapes = Recorder::default();
    shapes.run_as(on, "ada", &["request", "--description", "why", "--reviewers", "general,security"]).await;
    shapes.run_as(on, "bob", &["claim", "1", "--persona", "general"]).await;
    shapes.run_as(on, "bob", &["release", "1", "-m", "no time"]).await;
    let patch = broker.repo().git(&["diff", "main"]).replace("zwei", "zwo") + "\n";
    broker.repo().write("../better.diff", &patch);
    let verdict = ["respond", "1", "--persona", "general", "--request-changes", "-m", "no", "--summary", "short"];
    let found = ["--issue", "low greeting.txt:2 nit: why", "--issue", "high bug", "--suggestion", "better"];
    let offered = ["--counter-patch", "../better.diff"];
    shapes.run_as(on, "bob", &[&verdict[..], &found, &offered].concat()).await;
    shapes.run_as(on, "eve", &["respond", "1", "--approve"]).await;
    for line in [&["list", "--mine"][..], &["list", "--claimable"], &["show", "1"], &["status", "1"], &["issues"]] {
        shapes.run_as(on, "ada", line).await;
    }
    for line in [
        &["issues", "fix", "I-1", "-m", "done"][..],
        &["issues", "dispute", "I-2", "-m", "no"],
        &["diff", "1"],
        &["patch", "show", "1"],
        &["patch", "decline", "1", "--persona", "general"],
        &["comment", "1", "--persona", "general", "-m", "why?"],
    ] {
        shapes.run_as(on, "ada", line).await;
    }
    shapes.run_as(on, "op", &["issues", "reopen", "I-1", "-m", "no", "--role", "operator"]).await;
    shapes.run_as(on, "op", &["issues", "duplicate", "I-2", "--of", "I-1", "--role", "operator"]).await;
    let again = ["respond", "1", "--persona", "general", "--request-changes", "-m", "so"];
    shapes.run_as(on, "bob", &[&again[..], &offered].concat()).await;
    shapes.run_as(on, "ada", &["patch", "accept", "1", "--persona", "general"]).await;
    shapes.run_as(on, "ada", &["resubmit", "1", "--branch", "-m", "again"]).await;
    shapes.run_as(on, "op", &["issues", "wont-fix", "I-1", "-m", "convinced", "--role", "operator"]).await;
    shapes.run_as(on, "bob", &["respond", "1", "--persona", "general", "--approve"]).await;
    shapes.run_as(on, "eve", &["respond", "1", "--persona", "security", "--approve"]).await;
    shapes.run_as(on, "ada", &["wait", "1"]).await;
    for line in [
        &["show", "1"][..],
        &["status", "1"],
        &["close", "1"],
        &["request", "--commit", "HEAD"],
        &["cancel", "2", "-m", "no"],
        &["audit"],
        &["activity"],
        &["timeline", "1"],
        &["stats"],
        &["stats", "--by", "reviewer"],
        &["events"],
        &["export"],
        &["personas"],
        &["actors"],
        &["top"],
        &["doctor"],
        &["tandem"],
        &["token", "create", "--role", "reviewer", "--name", "bob", "--project", "project"],
        &["token", "list"],
        &["list", "--all"],
    ] {
        shapes.run_as(on, "ada", line).await;
    }
    let error = broker.command_as("ada", &["show", "R-99", "--json"]);
    shapes.run("(error) refused", error).await;
    let home = tempfile::tempdir().unwrap();
    shapes.run("(error) no broker", command_in(home.path(), home.path(), &["list", "--json"])).await;
    shapes.run("demo", command_in(home.path(), home.path(), &["demo", "--fast", "--json"])).await;
    insta::assert_snapshot!(join(&shapes.0));
}

#[tokio::test]
async fn the_fields_of_every_json_answer_about_commits() {
    let broker = TestBroker::start().await;
    let on = &broker;
    broker.repo().git(&["config", "user.name", "Test"]);
    broker.repo().git(&["config", "user.email", "test@example.invalid"]);
    let mut shapes = Recorder::default();
    stage(on, "zwei");
    shapes.run_as(on, "ada", &["gate"]).await;
    approve_staged(on, &[]).await;
    shapes.run_as(on, "ada", &["gate", "--staged"]).await;
    stage(on, "zwo");
    shapes.run_as(on, "ada", &["gate"]).await;
    stage(on, "zwei");
    broker.repo().commit("zwei");
    shapes.run_as(on, "ada", &["receipt", "--note"]).await;
    shapes.run_as(on, "ada", &["receipt", "--show"]).await;
    shapes.run_as(on, "ada", &["key", "show"]).await;
    broker.repo().write("more", "more\n");
    broker.repo().commit("more");
    shapes.run_as(on, "ada", &["gate", "--range", "HEAD~2..HEAD"]).await;
    shapes.run_as(on, "ada", &["verify", "HEAD~2..HEAD"]).await;
    let review = propose(on, json!({ "target": { "commit": "HEAD" } })).await;
    vote(on, &review, "rejected").await;
    shapes.run_as(on, "ada", &["revert", &review, "--dry-run"]).await;
    shapes.run_as(on, "ada", &["revert", &review]).await;
    shapes.run_as(on, "ada", &["init", "--client", "claude", "--git-hooks", "--dry-run"]).await;
    shapes.run_as(on, "ada", &["init", "--client", "claude", "--git-hooks", "--check"]).await;
    shapes.run_as(on, "ada", &["init", "--client", "claude", "--git-hooks", "--yes"]).await;
    shapes.run_as(on, "ada", &["init", "--remove", "--yes"]).await;
    insta::assert_snapshot!(join(&shapes.0));
}

/// A webhook whose receiver does not exist, so that its first delivery is dead at once.
const DEAD_WEBHOOK: &str = "[webhooks]\nattempts = 1\nfirst_pause = \"10ms\"\n[[webhooks.receivers]]\nname = \
                            \"ci\"\nurl = \"http://127.0.0.1:9/hook\"\n";

#[tokio::test]
async fn the_fields_of_every_json_answer_about_reviewers_and_webhooks() {
    let pool = pool("echo hello; exec sleep 1000", "max_size = 1\n");
    let broker = TestBroker::with_settings(&format!("{pool}{DEAD_WEBHOOK}")).await;
    let on = &broker;
    let mut shapes = Recorder::default();
    let spawned = shapes.run_as(on, "ada", &["reviewer", "spawn"]).await;
    let reviewer = spawned["reviewer_id"].as_str().unwrap().to_owned();
    wait_until("the reviewer has printed a line", async || {
        let logs = broker.command_as("ada", &["reviewer", "logs", &reviewer]).finish().await;
        logs.out.contains("hello").then_some(())
    })
    .await;
    shapes.run_as(on, "ada", &["reviewer", "logs", &reviewer]).await;
    shapes.run_as(on, "ada", &["reviewer", "list"]).await;
    shapes.run_as(on, "ada", &["top"]).await;
    shapes.run_as(on, "ada", &["reviewer", "stop", &reviewer, "--force"]).await;
    broker.client().submit("for the webhook").await;
    wait_until("a delivery is dead, and none is being tried", async || {
        let dead = broker.command_as("ada", &["webhooks", "dead", "ci", "--json"]).json().await;
        let list = broker.command_as("ada", &["webhooks", "list", "--json"]).json().await;
        let is_idle = list["webhooks"][0].get("failing").is_none() && list["webhooks"][0]["lag"] == 0;
        (is_idle && !dead["dead"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    for line in [
        &["webhooks", "list"][..],
        &["webhooks", "dead", "ci"],
        &["webhooks", "redeliver", "ci", "--all"],
        &["webhooks", "drop", "ci", "--all"],
    ] {
        shapes.run_as(on, "ada", line).await;
    }
    insta::assert_snapshot!(join(&shapes.0));
}

fn pool(script: &str, more: &str) -> String {
    format!("[pool]\nenabled = true\nruntime = \"command\"\ncommand = {}\n{more}", json!(["sh", "-c", script]))
}

#[tokio::test]
async fn the_fields_of_every_kind_of_event() {
    let mut kinds = BTreeMap::new();
    reviews(&mut kinds).await;
    reviewers(&mut kinds).await;
    insta::assert_snapshot!(join(&kinds));
}

async fn record(broker: &TestBroker, kinds: &mut BTreeMap<String, Shape>) {
    let feed = broker.command_as("ada", &["events", "--json"]).stdout().await;
    for line in feed.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        kinds.entry(event["kind"].as_str().unwrap().to_owned()).or_default().add("", &event);
    }
}

/// Every event that a review can have, except the end of a reservation.
async fn reviews(kinds: &mut BTreeMap<String, Shape>) {
    let broker = TestBroker::with_settings("").await;
    let client = broker.client();
    let on = &broker;
    let issue = json!([{ "severity": "low", "title": "nit" }]);
    let review = propose(on, json!({ "diff": broker.repo().diff("zwei"), "category": "code_change" })).await;
    let respond = async |more: Value| {
        let mut arguments =
            json!({ "review_id": review, "reviewer_id": "ada", "verdict": "changes_requested", "reason": "no" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("submit_verdict", arguments).await
    };
    client.claim(&review, "ada").await;
    let release = json!({ "review_id": review, "reviewer_id": "ada", "claim_generation": 1, "reason": "no time" });
    client.call("release_claim", release).await;
    client.claim(&review, "ada").await;
    respond(json!({ "issues": issue, "counter_patch": broker.repo().diff("dos"), "summary": "short" })).await;
    let update =
        json!({ "review_id": review, "issue_id": "I-1", "status": "fixed", "note": "done", "role": "proposer" });
    client.call("update_issue", update).await;
    client.call("reject_counter_patch", json!({ "review_id": review })).await;
    let message = json!({ "review_id": review, "sender_role": "proposer", "body": "why?" });
    client.call("add_message", message).await;
    let revise = async |word: &str| {
        let revised = json!({
            "review_id": review, "intent": "again", "agent_type": "a", "agent_role": "proposer", "phase": "1",
            "diff": broker.repo().diff(word),
        });
        client.call("create_review", revised).await;
        client.claim(&review, "ada").await;
    };
    revise("tres").await;
    respond(json!({ "counter_patch": broker.repo().diff("dos") })).await;
    client.call("accept_counter_patch", json!({ "review_id": review })).await;
    revise("dos").await;
    respond(json!({ "verdict": "approved" })).await;
    client.call("close_review", json!({ "review_id": review, "closer_role": "proposer" })).await;
    let other = client.submit("to be cancelled").await;
    client.call("cancel_review", json!({ "review_id": other, "reason": "not wanted" })).await;
    let wrong = broker.repo().diff("zwei").replace("-two", "-twelve");
    let wrong = client.call("create_review", proposal_with("does not apply", json!({ "diff": wrong }))).await;
    let claimed = client.call("claim_review", json!({ "review_id": id(&wrong), "reviewer_id": "ada" })).await;
    assert_eq!(claimed["auto_rejected"], true, "{claimed}");
    record(on, kinds).await;
}

/// Every event that the pool can have, except a second attempt at an answer.
async fn reviewers(kinds: &mut BTreeMap<String, Shape>) {
    let settings = pool("exec sleep 1000", "max_size = 1\nstop_grace = \"1s\"\n");
    let broker = TestBroker::with_settings(&settings).await;
    let spawned = broker.client().call("spawn_reviewer", json!({})).await;
    broker.client().call("kill_reviewer", json!({ "reviewer_id": spawned["reviewer_id"] })).await;
    wait_until("the reviewer has ended", async || {
        let pool = broker.client().call("list_reviewers", json!({})).await;
        pool["reviewers"].as_array().unwrap().is_empty().then_some(())
    })
    .await;
    record(&broker, kinds).await;
    let failing = pool("echo 'log in first' >&2; exit 3", "cooldown = \"10ms\"\ncheck_every = \"50ms\"\n");
    let broker = TestBroker::with_settings(&failing).await;
    broker.client().submit("waits in vain").await;
    wait_until("the pool gives up", async || {
        (broker.client().call("list_reviewers", json!({})).await["state"] == "crash_loop").then_some(())
    })
    .await;
    let spawn = async || broker.client().try_call("spawn_reviewer", json!({})).await.ok();
    wait_until("an operator clears the crash loop", spawn).await;
    record(&broker, kinds).await;
}
