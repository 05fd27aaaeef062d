//! The `PreToolUse` hook: denies a shell command that would commit or push changes without an approval.

use super::{
    Gated,
    agent_hook_protocol::{HOOK_TIMEOUT, HookInput, HookOutput, is_reviewer, print, quote},
    git_command_detection::{ActionKind, GitAction, PriorEffect, git_actions},
    git_hooks::{is_commit_checked, load_settings},
    index_simulation::{CommitOptions, IndexSimulation},
    shell_parser::Word,
};
use crate::{
    approval_source_args::SourceArgs,
    commands::gate::find_remote,
    gate_settings::{Caller, GateFailure},
    render::gate::report,
};
use anyhow::anyhow;
use config::FailMode;
use gate::{Decision, Exemption, Gate, Outcome, PushUpdate};
use git::{RepoLocation, UserRepo};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Aliases can refer to each other.
const MAX_ALIASES: usize = 20;

const HOW_TO_GET_APPROVAL: &str = "Countersign: a change lands in this repository after a reviewer has approved exactly that change. Stage it, submit \
     it (`countersign request --staged`, or the tool create_review with the output of `git diff --cached`), wait for \
     the verdict (`countersign wait R-…`), answer the reviewer's questions, and run the command again without changing \
     anything in between.";

const UNCHECKABLE_COMMIT: &str = "blocked: this command changes files or the index before it commits, or uses variables, so the commit cannot be \
     checked in advance\nnext: run `git commit` as a separate command\n";

const UNCHECKABLE_PUSH: &str = "blocked: this command changes the repository before it pushes, so the push cannot be checked in advance\nnext: run \
     `git push` as a separate command\n";

const UNKNOWN_FOLDER: &str = "blocked: the folder in which this command commits or pushes depends on variables\nnext: write the path of the \
     folder into the command\n";

const PLUMBING_COMMIT: &str =
    "blocked: this command makes a commit or moves a branch without git's own checks\nnext: use `git commit`\n";

const PLUMBING_PUSH: &str = "blocked: this command pushes without git's own checks\nnext: use `git push`\n";

/// Why the hook has no answer, and what that means.
struct Failure {
    failure: GateFailure,
    fail: FailMode,
}

pub(super) async fn run(args: Gated) {
    if is_reviewer() {
        return print(Ok(HookOutput::default()));
    }
    let denial = match tokio::time::timeout(HOOK_TIMEOUT, find_denial(&args)).await {
        Ok(denial) => denial,
        Err(_) => {
            let failure = GateFailure::Unreadable(anyhow!("the check timed out"));
            Err(Failure { failure, fail: FailMode::Closed })
        }
    };
    print(match denial {
        Err(Failure { failure: GateFailure::Unavailable(error), fail: FailMode::Open }) => Err(error),
        Err(Failure { failure, .. }) => {
            Ok(HookOutput::deny(format!("Countersign cannot check for an approval: {:#}", failure.error())))
        }
        Ok(Some(reason)) => Ok(HookOutput::deny(reason)),
        Ok(None) => Ok(HookOutput::default()),
    });
}

/// A repository that a command works in.
struct RepoState {
    gate: Gate,
    /// Without the variables of this process: the command has its own.
    user: UserRepo,
    index: IndexSimulation,
}

/// Why the command is denied, if it is.
async fn find_denial(args: &Gated) -> Result<Option<String>, Failure> {
    let unavailable = |error| Failure {
        failure: GateFailure::Unavailable(error),
        fail: load_settings(args, None, Caller::AgentHook).1,
    };
    let input = HookInput::from_stdin().map_err(unavailable)?;
    let Some(line) = input.command_line() else { return Ok(None) };
    let dir = input.dir().map_err(unavailable)?;
    let mut actions = git_actions(&line, &dir);
    if actions.iter().all(|action| matches!(action.kind, ActionKind::Stage(_))) {
        return Ok(None);
    }
    let mut aliases = 0;
    let mut repos: HashMap<PathBuf, RepoState> = HashMap::new();
    let mut reasons = Vec::new();
    while !actions.is_empty() {
        let mut action = actions.remove(0);
        let lands = !matches!(action.kind, ActionKind::Stage(_) | ActionKind::Unknown(_));
        let Some(location) = repo_of(&mut action, &dir) else {
            // Outside of a repository git itself fails.
            reasons.extend((lands && action.prior_effect == PriorEffect::Directory).then(|| UNKNOWN_FOLDER.to_owned()));
            continue;
        };
        let (settings, fail) = load_settings(args, Some(&location), Caller::AgentHook);
        let failed = |failure| Failure { failure, fail };
        let repo = match repos.entry(location.root().to_owned()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let settings = settings.map_err(|error| failed(GateFailure::Unavailable(error)))?;
                let gate =
                    settings.open_gate(&location, &SourceArgs::default(), Caller::AgentHook).await.map_err(failed)?;
                let user = UserRepo::without_git_variables(location.root());
                let index = IndexSimulation::new(&user).await;
                let index = index.map_err(|error| failed(GateFailure::Unreadable(error)))?;
                entry.insert(RepoState { gate, user, index })
            }
        };
        let unreadable = |error| failed(GateFailure::Unreadable(error));
        match &action.kind {
            ActionKind::Stage(how) => repo.index.stage(&action.dir, how, &action.args).await.map_err(unreadable)?,
            ActionKind::Commit => reasons.extend(as_denial(check_commit(repo, &action).await).map_err(failed)?),
            ActionKind::Push => reasons.extend(as_denial(check_push(repo, &action).await).map_err(failed)?),
            ActionKind::PlumbingCommit => reasons.push(PLUMBING_COMMIT.to_owned()),
            ActionKind::PlumbingPush => reasons.push(PLUMBING_PUSH.to_owned()),
            ActionKind::Unknown(_) if aliases == MAX_ALIASES => {}
            ActionKind::Unknown(name) => {
                aliases += 1;
                let expanded = expand_alias(&repo.user, name, &action).await.map_err(unreadable)?;
                actions.splice(0..0, expanded);
            }
        }
    }
    Ok((!reasons.is_empty()).then(|| format!("{}{HOW_TO_GET_APPROVAL}", reasons.concat())))
}

/// What the repository prevents from being checked is denied, together with the other reasons.
fn as_denial(checked: Result<Option<String>, GateFailure>) -> Result<Option<String>, GateFailure> {
    match checked {
        Err(GateFailure::Unreadable(error)) => Ok(Some(format!("blocked: cannot check for an approval: {error:#}\n"))),
        checked => checked,
    }
}

/// The repository that the action works in, found by its files. After a `cd` to a missing folder the shell stays where
/// it was.
fn repo_of(action: &mut GitAction, dir: &Path) -> Option<RepoLocation> {
    if let Ok(location) = RepoLocation::find(&action.dir) {
        return Some(location);
    }
    if action.dir.is_dir() && action.prior_effect != PriorEffect::Directory {
        return None;
    }
    let location = RepoLocation::find(dir).ok()?;
    action.prior_effect = PriorEffect::Directory;
    dir.clone_into(&mut action.dir);
    Some(location)
}

async fn check_commit(repo: &mut RepoState, action: &GitAction) -> Result<Option<String>, GateFailure> {
    let RepoState { gate, index, .. } = repo;
    let options = CommitOptions::parse(&action.args);
    if (options.commits_nothing && !options.is_uncertain) || !is_commit_checked(gate).await? {
        return Ok(None);
    }
    let candidate = index.commit(gate, &action.dir, &options).await.map_err(GateFailure::Unreadable)?;
    let decision = gate.decide(candidate).await?;
    if !decision.passes() {
        return Ok(Some(report(&[decision])));
    }
    // Files that are staged already are safe from the rest of the line; files in the work tree are not.
    let empty =
        matches!(decision.outcome, Outcome::Exempt(Exemption::NoChange)) && !options.amend && !options.allow_empty;
    let reads_files = options.all || !options.paths.is_empty() || index.has_staged || empty;
    let may_change = match action.prior_effect {
        PriorEffect::None | PriorEffect::Refs => false,
        PriorEffect::Files => reads_files,
        PriorEffect::Index | PriorEffect::Directory => true,
    };
    Ok((options.is_uncertain || index.is_uncertain || may_change).then(|| UNCHECKABLE_COMMIT.to_owned()))
}

async fn check_push(repo: &mut RepoState, action: &GitAction) -> Result<Option<String>, GateFailure> {
    let RepoState { gate, user, .. } = repo;
    let words: Vec<&str> = action.args.iter().filter(|word| !word.uncertain).map(|word| word.text.as_str()).collect();
    let has = |long: &str, short: &str| words.iter().any(|word| *word == long || *word == short);
    if has("--dry-run", "-n") || has("--delete", "-d") || has("--help", "-h") {
        return Ok(None);
    }
    let (remote, specs) = parse_push(&action.args);
    let (updates, remote) = async {
        let specs = match specs {
            Some(specs)
                if specs != [RefSpec::from("HEAD")] || !pushes_more_than_head(user, remote.as_deref()).await? =>
            {
                specs
            }
            Some(_) | None => {
                let refs = user.git(["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/tags"]).await?;
                refs.lines().chain(["HEAD"]).map(RefSpec::from).collect()
            }
        };
        let mut updates = Vec::new();
        for RefSpec { source, name } in specs {
            let object = user.try_git(["rev-parse", "--verify", "--quiet", "--end-of-options", &source]).await?;
            // Git itself refuses a name that does not exist.
            if object.success {
                updates.push(PushUpdate { name, local: object.text(), remote: None });
            }
        }
        anyhow::Ok((updates, find_remote(user, remote.as_deref()).await?))
    }
    .await
    .map_err(GateFailure::Unreadable)?;
    let decisions = gate.decide_push(&remote, &updates).await?;
    if !decisions.iter().all(Decision::passes) {
        return Ok(Some(report(&decisions)));
    }
    Ok((action.prior_effect > PriorEffect::None).then(|| UNCHECKABLE_PUSH.to_owned()))
}

/// Whether the settings make a push without refspecs push other branches.
async fn pushes_more_than_head(repo: &UserRepo, remote: Option<&str>) -> anyhow::Result<bool> {
    let pattern = r"^(push\.default|remote\..*\.(push|mirror))$";
    let settings = repo.try_git(["config", "--get-regexp", pattern]).await?.text();
    let of_remote = |key: &str| remote.is_none_or(|name| key.starts_with(&format!("remote.{name}.")));
    Ok(settings.lines().filter_map(|line| line.split_once(' ')).any(|(key, value)| match key {
        "push.default" => value == "matching",
        key => of_remote(key) && value != "false",
    }))
}

/// What a push reads, and the name that it gets on the remote, as far as the command says it.
#[derive(Debug, PartialEq, Eq)]
struct RefSpec {
    source: String,
    name: String,
}

impl From<&str> for RefSpec {
    fn from(spec: &str) -> Self {
        let (source, name) = spec.split_once(':').unwrap_or((spec, spec));
        Self { source: source.to_owned(), name: name.to_owned() }
    }
}

/// The remote and what is pushed: HEAD unless there are refspecs. `None` means any branch or tag.
fn parse_push(words: &[Word]) -> (Option<String>, Option<Vec<RefSpec>>) {
    const WITH_VALUE: &[&str] = &["-o", "--push-option", "--receive-pack", "--exec", "--repo"];
    const ALL: &[&str] = &["--all", "--branches", "--mirror", "--tags"];
    let mut plain = Vec::new();
    let mut all = words.iter().any(|word| word.uncertain);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            text if WITH_VALUE.contains(&text) => {
                words.next();
            }
            text if text.starts_with('-') => all |= ALL.contains(&text),
            text => plain.push((text, word.uncertain)),
        }
    }
    let remote = plain.first().filter(|(_, uncertain)| !uncertain).map(|(name, _)| (*name).to_owned());
    let specs: Vec<&str> = plain.iter().skip(1).map(|(spec, _)| spec.trim_start_matches('+')).collect();
    // `:` pushes every branch that exists on both sides.
    if all || specs.iter().any(|spec| *spec == ":" || spec.contains(['*', '?', '[', '{'])) {
        return (remote, None);
    }
    // `:branch` deletes the remote branch.
    let named = specs.iter().map(|spec| RefSpec::from(*spec)).filter(|spec| !spec.source.is_empty());
    (remote, Some(if specs.is_empty() { vec![RefSpec::from("HEAD")] } else { named.collect() }))
}

/// The actions of a git alias of the user.
async fn expand_alias(repo: &UserRepo, name: &str, action: &GitAction) -> anyhow::Result<Vec<GitAction>> {
    let key = format!("alias.{name}");
    let value = repo.try_git(["config", "--get", &key]).await?;
    if !value.success {
        return Ok(Vec::new());
    }
    let rest = action.args.iter().map(|word| quote(&word.text)).collect::<Vec<_>>().join(" ");
    let line = match value.text().strip_prefix('!') {
        Some(shell) => format!("{shell} {rest}"),
        None => format!("git {} {rest}", value.text()),
    };
    let is_other = |action: &GitAction| action.kind != ActionKind::Unknown(name.to_owned());
    let after_earlier =
        |inner: GitAction| GitAction { prior_effect: inner.prior_effect.max(action.prior_effect), ..inner };
    Ok(git_actions(&line, &action.dir).into_iter().filter(is_other).map(after_earlier).collect())
}

#[cfg(test)]
mod tests {
    use super::{RefSpec, parse_push};
    use crate::hook::shell_parser::Word;

    #[test]
    fn a_push_without_refspecs_pushes_head() {
        let parse = |line: &str| {
            let word = |text: &str| Word { text: text.into(), ..Word::default() };
            parse_push(&line.split_whitespace().map(word).collect::<Vec<_>>())
        };
        let origin = || Some("origin".to_owned());
        let spec = |source: &str, name: &str| RefSpec { source: source.to_owned(), name: name.to_owned() };
        assert_eq!(parse(""), (None, Some(vec![spec("HEAD", "HEAD")])));
        assert_eq!(parse("-u origin main"), (origin(), Some(vec![spec("main", "main")])));
        assert_eq!(parse("origin +a:b c"), (origin(), Some(vec![spec("a", "b"), spec("c", "c")])));
        assert_eq!(parse("-o x origin :gone"), (origin(), Some(Vec::new())));
        for line in ["--tags origin", "--all origin", "origin :", "origin +:", "origin refs/heads/*:refs/heads/*"] {
            assert_eq!(parse(line), (origin(), None), "{line}");
        }
    }
}
