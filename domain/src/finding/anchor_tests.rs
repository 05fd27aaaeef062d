use super::{Anchor, changed_lines, project_all, removed_lines};
use crate::finding::grounding::FileText;
use crate::finding::{AnchorState, Lines, LocatedText, Location};
use crate::review::DiffSide;
use proptest::prelude::*;

const OLD: &str = "\
use std::fmt;

fn open(path: &Path) -> Result<File, Error> {
    let file = File::open(path)?;
    check_the_header_of(&file)?;
    Ok(file)
}

fn close(file: File) -> Result<(), Error> {
    flush_everything_to(&file)?;
    drop(file);
    Ok(())
}
";

fn location(start: u32, end: u32) -> Location {
    Location::in_file("a.rs", Some(Lines { start, end }))
}

pub(super) fn project(location: &Location, old: &str, new: FileText<'_>, new_path: &str) -> Anchor {
    let new_name = Location::in_file(new_path, None).text;
    project_all(std::slice::from_ref(location), old, new, &new_name).remove(0)
}

fn shown(projection: &Anchor) -> String {
    let lines = projection.location.as_ref().map(|location| location.lines.map(|lines| (lines.start, lines.end)));
    format!("{} {lines:?}", projection.state)
}

#[track_caller]
fn check(lines: (u32, u32), new: &str, expected: &str) {
    let projection = project(&location(lines.0, lines.1), OLD, FileText::Text(new), "a.rs");
    assert_eq!(shown(&projection), expected);
}

#[test]
fn lines_are_followed_through_edits() {
    check((4, 5), OLD, "exact Some(Some((4, 5)))");
    let inserted = OLD.replace("use std::fmt;\n", "use std::fmt;\nuse std::io;\n");
    check((4, 5), &inserted, "moved Some(Some((5, 6)))");
    check((10, 10), &inserted, "moved Some(Some((11, 11)))");
    let changed = OLD.replace("check_the_header_of", "verify_the_header_of");
    check((5, 5), &changed, "modified Some(Some((5, 5)))");
    check((4, 6), &changed, "modified Some(Some((4, 6)))");
    check((4, 4), &changed, "exact Some(Some((4, 4)))");
    check((10, 10), &changed, "exact Some(Some((10, 10)))");
    let grown = OLD.replace("    Ok(file)\n", "    log(\"opened\");\n    count();\n    Ok(file)\n");
    check((5, 6), &grown, "modified Some(Some((5, 8)))");
    let deleted = OLD.replace("    check_the_header_of(&file)?;\n", "");
    check((5, 5), &deleted, "gone None");
    check((4, 5), &deleted, "modified Some(Some((4, 4)))");
    check((6, 6), &deleted, "moved Some(Some((5, 5)))");
    check((5, 5), "", "gone None");
}

#[test]
fn a_block_is_found_where_it_moved_to() {
    let (head, rest) = OLD.split_at(OLD.find("fn open").unwrap());
    let (open, close) = rest.split_at(rest.find("fn close").unwrap());
    let swapped = format!("{head}{close}\n{}", open.trim_end());
    check((10, 11), &swapped, "moved Some(Some((4, 5)))");
    check((4, 5), &swapped, "moved Some(Some((10, 11)))");
}

#[test]
fn a_twin_is_never_taken_for_the_line_itself() {
    // the function twice, so which of the two it was is anybody's guess
    let (head, rest) = OLD.split_at(OLD.find("fn close").unwrap());
    check((10, 10), &format!("{head}{rest}\n{rest}"), "modified Some(Some((10, 10)))");
    // the brace of another function
    let other = OLD.replace("    Ok(file)\n}\n", "    Ok(file)\n");
    let projection = project(&location(7, 7), OLD, FileText::Text(&other), "a.rs");
    assert!(matches!(projection.state, AnchorState::Gone | AnchorState::Modified), "{projection:?}");
    // nothing is left but a line that reads the same
    check((13, 13), "struct Entirely;\nstruct Different {\n}\nstruct Text;\n", "modified Some(Some((3, 3)))");
    let many = "same();\n".repeat(20);
    let more = "same();\n".repeat(21);
    let projection = project(&location(7, 7), &many, FileText::Text(&more), "a.rs");
    assert_eq!(projection.state, AnchorState::Modified);
}

#[test]
fn a_file_is_known_by_its_path() {
    let whole = Location::in_file("a.rs", None);
    let state = |location: &Location, new, path| project(location, OLD, new, path).state;
    assert_eq!(state(&whole, FileText::Text("other"), "a.rs"), AnchorState::Exact);
    assert_eq!(state(&whole, FileText::Binary, "b.rs"), AnchorState::Moved);
    assert_eq!(state(&whole, FileText::Absent, "a.rs"), AnchorState::Gone);
    assert_eq!(state(&whole, FileText::Unknown, "a.rs"), AnchorState::Modified);
    assert_eq!(state(&location(4, 5), FileText::Text(OLD), "b.rs"), AnchorState::Moved);
    assert_eq!(state(&location(4, 5), FileText::Binary, "a.rs"), AnchorState::Modified);
    assert_eq!(state(&location(4, 5), FileText::Absent, "a.rs"), AnchorState::Gone);
    for outside in [location(0, 1), location(5, 4), location(13, 14), location(u32::MAX, u32::MAX)] {
        assert_eq!(state(&outside, FileText::Text(OLD), "a.rs"), AnchorState::Modified);
    }
}

#[test]
fn line_ends_are_no_part_of_a_line() {
    check((4, 5), &OLD.replace('\n', "\r\n"), "exact Some(Some((4, 5)))");
    check((13, 13), OLD.trim_end(), "exact Some(Some((13, 13)))");
}

#[test]
fn changed_lines_are_those_written_anew_and_both_sides_of_a_seam() {
    let changed = |old: &str, new: &str| -> Vec<_> {
        changed_lines(old, new).iter().map(|lines| (lines.start, lines.end)).collect()
    };
    assert_eq!(changed("a\nb\nc\n", "a\nb\nc\n"), []);
    assert_eq!(changed("a\nb\nc\n", "a\nx\nc\n"), [(2, 2)]);
    assert_eq!(changed("a\nb\nc\n", "a\nb\nx\ny\nc\nz\n"), [(3, 4), (6, 6)]);
    assert_eq!(changed("a\nb\nc\nd\n", "a\nd\n"), [(1, 2)]);
    assert_eq!(changed("a\nb\n", "a\n"), [(1, 1)]);
    assert_eq!(changed("a\nb\n", "b\n"), [(1, 1)]);
    assert_eq!(changed("a\nb\n", ""), []);
    assert_eq!(changed("", "a\nb\n"), [(1, 2)]);
}

#[test]
fn removed_lines_are_counted_in_the_old_text() {
    let removed = |old: &str, new: &str| -> Vec<_> {
        removed_lines(old, new).iter().map(|lines| (lines.start, lines.end)).collect()
    };
    assert_eq!(removed("a\nb\nc\n", "a\nb\nc\nd\n"), []);
    assert_eq!(removed("a\nb\nc\n", "a\nx\ny\nc\n"), [(2, 2)]);
    assert_eq!(removed("a\nb\nc\nd\ne\n", "b\ne\n"), [(1, 1), (3, 4)]);
    assert_eq!(removed("a\nb\n", ""), [(1, 2)]);
}

#[test]
fn lines_of_the_old_side_and_of_the_description_stay_there() {
    let old_side = LocatedText::File { path: "a.rs".into(), side: DiffSide::Old };
    let inserted = format!("// new\n{OLD}");
    let changed = OLD.replace("check_the_header_of", "verify_the_header_of");
    let deleted = OLD.replace("    check_the_header_of(&file)?;\n", "");
    for text in [old_side, LocatedText::Description] {
        let location = Location { text: text.clone(), lines: Some(Lines { start: 5, end: 5 }) };
        for (new, state, line) in [
            (FileText::Text(OLD), AnchorState::Exact, Some(5)),
            (FileText::Text(&inserted), AnchorState::Moved, Some(6)),
            (FileText::Text(&changed), AnchorState::Modified, Some(5)),
            (FileText::Text(&deleted), AnchorState::Gone, None),
            (FileText::Absent, AnchorState::Gone, None),
        ] {
            let anchor = project_all(std::slice::from_ref(&location), OLD, new, &text).remove(0);
            let expected =
                line.map(|line| Location { text: text.clone(), lines: Some(Lines { start: line, end: line }) });
            assert_eq!((anchor.state, anchor.location), (state, expected));
        }
    }
}

/// The worst cases that we know of; without a limit one of them takes a quarter of a minute.
#[test]
fn large_texts_are_projected_all_the_same() {
    let numbers = |step: usize| (0..60_000).map(move |line| line * step % 60_000);
    let plain: String = numbers(1).map(|line| format!("line {line}\n")).collect();
    let shuffled: String = numbers(7919).map(|line| format!("line {line}\n")).collect();
    let spread: String = numbers(1).map(|line| format!("line {line}\nand {line}\n")).collect();
    let alike = "}\n".repeat(60_000);
    let longer = "}\n".repeat(60_100);
    for (old, new) in [(&plain, &shuffled), (&plain, &spread), (&alike, &longer), (&alike, &plain)] {
        let locations: Vec<_> = (1..60_000).step_by(25_000).map(|line| location(line, line + 20)).collect();
        for said in project_all(&locations, old, FileText::Text(new), &location(1, 1).text) {
            assert_ne!(said.state, AnchorState::Exact);
        }
    }
}

/// Texts with few different lines: everything is ambiguous.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "}",
        "",
        "    let name = the_value_of(something)?;",
        "a",
        "fn one() {",
        "fn two() {",
    ]);
    prop::collection::vec(line, 0..25).prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

fn lines_of(text: &str, location: &Location) -> Vec<String> {
    let lines = location.lines.unwrap();
    let count = (lines.end - lines.start + 1) as usize;
    text.lines().skip(lines.start as usize - 1).take(count).map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn nothing_changes_in_an_unchanged_text(text in text(), start in 1u32..30, len in 0u32..8) {
        let location = location(start, start + len);
        prop_assume!((start + len) as usize <= text.lines().count());
        let projection = project(&location, &text, FileText::Text(&text), "a.rs");
        prop_assert_eq!(projection, Anchor { state: AnchorState::Exact, location: Some(location), likely_fixed: false });
    }

    #[test]
    fn what_stands_reads_the_same(old in text(), new in text(), start in 0u32..30, end in 0u32..30) {
        let location = location(start, end);
        let projection = project(&location, &old, FileText::Text(&new), "a.rs");
        match projection.state {
            AnchorState::Exact => prop_assert_eq!(Some(&location), projection.location.as_ref()),
            AnchorState::Moved => prop_assert_ne!(Some(&location), projection.location.as_ref()),
            AnchorState::Modified => prop_assert!(projection.location.is_some()),
            AnchorState::Gone => prop_assert_eq!(&projection.location, &None),
        }
        if matches!(projection.state, AnchorState::Exact | AnchorState::Moved) {
            prop_assert_eq!(lines_of(&old, &location), lines_of(&new, &projection.location.unwrap()));
        } else if let Some(Lines { start, end }) = projection.location.and_then(|location| location.lines) {
            prop_assert!(1 <= start && start <= end && end as usize <= new.lines().count());
        }
    }

    #[test]
    fn any_text_can_be_projected(old in ".{0,80}", new in "(?s).{0,80}", start: u32, end: u32) {
        project(&location(start, end), &old, FileText::Text(&new), "b.rs");
        project(&location(1, 1), &old, FileText::Text(&new), "a.rs");
        changed_lines(&old, &new);
    }

    #[test]
    fn lines_outside_of_the_changed_ones_are_old(old in text(), new in text()) {
        let changed = changed_lines(&old, &new);
        let is_changed = |line: u32| changed.iter().any(|lines| lines.start <= line && line <= lines.end);
        for (number, line) in (1..).zip(new.lines()) {
            prop_assert!(is_changed(number) || old.lines().any(|old| old == line));
        }
    }
}
