//! No process of a reviewer is left, however the reviewer, its shim or the broker ends.
#![cfg(target_os = "linux")]

use crate::support::{
    misbehaving_reviewer::{begun, ended, living, plan, run, script, shim, until_gone, until_living},
    wait_until::wait_until,
};
use actors::reviewer_process::{Process, ProcessExit, orphans::sweep, runtime::REVIEWER_ID_VARIABLE};
use std::{path::Path, process::Stdio, time::Duration};
use tokio::{io::AsyncReadExt as _, process::Command};

/// The promised time limit.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Name, and the number of processes including the reviewer itself.
const REVIEWERS: [(&str, usize, &str); 6] = [
    ("one that forks", 3, "sleep 1000 & sleep 1000 & wait"),
    ("one with a child in another session", 2, "setsid sleep 1000 & exec sleep 1000"),
    ("one that forks twice", 4, "(setsid sh -c 'sleep 1000 & sleep 1000; :' &) ; exec sleep 1000"),
    ("one that does not hear", 3, "trap '' TERM; (setsid sleep 1000 &) ; sleep 1000; sleep 1000"),
    ("one that floods", 1, r"exec tr '\0' x < /dev/zero"),
    ("one that forks on and on", 4, "sleep 1000 & while :; do (setsid sleep 0.05 &) ; sleep 0.005; done"),
];

#[tokio::test]
async fn no_process_is_left_after_the_shim_loses_its_broker() {
    for (name, processes, text) in REVIEWERS {
        let (mark, plan) = script(text);
        let mut process = begun(&plan).await;
        until_living(&mark, processes).await;
        process.kill();
        until_gone(&mark, AT_ONCE, name).await;
        assert_eq!(ended(&mut process).await, ProcessExit::Signal(9), "{name}");
    }
}

#[tokio::test]
async fn no_process_is_left_after_a_stop() {
    let grace = Duration::from_millis(200);
    for (name, processes, text) in REVIEWERS {
        let (mark, plan) = script(text);
        let mut process = begun(&plan).await;
        until_living(&mark, processes).await;
        process.stop(grace).await;
        until_gone(&mark, grace + AT_ONCE, name).await;
        let signal = if name == "one that does not hear" { 9 } else { 15 };
        assert_eq!(ended(&mut process).await, ProcessExit::Signal(signal), "{name}");
    }
}

#[tokio::test]
async fn no_process_is_left_after_the_broker_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let order = folder.path().join("plan");
    for (name, processes, text) in REVIEWERS {
        let (mark, plan) = script(text);
        std::fs::write(&order, serde_json::to_string(&plan).unwrap() + "\n").unwrap();
        // Stands in for a broker: it holds the other end of the shim's stdin.
        let mut holder = Command::new("sh")
            .args(["-c", "cat \"$0\"; exec sleep 1000"])
            .arg(&order)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let life_line: Stdio = holder.stdout.take().unwrap().try_into().unwrap();
        let mut shim = Command::new(shim()).arg("shim").stdin(life_line).stdout(Stdio::piped()).spawn().unwrap();
        until_living(&mark, processes).await;
        holder.kill().await.unwrap();
        until_gone(&mark, AT_ONCE, name).await;
        assert_eq!(shim.wait().await.unwrap().code(), Some(137), "{name}");
    }
}

#[tokio::test]
async fn orphans_of_a_killed_shim_are_swept() {
    for (name, processes, text) in REVIEWERS {
        let (mark, plan) = script(text);
        let mut process = begun(&plan).await;
        until_living(&mark, processes).await;
        signal(process.identity().pid, "KILL").await;
        let ProcessExit::Lost(words) = ended(&mut process).await else { panic!("{name}: not lost") };
        assert_eq!(words, "lost: its shim was killed by SIGKILL");
        sweep(vec![(format!("{REVIEWER_ID_VARIABLE}={mark}"), process.identity().clone())]).await;
        until_gone(&mark, AT_ONCE, name).await;
    }
}

#[tokio::test]
async fn a_reviewer_dies_with_its_shim_without_any_sweep() {
    let (mark, plan) = script("exec sleep 1000");
    let process = begun(&plan).await;
    until_living(&mark, 1).await;
    signal(process.identity().pid, "KILL").await;
    until_gone(&mark, AT_ONCE, "by the parent-death signal").await;
}

#[tokio::test]
async fn a_dropped_process_is_killed_and_reaped() {
    let (mark, plan) = script("(setsid sleep 1000 &) ; exec sleep 1000");
    let process = begun(&plan).await;
    until_living(&mark, 2).await;
    let folder = format!("/proc/{}", process.identity().pid);
    drop(process);
    until_gone(&mark, AT_ONCE, "dropped").await;
    wait_until("the shim is reaped", || async { (!Path::new(&folder).exists()).then_some(()) }).await;
}

#[tokio::test]
async fn processes_left_by_a_reviewer_are_killed() {
    let (mark, plan) = script("setsid sleep 1000 >/dev/null 2>&1 & exit 0");
    assert_eq!(run(&plan).await.0, ProcessExit::Code(0));
    assert_eq!(living(&mark), 0);
}

#[tokio::test]
async fn the_exit_status_of_a_reviewer_is_forwarded() {
    for (text, exit) in [
        ("exit 0", ProcessExit::Code(0)),
        ("exit 7", ProcessExit::Code(7)),
        ("exit 255", ProcessExit::Code(255)),
        ("kill -9 $$", ProcessExit::Signal(9)),
        ("kill -SEGV $$", ProcessExit::Signal(11)),
    ] {
        assert_eq!(run(&script(text).1).await.0, exit, "{text}");
    }
}

#[tokio::test]
async fn a_stopped_reviewer_can_exit_by_itself() {
    let (mark, plan) = script("trap 'exit 5' TERM; sleep 1000 & wait");
    let mut process = begun(&plan).await;
    until_living(&mark, 2).await;
    process.stop(Duration::from_secs(50)).await;
    assert_eq!(ended(&mut process).await, ProcessExit::Code(5));

    // also if the shim is stopped
    let mut process = begun(&plan).await;
    until_living(&mark, 2).await;
    signal(process.identity().pid, "TERM").await;
    assert_eq!(ended(&mut process).await, ProcessExit::Code(5));
}

#[tokio::test]
async fn a_process_can_be_stopped_before_it_starts() {
    let mut process = Process::start(shim()).unwrap();
    process.kill();
    assert_eq!(ended(&mut process).await, ProcessExit::Signal(9));
    assert!(process.launch(&plan(&["true"]).1).await.is_err());

    let mut process = Process::start(shim()).unwrap();
    process.stop(Duration::from_secs(50)).await;
    assert_eq!(ended(&mut process).await, ProcessExit::Signal(15));
}

#[tokio::test]
async fn a_shim_that_does_not_respond_is_killed() {
    let (mark, plan) = script("exec sleep 1000");
    let mut process = begun(&plan).await;
    until_living(&mark, 1).await;
    signal(process.identity().pid, "STOP").await;
    process.kill();
    assert!(matches!(ended(&mut process).await, ProcessExit::Lost(_)));
    until_gone(&mark, AT_ONCE, "given up").await;
}

#[tokio::test]
async fn a_program_that_cannot_run_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a program").unwrap();

    let (exit, _, words) = run(&plan(&["no-such-reviewer", "exec"]).1).await;
    assert_eq!(exit, ProcessExit::Code(127));
    assert_eq!(words, "countersign: cannot run no-such-reviewer: No such file or directory (os error 2)\n");

    let (exit, _, words) = run(&plan(&[file.to_str().unwrap()]).1).await;
    assert_eq!(exit, ProcessExit::Code(126));
    assert!(words.ends_with("Permission denied (os error 13)\n"), "{words}");

    let (_, mut plan) = plan(&["true"]);
    plan.cwd = folder.path().join("gone");
    let (exit, _, words) = run(&plan).await;
    assert_eq!(exit, ProcessExit::Code(126));
    assert!(words.ends_with("gone: no such folder\n"), "{words}");
}

#[tokio::test]
async fn a_reviewer_gets_the_environment_of_its_plan_and_no_more() {
    let (_, mut plan) = plan(&["env", "-0"]);
    plan.env.push(("ODD".to_owned(), "a \"b\"\n$c = 'd' é".to_owned()));
    plan.env.push(("EMPTY".to_owned(), String::new()));
    let (exit, out, err) = run(&plan).await;
    assert_eq!((exit, err.as_str()), (ProcessExit::Code(0), ""));
    let mut expected: Vec<_> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut found: Vec<_> = out.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_reviewer_runs_in_its_folder_with_its_arguments_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let odd = "$(touch owned); `id` | \"x\" 'y' \\ * --help";
    let (_, mut plan) = plan(&["sh", "-c", "pwd; printf %s \"$1\"", "--", odd]);
    plan.cwd = folder.path().to_owned();
    let (_, out, _) = run(&plan).await;
    assert_eq!(out, format!("{}\n{odd}", folder.path().canonicalize().unwrap().display()));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test]
async fn the_prompt_is_complete_and_stdin_closes_after_it() {
    let (_, mut plan) = plan(&["cat"]);
    plan.prompt = "línea \"quoted\" \\ \n\n\u{1b}[0m\0".repeat(50_000);
    let (exit, out, _) = run(&plan).await;
    assert_eq!(exit, ProcessExit::Code(0));
    assert!(out == plan.prompt);

    // A reviewer that does not read its prompt may still respond.
    plan.argv = ["sh", "-c", "exit 3"].map(str::to_owned).to_vec();
    assert_eq!(run(&plan).await.0, ProcessExit::Code(3));
}

#[tokio::test]
async fn a_shim_without_a_broker_says_so() {
    let mut shim = Command::new(shim()).arg("shim").stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    shim.stderr.take().unwrap().read_to_string(&mut message).await.unwrap();
    assert_eq!(message, "countersign: no reviewer: only the broker runs this command: its stdin must be a pipe\n");
    assert_eq!(shim.wait().await.unwrap().code(), Some(125));
}

async fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().await.unwrap().success());
}
