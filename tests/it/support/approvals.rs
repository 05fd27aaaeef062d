//! Reviews of real changes, and git with the hooks installed.

use crate::support::{
    broker::TestBroker,
    client::{id, proposal_with},
    command::CommandOutput,
    reviews::verdict,
};
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt as _, path::Path};
use testkit::git_command;

/// Submits with these arguments: the review's number, such as `R-1`.
pub(crate) async fn propose(broker: &TestBroker, more: Value) -> String {
    let answer = broker.client().call("create_review", proposal_with("a change", more)).await;
    broker.client().status(&id(&answer)).await["number"].as_str().unwrap().to_owned()
}

/// Claims it as `ada` and votes.
pub(crate) async fn vote(broker: &TestBroker, review: &str, word: &str) {
    broker.client().claim(review, "ada").await;
    broker.client().call("submit_verdict", verdict(review, "ada", word)).await;
}

pub(crate) async fn approve(broker: &TestBroker, more: Value) -> String {
    let review = propose(broker, more).await;
    vote(broker, &review, "approved").await;
    review
}

/// Approves the staged changes, with these options for `git diff`.
pub(crate) async fn approve_staged(broker: &TestBroker, options: &[&str]) -> String {
    approve(broker, json!({ "diff": staged(broker, options) })).await
}

pub(crate) fn staged(broker: &TestBroker, options: &[&str]) -> String {
    broker.repo().git(&[&["diff", "--cached"], options].concat()) + "\n"
}

/// Writes `word` into the second line of `greeting.txt` and stages everything.
pub(crate) fn stage(broker: &TestBroker, word: &str) {
    broker.repo().write("greeting.txt", format!("one\n{word}\nthree\n"));
    broker.repo().git(&["add", "--all"]);
}

/// A git command that may fail.
pub(crate) fn git(dir: &Path, args: &[&str]) -> CommandOutput {
    let output = git_command(dir).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Installs a git hook that calls `countersign hook`.
pub(crate) fn install(broker: &TestBroker, hook: &str, variables: &str) {
    let file = broker.repo().path().join(".git/hooks").join(hook);
    let (binary, home, data) = (env!("CARGO_BIN_EXE_countersign"), broker.home().display(), broker.data_dir());
    let data = data.display();
    let line = format!("#!/bin/sh\nHOME='{home}' {variables} exec '{binary}' hook {hook} --data-dir '{data}' \"$@\"\n");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, line).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}
