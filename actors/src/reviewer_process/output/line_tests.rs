use super::*;

/// The lines of these chunks, with the number of bytes cut.
fn lines(cap: usize, chunks: &[&str]) -> Vec<(String, u64)> {
    let mut line = Line::up_to(cap);
    let mut lines = Vec::new();
    let mut each = |bytes: &[u8], cut: u64| lines.push((String::from_utf8_lossy(bytes).into_owned(), cut));
    for chunk in chunks {
        line.feed(chunk.as_bytes(), &mut each);
    }
    line.finish(&mut each);
    lines
}

fn whole(line: &str) -> (String, u64) {
    (line.to_owned(), 0)
}

#[test]
fn lines_are_put_together_from_chunks() {
    assert_eq!(lines(100, &["a\nb", "c\r\n", "\nd"]), [whole("a"), whole("bc"), whole(""), whole("d")]);
    assert_eq!(lines(100, &["a\n"]), [whole("a")]);
    assert_eq!(lines(100, &[]), []);
}

#[test]
fn what_exceeds_the_cap_is_counted() {
    assert_eq!(
        lines(4, &["123456", "789\n12345\n1234\n1"]),
        [("1234".to_owned(), 5), ("1234".to_owned(), 1), whole("1234"), whole("1"),]
    );
}

#[test]
fn a_secret_is_replaced_wherever_it_stands() {
    let redact = |text: &str, was_cut| redacted(text.as_bytes(), was_cut, Some("abcab")).into_owned();
    assert_eq!(redact("xabcaby, abcab", false), "x[token]y, [token]");
    assert_eq!(redact("nothing abca", false), "nothing abca");
    // cut within the second one; cut right after one whose end is also its beginning
    assert_eq!(redact("abcab abca", true), "[token] ");
    assert_eq!(redact("x abcab", true), "x [token]");
    assert_eq!(redact("a", true), "");
    assert_eq!(redact("xyz", true), "xyz");
    assert_eq!(redacted(b"abcab", true, None), "abcab");
}

#[test]
fn a_cut_leaves_no_half_characters() {
    assert_eq!(cut_to("aé", 2), "a");
    assert_eq!(cut_to("aé", 3), "aé");
    assert_eq!(cut_to("aé", 30), "aé");
}
