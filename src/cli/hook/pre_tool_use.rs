//! PriorEffect an agent runs a command: is it a commit or a push of something that nobody has approved?

use super::{
    Gated,
    git::failing,
    git_actions::{ActionKind, GitAction, PriorEffect, git_actions},
    index_simulation::{CommitOptions, IndexSimulation},
    protocol::{HookInput, answer, in_time, is_reviewer},
    shell::Word,
};
use crate::{
    cli::{
        Failure,
        gate::{Answer, Judge, Landing, Needless, Point, Update, is_required, judge_push, settings, told},
        place::Place,
    },
    config::Fail,
};
use git::UserRepo;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

const MAX_ALIASES: usize = 20;

const HOW: &str = "Countersign: nothing lands here before a second reviewer has approved exactly this change. \
                   Stage what you mean to commit, submit it (`countersign request --staged`, or the tool create_review \
                   with the output of `git diff --cached`), wait for the verdict (`countersign wait R-…`), answer what \
                   is asked, and run the same command again with nothing changed in between.";

const UNSEEN: &str = "no: this command line changes files or what is staged, or names them by variables, before it commits \
                      them, so nobody can tell yet what it would commit\nnext: commit with a command of its own\n";

const UNSEEN_PUSH: &str = "no: this command line changes something before it pushes, so nobody can tell yet what it would \
                           push\nnext: push with a command of its own\n";

const NOWHERE: &str = "no: nobody can tell in which folder this command line commits or pushes\nnext: name the folder as \
                       it is, without variables\n";

pub(super) async fn run(args: Gated) -> Result<(), Failure> {
    let decided = if is_reviewer() { Ok(None) } else { in_time(decide(&args.place)).await };
    let decided = match decided {
        Err(error) if failing(args.failing.chosen(), &args.place) == Fail::Closed => {
            Ok(Some(deny(&format!("Countersign could not tell whether this is approved: {error:#}"))))
        }
        other => other.map(|reason| reason.map(|reason| deny(&reason))),
    };
    answer(decided);
    Ok(())
}

fn deny(reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    }})
}

/// Why not; `None` is no opinion.
async fn decide(place: &Place) -> anyhow::Result<Option<String>> {
    let input = HookInput::read()?;
    let Some(line) = command_line(&input.tool_input) else { return Ok(None) };
    let dir = input.dir()?;
    let mut acts = git_actions(&line, &dir);
    if acts.iter().all(|act| matches!(act.what, ActionKind::Stage(_))) {
        return Ok(None);
    }
    let mut aliases = 0;
    let mut stages: HashMap<PathBuf, IndexSimulation> = HashMap::new();
    let mut refused = Vec::new();
    while !acts.is_empty() {
        let mut act = acts.remove(0);
        let Some(repo) = place_of(&mut act, &dir).await else {
            // Outside of a repository git itself will say so.
            let lands = matches!(act.what, ActionKind::Commit | ActionKind::Push);
            refused.extend((lands && act.before == PriorEffect::Directory).then(|| NOWHERE.to_owned()));
            continue;
        };
        let stage = match stages.entry(repo.root().to_owned()) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(IndexSimulation::new(&repo).await?),
        };
        match &act.what {
            ActionKind::Stage(how) => stage.stage(&act.dir, how, &act.args).await?,
            ActionKind::Commit => refused.extend(judge_commit(place, &repo, stage, &act).await?),
            ActionKind::Push => refused.extend(judge_pushing(place, &repo, &act).await?),
            // They may stand for each other.
            ActionKind::Unknown(_) if aliases == MAX_ALIASES => {}
            ActionKind::Unknown(name) => {
                aliases += 1;
                let meant = alias(&repo, name, &act).await?;
                acts.splice(0..0, meant);
            }
        }
    }
    Ok((!refused.is_empty()).then(|| format!("{}{HOW}", refused.concat())))
}

/// The repository that it works in. A `cd` to a folder that is not there leaves the shell where it was.
async fn place_of(act: &mut GitAction, dir: &Path) -> Option<UserRepo> {
    if let Ok(repo) = UserRepo::find(&act.dir).await {
        return Some(repo);
    }
    if act.dir.is_dir() && act.before != PriorEffect::Directory {
        return None;
    }
    let repo = UserRepo::find(dir).await.ok()?;
    act.before = PriorEffect::Directory;
    dir.clone_into(&mut act.dir);
    Some(repo)
}

/// A shell's line, or the words of a program with `sh -c` among them.
fn command_line(input: &Value) -> Option<String> {
    let command = [&input["command"], &input["cmd"]].into_iter().find(|value| !value.is_null())?;
    match command {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).map(quoted).collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The settings are those of the repository that the command works in.
async fn judge(place: &Place, repo: &UserRepo) -> anyhow::Result<Judge> {
    let place = Place { repo: Some(repo.root().to_owned()), ..place.clone() };
    Judge::open(repo, &settings(&place)?).await
}

async fn judge_commit(
    place: &Place,
    repo: &UserRepo,
    stage: &IndexSimulation,
    act: &GitAction,
) -> anyhow::Result<Option<String>> {
    let words = CommitOptions::read(&act.args);
    if (words.nothing && !words.unsure) || !is_required(Point::Commit, repo).await {
        return Ok(None);
    }
    let judged = judge(place, repo).await?.judge(stage.commit(&act.dir, &words).await?).await?;
    if !judged.passes() {
        return Ok(Some(told(&[judged])));
    }
    // ActionKind is staged already stays so, whatever else the line does; files may not.
    let empty = matches!(judged.answer, Answer::Needless(Needless::Empty)) && !words.amend && !words.allow_empty;
    let reads_files = words.all || !words.paths.is_empty() || stage.has_staged() || empty;
    let open = match act.before {
        PriorEffect::None | PriorEffect::Refs => false,
        PriorEffect::Files => reads_files,
        PriorEffect::Index | PriorEffect::Directory => true,
    };
    Ok((words.unsure || stage.is_unsure() || open).then(|| UNSEEN.to_owned()))
}

async fn judge_pushing(place: &Place, repo: &UserRepo, act: &GitAction) -> anyhow::Result<Option<String>> {
    if !is_required(Point::Push, repo).await {
        return Ok(None);
    }
    let words: Vec<&str> = act.args.iter().filter(|word| !word.uncertain).map(|word| word.text.as_str()).collect();
    let has = |long: &str, short: &str| words.iter().any(|word| *word == long || *word == short);
    if has("--dry-run", "-n") || has("--delete", "-d") || has("--help", "-h") {
        return Ok(None);
    }
    let (remote, sources) = push_words(&act.args);
    let names = match sources {
        Some(names) => names,
        None => {
            let refs = repo.git(["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/tags"]).await?;
            refs.lines().map(Into::into).chain(["HEAD".to_owned()]).collect()
        }
    };
    let mut updates = Vec::new();
    for name in names {
        // ActionKind cannot be pushed, git will refuse by itself.
        if let Ok(Landing { commit: Some(local), .. }) = Landing::commit(repo, &name).await {
            updates.push(Update { local, remote: None });
        }
    }
    let remote = match remote {
        Some(remote) => remote,
        None => usual_remote(repo).await?,
    };
    let judged = judge_push(&mut judge(place, repo).await?, Some(&remote), &updates).await?;
    if judged.iter().any(|judged| !judged.passes()) {
        return Ok(Some(told(&judged)));
    }
    Ok((act.before > PriorEffect::None).then(|| UNSEEN_PUSH.to_owned()))
}

/// Where git pushes to when nobody says.
async fn usual_remote(repo: &UserRepo) -> anyhow::Result<String> {
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

/// The remote, and what is pushed to it: HEAD unless refspecs say otherwise. `None` may be every branch and tag.
fn push_words(words: &[Word]) -> (Option<String>, Option<Vec<String>>) {
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
    // `:` is every branch that both have.
    if all || specs.iter().any(|spec| *spec == ":" || spec.contains(['*', '?', '[', '{'])) {
        return (remote, None);
    }
    // `:branch` deletes it.
    let sources = specs.iter().filter_map(|spec| spec.split(':').next()).filter(|source| !source.is_empty());
    let sources = if specs.is_empty() { vec!["HEAD".to_owned()] } else { sources.map(str::to_owned).collect() };
    (remote, Some(sources))
}

/// ActionKind the user has made of a subcommand that git does not have.
async fn alias(repo: &UserRepo, name: &str, act: &GitAction) -> anyhow::Result<Vec<GitAction>> {
    let key = format!("alias.{name}");
    let said = repo.try_git(["config", "--get", &key]).await?;
    if !said.success {
        return Ok(Vec::new());
    }
    let rest = act.args.iter().map(|word| quoted(&word.text)).collect::<Vec<_>>().join(" ");
    let line = match said.text().strip_prefix('!') {
        Some(shell) => format!("{shell} {rest}"),
        None => format!("git {} {rest}", said.text()),
    };
    let again = |act: &GitAction| act.what != ActionKind::Unknown(name.to_owned());
    let later = |meant: GitAction| GitAction { before: meant.before.max(act.before), ..meant };
    Ok(git_actions(&line, &act.dir).into_iter().filter(again).map(later).collect())
}

#[cfg(test)]
mod tests {
    use super::{command_line, push_words};
    use crate::cli::hook::shell::Word;
    use serde_json::json;

    #[test]
    fn a_push_is_of_head_unless_refspecs_say_otherwise() {
        let read = |line: &str| {
            let word = |text: &str| Word { text: text.into(), ..Word::default() };
            push_words(&line.split_whitespace().map(word).collect::<Vec<_>>())
        };
        let origin = || Some("origin".to_owned());
        assert_eq!(read(""), (None, Some(vec!["HEAD".to_owned()])));
        assert_eq!(read("-u origin main"), (origin(), Some(vec!["main".to_owned()])));
        assert_eq!(read("origin +a:b c"), (origin(), Some(vec!["a".to_owned(), "c".to_owned()])));
        assert_eq!(read("-o x origin :gone"), (origin(), Some(Vec::new())));
        for line in ["--tags origin", "--all origin", "origin :", "origin +:", "origin refs/heads/*:refs/heads/*"] {
            assert_eq!(read(line), (origin(), None), "{line}");
        }
    }

    #[test]
    fn a_command_is_a_line_or_words() {
        assert_eq!(command_line(&json!({ "command": "git x" })).unwrap(), "git x");
        assert_eq!(command_line(&json!({ "command": ["bash", "-lc", "it's"] })).unwrap(), r"'bash' '-lc' 'it'\''s'");
        assert_eq!(command_line(&json!({ "file_path": "a" })), None);
    }
}
