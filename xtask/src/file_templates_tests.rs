use std::time::{Duration, UNIX_EPOCH};

use super::*;

#[test]
fn dates_follow_the_calendar() {
    let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
    let is = |date: &str, time: &str| (date.to_owned(), time.to_owned());
    assert_eq!(at(0), is("1970-01-01", "000000"));
    assert_eq!(at(951_782_399), is("2000-02-28", "235959"));
    assert_eq!(at(951_782_400), is("2000-02-29", "000000"));
    assert_eq!(at(1_794_821_400), is("2026-11-16", "093000"));
    assert_eq!(at(4_107_542_400), is("2100-03-01", "000000"));
}

#[test]
fn names_of_files_are_plain() {
    assert_eq!(slug("One writer: why?", '-'), "one-writer-why");
    assert_eq!(slug("create reviews", '_'), "create_reviews");
}
