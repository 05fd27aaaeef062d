//! `countersign init`: connects clients, git and agents to the broker, and can undo exactly that.
//!
//! The wanted state is a list of [`InitTarget`]s. [`edit`] computes the new text of a file, [`file_change`] plans the
//! change of a file, and [`Change::apply`] is the only place that writes.

mod agent_instructions;
mod clients;
mod edit;
mod file_change;
mod git_hooks;
mod own_command_line;
mod report;
mod undo_manifest;

use crate::{
    CliError, atomic_files,
    client::{Client as BrokerClient, discovery as locate},
    config_overrides::ConfigArgs,
    render::hanging,
    terminal,
};
use anyhow::anyhow;
use clients::{AgentRole, Client, SettingsDirs};
use domain::text::count;
use edit::{Fragment, FragmentState};
use file_change::{Change, InitTarget, Kind};
use git::UserRepo;
use own_command_line::{OwnCommandLine, shell_quote};
use report::{ClientStep, Drift, FoundClient, LeftAlone, Report};
use serde_json::Value;
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::Path,
};
use undo_manifest::{Manifest, ManifestEntry};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 a file was left alone, --check found a difference, or the \
                  answer was no; 2 wrong usage, or no terminal to ask on and no --yes"
)]
pub struct Args {
    /// Edit the user's own settings instead of the project's
    #[arg(long)]
    user: bool,
    /// Set up only these clients [default: all that are found]
    #[arg(long, value_name = "CLIENT", value_delimiter = ',')]
    client: Vec<Client>,
    /// Which tools agents get: one side's, so that they take little room in their context, or both
    #[arg(long, value_name = "ROLE", default_value = "proposer")]
    role: AgentRole,
    /// Connect clients to the broker's address instead of the stdio bridge
    #[arg(long)]
    http: bool,
    /// Install git hooks that stop commits and pushes without approval
    #[arg(long)]
    git_hooks: bool,
    /// Let the git hooks also stop what they cannot check: no database, or the program is missing
    #[arg(long, requires = "git_hooks")]
    fail_closed: bool,
    /// Install hooks for Claude Code and Codex: gate, unanswered feedback, summary at the start
    #[arg(long)]
    client_hooks: bool,
    /// Let the session-start hook start the broker
    #[arg(long, requires = "client_hooks")]
    start: bool,
    /// Install a skill for Claude Code and a section of AGENTS.md that teach agents to request reviews
    #[arg(long)]
    skills: bool,
    /// Install guards for the GSD commands and agents
    #[arg(long)]
    gsd: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Show what would be written, without writing
    #[arg(long, conflicts_with_all = ["yes", "check"])]
    dry_run: bool,
    /// Report what is missing or different; exit with 1 if anything is
    #[arg(long, conflicts_with_all = ["yes", "remove"])]
    check: bool,
    /// Remove what was installed: everything, or only what the options name
    #[arg(long)]
    remove: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Where `init` runs.
struct Environment {
    dirs: SettingsDirs,
    /// `None` with `--user`.
    repo: Option<UserRepo>,
    manifest: Manifest,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let environment = Environment::detect(&args).await?;
    let Environment { dirs, manifest, .. } = &environment;
    let mut report = Report::new(dirs.root(), args.user);
    let mut targets = all_targets(&args, &environment, &mut report).await?;
    if args.check {
        return check(&args, &targets, manifest, report);
    }
    if args.remove {
        targets = removal_targets(&args, targets, &environment);
    } else {
        targets.retain(|target| args.installs(target.kind));
    }
    let mut changes = Vec::new();
    for target in targets {
        if let Some(why) = environment.find_foreign_link(&target).await {
            report.problem(&target.path, why);
            continue;
        }
        let planned = match args.remove {
            true => Change::remove(&target, manifest),
            false => Change::install(&target, dirs.root(), manifest).map(|change| (change, Vec::new())),
        };
        match planned {
            Ok((change, kept)) => {
                changes.extend(change);
                report.kept.extend(kept.into_iter().map(|why| LeftAlone { path: target.path.clone(), why }));
            }
            Err(error) => report.problem(&target.path, format!("{error:#}")),
        }
    }
    let clients = args.client_names(&report);
    let is_changed = !changes.is_empty();
    confirm_and_apply(&args, &changes, manifest, report)?;
    if !args.remove && !args.dry_run {
        environment.register(&args).await;
        if is_changed && !args.json {
            terminal::remark(&summary(&args, &clients, environment.dirs.root()));
        }
        if args.git_hooks && !args.json {
            environment.print_commit_steps(&changes).await;
        }
    }
    Ok(())
}

/// What is set up now, and the next step.
fn summary(args: &Args, clients: &[&str], root: &Path) -> String {
    let place = if args.user { "all your projects".to_owned() } else { root.display().to_string() };
    let (agents, step) = match args.role {
        AgentRole::Reviewer => ("review", "Review the pending changes in Countersign."),
        AgentRole::Proposer | AgentRole::Both => {
            ("propose", "Propose your change with Countersign before you commit it, and wait for the verdict.")
        }
    };
    let set_up = match clients {
        [] => format!("set up: git hooks in {place}"),
        clients => format!("set up: {} can {agents} in {place}", clients.join(", ")),
    };
    hanging(&format!("\n{set_up}\nnext: "), "      ", &format!("say to an agent: {step}"))
        + "      or yourself: countersign request\n"
        + "      undo: countersign init --remove"
}

impl Args {
    /// The clients that are set up.
    fn client_names(&self, report: &Report) -> Vec<&'static str> {
        match self.client.as_slice() {
            [] => report.found.iter().map(|found| found.client).collect(),
            named => named.iter().map(|client| client.as_str()).collect(),
        }
    }

    fn installs(&self, kind: Kind) -> bool {
        match kind {
            Kind::Server => true,
            Kind::ClientHooks => self.client_hooks,
            Kind::GitHooks => self.git_hooks,
            Kind::Skills => self.skills,
            Kind::Gsd => self.gsd,
        }
    }

    /// With `--remove`, no option means all kinds; with `--client`, all kinds of those clients.
    fn removes(&self, kind: Kind) -> bool {
        let names_any = self.client_hooks || self.git_hooks || self.skills || self.gsd;
        match kind {
            Kind::Server => !names_any,
            Kind::GitHooks if !names_any => self.client.is_empty(),
            Kind::ClientHooks | Kind::GitHooks | Kind::Skills | Kind::Gsd => !names_any || self.installs(kind),
        }
    }

    /// The options that every installed command needs to find the same broker.
    fn broker_options(&self) -> io::Result<Vec<String>> {
        let mut options = Vec::new();
        for (name, value) in [("--data-dir", &self.config.data_dir), ("--config", &self.config.config)] {
            if let Some(value) = value {
                options.extend([name.to_owned(), std::path::absolute(value)?.to_string_lossy().into_owned()]);
            }
        }
        Ok(options)
    }
}

impl Environment {
    async fn detect(args: &Args) -> Result<Self, CliError> {
        let manifest = Manifest::new(&args.config.resolve(None)?.config.server.data_dir);
        if args.user && args.git_hooks {
            return Err(CliError::usage(anyhow!("--git-hooks needs a repository; run it there without --user")));
        }
        let repo = match (args.user, &args.config.repo) {
            (true, _) => None,
            (false, Some(dir)) => Some(UserRepo::find(dir).await),
            (false, None) => Some(UserRepo::find(&std::env::current_dir()?).await),
        };
        let repo = repo.transpose().map_err(|error| CliError::usage(anyhow!("{error:#}; or use --user")))?;
        let dirs = SettingsDirs::detect(repo.as_ref().map(|repo| repo.root().to_owned()));
        let dirs = dirs.ok_or_else(|| CliError::usage(anyhow!("no home folder: HOME is not set")))?;
        Ok(Self { dirs, repo, manifest })
    }

    /// Whether hooks of a client were installed before.
    fn has_hooks(&self, client: Client) -> bool {
        let folder = self.dirs.dir(client);
        let entries = self.manifest.list(self.dirs.root());
        entries.iter().any(|entry| entry.kind == Kind::ClientHooks && entry.path.starts_with(&folder))
    }

    /// Registers the repository with the broker if that runs. Otherwise the first call of an agent does.
    async fn register(&self, args: &Args) {
        let Some(repo) = &self.repo else { return };
        let registered = async {
            let data_dir = args.config.resolve(None)?.config.server.data_dir;
            BrokerClient::of_data_dir(&data_dir).await?.register_repository(repo.root()).await
        };
        match registered.await {
            Ok(Some(project)) if !args.json => {
                terminal::remark(&format!("registered with the running broker as project {}", project.name));
            }
            Err(failure) if !failure.is_retryable() && !args.json => {
                terminal::remark(&format!("not registered with the running broker: {:#}", failure.error));
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// How to commit what was written: the hooks that were installed ask for an approval of it, as of every change.
    async fn print_commit_steps(&self, changes: &[Change]) {
        let Some(repo) = &self.repo else { return };
        let mut files = Vec::new();
        for change in changes.iter().filter(|change| change.kind != Kind::GitHooks && !change.is_silent()) {
            let Ok(file) = change.path.strip_prefix(repo.root()) else { continue };
            let ignored = repo.try_git(["check-ignore", "--quiet", "--", &file.to_string_lossy()]).await;
            if !ignored.is_ok_and(|output| output.success) {
                files.push(shell_quote(&file.to_string_lossy()));
            }
        }
        if files.is_empty() {
            return;
        }
        terminal::remark(&format!(
            "commit these files through the hooks, with an approval of your own (R-N: the number that request prints):\n  \
             git add -- {}\n  countersign request --staged -m 'Set up Countersign' --as init\n  countersign respond R-N \
             --approve --as reviewer\n  git commit -m 'Set up Countersign'",
            files.join(" ")
        ));
    }

    /// Why the path may not be written. A symbolic link that is tracked in the repository and leads out of it is not
    /// followed; a link that the user has created is.
    async fn find_foreign_link(&self, target: &InitTarget) -> Option<String> {
        let repo = self.repo.as_ref().filter(|_| target.kind != Kind::GitHooks)?;
        let link = atomic_files::link_out_of(repo.root(), &target.path)?;
        let tracked = repo.try_git(["ls-files", "--error-unmatch", "--", &link.to_string_lossy()]).await;
        let is_tracked = tracked.is_ok_and(|output| output.success);
        is_tracked.then(|| format!("{} is a symbolic link in the repository that leads out of it", link.display()))
    }
}

const PROPOSERS: &str =
    "these clients can propose; `--role reviewer` with `--client` makes one a reviewer, `--role both` makes them both";

/// Sets a key of a JSON file and leaves the rest of it as it is. The file is created if it is missing.
pub(crate) fn set_json_key(path: &Path, key: &'static str, value: Value) -> anyhow::Result<()> {
    let before = atomic_files::load(path)?.unwrap_or_default();
    let after = edit::set_json_key(&before, key, &value)?;
    atomic_files::write(path, &after, atomic_files::FileMode::Default)
}

/// Every target that `init` knows here, whether or not its option was given.
async fn all_targets(args: &Args, environment: &Environment, report: &mut Report) -> Result<Vec<InitTarget>, CliError> {
    let Environment { dirs, repo, .. } = environment;
    let options = args.broker_options()?;
    let command = if args.user { OwnCommandLine::absolute(&options)? } else { OwnCommandLine::portable(&options)? };
    // The stdio bridge is the default: it starts the broker and is independent of the port.
    let url = if args.http { Some(broker_url(&args.config, args.role).await?) } else { None };
    let mut targets = Vec::new();
    for client in clients(args, dirs, report)? {
        targets.push(client.server(dirs, &command, url.as_deref(), args.role));
        targets.extend(client.hooks(dirs, &command, args.start, args.role));
        targets.extend(agent_instructions::skills(client, dirs));
        if client == Client::Claude {
            targets.extend(agent_instructions::gsd(dirs));
            if args.gsd && !args.remove && !args.check {
                report.notes.extend(agent_instructions::missing_gsd(dirs).map(str::to_owned));
            }
        }
        if !args.remove {
            let steps = client.left_to_do(dirs, args.client_hooks || environment.has_hooks(client));
            report.left_to_do.extend(steps.into_iter().map(|step| ClientStep { client: client.as_str(), step }));
        }
    }
    if args.role == AgentRole::Proposer && !args.remove && !args.check && !targets.is_empty() {
        report.notes.push(PROPOSERS.to_owned());
    }
    if let Some(repo) = repo {
        let planning = agent_instructions::tandem_mode(repo.root());
        // Without a record, the key may be the user's own.
        if !args.remove || environment.manifest.find(&planning.path).is_some() {
            targets.push(planning);
        }
        let hooks = git_hooks::plan(repo, &options, args.fail_closed).await?;
        targets.extend(hooks.targets);
        if args.git_hooks && !args.remove {
            report.by_hand.extend(hooks.manual_steps);
        }
    }
    if !args.user && command.is_absolute() && !args.remove {
        report.notes.push(format!(
            "countersign is not in PATH, so the files name {}, which is valid on this machine only",
            command.program
        ));
    }
    Ok(targets)
}

async fn broker_url(config: &ConfigArgs, role: AgentRole) -> Result<String, CliError> {
    let server = config.resolve(None)?.config.server;
    let running = locate::find(&locate::client()?, &server.data_dir).await;
    let url = running.map_or_else(|| format!("http://{}", server.listen), |broker| broker.url);
    Ok(match role.as_option() {
        Some(role) => format!("{url}/mcp/{role}"),
        None => format!("{url}/mcp"),
    })
}

/// The clients that are named, else those that are found. A removal considers all of them.
fn clients(args: &Args, dirs: &SettingsDirs, report: &mut Report) -> Result<Vec<Client>, CliError> {
    if !args.client.is_empty() {
        return Ok(Client::ALL.into_iter().filter(|client| args.client.contains(client)).collect());
    }
    if args.remove {
        return Ok(Client::ALL.to_vec());
    }
    let mut found = Vec::new();
    for client in Client::ALL {
        if let Some(evidence) = client.detect(dirs) {
            report.found.push(FoundClient { client: client.as_str(), evidence });
            found.push(client);
        }
    }
    if found.is_empty() && !args.git_hooks {
        return Err(anyhow!(
            "no client found: PATH contains neither claude, codex nor gemini, and there are no settings of theirs; name \
             one with --client"
        )
        .into());
    }
    Ok(found)
}

/// The targets to remove: those of today, and those in the manifest that are no longer used.
fn removal_targets(args: &Args, targets: Vec<InitTarget>, environment: &Environment) -> Vec<InitTarget> {
    let mut targets: Vec<InitTarget> = targets.into_iter().filter(|target| args.removes(target.kind)).collect();
    for target in &mut targets {
        // The manifest knows which file to move back.
        target.backup_path = None;
    }
    for entry in environment.manifest.list(environment.dirs.root()) {
        if args.client.is_empty() && args.removes(entry.kind) && !targets.iter().any(|target| target.path == entry.path)
        {
            targets.push(InitTarget::new(entry.path, entry.kind, Vec::new()));
        }
    }
    targets
}

/// Compares the requested targets, and those installed before, with the files.
fn check(args: &Args, targets: &[InitTarget], manifest: &Manifest, mut report: Report) -> Result<(), CliError> {
    for target in targets {
        let entry = manifest.find(&target.path);
        if !args.installs(target.kind) && entry.is_none() {
            continue;
        }
        let text = match atomic_files::load(&target.path) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                report.problem(&target.path, format!("{error:#}"));
                continue;
            }
        };
        for fragment in &target.fragments {
            let what = match fragment.state(&text) {
                Ok(FragmentState::UpToDate) => continue,
                Ok(FragmentState::Missing) => "missing".to_owned(),
                Ok(FragmentState::Different(what)) => what,
                Err(error) => {
                    report.problem(&target.path, error.to_string());
                    continue;
                }
            };
            if !is_registered_for_user(target, fragment, &text) && !is_as_installed(fragment, &text, entry.as_ref()) {
                report.drift.push(Drift { path: target.path.clone(), fragment: fragment.name(), what });
            }
        }
        if target.mode == atomic_files::FileMode::Executable
            && !text.is_empty()
            && !atomic_files::is_executable(&target.path)
        {
            let what = "not executable, so git ignores it".to_owned();
            report.drift.push(Drift { path: target.path.clone(), fragment: "mode".into(), what });
        }
    }
    report.print_check(args.json)?;
    match report.drift.len() + report.problems.len() {
        0 => Ok(()),
        1 => Err(anyhow!("1 difference; `countersign init` fixes it").into()),
        several => Err(anyhow!("{several} differences; `countersign init` fixes them").into()),
    }
}

/// Whether the fragment is as it was installed, perhaps with other options, and still calls this program.
fn is_as_installed(fragment: &Fragment, text: &str, entry: Option<&ManifestEntry>) -> bool {
    let installed = entry.and_then(|entry| entry.fragments.get(&fragment.name()));
    let current = fragment.current(text).ok().flatten();
    current.is_some_and(|current| installed == Some(&current) && fragment.has_same_program(&current))
}

/// Whether the fragment is missing here, but in the user's own settings for all projects.
fn is_registered_for_user(target: &InitTarget, fragment: &Fragment, text: &str) -> bool {
    let other =
        target.user_level_path.as_deref().and_then(|path| atomic_files::load(path).ok().flatten()).unwrap_or_default();
    matches!(fragment.current(text), Ok(None)) && matches!(fragment.current(&other), Ok(Some(_)))
}

/// Shows the changes, asks for confirmation and applies them.
fn confirm_and_apply(args: &Args, changes: &[Change], manifest: &Manifest, mut report: Report) -> Result<(), CliError> {
    let asks = !args.yes && changes.iter().any(|change| !change.is_silent());
    if asks {
        report.print(args.json, changes, false)?;
    }
    if args.dry_run {
        return report.result();
    }
    if asks {
        confirm()?;
    }
    let mut written = 0_usize;
    for change in changes {
        match change.apply(manifest) {
            Ok(()) => written += 1,
            Err(error) => report.problem(&change.path, format!("{error:#}")),
        }
    }
    if !asks {
        report.print(args.json, changes, true)?;
    } else if !args.json {
        writeln!(io::stderr(), "{} written", count(written, "file"))?;
    }
    report.result()
}

/// Asks on the terminal. Without one, `--yes` is required.
fn confirm() -> Result<(), CliError> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(CliError::usage(anyhow!("nothing was written: no terminal to ask on; use --yes")));
    }
    write!(io::stderr(), "Write this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(anyhow!("nothing was written").into()),
    }
}
