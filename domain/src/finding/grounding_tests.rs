use super::{FileText, Grounded, ProposalTexts, Sides, ground};
use crate::{
    finding::{FindingKind, Grounding, Lines, LocatedText, Location, NewFinding, Severity},
    review::DiffSide,
};
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
        location: Some(Location::in_file("src/a.rs", lines)),
        title: "it breaks".into(),
        description: None,
        code_snippet: snippet.map(str::to_owned),
        suggestion: None,
        rule_ref: None,
        confidence: None,
    }
}

fn on_side(side: DiffSide, lines: Option<(u32, u32)>, snippet: Option<&str>) -> NewFinding {
    let lines = lines.map(|(start, end)| Lines { start, end });
    let text = LocatedText::File { path: "src/a.rs".into(), side };
    NewFinding { location: Some(Location { text, lines }), ..finding(None, snippet) }
}

fn in_description(lines: Option<(u32, u32)>, snippet: Option<&str>) -> NewFinding {
    let lines = lines.map(|(start, end)| Lines { start, end });
    NewFinding { location: Some(Location { text: LocatedText::Description, lines }), ..finding(None, snippet) }
}

const NO_TEXTS: ProposalTexts<'_> = ProposalTexts { intent: "", description: None, diff: None };

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
    shown(&ground(&finding(lines, snippet), Some(sides), NO_TEXTS))
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
        assert_eq!(shown(&ground(&finding(Some((1, 1)), Some("fn old()")), sides, NO_TEXTS)), expected);
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
    assert_eq!(shown(&ground(&finding(None, None), sides, NO_TEXTS)), "grounded ");
    assert_eq!(
        shown(&ground(&finding(Some((1, 1)), None), None, NO_TEXTS)),
        "unchecked: there is no content to check it against"
    );
}

#[test]
fn without_a_file_the_proposal_itself_must_say_it() {
    let check = |snippet, expected: &str| {
        let finding = NewFinding { location: None, ..finding(None, snippet) };
        let diff = Some("diff --git a/x b/x\n@@ -1 +1 @@\n-let old = 1;\n+let new = 2;\n");
        let proposal = ProposalTexts { intent: "Rename the key", description: None, diff };
        assert_eq!(shown(&ground(&finding, None, proposal)), expected);
    };
    check(None, "unchecked: it names no file");
    check(Some("rename"), "ungrounded: the proposal does not say \"rename\"");
    check(Some("Rename the key"), "grounded ");
    check(Some("let new = 2;"), "grounded ");
    check(Some("+let  new = 2;"), "grounded ");
    check(Some("let third = 3;"), "ungrounded: the proposal does not say \"let third = 3;\"");
}

#[test]
fn the_old_side_is_looked_up_before_the_change_only() {
    use FileText::{Absent, Binary, Text, Unknown};
    let proposal = ProposalTexts { diff: Some("a diff"), ..NO_TEXTS };
    let check = |before, lines, snippet, expected: &str| {
        let sides = Some(Sides { after: Text("fn new()\n"), before });
        assert_eq!(shown(&ground(&on_side(DiffSide::Old, lines, snippet), sides, proposal)), expected);
    };
    let name = "\"src/a.rs\" before the change";
    check(Text(TEXT), Some((3, 3)), Some("read(file);"), "grounded 3-3");
    check(Text(TEXT), Some((3, 3)), Some("-    read(file);"), "grounded 3-3");
    check(Text(TEXT), Some((3, 3)), Some("-    read(file);\n+    write(file);\n }"), "grounded 3-3");
    check(Text(TEXT), Some((9, 9)), Some("read(file);"), "grounded 3-3: the quote stands at line 3, not at line 9");
    check(Text(TEXT), None, Some("read(file);"), "grounded 3-3");
    check(Text(TEXT), Some((1, 1)), Some("fn new()"), &format!("ungrounded: {name} does not say \"fn new()\""));
    check(Text(TEXT), Some((16, 16)), None, &format!("ungrounded: {name} has 15 lines, so not line 16"));
    check(Absent, Some((1, 1)), Some("fn new()"), &format!("ungrounded: there is no file {name}"));
    check(Binary, Some((1, 1)), None, &format!("unchecked: {name} is not text"));
    check(Binary, None, None, "grounded ");
    check(Unknown, Some((1, 1)), None, &format!("unchecked: {name} could not be read"));
    let sides = Some(Sides { after: Text(TEXT), before: Text(TEXT) });
    assert_eq!(
        shown(&ground(&on_side(DiffSide::Old, Some((3, 3)), None), sides, NO_TEXTS)),
        "ungrounded: the proposal has no diff, so nothing has an old side"
    );
}

#[test]
fn lines_of_the_description_are_looked_up_there() {
    let plan = "# Plan\n\n1. Copy the table.\n2. Drop the old table.\n3. Rename the copy.\n\n\n\n# Risks\n";
    let proposal = ProposalTexts { intent: "Move the table", description: Some(plan), diff: Some("+let a = 1;\n") };
    let check = |lines, snippet, expected: &str| {
        assert_eq!(shown(&ground(&in_description(lines, snippet), None, proposal)), expected);
    };
    check(None, None, "grounded ");
    check(Some((4, 4)), None, "grounded 4-4");
    check(Some((4, 4)), Some("Drop the old table"), "grounded 4-4");
    check(None, Some("Drop the old table"), "grounded 4-4");
    check(Some((9, 9)), Some("Drop the old table"), "grounded 4-4: the quote stands at line 4, not at line 9");
    check(Some((10, 10)), None, "ungrounded: the description has 9 lines, so not line 10");
    check(Some((3, 3)), Some("Lock it"), "ungrounded: the description does not say \"Lock it\"");
    // Only the description counts, not the other texts of the proposal.
    check(None, Some("Move the table"), "ungrounded: the description does not say \"Move the table\"");
    check(None, Some("let a = 1;"), "ungrounded: the description does not say \"let a = 1;\"");
    assert_eq!(
        shown(&ground(&in_description(Some((1, 1)), None), None, NO_TEXTS)),
        "ungrounded: the proposal has no description"
    );
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
        let here = ground(&finding(Some(at), Some(&quote)), sides, NO_TEXTS);
        prop_assert_eq!(here.grounding, Grounding::Grounded { note: None });
        let somewhere = ground(&finding(Some((off, off + 1)), Some(&quote)), sides, NO_TEXTS);
        if let (Grounding::Grounded { .. }, Some(location)) = (somewhere.grounding, somewhere.location) {
            prop_assert!(location.lines.unwrap().end as usize <= lines.len());
        }
    }

    #[test]
    fn anything_can_be_checked(text in "(?s).{0,60}", snippet in "(?s).{0,20}", start: u32, end: u32) {
        let sides = Some(Sides { after: FileText::Text(&text), before: FileText::Text(&snippet) });
        let proposal = ProposalTexts { intent: "", description: Some(&text), diff: Some(&snippet) };
        for side in DiffSide::ALL {
            ground(&on_side(*side, Some((start, end)), Some(&snippet)), sides, proposal);
        }
        ground(&in_description(Some((start, end)), Some(&snippet)), None, proposal);
        ground(&finding(None, Some(&snippet)), None, proposal);
    }
}
