//! Splits long texts and lists into pages that agents' clients do not truncate. Sizes are characters, positions are
//! bytes.

use serde::Serialize;

/// The byte at which a page of at most `max_chars` ends: after a line if one ends in the second half of the page.
pub(super) fn page_end(text: &str, max_chars: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return text.len();
    };
    match text[..end].rfind('\n') {
        Some(line_end) if line_end + 1 > end / 2 => line_end + 1,
        Some(_) | None => end,
    }
}

/// How many rows to return instead, if the response with `rows` rows is longer than `max_chars`. At least one.
pub(super) fn rows_that_fit(
    rows: usize,
    response: &impl Serialize,
    max_chars: usize,
) -> Result<Option<usize>, serde_json::Error> {
    let chars = json_chars(response)?;
    Ok((chars > max_chars && rows > 1).then(|| (rows * max_chars / chars).clamp(1, rows - 1)))
}

/// The length of a value's JSON in characters.
pub(super) fn json_chars(value: &impl Serialize) -> Result<usize, serde_json::Error> {
    Ok(serde_json::to_string(value)?.chars().count())
}

/// Several texts read one after the other as if they were one.
pub(super) struct TextStream<'a, const N: usize> {
    parts: [&'a str; N],
}

/// One page of a [`TextStream`]: the part of each text that is on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPage<'a, const N: usize> {
    pub parts: [&'a str; N],
    /// Where the next page starts; `None` after the last.
    pub next: Option<usize>,
}

impl<'a, const N: usize> TextStream<'a, N> {
    pub(super) const fn new(parts: [&'a str; N]) -> Self {
        Self { parts }
    }

    /// The length of all texts in characters.
    pub(super) fn total(&self) -> usize {
        self.parts.iter().map(|part| part.chars().count()).sum()
    }

    /// The page that starts at byte `start` of all texts; `None` if a page cannot start there.
    pub(super) fn page(&self, start: usize, max_chars: usize) -> Option<TextPage<'a, N>> {
        let length: usize = self.parts.iter().map(|part| part.len()).sum();
        if start > length || (start == length && start > 0) {
            return None;
        }
        let mut parts = [""; N];
        let (mut skip, mut left, mut position) = (start, max_chars, start);
        for (text, part) in self.parts.iter().zip(&mut parts) {
            if skip >= text.len() {
                skip -= text.len();
                continue;
            }
            let rest = text.get(skip..)?;
            skip = 0;
            let end = page_end(rest, left);
            *part = &rest[..end];
            position += end;
            left -= part.chars().count();
            if end < rest.len() {
                break;
            }
        }
        Some(TextPage { parts, next: (position < length).then_some(position) })
    }
}

#[cfg(test)]
mod tests {
    use super::{TextStream, page_end, rows_that_fit};

    #[test]
    fn a_page_ends_with_a_line_where_it_can() {
        assert_eq!(page_end("ab\ncd\nef", 7), 6);
        assert_eq!(page_end("a\nbcdefgh", 7), 7);
        assert_eq!(page_end("äöü", 2), 4);
        assert_eq!(page_end("abc", 3), 3);
    }

    #[test]
    fn a_response_that_is_too_long_gets_fewer_rows() {
        let rows = ["aaaa"; 4];
        assert_eq!(rows_that_fit(4, &rows, 100).ok(), Some(None));
        assert_eq!(rows_that_fit(4, &rows, 15).ok(), Some(Some(2)));
        assert_eq!(rows_that_fit(1, &rows, 1).ok(), Some(None));
    }

    #[test]
    fn the_pages_together_are_the_whole_text() {
        let stream = TextStream::new(["öne\ntwo\n", "", "three\nfour", "five"]);
        let (mut start, mut whole) = (0, [String::new(), String::new(), String::new(), String::new()]);
        loop {
            let page = stream.page(start, 5).expect("a page");
            assert!(page.parts.iter().map(|part| part.chars().count()).sum::<usize>() <= 5);
            for (all, part) in whole.iter_mut().zip(page.parts) {
                all.push_str(part);
            }
            match page.next {
                Some(next) => start = next,
                None => break,
            }
        }
        assert_eq!(whole, ["öne\ntwo\n", "", "three\nfour", "five"]);
        assert_eq!(stream.total(), 22);
    }

    #[test]
    fn a_page_cannot_start_inside_a_character_or_after_the_end() {
        let stream = TextStream::new(["ö"]);
        assert_eq!(stream.page(1, 5), None);
        assert_eq!(stream.page(2, 5), None);
        assert_eq!(TextStream::new([""]).page(0, 5).map(|page| page.next), Some(None));
    }
}
