//! Compares `domain::diff::summarize` with git.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

use domain::diff::{AffectedFile, FileOperation, summarize};

use super::*;
use std::process::Command;

const RUNS: usize = 1_500;
const COPIES: [&str; 3] = ["-M", "-C", "--find-copies-harder"];

fn fields(repo: &TestRepo, args: &[&str]) -> Vec<Vec<u8>> {
    let output = Command::new("git").current_dir(&repo.project).args(args).output().unwrap();
    output.stdout.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The affected files according to `--raw -z` and `--numstat -z`.
fn by_git(repo: &TestRepo, from: &str, to: &str) -> Vec<AffectedFile> {
    let raw = fields(repo, &[&["diff", "--raw", "-z"][..], &COPIES, &[from, to]].concat());
    let mut stats = fields(repo, &[&["diff", "--numstat", "-z"][..], &COPIES, &[from, to]].concat()).into_iter();
    let mut raw = raw.into_iter();
    let mut files = Vec::new();
    while let Some(head) = raw.next().filter(|head| !head.is_empty()) {
        let head = shown(&head);
        let columns: Vec<&str> = head.split(' ').collect();
        let first = raw.next().unwrap();
        let moved = columns[4].starts_with(['R', 'C']).then(|| raw.next().unwrap());
        let stat = shown(&stats.next().unwrap());
        let mut counts = stat.split('\t').map(|count| count.parse::<u32>().ok());
        let (added, removed) = (counts.next().unwrap(), counts.next().unwrap());
        if moved.is_some() {
            stats.nth(1).unwrap();
        }
        let operation = match columns[4].as_bytes()[0] {
            b'A' => FileOperation::Create,
            b'D' => FileOperation::Delete,
            b'R' => FileOperation::Rename,
            b'C' => FileOperation::Copy,
            _ if columns[2] == columns[3] => FileOperation::Mode,
            _ => FileOperation::Modify,
        };
        files.push(AffectedFile {
            path: shown(moved.as_ref().unwrap_or(&first)),
            old_path: moved.as_ref().map(|_| shown(&first)),
            operation,
            added: added.unwrap_or(0),
            removed: removed.unwrap_or(0),
            binary: added.is_none(),
        });
    }
    files
}

#[test]
fn the_affected_files_are_those_that_git_lists() {
    let repo = TestRepo::new();
    let mut base = repo.git(&["hash-object", "-w", "-t", "tree", "/dev/null"]);
    for (step, change) in STEPS {
        change(&repo);
        let next = repo.commit();
        let expected = by_git(&repo, &base, &next);
        for variant in
            [&["--binary"][..], &["--full-index"], &["-U0"], &["--no-prefix", "--binary"], &["--src-prefix=o/"]]
        {
            let diff = repo.git(&[&["diff"], variant, &COPIES, &[&base, &next]].concat());
            let reading = summarize(&diff);
            assert_eq!(reading.note, None, "{step} {variant:?}\n{diff}");
            assert_eq!(reading.files, expected, "{step} {variant:?}\n{diff}");
        }
        base = next;
    }
}

/// A diff that reads as one change and applies as another would mislead the reviewer.
#[tokio::test]
async fn a_diff_that_git_applies_is_never_summarized_differently() {
    let repo = TestRepo::new();
    for name in ["x", "y", "dir/x", "a/x", "b/x"] {
        repo.write(name, "1\n");
    }
    let base = repo.commit();
    let repository = repo.open().await;
    let hunk = "@@ -1 +1 @@\n-1\n+2\n";
    let traps = [
        format!("diff --git a/x b/x\n--- a/y\n+++ b/y\n{hunk}"),
        format!("diff --git a/x b/x\n--- a/x\n+++ b/z\n{hunk}"),
        format!("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n{hunk}--- a/y\n+++ b/y\n{hunk}"),
        format!("--- a/x\n+++ b/x\n{hunk}+++ b/y\n--- a/y\n"),
        format!("--- dir/x\n+++ dir/x\n{hunk}"),
        format!("--- a/x\n+++ a/x\n{hunk}"),
        format!("diff --git a/x a/x\n--- a/x\n+++ a/x\n{hunk}"),
        format!("diff --git a/x a/x\n--- a/x\n+++ a/x\n{hunk}diff --git a/y b/y\n--- a/y\n+++ b/y\n{hunk}"),
        format!("diff --git x y\n--- a/x\n+++ b/x\n{hunk}"),
        format!("--- a/x.orig\n+++ b/x\n{hunk}"),
        format!("--- a/x\n+++ b/x~\n{hunk}"),
        format!("--- a/x\t2020-01-01\n+++ b/x\t2020-01-02\n{hunk}"),
        format!("--- \"a/\\171\"\n+++ \"b/\\171\"\n{hunk}"),
        format!("--- a//x\n+++ b//x\n{hunk}"),
        format!("--- a/x\r\n+++ b/x\r\n{hunk}"),
        format!("diff --git a/x b/x\nold mode 100644\nnew mode 100755\ntext\n--- a/y\n+++ b/y\n{hunk}"),
        "diff --git a/x b/w\nrename old x\nrename new w\n".to_owned(),
        "--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+1\n".to_owned(),
        format!("diff --git a/new b/new\nnew file mode 100644\n--- a/x\n+++ b/x\n{hunk}"),
        format!("diff --git a/y b/y\ndeleted file mode 100644\nsaid\n--- a/x\n+++ b/x\n{hunk}"),
        "diff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n".to_owned(),
        format!("--- a/x\n+++ b/x\n{hunk}--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n"),
        format!("diff --git a/x b/y2\nrename from x\nrename to y2\ndiff --git a/y2 b/y2\n--- a/y2\n+++ b/y2\n{hunk}"),
        format!("--- a/x 2020-01-01 00:00:00.000000000 +0000\n+++ b/x 2020-01-01 00:00:00.000000000 +0000\n{hunk}"),
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n\\ anything at all goes here\n+2\n\\ and here as well\n".to_owned(),
    ];
    let mut applied = 0;
    for diff in traps {
        let outcome = repository.check(Some(&base), &diff).await.unwrap();
        let DiffCheck::Applies { tree_id: Some(tree), .. } = outcome else { continue };
        let reading = summarize(&diff);
        if reading.note.is_some() {
            // A parse error is allowed, a different summary is not.
            continue;
        }
        applied += 1;
        let mut said: Vec<String> = reading.files.iter().map(|file| file.path.clone()).collect();
        said.extend(reading.files.iter().filter_map(|file| file.old_path.clone()));
        said.sort();
        said.dedup();
        assert_eq!(said, changed_paths(&repo, &base, &diff, &tree), "{diff}");
    }
    assert!(applied >= 12, "only {applied} of the traps applied");
}

/// Applies the diff in a separate worktree and asks git what changed.
fn changed_paths(repo: &TestRepo, base: &str, diff: &str, tree: &str) -> Vec<String> {
    let worktree = repo.repo.beside("again");
    repo.git(&["worktree", "add", "--quiet", "--detach", worktree.to_str().unwrap(), base]);
    fs::write(repo.repo.beside("patch"), diff).unwrap();
    let strip = format!("-p{}", domain::diff::apply_parts(diff)[0].strip);
    git_in(&worktree, &["apply", "--index", &strip, "../patch"]);
    assert_eq!(git_in(&worktree, &["write-tree"]), tree);
    let names = git_in(&worktree, &["diff", "--cached", "--no-renames", "--name-only", base]);
    repo.git(&["worktree", "remove", "--force", worktree.to_str().unwrap()]);
    let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
    names.sort();
    names
}

/// Pieces of hostile diffs, in the order in which they would occur.
const PIECES: [&[&str]; 5] = [
    &["", "", "", "text\n", "\\ x\n", "-- \n2.47\n", "diff --git a/p b/p\n", "--- a/x\n"],
    &[
        "",
        "diff --git a/x b/x\n",
        "diff --git a/x b/y\n",
        "diff --git x x\n",
        "diff --git a/x y b/x y\n",
        "diff --git \"a/\\303\\251\" \"b/\\303\\251\"\n",
        "diff --git a/x \"b/x\"\n",
        "diff --git a/p/q b/p/q\n",
        "diff --git a/x  b/x\n",
        "diff --git a/x\tb/x\n",
        "diff --git a/x b/x\r\n",
    ],
    &[
        "",
        "",
        "",
        "index 123..456 100644\n",
        "new file mode 100644\n",
        "deleted file mode 100644\n",
        "similarity index 9%\n",
        "old mode 100644\nnew mode 100755\n",
        "rename from x\nrename to y\n",
        "copy from x\ncopy to z\n",
        "rename old x\n",
    ],
    &[
        "",
        "--- a/x\n+++ b/x\n",
        "--- /dev/null\n+++ b/x\n",
        "--- a/x\n+++ /dev/null\n",
        "--- x\n+++ x\n",
        "--- a/x\n+++ b/y\n",
        "--- a/x\r\n+++ b/x\r\n",
        "--- a//x\n+++ b//x\n",
        "--- a/p/q\n+++ b/p/q\n",
        "--- a/x y\n+++ b/x y\n",
        "--- a/x.orig\n+++ b/x\n",
        "--- a/x\n+++ b/x.new\n",
        "--- a/x\t1970-01-01 00:00:00 +0000\n+++ b/x\t2020-01-01\n",
        "--- a/x 2020-01-01 00:00:00 +0000\n+++ b/x 2020-01-01 00:00:00 +0000\n",
        "--- a/x\n",
    ],
    &[
        "@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1,2 +1,2 @@ fn\n a\n-b\n+c\n",
        "@@ -0,0 +1 @@\n+b\n",
        "@@ -1 +0,0 @@\n-b\n",
        "@@ -1 +1 @@x\n-a\n\\ No newline at end of file\n+b\n",
        "@@ -5,0 +6 @@\n+b\n\\ No newline at end of file\n",
        "",
        "GIT binary patch\nliteral 0\nHcmV?d00001\n\n",
        "Binary files a/x and b/x differ\n",
    ],
];

/// Added and removed lines per path, as `git apply --numstat` counts them; `None` if git rejects the diff.
fn counted_by_git(diff: &str) -> Option<BTreeMap<String, (u32, u32)>> {
    let strip = format!("-p{}", domain::diff::apply_parts(diff)[0].strip);
    let mut command = Command::new("git");
    command.args(["apply", "--numstat", "-z", &strip, "-"]).current_dir("/");
    let mut git = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    if !output.status.success() || !output.stderr.is_empty() {
        return None;
    }
    let mut counts = BTreeMap::<String, (u32, u32)>::new();
    for row in output.stdout.split(|&byte| byte == 0).filter(|row| !row.is_empty()) {
        let row = shown(row);
        let mut columns = row.splitn(3, '\t');
        let mut number = || columns.next().unwrap().parse().unwrap_or(0);
        let (added, removed) = (number(), number());
        let count = counts.entry(columns.next().unwrap().to_owned()).or_default();
        *count = (count.0 + added, count.1 + removed);
    }
    Some(counts)
}

#[test]
fn random_headers_are_parsed_as_git_parses_them_or_rejected() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(end).unwrap()).unwrap()
    };
    let mut same = 0;
    for _ in 0..RUNS {
        let patches = 1 + below(2);
        let diff: String = (0..patches * PIECES.len())
            .map(|n| PIECES[n % PIECES.len()])
            .map(|pieces| pieces[below(pieces.len())])
            .collect();
        let reading = summarize(&diff);
        if reading.note.is_some() {
            continue;
        }
        let Some(by_git) = counted_by_git(&diff) else { continue };
        let mut ours = BTreeMap::<String, (u32, u32)>::new();
        for file in reading.files {
            let count = ours.entry(file.path).or_default();
            *count = (count.0 + file.added, count.1 + file.removed);
        }
        assert_eq!(ours, by_git, "{diff}\n{diff:?}");
        same += 1;
    }
    assert!(same > RUNS / 20, "only {same} of {RUNS} could be compared");
}

/// Diffs that git applies, or fails at, in another way than they show.
#[tokio::test]
async fn a_diff_that_hides_a_change_is_refused() {
    let repo = TestRepo::new();
    repo.write("x", "one\n// note\ncheck();\nlast");
    repo.write("CLAUDE.md", "rules\n");
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "--message", "base"]);
    let base = repo.git(&["rev-parse", "HEAD"]);
    let scratch = TempDir::new().unwrap();
    let open = async |engine| {
        let settings = Arc::new(GitSettings { engine, ..GitSettings::default() });
        Repository::open(&repo.project, scratch.path(), true, settings).await.unwrap()
    };
    let edit = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+eins\n // note\n";
    let table = [
        ("an empty header at the end", format!("{edit}diff --git a/y b/y\n")),
        ("an empty header with an index line", format!("{edit}diff --git a/y b/y\nindex 1..2 100644\n")),
        ("a joined line of context", format!("{edit}\\ No newline at end of file\n")),
        (
            "a joined new line",
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n // note\n+// more\n\\ No newline at end of file\n".to_owned(),
        ),
        ("a line behind the last one", "--- a/x\n+++ b/x\n@@ -4,0 +5 @@\n+more\n".to_owned()),
        (
            "a name that git cuts",
            "diff --git \"a/CLAUDE.md\\000.txt\" \"b/CLAUDE.md\\000.txt\"\n--- \"a/CLAUDE.md\\000.txt\"\n+++ \"b/CLAUDE.md\\000.txt\"\n@@ -1 +1 @@\n-rules\n+evil\n".to_owned(),
        ),
        (
            "a new name that git cuts",
            "diff --git \"a/n\\000.txt\" \"b/n\\000.txt\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/n\\000.txt\"\n@@ -0,0 +1 @@\n+evil\n".to_owned(),
        ),
        (
            "a name before its creation",
            "diff --git a/n b/n\n--- a/n\nnew file mode 100644\n+++ b/n\n@@ -0,0 +1 @@\n+new\n".to_owned(),
        ),
    ];
    for engine in [EngineMode::Auto, EngineMode::Git] {
        let repository = open(engine).await;
        for (about, diff) in &table {
            let check = repository.check(Some(&base), diff).await.unwrap();
            assert!(matches!(check, DiffCheck::Fails { .. }), "{about}: {check:?}");
        }
        let good = repository.check(Some(&base), edit).await.unwrap();
        assert!(matches!(good, DiffCheck::Applies { to: AppliesTo::Base, .. }), "{good:?}");
    }
}
