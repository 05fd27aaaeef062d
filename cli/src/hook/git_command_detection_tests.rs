use super::{ActionKind, PriorEffect, git_actions};
use std::path::Path;

#[test]
fn earlier_commands_can_change_the_committed_files() {
    let is_unpredictable = |line: &str| {
        git_actions(line, Path::new("/r")).last().is_some_and(|action| action.prior_effect >= PriorEffect::Files)
    };
    for line in [
        "echo x > a; git commit",
        "cargo fmt && git commit",
        "git mv a b && git commit",
        "./make.sh && git commit",
        "bash make.sh; git commit",
        "git add \"$F\" && git commit",
        "$(rm a) && git commit",
        "cat <<EOF >a\nx\nEOF\ngit commit",
        "> a; git commit",
    ] {
        assert!(is_unpredictable(line), "{line}");
    }
    for line in [
        "git commit",
        "cd a && git status && git commit",
        "echo x >/dev/null 2>&1; git commit",
        "git add a && git commit",
        "A=b git commit",
        "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"",
    ] {
        assert!(!is_unpredictable(line), "{line}");
    }
}

#[test]
fn earlier_changes_of_the_index_or_the_folder_are_tracked() {
    let prior_effect = |line: &str| git_actions(line, Path::new("/r")).last().map(|action| action.prior_effect);
    let table = [
        ("git mv a b", PriorEffect::Index),
        ("git apply --cached p", PriorEffect::Index),
        ("git checkout main -- f", PriorEffect::Index),
        ("git restore --staged f", PriorEffect::Index),
        ("git update-index --add f", PriorEffect::Index),
        ("git read-tree x", PriorEffect::Index),
        ("git reset", PriorEffect::Index),
        ("git stash pop --index", PriorEffect::Index),
        ("git merge --squash x", PriorEffect::Index),
        ("git switch -c x", PriorEffect::Refs),
        ("git branch -f main x", PriorEffect::Refs),
        ("git branch --show-current", PriorEffect::None),
        ("git config user.name x", PriorEffect::Files),
        ("cd $R", PriorEffect::Directory),
        ("cd \"$(mktemp -d)\"", PriorEffect::Directory),
        ("(cd $R)", PriorEffect::None),
        ("cd $R && cd /x", PriorEffect::None),
        ("export GIT_DIR=/x", PriorEffect::Directory),
        ("false || cd /x", PriorEffect::Directory),
        ("cd /x | true", PriorEffect::Directory),
    ];
    for (line, expected) in table {
        assert_eq!(prior_effect(&format!("{line} && git commit")), Some(expected), "{line}");
    }
    for line in [
        "git -C $R commit",
        "GIT_DIR=/x git commit",
        "git --git-dir=/x commit",
        "cd /x & git commit",
        "HOME=/x git commit",
        "git -c core.bare=true commit",
    ] {
        assert_eq!(prior_effect(line), Some(PriorEffect::Directory), "{line}");
    }
}

/// `DIR KIND ARGS` of each action.
fn render(line: &str) -> String {
    let actions = git_actions(line, Path::new("/r"));
    let lines = actions.iter().map(|action| {
        let kind = match &action.kind {
            ActionKind::Stage(how) => (*how).to_owned(),
            ActionKind::Commit => "commit".to_owned(),
            ActionKind::Push => "push".to_owned(),
            ActionKind::PlumbingCommit => "plumbing commit".to_owned(),
            ActionKind::PlumbingPush => "plumbing push".to_owned(),
            ActionKind::Unknown(name) => format!("{name}?"),
        };
        let args = action.args.iter().map(|word| word.text.as_str());
        std::iter::once(action.dir.display().to_string())
            .chain([kind])
            .chain(args.map(str::to_owned))
            .collect::<Vec<_>>()
    });
    lines.map(|words| words.join(" ")).collect::<Vec<_>>().join("; ")
}

#[test]
fn commits_and_pushes_are_found_anywhere_in_a_line() {
    let table = [
        ("git commit -m x", "/r commit -m x"),
        ("git push origin main", "/r push origin main"),
        ("git -C sub commit", "/r/sub commit"),
        ("git send-pack ../x main", "/r plumbing push ../x main"),
        ("git commit-tree abc -m x", "/r plumbing commit abc -m x"),
        ("git update-ref refs/heads/x abc", "/r plumbing commit refs/heads/x abc"),
        ("git update-ref -d refs/heads/x", ""),
        ("git -c user.name=a --no-pager commit -a", "/r commit -a"),
        ("cd x && git commit", "/r/x commit"),
        ("cd x; cd /y; git push", "/y push"),
        ("(cd x && git commit) && git push", "/r/x commit; /r push"),
        ("A=b GIT_AUTHOR_DATE='now then' git commit", "/r commit"),
        ("env -C /q A=b git commit", "/q commit"),
        ("env -u X git push", "/r push"),
        ("sudo -u me git push", "/r push"),
        ("timeout -s KILL 5 git push", "/r push"),
        ("/usr/bin/git commit", "/r commit"),
        ("sh -c 'cd y && git commit -m \"a b\"' && git push", "/r/y commit -m a b; /r push"),
        ("bash -lc \"git commit\"", "/r commit"),
        ("bash <<EOF\ngit commit\nEOF", "/r commit"),
        ("eval 'git push'", "/r push"),
        ("if true; then git commit; fi", "/r commit"),
        ("! git commit", "/r commit"),
        ("git add -A && git commit -m x", "/r add -A; /r commit -m x"),
        ("out=$(git commit 2>&1)", "/r commit"),
        ("git ci -m x", "/r ci? -m x"),
        ("git $SUB", "/r commit"),
        ("$GIT commit", "/r commit"),
        ("git \"commit\"", "/r commit"),
        ("g\\it commit", "/r commit"),
        ("git commit -m 'open", "/r commit -m open; /r push".trim_end_matches("; /r push")),
        ("echo 'git commit", "/r commit"),
        ("cd \"$UNKNOWN\" && git commit", "/r commit"),
        ("xargs git push", "/r push "),
        ("echo commit -am x | xargs git", "/r commit"),
        ("bash -euo pipefail -c \"git add -A; git commit -m x\"", "/r add -A; /r commit -m x"),
        ("R=/repo; cd $R && git commit -am x", "/repo commit -am x"),
        ("R=/repo; git -C $R commit", "/repo commit"),
        ("pushd /tmp; popd; git commit", "/r commit"),
        ("cd /tmp && cd - && git commit", "/r commit"),
        ("echo \"git commit -am x\" | sh", "/r commit"),
        ("function f { git commit -am x; }; f", "/r commit -am x"),
        ("CMD=\"git commit -am x\"; $CMD", "/r commit -am x"),
        ("CMD=\"git commit -am x\"; bash -c \"$CMD\"", "/r commit -am x"),
        ("time -p git commit", "/r commit"),
        ("flock /tmp/l git commit", "/r commit"),
        ("flock /tmp/l -c 'git commit'", "/r commit"),
        ("env -S \"git commit -am x\"", "/r commit -am x"),
        ("env '-Sgit commit'", "/r commit"),
        ("trap \"git commit -am x\" EXIT", "/r commit -am x"),
        ("GIT_DIR=/x/.git GIT_WORK_TREE=/x git commit", "/r commit"),
        ("git -c alias.zz=commit zz -am x", "/r commit -am x"),
        ("git config alias.zz commit; git zz", "/r commit"),
        ("python3 -c \"run(['git', 'commit'])\"", "/r commit"),
        ("su me -c 'git push'", "/r push"),
        ("find . -exec git commit {} +", "/r commit"),
        ("python3 - <<E\nrun('git push')\nE", "/r push"),
    ];
    for (line, expected) in table {
        assert_eq!(render(line), expected, "{line}");
    }
}

#[test]
fn text_that_only_mentions_git_is_ignored() {
    for line in [
        "git status",
        "git log --grep commit",
        "echo git commit",
        "echo 'git commit'",
        "grep -r 'git push' .",
        "cat <<EOF\ngit commit\nEOF",
        "# git commit",
        "git help commit",
        "git --help",
        "gitk commit",
        "ls git commit",
        "git diff && cargo test",
        "git stash push",
        "rm src/git/commit.rs",
        "cargo test git_commit",
        "sed -n '/git commit/p' a.md",
        "countersign request --title 'git commit'",
        "cat >a.md <<EOF\ngit commit\nEOF",
        "",
    ] {
        assert_eq!(render(line), "", "{line}");
    }
}
