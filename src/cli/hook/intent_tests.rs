use super::{What, acts};
use std::path::Path;

#[test]
fn what_runs_before_may_change_what_is_committed() {
    let unseen = |line: &str| acts(line, Path::new("/r")).last().is_some_and(|act| act.unseen);
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
        assert!(unseen(line), "{line}");
    }
    for line in [
        "git commit",
        "cd a && git status && git commit",
        "echo x >/dev/null 2>&1; git commit",
        "git add a && git commit",
        "A=b git commit",
        "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"",
    ] {
        assert!(!unseen(line), "{line}");
    }
}

/// `DIR WHAT ARGS`, one for each.
fn found(line: &str) -> String {
    let acts = acts(line, Path::new("/r"));
    let shown = acts.iter().map(|act| {
        let what = match &act.what {
            What::Stage(how) => (*how).to_owned(),
            What::Commit => "commit".to_owned(),
            What::Push => "push".to_owned(),
            What::Unknown(name) => format!("{name}?"),
        };
        let args = act.args.iter().map(|word| word.text.as_str());
        std::iter::once(act.dir.display().to_string()).chain([what]).chain(args.map(str::to_owned)).collect::<Vec<_>>()
    });
    shown.map(|words| words.join(" ")).collect::<Vec<_>>().join("; ")
}

#[test]
fn commits_and_pushes_are_found_wherever_they_stand() {
    let table = [
        ("git commit -m x", "/r commit -m x"),
        ("git push origin main", "/r push origin main"),
        ("git -C sub commit", "/r/sub commit"),
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
        ("xargs git push", "/r push"),
    ];
    for (line, expected) in table {
        assert_eq!(found(line), expected, "{line}");
    }
}

#[test]
fn what_only_looks_like_one_is_left_alone() {
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
        "",
    ] {
        assert_eq!(found(line), "", "{line}");
    }
}
