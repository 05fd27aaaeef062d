//! A git server that does not hold the database asks the broker by its address.

use crate::support::{
    approvals::{approve_staged, git, propose, stage, staged},
    broker::TestBroker,
    command::{CommandOutput, command_in},
};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// A repository on a server without a data folder, and the token that its operator gave it.
struct Server {
    broker: TestBroker,
    remote: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Server {
    async fn new() -> Self {
        let broker = TestBroker::with_settings("[auth]\nrequired = true\n").await;
        let (remote, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        git(remote.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
        broker.repo().git(&["remote", "add", "origin", remote.path().to_str().unwrap()]);
        broker.repo().git(&["push", "--quiet", "origin", "main"]);
        Self { broker, remote, home }
    }

    /// Creates a token, and the file that holds it.
    async fn token(&self, role: &str, more: &[&str]) -> String {
        let name = format!("{role}-{}", more.len());
        let line = ["token", "create", "--role", role, "--name", &name];
        let line: Vec<_> = line.into_iter().chain(more.iter().copied()).collect();
        let secret = self.broker.command(&line).stdout().await;
        let secret = secret.split_whitespace().find(|word| word.starts_with("cs_")).expect("a secret").to_owned();
        let file = self.home.path().join(&name);
        std::fs::write(&file, format!("{secret}\n")).unwrap();
        file.display().to_string()
    }

    /// Installs the hook with these options and variables.
    fn install(&self, variables: &str, options: &str) {
        let (binary, home) = (env!("CARGO_BIN_EXE_countersign"), self.home.path().display());
        let line = format!("#!/bin/sh\nHOME='{home}' {variables} exec '{binary}' hook pre-receive {options}\n");
        let file = self.remote.path().join("hooks/pre-receive");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, line).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn push(&self, spec: &str) -> CommandOutput {
        git(&self.broker.repo().path(), &["push", "--quiet", "origin", spec])
    }

    fn project(&self) -> String {
        self.broker.repo().path().file_name().unwrap().to_str().unwrap().to_owned()
    }
}

/// The broker of these tests requires tokens, so its reviews are made by the operator's own commands.
async fn approve_with_commands(server: &Server) -> String {
    let broker = &server.broker;
    broker.command(&["request", "--staged", "-m", "a change", "--as", "proposer"]).stdout().await;
    let list = broker.command(&["list", "--json"]).json().await;
    let number = list["reviews"][0]["number"].as_str().unwrap().to_owned();
    broker.command(&["respond", &number, "--approve", "--as", "ada"]).stdout().await;
    number
}

#[tokio::test]
async fn a_server_without_a_database_asks_the_broker() {
    let server = Server::new().await;
    let (url, project) = (server.broker.url(""), server.project());
    let token = server.token("operator", &[]).await;
    stage(&server.broker, "zwei");
    let review = approve_with_commands(&server).await;
    server.broker.repo().git(&["commit", "--quiet", "--message", "approved"]);
    let asks = format!("--url {url} --token-file '{token}'");
    let secret = std::fs::read_to_string(&token).unwrap();

    // Everything that prevents an answer refuses.
    let reviewer = server.token("reviewer", &[]).await;
    let of_other = server.token("operator", &["--project", "other"]).await;
    for (variables, options, says) in [
        (String::new(), asks.clone(), "--url needs --project"),
        (String::new(), format!("--url {url} --project {project}"), "token"),
        (String::new(), format!("--url {url} --project {project} --token-file /nowhere"), "--token-file"),
        (
            String::new(),
            format!("--url {url} --project {project} --token-file '{reviewer}'"),
            "requires an operator token",
        ),
        (String::new(), format!("--url {url} --project {project} --token-file '{of_other}'"), "valid only for"),
        (String::new(), format!("--url http://127.0.0.1:1 --project {project} --token-file '{token}'"), "no answer"),
        ("COUNTERSIGN_TOKEN=cs_wrong".to_owned(), format!("--url {url} --project {project}"), "token"),
        (String::new(), format!("{asks} --project other"), "not approved"),
    ] {
        server.install(&variables, &options);
        let no = server.push("main");
        assert!(no.code == 1 && no.err.contains(says), "{options}: {}", no.err);
    }
    for (variables, options) in [
        (String::new(), format!("{asks} --project {project}")),
        (format!("COUNTERSIGN_TOKEN='{}'", secret.trim()), format!("--url {url}/ --project {project}")),
    ] {
        server.install(&variables, &options);
        git(
            server.remote.path(),
            &["update-ref", "refs/heads/main", &server.broker.repo().git(&["rev-parse", "main~1"])],
        );
        let yes = server.push("main");
        assert_eq!(yes.code, 0, "{options}: {}", yes.err);
    }
    // One byte more is refused, and the answer names the review.
    server.broker.repo().write("greeting.txt", "one\nzwei\nthree\nfour\n");
    server.broker.repo().git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    git(server.remote.path(), &["update-ref", "refs/heads/main", &server.broker.repo().git(&["rev-parse", "main~1"])]);
    let no = server.push("main");
    assert!(
        no.code == 1 && no.err.contains(&format!("{review} approved this change except for greeting.txt")),
        "{}",
        no.err
    );
}

#[tokio::test]
async fn only_a_broker_that_does_not_answer_counts_as_missing() {
    let mut broker = TestBroker::start().await;
    let remote = tempfile::tempdir().unwrap();
    git(remote.path(), &["init", "--quiet", "--bare", "--initial-branch=main"]);
    broker.repo().git(&["remote", "add", "origin", remote.path().to_str().unwrap()]);
    stage(&broker, "zwei");
    propose(&broker, json!({ "diff": staged(&broker, &[]) })).await;
    let gate = async |broker: &TestBroker, options: &[&str]| {
        let url = broker.url("");
        let line: Vec<_> = ["gate", "--url", &url].into_iter().chain(options.iter().copied()).collect();
        command_in(broker.home(), &broker.repo().path(), &line).finish().await
    };
    let no = gate(&broker, &[]).await;
    assert!(
        no.code == 1 && no.out.contains("R-1 is exactly this change, but it is still pending"),
        "{}{}",
        no.out,
        no.err
    );
    stage(&broker, "vier");
    approve_staged(&broker, &["-U10"]).await;
    let yes = gate(&broker, &["--json"]).await;
    assert!(yes.code == 0 && yes.out.contains("\"R-2\""), "{}{}", yes.out, yes.err);
    broker.terminate().await;
    assert_eq!(gate(&broker, &[]).await.code, 2);
    assert_eq!(gate(&broker, &["--fail-open"]).await.code, 0);
    assert_eq!(gate(&broker, &["--fail-closed"]).await.code, 1);
}
