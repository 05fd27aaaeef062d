use super::{ChangesSince, ContentFiles};
use domain::{
    content::Content,
    diff::{AffectedFile, FileOperation},
    finding::{Lines, LocatedText, Location},
    review::DiffSide,
};
use git::{FileContent, FileVersions};
use std::{collections::BTreeSet, sync::Arc};

fn text(text: &str) -> FileContent {
    FileContent::Text(text.to_owned())
}

/// A content with this description that turns the text of `a` into another.
fn content(description: &str, before: &str, after: &str) -> ContentFiles {
    let content = Content { description: Some(description.to_owned()), ..Content::default() };
    let versions = FileVersions { before: text(before), after: text(after) };
    ContentFiles { content: Arc::new(content), files: Ok([("a".to_owned(), versions)].into()) }
}

fn is_late(before: &ContentFiles, now: &ContentFiles, text: &LocatedText, line: u32) -> bool {
    let changes = ChangesSince::new(before, now, BTreeSet::from([text.clone()]));
    changes.is_late(Some(&Location { text: text.clone(), lines: Some(Lines { start: line, end: line }) }))
}

fn late_lines(before: &ContentFiles, now: &ContentFiles, text: &LocatedText) -> Vec<u32> {
    (1..=4).filter(|line| is_late(before, now, text, *line)).collect()
}

fn old_side() -> LocatedText {
    LocatedText::File { path: "a".into(), side: DiffSide::Old }
}

#[test]
fn a_finding_is_late_on_lines_that_did_not_change() {
    let new_side = LocatedText::File { path: "a".into(), side: DiffSide::New };
    let description = LocatedText::Description;
    let base = "1\n2\n3\n4\n";
    let before = content("a\nb\nc\nd\n", base, "1\nx\n3\n4\n");
    // The description and line 2 stay as they were; line 4 is removed as well.
    let now = content("a\nb\nc\nd\n", base, "1\nx\n3\n");
    assert_eq!(late_lines(&before, &now, &old_side()), [1, 2, 3]);
    assert_eq!(late_lines(&before, &now, &new_side), [1, 2, 4]);
    assert_eq!(late_lines(&before, &now, &description), [1, 2, 3, 4]);
    // Line 2 is restored.
    assert_eq!(late_lines(&before, &content("a\nB\nc\nd\n", base, base), &old_side()), [1, 3, 4]);
    assert_eq!(late_lines(&before, &content("a\nB\nc\nd\n", base, base), &description), [1, 3, 4]);
    // Another base: line 1 is new, and line 3, formerly line 2, is removed.
    let rebased = content("a\nb\nc\nd\n", "0\n1\n2\n3\n4\n", "0\n1\nx\n3\n4\n");
    assert_eq!(late_lines(&before, &rebased, &old_side()), [2, 4]);
}

#[test]
fn the_old_side_of_a_renamed_file_has_its_old_path() {
    let before = content("", "1\n2\n3\n4\n", "1\n2\n3\n4\n");
    let renamed = AffectedFile {
        path: "b".into(),
        old_path: Some("a".into()),
        operation: FileOperation::Rename,
        added: 0,
        removed: 1,
        binary: false,
    };
    let gone = FileVersions { before: text("1\n2\n3\n4\n"), after: FileContent::Absent };
    let moved = FileVersions { before: FileContent::Absent, after: text("1\n3\n4\n") };
    let now = ContentFiles {
        content: Arc::new(Content { files: vec![renamed], ..Content::default() }),
        files: Ok([("a".to_owned(), gone), ("b".to_owned(), moved)].into()),
    };
    assert_eq!(late_lines(&before, &now, &old_side()), [1, 3, 4]);
}

#[test]
fn a_finding_whose_lines_are_unknown_is_not_late() {
    let before = content("a\n", "1\n", "1\n");
    let unreadable = ContentFiles { content: Arc::clone(&before.content), files: Err("no git".to_owned()) };
    assert!(!is_late(&before, &unreadable, &old_side(), 1));
    assert!(is_late(&before, &unreadable, &LocatedText::Description, 1));
    assert!(!ChangesSince::new(&before, &unreadable, BTreeSet::new()).is_late(None));
    assert!(ChangesSince::new(&before, &before, BTreeSet::new()).is_late(None));
}
