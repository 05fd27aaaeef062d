//! `countersign init`: puts the broker where clients, git and agents find it, and takes exactly that out again.
//!
//! What is wanted is a list of [`InitTarget`]s; [`edit`] says on paper what becomes of a text, [`change`] what of a file,
//! and only an applied [`Change`] touches one.

mod atomic_write;
mod change;
mod clients;
mod edit;
mod git_hooks;
mod instructions;
mod manifest;
mod report;
mod self_path;
mod target;

use super::{Failure, USAGE, locate, place::Place};
use anyhow::anyhow;
use change::Change;
use clients::{Client, Scope, Transport, UserDirs};
use edit::{Fragment, FragmentState};
use git::UserRepo;
use manifest::{Manifest, ManifestEntry};
use report::{Drift, Report};
use self_path::Program;
use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};
use target::{InitTarget, Kind};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 something was left alone, --check found a difference, \
                        or the answer was no; 2 wrong usage, or nobody to ask and no --yes"
)]
pub(super) struct Args {
    /// The user's own settings instead of the project's
    #[arg(long)]
    user: bool,
    /// Only these clients [default: those that are found]
    #[arg(long, value_name = "CLIENT", value_delimiter = ',')]
    client: Vec<Client>,
    /// The broker's address instead of the bridge that finds it
    #[arg(long)]
    http: bool,
    /// Also git's hooks: what is not approved is not committed or pushed
    #[arg(long)]
    git_hooks: bool,
    /// The git hooks also stop what they cannot judge: no database, or this program is gone
    #[arg(long, requires = "git_hooks")]
    fail_closed: bool,
    /// Also the hooks of Claude Code and Codex: gate, unread feedback, summary at the start
    #[arg(long)]
    client_hooks: bool,
    /// The hook at the start of a session also starts the broker
    #[arg(long, requires = "client_hooks")]
    start: bool,
    /// Also a skill for Claude Code and a part of AGENTS.md that teach agents the loop
    #[arg(long)]
    skills: bool,
    /// Also guards around the GSD commands and agents
    #[arg(long)]
    gsd: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Only show what would be written
    #[arg(long, conflicts_with_all = ["yes", "check"])]
    dry_run: bool,
    /// Only say what is missing or different; exit code 1 if anything is
    #[arg(long, conflicts_with_all = ["yes", "remove"])]
    check: bool,
    /// Take out what was put in: all of it, or only what the options name
    #[arg(long)]
    remove: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What is known of where it runs.
struct Environment {
    homes: UserDirs,
    scope: Scope,
    /// The repository's root, or the user's home.
    root: PathBuf,
    repo: Option<UserRepo>,
    manifest: Manifest,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    let around = Environment::look(&args).await?;
    let mut report = Report::new(&around.root, args.user);
    let wanted = wanted(&args, &around, &mut report).await?;
    if args.check {
        return check(&args, &wanted, &around, report);
    }
    let mut changes = Vec::new();
    if args.remove {
        for target in removable(&args, wanted, &around) {
            if is_safe(&target, &around, &mut report).await {
                take(&target, &around, &mut changes, &mut report);
            }
        }
    } else {
        for target in wanted.iter().filter(|target| args.asks_for(target.kind)) {
            if is_safe(target, &around, &mut report).await {
                put(target, &around, &mut changes, &mut report);
            }
        }
    }
    go_ahead(&args, &changes, &around, report)
}

impl Args {
    fn asks_for(&self, kind: Kind) -> bool {
        match kind {
            Kind::Server => true,
            Kind::ClientHooks => self.client_hooks,
            Kind::GitHooks => self.git_hooks,
            Kind::Skills => self.skills,
            Kind::Gsd => self.gsd,
        }
    }

    /// With `--remove` no option means all of them; of some clients, all that is theirs.
    fn takes_out(&self, kind: Kind) -> bool {
        let names_any = self.client_hooks || self.git_hooks || self.skills || self.gsd;
        match kind {
            Kind::Server => !names_any,
            Kind::GitHooks if !names_any => self.client.is_empty(),
            Kind::ClientHooks | Kind::GitHooks | Kind::Skills | Kind::Gsd => !names_any || self.asks_for(kind),
        }
    }

    /// What every call of ours must be told to mean the same broker.
    fn options(&self) -> io::Result<Vec<String>> {
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
    async fn look(args: &Args) -> Result<Self, Failure> {
        let usage = |error: anyhow::Error| Failure::new(USAGE, error);
        let homes =
            UserDirs::of_this_user().ok_or_else(|| usage(anyhow!("there is no home folder (HOME is not set)")))?;
        let settled = args.place.settle(None)?;
        let manifest = Manifest::of(&settled.config.server.data_dir);
        if args.user {
            if args.git_hooks {
                return Err(usage(anyhow!("--git-hooks are a repository's: run it there without --user")));
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

/// All that could be wanted here; what of it is asked for is another question.
async fn wanted(args: &Args, around: &Environment, report: &mut Report) -> Result<Vec<InitTarget>, Failure> {
    let Environment { homes, scope, repo, .. } = around;
    let options = args.options()?;
    let program = if args.user { Program::by_place()? } else { Program::by_name()? }.with(&options);
    let way = way(args, &program).await?;
    let clients = clients(args, around, report)?;
    let mut targets = Vec::new();
    for client in clients {
        targets.push(client.server(homes, scope, &way));
        targets.extend(client.hooks(homes, scope, &program, args.start));
        targets.extend(instructions::skills(client, homes, scope));
        if client == Client::Claude {
            targets.extend(instructions::gsd(homes, scope));
        }
        if !args.remove && !args.check {
            report.notes.extend(client.word(homes, scope));
        }
    }
    if let Some(repo) = repo {
        let found = git_hooks::find(repo, &options, args.fail_closed).await?;
        targets.extend(found.targets);
        if args.git_hooks && !args.remove {
            report.by_hand.extend(found.by_hand);
        }
    }
    if !args.user && program.is_place() && !args.remove {
        report.notes.push(format!(
            "countersign is not in the search path, so the files name {}, which is right on this machine only",
            program.name
        ));
    }
    Ok(targets)
}

/// Those that are named, else those that are here. To take something out, all.
fn clients(args: &Args, around: &Environment, report: &mut Report) -> Result<Vec<Client>, Failure> {
    if !args.client.is_empty() {
        return Ok(Client::ALL.into_iter().filter(|client| args.client.contains(client)).collect());
    }
    if args.remove {
        return Ok(Client::ALL.to_vec());
    }
    let mut found = Vec::new();
    for client in Client::ALL {
        if let Some(by) = client.found(&around.homes, &around.scope) {
            report.found.push((client.as_str(), by));
            found.push(client);
        }
    }
    if found.is_empty() && !args.git_hooks {
        return Err(anyhow!(
            "no client found: neither claude, codex or gemini in the search path, nor their settings; name one with \
             --client"
        )
        .into());
    }
    Ok(found)
}

/// The bridge survives a change of the port and starts the broker, so it is the default.
async fn way(args: &Args, program: &Program) -> Result<Transport, Failure> {
    if !args.http {
        let args = std::iter::once("mcp".to_owned()).chain(program.options.iter().cloned()).collect();
        return Ok(Transport::Stdio { program: program.name.clone(), args });
    }
    let server = args.place.settle(None)?.config.server;
    let running = locate::find(&locate::client()?, &server.data_dir).await;
    let url = running.map_or_else(|| format!("http://{}", server.listen), |note| note.url);
    Ok(Transport::Http { url: format!("{url}/mcp") })
}

/// A link that came with the repository and leads out of it is not followed; one that the user has made is.
async fn is_safe(target: &InitTarget, around: &Environment, report: &mut Report) -> bool {
    let Some(repo) = &around.repo else { return true };
    if target.kind == Kind::GitHooks {
        return true;
    }
    let Some(link) = atomic_write::link_out_of(&around.root, &target.path) else { return true };
    let tracked = repo.try_git(["ls-files", "--error-unmatch", "--", &link.to_string_lossy()]).await;
    let is_theirs = tracked.is_ok_and(|said| said.success);
    if is_theirs {
        let why = format!("{} is a link of the repository that leads out of it", link.display());
        report.problem(&target.path, why);
    }
    !is_theirs
}

fn put(target: &InitTarget, around: &Environment, changes: &mut Vec<Change>, report: &mut Report) {
    if let Some(aside) = target.aside.as_deref().filter(|aside| aside.exists()) {
        report.problem(&target.path, format!("it would be moved to {}, which exists", aside.display()));
        return;
    }
    match Change::put(target, &around.root, &around.manifest) {
        Ok(change) => changes.extend(change),
        Err(error) => report.problem(&target.path, format!("{error:#}")),
    }
}

fn take(target: &InitTarget, around: &Environment, changes: &mut Vec<Change>, report: &mut Report) {
    match Change::take(target, &around.manifest) {
        Ok(taking) => {
            changes.extend(taking.change);
            report.kept.extend(taking.kept.into_iter().map(|word| (target.path.clone(), word)));
        }
        Err(error) => report.problem(&target.path, format!("{error:#}")),
    }
}

/// What may be taken out: what is known here, and what was noted for places that are not used any more.
fn removable(args: &Args, wanted: Vec<InitTarget>, around: &Environment) -> Vec<InitTarget> {
    let mut targets: Vec<InitTarget> = wanted.into_iter().filter(|target| args.takes_out(target.kind)).collect();
    for target in &mut targets {
        // What was moved is moved back by what was noted.
        target.aside = None;
    }
    for record in around.manifest.list(&around.root) {
        let kind = Kind::named(&record.kind);
        if args.client.is_empty()
            && kind.is_some_and(|kind| args.takes_out(kind))
            && !targets.iter().any(|target| target.path == record.path)
        {
            targets.push(InitTarget::new(record.path, kind.unwrap_or(Kind::Server), Vec::new()));
        }
    }
    targets
}

/// What is asked for must be there; what was put in before must still be as it was.
fn check(args: &Args, wanted: &[InitTarget], around: &Environment, mut report: Report) -> Result<(), Failure> {
    for target in wanted {
        let record = around.manifest.find(&target.path);
        if !args.asks_for(target.kind) && record.is_none() {
            continue;
        }
        let text = match atomic_write::read(&target.path) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                report.problem(&target.path, format!("{error:#}"));
                continue;
            }
        };
        for piece in &target.pieces {
            match standing(piece, &text) {
                Ok(None) => {}
                Ok(Some(_)) if is_elsewhere(target, piece, &text) || is_as_put(piece, &text, record.as_ref()) => {}
                Ok(Some(what)) => report.drift.push(Drift { path: target.path.clone(), piece: piece.name(), what }),
                Err(why) => report.problem(&target.path, why),
            }
        }
        if target.make == atomic_write::FileMode::Executable
            && !text.is_empty()
            && !atomic_write::is_executable(&target.path)
        {
            let what = "git does not run it: it is not executable".to_owned();
            report.drift.push(Drift { path: target.path.clone(), piece: "mode".into(), what });
        }
    }
    report.print_check(args.json)?;
    match report.drift.len() + report.problems.len() {
        0 => Ok(()),
        1 => Err(anyhow!("one thing is not as it should be; `countersign init` sets it right").into()),
        several => {
            Err(anyhow!("{several} things are not as they should be; `countersign init` sets them right").into())
        }
    }
}

/// Put in with other options than those of today, and still calling this program.
fn is_as_put(piece: &Fragment, text: &str, record: Option<&ManifestEntry>) -> bool {
    let put = record.and_then(|record| record.pieces.get(&piece.name()));
    let now = piece.read(text).ok().flatten();
    now.is_some_and(|now| put == Some(&now) && piece.has_same_program(&now))
}

/// Missing here, and registered by the user for all projects.
fn is_elsewhere(target: &InitTarget, piece: &Fragment, text: &str) -> bool {
    let other = target.or_at.as_deref().and_then(|path| atomic_write::read(path).ok().flatten()).unwrap_or_default();
    matches!(piece.read(text), Ok(None)) && matches!(piece.read(&other), Ok(Some(_)))
}

fn standing(piece: &Fragment, text: &str) -> Result<Option<String>, String> {
    match piece.stands(text).map_err(|trouble| trouble.to_string())? {
        FragmentState::UpToDate => Ok(None),
        FragmentState::Missing => Ok(Some("missing".into())),
        FragmentState::Different(what) => Ok(Some(what)),
    }
}

/// Shows, asks and does it.
fn go_ahead(args: &Args, changes: &[Change], around: &Environment, mut report: Report) -> Result<(), Failure> {
    let has_work = changes.iter().any(|change| !change.is_silent());
    let may_write = |report: &Report| -> Result<bool, Failure> {
        if args.yes || !has_work {
            return Ok(!args.dry_run);
        }
        report.print(args.json, changes, false)?;
        if args.dry_run {
            return Ok(false);
        }
        ask()
    };
    if !may_write(&report)? {
        return report.ending();
    }
    let shown = has_work && !args.yes;
    let mut done = Vec::new();
    for change in changes {
        match change.apply(&around.manifest) {
            Ok(()) => done.push(change),
            Err(error) => report.problem(&change.path, format!("{error:#}")),
        }
    }
    if shown {
        report.print_done(args.json, done.len())?
    } else {
        report.print(args.json, changes, true)?
    }
    report.ending()
}

/// Only a person can say yes; a program says `--yes`.
fn ask() -> Result<bool, Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::new(USAGE, anyhow!("nothing is written: there is nobody to ask; --yes goes ahead")));
    }
    write!(io::stderr(), "Write this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        _ => Err(anyhow!("nothing is written").into()),
    }
}

/// As people write it: below the root, or from the home.
fn short(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
