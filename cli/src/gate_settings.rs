//! The gate's settings: which sources may set them, and where the approvals are.
//!
//! Any process in a repository can write its files and set environment variables before it runs git. So the gate takes
//! its settings from the operator. A project's file can make the gate stricter but not looser, and hooks ignore
//! environment variables that would loosen it.

use crate::{approval_source_args::SourceArgs, config_overrides::ConfigArgs};
use anyhow::{Context as _, anyhow};
use config::{Config, FailMode, Loaded, Origin, ReceiptKind};
use gate::{
    ApprovalSource, Gate, GateError, Policy, ReceiptSigner, RegisteredProject, ReviewSource, Signers, Workflow,
};
use git::{GitError, GitSettings, RepoLocation};
use nix::{
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::{Uid, User},
};
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};
use store::read_only_database::ReadOnlyStore;

/// The variables that hooks read. The others could make a gate fail, or exempt changes from it.
const HOOK_VARIABLES: [&str; 3] = ["COUNTERSIGN_SERVER_DATA_DIR", "COUNTERSIGN_GATE_FAIL", "COUNTERSIGN_GATE_RECEIPT"];

/// Fewer are not enough for the database and for git.
const MIN_OPEN_FILES: u64 = 128;

/// Who asks the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Git runs the program, with variables that the agent may have set.
    GitHook,
    /// An agent client runs the program, with the variables that the user started the client with.
    AgentHook,
    /// A person or a script runs `countersign gate`.
    Command,
}

/// Why a gate gave no answer.
#[derive(Debug)]
pub(crate) enum GateFailure {
    /// The operator's side is not there: no database, no git. `gate.fail` decides what that means.
    Unavailable(anyhow::Error),
    /// The repository or the caller's variables prevent an answer, so the answer is no.
    Unreadable(anyhow::Error),
}

impl GateFailure {
    pub(crate) fn error(self) -> anyhow::Error {
        match self {
            Self::Unavailable(error) | Self::Unreadable(error) => error,
        }
    }
}

impl From<GateError> for GateFailure {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Store(_)
            | GateError::Scratch(_)
            | GateError::NoBroker(_)
            | GateError::Keys(_)
            | GateError::Signers(_)
            | GateError::SshKeygenMissing
            | GateError::Git(GitError::Missing { .. }) => Self::Unavailable(error.into()),
            GateError::Git(_)
            | GateError::Staged(_)
            | GateError::UnknownCommit(_)
            | GateError::UnexpectedLine(_)
            | GateError::BadPushLine(_)
            | GateError::Remote(_)
            | GateError::TooManyCommits
            | GateError::NotRecent(_)
            | GateError::AlreadyReverted(_)
            | GateError::BrokerRefused { .. }
            | GateError::Receipt(_)
            | GateError::SshKeygen(_)
            | GateError::UnknownKey(_) => Self::Unreadable(error.into()),
        }
    }
}

/// What the operator decided for the gate of one repository.
pub(crate) struct GateSettings {
    pub config: Config,
    pub fail: FailMode,
    pub receipt: ReceiptKind,
    data_dir: Origin,
}

impl GateSettings {
    /// Reads the operator's settings, and from the project's file only `gate.fail` and `gate.receipt`. A project's file
    /// that cannot be read counts as closed, because it may have said so.
    pub(crate) fn load(args: &ConfigArgs, root: Option<&Path>, caller: Caller) -> anyhow::Result<Self> {
        let is_used = |name: &OsString, value: &OsString| match caller {
            Caller::Command => true,
            Caller::GitHook | Caller::AgentHook => {
                let loosens = name == "COUNTERSIGN_GATE_FAIL" && value != "closed";
                HOOK_VARIABLES.iter().any(|used| name == used) && !loosens
            }
        };
        let variables: Vec<_> = env::vars_os().filter(|(name, value)| is_used(name, value)).collect();
        let operator = args.load_for(None, variables.clone())?;
        let data_dir = operator.origin("server.data_dir").clone();
        let Loaded { config, .. } = operator;
        let (mut fail, mut receipt) = (config.gate.fail, config.gate.receipt);
        if let Some(root) = root {
            match args.load_for(Some(root), variables) {
                Ok(project) => {
                    receipt = project.config.gate.receipt;
                    if project.config.gate.fail == FailMode::Closed {
                        fail = FailMode::Closed;
                    }
                }
                Err(_) => fail = FailMode::Closed,
            }
        }
        Ok(Self { config, fail, receipt, data_dir })
    }

    /// Opens the database with the approvals.
    pub(crate) async fn open_database(&self, caller: Caller) -> Result<ReadOnlyStore, GateFailure> {
        if caller == Caller::GitHook {
            raise_file_limit().map_err(GateFailure::Unreadable)?;
        }
        let path = self.config.server.data_dir.database();
        let error = match ReadOnlyStore::open(&path).await {
            Ok(store) => return Ok(store),
            Err(error) => anyhow::Error::from(error),
        };
        if caller != Caller::GitHook {
            return Err(GateFailure::Unavailable(error));
        }
        match &self.data_dir {
            Origin::Variable(name) => Err(GateFailure::Unreadable(error.context(format!(
                "{name} names a folder without a readable database; unset it, or name the folder of the broker"
            )))),
            Origin::Default if account_has_database(&path) => Err(GateFailure::Unreadable(error.context(
                "HOME or XDG_DATA_HOME leads away from the user's own database; unset them, or pass --data-dir to the hook",
            ))),
            Origin::Default | Origin::BuiltIn(_) | Origin::File(_) | Origin::Flag(_) => {
                Err(GateFailure::Unavailable(error))
            }
        }
    }

    /// Opens the source of approvals: the broker at the address that was given, otherwise the database.
    pub(crate) async fn open_approvals(
        &self,
        source: &SourceArgs,
        caller: Caller,
    ) -> Result<Box<dyn ReviewSource>, GateFailure> {
        match source.broker()? {
            Some(broker) => Ok(broker),
            None => Ok(Box::new(self.open_database(caller).await?)),
        }
    }

    /// The policy for decisions by the reviews of a broker. Which repository a review belongs to must be known.
    pub(crate) fn policy(&self, source: &SourceArgs) -> Result<Policy, GateFailure> {
        // The data folder of this machine says nothing about the projects of another broker.
        let projects = match source.url {
            None => self
                .config
                .server
                .data_dir
                .registered_projects()
                .map_err(|error| GateFailure::Unavailable(error.into()))?,
            Some(_) => Vec::new(),
        };
        let projects = projects.into_iter();
        let projects = projects.map(|project| RegisteredProject { name: project.name, objects: project.objects });
        Ok(Policy { projects: projects.collect(), ..self.policy_for_receipts(source) })
    }

    /// The policy for decisions by receipts, which name their project themselves.
    pub(crate) fn policy_for_receipts(&self, source: &SourceArgs) -> Policy {
        let config = &self.config;
        let git = GitSettings {
            program: config.git.program.clone(),
            time_limit: config.git.time_limit,
            max_diff_bytes: config.limits.diff_bytes,
            engine: config.git.engine,
            concurrency: 1,
            ..GitSettings::default()
        };
        let requires_push = |text: &str| {
            let planning =
                config::planning_config::PlanningConfig::parse(Path::new(config::planning_config::PLANNING_FILE), text);
            planning.map_or(true, |planning| planning.requires_approval_at(config::planning_config::GitPoint::Push))
        };
        Policy {
            exempt: config.gate.exempt.clone(),
            git,
            // TMPDIR may name a folder that does not exist, and the file system may be read-only.
            scratch: [
                env::temp_dir(),
                "/tmp".into(),
                "/var/tmp".into(),
                "/dev/shm".into(),
                config.server.data_dir.to_path_buf(),
            ]
            .into(),
            projects: Vec::new(),
            project: source.project.clone(),
            workflow: Some(Workflow { file: config::planning_config::PLANNING_FILE, requires_push }),
        }
    }

    /// Opens the gate. The source of approvals comes first: a project without a broker is not judged at all.
    pub(crate) async fn open_gate(
        &self,
        location: &RepoLocation,
        source: &SourceArgs,
        caller: Caller,
    ) -> Result<Gate, GateFailure> {
        let approvals = self.open_approvals(source, caller).await?;
        Ok(Gate::open(location, approvals, self.policy(source)?).await?)
    }

    /// Signs receipts with the key of the broker's data folder.
    pub(crate) fn receipt_signer(&self) -> ReceiptSigner {
        let data_dir = &self.config.server.data_dir;
        ReceiptSigner { keys: data_dir.signing_keys(), database: data_dir.database() }
    }
}

/// Raises a limit of open files that the caller has lowered. A limit that is too low for git and the database is of the
/// caller's making, so it must not look as if the database was missing.
fn raise_file_limit() -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= MIN_OPEN_FILES {
        return Ok(());
    }
    let raised = MIN_OPEN_FILES.min(hard);
    setrlimit(Resource::RLIMIT_NOFILE, raised, hard)?;
    if raised < MIN_OPEN_FILES {
        return Err(anyhow!(
            "a process may open only {raised} files here; raise the limit to {MIN_OPEN_FILES} (ulimit -n)"
        ));
    }
    Ok(())
}

/// Whether the account of this user has a database elsewhere than at `path`.
fn account_has_database(path: &Path) -> bool {
    let home = User::from_uid(Uid::current()).ok().flatten().map(|user| user.dir);
    let own = home.map(|home| home.join(".local/share/countersign/countersign.db"));
    own.is_some_and(|own| own != path && own.exists())
}

/// The repository that the arguments name, or for which git runs this process. It is found by its files: the
/// configuration of the repository has no part in it.
pub(crate) fn locate(args: &ConfigArgs) -> Result<RepoLocation, GitError> {
    let here = env::current_dir().map_err(|_| GitError::NotARepository { dir: PathBuf::from(".") })?;
    match (&args.repo, env::var_os("GIT_DIR")) {
        (Some(dir), _) => RepoLocation::find(dir),
        (None, Some(git_dir)) if !git_dir.is_empty() => RepoLocation::from_git_dir(Path::new(&git_dir), &here),
        (None, _) => RepoLocation::find(&here),
    }
}

/// The index that git names to a hook.
pub(crate) fn index_of_hook(args: &ConfigArgs) -> Option<PathBuf> {
    let index = env::var_os("GIT_INDEX_FILE").filter(|index| !index.is_empty() && args.repo.is_none())?;
    std::path::absolute(index).ok()
}

/// Adds the next step to the error of a folder outside of any repository.
pub(crate) fn name_repo_option(error: GitError) -> anyhow::Error {
    let is_outside = matches!(error, GitError::NotARepository { .. });
    if is_outside { anyhow!("{error}; change to one or pass --repo") } else { error.into() }
}

/// The gate of a command, and the settings for its repository.
pub(crate) async fn open_for_command(args: &ConfigArgs, source: &SourceArgs) -> anyhow::Result<(Gate, GateSettings)> {
    let location = locate(args).map_err(name_repo_option)?;
    let settings = GateSettings::load(args, Some(location.root()), Caller::Command)?;
    let gate = settings.open_gate(&location, source, Caller::Command).await.map_err(GateFailure::error)?;
    Ok((gate, settings))
}

/// Where approvals come from instead of the database.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SignersArgs {
    /// Decide from signed receipts instead of the database; the file names the keys and the policy (docs/receipts.md)
    #[arg(long, value_name = "FILE")]
    pub signers: Option<PathBuf>,
}

impl SignersArgs {
    /// `None` if no signers file is given.
    pub(crate) fn source(&self) -> anyhow::Result<Option<ApprovalSource>> {
        let Some(path) = &self.signers else { return Ok(None) };
        let read = || anyhow::Ok(Signers::parse(&std::fs::read_to_string(path)?)?);
        Ok(Some(read().with_context(|| format!("--signers {}", path.display()))?.into()))
    }
}

/// Reads the lines that git passes to a hook.
pub(crate) fn read_stdin() -> anyhow::Result<String> {
    let mut lines = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut lines).context("cannot read the refs from stdin")?;
    Ok(lines)
}
