//! From settings to a process that can be started: name, pass, prompt, argv, folder.

use super::{
    PoolSettings,
    process::Plan,
    prompt,
    reviewer::Start,
    runtime::{self, Launch},
};
use crate::{
    Context,
    passes::Pass,
    workspace::{self, make},
};
use domain::{authority::Scope, scaling::Spawn};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};
use store::{ProcessRow, ReviewerRow, Work};
use uuid::Uuid;

/// How long, and how often in vain, a reviewer waits for work before it may end by itself.
const WAIT_SECONDS: &str = "25";
const EMPTY_WAITS: &str = "20";

/// A reviewer about to be started.
pub(super) struct Prepared {
    pub(super) start: Start,
    pub(super) pass: Arc<Pass>,
}

/// Prepares one. What is wrong is told in words for the operator; nothing has been started then.
pub(super) fn prepare(
    context: &Context,
    settings: &PoolSettings,
    spawn: &Spawn,
    taken: &BTreeSet<&str>,
) -> Result<Prepared, String> {
    let path = std::env::var_os("PATH");
    let program = runtime::find_program(&settings.runtime, path.as_deref()).map_err(|error| error.to_string())?;
    let name = free_name(settings.runtime.runtime.as_str(), taken);
    let id = format!("{name}-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let minutes = (context.settings.rules.lease.as_secs() / 60).max(1).to_string();
    let values = [
        ("reviewer_id", id.as_str()),
        ("project", spawn.project.as_deref().unwrap_or_default()),
        ("claim_minutes", &minutes),
        ("wait_seconds", WAIT_SECONDS),
        ("empty_waits", EMPTY_WAITS),
    ];
    let prompt = prompt::fill(&settings.prompt, &values).map_err(|error| format!("pool.prompt: {error}"))?;
    let folder = workspace(settings, &id)?;
    let (secret, pass) = context.passes.issue(&id, Scope::Project(spawn.project.clone()));
    let launch = Launch { reviewer_id: &id, token: &secret, mcp_url: &settings.mcp_url, workspace: &folder };
    let own_env = |name: &str| std::env::var(name).ok();
    let runtime::Invocation { mut argv, env } = runtime::invocation(&settings.runtime, &launch, own_env);
    // What was found is run, whatever PATH the reviewer itself gets.
    if let (None, Some(first)) = (&settings.runtime.wsl, argv.first_mut()) {
        *first = program.to_string_lossy().into_owned();
    }
    let row = ReviewerRow {
        id: id.clone(),
        name,
        runtime: settings.runtime.runtime.to_string(),
        project: spawn.project.clone(),
        why: spawn.why,
        // known once it runs
        process: ProcessRow { pid: 0, started: 0, boot_id: String::new() },
        spawned_at: context.clock.now().at,
        end: None,
        work: Work::default(),
    };
    let start = Start {
        row,
        plan: Plan { argv, env, cwd: folder, prompt },
        secret,
        shim: settings.shim.clone(),
        log: settings.folder.join(format!("{id}.log")),
        usage: Arc::default(),
    };
    Ok(Prepared { start, pass })
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
