//! What a new user runs into first: a second repository, a broker that does not run yet, a text that could not be sent,
//! no reviewer, and the next steps that commands print.

use crate::support::{
    broker::TestBroker,
    command::{TestCommand, command_in},
    http_receiver::{Behavior, Receiver},
    terminal::on_a_branch,
    wait_until::wait_until,
};
use serde_json::{Value, json};
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use testkit::Repo;

/// A command of `broker`'s user in another folder.
fn command_at(broker: &TestBroker, dir: &Path, line: &[&str]) -> TestCommand {
    let data_dir = broker.data_dir().display().to_string();
    command_in(broker.home(), dir, line).var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir).var("COUNTERSIGN_NAME", "ada")
}

fn staged(word: &str) -> Repo {
    let repo = Repo::new();
    repo.write("greeting.txt", format!("one\n{word}\nthree\n"));
    repo.git(&["add", "greeting.txt"]);
    repo
}

async fn projects(broker: &TestBroker) -> Vec<(String, PathBuf)> {
    let listed = broker.command(&["project", "list", "--json"]).json().await;
    let text = |project: &Value, key: &str| project[key].as_str().unwrap().to_owned();
    let listed = listed["projects"].as_array().unwrap().iter();
    listed.map(|project| (text(project, "name"), text(project, "root").into())).collect()
}

#[tokio::test]
async fn a_second_repository_with_the_same_folder_name_is_registered_by_its_first_request() {
    let broker = TestBroker::start().await;
    let (other, third) = (staged("zwei"), staged("deux"));
    command_at(&broker, &other.path(), &["request", "--staged"]).stdout().await;
    // A linked worktree belongs to the repository.
    let tree = other.beside("linked");
    other.git(&["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()]);
    let added = command_at(&broker, &tree, &["project", "add", "--json"]).json().await;
    assert_eq!(added["name"], "project-2");
    let added = command_at(&broker, &third.path(), &["project", "add", "--name", "third"]).stdout().await;
    assert!(added.starts_with("registered third"), "{added}");
    let known = |broker: &TestBroker| {
        vec![
            ("project".to_owned(), broker.repo().path()),
            ("project-2".to_owned(), other.path()),
            ("third".to_owned(), third.path()),
        ]
    };
    assert_eq!(projects(&broker).await, known(&broker));
    let shown = broker.command(&["show", "1", "--json"]).json().await;
    assert_eq!((&shown["review"]["project"], &shown["review"]["applies"]), (&json!("project-2"), &json!(true)));

    let broker = broker.kill_and_restart().await;
    assert_eq!(projects(&broker).await, known(&broker), "they survive a restart");
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let gate = command_at(&broker, &other.path(), &["gate"]).finish().await;
    assert_eq!(gate.code, 0, "{}{}", gate.out, gate.err);

    let refused = async |line: &[&str], why: &str| {
        let ended = command_at(&broker, &third.path(), line).finish().await;
        assert!(ended.code == 1 && ended.err.contains(why), "{line:?}: {}", ended.err);
    };
    refused(&["project", "add", "--name", "other"], "registered as \"third\" already").await;
    refused(&["project", "remove", "project"], "started in").await;
    refused(&["project", "remove", "nothing"], "no project \"nothing\"").await;
    command_at(&broker, &third.path(), &["project", "remove", "third"]).stdout().await;
    assert_eq!(projects(&broker).await.len(), 2);
    let fourth = staged("dva");
    let ended = command_at(&broker, &fourth.path(), &["project", "add", "--name", "third"]).finish().await;
    assert!(ended.err.contains("is the name of another repository"), "its reviews keep the name: {}", ended.err);
    // Its next proposal brings it back, under its name.
    command_at(&broker, &third.path(), &["request", "--staged"]).stdout().await;
    assert!(projects(&broker).await.contains(&("third".to_owned(), third.path())));
    broker.stop_and_check().await;
}

#[tokio::test]
async fn only_the_brokers_own_user_registers_repositories() {
    let broker = TestBroker::start().await;
    let other = Repo::new();
    let path = other.path().display().to_string();
    let token = broker.command(&["token", "create", "--role", "operator", "--name", "boss"]).stdout().await;
    let send = async |token: Option<&str>, body: Value| {
        let request = reqwest::Client::new().post(broker.url("/api/v1/projects")).json(&body);
        let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        let body: Value = request.send().await.unwrap().json().await.unwrap();
        body["code"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(send(None, json!({ "path": path })).await, "wrong_role");
    assert_eq!(send(Some(token.trim()), json!({ "path": path })).await, "wrong_role", "it may come from elsewhere");
    let own = std::fs::read_to_string(broker.data_dir().join("operator.token")).unwrap();
    for wrong in [json!("/"), json!("relative"), json!("")] {
        assert_eq!(send(Some(own.trim()), json!({ "path": wrong })).await, "invalid_argument");
    }
    assert_eq!(projects(&broker).await.len(), 1);
    assert_eq!(send(Some(own.trim()), json!({ "path": path })).await, "");
    broker.stop_and_check().await;
}

#[tokio::test]
async fn names_of_the_settings_win() {
    let (configured, other) = (Repo::new(), staged("zwei"));
    let mut broker = TestBroker::start().await;
    command_at(&broker, &other.path(), &["request", "--staged"]).stdout().await;
    broker.terminate().await;
    let settings = format!("[projects.project-2]\npath = {:?}\n", configured.path());
    let broker = broker.restarted_with(&settings).await;
    assert!(projects(&broker).await.contains(&("project-2".to_owned(), configured.path())));
    command_at(&broker, &other.path(), &["request", "--staged"]).stdout().await;
    assert!(projects(&broker).await.contains(&("project-3".to_owned(), other.path())));
    let ended = broker.command(&["project", "remove", "project-2"]).finish().await;
    assert!(ended.code == 1 && ended.err.contains("settings"), "{}", ended.err);
    broker.stop_and_check().await;
}

/// The hooks of a repository that the broker did not know block a commit only until its review is approved.
#[tokio::test]
async fn hooks_of_a_second_repository_do_not_lock_it() {
    let broker = TestBroker::start().await;
    let other = staged("zwei");
    let ended = command_at(&broker, &other.path(), &["hook", "pre-commit"]).finish().await;
    assert_eq!(ended.code, 1, "{}", ended.err);
    let printed = hints(&ended.err);
    assert!(printed.iter().any(|hint| hint.starts_with("countersign request")), "{}", ended.err);
    for hint in printed.iter().filter(|hint| hint.starts_with("countersign request")) {
        let words: Vec<_> = hint.split_whitespace().skip(1).collect();
        command_at(&broker, &other.path(), &words).stdout().await;
    }
    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    let ended = command_at(&broker, &other.path(), &["hook", "pre-commit"]).finish().await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    broker.stop_and_check().await;
}

/// A user without a broker.
struct NewUser {
    home: tempfile::TempDir,
    repo: Repo,
}

impl NewUser {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), repo: staged("zwei") }
    }

    fn command(&self, line: &[&str]) -> TestCommand {
        let data_dir = self.home.path().join("data").display().to_string();
        command_in(self.home.path(), &self.repo.path(), line)
            .var("COUNTERSIGN_SERVER_DATA_DIR", &data_dir)
            .var("COUNTERSIGN_SERVER_LISTEN", "127.0.0.1:0")
            .var("COUNTERSIGN_SERVER_AUTO_START", "true")
            .var("COUNTERSIGN_NAME", "ada")
    }
}

#[tokio::test]
async fn a_command_starts_the_broker_and_stop_ends_it() {
    let user = NewUser::new();
    let ended = user.command(&["status"]).finish().await;
    assert!(ended.code == 5 && ended.out.contains("no broker runs"), "{}{}", ended.out, ended.err);
    for (line, code) in [(&["list", "--no-start"][..], 5), (&["gate"], 2), (&["hook", "session-start"], 0)] {
        let ended = user.command(line).stdin("{}").finish().await;
        assert_eq!(ended.code, code, "{line:?}: {}{}", ended.out, ended.err);
        assert_eq!(user.command(&["status"]).finish().await.code, 5, "{line:?} started a broker");
    }
    let ended = user.command(&["request", "--staged"]).finish().await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("started a broker: http://127.0.0.1:"), "{}", ended.err);
    assert!(ended.err.contains("`countersign stop` ends it"), "{}", ended.err);
    let ended = user.command(&["list"]).finish().await;
    assert!(ended.out.contains("R-1") && ended.err.is_empty(), "it runs already: {}", ended.err);

    let status = user.command(&["status", "--json"]).json().await;
    assert_eq!((&status["running"], &status["projects"][0]["name"]), (&json!(true), &json!("project")));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    let text = user.command(&["status"]).stdout().await;
    for part in [status["url"].as_str().unwrap(), &status["pid"].to_string(), "since", "project"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let token = user.command(&["token", "create", "--role", "reviewer", "--name", "bob"]).stdout().await;
    let refused = user.command(&["stop"]).var("COUNTERSIGN_TOKEN", token.trim()).finish().await;
    assert!(refused.code == 1 && refused.err.contains("(wrong_role)"), "{}", refused.err);
    let stopped = user.command(&["stop", "--json"]).json().await;
    assert_eq!((&stopped["stopped"], &stopped["pid"]), (&json!(true), &status["pid"]));
    assert_eq!(user.command(&["status"]).finish().await.code, 5);
    assert!(user.command(&["stop"]).stdout().await.contains("no broker runs"));
}

#[tokio::test]
async fn a_broker_that_a_command_started_ends_when_it_has_nothing_to_do() {
    let user = NewUser::new();
    let hasty = |line: &[&str]| user.command(line).var("COUNTERSIGN_SERVER_IDLE_EXIT", "300ms");
    hasty(&["request", "--staged"]).stdout().await;
    let lock = std::fs::File::open(user.home.path().join("data/broker.lock")).unwrap();
    let has_ended = || lock.try_lock().map(|()| lock.unlock().unwrap()).is_ok();
    wait_until("the idle broker has ended", async || has_ended().then_some(())).await;
    // A claim keeps it.
    hasty(&["claim", "1", "--as", "bob"]).stdout().await;
    let log = user.home.path().join("data/broker.log");
    let starts = || std::fs::read_to_string(&log).unwrap().matches("listening on").count();
    assert_eq!(starts(), 2);
    let follow = user.command(&["wait", "1", "--timeout", "1s"]).finish().await;
    assert_eq!((follow.code, has_ended(), starts()), (13, false, 2), "{}", follow.err);
    hasty(&["release", "1", "-m", "x", "--as", "bob"]).stdout().await;
    wait_until("the idle broker has ended again", async || has_ended().then_some(())).await;
}

#[tokio::test]
async fn a_webhook_that_waits_for_a_retry_keeps_such_a_broker() {
    let (user, mut receiver) = (NewUser::new(), Receiver::start().await);
    receiver.now(Behavior::Status(500));
    let settings = format!("[webhooks]\nfirst_pause = \"600ms\"\n{}", receiver.setting("ci", ""));
    let folder = user.home.path().join(".config/countersign");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    user.command(&["request", "--staged"]).var("COUNTERSIGN_SERVER_IDLE_EXIT", "300ms").stdout().await;
    let lock = std::fs::File::open(user.home.path().join("data/broker.lock")).unwrap();
    // Each attempt waits longer than the broker may be idle.
    for _ in 0..3 {
        receiver.next().await;
    }
    receiver.now(Behavior::Status(204));
    receiver.next().await;
    let has_ended = || lock.try_lock().map(|()| lock.unlock().unwrap()).is_ok();
    wait_until("it ends after the delivery", async || has_ended().then_some(())).await;
}

/// An editor that appends `text`, and keeps what it was given in `seen`.
fn editor(home: &Path, text: &str) -> String {
    let seen = home.join("seen");
    format!("edit() {{ cp \"$1\" {seen:?}; printf '{text}' > \"$1\"; }}; edit")
}

#[tokio::test]
async fn the_text_of_an_editor_is_kept_until_it_was_sent() {
    let broker = on_a_branch().await;
    broker.command_as("ada", &["request"]).stdout().await;
    let respond =
        |text: &str| broker.command_as("bob", &["respond", "1", "--edit"]).var("EDITOR", &editor(broker.home(), text));
    let failed = respond("verdict: perhaps\\n\\nAn hour of work.\\n").finish().await;
    assert_ne!(failed.code, 0);
    let place = failed.err.split("your text is kept in ").nth(1).expect(&failed.err).split(';').next().unwrap();
    assert!(failed.err.contains("`countersign respond R-1` offers it again"), "{}", failed.err);
    assert_eq!(std::fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o600);

    let sent = respond("verdict: changes_requested\\n\\nAn hour of work.\\n").finish().await;
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(sent.err.contains("continuing your text"), "{}", sent.err);
    let seen = std::fs::read_to_string(broker.home().join("seen")).unwrap();
    assert!(seen.contains("perhaps") && seen.contains("An hour of work."), "{seen}");
    assert!(!Path::new(place).exists(), "a text that was sent is not kept");
    let again = respond("verdict: approved\\n").finish().await;
    assert!(!again.err.contains("continuing"), "{}", again.err);
}

/// The commands in `text`: in backquotes, and at the beginning of a line.
fn hints(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let lines = text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("countersign: ").trim_start_matches("next: ");
        let (command, _) = line.split_once("  ").unwrap_or((line, ""));
        command.starts_with("countersign ").then_some(command)
    });
    quoted.filter(|hint| hint.starts_with("countersign ")).chain(lines).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_next_steps_that_commands_print_work_as_printed() {
    let broker = TestBroker::start().await;
    let repo = broker.repo();
    repo.git(&["config", "user.name", "Ada"]);
    repo.git(&["config", "user.email", "ada@example.invalid"]);
    repo.write("greeting.txt", "one\nzwei\nthree\n");
    repo.git(&["add", "greeting.txt"]);
    let refused = broker.command(&["gate"]).finish().await;
    let hint = hints(&(refused.out + &refused.err)).into_iter().find(|hint| hint.contains("request")).unwrap();
    let words: Vec<_> = hint.split_whitespace().skip(1).collect();
    let printed = broker.command_as("ada", &words).finish().await;
    assert_eq!(printed.code, 0, "{hint}: {}", printed.err);
    let shown = broker.command(&["show", "1", "--json"]).json().await;
    assert_eq!(shown["review"]["intent"], "Changes in greeting.txt");

    broker.command_as("bob", &["respond", "1", "--request-changes", "-m", "why?"]).stdout().await;
    repo.write("greeting.txt", "one\ndeux\nthree\n");
    repo.git(&["add", "greeting.txt"]);
    let printed = broker.command_as("ada", &["status", "1"]).stdout().await;
    let steps = hints(&printed);
    assert!(steps.iter().any(|step| step.contains("resubmit")), "{printed}");
    for step in &steps {
        let words: Vec<_> = step.split_whitespace().skip(1).collect();
        let ended = broker.command_as("ada", &words).stdin("a text").finish().await;
        assert_eq!(ended.code, 0, "{step}: {}", ended.err);
    }
    let shown = broker.command(&["show", "1", "--json"]).json().await;
    assert_eq!(
        (&shown["review"]["current_round"], &shown["review"]["intent"]),
        (&json!(2), &json!("Changes in greeting.txt"))
    );

    broker.command_as("bob", &["respond", "1", "--approve"]).stdout().await;
    for step in hints(&broker.command_as("ada", &["status", "1"]).stdout().await) {
        let words: Vec<_> = step.split_whitespace().skip(1).collect();
        let ended = broker.command_as("ada", &words).finish().await;
        assert_eq!(ended.code, 0, "{step}: {}{}", ended.out, ended.err);
    }
    let help = broker.command(&["request", "--help"]).stdout().await;
    assert!(help.contains("0 submitted"), "{help}");
}

#[tokio::test]
async fn a_request_says_when_no_reviewer_is_there_and_how_to_get_one() {
    let broker = on_a_branch().await;
    let alone = broker.command_as("ada", &["request"]).finish().await;
    assert!(alone.err.contains("no reviewer is there"), "{}", alone.err);
    let hint = hints(&alone.err).into_iter().find(|hint| hint.contains("respond")).expect(&alone.err);
    let words: Vec<_> = hint.split_whitespace().skip(1).chain(["--request-changes", "-m", "why?"]).collect();
    broker.command(&words).stdout().await;
    let reviewed = broker.command_as("ada", &["request", "--new"]).finish().await;
    assert!(reviewed.code == 0 && !reviewed.err.contains("no reviewer is there"), "{}", reviewed.err);
}

#[tokio::test]
async fn an_error_is_printed_once() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("data"), "not a folder").unwrap();
    let data_dir = home.path().join("data").display().to_string();
    let ended = command_in(home.path(), home.path(), &["serve", "--data-dir", &data_dir]).finish().await;
    assert_ne!(ended.code, 0);
    let reason = ended.err.trim().rsplit(": ").next().unwrap();
    assert_eq!(ended.err.matches(reason).count(), 1, "{}", ended.err);
}
