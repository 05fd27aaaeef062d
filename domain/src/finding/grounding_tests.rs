use super::{FileText, Grounded, Sides, ground};
use crate::finding::{FindingKind, Grounding, Lines, Location, NewFinding, Severity};
use proptest::prelude::*;

const TEXT: &str = "\
fn open() {
    let file = find();
    read(file);
}

fn close() {
    let file = find();
    drop(file);
    // the end
    finish(1);

    finish(2);
    report();
    report();
}
";

fn finding(lines: Option<(u32, u32)>, snippet: Option<&str>) -> NewFinding {
    let lines = lines.map(|(start, end)| Lines { start, end });
    NewFinding {
        is_issue: true,
        kind: FindingKind::Bug,
        severity: Severity::High,
        location: Some(Location { file: "src/a.rs".into(), lines }),
        title: "it breaks".into(),
        description: None,
        code_snippet: snippet.map(str::to_owned),
        suggestion: None,
        rule_ref: None,
        confidence: None,
    }
}

/// The answer in a line: what, where, why.
fn shown(Grounded { grounding, location }: &Grounded) -> String {
    let lines =
        location.as_ref().and_then(|location| location.lines).map(|lines| format!("{}-{}", lines.start, lines.end));
    let lines = lines.unwrap_or_default();
    match grounding {
        Grounding::Grounded { note: None } => format!("grounded {lines}"),
        Grounding::Grounded { note: Some(note) } => format!("grounded {lines}: {note}"),
        Grounding::Ungrounded { why } => format!("ungrounded: {why}"),
        Grounding::Unchecked { why } => format!("unchecked: {why}"),
    }
}

fn in_text(lines: Option<(u32, u32)>, snippet: Option<&str>) -> String {
    let sides = Sides { after: FileText::Text(TEXT), before: FileText::Absent };
    shown(&ground(&finding(lines, snippet), Some(sides), &[]))
}

#[test]
fn lines_and_quotes_are_looked_up_in_the_file() {
    let no_such_line = "ungrounded: \"src/a.rs\" has 15 lines, so not";
    type Row<'a> = (Option<(u32, u32)>, Option<&'a str>, String);
    let rows: &[Row<'_>] = &[
        (None, None, "grounded ".into()),
        (Some((3, 3)), None, "grounded 3-3".into()),
        (Some((1, 15)), None, "grounded 1-15".into()),
        (Some((0, 1)), None, format!("{no_such_line} lines 0-1")),
        (Some((5, 4)), None, format!("{no_such_line} lines 5-4")),
        (Some((16, 16)), None, format!("{no_such_line} line 16")),
        (Some((3, 3)), Some("read(file);"), "grounded 3-3".into()),
        (Some((3, 3)), Some("\n  read(file);  \n\n"), "grounded 3-3".into()),
        (Some((6, 6)), Some("read(file);"), "grounded 6-6".into()),
        (Some((7, 7)), Some("read(file);"), "grounded 3-3: the quote stands at line 3, not at line 7".into()),
        (None, Some("read(file);"), "grounded 3-3".into()),
        (None, Some("let file = find();"), "grounded ".into()),
        (
            Some((14, 15)),
            Some("let  file = find();"),
            "ungrounded: the quote stands at lines 2, 7, not at lines 14-15".into(),
        ),
        (Some((7, 8)), Some("let file = find();\n\tdrop(file);"), "grounded 7-8".into()),
        (Some((10, 12)), Some("finish(1);\n\nfinish(2);"), "grounded 10-12".into()),
        (Some((3, 3)), Some("+    read(file);"), "grounded 3-3".into()),
        (Some((3, 3)), Some("-    write(file);\n+    read(file);\n }"), "grounded 3-3".into()),
        // a part of a line, and of its neighbour
        (Some((2, 2)), Some("find()"), "grounded 2-2".into()),
        (Some((2, 3)), Some("find();\nread(fi"), "grounded 2-3".into()),
        (Some((3, 3)), Some("write(file);"), "ungrounded: \"src/a.rs\" does not say \"write(file);\"".into()),
        (Some((3, 3)), Some("e"), "ungrounded: \"src/a.rs\" does not say \"e\"".into()),
        (Some((3, 3)), Some("  \n "), "grounded 3-3".into()),
    ];
    for (lines, snippet, expected) in rows {
        assert_eq!(&in_text(*lines, *snippet), expected, "{lines:?} {snippet:?}");
    }
}

#[test]
fn a_file_is_looked_up_as_it_will_be_and_a_deleted_one_as_it_was() {
    use FileText::{Absent, Binary, Text, Unknown};
    let check = |after, before, expected: &str| {
        let sides = Some(Sides { after, before });
        assert_eq!(shown(&ground(&finding(Some((1, 1)), Some("fn old()")), sides, &[])), expected);
    };
    check(Text("fn old()\n"), Absent, "grounded 1-1");
    check(Absent, Text("fn old()\n"), "grounded 1-1");
    check(Text("fn new()\n"), Text("fn old()\n"), "grounded 1-1: it quotes what the change takes away");
    check(Text("fn new()\n"), Absent, "ungrounded: \"src/a.rs\" does not say \"fn old()\"");
    check(Text(""), Text("fn old()\n"), "ungrounded: \"src/a.rs\" has 0 lines, so not line 1");
    check(Absent, Absent, "ungrounded: there is no file \"src/a.rs\"");
    check(Binary, Text("fn old()\n"), "unchecked: \"src/a.rs\" is not text");
    check(Absent, Binary, "unchecked: \"src/a.rs\" is not text");
    check(Unknown, Text("fn old()\n"), "unchecked: \"src/a.rs\" could not be read");
    check(Absent, Unknown, "unchecked: \"src/a.rs\" could not be read");
    let sides = Some(Sides { after: Binary, before: Absent });
    assert_eq!(shown(&ground(&finding(None, None), sides, &[])), "grounded ");
    assert_eq!(
        shown(&ground(&finding(Some((1, 1)), None), None, &[])),
        "unchecked: there is no content to check it against"
    );
}

#[test]
fn without_a_file_the_proposal_itself_must_say_it() {
    let check = |snippet, expected: &str| {
        let finding = NewFinding { location: None, ..finding(None, snippet) };
        let prose = ["Rename the key", "diff --git a/x b/x\n@@ -1 +1 @@\n-let old = 1;\n+let new = 2;\n"];
        assert_eq!(shown(&ground(&finding, None, &prose)), expected);
    };
    check(None, "unchecked: it names no file");
    check(Some("rename"), "ungrounded: the proposal does not say \"rename\"");
    check(Some("Rename the key"), "grounded ");
    check(Some("let new = 2;"), "grounded ");
    check(Some("+let  new = 2;"), "grounded ");
    check(Some("let third = 3;"), "ungrounded: the proposal does not say \"let third = 3;\"");
}

#[test]
fn foreign_text_is_clipped_and_shown_not_obeyed() {
    let why = in_text(Some((1, 1)), Some(&format!("\u{202e}\u{1b}[31m{}", "x".repeat(500))));
    assert!(why.len() < 200 && why.contains("\\u{202e}\\u{1b}"), "{why}");
}

proptest! {
    #[test]
    fn a_quote_taken_from_the_text_is_grounded(
        lines in prop::collection::vec("[ a-z(){}+-]{0,12}", 1..20), start in 0usize..20, len in 1usize..6, off in 0u32..60,
    ) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let start = start.min(lines.len() - 1);
        let end = (start + len).min(lines.len());
        let quote = lines[start..end].join("\n");
        let at = (u32::try_from(start).unwrap() + 1, u32::try_from(end).unwrap());
        let sides = Some(Sides { after: FileText::Text(&text), before: FileText::Unknown });
        let here = ground(&finding(Some(at), Some(&quote)), sides, &[]);
        prop_assert_eq!(here.grounding, Grounding::Grounded { note: None });
        let somewhere = ground(&finding(Some((off, off + 1)), Some(&quote)), sides, &[]);
        if let (Grounding::Grounded { .. }, Some(location)) = (somewhere.grounding, somewhere.location) {
            prop_assert!(location.lines.unwrap().end as usize <= lines.len());
        }
    }

    #[test]
    fn anything_can_be_checked(text in "(?s).{0,60}", snippet in "(?s).{0,20}", start: u32, end: u32) {
        let sides = Some(Sides { after: FileText::Text(&text), before: FileText::Text(&snippet) });
        ground(&finding(Some((start, end)), Some(&snippet)), sides, &[&text]);
        ground(&finding(None, Some(&snippet)), None, &[&text]);
    }
}
