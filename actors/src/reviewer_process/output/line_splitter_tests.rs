use super::*;

/// The lines of these chunks, with the number of bytes cut.
fn lines(cap: usize, chunks: &[&str]) -> Vec<(String, u64)> {
    let mut buffer = LineBuffer::new(cap);
    let mut lines = Vec::new();
    let mut each = |bytes: &[u8], cut: u64| lines.push((String::from_utf8_lossy(bytes).into_owned(), cut));
    for chunk in chunks {
        buffer.push(chunk.as_bytes(), &mut each);
    }
    buffer.finish(&mut each);
    lines
}

fn whole(line: &str) -> (String, u64) {
    (line.to_owned(), 0)
}

#[test]
fn lines_are_joined_from_chunks() {
    assert_eq!(lines(100, &["a\nb", "c\r\n", "\nd"]), [whole("a"), whole("bc"), whole(""), whole("d")]);
    assert_eq!(lines(100, &["a\n"]), [whole("a")]);
    assert_eq!(lines(100, &[]), []);
}

#[test]
fn bytes_beyond_the_cap_are_counted() {
    assert_eq!(
        lines(4, &["123456", "789\n12345\n1234\n1"]),
        [("1234".to_owned(), 5), ("1234".to_owned(), 1), whole("1234"), whole("1"),]
    );
}

#[test]
fn a_secret_is_replaced_everywhere_in_a_line() {
    let redact_secret = |text: &str, was_cut| redact(text.as_bytes(), was_cut, Some("abcab")).into_owned();
    assert_eq!(redact_secret("xabcaby, abcab", false), "x[token]y, [token]");
    assert_eq!(redact_secret("nothing abca", false), "nothing abca");
    // Cut within the second secret; cut right after a secret whose end is also its beginning.
    assert_eq!(redact_secret("abcab abca", true), "[token] ");
    assert_eq!(redact_secret("x abcab", true), "x [token]");
    assert_eq!(redact_secret("a", true), "");
    assert_eq!(redact_secret("xyz", true), "xyz");
    assert_eq!(redact(b"abcab", true, None), "abcab");
}

#[test]
fn a_cut_does_not_split_a_character() {
    assert_eq!(cut_to("aé", 2), "a");
    assert_eq!(cut_to("aé", 3), "aé");
    assert_eq!(cut_to("aé", 30), "aé");
}
