use super::{Comparable, is_same};
use crate::finding::{FindingKind, Lines, LocatedText, Location};
use crate::review::DiffSide;
use proptest::prelude::*;

fn location(file: &str, start: u32, end: u32) -> Location {
    Location::in_file(file, Some(Lines { start, end }))
}

fn told<'a>(location: &'a Location, title: &'a str, description: &'a str) -> Comparable<'a> {
    let description = (!description.is_empty()).then_some(description);
    Comparable { location: Some(location), title, description, kind: FindingKind::Bug }
}

/// Each pair at one place. What is and what is not one finding, and so where the thresholds lie.
#[test]
fn near_same_texts_at_one_place_are_one_finding() {
    let rows = [
        (true, ("Lock is never released", ""), ("The lock is never released", "")),
        (true, ("SQL injection in `find_user`", ""), ("Possible SQL injection in find_user", "")),
        (true, ("Unbounded recursion on nested input", ""), ("Nested input causes unbounded recursion", "")),
        (true, ("Race between check and write", ""), ("Race between the check and the write of the file", "")),
        (
            true,
            ("Token compared in variable time", "An attacker can measure how long comparing the token takes."),
            ("Timing attack on token", "Comparing the token takes variable time, which an attacker can measure."),
        ),
        (false, ("SQL injection in the query", ""), ("The query is slow without an index", "")),
        (false, ("Missing test for empty input", ""), ("Missing test for failed writes", "")),
        (false, ("`start` may overflow", ""), ("`end` may overflow", "")),
        (false, ("Error of `read` is dropped", ""), ("Error of `write` is dropped", "")),
        (false, ("Off by one in the loop", ""), ("The loop never ends", "")),
        (false, ("Typo", ""), ("Unsound cast", "")),
        (
            false,
            ("Password is logged", "The request is logged with all its fields, and one is the password."),
            ("Log line is too long", "The request is logged with all its fields, which is hard to read."),
        ),
        (false, ("the of and", ""), ("is it", "")),
    ];
    let here = location("a.rs", 10, 12);
    for (expected, a, b) in rows {
        assert_eq!(is_same(&told(&here, a.0, a.1), &told(&here, b.0, b.1)), expected, "{a:?} {b:?}");
    }
}

#[test]
fn the_same_text_elsewhere_is_another_finding() {
    let here = location("a.rs", 10, 12);
    let same = |there: &Location| is_same(&told(&here, "Lock leaks", ""), &told(there, "Lock leaks", ""));
    assert!(same(&location("a.rs", 12, 30)));
    assert!(same(&location("a.rs", 14, 14)));
    assert!(same(&location("a.rs", 1, 8)));
    assert!(!same(&location("a.rs", 15, 15)));
    assert!(!same(&location("a.rs", 1, 7)));
    assert!(!same(&location("b.rs", 10, 12)));
    assert!(same(&Location::in_file("a.rs", None)));
    let old = Location { text: LocatedText::File { path: "a.rs".into(), side: DiffSide::Old }, ..here.clone() };
    let plan = Location { text: LocatedText::Description, ..here.clone() };
    for (a, b, expected) in [(&here, &old, false), (&here, &plan, false), (&old, &plan, false)]
        .into_iter()
        .chain([(&old, &old, true), (&plan, &plan, true)])
    {
        assert_eq!(is_same(&told(a, "Lock leaks", ""), &told(b, "Lock leaks", "")), expected, "{a} {b}");
    }
}

#[test]
fn without_a_place_more_words_must_agree() {
    let nowhere = |title| Comparable { location: None, title, description: None, kind: FindingKind::Bug };
    assert!(is_same(&nowhere("No tests at all"), &nowhere("No tests at all!")));
    let here = location("a.rs", 1, 1);
    let (a, b) = ("Unbounded recursion on nested input", "Nested input causes unbounded recursion here too");
    assert!(is_same(&told(&here, a, ""), &told(&here, b, "")));
    assert!(!is_same(&nowhere(a), &nowhere(b)));
    assert!(!is_same(&nowhere("Lock leaks"), &told(&here, "Lock leaks", "")));
}

fn title() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["lock", "`a`", "leaks", "the", "never", "released", "find_user", "test"]);
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn the_order_does_not_matter(a in title(), b in title(), c in title(), d in title(), at in 1u32..8) {
        let (here, there) = (location("a.rs", 3, 4), location("a.rs", at, at));
        let (first, second) = (told(&here, &a, &c), Comparable { kind: FindingKind::Other, ..told(&there, &b, &d) });
        prop_assert_eq!(is_same(&first, &second), is_same(&second, &first));
        prop_assert!(is_same(&first, &first) || a.replace("the", "").trim().is_empty());
    }
}
