//! The pool of a running broker, with shell scripts as reviewers.

use super::{broker::TestBroker, client::TestClient, wait_until::wait_until};
use actors::reviewer_process::{
    runtime::REVIEWER_ID_VARIABLE,
    runtime::{MCP_URL_VARIABLE, TOKEN_VARIABLE},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Settings for a pool whose reviewers run this script.
pub(crate) fn pool_of(script: &str, more: &str) -> String {
    pool_running(&["sh", "-c", script], more)
}

/// Without a sandbox: such scripts write into the folder of their test.
pub(crate) fn pool_running(argv: &[&str], more: &str) -> String {
    let head = "[pool]\nenabled = true\nruntime = \"command\"\nsandbox = \"off\"";
    format!("{head}\ncommand = {}\n{more}\n", json!(argv))
}

impl TestBroker {
    pub(crate) async fn pool(&self) -> Value {
        self.client().call("list_reviewers", json!({})).await
    }

    /// Waits until the pool fits.
    pub(crate) async fn until_pool(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_until(what, async || Some(self.pool().await).filter(&fits)).await
    }
}

/// The ids in one list of a pool: `reviewers` or `ended`.
pub(crate) fn ids(pool: &Value, list: &str) -> BTreeSet<String> {
    pool[list].as_array().unwrap().iter().map(|row| row["reviewer_id"].as_str().unwrap().to_owned()).collect()
}

/// A client with the credential of this live reviewer of a broker with this home.
pub(crate) fn in_the_name_of(reviewer: &str, home: &Path) -> TestClient {
    let marks = [format!("{REVIEWER_ID_VARIABLE}={reviewer}"), format!("HOME={}", home.display())];
    let all = environments().map(|(_, environment)| environment);
    let is_it = |environment: &BTreeSet<String>| marks.iter().all(|mark| environment.contains(mark));
    let environment = all.into_iter().find(is_it).expect("it lives");
    let value = |name: &str| {
        let value = environment.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
        value.expect("every reviewer has the variable").to_owned()
    };
    TestClient::new(value(MCP_URL_VARIABLE)).with_token(&value(TOKEN_VARIABLE))
}

/// A process, identified by pid and start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    started: u64,
}

impl Process {
    /// A zombie is not alive.
    pub(crate) fn lives(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.process == *self && !stat.dead)
    }

    fn name(&self) -> String {
        let command = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        format!("{} {}", self.pid, String::from_utf8_lossy(&command).replace('\0', " "))
    }
}

/// This process and all its descendants.
pub(crate) fn tree(root: u32) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
    for stat in pids().filter_map(stat) {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut found: Vec<_> = stat(root).map(|stat| stat.process).into_iter().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|process| process.pid) {
        found.extend(children.remove(&parent).into_iter().flatten().map(|stat| stat.process));
        at += 1;
    }
    found
}

/// Waits until none of them is left, nor a process with the mark of one of these reviewers, at most for
/// `limit` since `began`.
pub(crate) async fn until_gone(processes: &[Process], reviewers: &BTreeSet<String>, began: Instant, limit: Duration) {
    loop {
        let mut left: Vec<_> = processes.iter().filter(|process| process.lives()).map(Process::name).collect();
        left.extend(marked(reviewers).iter().map(Process::name));
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < limit, "left after {limit:?}: {left:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// All processes with the mark of one of these reviewers.
pub(crate) fn marked(reviewers: &BTreeSet<String>) -> Vec<Process> {
    let marks: BTreeSet<_> = reviewers.iter().map(|id| format!("{REVIEWER_ID_VARIABLE}={id}")).collect();
    let ours = environments().filter(|(_, environment)| !marks.is_disjoint(environment));
    ours.filter_map(|(pid, _)| Some(stat(pid)?.process)).collect()
}

/// The reviewers with a live process whose broker has this home.
pub(crate) fn living_in(home: &Path) -> BTreeSet<String> {
    let home = format!("HOME={}", home.display());
    let ours = environments().filter(|(_, environment)| environment.contains(&home));
    let id = |one: &String| one.strip_prefix(REVIEWER_ID_VARIABLE)?.strip_prefix('=').map(str::to_owned);
    ours.filter_map(|(_, environment)| environment.iter().find_map(id)).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Only of live processes that this user can read.
pub(crate) fn environments() -> impl Iterator<Item = (u32, BTreeSet<String>)> {
    pids().filter_map(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((pid, environment.split(|byte| *byte == 0).map(|one| String::from_utf8_lossy(one).into_owned()).collect()))
    })
}

struct Stat {
    process: Process,
    parent: u32,
    dead: bool,
}

/// See proc(5): state, parent and start time are the 3rd, 4th and 22nd field; the 2nd is a name in parentheses.
fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let process = Process { pid, started: fields.get(19)?.parse().ok()? };
    Some(Stat { process, parent: fields.get(1)?.parse().ok()?, dead: matches!(*fields.first()?, "Z" | "X") })
}
