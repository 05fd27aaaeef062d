//! From settings to a process that can be started: name, pass, prompt, argv, folder.

use super::{
    PoolSettings,
    one_shot::OneShot,
    reviewer_actor::{Job, Start},
};
use crate::reviewer_process::Plan;
use crate::reviewer_process::runtime::{self, Errand, Invocation, Launch, RuntimeSettings};
use crate::{
    Context,
    credentials::ReviewerCredential,
    workspace::{self, make},
};
use domain::persona::Persona;
use domain::{
    credential::Scope,
    pool::scaling::{Spawn, SpawnReason},
};
use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{FreeSeat, ProcessRow, ReviewerRow, ReviewerWork};
use uuid::Uuid;

/// How long, and how often in vain, a reviewer waits for work before it may end by itself.
const WAIT_SECONDS: &str = "25";
const EMPTY_WAITS: &str = "20";

/// A reviewer about to be started.
pub(super) struct Prepared {
    pub(super) start: Start,
    pub(super) credential: Arc<ReviewerCredential>,
}

/// The client's program as it was found, and run whatever PATH the reviewer itself gets.
pub(super) struct Program(PathBuf);

/// Prepares one that looks for work itself. What is wrong is told in words for the operator; nothing has been started
/// then.
pub(super) fn prepare(
    context: &Context,
    settings: &PoolSettings,
    spawn: &Spawn,
    taken: &BTreeSet<&str>,
) -> Result<Prepared, String> {
    let Hired { program, row, folder } = hire(context, settings, &settings.runtime, spawn, taken)?;
    let minutes = (context.settings.rules.lease.as_secs() / 60).max(1).to_string();
    let values = [
        ("reviewer_id", row.id.as_str()),
        ("project", spawn.project.as_deref().unwrap_or_default()),
        ("claim_minutes", &minutes),
        ("wait_seconds", WAIT_SECONDS),
        ("empty_waits", EMPTY_WAITS),
    ];
    let prompt =
        domain::reviewer_prompt::fill(&settings.prompt, &values).map_err(|error| format!("pool.prompt: {error}"))?;
    let (secret, credential) = context.credentials.issue(&row.id, Scope::Project(spawn.project.clone()));
    let errand = Errand::Agent { token: &secret, mcp_url: &settings.mcp_url };
    let launch = Launch { reviewer_id: &row.id, workspace: &folder, errand };
    let Invocation { argv, env } = invoke(&settings.runtime, &program, &launch);
    let job = Job::Agent { plan: Plan { argv, env, cwd: folder, prompt }, secret };
    Ok(Prepared { start: start(settings, row, job), credential })
}

/// Prepares one for a seat, likewise.
pub(super) fn prepare_one_shot(
    context: &Context,
    settings: &PoolSettings,
    persona: &Arc<Persona>,
    free: &FreeSeat,
    taken: &BTreeSet<&str>,
) -> Result<Prepared, String> {
    let runtime = settings.runtime.for_persona(persona);
    let spawn = Spawn { project: free.project.clone(), why: SpawnReason::OneShot };
    let Hired { program, mut row, folder } = hire(context, settings, &runtime, &spawn, taken)?;
    row.seat = Some(free.seat.clone());
    // The name is its own, as any reviewer's. Nobody is given the secret: what is done in its name, the broker does.
    let (_, credential) = context.credentials.issue(&row.id, Scope::Project(free.project.clone()));
    let (persona, review) = (Arc::clone(persona), free.id);
    let one_shot = OneShot { persona, review, runtime, program, folder, credential: Arc::clone(&credential) };
    Ok(Prepared { start: start(settings, row, Job::OneShot(Box::new(one_shot))), credential })
}

/// A reviewer with a name and a place, and nothing to do yet.
struct Hired {
    program: Program,
    row: ReviewerRow,
    folder: PathBuf,
}

fn hire(
    context: &Context,
    settings: &PoolSettings,
    runtime: &RuntimeSettings,
    spawn: &Spawn,
    taken: &BTreeSet<&str>,
) -> Result<Hired, String> {
    let path = std::env::var_os("PATH");
    let program = runtime.find_program(path.as_deref(), is_executable).map_err(|error| error.to_string())?;
    let name = free_name(runtime.runtime.as_str(), taken);
    let id = format!("{name}-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let folder = workspace(settings, &id)?;
    let row = ReviewerRow {
        id,
        name,
        runtime: runtime.runtime.to_string(),
        project: spawn.project.clone(),
        why: spawn.why,
        seat: None,
        // known once it runs
        process: ProcessRow { pid: 0, started: 0, boot_id: String::new() },
        spawned_at: context.clock.now().at,
        end: None,
        work: ReviewerWork::default(),
    };
    Ok(Hired { program: Program(program), row, folder })
}

fn start(settings: &PoolSettings, row: ReviewerRow, job: Job) -> Start {
    let log = settings.folder.join(format!("{}.log", row.id));
    Start { row, shim: settings.shim.clone(), log, usage: Arc::default(), job }
}

/// What to run, and in which environment.
pub(super) fn invoke(settings: &RuntimeSettings, program: &Program, launch: &Launch<'_>) -> Invocation {
    let mut invocation = runtime::invocation(settings, launch, |name: &str| std::env::var(name).ok());
    if let (None, Some(first)) = (&settings.wsl, invocation.argv.first_mut()) {
        *first = program.0.to_string_lossy().into_owned();
    }
    invocation
}

/// The lowest number that no live reviewer has: `codex-r1`.
fn free_name(runtime: &str, taken: &BTreeSet<&str>) -> String {
    let mut names = (1_u32..).map(|number| format!("{runtime}-r{number}"));
    names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// Where the reviewer is started: in a folder of its own, in which it finds a copy of what it claims, or in the
/// one that the operator has set for all.
fn workspace(settings: &PoolSettings, id: &str) -> Result<PathBuf, String> {
    make(&settings.folder).map_err(|error| format!("{}: {error}", settings.folder.display()))?;
    match &settings.workspace {
        Some(folder) if folder.is_dir() => Ok(folder.clone()),
        Some(folder) => Err(format!("{}: pool.workspace is not there", folder.display())),
        None => {
            let folder = workspace::home(&settings.folder, id);
            make(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            Ok(folder)
        }
    }
}

/// Logs of reviewers that are kept, each with the one before it.
const KEPT_LOGS: usize = 100;

/// Removes the oldest logs. Files block, so not here.
pub(super) fn prune(folder: PathBuf) {
    tokio::task::spawn_blocking(move || {
        let files = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let mut logs: Vec<_> = files
            .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
            .filter(|(_, path)| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        logs.sort_unstable_by(|a, b| b.cmp(a));
        for (_, log) in logs.into_iter().skip(KEPT_LOGS) {
            let _ = std::fs::remove_file(log.with_extension("log.1"));
            let _ = std::fs::remove_file(log);
        }
    });
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
