//! `countersign init`: connects clients, git and agents with the broker, and removes exactly that again.
//!
//! The wanted state is a list of [`InitTarget`]s. [`edit`] computes the new text of a file, [`change`] plans the change of
//! a file, and [`Change::apply`] is the only place that writes.

mod change;
mod clients;
mod edit;
mod git_hooks;
mod instructions;
mod manifest;
mod report;
mod self_command;
mod user_files;

use crate::{CliError, USAGE, client::discovery as locate, config_args::ConfigArgs};
use anyhow::anyhow;
use change::{Change, InitTarget, Kind};
use clients::{Client, Scope, Transport, UserDirs};
use edit::{Fragment, FragmentState};
use git::UserRepo;
use manifest::{Manifest, ManifestEntry};
use report::{Drift, Report};
use self_command::SelfCommand;
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

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
    place: ConfigArgs,
}

/// Where `init` runs.
struct Environment {
    homes: UserDirs,
    scope: Scope,
    /// The repository's root, or the user's home.
    root: PathBuf,
    repo: Option<UserRepo>,
    manifest: Manifest,
}

pub(crate) async fn run(args: Args) -> Result<(), CliError> {
    let environment = Environment::detect(&args).await?;
    let mut report = Report::new(&environment.root, args.user);
    let targets = all_targets(&args, &environment, &mut report).await?;
    if args.check {
        return check(&args, &targets, &environment, report);
    }
    let mut changes = Vec::new();
    if args.remove {
        for target in removal_targets(&args, targets, &environment) {
            if is_safe(&target, &environment, &mut report).await {
                plan_removal(&target, &environment, &mut changes, &mut report);
            }
        }
    } else {
        for target in targets.iter().filter(|target| args.installs(target.kind)) {
            if is_safe(target, &environment, &mut report).await {
                plan_installation(target, &environment, &mut changes, &mut report);
            }
        }
    }
    confirm_and_apply(&args, &changes, &environment, report)
}

impl Args {
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
        for (name, value) in [("--data-dir", &self.place.data_dir), ("--config", &self.place.config)] {
            if let Some(value) = value {
                options.extend([name.to_owned(), std::path::absolute(value)?.to_string_lossy().into_owned()]);
            }
        }
        Ok(options)
    }
}

impl Environment {
    async fn detect(args: &Args) -> Result<Self, CliError> {
        let usage = |error: anyhow::Error| CliError::new(USAGE, error);
        let homes = UserDirs::detect().ok_or_else(|| usage(anyhow!("no home folder: HOME is not set")))?;
        let settled = args.place.resolve(None)?;
        let manifest = Manifest::new(&settled.config.server.data_dir);
        if args.user {
            if args.git_hooks {
                return Err(usage(anyhow!("--git-hooks needs a repository; run it there without --user")));
            }
            let root = homes.home.clone();
            return Ok(Self { homes, scope: Scope::User, root, repo: None, manifest });
        }
        let dir = match &args.place.repo {
            Some(dir) => dir.clone(),
            None => std::env::current_dir()?,
        };
        let repo = UserRepo::find(&dir).await.map_err(|error| usage(anyhow!("{error:#}; or use --user")))?;
        let root = repo.root().to_owned();
        Ok(Self { homes, scope: Scope::Project(root.clone()), root, repo: Some(repo), manifest })
    }
}

/// Every target that `init` knows here, whether or not its option was given.
async fn all_targets(args: &Args, environment: &Environment, report: &mut Report) -> Result<Vec<InitTarget>, CliError> {
    let Environment { homes, scope, repo, .. } = environment;
    let options = args.broker_options()?;
    let command = if args.user { SelfCommand::absolute()? } else { SelfCommand::portable()? }.with_options(&options);
    let transport = transport(args, &command).await?;
    let clients = clients(args, environment, report)?;
    let mut targets = Vec::new();
    for client in clients {
        targets.push(client.server(homes, scope, &transport));
        targets.extend(client.hooks(homes, scope, &command, args.start));
        targets.extend(instructions::skills(client, homes, scope));
        if client == Client::Claude {
            targets.extend(instructions::gsd(homes, scope));
        }
        if !args.remove && !args.check {
            report.notes.extend(client.note(homes, scope));
        }
    }
    if let Some(repo) = repo {
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

/// The clients that are named, else those that are found. A removal considers all of them.
fn clients(args: &Args, environment: &Environment, report: &mut Report) -> Result<Vec<Client>, CliError> {
    if !args.client.is_empty() {
        return Ok(Client::ALL.into_iter().filter(|client| args.client.contains(client)).collect());
    }
    if args.remove {
        return Ok(Client::ALL.to_vec());
    }
    let mut found = Vec::new();
    for client in Client::ALL {
        if let Some(evidence) = client.detect(&environment.homes, &environment.scope) {
            report.found.push((client.as_str(), evidence));
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

/// The stdio bridge is the default: it starts the broker and is independent of the port.
async fn transport(args: &Args, command: &SelfCommand) -> Result<Transport, CliError> {
    if !args.http {
        let args = std::iter::once("mcp".to_owned()).chain(command.options.iter().cloned()).collect();
        return Ok(Transport::Stdio { program: command.program.clone(), args });
    }
    let server = args.place.resolve(None)?.config.server;
    let running = locate::find(&locate::client()?, &server.data_dir).await;
    let url = running.map_or_else(|| format!("http://{}", server.listen), |note| note.url);
    Ok(Transport::Http { url: format!("{url}/mcp") })
}

/// Whether the path may be written. A symbolic link that is tracked in the repository and leads out of it is not
/// followed; a link that the user has created is.
async fn is_safe(target: &InitTarget, environment: &Environment, report: &mut Report) -> bool {
    let Some(repo) = &environment.repo else { return true };
    if target.kind == Kind::GitHooks {
        return true;
    }
    let Some(link) = user_files::link_out_of(&environment.root, &target.path) else { return true };
    let tracked = repo.try_git(["ls-files", "--error-unmatch", "--", &link.to_string_lossy()]).await;
    let is_tracked = tracked.is_ok_and(|output| output.success);
    if is_tracked {
        let why = format!("{} is a symbolic link in the repository that leads out of it", link.display());
        report.problem(&target.path, why);
    }
    !is_tracked
}

fn plan_installation(target: &InitTarget, environment: &Environment, changes: &mut Vec<Change>, report: &mut Report) {
    if let Some(backup) = target.backup_path.as_deref().filter(|backup| backup.exists()) {
        report.problem(&target.path, format!("cannot move it to {}, which exists", backup.display()));
        return;
    }
    match Change::install(target, &environment.root, &environment.manifest) {
        Ok(change) => changes.extend(change),
        Err(error) => report.problem(&target.path, format!("{error:#}")),
    }
}

fn plan_removal(target: &InitTarget, environment: &Environment, changes: &mut Vec<Change>, report: &mut Report) {
    match Change::remove(target, &environment.manifest) {
        Ok(removal) => {
            changes.extend(removal.change);
            report.kept.extend(removal.kept.into_iter().map(|why| (target.path.clone(), why)));
        }
        Err(error) => report.problem(&target.path, format!("{error:#}")),
    }
}

/// The targets to remove: those of today, and those in the manifest that are no longer used.
fn removal_targets(args: &Args, targets: Vec<InitTarget>, environment: &Environment) -> Vec<InitTarget> {
    let mut targets: Vec<InitTarget> = targets.into_iter().filter(|target| args.removes(target.kind)).collect();
    for target in &mut targets {
        // The manifest knows which file to move back.
        target.backup_path = None;
    }
    for entry in environment.manifest.list(&environment.root) {
        if args.client.is_empty() && args.removes(entry.kind) && !targets.iter().any(|target| target.path == entry.path)
        {
            targets.push(InitTarget::new(entry.path, entry.kind, Vec::new()));
        }
    }
    targets
}

/// Compares the requested targets, and those installed before, with the files.
fn check(args: &Args, targets: &[InitTarget], environment: &Environment, mut report: Report) -> Result<(), CliError> {
    for target in targets {
        let entry = environment.manifest.find(&target.path);
        if !args.installs(target.kind) && entry.is_none() {
            continue;
        }
        let text = match user_files::load(&target.path) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                report.problem(&target.path, format!("{error:#}"));
                continue;
            }
        };
        for fragment in &target.fragments {
            match difference(fragment, &text) {
                Ok(None) => {}
                Ok(Some(_))
                    if is_registered_for_user(target, fragment, &text)
                        || is_as_installed(fragment, &text, entry.as_ref()) => {}
                Ok(Some(what)) => {
                    report.drift.push(Drift { path: target.path.clone(), fragment: fragment.name(), what })
                }
                Err(why) => report.problem(&target.path, why),
            }
        }
        if target.mode == user_files::FileMode::Executable
            && !text.is_empty()
            && !user_files::is_executable(&target.path)
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
        target.user_level_path.as_deref().and_then(|path| user_files::load(path).ok().flatten()).unwrap_or_default();
    matches!(fragment.current(text), Ok(None)) && matches!(fragment.current(&other), Ok(Some(_)))
}

/// How the fragment differs from the wanted one, if it does.
fn difference(fragment: &Fragment, text: &str) -> Result<Option<String>, String> {
    match fragment.state(text).map_err(|error| error.to_string())? {
        FragmentState::UpToDate => Ok(None),
        FragmentState::Missing => Ok(Some("missing".into())),
        FragmentState::Different(what) => Ok(Some(what)),
    }
}

/// Shows the changes, asks for confirmation and applies them.
fn confirm_and_apply(
    args: &Args,
    changes: &[Change],
    environment: &Environment,
    mut report: Report,
) -> Result<(), CliError> {
    let has_work = changes.iter().any(|change| !change.is_silent());
    let may_write = |report: &Report| -> Result<bool, CliError> {
        if args.yes || !has_work {
            return Ok(!args.dry_run);
        }
        report.print(args.json, changes, false)?;
        if args.dry_run {
            return Ok(false);
        }
        confirm()
    };
    if !may_write(&report)? {
        return report.result();
    }
    let was_shown = has_work && !args.yes;
    let mut done = Vec::new();
    for change in changes {
        match change.apply(&environment.manifest) {
            Ok(()) => done.push(change),
            Err(error) => report.problem(&change.path, format!("{error:#}")),
        }
    }
    if was_shown {
        report.print_done(args.json, done.len())?
    } else {
        report.print(args.json, changes, true)?
    }
    report.result()
}

/// Asks on the terminal. Without one, `--yes` is required.
fn confirm() -> Result<bool, CliError> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(CliError::new(USAGE, anyhow!("nothing was written: no terminal to ask on; use --yes")));
    }
    write!(io::stderr(), "Write this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        _ => Err(anyhow!("nothing was written").into()),
    }
}

/// The path relative to the root, if it is below it.
fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
