#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
}

fn listed(reading: &DiffSummary) -> String {
    let mut text = String::new();
    for file in &reading.files {
        let old = file.old_path.as_ref().map(|old| format!(" <- {old}")).unwrap_or_default();
        let counts = if file.binary { "binary".to_owned() } else { format!("+{} -{}", file.added, file.removed) };
        text.push_str(&format!("{} {}{old} {counts}\n", file.operation, file.path.replace('\t', "\\t")));
    }
    text
}

/// One file of a diff: a header for `path` and a hunk that adds `text`.
fn adding(path: &str, text: &str) -> String {
    format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n x\n+{text}\n")
}

fn kinds(diff: &str) -> Vec<FlagKind> {
    summarize(diff).flags.into_iter().map(|flag| flag.kind).collect()
}

#[track_caller]
fn check_files(diff: &str, expected: &str) {
    let reading = summarize(diff);
    assert_eq!(reading.note, None, "{diff}");
    assert_eq!(listed(&reading), expected, "{diff}");
}

/// The `.expected` files come from `git diff --raw` and `--numstat`; those of `mail`, `show` and `gnu` were written by
/// hand.
#[test]
fn every_diff_format_of_git_is_parsed_as_git_parses_it() {
    let names = [
        "everything",
        "markers",
        "zero-context",
        "no-prefix",
        "mnemonic",
        "unquoted",
        "plain",
        "sha256",
        "mail",
        "show",
        "gnu",
    ];
    for name in names {
        let reading = summarize(&fixture(&format!("{name}.diff")));
        assert_eq!(reading.note, None, "{name}");
        assert_eq!(listed(&reading), fixture(&format!("{name}.expected")), "{name}");
    }
}

#[test]
fn lines_that_git_writes_around_patches_are_not_flagged() {
    for name in ["everything", "zero-context", "no-prefix", "mnemonic", "mail", "show"] {
        let flags = summarize(&fixture(&format!("{name}.diff"))).flags;
        assert!(!flags.iter().any(|flag| flag.kind == FlagKind::TextOutsideHunks), "{name}: {flags:?}");
    }
}

#[test]
fn the_corpus_raises_every_other_flag() {
    let flags = summarize(&fixture("everything.diff")).flags;
    let on = |kind| {
        let paths = flags.iter().filter(|flag| flag.kind == kind).filter_map(|flag| flag.path.clone());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(on(FlagKind::Symlink), ["link", "newlink", "typechange"]);
    assert_eq!(on(FlagKind::Gitlink), ["sub"]);
    assert_eq!(on(FlagKind::ModeChange), ["tool.sh"]);
    assert_eq!(on(FlagKind::AgentConfig), [".claude/settings.json", ".mcp.json"]);
    assert_eq!(on(FlagKind::CiConfig), [".github/workflows/ci.yml"]);
    assert_eq!(on(FlagKind::GitConfig), [".gitattributes"]);
    assert_eq!(on(FlagKind::ControlCharacters), ["escape.txt", "tab\there.txt"]);
    assert_eq!(on(FlagKind::BidiCharacters), ["bidi.txt"]);
    let newlink = flags.iter().find(|flag| flag.path.as_deref() == Some("newlink")).unwrap();
    assert_eq!(newlink.detail, "a symlink to /etc/passwd");
}

#[test]
fn an_invalid_diff_gives_a_note_and_no_files() {
    for (diff, note) in [
        ("", "the diff is empty"),
        ("fix the bug please\n", "no file header found: neither `diff --git` nor `---` and `+++`"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk without a file header"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1 @@\n-a\n+b\n", "line 6: a hunk shorter than its header says"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-c\n+b\n", "line 5: a hunk longer than its header says"),
        ("diff --git a/x b/x\nindex 1..2 100644\n", "line 3: a file header without any change"),
        (
            "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
            "line 1: the header does not say which file it is about",
        ),
        (
            "diff --git a/evil b/evil\ndiff --git a/x b/x\nindex 1..2\n@@ -1 +1 @@\n-a\n+b\n",
            "line 1: a `diff --git` line with no header behind it",
        ),
        ("diff --git a/x b/x\nnew file mode rw\n", "line 2: a file mode that cannot be read"),
        (
            "diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 3\nno base85\n\n",
            "line 5: binary data that cannot be read",
        ),
    ] {
        let reading = summarize(diff);
        assert_eq!(reading.note.as_deref(), Some(note), "{diff}");
        assert_eq!(reading.files, [], "{diff}");
    }
}

#[test]
fn flags_from_before_an_error_are_kept() {
    let diff = adding(".mcp.json", "a") + "--- a/x\n+++ b/x\n@@ -1 +1 @@\n~\u{202e}\n";
    assert_eq!(kinds(&diff), [FlagKind::AgentConfig, FlagKind::BidiCharacters]);
}

#[test]
fn a_missing_final_newline_does_not_matter() {
    let diff = adding("x", "y");
    assert_eq!(summarize(diff.trim_end()), summarize(&diff));
}

#[test]
fn several_patches_to_one_file_are_one_entry() {
    check_files(&(adding("x", "1") + &adding("y", "2") + &adding("x", "3")), "modify x +2 -0\nmodify y +1 -0\n");
}

#[test]
fn a_deletion_that_git_does_not_perform_is_flagged() {
    let delete = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-1\n";
    let diff = adding("x", "1") + delete;
    check_files(&diff, "modify x +1 -0\ndelete x +0 -2\n");
    assert_eq!(kinds(&diff), [FlagKind::TextOutsideHunks]);

    let mail = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nSubject: x\n\n---\n";
    let mails = format!("{mail}{}{mail}{delete}", adding("x", "1"));
    check_files(&mails, "delete x +1 -2\n");
    assert_eq!(kinds(&mails), []);
    assert_eq!(apply_parts(&mails).len(), 2);
}

#[test]
fn each_mail_is_a_part_and_a_cover_letter_is_not() {
    let mails = fixture("mail.diff");
    let cover = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH 0/2]\n\n-- \n2.47.3\n\n";
    let series = format!("{cover}{mails}");
    let parts = apply_parts(&series);
    assert_eq!(parts.len(), 2);
    assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), mails);
    assert_eq!(summarize(&series).files, summarize(&mails).files);
    assert_eq!(apply_parts("no diff").len(), 1);
    let broken = mails.clone() + "@@ -1 +1 @@\n";
    assert_eq!(
        summarize(&broken).note,
        Some(format!("line {}: a hunk without a file header", mails.lines().count() + 1))
    );
}

#[test]
fn a_plain_patch_after_a_git_patch_is_found() {
    let diff = adding("safe", "1") + "--- a/evil\n+++ b/evil\n@@ -1 +1,2 @@\n x\n+bad\n";
    check_files(&diff, "modify safe +1 -0\nmodify evil +1 -0\n");
}

#[test]
fn the_names_in_the_header_win_over_the_diff_git_line() {
    let diff = "diff --git a/safe b/safe\nindex 1..2 100644\n--- a/evil\n+++ b/evil\n@@ -1 +1,2 @@\n x\n+bad\n";
    check_files(diff, "modify evil +1 -0\n");
    let flags = summarize(diff).flags;
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0].detail, "the `diff --git` line names safe, git changes evil");
}

#[test]
fn two_different_names_rename_the_file_without_a_rename_header() {
    let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/y\n@@ -1 +1,2 @@\n x\n+bad\n";
    check_files(diff, "rename y <- x +1 -0\n");
}

#[test]
fn text_that_git_skips_is_flagged_with_its_first_line() {
    let between = adding("x", "1") + "APPROVED BY SECURITY\nreally\n" + &adding("y", "2");
    let flags = summarize(&between).flags;
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0].kind, FlagKind::TextOutsideHunks);
    assert_eq!(flags[0].detail, "2 lines are ignored by git, the first is line 8: APPROVED BY SECURITY");

    let in_marker = adding("x", "1") + "\\ this file was reviewed before\n";
    assert_eq!(kinds(&in_marker), [FlagKind::TextOutsideHunks]);
    let honest = adding("x", "1") + "\\ No newline at end of file\n";
    assert_eq!(kinds(&honest), []);
}

#[test]
fn config_files_are_recognised_in_any_spelling_and_on_both_sides_of_a_rename() {
    for (path, kind) in [
        (".Claude/Settings.JSON", FlagKind::AgentConfig),
        ("deep/.mcp.json", FlagKind::AgentConfig),
        (".mcp.json.", FlagKind::AgentConfig),
        ("CLAUDE.md", FlagKind::AgentConfig),
        (".planning/config.json", FlagKind::AgentConfig),
        (".GitHub/Workflows/x.yml", FlagKind::CiConfig),
        (".gitlab-ci.yml", FlagKind::CiConfig),
        ("sub/.gitmodules", FlagKind::GitConfig),
        (".gitignore", FlagKind::GitConfig),
    ] {
        assert_eq!(kinds(&adding(path, "x")), [kind], "{path}");
    }
    assert_eq!(kinds(&adding("src/git.rs", "x")), []);
    assert_eq!(kinds(&adding("logs/.gitkeep", "x")), []);
    let moved = "diff --git a/.mcp.json b/x\nsimilarity index 100%\nrename from .mcp.json\nrename to x\n";
    assert_eq!(kinds(moved), [FlagKind::AgentConfig]);
}

#[test]
fn configuration_that_runs_code_is_recognised() {
    for path in [
        "Makefile",
        "sub/GNUmakefile",
        "rules.mk",
        "CMakeLists.txt",
        "ui/build.rs",
        ".cargo/config.toml",
        "rust-toolchain",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".devcontainer/devcontainer.json",
        ".npmrc",
        ".envrc",
        "setup.py",
        "tests/conftest.py",
        "Dockerfile.dev",
        "gradlew",
    ] {
        assert_eq!(kinds(&adding(path, "x")), [FlagKind::BuildConfig], "{path}");
    }
    for (path, kind) in [(".husky/pre-push", FlagKind::GitConfig), ("lefthook.yaml", FlagKind::CiConfig)] {
        assert_eq!(kinds(&adding(path, "x")), [kind], "{path}");
    }
    // Only some lines of these run code.
    for (path, line, is_flagged) in [
        ("web/package.json", "\"postinstall\": \"node x.js\",", true),
        ("package.json", "{\"scripts\":{\"start\":\"x\"}}", true),
        ("package.json", "\"left-pad\": \"^1.0.0\",", false),
        ("package.json", "\"description\": \"it can install itself\",", false),
        ("pyproject.toml", "build-backend = \"backend\"", true),
        ("pyproject.toml", "[tool.hatch.build.hooks.custom]", true),
        ("pyproject.toml", "dependencies = [\"requests\"]", false),
        ("src/makefile.rs", "x", false),
        ("Cargo.toml", "serde = \"1\"", false),
    ] {
        let expected: &[FlagKind] = if is_flagged { &[FlagKind::BuildConfig] } else { &[] };
        assert_eq!(kinds(&adding(path, line)), expected, "{path}: {line}");
    }
}

#[test]
fn a_new_executable_is_flagged() {
    let new = |mode: &str| {
        format!("diff --git a/run b/run\nnew file mode {mode}\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n")
    };
    assert_eq!(kinds(&new("100755")), [FlagKind::Executable]);
    assert_eq!(kinds(&new("100644")), []);
    assert_eq!(kinds(&new("120000")), [FlagKind::Symlink]);
}

#[test]
fn words_with_letters_that_look_like_others_are_flagged() {
    let flags = summarize(&adding("x", "let p\u{430}yment = s\u{441}ope;")).flags;
    let found: Vec<_> = flags.iter().map(|flag| (flag.kind, flag.detail.as_str())).collect();
    let detail = "U+0430 (Cyrillic) in \"p\u{430}yment\" at line 7, 2 in all";
    assert_eq!(found, [(FlagKind::MixedScripts, detail)]);
    assert_eq!(kinds(&adding("\u{455}rc/x", "x")), [FlagKind::MixedScripts]);
    // Texts in other languages, and letters that look like themselves.
    for text in [
        "\u{44d}\u{442}\u{43e} HTTP-\u{441}\u{435}\u{440}\u{432}\u{435}\u{440}",
        "let \u{394}x = 1;",
        "na\u{ef}ve",
        "T\u{30b7}\u{30e3}\u{30c4}",
    ] {
        assert_eq!(kinds(&adding("x", text)), [], "{text}");
    }
}

#[test]
fn selectors_are_flagged_unless_they_choose_a_form() {
    for text in [
        "a\u{fe0f}",
        "\u{2764}\u{fe0f}\u{fe0f}",
        "x\u{e0101}\u{e0120}",
        "\u{1f600}\u{e0155}",
        "1\u{fe0f}",
        "\u{3164}",
        "so\u{ad}ft",
    ] {
        assert_eq!(kinds(&adding("x", text)), [FlagKind::ControlCharacters], "{text:?}");
    }
    for text in ["\u{2764}\u{fe0f}", "1\u{fe0f}\u{20e3}", "\u{845b}\u{e0100}", "\u{26a0}\u{fe0e}"] {
        assert_eq!(kinds(&adding("x", text)), [], "{text:?}");
    }
}

#[test]
fn hidden_characters_are_flagged_once_per_file() {
    let flags = summarize(&adding("x", "a\u{202e}b\u{2066}c\u{7}")).flags;
    let details: Vec<_> = flags.iter().map(|flag| flag.detail.as_str()).collect();
    assert_eq!(details, ["U+0007 at line 7", "U+202E at line 7, 2 in all"]);
    assert_eq!(kinds(&adding("x", "tab\tand carriage return\r")), []);
    assert_eq!(kinds(&adding("x", "family \u{1f468}\u{200d}\u{1f469}")), []);
    assert_eq!(kinds(&adding(".gi\u{200c}t/hooks/x", "y")), [FlagKind::GitConfig, FlagKind::ControlCharacters]);
}

#[test]
fn dev_null_means_a_missing_file_only_where_git_says_so() {
    check_files("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n", "create x +1 -0\n");
    check_files("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n", "delete x +0 -1\n");
    let no_mode_line = "diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n";
    check_files(no_mode_line, "rename dev/null <- x +0 -1\n");
}

#[test]
fn patches_keep_their_hunks_for_the_check() {
    let diff = "diff --git a/x b/x\nindex 12..34 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ fn\n a\n-b\n\\ No newline at end of file\n\
                @@ -9 +8,2 @@\n-c\n+d\n+e\ntext\n--- a/y\n+++ b/y.orig\n@@ -1 +1 @@\n-1\n+2\n";
    let parts = apply_parts(diff);
    let [x, y] = parts[0].patches.as_deref().unwrap() else { panic!("two patches") };
    let hunks: Vec<_> = x.hunks.iter().map(|h| (h.old_start, h.old, h.new_start, h.new, h.lines)).collect();
    assert_eq!(hunks, [(1, 2, 1, 1, " a\n-b\n\\ No newline at end of file\n"), (9, 1, 8, 2, "-c\n+d\n+e\n")]);
    assert_eq!((x.index_ids, x.old_mode, x.guessed), (Some(("12", "34")), Some(0o100_644), false));
    assert!(y.guessed, "two different names");
    assert!(apply_parts("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n")[0].patches.is_none(), "a hunk that is too short");
    let created = apply_parts("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n");
    assert!(!created[0].patches.as_ref().unwrap()[0].guessed);
}

#[test]
fn parts_know_their_strip_level_and_zero_context() {
    let hints = |name: &str| {
        let diff = fixture(name);
        let part = &apply_parts(&diff)[0];
        (part.strip, part.zero_context)
    };
    assert_eq!(hints("everything.diff"), (1, ZeroContext::No));
    assert_eq!(hints("mnemonic.diff"), (1, ZeroContext::No));
    assert_eq!(hints("zero-context.diff"), (1, ZeroContext::Certain));
    assert_eq!(hints("no-prefix.diff"), (0, ZeroContext::No));
    assert_eq!(hints("gnu.diff"), (1, ZeroContext::No));
    let renamed = "diff --git old/x new/x\nsimilarity index 100%\nrename from old/x\nrename to new/x\n";
    assert_eq!(apply_parts(renamed)[0].strip, 0);
    let top = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(apply_parts(top)[0].zero_context, ZeroContext::Possible);
    let whole = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
    assert_eq!(apply_parts(whole)[0].zero_context, ZeroContext::No);
}

#[test]
fn a_header_full_of_blanks_and_slashes_is_parsed_quickly() {
    let hostile = format!("diff --git {}\n", "a/ ".repeat(2_700)).repeat(400);
    assert!(summarize(&hostile).note.is_some());
}

#[test]
fn every_name_equals_its_serde_name() {
    for kind in FlagKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
    let file = summarize(&adding("x", "y")).files.remove(0);
    let json = serde_json::json!({"path": "x", "operation": "modify", "added": 1, "removed": 0, "binary": false});
    assert_eq!(serde_json::to_value(file).unwrap(), json);
}

/// Typical lines of a diff, so that random texts contain valid headers.
fn diff_line() -> impl Strategy<Value = String> {
    let known = [
        "diff --git a/x b/x",
        "diff --git \"a/\\303\\377\" \"b/\\303\\377\"",
        "diff --git x x",
        "--- a/x",
        "+++ b/x",
        "--- /dev/null",
        "+++ /dev/null",
        "@@ -1 +1 @@",
        "@@ -0,0 +1,2 @@ f",
        "@@ -1,99999999999999999999 +1 @@",
        "-a",
        "+b",
        " c",
        "",
        "\\ No newline at end of file",
        "new file mode 100644",
        "deleted file mode 120000",
        "old mode 100644",
        "new mode 100755",
        "rename from x",
        "rename to \"y\\t\"",
        "copy from x",
        "copy to z",
        "index 1..2 160000",
        "GIT binary patch",
        "literal 3",
        "delta 9",
        "Kc$@Y0",
        "Binary files a/x and b/x differ",
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001",
        "-- ",
        "2.47.3",
        "\"",
        "\\",
    ];
    prop_oneof![9 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".*"]
}

const TWO_FILES: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n same\ndiff --git a/z b/z\nsimilarity index 100%\n";

fn changed_paths(diff: &str) -> Vec<String> {
    sections(diff).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn a_section_starts_only_at_a_file_header() {
    assert_eq!(changed_paths(TWO_FILES), ["x", "z"]);
    assert_eq!(sections(TWO_FILES).into_iter().map(|(_, text)| text).collect::<String>(), TWO_FILES);
    assert!(file_section(TWO_FILES, "x").is_some() && file_section(TWO_FILES, "y").is_none());
}

#[test]
fn plain_unified_diffs_are_split_too() {
    let plain = "note\n--- x\t2026\n+++ x\n@@ -1 +1 @@\n--- a\n+++ b\n--- z\n+++ z\n@@ -0,0 +1 @@\n+new\n";
    assert_eq!(changed_paths(plain), ["x", "z"]);
}

#[test]
fn a_text_without_a_diff_has_no_sections() {
    assert!(sections("hello\n").is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "(?s).*") {
        let _ = (summarize(&text), apply_parts(&text), sections(&text));
    }

    #[test]
    fn any_mix_of_diff_lines_gives_files_or_a_note(lines in proptest::collection::vec(diff_line(), 0..40)) {
        let text = lines.join("\n");
        let reading = summarize(&text);
        prop_assert_eq!(reading.files.is_empty(), reading.note.is_some());
        prop_assert!(reading.files.iter().all(|file| !file.path.is_empty()));
        let _ = (apply_parts(&text), sections(&text));
    }
}
