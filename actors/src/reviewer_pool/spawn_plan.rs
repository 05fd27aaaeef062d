//! Prepares the start of one new reviewer process: its name, credential, prompt, command line and folder.

use super::{
    PoolSettings,
    assigned_seat::AssignedSeat,
    dedicated::{Dedicated, session_lost},
    exited_reviewers,
    one_shot::OneShot,
    reviewer_actor::Assignment,
    reviewer_registry::{Progress, SharedProgress},
};
use crate::{
    Shared,
    credentials::ReviewerCredential,
    reviewer_process::{
        confinement::Confinement,
        runtime::{Launch, RunMode},
        session_home,
        token_usage::Usage,
    },
    reviewer_workspaces,
};
use domain::{
    credential::Scope,
    persona::Persona,
    reviewer_pool::{
        SessionState, dedicated_name,
        scaling::{Spawn, SpawnReason},
    },
    reviewer_prompt,
    runtime::{Runtime, RuntimeSettings},
};
use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{FreeSeat, ProcessIdentity, ReviewerRow, ReviewerWork};
use uuid::Uuid;

/// How long one wait of an agent for work takes, and after how many empty waits in a row it exits.
const WAIT_SECONDS: &str = "25";
const EMPTY_WAITS: &str = "20";

/// How many reviewer logs are kept, each with its previous file.
const MAX_LOGS: usize = 100;

/// How many bytes they may have together. The newest log is always kept.
const MAX_LOG_BYTES: u64 = 1 << 30;

/// Everything needed to start a reviewer.
pub(crate) struct SpawnPlan {
    pub(crate) row: ReviewerRow,
    pub(crate) progress: SharedProgress,
    pub(crate) credential: Arc<ReviewerCredential>,
    pub(crate) assignment: Assignment,
}

impl SpawnPlan {
    /// Plans a reviewer that claims reviews by itself. `taken` are the names of live reviewers. `Err` is a message for
    /// the operator.
    pub(crate) fn agent(shared: &Shared, spawn: &Spawn, taken: &BTreeSet<&str>) -> Result<Self, String> {
        let settings = &shared.settings.pool;
        let persona = spawn.persona.as_ref().and_then(|name| shared.settings.personas.get(name));
        let runtime = persona.map_or_else(|| settings.runtime.clone(), |persona| settings.runtime.for_persona(persona));
        let (row, program, folder) = new_reviewer(shared, &runtime, spawn, taken)?;
        let minutes = (shared.settings.rules.lease.as_secs() / 60).max(1).to_string();
        let values = [
            ("reviewer_id", row.id.as_str()),
            ("project", spawn.project.as_deref().unwrap_or_default()),
            ("claim_minutes", &minutes),
            ("wait_seconds", WAIT_SECONDS),
            ("empty_waits", EMPTY_WAITS),
        ];
        let prompt =
            reviewer_prompt::fill(&settings.prompt, &values).map_err(|error| format!("pool.prompt: {error}"))?;
        let scope = Scope::Project(spawn.project.clone());
        let (secret, credential) = shared.credentials.issue_bound(&row.id, scope, spawn.persona.clone());
        let launch = Launch {
            reviewer_id: &row.id,
            program: Some(&program),
            workspace: &folder,
            mode: RunMode::Agent { token: &secret, mcp_url: &settings.mcp_url },
            prompt,
        };
        let spec = launch.process_spec(&runtime, |name: &str| std::env::var(name).ok());
        let spec =
            settings.confine(spec, &runtime, &row).inspect_err(|_| exited_reviewers::discard(shared, &row.id))?;
        Ok(Self {
            row,
            progress: SharedProgress::default(),
            credential,
            assignment: Assignment::Agent { spec: Box::new(spec), secret },
        })
    }

    /// Plans a reviewer for one seat.
    pub(crate) fn one_shot(
        shared: &Shared,
        persona: &Arc<Persona>,
        free: &FreeSeat,
        taken: &BTreeSet<&str>,
    ) -> Result<Self, String> {
        let runtime = shared.settings.pool.runtime.for_persona(persona);
        let spawn = Spawn { project: free.project.clone(), persona: None, why: SpawnReason::OneShot };
        let (mut row, program, folder) = new_reviewer(shared, &runtime, &spawn, taken)?;
        row.seat = Some(free.seat.clone());
        // The credential reserves the name. Its secret is dropped, because the broker itself acts for the reviewer.
        let (_, credential) = shared.credentials.issue(&row.id, Scope::Project(free.project.clone()));
        let (persona, review) = (Arc::clone(persona), free.id);
        let seat = AssignedSeat { persona, review, runtime, program, folder, credential: Arc::clone(&credential) };
        let assignment = Assignment::OneShot(Box::new(OneShot { seat }));
        Ok(Self { row, progress: SharedProgress::default(), credential, assignment })
    }
}

impl SpawnPlan {
    /// Plans the next turn of the dedicated reviewer of a seat. `earlier` is its row, if it has had a turn before.
    pub(crate) fn dedicated(
        shared: &Shared,
        persona: &Arc<Persona>,
        free: &FreeSeat,
        earlier: Option<ReviewerRow>,
    ) -> Result<Self, String> {
        let runtime = shared.settings.pool.runtime.for_persona(persona);
        let program = find_program(&runtime)?;
        let id = dedicated_name(&persona.name, free.seat.review);
        let folder = create_folder(&shared.settings.pool, &id)?;
        let home = session_home::path(&shared.settings.pool.work_dir, &id);
        let spawn = Spawn { project: free.project.clone(), persona: None, why: SpawnReason::Dedicated };
        let new_row = || new_row(shared, id.clone(), id.clone(), &runtime, &spawn);
        // Another client cannot continue the session.
        let known = earlier.filter(|row| row.seat.as_ref() == Some(&free.seat));
        let is_same_client = known.as_ref().is_none_or(|row| row.runtime == runtime.runtime.as_str());
        let mut row = ReviewerRow {
            seat: Some(free.seat.clone()),
            runtime: runtime.runtime.to_string(),
            process: ProcessIdentity::default(),
            end: None,
            ..known.unwrap_or_else(new_row)
        };
        let session = row.session.get_or_insert_default();
        (session.state, session.failure) = (SessionState::Open, None);
        session.turns += 1;
        let earlier = match (session.resumable, is_same_client && home.is_dir()) {
            (true, false) => {
                (session.id, session.resumable) = (None, false);
                session.fresh_starts += 1;
                let why = if is_same_client { "its folder is gone" } else { "another client is configured" };
                Some(session_lost(why))
            }
            _ if session.cut_short => Some("it was ended before it was over".to_owned()),
            _ => None,
        };
        session.cut_short = true;
        // Only these clients report sums over the session.
        let totals = (runtime.runtime != Runtime::Command).then_some(session.reported);
        let progress = Progress { usage: Usage::continued(&row.work, totals), session: row.session.clone() };
        let scope = Scope::Review { project: free.project.clone(), number: free.seat.review };
        let (secret, credential) = shared.credentials.issue(&row.id, scope);
        let (persona, review) = (Arc::clone(persona), free.id);
        let seat = AssignedSeat { persona, review, runtime, program, folder, credential: Arc::clone(&credential) };
        let assignment = Assignment::Dedicated(Box::new(Dedicated { seat, secret, home, earlier }));
        Ok(Self { row, progress: SharedProgress::new(progress), credential, assignment })
    }
}

fn find_program(runtime: &RuntimeSettings) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH");
    runtime.find_program(path.as_deref(), is_executable).map_err(|error| error.to_string())
}

/// The row of a new reviewer, the program to run, and its folder.
fn new_reviewer(
    shared: &Shared,
    runtime: &RuntimeSettings,
    spawn: &Spawn,
    taken: &BTreeSet<&str>,
) -> Result<(ReviewerRow, PathBuf, PathBuf), String> {
    let program = find_program(runtime)?;
    let name = free_name(runtime.runtime.as_str(), taken);
    let id = format!("{name}-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let folder = create_folder(&shared.settings.pool, &id)?;
    Ok((new_row(shared, id, name, runtime, spawn), program, folder))
}

fn new_row(shared: &Shared, id: String, name: String, runtime: &RuntimeSettings, spawn: &Spawn) -> ReviewerRow {
    ReviewerRow {
        id,
        name,
        runtime: runtime.runtime.to_string(),
        project: spawn.project.clone(),
        why: spawn.why,
        spawned_by: None,
        bound_to: spawn.persona.clone(),
        seat: None,
        session: None,
        // Set when the shim runs.
        process: ProcessIdentity::default(),
        spawned_at: shared.clock.now().at,
        end: None,
        work: ReviewerWork::default(),
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The lowest number that no live reviewer has: `codex-r1`.
fn free_name(runtime: &str, taken: &BTreeSet<&str>) -> String {
    let mut names = (1_u32..).map(|number| format!("{runtime}-r{number}"));
    names.find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// The folder a reviewer is started in: the configured one for all reviewers, or its own, which will hold a copy of the
/// project for each claim.
fn create_folder(settings: &PoolSettings, id: &str) -> Result<PathBuf, String> {
    if let Confinement::Impossible(why) = settings.confinement {
        return Err(format!("pool.sandbox is \"required\", but {why}"));
    }
    let create =
        |folder: &Path| reviewer_workspaces::create(folder).map_err(|error| format!("{}: {error}", folder.display()));
    create(&settings.logs)?;
    create(&settings.work_dir)?;
    match &settings.workspace {
        Some(folder) if folder.is_dir() => Ok(folder.clone()),
        Some(folder) => Err(format!("pool.workspace: no folder {}", folder.display())),
        None => {
            let folder = reviewer_workspaces::reviewer_folder(&settings.work_dir, id);
            create(&folder)?;
            Ok(folder)
        }
    }
}

/// Removes the oldest reviewer logs, on a thread for blocking work.
pub(crate) fn remove_old_logs(folder: PathBuf) {
    tokio::task::spawn_blocking(move || {
        let files = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let mut logs: Vec<_> = files
            .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
            .filter(|(_, path)| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        logs.sort_unstable_by(|a, b| b.cmp(a));
        let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        let mut bytes = 0;
        for (position, (_, log)) in logs.into_iter().enumerate() {
            let old = log.with_extension("log.1");
            bytes += size(&log) + size(&old);
            if position >= MAX_LOGS || (position > 0 && bytes > MAX_LOG_BYTES) {
                let _ = std::fs::remove_file(old);
                let _ = std::fs::remove_file(log);
            }
        }
    });
}
