use super::{LogPiece, ReviewerLog};
use domain::reviewer_pool::log_continuation;
use std::{fs, path::PathBuf};
use tempfile::TempDir;

const AT: &str = "2026-11-19T10:00:00Z";

/// A log whose files have these contents.
fn log(previous: Option<&str>, current: Option<&str>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r1.log");
    for (path, text) in [(path.with_extension("log.1"), previous), (path.clone(), current)] {
        if let Some(text) = text {
            fs::write(path, text).unwrap();
        }
    }
    (folder, path)
}

fn piece(from: u64, text: &str) -> LogPiece {
    LogPiece { from, text: text.into() }
}

#[test]
fn a_log_is_read_by_offset_in_whole_lines() {
    let (_folder, path) = log(None, Some("one\ntwo\nseven\n"));
    let log = ReviewerLog::open(&path).unwrap();
    assert_eq!((log.start(), log.end()), (0, 14));
    assert_eq!(log.read(0, 100).unwrap(), piece(0, "one\ntwo\nseven\n"));
    assert_eq!(log.read(0, 9).unwrap(), piece(0, "one\ntwo\n"));
    assert_eq!(log.read(8, 9).unwrap(), piece(8, "seven\n"));
    assert_eq!(log.read(14, 9).unwrap(), piece(14, ""));
    // A line that is longer than the limit, and a last line that is not complete.
    assert_eq!(log.read(8, 3).unwrap(), piece(8, "sev"));
    assert_eq!(log.read(8, 3).unwrap().next(), 11);
}

#[test]
fn offsets_stay_true_when_the_beginning_was_dropped() {
    let first = log_continuation::line(AT, 1000);
    let size = first.len() as u64 + 4;
    let second = log_continuation::line(AT, 1000 + size);
    let (_folder, path) = log(Some(&format!("{first}old\n")), Some(&format!("{second}new\n")));
    let log = ReviewerLog::open(&path).unwrap();
    let end = 1000 + size + second.len() as u64 + 4;
    assert_eq!((log.start(), log.end()), (1000, end));
    // What was dropped is skipped, and a piece may span both files.
    assert_eq!(log.read(7, 1 << 20).unwrap(), piece(1000, &format!("{first}old\n{second}new\n")));
    assert_eq!(log.read(end - 4, 1 << 20).unwrap(), piece(end - 4, "new\n"));
}

#[test]
fn a_log_is_readable_at_every_moment_of_a_rotation() {
    // The file was renamed, and the next one does not exist yet; then it is empty.
    let (_folder, path) = log(Some("one\n"), None);
    assert_eq!(ReviewerLog::open(&path).unwrap().end(), 4);
    let (_folder, path) = log(Some("one\n"), Some(""));
    let log = ReviewerLog::open(&path).unwrap();
    assert_eq!((log.start(), log.end()), (0, 4));
    fs::remove_file(&path).unwrap();
    fs::remove_file(path.with_extension("log.1")).unwrap();
    assert!(ReviewerLog::open(&path).is_err());
}

#[test]
fn the_last_lines_are_found_from_the_end() {
    let (_folder, path) = log(Some("a\nb\n"), Some("c\nd\n"));
    let log = ReviewerLog::open(&path).unwrap();
    let offset = |lines, max| log.offset_of_last_lines(lines, max).unwrap();
    assert_eq!((offset(0, 100), offset(1, 100), offset(3, 100)), (8, 6, 2));
    assert_eq!((offset(9, 100), offset(9, 8)), (0, 0));
    assert_eq!(offset(9, 5), 4, "an incomplete first line is left out");
}

#[test]
fn a_character_is_not_split() {
    let (_folder, path) = log(None, Some("aéé"));
    let log = ReviewerLog::open(&path).unwrap();
    assert_eq!((log.read(0, 2).unwrap(), log.read(1, 9).unwrap()), (piece(0, "a"), piece(1, "éé")));
}
