//! The `PreToolUse` hook: denies a shell command that would commit or push changes without an approval.

use super::{
    Gated,
    agent_hook_protocol::{HookInput, HookOutput, is_reviewer, print, quote, with_timeout},
    git_command_detection::{ActionKind, GitAction, PriorEffect, git_actions},
    git_hooks::{fail_mode, is_required},
    index_simulation::{CommitOptions, IndexSimulation},
    shell_parser::Word,
};
use crate::{
    commands::gate::{load_config, open_gate},
    config_overrides::ConfigArgs,
    render::gate::report,
};
use config::{FailMode, planning_file::GitPoint};
use gate::{Decision, Exemption, Gate, Outcome, PushUpdate};
use git::UserRepo;
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

pub(super) async fn run(args: Gated) {
    let denial = if is_reviewer() { Ok(None) } else { with_timeout(find_denial(&args.config)).await };
    print(match denial {
        Err(error) if fail_mode(args.fail_mode.chosen(), &args.config) == FailMode::Closed => {
            Ok(HookOutput::deny(format!("Countersign cannot check for an approval: {error:#}")))
        }
        Err(error) => Err(error),
        Ok(Some(reason)) => Ok(HookOutput::deny(reason)),
        Ok(None) => Ok(HookOutput::default()),
    });
}

/// Why the command is denied, if it is.
async fn find_denial(config_overrides: &ConfigArgs) -> anyhow::Result<Option<String>> {
    let input = HookInput::from_stdin()?;
    let Some(line) = input.command_line() else { return Ok(None) };
    let dir = input.dir()?;
    let mut actions = git_actions(&line, &dir);
    if actions.iter().all(|action| matches!(action.kind, ActionKind::Stage(_))) {
        return Ok(None);
    }
    let mut aliases = 0;
    let mut indexes: HashMap<PathBuf, IndexSimulation> = HashMap::new();
    let mut reasons = Vec::new();
    while !actions.is_empty() {
        let mut action = actions.remove(0);
        let Some(repo) = repo_of(&mut action, &dir).await else {
            // Outside of a repository git itself fails.
            let lands = matches!(action.kind, ActionKind::Commit | ActionKind::Push);
            reasons.extend((lands && action.prior_effect == PriorEffect::Directory).then(|| UNKNOWN_FOLDER.to_owned()));
            continue;
        };
        let index = match indexes.entry(repo.root().to_owned()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(IndexSimulation::new(&repo).await?),
        };
        match &action.kind {
            ActionKind::Stage(how) => index.stage(&action.dir, how, &action.args).await?,
            ActionKind::Commit => reasons.extend(check_commit(config_overrides, &repo, index, &action).await?),
            ActionKind::Push => reasons.extend(check_push(config_overrides, &repo, &action).await?),
            ActionKind::Unknown(_) if aliases == MAX_ALIASES => {}
            ActionKind::Unknown(name) => {
                aliases += 1;
                let expanded = expand_alias(&repo, name, &action).await?;
                actions.splice(0..0, expanded);
            }
        }
    }
    Ok((!reasons.is_empty()).then(|| format!("{}{HOW_TO_GET_APPROVAL}", reasons.concat())))
}

/// The repository that the action works in. After a `cd` to a missing folder the shell stays where it was.
async fn repo_of(action: &mut GitAction, dir: &Path) -> Option<UserRepo> {
    if let Ok(repo) = UserRepo::find(&action.dir).await {
        return Some(repo);
    }
    if action.dir.is_dir() && action.prior_effect != PriorEffect::Directory {
        return None;
    }
    let repo = UserRepo::find(dir).await.ok()?;
    action.prior_effect = PriorEffect::Directory;
    dir.clone_into(&mut action.dir);
    Some(repo)
}

/// Uses the settings of the repository that the command works in.
async fn open_repo_gate(config_overrides: &ConfigArgs, repo: &UserRepo) -> anyhow::Result<Gate> {
    let config_overrides = ConfigArgs { repo: Some(repo.root().to_owned()), ..config_overrides.clone() };
    open_gate(repo, &load_config(&config_overrides)?).await
}

async fn check_commit(
    config_overrides: &ConfigArgs,
    repo: &UserRepo,
    index: &IndexSimulation,
    action: &GitAction,
) -> anyhow::Result<Option<String>> {
    let options = CommitOptions::parse(&action.args);
    if (options.commits_nothing && !options.is_uncertain) || !is_required(GitPoint::Commit, repo).await {
        return Ok(None);
    }
    let decision =
        open_repo_gate(config_overrides, repo).await?.decide(index.commit(&action.dir, &options).await?).await?;
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

async fn check_push(
    config_overrides: &ConfigArgs,
    repo: &UserRepo,
    action: &GitAction,
) -> anyhow::Result<Option<String>> {
    if !is_required(GitPoint::Push, repo).await {
        return Ok(None);
    }
    let words: Vec<&str> = action.args.iter().filter(|word| !word.uncertain).map(|word| word.text.as_str()).collect();
    let has = |long: &str, short: &str| words.iter().any(|word| *word == long || *word == short);
    if has("--dry-run", "-n") || has("--delete", "-d") || has("--help", "-h") {
        return Ok(None);
    }
    let (remote, sources) = parse_push(&action.args);
    let names = match sources {
        Some(names) => names,
        None => {
            let refs = repo.git(["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/tags"]).await?;
            refs.lines().map(Into::into).chain(["HEAD".to_owned()]).collect()
        }
    };
    let mut updates = Vec::new();
    for name in names {
        // Git itself refuses a name that does not exist.
        if let Ok(Some(local)) = repo.resolve_commit(&name).await {
            updates.push(PushUpdate { local, remote: None });
        }
    }
    let remote = match remote {
        Some(remote) => remote,
        None => default_remote(repo).await?,
    };
    let decisions = open_repo_gate(config_overrides, repo).await?.decide_push(Some(&remote), &updates).await?;
    if !decisions.iter().all(Decision::passes) {
        return Ok(Some(report(&decisions)));
    }
    Ok((action.prior_effect > PriorEffect::None).then(|| UNCHECKABLE_PUSH.to_owned()))
}

/// The remote that git pushes to if the command names none.
async fn default_remote(repo: &UserRepo) -> anyhow::Result<String> {
    let branch = repo.try_git(["symbolic-ref", "--quiet", "--short", "HEAD"]).await?.text();
    let keys =
        [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned(), format!("branch.{branch}.remote")];
    for key in &keys {
        let set = repo.try_git(["config", "--get", key]).await?;
        if set.success {
            return Ok(set.text());
        }
    }
    Ok("origin".to_owned())
}

/// The remote and the pushed revisions: HEAD unless there are refspecs. `None` means any branch or tag.
fn parse_push(words: &[Word]) -> (Option<String>, Option<Vec<String>>) {
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
    let sources = specs.iter().filter_map(|spec| spec.split(':').next()).filter(|source| !source.is_empty());
    let sources = if specs.is_empty() { vec!["HEAD".to_owned()] } else { sources.map(str::to_owned).collect() };
    (remote, Some(sources))
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
    use super::parse_push;
    use crate::hook::shell_parser::Word;

    #[test]
    fn a_push_without_refspecs_pushes_head() {
        let parse = |line: &str| {
            let word = |text: &str| Word { text: text.into(), ..Word::default() };
            parse_push(&line.split_whitespace().map(word).collect::<Vec<_>>())
        };
        let origin = || Some("origin".to_owned());
        assert_eq!(parse(""), (None, Some(vec!["HEAD".to_owned()])));
        assert_eq!(parse("-u origin main"), (origin(), Some(vec!["main".to_owned()])));
        assert_eq!(parse("origin +a:b c"), (origin(), Some(vec!["a".to_owned(), "c".to_owned()])));
        assert_eq!(parse("-o x origin :gone"), (origin(), Some(Vec::new())));
        for line in ["--tags origin", "--all origin", "origin :", "origin +:", "origin refs/heads/*:refs/heads/*"] {
            assert_eq!(parse(line), (origin(), None), "{line}");
        }
    }
}
