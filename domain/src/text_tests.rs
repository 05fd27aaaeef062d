use super::*;

#[test]
fn text_without_hidden_characters_is_borrowed() {
    assert!(matches!(escape("naïve ünïcode ✓ 👩\u{200d}🚀"), Cow::Borrowed(_)));
    assert!(matches!(escape_json("{\"a\": 1}\n"), Cow::Borrowed(_)));
}

#[test]
fn hidden_characters_are_escaped() {
    assert_eq!(escape("a\tb\u{feff}"), r"a\tb\u{feff}");
    assert_eq!(escape("\u{1b}[31mred\u{7}"), r"\u{1b}[31mred\u{7}");
    assert_eq!(escape("user \u{202e}nimda\u{2066}"), r"user \u{202e}nimda\u{2066}");
    assert_eq!(escape_except_tabs("50%\t\r100%\u{85}"), "50%\t\\r100%\\u{85}");
    assert_eq!(escape_except_tabs("a\0b\u{9b}c"), r"a\u{0}b\u{9b}c");
    assert_eq!(escape_json("\"a\u{202e}\u{e0041}\"\n"), "\"a\\u202e\\udb40\\udc41\"\n");
}

#[test]
fn one_line_joins_lines_with_spaces() {
    assert_eq!(one_line("two\r\nlines\t\u{202e}"), "two lines \\u{202e}");
}

#[test]
fn truncation_counts_characters() {
    assert_eq!((truncate("äöü", 2), truncate("äöü", 3)), ("äö", "äöü"));
    assert_eq!((ellipsize("äöü", 2), ellipsize("äöü", 3)), ("ä…".into(), "äöü".into()));
}

#[test]
fn nouns_have_their_plural() {
    let cases = [
        (count(1, "review"), "1 review"),
        (count(0, "review"), "0 reviews"),
        (count(2_u64, "counter-patch"), "2 counter-patches"),
        (count(3_i64, "reply"), "3 replies"),
        (count(3_usize, "key"), "3 keys"),
    ];
    for (counted, expected) in cases {
        assert_eq!(counted, expected);
    }
}
