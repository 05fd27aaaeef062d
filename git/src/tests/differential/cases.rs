//! Diffs by hand: one for each rule of `git apply`.

use super::*;

/// A repository with a file of every kind.
fn base() -> (TestRepo, String) {
    let repo = TestRepo::new();
    repo.write("x", numbers(1, 20));
    repo.write("y", "1\n");
    repo.write("bare", "one\ntwo\nlast");
    repo.write("repeats", "a\nb\n".repeat(6));
    repo.write("empty", "");
    repo.write("crlf", "one\r\ntwo\r\n");
    repo.write("blank", "\n\n1\n\n\n");
    repo.write("dir/f", "f\n");
    repo.write("dir/g", "g\n");
    repo.write("deep/a/b/c", "c\n");
    repo.write("tool", "run\n");
    fs::set_permissions(repo.project.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    // Attributes concern the working tree, not the objects.
    let attributes = "*.attr text eol=crlf ident filter=none whitespace=trailing-space,space-before-tab\n\
                      *.utf16 working-tree-encoding=UTF-16LE\n* text=auto\n";
    symlink("x", repo.project.join("link")).unwrap();
    symlink("dir", repo.project.join("dirlink")).unwrap();
    repo.git(&["add", "--all"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))]);
    fs::write(repo.repo.beside("content"), "one  \r\n$Id$\nthree\n").unwrap();
    let id = repo.git(&["hash-object", "-w", "--no-filters", "../content"]);
    for path in ["a.attr", "a.utf16"] {
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
    }
    fs::write(repo.repo.beside("content"), attributes).unwrap();
    let id = repo.git(&["hash-object", "-w", "--no-filters", "../content"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},.gitattributes")]);
    let tree = repo.git(&["write-tree"]);
    let base = repo.git(&["commit-tree", "-m", "base", &tree]);
    (repo, base)
}

const NO_NEWLINE: &str = "\\ No newline at end of file\n";

fn modify(path: &str, hunks: &str) -> String {
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks}")
}

fn create(path: &str, mode: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let count = text.lines().count();
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}"
    )
}

fn delete(path: &str, mode: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("-{line}\n")).collect();
    let count = text.lines().count();
    format!(
        "diff --git a/{path} b/{path}\ndeleted file mode {mode}\n--- a/{path}\n+++ /dev/null\n@@ -1,{count} +0,0 @@\n{lines}"
    )
}

fn moved(verb: &str, from: &str, to: &str) -> String {
    format!("diff --git a/{from} b/{to}\nsimilarity index 100%\n{verb} from {from}\n{verb} to {to}\n")
}

fn hunk_cases() -> Vec<String> {
    let x = |hunks: &str| modify("x", hunks);
    let repeats = |hunks: &str| modify("repeats", hunks);
    let bare = |hunks: &str| modify("bare", hunks);
    vec![
        x("@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n"),
        x("@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -9,3 +9,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -1,3 +1,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -0,3 +1,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -2,3 +2,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -90,3 +90,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -4,2 +4,2 @@\n 4\n-5\n+five\n"),
        x("@@ -19,2 +19,2 @@\n 19\n-20\n+twenty\n"),
        x("@@ -5,2 +5,2 @@\n-5\n+five\n 6\n"),
        x("@@ -1 +1 @@\n-1\n+one\n"),
        x("@@ -5 +5 @@\n-5\n+five\n"),
        x("@@ -5,0 +6 @@\n+new\n"),
        x("@@ -20,0 +21 @@\n+new\n"),
        x("@@ -0,0 +1 @@\n+new\n"),
        x("@@ -1,0 +2 @@\n+new\n"),
        x("@@ -5 +5 @@\n-5\n+five\n@@ -9 +9 @@\n-9\n+nine\n"),
        x("@@ -4,3 +4,4 @@\n 4\n+new\n 5\n 6\n@@ -6,3 +7,4 @@\n 6\n+other\n 7\n 8\n"),
        x("@@ -4,3 +4,4 @@\n 4\n+new\n 5\n 6\n@@ -7,3 +8,4 @@\n 7\n+other\n 8\n 9\n"),
        x("@@ -9,3 +9,3 @@\n 9\n-10\n+ten\n 11\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -4,3 +4,3 @@ fn context\n 4\n-5\n+five\n 6\n"),
        x("@@ -4,3 +4,3 @@\n 4 \n-5\n+five\n 6\n"),
        x("@@ -4,3 +4,3 @@\n 4\r\n-5\r\n+five\r\n 6\r\n"),
        x("@@ -04,03 +4,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -4,3 +99999999999,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -1073741825,3 +4,3 @@\n 4\n-5\n+five\n 6\n"),
        x("@@ -18,3 +18,4 @@\n 18\n 19\n 20\n+21\n"),
        x(&format!("@@ -18,3 +18,4 @@\n 18\n 19\n 20\n+21\n{NO_NEWLINE}")),
        x(&format!("@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n{NO_NEWLINE}")),
        x(&format!("@@ -4,3 +4,4 @@\n 4\n 5\n 6\n+new\n{NO_NEWLINE}")),
        x("@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n\\ short\n"),
        x("@@ -4,3 +4,3 @@\n 4\n-5\n\\ No newline at end of file, really\n+five\n 6\n"),
        repeats("@@ -3,2 +3,2 @@\n a\n-b\n+B\n"),
        repeats("@@ -3,3 +3,3 @@\n a\n-b\n+B\n a\n"),
        repeats("@@ -4,3 +4,3 @@\n a\n-b\n+B\n a\n"),
        repeats("@@ -6,3 +6,3 @@\n a\n-b\n+B\n a\n"),
        repeats("@@ -3,3 +7,3 @@\n a\n-b\n+B\n a\n"),
        repeats("@@ -3,3 +3,3 @@\n a\n-b\n+B\n a\n@@ -3,3 +3,3 @@\n a\n-b\n+C\n a\n"),
        repeats("@@ -12 +12,2 @@\n b\n+c\n"),
        repeats("@@ -2,1 +2,2 @@\n b\n+c\n"),
        repeats("@@ -1,2 +1,1 @@\n a\n-b\n"),
        repeats("@@ -11,2 +11,1 @@\n a\n-b\n"),
        bare(&format!("@@ -1,3 +1,3 @@\n one\n two\n-last\n{NO_NEWLINE}+LAST\n{NO_NEWLINE}")),
        bare(&format!("@@ -1,3 +1,3 @@\n one\n two\n-last\n{NO_NEWLINE}+last\n")),
        bare("@@ -1,3 +1,3 @@\n one\n two\n-last\n+LAST\n"),
        bare(&format!("@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n last\n{NO_NEWLINE}")),
        bare("@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n last\n"),
        bare(&format!("@@ -3,0 +4 @@\n+more\n{NO_NEWLINE}")),
        bare("@@ -3,0 +4 @@\n+more\n"),
        bare(&format!("@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n{NO_NEWLINE}")),
        bare(&format!("@@ -2,2 +2 @@\n two\n-last\n{NO_NEWLINE}")),
        modify("empty", "@@ -0,0 +1 @@\n+now\n"),
        modify("empty", &format!("@@ -0,0 +1 @@\n+now\n{NO_NEWLINE}")),
        modify("y", "@@ -1 +0,0 @@\n-1\n"),
        modify("crlf", "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n"),
        modify("crlf", "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"),
        modify("blank", "@@ -1,5 +1,5 @@\n\n\n-1\n+2\n\n\n"),
        modify("blank", "@@ -1,5 +1,5 @@\n \n \n-1\n+2\n \n \n"),
        modify("blank", "@@ -3,3 +3,3 @@\n-1\n+2\n\n\n"),
        modify("blank", "@@ -2,2 +2,3 @@\n \n+0\n 1\n"),
        modify("a.attr", "@@ -1,3 +1,3 @@\n one  \r\n-$Id$\n+$Id$  \n three\n"),
        modify("a.attr", "@@ -1,3 +1,3 @@\n one  \n-$Id$\n+$Id$\r\n three\n"),
        modify("a.utf16", "@@ -1,3 +1,3 @@\n one  \r\n-$Id$\n+two\t \r\n three\n"),
        create("new.attr", "100644", "one \r\n \ttwo\n"),
        create("new.utf16", "100644", "one\n"),
    ]
}

fn file_cases() -> Vec<String> {
    let y = |header: &str| format!("diff --git a/y b/y\n{header}");
    let hunk = "@@ -1 +1 @@\n-1\n+2\n";
    let plain = |old: &str, new: &str, hunk: &str| format!("--- {old}\n+++ {new}\n{hunk}");
    let renamed_with = |hunk: &str| moved("rename", "y", "z").replace("100%", "50%") + "--- a/y\n+++ b/z\n" + hunk;
    vec![
        create("new", "100644", "1\n2\n"),
        create("new", "100755", "1\n"),
        create("new", "100664", "1\n"),
        create("new", "100600", "1\n"),
        create("new", "120000", "target\n"),
        create("new", "120000", "target\n") + NO_NEWLINE,
        create("new", "160000", &format!("Subproject commit {}\n", "2".repeat(40))),
        create("new", "160000", &format!("Subproject commit {}\n", "0".repeat(40))),
        create("new", "160000", &format!("Subproject commit {}\n", "A".repeat(40))),
        create("new", "160000", &format!("Subproject commit {}-dirty\n", "2".repeat(40))),
        create("new", "160000", "Subproject commit 2\n"),
        create("new", "040000", "1\n"),
        create("y", "100644", "1\n"),
        create("dir", "100644", "1\n"),
        create("dir/new/file", "100644", "1\n"),
        create("y/below", "100644", "1\n"),
        create("dirlink/new", "100644", "1\n"),
        create("link/new", "100644", "1\n"),
        create("sub/new", "100644", "1\n"),
        create("dir/f", "100644", "1\n"),
        create("DIR/f", "100644", "1\n"),
        create("new", "100644", "1\n") + &create("new", "100644", "2\n"),
        create("new", "100644", "1\n") + &modify("new", hunk),
        create("new", "100644", "1\n") + &delete("new", "100644", "1\n"),
        create("new", "100644", "1\n") + &create("new/below", "100644", "2\n"),
        create("new/below", "100644", "1\n") + &create("new", "100644", "2\n"),
        create("new", "100644", "1\n2\n").replace("-0,0", "-1,0"),
        create("new", "100644", "1\n").replace("@@ -0,0 +1,1 @@\n", "@@ -1 +1,2 @@\n 0\n"),
        delete("y", "100644", "1\n"),
        delete("y", "100755", "1\n"),
        delete("y", "120000", "1\n"),
        delete("y", "100644", "2\n"),
        delete("y", "100644", "1\n").replace("@@ -1,1 +0,0 @@\n-1\n", ""),
        delete("empty", "100644", "").replace("--- a/empty\n+++ /dev/null\n@@ -1,0 +0,0 @@\n", ""),
        delete("link", "120000", "x\n") + NO_NEWLINE,
        delete("link", "120000", "x\n"),
        delete("sub", "160000", &format!("Subproject commit {}\n", "1".repeat(40))),
        delete("sub", "160000", &format!("Subproject commit {}\n", "2".repeat(40))),
        delete("deep/a/b/c", "100644", "c\n"),
        delete("dir/f", "100644", "f\n") + &delete("dir/g", "100644", "g\n"),
        delete("dir/f", "100644", "f\n") + &delete("dir/g", "100644", "g\n") + &create("dir", "100644", "file\n"),
        create("dir", "100644", "file\n") + &delete("dir/f", "100644", "f\n") + &delete("dir/g", "100644", "g\n"),
        delete("dir/f", "100644", "f\n") + &create("dir", "100644", "file\n"),
        delete("y", "100644", "1\n") + &create("y/below", "100644", "1\n"),
        create("y/below", "100644", "1\n") + &delete("y", "100644", "1\n"),
        delete("y", "100644", "1\n") + &create("y", "120000", "x\n") + NO_NEWLINE,
        create("y", "120000", "x\n") + NO_NEWLINE + &delete("y", "100644", "1\n"),
        delete("y", "100644", "1\n") + &modify("y", hunk),
        modify("y", hunk) + &delete("y", "100644", "1\n"),
        modify("y", hunk) + &delete("y", "100644", "2\n"),
        modify("y", hunk) + &modify("y", "@@ -1 +1 @@\n-2\n+3\n"),
        delete("dirlink", "120000", "dir\n") + NO_NEWLINE + &create("dirlink/new", "100644", "1\n"),
        create("dirlink/new", "100644", "1\n") + &delete("dirlink", "120000", "dir\n") + NO_NEWLINE,
        delete("sub", "160000", &format!("Subproject commit {}\n", "1".repeat(40))) + &create("sub/x", "100644", "1\n"),
        modify(
            "sub",
            &format!("@@ -1 +1 @@\n-Subproject commit {}\n+Subproject commit {}\n", "1".repeat(40), "2".repeat(40)),
        ),
        modify("link", &format!("@@ -1 +1 @@\n-x\n{NO_NEWLINE}+y\n{NO_NEWLINE}")),
        modify("dir", hunk),
        modify("dirlink/f", "@@ -1 +1 @@\n-f\n+F\n"),
        modify("nowhere", hunk),
        moved("rename", "y", "z"),
        moved("rename", "y", "dir/z"),
        moved("rename", "y", "x"),
        moved("rename", "y", "y"),
        moved("rename", "dir/f", "dir"),
        moved("rename", "y", "y/below"),
        moved("rename", "nowhere", "z"),
        moved("rename", "link", "other"),
        moved("rename", "sub", "other"),
        moved("rename", "tool", "other"),
        moved("rename", "x", "y") + &moved("rename", "y", "x"),
        moved("rename", "x", "z") + &moved("rename", "y", "x"),
        moved("rename", "y", "x") + &moved("rename", "x", "z"),
        moved("rename", "y", "z") + &moved("rename", "y", "w"),
        moved("rename", "y", "z") + &modify("y", hunk),
        moved("rename", "y", "z") + &modify("z", hunk),
        modify("y", hunk) + &moved("rename", "y", "z"),
        moved("rename", "y", "z") + &create("y", "100644", "2\n"),
        create("y", "100644", "2\n") + &moved("rename", "y", "z"),
        moved("rename", "y", "z") + &create("y/below", "100644", "2\n"),
        moved("rename", "dirlink", "other") + &create("dirlink/x", "100644", "2\n"),
        moved("rename", "y", "z") + &moved("copy", "y", "w"),
        moved("copy", "y", "w") + &moved("rename", "y", "z"),
        moved("copy", "y", "w") + &modify("y", hunk),
        modify("y", hunk) + &moved("copy", "y", "w"),
        delete("y", "100644", "1\n") + &moved("copy", "y", "w"),
        moved("copy", "y", "w") + &delete("y", "100644", "1\n"),
        moved("copy", "x", "y"),
        moved("copy", "x", "y") + &delete("y", "100644", "1\n"),
        delete("y", "100644", "1\n") + &moved("copy", "x", "y"),
        delete("y", "100644", "1\n") + &moved("rename", "x", "y"),
        moved("rename", "x", "y") + &delete("y", "100644", "1\n"),
        renamed_with(hunk),
        renamed_with("@@ -1 +1 @@\n-9\n+2\n"),
        renamed_with("@@ -1 +0,0 @@\n-1\n"),
        y("old mode 100644\nnew mode 100755\n"),
        y("old mode 100755\nnew mode 100644\n"),
        y("old mode 100644\nnew mode 120000\n"),
        y("old mode 120000\nnew mode 100644\n"),
        y("old mode 100644\nnew mode 100664\n"),
        y("new mode 100755\n"),
        y("old mode 100644\n"),
        y(&format!("old mode 100644\nnew mode 100755\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2 100644\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2 100755\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2 120000\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2 100755\nnew mode 100755\n--- a/y\n+++ b/y\n{hunk}")),
        modify("tool", "@@ -1 +1 @@\n-run\n+walk\n"),
        moved("rename", "tool", "y2").replace("similarity", "old mode 100755\nnew mode 100644\nsimilarity"),
        plain("a/y", "b/y", hunk),
        plain("y", "y", hunk),
        plain("a/y.orig", "b/y", hunk),
        plain("a/y", "b/y.orig", hunk),
        plain("a/y\t2020-01-01 00:00:00", "b/y\t2020-01-01 00:00:00", hunk),
        plain("a/y\t1970-01-01 00:00:00 +0000", "b/y\t2020-01-01 00:00:00", hunk),
        plain("a/y", "b/y\t1970-01-01 00:00:00 +0000", "@@ -1 +0,0 @@\n-1\n"),
        plain("a/y", "b/y", "@@ -1 +0,0 @@\n-1\n"),
        plain("a/empty", "b/empty", "@@ -0,0 +1 @@\n+1\n"),
        plain("a/new", "b/new", "@@ -0,0 +1 @@\n+1\n"),
        plain("/dev/null", "b/new", "@@ -0,0 +1 @@\n+1\n"),
        plain("/dev/null", "b/new", "@@ -1 +1 @@\n-0\n+1\n"),
        plain("/dev/null", "b/y", "@@ -0,0 +1 @@\n+1\n"),
        plain("/dev/null", "/dev/null", "@@ -0,0 +1 @@\n+1\n"),
        plain("/dev/null", "b/new", "@@ -0,0 +1 @@\n+1\n@@ -0,0 +2 @@\n+2\n"),
        plain("a/y", "/dev/null", "@@ -1 +0,0 @@\n-1\n"),
        plain("a/y", "/dev/null", hunk),
        plain("a/repeats", "/dev/null", "@@ -1,2 +0,0 @@\n-a\n-b\n"),
        moved("rename", "x", "y") + &moved("rename", "y", "tool") + &moved("rename", "tool", "x"),
        y("old mode 100644\u{b}\nnew mode 100755\n"),
        y("old mode 100644 \t\r\nnew mode +100755\n"),
        y(&format!("index 1..2 100644\u{b}\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2 100644 x\n--- a/y\n+++ b/y\n{hunk}")),
        y(&format!("index 1..2\t100644\n--- a/y\u{b}\n+++ b/y\n{hunk}")),
        plain("a/y\u{b}", "b/y\u{b}", hunk),
        plain("/dev/null\u{b}", "b/new", "@@ -0,0 +1 @@\n+1\n"),
        "diff --git a/n b/n\n--- a/n\nnew file mode 100644\n+++ b/n\n@@ -0,0 +1 @@\n+1\n".to_owned(),
        "diff --git a/y b/y\n+++ b/y\ndeleted file mode 100644\n--- a/y\n@@ -1 +0,0 @@\n-1\n".to_owned(),
        "diff --git a/y b/y\nnew mode 100755\nold mode 100644\nold mode 100644\nnew mode 100644\n".to_owned(),
        "diff --git a/y b/z\nrename from x\nrename from y\nrename to z\n".to_owned(),
        "diff --git a/y b/y\n".to_owned(),
        "diff --git a/y b/y\nindex 1..2 100644\n".to_owned(),
        String::new(),
    ]
}

fn path_cases() -> Vec<String> {
    let paths = [
        ".git/x",
        ".GIT/x",
        "dir/.git/x",
        ".git",
        "git~1/x",
        "GIT~1/x",
        "git~2/x",
        ".git./x",
        ".git /x",
        ".git:x",
        ".gi\u{200c}t/x",
        "\u{feff}.git/x",
        ".git\u{200d}/x",
        ".gitmodules",
        ".gitattributes",
        ".gitignore",
        ".github/x",
        ".gitfoo",
        "a:b",
        "a\\\\b",
        ".git\\\\x",
        "..",
        "../x",
        "a/../b",
        "./x",
        "a/./b",
        "a//b",
        "a/",
        "/abs",
        "ünï",
        "with space",
        "CON",
        "aux.txt",
        "-dash",
        "~",
        "gi7eba~1",
        "dev/null",
        "a.git",
        "x.lock",
        "\u{1f600}",
    ];
    let mut diffs: Vec<String> = paths.iter().map(|path| create(path, "100644", "1\n")).collect();
    diffs.extend(paths.iter().map(|path| create(path, "120000", "1\n") + NO_NEWLINE));
    diffs.extend(paths.iter().map(|path| moved("rename", "y", path)));
    diffs.extend(["\"a/q\\\"uote\"", "\"a/nul\\000x\"", "\"a/tab\\t\"", "\"a/\\303\\274\"", "\"a/\\377\""].map(
        |name| {
            let new = name.replace("\"a/", "\"b/");
            format!("diff --git {name} {new}\nnew file mode 100644\n--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+1\n")
        },
    ));
    diffs
}

/// Binary patches that git makes, and faulty forms of them.
fn binary_cases(repo: &TestRepo, base: &str) -> Vec<String> {
    let bytes: Vec<u8> = (0..4_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let changed: Vec<u8> = bytes.iter().enumerate().map(|(n, byte)| if n == 900 { 0 } else { *byte }).collect();
    let steps: [&[(&str, &[u8])]; 2] = [&[("new.bin", &bytes), ("y", b"\0")], &[("x", &changed)]];
    let mut made = Vec::new();
    for step in steps {
        repo.git(&["read-tree", base]);
        for (path, content) in step {
            fs::write(repo.repo.beside("content"), content).unwrap();
            let id = repo.git(&["hash-object", "-w", "../content"]);
            repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
        }
        let tree = repo.git(&["write-tree"]);
        let next = repo.git(&["commit-tree", "-m", "binary", &tree]);
        for (from, to) in [(base, next.as_str()), (&next, base)] {
            made.push(repo.git(&["diff-tree", "-p", "--binary", from, to]) + "\n");
        }
    }
    made.retain(|diff| !diff.trim().is_empty());
    let mut cases = made.clone();
    for diff in made {
        let forward_only: String =
            diff.split_inclusive("\n\n").enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, block)| block).collect();
        cases.extend([
            forward_only,
            diff.replace("index ", "index 0"),
            diff.replace("index 0", "index 1"),
            diff.replace("literal ", "literal 1"),
            diff.replace("literal ", "delta "),
            diff.replacen("zc", "zd", 1),
            diff.replace("GIT binary patch", "Binary files a/y and b/y differ"),
            diff.lines()
                .map(|line| if line.starts_with("index ") { line.to_uppercase() } else { line.into() } + "\n")
                .collect(),
            diff.lines()
                .map(|line| if line.starts_with("index ") { &line[..30] } else { line }.to_owned() + "\n")
                .collect(),
            diff.lines().filter(|line| !line.starts_with("index ")).map(|line| line.to_owned() + "\n").collect(),
            diff.trim_end().to_owned(),
        ]);
    }
    cases
}

/// Header lines with something behind the names, before them, or in the `diff --git` line.
fn header_cases() -> Vec<String> {
    let ends = [
        "\r", " ", "\t", "\u{b}", "\u{c}", "\tx", " x", "\"", "/", "//", "\\", "\u{a0}", "\u{2028}", " \r", "\t\r",
        "\\ ",
    ];
    let hunk = "@@ -1 +1 @@\n-1\n+2\n";
    let forms: [fn(&str, &str) -> String; 13] = [
        |end, _| format!("diff --git a/y b/z\nrename from y{end}\nrename to z\n"),
        |end, _| format!("diff --git a/y b/z\nrename from y\nrename to z{end}\n"),
        |end, _| format!("diff --git a/y b/z\ncopy from \"y\"{end}\ncopy to \"z\"{end}\n"),
        |end, _| format!("diff --git a/y b/y{end}\nold mode 100644\nnew mode 100755\n"),
        |end, _| format!("diff --git a/y{end} b/y{end}\nold mode 100644\nnew mode 100755\n"),
        |end, _| format!("diff --git \"a/y\"{end} \"b/y\"\nold mode 100644\nnew mode 100755\n"),
        |end, _| format!("diff --git a/n b/n\nnew file mode 100644{end}\nindex 0..1{end}\n"),
        |end, hunk| format!("diff --git a/y b/y\n--- a/y{end}\n+++ b/y\n{hunk}"),
        |end, hunk| format!("diff --git a/y b/y\n--- a/y{end}\n+++ b/y{end}\n{hunk}"),
        |end, hunk| format!("--- a/y{end}\n+++ b/y{end}\n{hunk}"),
        |end, hunk| format!("--- \"a/y\"{end}\n+++ \"b/y\"{end}\n{hunk}"),
        |end, _| format!("--- /dev/null{end}\n+++ b/n\n@@ -0,0 +1 @@\n+1\n"),
        |end, _| format!("--- a/y\n+++ /dev/null{end}\n@@ -1 +0,0 @@\n-1\n"),
    ];
    let mut cases: Vec<String> = forms.iter().flat_map(|form| ends.map(|end| form(end, hunk))).collect();
    for range in [
        "@@ -1 +1 @@\r",
        "@@ -1 +1 @@x",
        "@@ -1, +1 @@",
        "@@ -1 +1  @@",
        "@@ -1\t+1 @@",
        "@@ -+1 +1 @@",
        "@@ -1 +1 @",
        "@@ -1,1 +1,01 @@",
    ] {
        cases.push(modify("y", &hunk.replace("@@ -1 +1 @@", range)));
    }
    cases
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_cases_by_hand() {
    let (repo, base) = base();
    let mut comparison = Comparison::open(&repo.project).await;
    let binary = binary_cases(&repo, &base);
    let kinds = [
        ("headers", header_cases()),
        ("hunks", hunk_cases()),
        ("files", file_cases()),
        ("paths", path_cases()),
        ("binary", binary),
    ];
    for (kind, cases) in kinds {
        for diff in cases {
            comparison.compare(kind, Some(&base), &diff).await;
        }
        comparison.report(kind);
    }
    assert!(comparison.same > 80, "only {} were answered", comparison.same);
}

/// A text from a small alphabet, so that hunks match in several places.
fn random_lines(random: &mut Random, most: usize) -> Vec<&'static str> {
    (0..random.below(most + 1)).map(|_| *random.pick(&["a", "b", "c", ""])).collect()
}

/// Hunks that change some lines of `lines`, with wrong numbers now and then.
fn random_hunks(random: &mut Random, lines: &[&str], ends_file: bool) -> String {
    let mut text = String::new();
    let mut at = 0;
    for _ in 0..=random.below(2) {
        let start = at + random.below(lines.len().saturating_sub(at) + 1);
        let end = start + random.below(lines.len() - start + 1).min(5);
        let (mut body, mut old, mut new) = (String::new(), 0, 0);
        let context = random.below(3);
        for (n, line) in lines[start..end].iter().enumerate() {
            let is_edge = n < context || n + context >= end - start;
            if is_edge || random.below(3) == 0 {
                body += &format!(" {line}\n");
                (old, new) = (old + 1, new + 1);
            } else {
                body += &format!("-{line}\n");
                old += 1;
            }
            if start + n + 1 == lines.len() && ends_file && random.below(8) > 0 {
                body += NO_NEWLINE;
            }
            if random.below(3) == 0 {
                body += "+a\n";
                new += 1;
            }
        }
        if random.below(4) == 0 {
            body += "+b\n";
            new += 1;
        }
        let noise = |random: &mut Random| if random.below(8) == 0 { random.below(4) } else { 0 };
        let (mut first, mut second) = (start + usize::from(old > 0), start + usize::from(new > 0));
        (first, second) = (first + noise(random), second.saturating_sub(noise(random)) + noise(random));
        text += &format!("@@ -{first},{old} +{second},{new} @@\n{body}");
        at = end;
    }
    text
}

async fn compare_random_hunks(count: usize) -> Comparison {
    let mut random = Random(0x0DDB_1A5E_5BAD_5EED);
    let repo = TestRepo::new();
    let files: Vec<(Vec<&str>, bool)> =
        (0..60).map(|_| (random_lines(&mut random, 14), random.below(3) == 0)).collect();
    for (n, (lines, ends_file)) in files.iter().enumerate() {
        let text = lines.join("\n") + if *ends_file || lines.is_empty() { "" } else { "\n" };
        repo.write(&format!("f{n}"), text);
    }
    let base = repo.commit();
    let mut comparison = Comparison::open(&repo.project).await;
    for _ in 0..count {
        let n = random.below(files.len());
        let (lines, ends_file) = &files[n];
        let diff = modify(&format!("f{n}"), &random_hunks(&mut random, lines, *ends_file));
        comparison.compare("random hunks", Some(&base), &diff).await;
    }
    comparison.report("random hunks");
    comparison
}

#[tokio::test]
async fn the_engine_agrees_with_git_on_random_hunks() {
    let comparison = compare_random_hunks(200).await;
    assert!(comparison.same > 40, "only {} were answered", comparison.same);
}

/// `cargo xtask git-differential`
#[tokio::test]
#[ignore = "long"]
async fn git_differential_random_hunks() {
    compare_random_hunks(20_000).await;
}
