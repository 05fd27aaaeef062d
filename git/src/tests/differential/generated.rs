//! Generated repositories in every form that git can store.

use super::*;
use crate::tests::{STEPS, VARIANTS};

/// Each step as a commit. Returns the ids, oldest first.
pub(super) fn commit_steps(repo: &TestRepo) -> Vec<String> {
    let commit = |(_, change): &(_, fn(&TestRepo))| {
        change(repo);
        repo.commit()
    };
    STEPS.iter().map(commit).collect()
}

/// Compares every step in `project`, a form of the repository that has these commits.
async fn compare_steps(project: &Path, commits: &[String], variants: &[&[&str]]) -> Comparison {
    let mut comparison = Comparison::open(project).await;
    for (pair, (step, _)) in commits.windows(2).zip(&STEPS[1..]) {
        for variant in variants {
            let Ok(diff) = try_diff(project, variant, &pair[0], &pair[1]) else { continue };
            let tree = comparison.compare(&format!("{step} {variant:?}"), Some(&pair[0]), &diff).await;
            assert_eq!(tree.unwrap(), git_in(project, &["rev-parse", &format!("{}^{{tree}}", pair[1])]), "{step}");
        }
    }
    comparison
}

/// A diff that is text.
fn try_diff(project: &Path, variant: &[&str], from: &str, to: &str) -> Result<String, std::string::FromUtf8Error> {
    let output = git_command(project).args([variant, &[from, to]].concat()).output().unwrap();
    String::from_utf8(output.stdout)
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_every_kind_of_diff() {
    for format in ["sha1", "sha256"] {
        let repo = TestRepo::with_format(format);
        let commits = commit_steps(&repo);
        let mut comparison = compare_steps(&repo.project, &commits, &VARIANTS).await;
        let mails =
            repo.git(&["format-patch", "--stdout", "--binary", "-M", &format!("{}..{}", commits[0], commits[15])]);
        comparison.compare("mails", Some(&commits[0]), &mails).await.unwrap();
        comparison.report(format);
        // Git applies one more with `--unidiff-zero`, which it tries only after the first way failed. Binary patches
        // without full ids are the others.
        assert!(comparison.same > 145, "{:?}", comparison.declined);
    }
}

/// Ways to store the same commits: a name, and a function that returns the folder to open.
type Form = (&'static str, fn(&TestRepo) -> PathBuf);

const FORMS: [Form; 8] = [
    ("loose", |repo| repo.project.clone()),
    ("packed", |repo| {
        repo.git(&["repack", "-a", "-d", "--quiet", "--depth=50"]);
        repo.git(&["pack-refs", "--all"]);
        repo.project.clone()
    }),
    ("several packs with a multi-pack index", |repo| {
        for number in ["3", "9", "20"] {
            let list = repo.git(&["rev-list", "--objects", &format!("HEAD~{number}")]);
            let ids: String = list.lines().map(|line| line.split(' ').next().unwrap().to_owned() + "\n").collect();
            fs::write(repo.repo.beside("ids"), ids).unwrap();
            let pack = "git pack-objects --quiet .git/objects/pack/pack < ../ids";
            let mut shell = std::process::Command::new("sh");
            assert!(shell.args(["-c", pack]).current_dir(&repo.project).output().unwrap().status.success());
        }
        repo.git(&["multi-pack-index", "write"]);
        repo.git(&["prune-packed", "--quiet"]);
        repo.project.clone()
    }),
    ("linked worktree", |repo| {
        let linked = repo.repo.beside("linked");
        repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
        linked
    }),
    ("borrowed objects, in two steps and by a relative path", |repo| {
        let (first, second) = (repo.repo.beside("first"), repo.repo.beside("second"));
        repo.git(&["clone", "--quiet", "--shared", ".", first.to_str().unwrap()]);
        git_in(&first, &["clone", "--quiet", "--shared", ".", second.to_str().unwrap()]);
        fs::write(second.join(".git/objects/info/alternates"), "# comment\n../../../first/.git/objects\n").unwrap();
        second
    }),
    ("bare", |repo| {
        let bare = repo.repo.beside("bare.git");
        repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        bare
    }),
    ("shallow", |repo| {
        let shallow = repo.repo.beside("shallow");
        let url = format!("file://{}", repo.project.display());
        repo.git(&["clone", "--quiet", "--depth=30", &url, shallow.to_str().unwrap()]);
        shallow
    }),
    ("reftable", |repo| {
        let copy = repo.repo.beside("reftable");
        let url = format!("file://{}", repo.project.display());
        repo.git(&["clone", "--quiet", "--ref-format=reftable", &url, copy.to_str().unwrap()]);
        copy
    }),
];

#[tokio::test]
async fn the_engine_agrees_with_git_in_every_form_of_a_repository() {
    let original = TestRepo::new();
    let commits = commit_steps(&original);
    for (form, make) in FORMS {
        let repo = TestRepo::new();
        fs::remove_dir_all(&repo.project).unwrap();
        let mut copy = std::process::Command::new("cp");
        assert!(copy.arg("-a").args([&original.project, &repo.project]).status().unwrap().success());
        let project = make(&repo);
        let comparison = compare_steps(&project, &commits, &VARIANTS[1..2]).await;
        comparison.report(form);
        assert!(comparison.same > 20, "{form}");
        compare_names(&comparison, &project, form, &commits).await;
    }
}

/// Compares names of commits.
async fn compare_names(comparison: &Comparison, project: &Path, form: &str, commits: &[String]) {
    git_in(project, &["tag", "light", &commits[3]]);
    git_in(project, &["tag", "--annotate", "--message=x", "annotated", &commits[4]]);
    git_in(project, &["tag", "--annotate", "--message=x", "nested", "annotated"]);
    git_in(project, &["branch", "--force", "light", &commits[5]]);
    git_in(project, &["branch", "a/b/c", &commits[6]]);
    git_in(project, &["symbolic-ref", "refs/heads/symbolic", "refs/heads/a/b/c"]);
    git_in(project, &["tag", "tree", &format!("{}^{{tree}}", commits[7])]);
    let engine = comparison.repository.0.engine.as_ref().unwrap();
    let mut answered = 0;
    for packed in [false, true] {
        if packed {
            git_in(project, &["pack-refs", "--all"]);
            git_in(project, &["branch", "--force", "moved", &commits[8]]);
        }
        let short = &commits[9][..12];
        let names = [
            "HEAD",
            "main",
            "side",
            "light",
            "annotated",
            "nested",
            "a/b/c",
            "symbolic",
            "tree",
            "moved",
            "a/b",
            "a",
            "origin",
            "heads/main",
            "tags/light",
            "refs/heads/light",
            "refs/tags/annotated",
            "origin/main",
            "remotes/origin/main",
            "origin/HEAD",
            "nope",
            "refs/heads/nope",
            "config",
            "objects",
            "HEAD~1",
            "main^",
            "FETCH_HEAD",
            "ORIG_HEAD",
            "refs",
            "refs/heads",
            "@",
            &commits[2],
            &commits[2].to_uppercase(),
            short,
        ];
        for name in names {
            let mut session = comparison.repository.session().await.unwrap();
            let by_git = session.find_commit_with_git(name).await.unwrap().ok();
            if let Ok(own) = engine.resolve(name) {
                assert_eq!(Some(&own), by_git.as_ref(), "{form}: {name}, packed: {packed}");
                answered += 1;
            }
        }
    }
    println!("  {answered} names");
    assert!(answered > 20 || form == "reftable", "{form}: only {answered} names");
}

#[tokio::test]
async fn each_of_very_many_packed_refs_is_found() {
    let repo = TestRepo::new();
    let commits: Vec<String> = (0..3).map(|_| repo.commit()).collect();
    for tag in ["b100", "b500-", "zz"] {
        repo.git(&["tag", "--annotate", "--message=x", tag, &commits[0]]);
    }
    let refs: String = (0..1_000).map(|n| format!("create refs/heads/b{n} {}\n", commits[n % 3])).collect();
    fs::write(repo.repo.beside("refs"), refs).unwrap();
    let mut shell = std::process::Command::new("sh");
    let update = shell.args(["-c", "git update-ref --stdin < ../refs"]).current_dir(&repo.project).status();
    assert!(update.unwrap().success());
    repo.git(&["pack-refs", "--all"]);
    let repository = repo.open().await;
    let engine = repository.0.engine.as_ref().unwrap();
    let list = repo.git(&["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"]);
    for line in list.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(engine.resolve(fields[0]).unwrap(), *fields.last().unwrap(), "{line}");
    }
    for n in 0..1_000 {
        assert!(engine.resolve(&format!("refs/heads/b{n}x")).is_err());
        assert!(engine.resolve(&format!("refs/tags/b{n}")).is_err() || n == 100);
    }
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_submodules_modes_and_symlinks() {
    for format in ["sha1", "sha256"] {
        let repo = TestRepo::with_format(format);
        repo.write("x", numbers(1, 9));
        repo.commit();
        let id = |digit: &str| digit.repeat(if format == "sha1" { 40 } else { 64 });
        let blob = repo.git(&["hash-object", "-w", "x"]);
        let steps = [
            format!("160000,{},sub/one", id("1")),
            format!("160000,{},sub/one", id("2")),
            format!("160000,{},two", id("3")),
            format!("100755,{blob},x"),
            format!("120000,{blob},y"),
            format!("100644,{blob},y"),
            format!("100644,{blob},sub/one"),
        ];
        let mut comparison = Comparison::open(&repo.project).await;
        let mut base = repo.git(&["rev-parse", "HEAD"]);
        for step in &steps {
            repo.git(&["update-index", "--add", "--cacheinfo", step]);
            let next = commit_index(&repo, &base);
            for (from, to) in [(&base, &next), (&next, &base)] {
                for options in [&["-M", "--full-index"][..], &["-U0"], &["--no-prefix"]] {
                    let diff = repo.git(&[&["diff-tree", "-p"], options, &[from, to]].concat());
                    let tree = comparison.compare(step, Some(from), &format!("{diff}\n")).await;
                    assert_eq!(tree.unwrap(), repo.git(&["rev-parse", &format!("{to}^{{tree}}")]), "{step}\n{diff}");
                }
            }
            base = next;
        }
        comparison.report(format);
        assert_eq!(comparison.declined(), 0);
    }
}

/// Commits the index as it is.
fn commit_index(repo: &TestRepo, parent: &str) -> String {
    let tree = repo.git(&["write-tree"]);
    repo.git(&["commit-tree", "-p", parent, "-m", "step", &tree])
}

#[tokio::test]
async fn bases_that_git_refuses_are_declined() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let base = repo.commit();
    let blob = repo.git(&["hash-object", "-w", "x"]);
    let tree = |lines: &str| {
        fs::write(repo.repo.beside("lines"), lines).unwrap();
        let mut shell = std::process::Command::new("sh");
        let make = "tr '@' '\\000' < ../lines | git hash-object -t tree -w --literally --stdin";
        let _ = shell.args(["-c", make]).current_dir(&repo.project).output().unwrap();
        let mut shell = std::process::Command::new("sh");
        let make = shell.args(["-c", "git mktree --missing < ../lines"]).current_dir(&repo.project).output().unwrap();
        String::from_utf8(make.stdout).unwrap().trim_end().to_owned()
    };
    let empty = tree("");
    let nested = tree(&format!("040000 tree {empty}\tinner\n"));
    let dot_git = tree(&format!("100644 blob {blob}\t.git\n"));
    let missing = "1".repeat(40);
    let file = format!("100644 blob {blob}\tx\n");
    let mut comparison = Comparison::open(&repo.project).await;
    // An empty base is fine, but not as a folder of another one.
    let new = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n";
    comparison.compare("no base", None, new).await.unwrap();
    let empty_commit = repo.git(&["commit-tree", "-m", "empty", &empty]);
    comparison.compare("an empty base", Some(&empty_commit), new).await.unwrap();
    let trees = [
        ("an empty subtree", format!("040000 tree {empty}\tempty\n{file}")),
        ("a subtree without files", format!("040000 tree {nested}\tnested\n{file}")),
        ("a file called .git", format!("040000 tree {dot_git}\tfar\n{file}")),
        ("a folder called .GIT", format!("040000 tree {dot_git}\t.GIT\n{file}")),
        ("a missing subtree", format!("040000 tree {missing}\tfar\n{file}")),
        ("a null id", format!("100644 blob {}\ta\n{file}", "0".repeat(40))),
        ("an old mode", format!("100664 blob {blob}\ta\n{file}")),
        ("only the file", file.clone()),
    ];
    for (about, lines) in trees {
        let root = tree(&lines);
        let commit = repo.git(&["commit-tree", "-p", &base, "-m", "odd", &root]);
        comparison.compare(about, Some(&commit), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n").await;
    }
    comparison.report("odd trees");
    assert_eq!(comparison.same, 3, "the empty bases, and the last one, which is ordinary");
}

#[tokio::test]
async fn a_partial_clone_works_as_far_as_its_objects_go() {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 9));
    repo.write("other", "kept away\n");
    let base = repo.commit();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repo.project.display());
    let clone = repo.repo.beside("partial");
    repo.git(&["clone", "--quiet", "--no-checkout", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    let mut comparison = Comparison::open(&clone).await;
    let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n";
    assert_eq!(comparison.compare("blob missing", Some(&base), diff).await, None);
    assert_eq!(comparison.same, 0);
    git_in(&clone, &["cat-file", "-p", &format!("{base}:x")]);
    assert!(comparison.compare("blob fetched", Some(&base), diff).await.is_some());
    assert_eq!(comparison.same, 1, "the other blob is not needed");
}

#[tokio::test]
async fn new_objects_and_packs_are_found_at_once() {
    let repo = TestRepo::new();
    repo.write("x", "1\n");
    let mut base = repo.commit();
    let mut comparison = Comparison::open(&repo.project).await;
    for n in 1..6 {
        let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{n}\n+{}\n", n + 1);
        comparison.compare("a new commit", Some(&base), &diff).await.unwrap();
        repo.write("x", format!("{}\n", n + 1));
        base = repo.commit();
        if n % 2 == 0 {
            repo.git(&["gc", "--quiet", "--prune=now"]);
        }
        let own = comparison.repository.0.engine.as_ref().unwrap().resolve("HEAD").unwrap();
        assert_eq!(own, base);
    }
    assert_eq!(comparison.same, 5);
}
