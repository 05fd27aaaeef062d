//! Reviewers that leave processes behind. A mark in the environment finds them.

use super::{broker::TIMEOUT, pool::environments};
use actors::reviewer_process::{Process, ProcessExit, ProcessSpec, runtime::REVIEWER_ID_VARIABLE};
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};
use tokio::io::AsyncReadExt as _;
use uuid::Uuid;

pub(crate) fn shim() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_countersign"))
}

/// A program with only a mark and `PATH` in its environment.
pub(crate) fn plan(argv: &[&str]) -> (String, ProcessSpec) {
    let mark = format!("test-{}", Uuid::new_v4());
    let env = [(REVIEWER_ID_VARIABLE, mark.as_str()), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
    let plan = ProcessSpec {
        argv: argv.iter().map(|part| (*part).to_owned()).collect(),
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        cwd: std::env::temp_dir(),
        prompt: "review this".to_owned(),
        sandbox: None,
    };
    (mark, plan)
}

pub(crate) fn script(script: &str) -> (String, ProcessSpec) {
    plan(&["sh", "-c", script])
}

pub(crate) async fn begun(plan: &ProcessSpec) -> Process {
    let mut process = Process::start(shim()).unwrap();
    process.launch(plan).await.unwrap();
    process
}

/// Runs to the end: exit status, stdout and stderr.
pub(crate) async fn run(plan: &ProcessSpec) -> (ProcessExit, String, String) {
    let mut process = begun(plan).await;
    let (mut stdout, mut stderr) = process.take_output().unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    let reading =
        async { tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err), process.wait()) };
    let (_, _, exit) = tokio::time::timeout(TIMEOUT, reading).await.expect("it ends");
    (exit, out, err)
}

pub(crate) async fn ended(process: &mut Process) -> ProcessExit {
    tokio::time::timeout(TIMEOUT, process.wait()).await.expect("it ends")
}

/// The number of live processes with this mark. Zombies have no environment and do not count.
pub(crate) fn living(mark: &str) -> usize {
    marked(mark).count()
}

/// The value of a variable in the environment of a live process with this mark.
pub(crate) fn variable(mark: &str, name: &str) -> Option<String> {
    let value = |one: &String| Some(one.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    marked(mark).find_map(|environment| environment.iter().find_map(value))
}

fn marked(mark: &str) -> impl Iterator<Item = BTreeSet<String>> {
    let mark = format!("{REVIEWER_ID_VARIABLE}={mark}");
    environments().map(|(_, environment)| environment).filter(move |environment| environment.contains(&mark))
}

pub(crate) async fn until_living(mark: &str, at_least: usize) {
    let enough = async {
        while living(mark) < at_least {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, enough).await.expect("the reviewer starts what it has to");
}

/// Waits until no process with this mark is left, at most for `limit`.
pub(crate) async fn until_gone(mark: &str, limit: Duration, what: &str) {
    let began = Instant::now();
    while living(mark) > 0 {
        assert!(began.elapsed() < limit, "{what}: {} left after {limit:?}", living(mark));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("{what}: gone after {:?}", began.elapsed());
}
