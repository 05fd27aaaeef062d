#![cfg(target_os = "linux")]

use super::*;
use std::process::Stdio;
use tokio::process::{Child, Command};

fn sleeper(script: &str, id: Option<&str>) -> Child {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(id) = id {
        command.env(REVIEWER_ID_VARIABLE, id);
    }
    command.spawn().unwrap()
}

fn identity(child: &Child) -> ProcessIdentity {
    let pid = child.id().unwrap();
    let entry = procfs::find(Pid::from_raw(pid.cast_signed())).unwrap();
    ProcessIdentity { pid, start_time: entry.start_time, boot_id: procfs::boot_id() }
}

fn count_live(id: &str) -> usize {
    let variables = [variable(id)];
    procfs::all().iter().filter(|entry| !entry.dead && procfs::has_variable(entry.pid, &variables)).count()
}

fn variable(id: &str) -> String {
    format!("{REVIEWER_ID_VARIABLE}={id}")
}

fn unique() -> String {
    uuid::Uuid::new_v4().to_string()
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let waiting = async {
        while !done() {
            sleep(RETRY_DELAY).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting)
        .await
        .unwrap_or_else(|_| panic!("timed out waiting until {what}"));
}

fn elsewhere() -> ProcessIdentity {
    ProcessIdentity { pid: 1, start_time: 1, boot_id: "another boot".to_owned() }
}

#[tokio::test]
async fn a_process_with_the_variable_is_killed_with_its_descendants() {
    let (id, other) = (unique(), unique());
    // One in its own session, and one without the variable below one that has it.
    let script = "setsid sleep 1000 & env -i sleep 1000 & exec sleep 1000";
    let mut marked = sleeper(script, Some(&id));
    let mut foreign = sleeper("exec sleep 1000", Some(&other));
    let root = Pid::from_raw(marked.id().unwrap().cast_signed());
    until("three run below", || procfs::descendants(&procfs::all(), &[root], None).len() == 2).await;
    let below = procfs::descendants(&procfs::all(), &[root], None);

    assert_eq!(sweep(vec![(variable(&id), elsewhere())]).await, 3);

    assert!(marked.wait().await.unwrap().code().is_none());
    let alive = |entry: &Entry| procfs::find(entry.pid).is_some_and(|now| key(&now) == key(entry) && !now.dead);
    assert!(!below.iter().any(alive));
    assert_eq!((count_live(&id), count_live(&other)), (0, 1));
    assert!(foreign.try_wait().unwrap().is_none());
    assert_eq!(sweep(vec![(variable(&id), elsewhere())]).await, 0);
}

#[tokio::test]
async fn a_shim_is_killed_by_its_identity_with_its_descendants() {
    let mut shim = sleeper("sleep 1000 & sleep 1000 & wait", None);
    let known = identity(&shim);
    let root = Pid::from_raw(shim.id().unwrap().cast_signed());
    until("two run below", || procfs::descendants(&procfs::all(), &[root], None).len() == 2).await;
    assert_eq!(sweep(vec![(unique(), known)]).await, 3);
    assert!(shim.wait().await.unwrap().code().is_none());
}

#[tokio::test]
async fn a_pid_that_belongs_to_another_process_now_is_left_alone() {
    let mut other = sleeper("exec sleep 1000", None);
    let known = identity(&other);
    let earlier = ProcessIdentity { start_time: known.start_time - 1, ..known.clone() };
    let before_boot = ProcessIdentity { boot_id: unique(), ..known };
    assert_eq!(sweep(vec![(unique(), earlier), (unique(), before_boot)]).await, 0);
    assert!(other.try_wait().unwrap().is_none());
}

#[tokio::test]
async fn a_sweep_without_reviewers_finds_nothing() {
    assert_eq!(sweep(Vec::new()).await, 0);
}
